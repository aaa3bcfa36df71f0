#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every JSON object that wick prints fits its schema in docs/schema.

Usage: check_schema.py WICK ROOT. Runs again under $WICK_ORACLE_PYTHON (or .venv-oracle/bin/python) when this Python has no
jsonschema; 77 (skipped) when there is none, a failure under WICK_REQUIRE_ORACLE=1. Real files come from ../shared/corpus
and tests/fixtures where they are, besides those of inputs.py.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
WICK, ROOT = sys.argv[1], Path(sys.argv[2])

try:
    import jsonschema
except ImportError:
    again = os.environ.get("WICK_ORACLE_PYTHON") or next(
        (str(p) for p in (ROOT / ".venv-oracle/bin/python",) if p.exists()), None)
    if again and os.environ.get("WICK_SCHEMA_AGAIN") != "1" and subprocess.run([again, "-c", "import jsonschema"], stderr=subprocess.DEVNULL).returncode == 0:
        os.environ["WICK_SCHEMA_AGAIN"] = "1"
        os.execv(again, [again, *sys.argv])
    print("skipped: no Python with jsonschema (set WICK_ORACLE_PYTHON)")
    sys.exit(1 if os.environ.get("WICK_REQUIRE_ORACLE") == "1" else 77)

import inputs  # noqa: E402

COMMANDS = (["info", "--json"], ["ls", "--json", "--digest", "--offsets", "--arrays"], ["ls", "--json=rows"],
            ["ls", "--json", "--group"], ["ls", "--json=rows", "--group"], ["ls", "--json", "--members"],
            ["ls", "--json=rows", "--members"], ["tree", "--json"], ["tree", "--json", "--repr"], ["show", "--json"],
            ["show", "--json", "--disasm"], ["show", "--json", "-t", "*"])
MOST_BYTES = 256 << 10  # of a corpus file, and of the output that is looked at
SCHEMAS = {f"wick.{p.stem}/1": jsonschema.Draft202012Validator(json.loads(p.read_text()))
           for p in (ROOT / "docs/schema").glob("*.json")}


def real_files():
    ours = sorted(p for folder in (ROOT / "examples", ROOT / "tests/fixtures") for p in folder.rglob("*")
                  if p.is_file() and p.suffix in (".pt", ".pth", ".safetensors", ".ptl", ".npz", ".gguf", ".pkl"))
    yield from ours[:: max(1, len(ours) // 25)]
    corpus = Path(os.environ.get("WICK_SHARED", ROOT.parent / "shared")) / "corpus"
    files = sorted(p for p in corpus.rglob("*") if p.is_file() and p.stat().st_size < MOST_BYTES and p.parent != corpus)
    files = [p for p in files if "malicious" not in p.parts]
    if not files and os.environ.get("WICK_REQUIRE_ORACLE") == "1":
        sys.exit("no corpus there")
    yield from files[:: max(1, len(files) // 25)]


def problems_of(text):
    for line in text.splitlines():
        document = json.loads(line)
        validator = SCHEMAS.get(document.get("schema"))
        if validator is None:
            yield f"no schema {document.get('schema')}"
            continue
        for error in validator.iter_errors(document):
            yield f"{document['schema']} at {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
            break


def main():
    for name, validator in SCHEMAS.items():
        validator.check_schema(validator.schema)
    codes = set(json.loads((ROOT / "docs/schema/error.json").read_text())["properties"]["error"]["properties"]["code"]["enum"])
    said = {slug for path in (ROOT / "src").rglob("*.cc") if not path.name.endswith("_test.cc")
            for slug in re.findall(r'called\("([a-z0-9-]+)"\)', path.read_text())}
    failures = [f"docs/schema/error.json lacks the code {slug}" for slug in sorted(said - codes)]
    checked = set()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        inputs.write_all(folder)
        made = sorted(p for p in folder.iterdir() if p.is_file())
        for path in [*made, *real_files()]:
            for command in COMMANDS:
                done = subprocess.run([WICK, *command, str(path)], capture_output=True, timeout=120)
                if len(done.stdout) > 4 * MOST_BYTES:
                    continue
                for problem in problems_of(done.stdout.decode()):
                    failures.append(f"wick {' '.join(command)} {path}: {problem}")
                checked |= set(re.findall(rb'^\{"schema":"([^"]+)"', done.stdout, re.M))
    missing = {name.encode() for name in SCHEMAS} - checked
    failures += [f"no output of {name.decode()} was seen" for name in sorted(missing)]
    print(f"{len(checked)} kinds of objects checked, {len(failures)} failures")
    print("\n".join(failures[:40]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
