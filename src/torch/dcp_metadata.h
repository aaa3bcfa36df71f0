// SPDX-License-Identifier: Apache-2.0
// The `.metadata` pickle of a distributed checkpoint as plain rows. docs/formats/dcp.md,
// torch/distributed/checkpoint/metadata.py.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pickle/arena.h"
#include "wick/dtype.h"
#include "wick/error.h"

namespace wick::torch {

// Part of a tensor: where it begins in the whole, and its sizes.
struct DcpChunk {
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> shape;
};

// Where an entry (a chunk, or an object) lies.
struct DcpPlace {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::vector<std::string> transforms;  // in the order they were applied
};

struct DcpEntry {
  std::string fqn;
  pickle::Value path;  // Tuple of planner_data; Missing when there is none
  bool is_tensor = false;
  std::optional<Error> error;  // why its description can not be used
  std::optional<DType> dtype;
  bool requires_grad = false;
  std::vector<std::int64_t> size;
  std::vector<DcpChunk> chunks;
};

struct DcpMetadata {
  std::vector<DcpEntry> entries;  // in the file's order
  // An object's key is its fqn; a chunk's has its offsets as well (place_key).
  std::map<std::string, DcpPlace> places;
  std::string version;  // "1.0.0" from torch 2.7 on, else ""
};

// The key under which a chunk or (without `start`) an object is kept.
std::string place_key(const std::string& fqn, const std::vector<std::int64_t>* start);

// `root` is the Metadata object of the pickle. Malformed when it is none.
Result<DcpMetadata> parse_dcp_metadata(const pickle::Arena& arena, pickle::Value root);

}  // namespace wick::torch
