// SPDX-License-Identifier: Apache-2.0
#include "torch/dcp_chunks.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked.h"
#include "base/text.h"

namespace wick::torch {
namespace {

std::string show(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers[i]);
  return text + "]";
}

Result<std::uint64_t> volume(const std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::uint64_t{0};
  std::uint64_t product = 1;
  for (const std::int64_t size : shape) {
    WICK_TRY(product, checked_mul(product, static_cast<std::uint64_t>(size), "elements of a chunk"));
  }
  return product;
}

bool overlap(const DcpChunk& a, const DcpChunk& b) {
  for (std::size_t i = 0; i < a.start.size(); ++i)
    if (a.start[i] + a.shape[i] <= b.start[i] || b.start[i] + b.shape[i] <= a.start[i]) return false;
  return true;
}

// Copies a chunk's packed rows to their places in the whole. Bounds: check_cover holds for both.
void place_chunk(std::span<const std::byte> from, const DcpChunk& chunk, const std::vector<std::int64_t>& size,
                 std::uint64_t item, std::span<std::byte> into) {
  const std::size_t rank = size.size();
  if (from.empty()) return;
  if (rank == 0) {
    std::copy(from.begin(), from.end(), into.begin());
    return;
  }
  std::vector<std::uint64_t> steps(rank, item);  // bytes between neighbours of each dimension in the whole
  for (std::size_t i = rank - 1; i-- > 0;) steps[i] = steps[i + 1] * static_cast<std::uint64_t>(size[i + 1]);
  const std::uint64_t row = static_cast<std::uint64_t>(chunk.shape[rank - 1]) * item;
  std::vector<std::int64_t> at(rank, 0);
  for (std::uint64_t done = 0; done < from.size(); done += row) {
    std::uint64_t place = 0;
    for (std::size_t i = 0; i < rank; ++i) place += static_cast<std::uint64_t>(chunk.start[i] + at[i]) * steps[i];
    std::memcpy(into.data() + place, from.data() + done, row);
    for (std::size_t i = rank - 1; i-- > 0;) {  // the next row, as an odometer counts
      if (++at[i] < chunk.shape[i]) break;
      at[i] = 0;
    }
  }
}

Result<std::vector<std::byte>> join(const ChunkSource& source, const ChunkedTensor& tensor, const Limits& limits) {
  WICK_CHECK(check_memory(limits, tensor.bytes, "a tensor of several chunks"));
  const std::uint64_t item = facts_of(tensor.dtype).block_bytes;
  std::vector<std::byte> whole(static_cast<std::size_t>(tensor.bytes));
  for (std::size_t i = 0; i < tensor.chunks.size(); ++i) {
    const DcpChunk& chunk = tensor.chunks[i];
    WICK_TRY(const std::uint64_t elements, volume(chunk.shape));
    if (elements == 0) continue;
    WICK_TRY(const auto bytes, source.read(tensor.fqn, tensor.dtype, chunk, tensor.places[i]));
    if (bytes.size() != elements * item)
      return fail(ErrorCode::Mismatch, "the chunk at {} has {} bytes, {} are needed", show(chunk.start), bytes.size(),
                  elements * item)
          .inside(source.file(tensor.places[i]));
    place_chunk(bytes, chunk, tensor.size, item, whole);
  }
  return whole;
}

}  // namespace

Result<void> check_cover(const std::vector<std::int64_t>& size, const std::vector<DcpChunk>& chunks,
                         std::uint64_t& budget) {
  WICK_TRY(const std::uint64_t wanted, volume(size));
  std::uint64_t covered = 0;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const DcpChunk& chunk = chunks[i];
    for (std::size_t d = 0; d < size.size(); ++d)
      if (chunk.start[d] > size[d] || chunk.shape[d] > size[d] - chunk.start[d])
        return fail(ErrorCode::Malformed, "a chunk of {} at {} reaches beyond {}", show(chunk.shape), show(chunk.start),
                    show(size));
    WICK_TRY(const std::uint64_t elements, volume(chunk.shape));
    WICK_TRY(covered, checked_add(covered, elements, "elements of the chunks"));
    if (elements != 0) order.push_back(i);
  }
  if (covered != wanted) return fail(ErrorCode::Malformed, "its chunks hold {} of {} elements", covered, wanted);
  if (size.empty()) return {};
  // By their first offset: only chunks that begin before one ends can overlap it.
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return chunks[a].start[0] < chunks[b].start[0]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const DcpChunk& one = chunks[order[i]];
    for (std::size_t k = i + 1; k < order.size() && chunks[order[k]].start[0] < one.start[0] + one.shape[0]; ++k) {
      if (budget-- == 0) {
        budget = 0;
        return Error(ErrorCode::Limit, "the chunks of this checkpoint are too many to be compared");
      }
      if (overlap(one, chunks[order[k]]))
        return fail(ErrorCode::Malformed, "the chunks at {} and {} overlap", show(one.start),
                    show(chunks[order[k]].start));
    }
  }
  return {};
}

std::uint32_t ChunkOpener::add(ChunkedTensor tensor) {
  tensors_.push_back(std::make_shared<const ChunkedTensor>(std::move(tensor)));
  return static_cast<std::uint32_t>(tensors_.size() - 1);
}

Result<tensor::StoragePtr> ChunkOpener::open(std::uint32_t entry) const {
  if (entry >= tensors_.size()) return fail(ErrorCode::Bug, "tensor {} of {} wanted", entry, tensors_.size());
  const auto& tensor = tensors_[entry];
  if (tensor->chunks.size() == 1 && tensor->bytes != 0) {
    WICK_TRY(auto whole, source_->open_whole(tensor->fqn, tensor->dtype, tensor->chunks[0], tensor->places[0]));
    if (whole != nullptr) return whole;
  }
  return tensor::derived_storage(
      tensor->bytes, "put together from chunks",
      [source = source_, tensor, limits = limits_] { return join(*source, *tensor, limits); });
}

std::string ChunkOpener::file(std::uint32_t entry) const {
  if (entry >= tensors_.size() || tensors_[entry]->places.empty()) return {};
  return source_->file(tensors_[entry]->places[0]);
}

Result<std::uint64_t> ChunkOpener::file_offset(std::uint32_t) const {
  return Error(ErrorCode::Unsupported, "its chunks lie in places of their own");
}

}  // namespace wick::torch
