#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every fixture of tests/fixtures/torch: what `wick ls` and `wick tree` say against expected.jsonl, which PyTorch wrote.

    compare_fixtures.py WICK [--only TEXT]
"""
import argparse, collections, concurrent.futures, hashlib, json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import wick_rows  # noqa: E402

FIXTURES = os.path.join(HERE, "..", "fixtures", "torch")


def intact(entry, path):
    """The file is the one that the expected values belong to."""
    sha = lambda f: hashlib.sha256(open(f, "rb").read()).hexdigest()
    if os.path.isdir(path): return entry["sha256"] == {f: sha(os.path.join(path, f)) for f in sorted(os.listdir(path))}
    return entry["sha256"] == sha(path)


def tree_leaves(node):
    """Values of `tree --json` in order, depth first."""
    stack, found = [(node, ())], []
    while stack:
        n, path = stack.pop()
        if "value" in n and not n.get("children"): found.append((path, n))
        stack += [(c, path + (c.get("name"),)) for c in reversed(n.get("children") or [])]
    return found


def leaf_differs(node, leaf):
    value = node["value"]
    if "value" in leaf:
        if isinstance(leaf["value"], float) and isinstance(value, (int, float)) and float(value) == leaf["value"]: return None
        return None if value == leaf["value"] else f"{value!r} not {leaf['value']!r}"
    if "text" in leaf: return None
    if leaf["type"] in ("builtins.bytes", "builtins.bytearray", "builtins.complex"): return None if isinstance(value, dict) else f"{value!r} not an object of json.md"
    return None if value in (leaf["repr"], leaf["str"]) else f"{value!r} neither {leaf['repr']!r} nor {leaf['str']!r}"


def check_leaves(wick, path, row):
    code, out, err = wick_rows.run(wick, ["tree", "--json", "--", path])
    if code != 0: return [f"tree: exit {code} {err[:200]!r}"]
    ours = {p: n for p, n in tree_leaves(wick_rows.documents(out)[0]["root"])}
    found = []
    for leaf in row["leaves"]:
        if not all(isinstance(s, (str, int)) for s in leaf["path"]) or len(leaf) < 3: continue
        if leaf["type"].split(".")[0] in ("matrix_objects", "__main__", "numpy", "torch") or leaf["type"] in SKIPPED_TYPES: continue
        node = ours.get(tuple(str(s) for s in leaf["path"]))
        why = "is missing" if node is None else leaf_differs(node, leaf)
        if why: found.append(f"leaf {leaf['path']}: {why}")
    return found


# Values with parts of their own in a tree: not one leaf.
SKIPPED_TYPES = {"builtins.set", "builtins.frozenset", "collections.deque", "argparse.Namespace", "types.SimpleNamespace", "builtins.type", "builtins.function",
                 "builtins.builtin_function_or_method", "builtins.ellipsis"}


def check(wick, row, entry):
    path = os.path.join(FIXTURES, row["file"])
    if not intact(entry, path): return ["is not the file of manifest.json"], 0
    code, docs, err = wick_rows.listing(wick, path)
    if code is None or code not in (0, 1, 2): return [f"ended by {code}: {err[:300]}"], 0
    if not docs: return [f"no output, exit {code}: {err[:300]}"], 0
    whole, bad = wick_rows.errors_of(docs)
    if whole: return [f"refused ({whole[0]['code']}): {whole[0]['message']}"], int(whole[0]["class"] == "unsupported")
    wrapped = row["kind"] == "archive"
    if not wrapped and docs[0]["kind"] not in row["kind"].split("|"): return [f"kind {docs[0]['kind']} not {row['kind']}"], 0
    ours = wick_rows.known_to_oracle([r for d in docs for r in d.get("tensors", [])])
    found = wick_rows.compare_set(ours, row["tensors"]) if row.get("match") == "set" else wick_rows.compare(ours, row["tensors"])
    if code != 0: found.append(f"exit {code}: {err[:300]}; {bad[:1]}")
    if "leaves" in row: found += check_leaves(wick, path, row)[:5]
    return found, 0


def main():
    p = argparse.ArgumentParser(); p.add_argument("wick"); p.add_argument("--only", default=""); p.add_argument("--jobs", type=int, default=2)
    a = p.parse_args()
    rows = [json.loads(line) for line in open(os.path.join(FIXTURES, "expected.jsonl"))]
    manifest = {r["file"]: r for r in json.load(open(os.path.join(FIXTURES, "manifest.json")))}
    count = collections.Counter(); unsupported = 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        todo = [r for r in rows if a.only in r["file"]]
        for row, (found, un) in zip(todo, pool.map(lambda r: check(a.wick, r, manifest[r["file"]]), todo)):
            count["failed" if found else "good"] += 1; count["tensors"] += len(row["tensors"]); unsupported += un
            for why in found: print("FAIL", row["file"], why[:500])
    print(f"{count['good'] + count['failed']} fixtures of PyTorch {rows[0]['torch']}, {count['tensors']} tensors, {unsupported} unsupported, {count['failed']} failed")
    return 1 if count["failed"] else 0


if __name__ == "__main__": sys.exit(main())
