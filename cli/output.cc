// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/format.h"

namespace wick::cli {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;
constexpr int kStdout = 1;
constexpr int kStderr = 2;

std::string_view code_of(Style style) {
  switch (style) {
    case Style::Bad: return "\x1b[31m";
    case Style::Warn: return "\x1b[33m";
    case Style::Faint: return "\x1b[2m";
    case Style::Strong: return "\x1b[1m";
    case Style::Plain: return "";
  }
  return "";
}

// NO_COLOR counts when it is there and not empty (no-color.org).
bool colour_is_unwanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color != nullptr && *no_color != '\0';
}

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(kStdout, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

}  // namespace

Output::Output(Colour colour)
    : out_terminal_(::isatty(kStdout) == 1),
      err_terminal_(::isatty(kStderr) == 1),
      started_(std::chrono::steady_clock::now()) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes EPIPE, which ends quietly
  coloured_ = colour == Colour::Always || (colour == Colour::Auto && out_terminal_ && !colour_is_unwanted());
  if (out_terminal_) columns_ = terminal_columns();
}

Output::~Output() {
  end_progress();
  flush();
}

void Output::text(std::string_view own_words) {
  if (closed_) return;
  buffer_ += own_words;
  if (buffer_.size() >= kBuffer) flush();
}

void Output::styled(Style style, std::string_view own_words) { text(dyed(style, own_words)); }

std::string Output::dyed(Style style, std::string_view own_words) const {
  if (!coloured_ || style == Style::Plain) return std::string(own_words);
  return fmt::format("{}{}\x1b[0m", code_of(style), own_words);
}

void Output::flush() {
  if (!closed_ && !buffer_.empty()) {
    end_progress();
    write_all(kStdout, buffer_);
  }
  buffer_.clear();
}

void Output::write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(descriptor, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      if (descriptor == kStdout) {
        closed_ = true;
        if (errno != EPIPE) failure_ = errno;
      }
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void Output::message(std::string_view escaped_text) {
  end_progress();
  flush();  // so that both come in order where they share a terminal
  write_all(kStderr, escaped_text);
}

void Output::progress(std::string_view doing, std::uint64_t done, std::uint64_t total) {
  if (!err_terminal_ || quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - started_).count();
  if (seconds < 0.5 || now - last_progress_ < std::chrono::milliseconds(100)) return;
  last_progress_ = now;
  progress_shown_ = true;
  const double rate = static_cast<double>(done) / seconds;
  const double left = rate > 0 ? static_cast<double>(total - std::min(done, total)) / rate : 0;
  write_all(kStderr, fmt::format("\r\x1b[K{} {} of {}, {}/s, {:.0f} s left", doing, human_bytes(done),
                                 human_bytes(total), human_bytes(static_cast<std::uint64_t>(rate)), left));
}

void Output::end_progress() {
  if (!progress_shown_) return;
  progress_shown_ = false;
  write_all(kStderr, "\r\x1b[K");
}

}  // namespace wick::cli
