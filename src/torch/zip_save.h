// SPDX-License-Identifier: Apache-2.0
// The pickles of one torch zip, read into a Contents. Shared by files, nested saves, packages and .distcp items.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "archive/zip.h"
#include "checkpoint/contents.h"
#include "pickle/machine.h"
#include "torch/nested_save.h"
#include "torch/zip_records.h"

namespace wick::torch {

// Reads the pickle in an entry. Errors name the record and the absolute offset, when the record is stored.
Result<pickle::Pickle> read_zip_pickle(checkpoint::Contents& contents, const archive::Zip& zip, std::uint32_t entry);

// Text of the record `byteorder` is "big".
bool says_big_endian(const archive::Zip& zip, const ZipRoot& root, const Limits& limits);

// A plain torch.save zip inside another file.
Result<OpenedSave> open_nested_zip(checkpoint::Contents& contents, const io::SourcePtr& source);

// Gathers what the pickles of a file tell: protocol (of the first), Python 2, each class once.
class PickleFacts {
 public:
  void add(checkpoint::Contents& contents, const pickle::Pickle& read);

 private:
  std::unordered_set<std::string> known_;
  std::string name_;
};

}  // namespace wick::torch
