// SPDX-License-Identifier: Apache-2.0
// Facts about a torch zip: its small text records, CRCs, compression, alignment, and what lies in it that nothing asks
// for. From the central directory alone, but for the text records.
#pragma once

#include "torch/zip_records.h"

namespace wick::torch {

// Small text records below the root, read when they are there: byteorder, version, .format_version ...
void read_text_records(checkpoint::Contents& contents, const archive::Zip& zip, const ZipRoot& root);

// Says whether a record (named below the root) is one the format knows.
using KnownRecord = bool (*)(std::string_view record);
// Counts CRCs and compressed records, names extra members, and finds the alignment. `storages` as the pickles left it.
void read_directory_facts(checkpoint::Contents& contents, const archive::Zip& zip, const ZipRoot& root,
                          const ZipStorages& storages, KnownRecord known);

}  // namespace wick::torch
