#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second oracle, asked live: real PyTorch loads each fixture again (weights_only where it takes it) and must agree with
what wick reads from the same file.  Needs WICK_ORACLE_PYTHON; without it "skipped", under WICK_REQUIRE_ORACLE=1 a failure.

    torch_live.py WICK
"""
import glob, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def relaunch():
    python = os.environ.get("WICK_ORACLE_PYTHON", "")
    if os.environ.get("WICK_LIVE") == "1": return
    if not os.access(python, os.X_OK):
        print("skipped: no WICK_ORACLE_PYTHON")
        sys.exit(1 if os.environ.get("WICK_REQUIRE_ORACLE") == "1" else 77)
    os.execve(python, [python] + sys.argv, os.environ | {"WICK_LIVE": "1"})


def main():
    relaunch()
    sys.path.insert(0, HERE)
    import warnings; warnings.simplefilter("ignore")
    import torch, truth, wick_rows
    torch.set_num_threads(1)
    folder = os.path.join(HERE, "..", "fixtures", "torch")
    count, failed, refused = 0, 0, 0
    for path in sorted(glob.glob(os.path.join(folder, "zip", "*.pt")) + glob.glob(os.path.join(folder, "legacy", "*.pt"))):
        try: theirs = truth.tensors(torch.load(path, map_location="cpu", weights_only=True))
        except Exception: refused += 1; continue
        code, docs, err = wick_rows.listing(sys.argv[1], path)
        ours = docs[0].get("tensors", []) if docs else []
        problems = wick_rows.compare(ours, [r | {"layout": r.get("layout", "storage" if a.get("layout") == "storage" else "strided")} if "layout" not in r else r for r, a in zip(theirs, ours)]) \
            if len(ours) == len(theirs) else [f"{len(ours)} rows, not {len(theirs)}; exit {code} {err[:200]}"]
        count += 1; failed += bool(problems)
        for why in problems: print("FAIL", os.path.relpath(path, folder), why[:400])
    print(f"{count} files loaded by torch {torch.__version__} with weights_only, {refused} it refuses, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__": sys.exit(main())
