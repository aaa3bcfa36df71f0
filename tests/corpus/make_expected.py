#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes expected.tsv from the corpus' INDEX.tsv and TRUTH.jsonl: what wick must say of every file that PyTorch reads.

    make_expected.py SHARED        (the folder that holds corpus/)

One row per file, keyed by its sha256: how PyTorch read it, the kind of docs/json.md, how many tensors, and a digest of
the oracle's rows, so that neither the file nor the oracle can change unseen.  What wick must say of the files that
PyTorch refuses is refused.tsv, written by hand.
"""
import csv, hashlib, json, os, sys

KIND = {"zip-torchsave": "torch-zip", "legacy": "torch-legacy", "tar-legacy": "torch-tar", "zip-torchscript": "torchscript",
        "zip-torchscript-json(1.0-1.1)": "torchscript-json", "zip-mobile-bytecode": "torch-mobile", "flatbuffer-ptmf": "torch-mobile-flatbuffer",
        "zip-torchpackage": "torch-package", "zip-torchpackage+torchscript": "torch-package", "zip-pt2-old": "torch-export", "zip-npz": "npz",
        "zip-sb": "archive", "zip-mar": "archive", "zip-other": "archive", "tar-other": "archive", "gzip:tar-other": "archive", "7z": "archive",
        "torch7-binary": "torch7", "executorch-pte": "executorch", "pickle": "pickle", "npy": "npy", "text": "text"}


def rows_digest(rows):
    return hashlib.sha256(json.dumps(rows, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def main():
    corpus = os.path.join(sys.argv[1], "corpus")
    index = {r["file"]: r for r in csv.DictReader(open(os.path.join(corpus, "INDEX.tsv")), delimiter="\t", quoting=csv.QUOTE_NONE)}
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "expected.tsv"), "w") as out:
        out.write("sha256\thow\tkind\ttensors\trows\tfile\n")
        for line in open(os.path.join(corpus, "TRUTH.jsonl")):
            t = json.loads(line)
            if t["how"] == "none": continue
            r = index[t["file"]]
            out.write("\t".join([r["sha256"], t["how"], KIND[r["kind"]], str(len(t["tensors"])), rows_digest(t["tensors"]), t["file"]]) + "\n")


if __name__ == "__main__": main()
