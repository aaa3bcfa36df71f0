#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes src/base/unprintable.def: the ranges of code points for which Python's str.isprintable() is false.
# Usage: python3 scripts/make_unprintable.py > src/base/unprintable.def
import sys
import unicodedata

ranges = []
for code in range(0x110000):
    if chr(code).isprintable():
        continue
    if ranges and ranges[-1][1] == code - 1:
        ranges[-1][1] = code
    else:
        ranges.append([code, code])

print("// Code points that Python's repr escapes (str.isprintable() is false), Unicode %s, first and last of each range."
      % unicodedata.unidata_version)
print("// Made by scripts/make_unprintable.py. WICK_UNPRINTABLE(first, last)")
for first, last in ranges:
    print("WICK_UNPRINTABLE(0x%X, 0x%X)" % (first, last))
sys.exit(0)
