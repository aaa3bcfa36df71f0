// SPDX-License-Identifier: Apache-2.0
// WICK_API marks the public face: everything else is hidden in a shared library (tests/install/symbols.txt is the
// list).
#pragma once

#if defined(_WIN32) && defined(WICK_SHARED)
#ifdef WICK_BUILDING
#define WICK_API __declspec(dllexport)
#else
#define WICK_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define WICK_API __attribute__((visibility("default")))
#else
#define WICK_API
#endif
