// SPDX-License-Identifier: Apache-2.0
// The heads of the classes in a TorchScript source: which attributes are parameters, which buffers, and their types.
// Reads what torch's printer writes (torch/csrc/jit/serialization/python_print.cpp) and skips everything else, function
// bodies above all; it understands no statement.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wick::script {

struct ClassHeader {
  std::string name;  // qualified: "__torch__.torch.nn.modules.linear.Linear"
  std::string base;  // "Module", "NamedTuple", "Enum", "Interface" or ""
  std::vector<std::string> parameters;
  std::vector<std::string> buffers;
  std::vector<std::pair<std::string, std::string>> attributes;  // name, type as it is written
};

// "code/__torch__/a/b.py" -> "__torch__.a.b".
std::string qualifier_of(std::string_view record);

// Every class of one source, in order. Lines that are no part of a class head are passed over.
std::vector<ClassHeader> read_class_headers(std::string_view source, std::string_view qualifier);

}  // namespace wick::script
