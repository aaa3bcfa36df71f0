// SPDX-License-Identifier: Apache-2.0
#include "disasm.h"

#include "base/format.h"
#include "base/text.h"
#include "base/try.h"
#include "pickle/disassemble.h"

namespace wick::cli {
namespace {

using checkpoint::Contents;

constexpr std::uint64_t kWindow = std::uint64_t{1} << 20U;
// Of a legacy file: magic number, protocol, system, the object, storage keys; raw storages follow.
constexpr int kLegacyPickles = 5;

// Where pickles lie: a record, or the file itself.
struct Stream {
  io::SourcePtr source;
  std::string record;
  std::uint64_t most = 1;  // pickles in a row
};

Result<Stream> record_stream(const Contents& contents, const std::string& name, const Limits& limits) {
  if (!contents.members)
    return fail(ErrorCode::NotFound, "it holds no record {}: it is a {}", python_quote(name), title_of(contents.kind));
  const std::string inside = fmt::format("{}/{}", contents.facts.root_folder, name);
  for (const std::string& candidate : {name, inside}) {
    if (!contents.members->has(candidate)) continue;
    WICK_TRY(auto source, contents.members->open(candidate, limits));
    return Stream{std::move(source), candidate, 1};
  }
  return fail(ErrorCode::NotFound, "there is no record {}", python_quote(name)).advise("wick ls --members lists them");
}

// The pickle that loading the file reads first of all.
Result<Stream> main_stream(const Contents& contents, const Limits& limits) {
  switch (contents.kind) {
    case FileKind::Pickle: return Stream{contents.source, "", ~std::uint64_t{0}};
    case FileKind::TorchLegacy: return Stream{contents.source, "", kLegacyPickles};
    case FileKind::TorchTar: return record_stream(contents, "pickle", limits);
    default: break;
  }
  if (!contents.members) return fail(ErrorCode::Unsupported, "a {} holds no pickle", title_of(contents.kind));
  auto stream = record_stream(contents, "data.pkl", limits);
  if (stream) return stream;
  return fail(ErrorCode::NotFound, "no data.pkl in it; name a record").advise("wick ls --members lists them");
}

class Disassembly {
 public:
  Disassembly(Session& session, const Document& document) : session_(session), document_(document) {}

  Result<void> run(const Stream& stream) {
    WICK_TRY(const auto bytes, read_stream(stream));
    if (session_.json_mode != JsonMode::None) {
      session_.open_document("wick.show/1", document_.name, name_of(document_.loaded->contents.kind));
      if (!stream.record.empty()) session_.json.named_text("record", stream.record);
      session_.json.key("disasm").open_array();
    }
    std::uint64_t at = 0;
    std::uint64_t done = 0;
    Result<void> ended;
    while (done < stream.most && at < bytes.size() && session_.out.wanted()) {
      auto used = disassemble_one(bytes, at);
      if (!used) {
        // What follows a whole pickle need not be one.
        if (done == 0) ended = std::move(used).error().inside(stream.record.empty() ? "pickle" : stream.record);
        break;
      }
      at += *used;
      ++done;
    }
    if (session_.json_mode != JsonMode::None) {
      session_.json.close_array();
      session_.json.close_object();
      session_.json.end_line();
    }
    return ended;
  }

 private:
  // A whole record; of a file only what its pickles take, grown until they end.
  Result<std::vector<std::byte>> read_stream(const Stream& stream) const {
    if (!stream.record.empty()) return io::read_all(*stream.source, session_.limits);
    for (std::uint64_t length = kWindow;; length *= 4) {
      WICK_TRY(auto bytes, io::read_head(*stream.source, static_cast<std::size_t>(length)));
      if (bytes.size() < length || holds_all(bytes, stream.most)) return bytes;
      WICK_CHECK(check_memory(session_.limits, length * 4, "the pickle"));
    }
  }

  [[nodiscard]] bool holds_all(std::span<const std::byte> bytes, std::uint64_t most) const {
    std::uint64_t at = 0;
    for (std::uint64_t done = 0; done < most && at < bytes.size(); ++done) {
      const auto used = pickle::disassemble(bytes.subspan(static_cast<std::size_t>(at)), at, session_.limits,
                                            [](const pickle::Instruction&) { return true; });
      if (!used) return used.error().code() != ErrorCode::Truncated;
      at += *used;
    }
    return at < bytes.size();
  }

  Result<std::uint64_t> disassemble_one(std::span<const std::byte> bytes, std::uint64_t at) {
    return pickle::disassemble(bytes.subspan(static_cast<std::size_t>(at)), at, session_.limits,
                               [this, at](const pickle::Instruction& instruction) {
                                 show(instruction, at + instruction.offset);
                                 return session_.out.wanted();
                               });
  }

  void show(const pickle::Instruction& instruction, std::uint64_t offset) {
    if (session_.json_mode == JsonMode::None) {
      session_.out.text(instruction.has_argument ? fmt::format("{:8}: {:<16} ", offset, instruction.name)
                                                 : fmt::format("{:8}: {}", offset, instruction.name));
      if (instruction.has_argument) session_.out.name(instruction.argument);
      return session_.out.line();
    }
    session_.json.open_object();
    session_.json.key("offset").number(offset);
    session_.json.key("opcode").text(instruction.name);
    session_.json.key("arg");
    if (instruction.has_argument)
      session_.json.text(instruction.argument);
    else
      session_.json.null();
    session_.json.close_object();
  }

  Session& session_;
  const Document& document_;
};

void disassemble(Session& session, const Document& document, const Result<Stream>& stream, std::string_view place) {
  if (!stream) return session.fail(stream.error(), place);
  if (auto shown = Disassembly(session, document).run(*stream); !shown) session.fail(shown.error(), place);
}

}  // namespace

void run_disasm(Session& session, const Document& document, const std::vector<std::string>& names) {
  const Contents& contents = document.loaded->contents;
  if (names.empty()) return disassemble(session, document, main_stream(contents, session.limits), document.name);
  for (const std::string& name : names)
    disassemble(session, document, record_stream(contents, name, session.limits), document.name);
}

}  // namespace wick::cli
