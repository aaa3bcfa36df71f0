// SPDX-License-Identifier: Apache-2.0
// The legacy stream of torch.save, wherever it lies: magic, protocol, system, object, keys, storages.
// Format: docs/formats/torch-legacy.md; torch.serialization._legacy_save.
#pragma once

#include <memory>
#include <span>

#include "pickle/machine.h"
#include "torch/nested_save.h"
#include "torch/record_openers.h"

namespace wick::torch {

// The bytes a stream lies in, and the opener its storages get.
class StreamBytes {
 public:
  StreamBytes() = default;
  StreamBytes(const StreamBytes&) = delete;
  StreamBytes& operator=(const StreamBytes&) = delete;
  virtual ~StreamBytes() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  virtual Result<pickle::Pickle> read_pickle(std::uint64_t offset, checkpoint::Contents& contents) = 0;
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> into) = 0;
  virtual std::uint32_t add_range(std::uint64_t offset, std::uint64_t length) = 0;  // entry of opener()
  // A part of an entry, inside it.
  virtual std::uint32_t add_part(std::uint32_t entry, std::uint64_t offset, std::uint64_t length) = 0;
  [[nodiscard]] virtual std::shared_ptr<const checkpoint::StorageOpener> opener() const = 0;
};
// A source from byte `begin` on.
std::unique_ptr<StreamBytes> stream_of(io::SourcePtr source, std::uint64_t begin = 0);
// Bytes that live as long as the arena of the Contents they are read into.
std::unique_ptr<StreamBytes> stream_of(std::span<const std::byte> bytes);

// True when the first pickle is the magic number, in any protocol.
bool begins_as_legacy(std::span<const std::byte> head);

struct LegacySave {
  OpenedSave save;
  pickle::Pickle object;    // the one that holds the tensors
  std::uint64_t end = 0;    // one past the last storage that is there
  bool big_endian = false;  // the storages' counts are
};
// Reads the pickles and the places of the storages. A storage that is missing, short or of another length than its id
// says gets a row with its error.
Result<LegacySave> open_legacy(checkpoint::Contents& contents, StreamBytes& bytes);

}  // namespace wick::torch
