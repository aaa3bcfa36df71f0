#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch itself reads from every file of a corpus: an oracle for readers.

    truth.py ROOT INDEX.tsv OUT.jsonl[.gz] [--timeout S] [--hostile REPO ...]

ROOT holds the files named in the `file` column of INDEX.tsv.  One JSON line comes out per file:
  {"file", "how", "error"?, "tensors": [{"record"?, "path", "name", "dtype", "shape", "strides", "sha256", ...}]}
how      weights_only  torch.load(weights_only=True, map_location="cpu") took it (for an archive of files: took every part)
         stub          torch refused (the refusal is in `error`), a safe unpickler got the tensors
         none          no tensor was got (`error` says why)
record   the entry of the archive, when it is not the file itself or its data.pkl
path     the way through the object: dict keys, list indices, attributes ("_parameters" included)
name     path joined with ".", without the _modules/_parameters/_buffers of an nn.Module
sha256   of the elements in C order, little endian (quantized: of the integers, see `quant`; sparse: see `parts`)
A tensor that two names share is listed under both; a container reached twice is walked once.  Only tensors and
storages are listed, no numpy array.  Of several pickles in one file the first 50 count; path then begins with the number.

Safe unpickler: a class or function that is not on torch's own weights_only list becomes an inert stub that keeps its
arguments and state.  Nothing foreign is imported or called.  Each file is read in a child process with a time limit, a
memory limit and (where the system lets it) no network.  Files under malicious/ and those of --hostile are listed, not read.
"""
import argparse, collections, csv, ctypes, gzip, hashlib, io, json, os, pickle, re, resource, select, signal, sys
import tarfile, time, types, warnings, zipfile
import torch
from torch._weights_only_unpickler import _get_allowed_globals

ALLOWED = _get_allowed_globals()
MAX_STREAMS, MAX_TENSOR = 50, 1 << 31
LEGACY_MAGIC = (b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", b"119547037146038801333356L")


# ---- the safe unpickler ----------------------------------------------------------------------------------------------
class Stub:
    """Stands for any class or function that is not on the list; remembers what the pickle gave it."""
    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        self.args, self.state, self.pairs, self.elements = args, None, [], []
        return self
    def __init__(self, *args, **kwargs): pass
    def __setstate__(self, state): self.state = state
    def __setitem__(self, key, value): self.pairs.append((key, value))
    def append(self, value): self.elements.append(value)
    def add(self, value): self.elements.append(value)
    def extend(self, values): self.elements.extend(values)
    update = extend
    def __call__(self, *args, **kwargs): return Stub(*args)

def stub_class(module, name):
    return type(name.split(".")[-1] or "Stub", (Stub,), {"__module__": "stub", "real_name": f"{module}.{name}"})

def first(value, *_): return value                               # torch.jit._pickle.restore_type_tag, build_intlist, ...
def plain_tensor(func, _type, args, _state=None): return func(*args)   # torch._tensor._rebuild_from_type_v2

def nested(data):
    """torch.storage._load_from_bytes: a whole torch.save file as a byte string."""
    return torch_load(data, safe_pickle())

class SafeUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if module == "__builtin__": module = "builtins"
        full = f"{module}.{name}"
        if full == "torch.storage._load_from_bytes": return nested
        if full == "torch._tensor._rebuild_from_type_v2": return plain_tensor
        if module == "torch.jit._pickle": return first
        found = ALLOWED.get(full)
        return stub_class(module, name) if found is None else found

class PlainUnpickler(SafeUnpickler):
    def persistent_load(self, saved_id): return Stub(saved_id)

def safe_pickle():
    module = types.ModuleType("safe_pickle")
    module.Unpickler = SafeUnpickler
    module.load = lambda f, **kw: SafeUnpickler(f, **kw).load()
    module.loads = lambda data, **kw: SafeUnpickler(io.BytesIO(data), **kw).load()
    return module

def torch_load(data, pickle_module=None):
    f = os.fdopen(os.memfd_create("truth"), "w+b")                   # a real file: torch looks for a tar only in those
    f.write(data); f.seek(0)
    if pickle_module is None: return torch.load(f, map_location="cpu", weights_only=True)
    return torch.load(f, map_location="cpu", weights_only=False, pickle_module=pickle_module)

def with_folder(data):
    """Old zips whose entries lie in no folder, which torch's reader refuses, get one."""
    z = zipfile.ZipFile(io.BytesIO(data))
    if any("/" in n for n in z.namelist()): return data
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as w:
        for n in z.namelist(): w.writestr("archive/" + n, z.read(n))
        if "version" not in z.namelist(): w.writestr("archive/version", "3\n")
    return out.getvalue()

def cpp_dtype(real_name):
    """TorchScript names every storage after the C++ enumerator: torch.UInt16Storage, torch.Float8_e5m2Storage."""
    name = real_name.removeprefix("torch.").removesuffix("Storage").lower()
    return getattr(torch, {"complexhalf": "complex32"}.get(name, name), torch.uint8)

def archive_pickles(data):
    """TorchScript, mobile and torch.package zips: every pickle with tensors, as (record, object or why not)."""
    reader = torch._C.PyTorchFileReader(io.BytesIO(data))
    records = reader.get_all_records()
    for record in records:
        if not record.endswith(".pkl") or record == "bytecode.pkl": continue
        folder = record[:-4]
        class Reader(SafeUnpickler):
            def persistent_load(self, saved_id):
                if not (isinstance(saved_id, tuple) and saved_id[0] == "storage"): return Stub(saved_id)
                storage_type, key, numel = saved_id[1], saved_id[2], saved_id[4]
                dtype = getattr(storage_type, "dtype", None) or cpp_dtype(getattr(storage_type, "real_name", ""))
                size = numel * torch._utils._element_size(dtype)
                for place in (f"{folder}/{key}", f"data/{key}", f"constants/{key}", f".data/{key}", f".data/{key}.storage"):
                    if reader.has_record(place):
                        untyped = reader.get_storage_from_record(place, size, torch.UntypedStorage)._typed_storage()._untyped_storage
                        return torch.storage.TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)
                raise ValueError(f"no record for storage {key}")
        try: yield record, Reader(io.BytesIO(reader.get_record(record))).load()
        except Exception as e: yield record, e                       # traced_inputs.pkl: its storages may be empty records

def plain_pickles(data):
    stream, found = io.BytesIO(data), []
    while stream.tell() < len(data) and len(found) < MAX_STREAMS:
        before = stream.tell()
        try: found.append(PlainUnpickler(stream).load())
        except UnicodeDecodeError:                                   # written by Python 2: its str is bytes
            stream.seek(before)
            found.append(PlainUnpickler(stream, encoding="latin1").load())
        except Exception:
            if not found: raise
            break
        if stream.tell() <= before: break
    return found


# ---- tensors of an object --------------------------------------------------------------------------------------------
def sha(t):
    if t.numel() * t.element_size() > MAX_TENSOR: return None
    t = t.detach().cpu().resolve_conj().resolve_neg()
    flat = torch.empty(t.numel(), dtype=t.dtype)
    flat.view(t.shape).copy_(t)
    return hashlib.sha256(flat.view(torch.uint8).numpy().tobytes() if t.numel() else b"").hexdigest()

def describe(t):
    row = {"dtype": str(t.dtype)[6:], "shape": list(t.shape)}
    if t.is_quantized:
        scheme = str(t.qscheme())[6:]
        row.update(strides=list(t.stride()), sha256=sha(t.int_repr()))
        row["quant"] = {"scheme": scheme, "scale": t.q_scale(), "zero_point": t.q_zero_point()} if "tensor" in scheme else \
            {"scheme": scheme, "axis": t.q_per_channel_axis(), "scales": sha(t.q_per_channel_scales()), "zero_points": sha(t.q_per_channel_zero_points())}
    elif t.layout != torch.strided:
        parts = {torch.sparse_coo: ("_indices", "_values"), torch.sparse_csr: ("crow_indices", "col_indices", "values"),
                 torch.sparse_bsr: ("crow_indices", "col_indices", "values"), torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
                 torch.sparse_bsc: ("ccol_indices", "row_indices", "values")}.get(t.layout, ())
        row.update(strides=None, sha256=None, layout=str(t.layout)[6:], parts={p.strip("_"): sha(getattr(t, p)()) for p in parts})
    elif t.is_meta: row.update(strides=list(t.stride()), sha256=None)
    else: row.update(strides=list(t.stride()), sha256=sha(t))
    return row

def children(x):
    if isinstance(x, Stub):
        if isinstance(x.state, dict): yield from ((k, v, True) for k, v in x.state.items())
        elif isinstance(x.state, (list, tuple)) or isinstance(x.state, Stub) or torch.is_tensor(x.state): yield "state", x.state, False
        yield from ((k, v, False) for k, v in x.pairs)
        yield from ((i, v, False) for i, v in enumerate(x.elements))
        if x.args: yield "args", x.args, False
    elif isinstance(x, dict):
        yield from ((k, v, False) for k, v in x.items())
        if getattr(x, "__dict__", None): yield from ((k, v, False) for k, v in vars(x).items())
    elif isinstance(x, (list, tuple, set, frozenset)): yield from ((i, v, False) for i, v in enumerate(x))

def tensors(root, record=None, path=()):
    seen, rows = set(), []
    def visit(x, path, name):
        if isinstance(x, torch.storage.TypedStorage):
            x = torch.empty(0, dtype=x.dtype).set_(x._untyped_storage, 0, (x._size(),), (1,))
        elif isinstance(x, torch.UntypedStorage):
            x = torch.empty(0, dtype=torch.uint8).set_(x)
        if torch.is_tensor(x):
            rows.append(dict({"record": record} if record else {}, path=path, name=".".join(name), **describe(x)))
        elif isinstance(x, (Stub, dict, list, tuple, set, frozenset)) and id(x) not in seen:
            seen.add(id(x))
            for key, value, of_state in children(x):
                step = key if isinstance(key, (str, int)) and not isinstance(key, bool) else str(key)[:80]
                module_part = step in ("_modules", "_parameters", "_buffers") and of_state
                visit(value, path + [step], name if module_part else name + [str(step)])
    visit(root, list(path), [str(p) for p in path])
    return rows


# ---- one file --------------------------------------------------------------------------------------------------------
def reason(e):
    text = str(e) or type(e).__name__
    found = re.search(r"WeightsUnpickler error:\s*([^\n]*)", text)
    text = (found.group(1) if found else text.split("\n")[0]).strip()
    text = re.sub(r"( was not an allowed global by default| passed to ``torch.load``|\. This is an internal miniz error|  \(Could this error).*", "", text)
    return f"{type(e).__name__}: {re.sub(r'(/[^/ ]+)+/', '', text)}"[:200]

def is_torch(data):
    if data[:4] == b"PK\x03\x04":
        try: return any(n == "data.pkl" or n.endswith("/data.pkl") for n in zipfile.ZipFile(io.BytesIO(data)).namelist())
        except Exception: return False
    return any(m in data[:64] for m in LEGACY_MAGIC)

def members(data, kind):
    if kind.startswith("zip"):
        z = zipfile.ZipFile(io.BytesIO(data))
        yield from ((i.filename, z.read(i)) for i in z.infolist() if i.file_size < 1 << 29)
    else:
        t = tarfile.open(fileobj=io.BytesIO(data))
        yield from ((m.name, t.extractfile(m).read()) for m in t if m.isfile() and m.size < 1 << 29)

def read_one(data, kind, record=None):
    """-> (how, error, rows)"""
    try: return "weights_only", None, tensors(torch_load(data), record)
    except Exception as e: refusal = reason(e)
    try:
        if kind.startswith(("zip-torchscript", "zip-mobile", "zip-torchpackage")):
            rows, bad = [], []
            for name, x in archive_pickles(data):
                if isinstance(x, Exception): bad.append((name, x))
                else: rows += tensors(x, None if name == "data.pkl" and not record else f"{record}:{name}" if record else name)
            if bad and not rows: raise bad[0][1]
            refusal = "; ".join([refusal] + [f"{name}: {reason(e)}" for name, e in bad])
        elif kind == "pickle":
            found = plain_pickles(data)
            rows = tensors(found[0], record) if len(found) == 1 else [r for i, x in enumerate(found) for r in tensors(x, record, (i,))]
        else: rows = tensors(torch_load(with_folder(data) if data[:2] == b"PK" else data, safe_pickle()), record)
        return "stub", refusal, rows
    except Exception as e: return "none", f"{refusal} | stub: {reason(e)}", []

def read_file(data, kind):
    if kind in ("zip-sb", "zip-other", "zip-mar", "zip-pt2-old", "gzip:tar-other", "tar-other"):
        hows, errors, rows = [], [], []
        for name, part in members(data, kind):
            if not is_torch(part): continue
            script = part[:2] == b"PK" and any("/code/" in n for n in zipfile.ZipFile(io.BytesIO(part)).namelist())
            how, error, found = read_one(part, "zip-torchscript" if script else "zip-torchsave", name)
            hows.append(how); rows += found; errors += [f"{name}: {error}"] if error else []
        if not hows: return "none", f"holds no torch file; {read_one(data, 'other')[1]}"[:300], []
        return ("weights_only" if set(hows) == {"weights_only"} else "stub" if rows else "none"), "; ".join(errors)[:300] or None, rows
    return read_one(data, kind)

def in_child(work, timeout):
    """Runs work() in a forked child; its JSON answer, or the reason why there is none."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        try:
            resource.setrlimit(resource.RLIMIT_AS, (24 << 30, 24 << 30)); resource.setrlimit(resource.RLIMIT_CPU, (timeout, timeout))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            ctypes.CDLL(None).unshare(0x40000000)                    # CLONE_NEWNET; refused without privilege
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            sys.setrecursionlimit(5000)
            answer = json.dumps(work()).encode()
        except BaseException as e: answer = json.dumps({"how": "none", "error": reason(e), "tensors": []}).encode()
        with os.fdopen(w, "wb") as f: f.write(answer)
        os._exit(0)
    os.close(w)
    chunks, deadline = [], time.time() + timeout
    while True:
        ready, _, _ = select.select([r], [], [], max(0, deadline - time.time()))
        if not ready: os.kill(pid, signal.SIGKILL); break
        chunk = os.read(r, 1 << 20)
        if not chunk: break
        chunks.append(chunk)
    os.close(r)
    _, status = os.waitpid(pid, 0)
    try: return json.loads(b"".join(chunks))
    except ValueError: return {"how": "none", "error": f"child ended with status {status}", "tensors": []}

def main():
    p = argparse.ArgumentParser(); p.add_argument("root"); p.add_argument("index"); p.add_argument("out")
    p.add_argument("--timeout", type=int, default=120); p.add_argument("--hostile", nargs="*", default=[])
    a = p.parse_args()
    warnings.simplefilter("ignore"); torch.set_num_threads(1)
    rows = list(csv.DictReader(open(a.index), delimiter="\t", quoting=csv.QUOTE_NONE))
    count = collections.Counter()
    with (gzip.GzipFile(a.out, "wb", mtime=0) if a.out.endswith(".gz") else open(a.out, "wb")) as out:
        for row in rows:
            file = os.path.join(a.root, row["file"])
            if row["file"].startswith("malicious/") or row["repo"] in a.hostile: answer = {"how": "none", "error": "hostile: listed, not read", "tensors": []}
            elif not os.path.exists(file): count["absent"] += 1; continue
            else:
                def work():
                    how, error, found = read_file(open(file, "rb").read(), row["kind"])
                    return {"how": how, **({"error": error} if error else {}), "tensors": found}
                answer = in_child(work, a.timeout)
            count[answer["how"]] += 1; count["tensors"] += len(answer["tensors"])
            out.write(json.dumps({"file": row["file"], **answer}, separators=(",", ":"), ensure_ascii=True).encode() + b"\n")
    print(dict(count), "torch", torch.__version__)

if __name__ == "__main__": main()
