// SPDX-License-Identifier: Apache-2.0
// Tensors that are put together from chunks of a grid: who reads a chunk, and the storage that joins them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/contents.h"
#include "torch/dcp_metadata.h"

namespace wick::torch {

// Reads the elements of one chunk, packed in C order.
class ChunkSource {
 public:
  ChunkSource() = default;
  ChunkSource(const ChunkSource&) = delete;
  ChunkSource& operator=(const ChunkSource&) = delete;
  virtual ~ChunkSource() = default;
  // `place` is what the tensor's row of places says for this chunk.
  [[nodiscard]] virtual Result<std::vector<std::byte>> read(const std::string& fqn, DType dtype, const DcpChunk& chunk,
                                                            std::uint32_t place) const = 0;
  // The chunk's bytes as a storage of their own when they lie in C order somewhere; nullptr when they must be copied.
  [[nodiscard]] virtual Result<tensor::StoragePtr> open_whole(const std::string& fqn, DType dtype,
                                                              const DcpChunk& chunk, std::uint32_t place) const = 0;
  [[nodiscard]] virtual std::string file(std::uint32_t place) const = 0;
};

struct ChunkedTensor {
  std::string fqn;
  DType dtype = DType::UInt8;
  std::vector<std::int64_t> size;
  std::vector<DcpChunk> chunks;
  std::vector<std::uint32_t> places;  // one for each chunk
  std::uint64_t bytes = 0;
};

// Opens chunked tensors; an entry is an index into the tensors that were added.
class ChunkOpener final : public checkpoint::StorageOpener {
 public:
  ChunkOpener(std::shared_ptr<const ChunkSource> source, const Limits& limits)
      : source_(std::move(source)), limits_(limits) {}
  std::uint32_t add(ChunkedTensor tensor);
  [[nodiscard]] Result<tensor::StoragePtr> open(std::uint32_t entry) const override;
  [[nodiscard]] std::string member(std::uint32_t) const override { return {}; }
  [[nodiscard]] std::string file(std::uint32_t entry) const override;
  [[nodiscard]] Result<std::uint64_t> file_offset(std::uint32_t entry) const override;

 private:
  std::shared_ptr<const ChunkSource> source_;
  Limits limits_;
  std::vector<std::shared_ptr<const ChunkedTensor>> tensors_;
};

// Every element of a tensor of `size` is in exactly one chunk, or an Error says what is not. `budget` is the number of
// comparisons left for the whole file.
Result<void> check_cover(const std::vector<std::int64_t>& size, const std::vector<DcpChunk>& chunks,
                         std::uint64_t& budget);

}  // namespace wick::torch
