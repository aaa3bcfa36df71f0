// SPDX-License-Identifier: Apache-2.0
#include "wick/error.h"

#include "base/format.h"

namespace wick {

struct Error::Detail {
  ErrorCode code;
  std::string message;
  std::optional<std::uint64_t> offset;
  std::vector<std::string> where;
  std::string slug;
  std::string next;
};

void Error::DetailDelete::operator()(Detail* detail) const noexcept { delete detail; }

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Io: return "io";
    case ErrorCode::Truncated: return "truncated";
    case ErrorCode::Malformed: return "malformed";
    case ErrorCode::Unsupported: return "unsupported";
    case ErrorCode::Limit: return "limit";
    case ErrorCode::Mismatch: return "mismatch";
    case ErrorCode::NotFound: return "not-found";
    case ErrorCode::Bug: return "bug";
  }
  return "bug";
}

Error::Error(ErrorCode code, std::string message) : detail_(new Detail{code, std::move(message), {}, {}, {}, {}}) {}
Error::Error(const Error& other) : detail_(other.detail_ ? new Detail(*other.detail_) : nullptr) {}
Error& Error::operator=(const Error& other) {
  if (this != &other) detail_.reset(other.detail_ ? new Detail(*other.detail_) : nullptr);
  return *this;
}

ErrorCode Error::code() const { return detail_->code; }
const std::string& Error::message() const { return detail_->message; }
std::optional<std::uint64_t> Error::offset() const { return detail_->offset; }
const std::vector<std::string>& Error::where() const { return detail_->where; }
std::string_view Error::slug() const {
  return detail_->slug.empty() ? name_of(detail_->code) : std::string_view(detail_->slug);
}
const std::string& Error::next() const { return detail_->next; }

Error&& Error::at(std::uint64_t offset) && {
  if (!detail_->offset) detail_->offset = offset;
  return std::move(*this);
}
Error&& Error::inside(std::string_view place) && {
  detail_->where.insert(detail_->where.begin(), std::string(place));
  return std::move(*this);
}
Error&& Error::called(std::string_view slug) && {
  detail_->slug = slug;
  return std::move(*this);
}
Error&& Error::advise(std::string_view next) && {
  detail_->next = next;
  return std::move(*this);
}

std::string Error::to_string() const {
  std::string text;
  for (const auto& place : detail_->where) {
    if (!text.empty()) text += " > ";
    text += place;
  }
  if (detail_->offset) text += fmt::format("{}@0x{:x}", text.empty() ? "" : " ", *detail_->offset);
  if (!text.empty()) text += ": ";
  return text + detail_->message;
}

}  // namespace wick
