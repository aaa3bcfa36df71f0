// SPDX-License-Identifier: Apache-2.0
// TensorMeta and SymInt of torch.export's JSON -> tensor rows. docs/formats/pt2.md, torch/_export/serde/schema.py.
#pragma once

#include <optional>

#include "checkpoint/contents.h"
#include "wire/json.h"

namespace wick::torch {

// {"as_int": 3}; nothing for expressions ({"as_expr": …}).
std::optional<std::int64_t> sym_int(const wire::Json& value);
// A list of SymInts. Malformed when one is an expression or no SymInt: a stored tensor has sizes, not symbols.
Result<std::vector<std::int64_t>> sym_ints(const wire::Json* list, std::string_view what);

// A row over storage row `storage` as `meta` describes it; what is wrong becomes the row's error. Sets the device of
// the row and, when the storage has no dtype yet (untyped), leaves it so.
std::uint32_t add_exported_tensor(checkpoint::Contents& contents, const wire::Json& meta, std::uint32_t storage);

}  // namespace wick::torch
