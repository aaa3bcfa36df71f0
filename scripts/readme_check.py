#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the output shown in README.md and docs/*.md against what wick really prints.

In a ```console block every line `$ wick ...` is run from the project's root and the lines up to the next `$` must be its
output, to the character; a line `…` alone stands for any number of lines. Other `$` lines are not run.
Usage: readme_check.py WICK [--fix]
"""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"```console\n(.*?)```", re.S)


def output_of(wick: str, command: str) -> str:
    done = subprocess.run([wick, *shlex.split(command)[1:]], cwd=ROOT, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, check=False)
    return done.stdout + done.stderr


def steps(block: str):
    """(command line, shown output) of each `$` line."""
    parts = re.split(r"^(\$ .*)\n", block, flags=re.M)
    return zip(parts[1::2], parts[2::2])


def agrees(shown: str, real: str) -> bool:
    pattern = "\n".join("(.*\n?)*?" if line == "…" else re.escape(line) for line in shown.rstrip("\n").split("\n"))
    return re.fullmatch(pattern.replace("(.*\n?)*?\n", "(.*\n)*?"), real.rstrip("\n")) is not None


def main(arguments: list[str]) -> int:
    wick, fix = os.path.abspath(arguments[0]), "--fix" in arguments
    failures = checked = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")

        def check_block(match: re.Match) -> str:
            nonlocal failures, checked
            block = match[1]
            for line, shown in steps(block):
                if not line.startswith("$ wick"):
                    continue
                checked += 1
                real = output_of(wick, line[2:])
                if agrees(shown, real):
                    continue
                if fix:
                    block = block.replace(f"{line}\n{shown}", f"{line}\n{real.rstrip()}\n" + ("\n" if shown.endswith("\n\n") else ""))
                else:
                    failures += 1
                    print(f"{page.name}: {line}\n--- shown\n{shown}--- real\n{real}")
            return f"```console\n{block}```"

        fixed = BLOCK.sub(check_block, text)
        if fix and fixed != text:
            page.write_text(fixed, encoding="utf-8")
    print(f"readme: {checked} commands, {failures} differ")
    return 1 if failures or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
