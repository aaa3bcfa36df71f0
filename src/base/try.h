// SPDX-License-Identifier: Apache-2.0
// WICK_TRY: the early return that makes Result readable.
#pragma once

#include "wick/error.h"

#define WICK_JOIN_(a, b) a##b
#define WICK_JOIN(a, b) WICK_JOIN_(a, b)

// WICK_TRY(uint32_t count, cursor.read_u32("entry count"));   declares count, or returns the error
#define WICK_TRY(declaration, expression)                        \
  auto WICK_JOIN(wick_result_, __LINE__) = (expression);         \
  if (!WICK_JOIN(wick_result_, __LINE__)) [[unlikely]]           \
    return std::move(WICK_JOIN(wick_result_, __LINE__)).error(); \
  declaration = *std::move(WICK_JOIN(wick_result_, __LINE__))

// WICK_CHECK(source.read_at(offset, bytes));                  for Result<void>
#define WICK_CHECK(expression)                                      \
  do {                                                              \
    if (auto wick_check_ = (expression); !wick_check_) [[unlikely]] \
      return std::move(wick_check_).error();                        \
  } while (false)
