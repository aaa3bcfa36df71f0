// SPDX-License-Identifier: Apache-2.0
// INPUT words -> open files: lists (@FILE, @-), stdin (-), folders, FILE::member, archives that hold several models.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "open/loaded.h"
#include "session.h"

namespace wick::cli {

// One thing to open.
struct Input {
  std::string name;     // as load_input takes it; "-" = the bytes of stdin
  bool walked = false;  // found in a folder, not named by the user: strangers are passed over
};

struct Document {
  std::string name;  // "runs/a.zip::policy.pth": what a user can type again
  open_detail::LoadedPtr loaded;
  std::string rest;  // of FILE::rest, what names no member: a tensor or branch
};

// Replaces @FILE and @- by the paths in them and folders by the files under them. A list is read whole.
Result<std::vector<Input>> expand_inputs(const std::vector<std::string>& words, bool null_separated);

// Opens one input. Tells failures through the session; nothing then, or when it was passed over (counted).
class Opener {
 public:
  Opener(Session& session, std::vector<Input> inputs) : session_(session), inputs_(std::move(inputs)) {}
  // Calls `take` for each open file; an archive comes first itself when `archives` says so, then its model members.
  // `many` tells whether more than one may come.
  void run(bool archives, const std::function<void(const Document&, bool many)>& take);

 private:
  void open_one(const Input& input, bool archives, const std::function<void(const Document&, bool)>& take);
  void enter(const Document& document, bool archives, bool many,
             const std::function<void(const Document&, bool)>& take);
  [[nodiscard]] bool is_unreadable_member(const Input& input, const Document& document);
  [[nodiscard]] bool is_passed_over(const Input& input, const Error& error) const;
  void tell_findings(const Document& document);

  Session& session_;
  std::vector<Input> inputs_;
  std::size_t opened_ = 0;
  std::size_t failed_ = 0;
  std::size_t passed_ = 0;
};

}  // namespace wick::cli
