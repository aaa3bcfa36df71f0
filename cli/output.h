// SPDX-License-Identifier: Apache-2.0
// The only place that prints: data to stdout, messages and progress to stderr. Names from files go through name(),
// which escapes them; text() is for words of our own and for what was escaped already.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace wick::cli {

// What to do about it decides the colour; plain is no colour.
enum class Style : std::uint8_t { Plain, Bad, Warn, Faint, Strong };
enum class Colour : std::uint8_t { Auto, Always, Never };

class Output {
 public:
  explicit Output(Colour colour = Colour::Auto);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  // ---- stdout ----
  void text(std::string_view own_words);
  void name(std::string_view from_the_file) { text(escape_for_display(from_the_file)); }
  void styled(Style style, std::string_view own_words);
  void line(std::string_view own_words = {}) {
    text(own_words);
    text("\n");
  }
  // False when the reader of stdout has gone or the disk is full: no need to go on.
  [[nodiscard]] bool wanted() const { return !closed_; }
  // The system's reason when writing failed for another cause than a closed pipe; 0 otherwise.
  [[nodiscard]] int failure() const { return failure_; }
  void flush();

  // ---- stderr ----
  void message(std::string_view escaped_text);  // ends with its own newline
  // One line that is overwritten: "hashing 1.2 of 5.1 GB, 830 MB/s, 4 s left". Only on a terminal, only after half a
  // second, at most ten times a second.
  void progress(std::string_view doing, std::uint64_t done, std::uint64_t total);
  void end_progress();

  [[nodiscard]] bool stdout_is_terminal() const { return out_terminal_; }
  [[nodiscard]] bool stderr_is_terminal() const { return err_terminal_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }  // of the terminal; 80 when there is none
  void be_quiet() { quiet_ = true; }
  [[nodiscard]] bool quiet() const { return quiet_; }
  // `own_words` with the colour of `style`, when there is colour.
  [[nodiscard]] std::string dyed(Style style, std::string_view own_words) const;

 private:
  void write_all(int descriptor, std::string_view bytes);

  std::string buffer_;
  bool coloured_ = false;
  bool out_terminal_ = false;
  bool err_terminal_ = false;
  bool closed_ = false;
  bool quiet_ = false;
  bool progress_shown_ = false;
  int failure_ = 0;
  std::size_t columns_ = 80;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point last_progress_;
};

}  // namespace wick::cli
