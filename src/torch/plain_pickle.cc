// SPDX-License-Identifier: Apache-2.0
// Pickles that no torch.save wrote: one, or several in a row; torch's storages lie in them as byte strings.
// Format: docs/formats/pickle.md.
#include <algorithm>

#include "base/cursor.h"
#include "base/try.h"
#include "pickle/machine.h"
#include "torch/readers.h"
#include "torch/rebuild.h"
#include "torch/zip_save.h"

namespace wick::torch {

using checkpoint::kNone;
using pickle::Value;

namespace {

// Opcodes a pickle without PROTO can begin with: text protocols begin by making something or marking.
constexpr std::string_view kFirstOpcodes = "(cdlI]})NFLSVUTXKMJG";
constexpr std::uint8_t kHighestProtocol = 5;

// What a stream has behind its pickles, told in words.
void tell_rest(checkpoint::Contents& contents, std::uint64_t at, const std::optional<Error>& why) {
  const std::uint64_t size = contents.source->size();
  if (at >= size) return;
  std::string text = fmt::format("{} bytes after the end of the pickle", size - at);
  if (why) text += fmt::format(" are no further pickle: {}", why->message());
  contents.findings.push_back({"trailing-bytes", std::move(text), {}, at});
}

}  // namespace

bool is_pickle(const checkpoint::Probe& probe) {
  const auto& head = probe.head;
  if (head.size() < 2) return false;
  // joblib writes raw arrays between the opcodes: no pickle that could be read to its end (open/strangers.cc names it).
  if (as_text(head).find("joblib.numpy_pickle") != std::string_view::npos) return false;
  const auto first = std::to_integer<std::uint8_t>(head[0]);
  if (first == 0x80) {
    const auto protocol = std::to_integer<std::uint8_t>(head[1]);
    return protocol >= 1 && protocol <= kHighestProtocol;
  }
  if (kFirstOpcodes.find(static_cast<char>(first)) == std::string_view::npos) return false;
  // Text of any kind may begin so: it is a pickle only when all of it reads as one, or is cut.
  pickle::Arena arena;
  const auto read = pickle::read_pickle_at(*probe.source, 0, arena, probe.context.limits);
  if (read) return read->end > 2;
  constexpr std::uint64_t kConvincing = 64;
  return read.error().code() == ErrorCode::Truncated && read.error().offset().value_or(0) >= kConvincing;
}

Result<checkpoint::Contents> read_plain_pickle(const checkpoint::Probe& probe) {
  checkpoint::Contents contents;
  contents.name = probe.name;
  contents.kind = FileKind::Pickle;
  contents.source = probe.source;
  contents.limits = probe.context.limits;
  std::vector<Value> roots;
  std::vector<Value> persistent_ids;
  PickleFacts facts;
  std::optional<Error> why;
  std::uint64_t at = 0;
  while (at < probe.source->size()) {
    auto read = pickle::read_pickle_at(*probe.source, at, contents.arena, contents.limits);
    if (!read) {
      if (roots.empty()) return std::move(read).error();
      why = std::move(read).error();
      break;
    }
    facts.add(contents, *read);
    roots.push_back(read->root);
    persistent_ids.insert(persistent_ids.end(), read->persistent_ids.begin(), read->persistent_ids.end());
    at = read->end;
  }
  if (roots.empty()) return Error(ErrorCode::Truncated, "the file is empty");
  tell_rest(contents, at, why);
  // Several pickles are read as one tuple of them: the first step of every path is the pickle's number.
  const Value root = roots.size() == 1 ? roots.front() : contents.arena.tuple(roots);
  contents.sections.push_back({"", root, checkpoint::Role::Unknown});
  // A plain pickle has no records that an id could name: the ids stay what they are, and are shown.
  WICK_CHECK(give_meaning(contents, 0, persistent_ids, [](checkpoint::Contents&, Value) { return kNone; }));
  contents.arena.drop_duplicate_keys();
  return contents;
}

}  // namespace wick::torch
