#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the file that a text recipe describes, runs wick on it and compares what it says.

    run_recipes.py WICK [RECIPE...]

A recipe is a text file:
    # why it is here: the attack, or the real file
    NAME = EXPRESSION            bytes, in the words of recipe_bytes.py
    file x.pt = EXPRESSION       the file to make (may be several; `folder/x` works)
    run ARGUMENTS                wick's command line, in the folder with the files
    exit N                       its exit code
    class C / code C / kind K    of the error object of --json; of the first document
    says TEXT                    stdout or stderr holds it
    silent TEXT                  neither holds it
    rows N                       tensors of all documents
    row NAME KEY VALUE           a tensor's field as JSON; `row NAME error TEXT`: its error's text holds TEXT
    seconds N / memory MIB       budgets, unless 1 s and 512 MiB of address space
Several run blocks may follow each other. A recipe whose name begins with bad_ must be refused: exit 2 in every run.
Never is a signal, a hang, or an escape byte of the file on stdout right.
"""
import json, os, resource, shlex, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "oracle")]
import recipe_bytes, wick_rows  # noqa: E402

SLOW = 20 if os.environ.get("WICK_SANITIZED") == "1" else 4 if os.environ.get("WICK_DEBUG_BUILD", "1") == "1" else 1
CHECKS = ("exit", "class", "code", "kind", "says", "silent", "rows", "row", "seconds", "memory")


def logical_lines(text):
    """A line that begins with blanks goes on with the one before."""
    lines = []
    for line in text.split("\n"):
        if line.startswith((" ", "\t")) and lines: lines[-1] += " " + line.strip()
        elif line.strip() and not line.startswith("#"): lines.append(line.rstrip())
    return lines


def parse(path):
    words = {k: v for k, v in vars(recipe_bytes).items() if not k.startswith("_")} | {"__builtins__": {"range": range, "len": len, "bytes": bytes, "str": str, "min": min}}
    files, runs = {}, []
    for line in logical_lines(open(path).read()):
        head, _, rest = line.partition(" ")
        if head == "run": runs.append({"run": shlex.split(rest), "checks": []})
        elif head in CHECKS and runs: runs[-1]["checks"].append((head, rest))
        elif head == "file":
            name, _, expression = rest.partition(" = ")
            files[name] = eval(expression, words)
        else:
            name, _, expression = line.partition(" = ")
            words[name] = eval(expression, words)
    return files, runs


def documents(out):
    try: return [d for d in wick_rows.documents(out) if isinstance(d, dict)]
    except (ValueError, RecursionError): return []      # Python's own decoder gives up on deep trees


def check_row(docs, rest):
    name, key, value = (rest.split(" ", 2) + [""])[:3]
    rows = [r for d in docs for r in d.get("tensors", []) if wick_rows.text_of(r, "name") == name]
    if not rows: return f"no row {name}"
    got = rows[0].get(key)
    if key == "error": return None if got and value in json.dumps(got) else f"row {name}: error {got} does not say {value!r}"
    return None if got == json.loads(value) else f"row {name}: {key} {got} not {value}"


def check_one(kind, rest, code, out, err, docs):
    error = next((d["error"] for d in docs if "error" in d), {})
    if kind == "exit": return None if code == int(rest) else f"exit {code} not {rest}: {err[:200]!r} {out[:200]!r}"
    if kind in ("class", "code"): return None if error.get(kind) in rest.split("|") else f"{kind} {error.get(kind)} not {rest}: {error.get('message')}"
    if kind == "kind": return None if docs and docs[0].get("kind") == rest else f"kind {docs and docs[0].get('kind')} not {rest}"
    if kind == "says": return None if rest.encode() in out + err else f"does not say {rest!r}: {err[:300]!r} {out[:300]!r}"
    if kind == "silent": return None if rest.encode() not in out + err else f"says {rest!r}"
    if kind == "rows": return None if sum(len(d.get("tensors", [])) for d in docs) == int(rest) else f"{sum(len(d.get('tensors', [])) for d in docs)} rows not {rest}"
    if kind == "row": return check_row(docs, rest)
    return None


def processor_seconds():
    """Of the programs run so far: says the same on a busy machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def budget(checks, word, default): return next((float(rest) for kind, rest in checks if kind == word), default)


def run_one(wick, recipe, folder, block):
    checks = block["checks"]
    seconds, memory = budget(checks, "seconds", 1.0) * SLOW, int(budget(checks, "memory", 512)) << 20
    start = processor_seconds()
    here = os.getcwd(); os.chdir(folder)
    try: code, out, err = wick_rows.run(wick, block["run"], timeout=max(30, 2 * seconds), memory=memory)
    finally: os.chdir(here)
    took = processor_seconds() - start
    if code is None: return ["hangs"]
    if code < 0 or code not in (0, 1, 2): return [f"ended by {code}: {err[-400:]!r}"]
    found = [] if took <= seconds else [f"took {took:.1f} s of {seconds:.1f}"]
    if b"\x1b" in out + err: found.append("an escape byte reached the terminal")
    if os.path.basename(recipe).startswith("bad_") and code != 2: found.append(f"exit {code}, but a bad_ recipe must be refused")
    docs = documents(out)
    return found + list(filter(None, (check_one(kind, rest, code, out, err, docs) for kind, rest in checks)))


def run_recipe(wick, recipe):
    files, runs = parse(recipe)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "wb") as f: f.write(data)
        return [f"run {' '.join(b['run'])}: {why}" for b in runs for why in run_one(wick, recipe, folder, b)]


def main():
    wick = os.path.abspath(sys.argv[1])
    recipes = sys.argv[2:] or sorted(os.path.join(HERE, d, f) for d, _, names in os.walk(HERE) for f in names if f.endswith(".txt"))
    failed = 0
    for recipe in recipes:
        problems = run_recipe(wick, recipe)
        failed += bool(problems)
        for why in problems: print("FAIL", os.path.relpath(recipe, HERE), why)
    print(f"{len(recipes)} recipes, {failed} failed")
    return 1 if failed or not recipes else 0


if __name__ == "__main__": sys.exit(main())
