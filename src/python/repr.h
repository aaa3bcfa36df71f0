// SPDX-License-Identifier: Apache-2.0
// A value as Python's repr() writes it: for `show`, `tree`, keys that are no strings, and messages.
#pragma once

#include <string>

#include "checkpoint/contents.h"

namespace wick::python {

struct ReprOptions {
  std::size_t max_characters = 10'000;  // then "..." ends it
  std::size_t max_items = 1000;         // of one container
  std::uint32_t max_depth = 20;         // deeper containers print as [...], (...), {...}
};

// Never recurses over the file's nesting, ends on cycles ("[...]"). Unknown objects print as "module.Class(args)";
// tensors as "tensor(float32 [2, 3])". Text is escaped as Python does, so the result is printable ASCII or valid UTF-8.
std::string repr(const checkpoint::Contents& contents, pickle::Value value, const ReprOptions& options = {});

// "module.Class" of an object or Global, Python 3's spelling; "" for other values.
std::string class_name(const checkpoint::Contents& contents, pickle::Value value);

// A float as repr() prints it: shortest digits that round-trip ("0.1", "1e-05", "inf").
std::string repr_float(double value);
// An integer of any size from two's complement little-endian bytes, in decimal.
std::string repr_big_integer(std::string_view twos_complement);

}  // namespace wick::python
