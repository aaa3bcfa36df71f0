#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`wick show --disasm` against pickletools, opcode by opcode, for every pickle of the corpus.

    compare_disassembly.py WICK SHARED
"""
import json, os, pathlib, pickletools, sys, zipfile

from wick_rows import run

LARGEST = 4_000_000  # bytes of a pickle: larger ones are more of the same
LEGACY_PICKLES = 5


def pickles(shared):
    """-> (path, record or None, bytes, pickles in a row)"""
    for path in sorted(p for p in (shared / "corpus").rglob("*") if p.is_file() and "malicious" not in p.parts):
        if zipfile.is_zipfile(path):
            try:
                with zipfile.ZipFile(path) as archive:
                    for entry in archive.infolist():
                        if entry.filename.endswith(".pkl") and 0 < entry.file_size <= LARGEST:
                            yield path, entry.filename, archive.read(entry), 1
            except (zipfile.BadZipFile, NotImplementedError, OSError):
                continue
        else:
            with open(path, "rb") as file:
                head = file.read(LARGEST)
            # The magic number that begins a legacy file of torch.save.
            if head[:14] == b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.":
                yield path, None, head, LEGACY_PICKLES


def expected(data, count):
    """[[offset, opcode, argument or None]], or None where pickletools refuses."""
    rows, start = [], 0
    try:
        for _ in range(count):
            for opcode, argument, offset in pickletools.genops(data[start:]):
                rows.append([start + offset, opcode.name, None if argument is None else repr(argument)])
            start = rows[-1][0] + 1
    except (ValueError, OverflowError):
        return None
    return rows


def found(wick, path, record):
    code, out, err = run(wick, ["show", "--disasm", "--json", "--", str(path)] + ([record] if record else []))
    documents = [json.loads(line) for line in out.decode().splitlines() if line]
    rows = [[r["offset"], r["opcode"], r["arg"]] for d in documents for r in d.get("disasm", [])]
    return rows, f"exit {code}: {err.decode(errors='replace')[:300]}"


def main():
    wick, shared = sys.argv[1], pathlib.Path(os.environ.get("WICK_SHARED", sys.argv[2]))
    if not (shared / "corpus").is_dir():
        print("skipped: no corpus")
        return 1 if os.environ.get("WICK_REQUIRE_ORACLE") == "1" else 77
    equal = different = refused = 0
    for path, record, data, count in pickles(shared):
        want = expected(data, count)
        if want is None:
            refused += 1
            continue
        got, problem = found(wick, path, record)
        if got == want:
            equal += 1
            continue
        different += 1
        at = next((i for i, (g, w) in enumerate(zip(got, want)) if g != w), min(len(got), len(want)))
        print(f"{path}::{record or ''}: row {at} of {len(want)}: {got[at:at + 1]} is not {want[at:at + 1]}; {problem}")
    print(f"{equal} pickles equal, {different} different, {refused} that pickletools refuses")
    return 1 if different or not equal else 0


if __name__ == "__main__":
    sys.exit(main())
