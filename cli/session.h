// SPDX-License-Identifier: Apache-2.0
// One run of one command: what was asked, where it prints, and the exit code as it grows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command_line.h"
#include "json_writer.h"
#include "listing.h"
#include "output.h"
#include "problem.h"
#include "wick/error.h"

namespace wick::cli {

enum class JsonMode : std::uint8_t { None, Object, Rows, Fields };

class Session {
 public:
  // Usage error when an option has a value that it can not have.
  static Result<void> prepare(const Arguments& arguments, Session& session);
  Session(const Arguments& parsed, Output& output) : arguments(parsed), out(output), json(output) {}

  const Arguments& arguments;
  Output& out;
  JsonWriter json;
  Limits limits;
  JsonMode json_mode = JsonMode::None;
  std::vector<std::string> json_fields;
  Encoding encoding = Encoding::Utf8;
  int exit = kExitYes;

  [[nodiscard]] bool has(Opt opt) const { return arguments.has(opt); }
  // Tells a failure on stderr, and on stdout as wick.error/1 under --json. Exit code 2 (64 for a usage error).
  void fail(const Error& error, std::string_view input);
  // A negative answer: exit code 1 unless something worse happened.
  void answer_no();
  // "wick: text" on stderr, unless --quiet. `text` is escaped already.
  void note(std::string_view text);
  // The first keys of every object: schema, wick, file, kind.
  void open_document(std::string_view schema, std::string_view file, std::string_view kind);
};

}  // namespace wick::cli
