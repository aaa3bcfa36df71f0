// SPDX-License-Identifier: Apache-2.0
// A file as lines of text, one a tensor, with the digest of its elements: two readings of one file are equal when these
// are. Used by the tests that try every prefix, every flipped bit and every kind of source.
#pragma once

#include <string>
#include <vector>

#include "io/source.h"
#include "open/loaded.h"

namespace wick::support {

// Name, dtype, layout, sizes, strides, offset and digest (or the error's text) of every place. Never fails.
std::string listing(const open_detail::Loaded& loaded);
// The same of what is in `source`; for a source that is refused the error, without the source's name.
std::string listing(io::SourcePtr source, const Limits& limits);

// Folder of committed fixtures, and the files in it (names relative to it, sorted).
std::string fixtures_folder();
std::vector<std::string> fixture_files();
std::vector<std::byte> read_fixture(const std::string& name);

}  // namespace wick::support
