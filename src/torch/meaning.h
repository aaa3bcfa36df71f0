// SPDX-License-Identifier: Apache-2.0
// Gives every object of a file's pickles its meaning, by name: torch's own (rebuild.h) first, then Python's and numpy's
// (python/meaning.h).
#pragma once

#include <functional>
#include <vector>

#include "checkpoint/contents.h"

namespace wick::torch {

// Which storage a persistent id names; kNone when it names none. Called once for each PersistentId value, in order.
using StorageOfId = std::function<std::uint32_t(checkpoint::Contents&, pickle::Value persistent_id)>;

// Walks all objects made since ordinal `first_object`, in the order they were made, so that arguments have their
// meaning before what uses them. Resolves persistent ids through `storage_of_id` (which may add rows to
// contents.storages). A tensor that can not be built gets a row with its error; nothing is dropped. Counts
// facts.persistent_ids and facts.persistent_ids_used.
Result<void> give_meaning(checkpoint::Contents& contents, std::size_t first_object,
                          const std::vector<pickle::Value>& persistent_ids, const StorageOfId& storage_of_id);

}  // namespace wick::torch
