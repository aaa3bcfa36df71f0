// SPDX-License-Identifier: Apache-2.0
// Loaded: the contents of a file with its names, as the public handles and the commands see it. And the ways to get
// one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "checkpoint/contents.h"
#include "checkpoint/places.h"
#include "torch/auto_root.h"

namespace wick::open_detail {

struct Loaded {
  checkpoint::Contents contents;
  checkpoint::Places all;     // --root .
  torch::AutoRoot automatic;  // --root auto
};

using LoadedPtr = std::shared_ptr<const Loaded>;

// Opens one source: tells its format (open/formats.h), reads it, finds its names.
Result<LoadedPtr> load(io::SourcePtr source, std::string name, const Context& context);

// Opens what a person typed: a file, a folder that is one checkpoint, or "FILE::member[::member...]" (the longest
// prefix that exists as a file is the file). `rest` gets what is left after the members that were entered: a tensor
// name, or "".
Result<LoadedPtr> load_input(const std::string& input, const Context& context, std::string* rest = nullptr);

// A member of an archive that is a model file itself.
Result<LoadedPtr> load_member(const Loaded& archive, std::string_view member, const Context& context);

// Branch `path` ("state_dict", "model.0", "." for everything, "auto"): its places, named relative to it. NotFound lists
// what is there.
Result<checkpoint::Places> places_under(const Loaded& loaded, std::string_view path);

}  // namespace wick::open_detail
