// SPDX-License-Identifier: Apache-2.0
// Errors as values: ErrorCode, Error and Result<T>. No exception leaves wick.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "wick/export.h"

namespace wick {

// What kind of failure it is. The names in JSON are these in lower case.
enum class ErrorCode : std::uint8_t {
  Io,           // the operating system refused
  Truncated,    // bytes are missing at the end
  Malformed,    // the bytes break their specification
  Unsupported,  // legal, but not done by this version
  Limit,        // a budget of Limits was exceeded; the message names the option that raises it
  Mismatch,     // two places in the file disagree
  NotFound,     // a name that was asked for is not there
  Bug,          // a fault in wick itself
};

// The lower-case name of a code ("io", "truncated" ...). Thread-safe, never fails.
WICK_API std::string_view name_of(ErrorCode code);

// What went wrong and where. Copying is deep; an Error owns everything it says. Distinct objects may be used
// from distinct threads. A moved-from Error may only be assigned to or destroyed.
class WICK_API Error {
 public:
  Error(ErrorCode code, std::string message);
  Error(const Error& other);
  Error& operator=(const Error& other);
  Error(Error&&) noexcept = default;
  Error& operator=(Error&&) noexcept = default;
  ~Error() = default;

  [[nodiscard]] ErrorCode code() const;
  // A lower-case sentence fragment without the place, e.g. "entry count 7 exceeds the 12 bytes left".
  [[nodiscard]] const std::string& message() const;
  // Absolute byte offset in the innermost part of where(), when known.
  [[nodiscard]] std::optional<std::uint64_t> offset() const;
  // File, then member, then place in the object, outermost first. May be empty.
  [[nodiscard]] const std::vector<std::string>& where() const;
  // The closed list of docs/schema/error.json ("git-lfs-pointer", "html" ...); name_of(code()) when nothing finer is
  // known.
  [[nodiscard]] std::string_view slug() const;
  // One next step for a person, e.g. a command; may be empty.
  [[nodiscard]] const std::string& next() const;

  Error&& at(std::uint64_t offset) &&;        // sets the offset if none is set
  Error&& inside(std::string_view place) &&;  // prepends a place to where()
  Error&& called(std::string_view slug) &&;   // sets the slug
  Error&& advise(std::string_view next) &&;   // sets the next step

  // "a.pt > data.pkl @0x1f: message". For display escape it first: names come from the file.
  [[nodiscard]] std::string to_string() const;

 private:
  struct Detail;
  struct DetailDelete {
    void operator()(Detail*) const noexcept;
  };
  std::unique_ptr<Detail, DetailDelete> detail_;
};

// Either a T or an Error. [[nodiscard]]: a result that is not looked at does not compile warning-free.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  [[nodiscard]] bool ok() const { return state_.index() == 0; }

  // The value; only when ok().
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }

  // The error; only when not ok().
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

  template <class U>
  [[nodiscard]] T value_or(U&& fallback) const& {
    return ok() ? std::get<0>(state_) : static_cast<T>(std::forward<U>(fallback));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return !error_.has_value(); }
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace wick
