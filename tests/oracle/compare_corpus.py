#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every file of the public corpus: what wick lists against what PyTorch reads (expected.tsv, refused.tsv).

    compare_corpus.py WICK SHARED [--only TEXT] [--jobs N]

Fails when a file that PyTorch opens is not read the same in every name, order, dtype, shape, stride and byte, when a
file it refuses is not called what refused.tsv says, or when a file ends in `unsupported` that issue promises to read.
An absent corpus is exit 77 (skipped), under WICK_REQUIRE_ORACLE=1 a failure.
"""
import argparse, collections, concurrent.futures, csv, hashlib, json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "corpus")]
import wick_rows  # noqa: E402
from make_expected import rows_digest  # noqa: E402

UNSUPPORTED_ALLOWED = 0     # may only fall


def table(name):
    with open(os.path.join(HERE, "..", "corpus", name)) as f: return {r["sha256"]: r for r in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)}


def sha_of(path):
    with open(path, "rb") as f: return hashlib.sha256(f.read()).hexdigest()


def rows_of_members(docs, path):
    """The rows of an archive's members, each with its record as the oracle names it, in the archive's order."""
    rows = []
    for d in docs:
        member = d.get("file", "")[len(path):].removeprefix("::")
        for r in d.get("tensors", []):
            record = ":".join(x for x in (member, r.get("record", "")) if x)
            rows.append(r | ({"record": record} if record else {}))
    return rows


def check_read(wick, path, row, truth):
    """A file that PyTorch reads. -> (problem or None, classes of errors in rows)"""
    if rows_digest(truth["tensors"]) != row["rows"]: return "TRUTH.jsonl is not the one that expected.tsv was made from", []
    code, docs, err = wick_rows.listing(wick, path)
    whole, bad_rows = wick_rows.errors_of(docs)
    if code is None: return "timeout", []
    if code < 0 or code > 2: return f"ended by {code}: {err[:300]}", []
    if not docs: return f"no output, exit {code}: {err[:300]}", []
    if row["kind"] != "archive" and whole: return f"refused ({whole[0]['code']}): {whole[0]['message']}", [e["class"] for e in whole]
    kind = docs[0].get("kind") if row["kind"] != "archive" else "archive"
    if kind != row["kind"]: return f"kind {kind} not {row['kind']}", []
    ours = wick_rows.known_to_oracle(rows_of_members(docs, path), truth.get("error", ""))
    problems = wick_rows.compare(ours, truth["tensors"])
    if row["kind"] == "archive" and problems:      # the order of members is the archive's; the oracle's is zipfile's
        key = lambda r: r.get("record", "")
        problems = wick_rows.compare(sorted(ours, key=key), sorted(truth["tensors"], key=key))
    if not problems and code != (2 if bad_rows else 0): problems = [f"exit {code}: {err[:200]}"]
    return ("; ".join(problems) or None), [e.get("class") if isinstance(e, dict) else str(e) for e in bad_rows]


def check_refused(wick, path, row):
    """A file that PyTorch does not read: what wick must say is written down."""
    code, docs, err = wick_rows.listing(wick, path)
    if code is None: return "timeout", None
    if code < 0 or code > 2: return f"ended by {code}: {err[:300]}", None
    if not docs and row["verdict"] != "archive": return f"no output, exit {code}: {err[:200]}", None
    whole, _ = wick_rows.errors_of(docs)
    kinds = row["kind"].split(",")
    if row["verdict"] == "archive":                 # members are listed; none is a model file: no crash, and no invented tensor
        return None, None
    if whole and row["verdict"] != "opens":
        e, kind = whole[0], docs[0].get("kind")
        if code != 2: return f"refused with exit {code}", None
        if e["class"] not in row["class"].split(","): return f"{e['class']} not {row['class']}: {e['message']}", None
        if row["kind"] != "-" and kind not in kinds + [None]: return f"kind {kind} not {row['kind']}", None
        if not e.get("message"): return "no message", None
        return None, None
    if whole: return f"refused ({whole[0]['code']}): {whole[0]['message']}", whole[0]["class"]
    if row["verdict"] == "refused": return f"opened, kind {docs[0].get('kind')}", None
    kind = "archive" if docs[0].get("file") != path else docs[0].get("kind")       # members of one
    if kind not in kinds: return f"kind {kind} not {row['kind']}", None
    if row["tensors"] != "-" and len(rows_of_members(docs, path)) != int(row["tensors"]): return f"{len(rows_of_members(docs, path))} rows not {row['tensors']}", None
    return None, None


def main():
    p = argparse.ArgumentParser(); p.add_argument("wick"); p.add_argument("shared"); p.add_argument("--only", default=""); p.add_argument("--jobs", type=int, default=2)
    a = p.parse_args()
    corpus = os.path.join(os.environ.get("WICK_SHARED", a.shared), "corpus")
    if not os.path.isfile(os.path.join(corpus, "TRUTH.jsonl")):
        print("skipped: no corpus at", corpus)
        return 1 if os.environ.get("WICK_REQUIRE_ORACLE") == "1" else 77
    expected, refused = table("expected.tsv"), table("refused.tsv")
    truths = [json.loads(line) for line in open(os.path.join(corpus, "TRUTH.jsonl"))]
    seen, count, failed, unsupported = set(), collections.Counter(), [], []
    def work(truth):
        path = os.path.join(corpus, truth["file"])
        if not os.path.isfile(path): return truth["file"], "absent", None, []
        sha = sha_of(path); seen.add(sha)
        if sha in expected: return (truth["file"], "checked") + check_read(a.wick, path, expected[sha], truth)
        if sha in refused:
            why, bad = check_refused(a.wick, path, refused[sha])
            return truth["file"], "refused" if refused[sha]["verdict"] == "refused" else "opened", why, [bad] if bad else []
        return truth["file"], "unknown", "its sha256 is in neither table", []
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for name, what, why, classes in pool.map(work, [t for t in truths if a.only in t["file"]]):
            count[what] += 1
            if why: failed.append((name, why))
            unsupported += [name] if "unsupported" in classes else []
    tensors = sum(int(r["tensors"]) for s, r in expected.items() if s in seen)
    absent = len([s for s in list(expected) + list(refused) if s not in seen]) if not a.only else 0
    for name, why in failed: print("FAIL", name, "\n    ", why[:700])
    for name in unsupported: print("unsupported:", name)
    print(f"{count['checked']} files checked against PyTorch ({tensors} tensors), {count['opened']} opened that it does not read, "
          f"{count['refused']} refused as written down, {absent} skipped, {len(unsupported)} unsupported (at most {UNSUPPORTED_ALLOWED}), {len(failed)} failed")
    if absent and os.environ.get("WICK_REQUIRE_ORACLE") == "1": return 1
    return 1 if failed or len(unsupported) > UNSUPPORTED_ALLOWED else 0


if __name__ == "__main__": sys.exit(main())
