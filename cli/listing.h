// SPDX-License-Identifier: Apache-2.0
// The tensors of one branch of one file, as rows: what `ls` prints, sorts and filters. Works out what rows share only
// when somebody asks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "open/loaded.h"

namespace wick::cli {

// How strings of Python 2 are shown.
enum class Encoding : std::uint8_t { Utf8, Latin1, Bytes };
std::optional<Encoding> find_encoding(std::string_view word);  // "" = utf-8
// `bytes` that Python 2 called str, under that encoding. With Bytes: as they are, so that escaping shows each.
std::string decode_python2(std::string_view bytes, Encoding encoding);

// What the views on each storage use of it together, and who they are.
class StorageUse {
 public:
  StorageUse(const checkpoint::Contents& contents, const checkpoint::Places& places);
  // Bytes of the storage that at least one tensor covers.
  [[nodiscard]] std::uint64_t used_bytes(std::uint32_t storage) const { return used_[storage]; }
  // Rows (indices into places.rows) on that storage, in order.
  [[nodiscard]] std::vector<std::uint32_t> rows_on(std::uint32_t storage) const;

 private:
  std::vector<std::uint64_t> used_;
  std::vector<std::uint32_t> first_;  // by storage: its first row
  std::vector<std::uint32_t> next_;   // by row: the next one on the same storage
};

class Listing {
 public:
  // `root` as --root takes it ("" = everything). NotFound with the branches there are.
  static Result<Listing> make(open_detail::LoadedPtr loaded, std::string_view root, Encoding encoding);

  [[nodiscard]] const open_detail::Loaded& loaded() const { return *loaded_; }
  [[nodiscard]] const checkpoint::Contents& contents() const { return loaded_->contents; }
  [[nodiscard]] const checkpoint::Places& places() const { return *places_; }
  [[nodiscard]] std::size_t size() const { return places_->rows.size(); }
  [[nodiscard]] const checkpoint::Place& place(std::size_t row) const { return places_->rows[row]; }
  [[nodiscard]] const checkpoint::TensorRow& tensor(std::size_t row) const {
    return contents().tensors[places_->rows[row].tensor];
  }
  // As wick::Tensor::name() says it: "fc.weight", "constants.pkl:0". May hold any bytes of the file.
  [[nodiscard]] std::string name(std::size_t row) const;
  // The same without the record before it, as JSON has both apart.
  [[nodiscard]] std::string bare_name(std::size_t row) const;
  // Which pickle of the file it comes from: "constants.pkl"; "" for the main one.
  [[nodiscard]] std::string_view record(std::size_t row) const;
  // Made on the first call; not for several threads.
  const StorageUse& use();

 private:
  open_detail::LoadedPtr loaded_;
  std::shared_ptr<const checkpoint::Places> branch_;  // owns places_ when it is no set of loaded_
  const checkpoint::Places* places_ = nullptr;
  Encoding encoding_ = Encoding::Utf8;
  std::unique_ptr<StorageUse> use_;
};

// "float32", or numpy's own spelling where torch has no such type.
std::string dtype_text(const checkpoint::Contents& contents, const checkpoint::TensorRow& tensor);

}  // namespace wick::cli
