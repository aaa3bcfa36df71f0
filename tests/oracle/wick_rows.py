# SPDX-License-Identifier: Apache-2.0
"""Runs `wick ls --json --digest --root .` and compares its rows with an oracle's."""
import base64, hashlib, json, os, re, resource, struct, subprocess

TIMEOUT = 60
MEMORY = 6 << 30


def limit(memory):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return set_limits


def run(wick, arguments, timeout=TIMEOUT, memory=MEMORY, stdin=None):
    """-> (exit code, stdout bytes, stderr bytes); a signal is a negative exit code, a timeout None."""
    # Sanitized programs reserve terabytes of addresses: they go without the limit.
    preexec = None if os.environ.get("WICK_SANITIZED") == "1" else limit(memory)
    try:
        p = subprocess.run([wick] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=stdin or subprocess.DEVNULL, timeout=timeout, preexec_fn=preexec)
        return p.returncode, p.stdout, p.stderr
    except subprocess.TimeoutExpired as e: return None, e.stdout or b"", e.stderr or b""


def documents(out): return [json.loads(line) for line in out.decode("utf-8", "strict").split("\n") if line]


def listing(wick, path, arguments=()):
    """-> (exit code, [document], stderr)"""
    code, out, err = run(wick, ["ls", "--json", "--digest", "--root", "."] + list(arguments) + ["--", path])
    try: return code, documents(out), err.decode("utf-8", "replace")
    except ValueError as e: return code, [], f"stdout is not JSON: {e}; {out[:200]!r}; {err[:500]!r}"


def text_of(row, key):
    """Exact text: `name_b64` holds what JSON can not carry."""
    if key + "_b64" in row: return base64.b64decode(row[key + "_b64"]).decode("utf-8", "surrogatepass")
    return row[key]


def shown(text):
    """As JSON can carry it: what is not valid is U+FFFD, however many of them."""
    return re.sub("[\ud800-\udfff\ufffd]+", "\ufffd", text) if isinstance(text, str) else text


OPAQUE = ("<stub.", "<object", "Parameter containing", "tensor(")     # keys that are objects: Python shows an address or values


def same_step(ours, theirs):
    if isinstance(theirs, dict): theirs = theirs["key"]
    elif isinstance(ours, dict) and isinstance(theirs, int): theirs = str(theirs)                # beyond 64 bits
    elif not isinstance(ours, dict): return ours == theirs or shown(ours) == shown(theirs)
    if isinstance(theirs, str) and theirs.startswith(OPAQUE): return True
    mine = ours["key"] if isinstance(ours, dict) else str(ours)
    if len(theirs) == 80: mine = mine[:80]                                                       # the corpus' oracle cuts them there
    return mine == theirs or shown(mine) == shown(theirs)


def same_path(ours, theirs): return len(ours) == len(theirs) and all(map(same_step, ours, theirs))


def plain(path): return all(isinstance(s, (str, int)) and not isinstance(s, bool) and (not isinstance(s, str) or len(s) < 80) for s in path)


def packed(values, formats):
    """Digests of the values as each of these element types that can hold them."""
    whole = all(isinstance(v, int) for v in values)
    return [hashlib.sha256(b"".join(struct.pack("<" + f, v) for v in values)).hexdigest() for f in formats if f in "fd" or whole]


def number(x): return float(x) if isinstance(x, str) else x.get("int", 0) if isinstance(x, dict) else x


def quant_differs(ours, theirs):
    if ours is None: return "no quant"
    scheme = {"per_channel_affine_float_qparams": "per_channel_affine"}                          # the Python writer stores the second name for both
    if scheme.get(ours["scheme"], ours["scheme"]) != scheme.get(theirs["scheme"], theirs["scheme"]): return f"scheme {ours['scheme']} not {theirs['scheme']}"
    if "scale" in theirs:
        return None if number(ours["scale"]) == theirs["scale"] and ours["zero_point"] == theirs["zero_point"] else f"quant {ours} not {theirs}"
    if ours.get("axis") != theirs["axis"]: return f"axis {ours.get('axis')} not {theirs['axis']}"
    scales, zeros = [number(v) for v in ours["scale"] or []], [number(v) for v in ours["zero_point"] or []]
    if theirs["scales"] not in packed(scales, "df"): return "scales differ"
    return None if theirs["zero_points"] in packed(zeros, "qfi") else "zero points differ"


def differs(ours, theirs, check_name=True, check_record=True):
    """What is not equal between one row of wick and one of the oracle, or None."""
    if "path" in theirs and not same_path(ours["path"], theirs["path"]): return f"path {ours['path']} not {theirs['path']}"
    if check_name and text_of(ours, "name") != theirs["name"]: return f"name {text_of(ours, 'name')!r} not {theirs['name']!r}"
    if check_record and theirs.get("record", "") != ours.get("record", ""): return f"record {ours.get('record')!r} not {theirs.get('record')!r}"
    for key in ("dtype", "shape", "strides", "sha256"):
        if theirs.get(key) is None: continue
        if ours.get(key) != theirs[key]: return f"{key} {ours.get(key)} not {theirs[key]}" + (f" (error: {ours['error']})" if ours.get("error") else "")
    if "layout" in theirs and ours.get("layout") != theirs["layout"]: return f"layout {ours.get('layout')} not {theirs['layout']}"
    if "quant" in theirs:
        why = quant_differs(ours.get("quant"), theirs["quant"])
        if why: return why
    for part, sha in theirs.get("parts", {}).items():
        mine = (ours.get("parts") or {}).get(part)
        if mine is None or mine.get("sha256") != sha: return f"part {part} {mine and mine.get('sha256')} not {sha}, has {sorted(ours.get('parts') or {})}"
    return None


def known_to_oracle(rows, unreadable=""):
    """Without the rows that the oracles leave out by their definition: bytecode.pkl, example inputs of a trace that torch
    saved without bytes, pickles that `unreadable` (the oracle's own words) names, lazy parameters."""
    def skipped(r):
        record, note = r.get("record", ""), r.get("note", "")
        return record.endswith("bytecode.pkl") or (record and record + ": RuntimeError" in unreadable) or \
            (record.endswith("traced_inputs.pkl") and "record is empty" in note) or note.startswith("not initialized")
    return [r for r in rows if not skipped(r)]


def compare(ours, theirs):
    """Rows in order. -> list of differences, at most a few."""
    found, names = [], set()
    for i, (a, b) in enumerate(zip(ours, theirs)):
        key = (b.get("record"), b["name"])
        why = differs(a, b, check_name=plain(b["path"]) and key not in names)     # names that collide: docs/names.md
        names.add(key)
        if why:
            found.append(f"row {i}: {why}")
            if len(found) == 3: break
    if len(ours) != len(theirs): found.append(f"{len(ours)} rows, not {len(theirs)}")
    return found


def compare_set(ours, theirs):
    """Rows of which the oracle knows the names, but not the order or the rest of the tree."""
    found = []
    for b in theirs:
        near = [a for a in ours if text_of(a, "name") == b["name"] or text_of(a, "name").endswith("." + b["name"])]
        whys = [differs(a, {k: v for k, v in b.items() if k != "path"}, check_name=False, check_record=False) for a in near]
        if not near: found.append(f"{b['name']} is missing")
        elif all(whys): found.append(f"{b['name']}: {whys[0]}")
    return found


def errors_of(docs):
    """Classes of error objects and of rows that carry an error."""
    whole = [d["error"] for d in docs if "error" in d]
    rows = [r["error"] for d in docs for r in d.get("tensors", []) if r.get("error")]
    return whole, rows
