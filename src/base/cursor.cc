// SPDX-License-Identifier: Apache-2.0
#include "base/cursor.h"

namespace wick {

Error Cursor::cut(std::string_view field, std::uint64_t wanted) const {
  return fail_at(ErrorCode::Truncated, offset(), "{} needs {} bytes, {} are left", field, wanted, remaining());
}

Result<std::string_view> Cursor::read_line(std::string_view field) {
  const std::string_view rest = as_text(bytes_.subspan(at_));
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos)
    return fail_at(ErrorCode::Truncated, offset(), "{} has no end of line in the {} bytes left", field, remaining());
  at_ += end + 1;
  return rest.substr(0, end);
}

}  // namespace wick
