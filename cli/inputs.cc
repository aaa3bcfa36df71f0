// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/cursor.h"
#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "open/folder.h"
#include "wick/kind.h"

namespace wick::cli {
namespace {

constexpr std::uint64_t kLongestList = std::uint64_t{1} << 30U;  // bytes of paths

// All of a descriptor, up to `most` bytes.
Result<std::vector<std::byte>> read_descriptor(int descriptor, std::uint64_t most, std::string_view limit) {
  std::vector<std::byte> bytes;
  std::size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(std::max<std::size_t>(64 * 1024, used * 2));
    const ssize_t got = ::read(descriptor, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::Io, "reading stdin: {}", std::strerror(errno));
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > most) return fail(ErrorCode::Limit, "stdin has more than {} bytes ({})", most, limit);
  }
  bytes.resize(used);
  return bytes;
}

Result<std::string> read_list(const std::string& word) {
  if (word == "@-") {
    WICK_TRY(const auto bytes, read_descriptor(STDIN_FILENO, kLongestList, "a list of paths"));
    return std::string(as_text(bytes));
  }
  WICK_TRY(const auto source, open_file(word.substr(1)));
  if (source->size() > kLongestList)
    return fail(ErrorCode::Limit, "a list of paths of {} bytes; {} are allowed", source->size(), kLongestList);
  std::vector<std::byte> bytes(static_cast<std::size_t>(source->size()));
  WICK_CHECK(source->read_at(0, bytes));
  return std::string(as_text(bytes));
}

// A folder that is one checkpoint is one input; any other is walked.
void expand_word(const std::string& word, std::vector<Input>& inputs) {
  if (word == "-" || !open_detail::is_folder(word)) {
    inputs.push_back({word, false});
    return;
  }
  const FileKind kind = open_detail::describe_folder(word).kind;
  if (kind == FileKind::HfShards || kind == FileKind::TorchDcp) {
    inputs.push_back({word, false});
    return;
  }
  for (std::string& path : open_detail::walk_folder(word)) inputs.push_back({std::move(path), true});
}

bool has_model_extension(std::string_view name) {
  constexpr std::string_view kExtensions[] = {".pt",  ".pth",        ".bin",         ".pkl",  ".ckpt", ".ptl", ".pt2",
                                              ".mar", ".index.json", ".safetensors", ".gguf", ".npz",  ".npy"};
  const std::string lower = to_lower(name);
  return std::any_of(std::begin(kExtensions), std::end(kExtensions),
                     [&](std::string_view extension) { return lower.ends_with(extension); });
}

bool is_stranger(std::string_view slug) {
  constexpr std::pair<std::string_view, bool> kKinds[] = {
#define WICK_KIND(enumerator, name, title, readable) {name, readable},
#include "wick/kinds.def"
#undef WICK_KIND
  };
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](const auto& kind) { return kind.first == slug && !kind.second; });
}

Result<open_detail::LoadedPtr> load_stdin(const Limits& limits) {
  WICK_TRY(auto bytes, read_descriptor(STDIN_FILENO, limits.max_memory, "--max-memory"));
  return open_detail::load(from_memory(std::move(bytes), "-"), "-", Context{limits, 0});
}

}  // namespace

Result<std::vector<Input>> expand_inputs(const std::vector<std::string>& words, bool null_separated) {
  std::vector<Input> inputs;
  for (const std::string& word : words) {
    if (word.size() < 2 || word.front() != '@') {
      expand_word(word, inputs);
      continue;
    }
    auto list = read_list(word);
    if (!list) return std::move(list).error().inside(word);
    std::string_view rest = *list;
    const char separator = null_separated ? '\0' : '\n';
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(separator), rest.size());
      if (end > 0) expand_word(std::string(rest.substr(0, end)), inputs);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return inputs;
}

bool Opener::is_passed_over(const Input& input, const Error& error) const {
  return input.walked && is_stranger(error.slug()) && !has_model_extension(input.name);
}

void Opener::tell_findings(const Document& document) {
  if (!session_.has(Opt::Verbose)) return;
  for (const Finding& finding : document.loaded->contents.findings) {
    std::string place = escape_for_display(document.name);
    if (!finding.member.empty()) place += "::" + escape_for_display(finding.member);
    if (finding.offset) place += fmt::format(" @0x{:x}", *finding.offset);
    session_.note(fmt::format("{}: {} ({})", place, escape_for_display(finding.message), finding.code));
  }
}

void Opener::enter(const Document& document, bool archives, bool many,
                   const std::function<void(const Document&, bool)>& take) {
  std::vector<Document> open{document};
  many = many || document.loaded->contents.kind == FileKind::Archive;
  while (!open.empty() && session_.out.wanted()) {
    const Document next = std::move(open.back());
    open.pop_back();
    const checkpoint::Contents& contents = next.loaded->contents;
    const auto& members = contents.model_members;
    const bool is_archive = contents.kind == FileKind::Archive;
    if (!is_archive || archives || members.empty()) take(next, many);
    tell_findings(next);
    if (!is_archive) continue;
    for (std::size_t i = members.size(); i-- > 0;) {
      const std::string name = fmt::format("{}::{}", next.name, members[i]);
      auto member = open_detail::load_member(*next.loaded, members[i], Context{session_.limits, 0});
      if (member)
        open.push_back({name, *std::move(member), next.rest});
      else
        session_.fail(member.error(), name);
    }
  }
}

// FILE::record, where the record is no model: why, is the answer. Only show has a use for the bytes of a record.
bool Opener::is_unreadable_member(const Input& input, const Document& document) {
  const auto& members = document.loaded->contents.members;
  const bool shows_record = session_.arguments.verb == Verb::Show && session_.arguments.words.size() == 1;
  if (document.rest.empty() || shows_record || !members || !members->has(document.rest)) return false;
  const auto member = open_detail::load_member(*document.loaded, document.rest, Context{session_.limits, 0});
  if (member) return false;
  ++failed_;
  session_.fail(member.error(), input.name);
  return true;
}

void Opener::open_one(const Input& input, bool archives, const std::function<void(const Document&, bool)>& take) {
  Document document{input.name, nullptr, {}};
  auto loaded = input.name == "-" ? load_stdin(session_.limits)
                                  : open_detail::load_input(input.name, Context{session_.limits, 0}, &document.rest);
  if (!loaded) {
    if (is_passed_over(input, loaded.error())) {
      ++passed_;
      if (session_.has(Opt::Verbose))
        session_.note(fmt::format("{}: passed over: {}", escape_for_display(input.name),
                                  escape_for_display(loaded.error().message())));
      return;
    }
    ++failed_;
    return session_.fail(loaded.error(), input.name);
  }
  if (!document.rest.empty() && document.name.ends_with("::" + document.rest))
    document.name.resize(document.name.size() - document.rest.size() - 2);
  document.loaded = *std::move(loaded);
  if (is_unreadable_member(input, document)) return;
  ++opened_;
  enter(document, archives, inputs_.size() > 1, take);
}

void Opener::run(bool archives, const std::function<void(const Document&, bool many)>& take) {
  for (const Input& input : inputs_) {
    if (!session_.out.wanted()) break;
    open_one(input, archives, take);
  }
  if (passed_ > 0)
    session_.note(fmt::format("{} file{} passed over that {} no model{}", passed_, passed_ == 1 ? "" : "s",
                              passed_ == 1 ? "is" : "are", session_.has(Opt::Verbose) ? "" : " (-v names them)"));
  if (opened_ == 0 && failed_ == 0) {
    session_.note("no model file there");
    session_.answer_no();
  }
}

}  // namespace wick::cli
