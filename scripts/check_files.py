#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports files above 600 lines and C++ functions above 60, files without their first lines, and words left behind.

Functions are found by the shape clang-format gives them: a head with `(` whose line ends in `{`, up to the `}` at the
same indent. Usage: check_files.py [ROOT] | --self-test
"""
import re
import subprocess
import sys
from pathlib import Path

FILE_LINES = 600
FUNCTION_LINES = 60
CODE = {".h", ".cc", ".def", ".py", ".sh"}
GENERATED = ("tests/fixtures/", "tests/recipes/", "fuzz/corpus/", "docs/man/")
NOT_A_FUNCTION = re.compile(r"^\s*(?:(?:inline|static)\s+)*(namespace|class|struct|enum|union|extern)\b|=\s*\{$|^\s*template <[^(]*\{$")


def functions(lines: list[str]):
    """(first line, lines) of each outermost function, numbered from 1."""
    number = 0
    while number < len(lines):
        line = lines[number]
        if not line.rstrip().endswith("{") or line.lstrip().startswith(("//", "#")):
            number += 1
            continue
        head = number  # a head that was wrapped starts above
        while head > 0 and lines[head - 1].strip() and lines[head - 1].rstrip()[-1] not in ";{}:>" \
                and not lines[head - 1].lstrip().startswith(("//", "#")):
            head -= 1
        text = " ".join(part.strip() for part in lines[head:number + 1])
        if NOT_A_FUNCTION.search(text) or "(" not in text:
            number += 1
            continue
        indent = re.match(r" *", lines[head])[0]
        end = next((i for i in range(number + 1, len(lines)) if re.match(indent + r"\}", lines[i])), len(lines) - 1)
        yield head + 1, end - head + 1
        number = end + 1


def check_file(name: str, text: str) -> list[str]:
    lines = text.splitlines()
    problems = []
    if len(lines) > FILE_LINES and not name.endswith(".def"):
        problems.append(f"{name}: {len(lines)} lines, the wall is {FILE_LINES}")
    if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(lines[:3]):
        problems.append(f"{name}: its first lines lack the SPDX line")
    if name.endswith((".h", ".cc")) and not name.endswith("_test.cc"):
        for line, length in functions(lines):
            if length > FUNCTION_LINES:
                problems.append(f"{name}:{line}: a function of {length} lines, the wall is {FUNCTION_LINES}")
    problems += [f"{name}:{i}: TODO without a test or an issue" for i, line in enumerate(lines, 1)
                 if re.search(r"\b(TODO|FIXME|XXX)\b", line) and not name.endswith("check_files.py")]
    return problems


def check(root: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False).stdout.split("\n")
    if listed == [""]:  # an unpacked source archive
        listed = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if "build" not in path.parts]
    names = [name for name in listed if Path(name).suffix in CODE and not name.startswith(GENERATED)]
    problems = []
    for name in names:
        if (root / name).is_file():
            problems += check_file(name, (root / name).read_text(encoding="utf-8", errors="replace"))
    return problems


def self_test() -> list[str]:
    spdx = "// SPDX-License-Identifier: Apache-2.0\n"
    body = "  call();\n" * 70
    cases = [
        ("src/a.cc", spdx + "int f(int a) {\n" + body + "}\n", "src/a.cc:2: a function of 72 lines"),
        ("src/a.cc", spdx + "int f(int a,\n      int b) {\n" + body + "}\n", "src/a.cc:2: a function of 73 lines"),
        ("src/a.h", spdx + "class A {\n public:\n  int f() {\n" + body + "  }\n};\n", "src/a.h:4: a function of 72 lines"),
        ("src/a.cc", spdx + "namespace a {\n" + "int f() {\n  g();\n}\n" * 40 + "}\n", ""),
        ("src/a.cc", spdx + "const int kTable[] = {\n" + "  1,\n" * 100 + "};\n", ""),
        ("src/a.cc", spdx + "\n" * 700, "src/a.cc: 701 lines"),
        ("src/a.cc", "int a;\n", "lack the SPDX line"),
    ]
    failures = []
    for name, text, expected in cases:
        found = check_file(name, text)
        if (len(found) != 1 or expected not in found[0]) if expected else found:
            failures.append(f"self-test: expected {expected or 'nothing'!r}, got {found}")
    return failures


def main(arguments: list[str]) -> int:
    root = Path(__file__).resolve().parent.parent
    problems = self_test() if arguments == ["--self-test"] else check(Path(arguments[0]) if arguments else root)
    for problem in problems:
        print(problem)
    print(f"files: {len(problems)} problems" if problems else "files: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
