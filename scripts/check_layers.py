#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an include that goes up a floor. The floors are the table of docs/ARCHITECTURE.md: this reads it.

A folder of src/ includes itself, floors below it, and the public headers of those floors. Folders side by side on one
floor (` · ` in the table) do not know each other; of folders joined by `→` each sees those left of it. Installed headers
include the C++ library and each other, nothing else. Usage: check_layers.py [ROOT] | --self-test
"""
import re
import sys
import tempfile
from pathlib import Path

# The floor whose promise a public header is; wick.h is all of them.
PUBLIC = {
    "export.h": "base", "version.h": "base", "error.h": "base", "limits.h": "base", "source.h": "io",
    "dtype.h": "tensor", "dtypes.def": "tensor", "kind.h": "checkpoint", "kinds.def": "checkpoint",
    "checkpoint.h": "open", "wick.h": "open",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SUFFIXES = {".h", ".cc", ".def", ".inc"}


def read_floors(page: str) -> dict[str, tuple[int, int]]:
    """Folder -> (floor, place on it); smaller is lower. From rows such as: | 4 | `src/pickle` · `src/tensor` | ... |"""
    floors = {}
    for row in re.finditer(r"^\| *(\d+) *\|([^|]*)\|", page, re.M):
        for place, step in enumerate(row[2].split("→")):
            for folder in re.findall(r"`([^`]+)`", step):
                floors[folder.rstrip("/").removeprefix("src/")] = (int(row[1]), place)
    return floors


def folder_of(path: str, floors: dict) -> str | None:
    """The deepest folder of the table that holds the file, so that script/text is not script."""
    parts = path.split("/")[:-1]
    while parts:
        if "/".join(parts) in floors:
            return "/".join(parts)
        parts.pop()
    return None


def included_folder(target: str, floors: dict) -> str | None:
    if target.startswith("wick/"):
        return PUBLIC.get(target.removeprefix("wick/"))
    return folder_of(target, floors)


def complaint(here: str, target: str, floors: dict) -> str | None:
    """Why a file in folder `here` must not include "target", or None."""
    there = included_folder(target, floors)
    if there is None:
        known = target.startswith("wick/")
        return f"{target} is no public header of the table in check_layers.py" if known else None
    if here == there or floors[there] < floors[here]:
        return None
    if floors[there] == floors[here]:
        return f"{here} and {there} are side by side and do not know each other"
    return f"{there} is above {here}"


def includes(path: Path):
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1] == '"', match[2]


def check_sources(root: Path, floors: dict) -> list[str]:
    problems = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        name = path.relative_to(root / "src").as_posix()
        here = folder_of(name, floors)
        if here is None:
            problems.append(f"src/{name}: its folder is on no floor of docs/ARCHITECTURE.md")
            continue
        for number, quoted, target in includes(path):
            if quoted and (why := complaint(here, target, floors)):
                problems.append(f'src/{name}:{number}: includes "{target}": {why}')
    return problems


def check_public(root: Path, floors: dict) -> list[str]:
    problems = []
    for path in sorted((root / "include" / "wick").rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        name = path.relative_to(root / "include" / "wick").as_posix()
        here = PUBLIC.get(name)
        if here is None:
            problems.append(f"include/wick/{name}: give it a floor in PUBLIC of scripts/check_layers.py")
            continue
        for number, quoted, target in includes(path):
            at = f"include/wick/{name}:{number}"
            if not quoted and not re.fullmatch(r"[a-z_0-9]+", target):
                problems.append(f"{at}: includes <{target}>: an installed header needs the C++ library alone")
            elif quoted and not target.startswith("wick/"):
                problems.append(f'{at}: includes "{target}": that is not installed')
            elif quoted and (why := complaint(here, target, floors)):
                problems.append(f'{at}: includes "{target}": {why}')
    return problems


def check(root: Path) -> list[str]:
    floors = read_floors((root / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    missing = sorted(set(PUBLIC.values()) - floors.keys())
    if missing:
        return [f"docs/ARCHITECTURE.md: the table of floors lacks {', '.join(missing)}"]
    return check_sources(root, floors) + check_public(root, floors)


SELF_TEST = [  # file, line in it, part of the complaint ("" = fine)
    ("src/base/a.cc", '#include "wick/error.h"', ""),
    ("src/io/a.cc", '#include "base/cursor.h"', ""),
    ("src/open/a.cc", '#include "wick/checkpoint.h"', ""),
    ("src/torch/a.cc", '#include "script/text/lexer.h"', ""),
    ("src/base/a.cc", "#include <archive.h>", ""),
    ("src/ir/a.cc", '#include "script/program.h"', ""),
    ("src/base/a.cc", '#include "io/file.h"', "io is above base"),
    ("src/pickle/a.h", '#include "tensor/storage.h"', "side by side"),
    ("src/tensor/a_test.cc", '  #  include "pickle/value.h"', "side by side"),
    ("src/archive/a.cc", '#include "wire/json.h"', "side by side"),
    ("src/checkpoint/a.cc", '#include "wick/checkpoint.h"', "open is above checkpoint"),
    ("src/script/text/a.cc", '#include "script/program.h"', "script is above script/text"),
    ("src/script/a.cc", '#include "ir/graph.h"', "ir is above script"),
    ("src/base/a.cc", '#include "cli/output.h"', "cli is above base"),
    ("src/base/a.cc", '#include "wick/private.h"', "no public header"),
    ("src/attic/a.cc", "", "on no floor"),
    ("include/wick/error.h", "#include <string>", ""),
    ("include/wick/error.h", "#include <fmt/format.h>", "the C++ library alone"),
    ("include/wick/error.h", "#include <zlib.h>", "the C++ library alone"),
    ("include/wick/error.h", '#include "base/context.h"', "not installed"),
    ("include/wick/error.h", '#include "wick/checkpoint.h"', "open is above base"),
    ("include/wick/extra.h", "", "give it a floor"),
]


def self_test(page: str) -> list[str]:
    failures = []
    for name, line, expected in SELF_TEST:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in ((root / name, line), (root / "docs" / "ARCHITECTURE.md", page)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n", encoding="utf-8")
            found = check(root)
        if (len(found) != 1 or expected not in found[0]) if expected else found:
            failures.append(f"self-test: {name} with {line!r}: expected {expected or 'no complaint'!r}, got {found}")
    return failures


def main(arguments: list[str]) -> int:
    root = Path(__file__).resolve().parent.parent
    if arguments == ["--self-test"]:
        problems = self_test((root / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    else:
        problems = check(Path(arguments[0]) if arguments else root)
    for problem in problems:
        print(problem)
    print(f"layers: {len(problems)} problems" if problems else "layers: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
