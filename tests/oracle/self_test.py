#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison itself: every kind of difference must be noticed, or a green run would prove nothing."""
import copy, os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wick_rows  # noqa: E402

ROW = {"path": ["a", 0], "name": "a.0", "dtype": "float32", "shape": [2, 3], "strides": [3, 1], "sha256": "00", "layout": "strided"}
QUANT = {"scheme": "per_tensor_affine", "scale": 0.5, "zero_point": 3}


def expect(what, theirs, ours, equal=False):
    found = wick_rows.compare(ours, theirs)
    if bool(found) == equal: print("FAIL", what, found); return 1
    return 0


def main():
    failed = expect("equal rows", [ROW], [ROW], equal=True)
    for key, value in (("name", "a.1"), ("dtype", "float16"), ("shape", [3, 2]), ("strides", [1, 2]), ("sha256", "01"), ("sha256", None), ("path", ["a", 1]), ("path", ["a"]), ("record", "x"), ("layout", "storage")):
        failed += expect(f"another {key}", [ROW], [ROW | {key: value}])
    failed += expect("a missing row", [ROW, ROW], [ROW])
    failed += expect("one row too many", [ROW], [ROW, ROW])
    other = ROW | {"name": "b", "path": ["b"]}
    failed += expect("another order", [ROW, other], [other, ROW])
    quantized = ROW | {"quant": QUANT}
    failed += expect("equal quant", [quantized], [quantized], equal=True)
    for key, value in (("scheme", "per_channel_affine"), ("scale", 0.25), ("zero_point", 0)):
        failed += expect(f"another {key}", [quantized], [ROW | {"quant": QUANT | {key: value}}])
    failed += expect("no quant", [quantized], [ROW])
    sparse = ROW | {"parts": {"indices": "11", "values": "22"}}
    failed += expect("equal parts", [sparse], [ROW | {"parts": {"indices": {"sha256": "11"}, "values": {"sha256": "22"}}}], equal=True)
    failed += expect("another part", [sparse], [ROW | {"parts": {"indices": {"sha256": "11"}, "values": {"sha256": "23"}}}])
    failed += expect("a part missing", [sparse], [ROW | {"parts": {"indices": {"sha256": "11"}}}])
    failed += 0 if wick_rows.compare_set([ROW], [copy.deepcopy(ROW) | {"sha256": "09"}]) else 1
    failed += 0 if wick_rows.compare_set([ROW], [ROW | {"name": "zzz"}]) else 1
    print("noticed all" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__": sys.exit(main())
