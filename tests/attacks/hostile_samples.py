#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile and benign sample files: info, ls, tree and show must answer, whatever is inside.

    hostile_samples.py WICK SHARED BUILD_FOLDER

SHARED/lab's generators write the samples into BUILD_FOLDER (the benign ones need PyTorch: WICK_ORACLE_PYTHON).  They are
harmless by construction and only ever read.  Right is: exit 0, 1 or 2 within the time limit, no signal, one JSON document
a line, no escape byte on the terminal, and no file beside the samples afterwards.
"""
import concurrent.futures, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "oracle"))
import wick_rows  # noqa: E402

COMMANDS = (["info", "--json"], ["info"], ["ls", "--json", "--digest"], ["ls", "-l"], ["tree", "--json"], ["tree"], ["show"], ["ls", "--json", "--members"])
SECONDS = 60 if os.environ.get("WICK_SANITIZED") == "1" else 10
MEMORY = 1 << 30


def make(python, generator, out):
    done = os.path.join(out, ".made")
    if os.path.exists(done): return True
    if subprocess.run([python, os.path.basename(generator), out], cwd=os.path.dirname(generator), env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).returncode: return False
    open(done, "w").close()
    return True


def try_file(wick, path):
    found = []
    for command in COMMANDS:
        code, out, err = wick_rows.run(wick, command + ["--", path], timeout=SECONDS, memory=MEMORY)
        if code is None or code not in (0, 1, 2): found.append(f"{' '.join(command)}: {'hangs' if code is None else f'ended by {code}'} {err[-300:]!r}")
        elif "--json" in command:
            try: wick_rows.documents(out)
            except ValueError as e: found.append(f"{' '.join(command)}: no JSON: {e}")
        if b"\x1b" in out + err: found.append(f"{' '.join(command)}: an escape byte reached the terminal")
    return found


def main():
    wick, shared, build = os.path.abspath(sys.argv[1]), os.environ.get("WICK_SHARED", sys.argv[2]), sys.argv[3]
    lab, python = os.path.join(shared, "lab"), os.environ.get("WICK_ORACLE_PYTHON")
    required = os.environ.get("WICK_REQUIRE_ORACLE") == "1"
    if not os.path.isfile(os.path.join(lab, "gt_mal.py")):
        print("skipped: no generators at", lab)
        return 1 if required else 77
    folders = []
    for name, interpreter in (("gt_mal", sys.executable), ("gt_ben", python)):
        out = os.path.join(os.path.abspath(build), name); os.makedirs(out, exist_ok=True)
        if interpreter and make(interpreter, os.path.join(lab, name + ".py"), out): folders.append(out)
        elif required: print(name, "could not be made"); return 1
        else: print("skipped:", name)
    files = [os.path.join(d, f) for folder in folders for d, _, names in os.walk(folder) for f in sorted(names) if f != ".made"]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, found in zip(files, pool.map(lambda p: try_file(wick, p), files)):
            failed += bool(found)
            for why in found: print("FAIL", os.path.relpath(path, build), why)
    after = [os.path.join(d, f) for folder in folders for d, _, names in os.walk(folder) for f in sorted(names) if f != ".made"]
    if after != files: print("FAIL files appeared:", set(after) - set(files)); failed += 1
    print(f"{len(files)} samples, {len(COMMANDS)} commands each, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__": sys.exit(main())
