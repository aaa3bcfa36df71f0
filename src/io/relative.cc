// SPDX-License-Identifier: Apache-2.0
#include "io/relative.h"

namespace wick::io {

bool stays_inside(std::string_view path) {
  if (path.empty() || path.front() == '/') return false;
  if (path.find('\0') != std::string_view::npos || path.find('\\') != std::string_view::npos) return false;
  if (path.size() >= 2 && path[1] == ':') return false;  // a drive of Windows
  while (true) {
    const std::size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace wick::io
