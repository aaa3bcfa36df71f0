# SPDX-License-Identifier: Apache-2.0
"""What PyTorch says an object holds: one row per tensor and one per scalar leaf, in the form of docs/json.md.

rows(obj, protocol) walks the live object the way its pickle is laid out (dict items, list items, and of any other object
what __reduce_ex__ hands to the pickler: state, items, `args`), so that path and name are those a reader of the file must
find.  Digests are SHA-256 over the elements in C order, little endian; conj and neg resolved; quantized: the stored
integers.  A container reached twice is walked once; a tensor that two names share is listed under both.
"""
import collections, copyreg, hashlib
import torch

HIDDEN = ("_modules", "_parameters", "_buffers")
SCALARS = (type(None), bool, int, float, complex, str, bytes)
SAME_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def elements(t):
    """Bytes of the elements in C order, whatever the dtype can or can not do."""
    t = t.detach()
    t = t.resolve_conj().resolve_neg()
    if t.dtype == torch.complex128: t = torch.view_as_real(t)
    t = t.view(SAME_SIZE[t.element_size()])
    return t.contiguous().numpy().tobytes()


def digest(t):
    return hashlib.sha256(elements(t)).hexdigest()


def packed_digest(t):
    """Sub-byte quantized types: the packed bytes, without what a padded storage holds behind them."""
    bits = {torch.quint4x2: 4, torch.quint2x4: 2}[t.dtype]
    raw = bytes(t.untyped_storage())[: (t.numel() * bits + 7) // 8]
    return hashlib.sha256(raw).hexdigest()


def quantized(t):
    scheme = str(t.qscheme())[6:]
    row = {"strides": list(t.stride())}
    row["sha256"] = packed_digest(t) if t.dtype in (torch.quint4x2, torch.quint2x4) else digest(t.int_repr())
    if "tensor" in scheme: row["quant"] = {"scheme": scheme, "scale": t.q_scale(), "zero_point": t.q_zero_point()}
    else: row["quant"] = {"scheme": scheme, "axis": t.q_per_channel_axis(), "scales": digest(t.q_per_channel_scales()),
                          "zero_points": digest(t.q_per_channel_zero_points())}
    return row


PARTS = {torch.sparse_coo: ("_indices", "_values"), torch.sparse_csr: ("crow_indices", "col_indices", "values"),
         torch.sparse_bsr: ("crow_indices", "col_indices", "values"), torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
         torch.sparse_bsc: ("ccol_indices", "row_indices", "values")}


def describe(t):
    row = {"dtype": str(t.dtype)[6:]}
    if t.is_nested and t.layout == torch.strided:
        sizes, strides, offsets = t._nested_tensor_size(), t._nested_tensor_strides(), t._nested_tensor_storage_offsets()
        buffer = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage(), 0, (t.untyped_storage().nbytes() // t.element_size(),), (1,))
        return row | {"shape": None, "strides": None, "sha256": None, "layout": "nested",
                      "parts": {"buffer": digest(buffer), "sizes": digest(sizes), "strides": digest(strides), "offsets": digest(offsets)}}
    if t.layout == torch.jagged:
        return row | {"shape": None, "strides": None, "sha256": None, "layout": "jagged",
                      "parts": {"values": digest(t.values()), "offsets": digest(t.offsets())}}
    row["shape"] = list(t.shape)
    if t.is_quantized: return row | quantized(t)
    if t.layout in PARTS:
        return row | {"strides": None, "sha256": None, "layout": str(t.layout)[6:],
                      "parts": {p.strip("_"): digest(getattr(t, p)()) for p in PARTS[t.layout]}}
    row["strides"] = list(t.stride())
    row["sha256"] = None if t.is_meta else digest(t)
    return row


def as_tensor(x):
    if isinstance(x, torch.storage.TypedStorage):
        return torch.empty(0, dtype=x.dtype).set_(x._untyped_storage, 0, (x._size(),), (1,))
    if isinstance(x, torch.UntypedStorage): return torch.empty(0, dtype=torch.uint8).set_(x)
    if isinstance(x, torch.nn.parameter.UninitializedTensorMixin): return None    # has neither shape nor bytes
    return x if torch.is_tensor(x) else None


def step(key):
    return key if isinstance(key, (str, int)) and not isinstance(key, bool) else {"key": repr(key)}


def name_step(key):
    return str(key)


def reduced(x, protocol):
    """The children a pickle of `x` gives it: (key, value, of_state)."""
    r = x.__reduce_ex__(protocol)
    if isinstance(r, str): return
    func, args, state, items, pairs = (tuple(r) + (None,) * 5)[:5]
    if func in (copyreg.__newobj__, copyreg.__newobj_ex__): args = args[1:]
    if func is copyreg._reconstructor: args = ()
    if isinstance(state, dict): yield from ((k, v, True) for k, v in state.items())
    elif state is not None: yield "state", state, False
    if pairs is not None: yield from ((k, v, False) for k, v in pairs)
    if items is not None: yield from ((i, v, False) for i, v in enumerate(items))
    if args: yield "args", args, False


def children(x, protocol):
    if isinstance(x, dict):
        yield from ((k, v, False) for k, v in x.items())
        if getattr(x, "__dict__", None): yield from ((k, v, False) for k, v in vars(x).items())
    elif isinstance(x, (list, tuple, set, frozenset, collections.deque)): yield from ((i, v, False) for i, v in enumerate(x))
    elif not isinstance(x, (type,) + SCALARS) and hasattr(x, "__reduce_ex__"):
        try: yield from reduced(x, protocol)
        except TypeError: pass


def rows(root, protocol=2, record=None):
    """The tensors under `root`, depth first, in the file's order."""
    seen, found, alive = set(), [], []
    def visit(x, path, name):
        t = as_tensor(x)
        if t is not None:
            found.append(({"record": record} if record else {}) | {"path": path, "name": ".".join(name)} | describe(t))
        elif not isinstance(x, (type,) + SCALARS) and id(x) not in seen:
            seen.add(id(x)); alive.append(x)
            for key, value, of_state in children(x, protocol):
                hidden = key in HIDDEN if of_state and isinstance(key, str) else False
                visit(value, path + [step(key)], name if hidden else name + [name_step(key)])
    visit(root, [], [])
    return found


def leaf_value(x):
    """A scalar as docs/json.md writes it; anything else by its Python spellings."""
    if x is None or isinstance(x, (bool, str)): return {"value": x} if not isinstance(x, str) or x.isprintable() else {"text": ascii(x)}
    if isinstance(x, int): return {"value": x if abs(x) < 1 << 53 else {"int": str(int(x))}}
    if isinstance(x, float): return {"value": x if x == x and abs(x) != float("inf") else {"float": {True: "nan"}.get(x != x, "inf" if x > 0 else "-inf")}}
    return {} if " at 0x" in repr(x) else {"repr": repr(x), "str": str(x)}       # functions and such have no value


def leaves(root):
    """Scalars and values read as one (dates, paths ...) under dicts, lists and tuples, in order, by path."""
    found, seen = [], set()
    def visit(x, path):
        if isinstance(x, (dict, list, tuple)):
            if id(x) in seen or len(x) > 100 or len(path) > 30: return       # generators' states; cycles; towers
            if len(x): seen.add(id(x))
        if isinstance(x, dict):
            for k, v in x.items(): visit(v, path + [step(k)])
        elif isinstance(x, (list, tuple)) and type(x) in (list, tuple):
            for i, v in enumerate(x): visit(v, path + [i])
        elif as_tensor(x) is None: found.append({"path": path, "type": f"{type(x).__module__}.{type(x).__qualname__}"} | leaf_value(x))
    visit(root, [])
    return found
