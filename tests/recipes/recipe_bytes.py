# SPDX-License-Identifier: Apache-2.0
"""The words of a recipe: each gives bytes. Zip by APPNOTE 6.3.9, pickle by pickletools, legacy stream and safetensors by
docs/formats."""
import io, json, os, struct, tarfile, zlib

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "torch")


def u8(*n): return b"".join(struct.pack("<B", x) for x in n)
def u16(*n): return b"".join(struct.pack("<H", x) for x in n)
def u32(*n): return b"".join(struct.pack("<I", x) for x in n)
def u64(*n): return b"".join(struct.pack("<Q", x) for x in n)
def i32(*n): return b"".join(struct.pack("<i", x) for x in n)
def i64(*n): return b"".join(struct.pack("<q", x) for x in n)
def f32(*n): return b"".join(struct.pack("<f", x) for x in n)
def hexa(text): return bytes.fromhex(text)
def fixture(name):
    with open(os.path.join(FIXTURES, name), "rb") as f: return f.read()
def flip(data, offset, mask=1): return data[:offset] + bytes([data[offset] ^ mask]) + data[offset + 1:]
def put(data, offset, new): return data[:offset] + new + data[offset + len(new):]
def find(data, piece): return data.index(piece)
def deflate(data, level=9):
    z = zlib.compressobj(level, zlib.DEFLATED, -15)
    return z.compress(data) + z.flush()
def crc(data): return zlib.crc32(data)


# ---- pickle, protocol 2 ----
PROTO2, STOP, MARK, TUPLE, REDUCE, EMPTY_DICT, EMPTY_LIST, EMPTY_TUPLE, NONE, BUILD, PERSID = b"\x80\x02", b".", b"(", b"t", b"R", b"}", b"]", b")", b"N", b"b", b"Q"
def text(s):
    b = s if isinstance(s, bytes) else s.encode("utf-8", "surrogatepass")
    return b"X" + u32(len(b)) + b
def integer(n):
    if 0 <= n < 256: return b"K" + u8(n)
    if -(1 << 31) <= n < 1 << 31: return b"J" + i32(n)
    b = n.to_bytes((n.bit_length() + 8) // 8, "little", signed=True)
    return b"\x8a" + u8(len(b)) + b
def ints(*n): return MARK + b"".join(map(integer, n)) + TUPLE
def name(module, attribute): return b"c" + module.encode() + b"\n" + attribute.encode() + b"\n"
def storage(kind="FloatStorage", key="0", numel=4, location="cpu", module="torch"):
    return MARK + text("storage") + name(module, kind) + text(key) + text(location) + integer(numel) + TUPLE + PERSID
def hooks(): return name("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE
def tensor(of=None, offset=0, size=(4,), stride=(1,)):
    return name("torch._utils", "_rebuild_tensor_v2") + MARK + (of or storage()) + integer(offset) + ints(*size) + ints(*stride) + b"\x89" + hooks() + TUPLE + REDUCE
def pairs(**values): return EMPTY_DICT + MARK + b"".join(text(k) + v for k, v in values.items()) + b"u"
def items(pairs): return EMPTY_DICT + MARK + b"".join(k + v for k, v in pairs) + b"u"
def pickle(body): return PROTO2 + body + STOP
def nested_lists(n): return EMPTY_LIST * n + b"a" * (n - 1)


# ---- zip ----
def entry(path, data=b"", method=0, stored=None, size=None, packed=None, check=None, flags=0, local_path=None, at=None, extra=b"", local_extra=b"", name_length=None):
    """One record. `stored`: the bytes as they lie in the file; size, packed, check: what the directory claims."""
    raw = stored if stored is not None else deflate(data) if method == 8 else data
    return dict(path=path.encode() if isinstance(path, str) else path, raw=raw, method=method, size=len(data) if size is None else size, packed=len(raw) if packed is None else packed,
                check=crc(data) if check is None else check, flags=flags, local=(local_path or path), at=at, extra=extra, local_extra=local_extra, name_length=name_length)
def archive(*entries, before=b"", comment=b"", count=None, directory_size=None, directory_offset=None, after=b"", repeat_directory=1):
    body, central = before, b""
    for e in entries:
        local = e["local"].encode() if isinstance(e["local"], str) else e["local"]
        at = len(body) if e["at"] is None else e["at"]
        if e["at"] is None:
            body += b"PK\3\4" + u16(20, e["flags"], e["method"], 0, 0) + u32(e["check"], min(e["packed"], 0xFFFFFFFF), min(e["size"], 0xFFFFFFFF)) + u16(len(local), len(e["local_extra"])) + local + e["local_extra"] + e["raw"]
        central += b"PK\1\2" + u16(20, 20, e["flags"], e["method"], 0, 0) + u32(e["check"], min(e["packed"], 0xFFFFFFFF), min(e["size"], 0xFFFFFFFF)) + \
            u16(len(e["path"]) if e["name_length"] is None else e["name_length"], len(e["extra"]), 0, 0, 0) + u32(0, at) + e["path"] + e["extra"]
    central *= repeat_directory
    n = len(entries) * repeat_directory if count is None else count
    return body + central + b"PK\5\6" + u16(0, 0, min(n, 0xFFFF), min(n, 0xFFFF)) + u32(len(central) if directory_size is None else directory_size, len(body) if directory_offset is None else directory_offset) + u16(len(comment)) + comment + after
def checkpoint(body, **records):
    """A torch.save archive: data.pkl of `body`, records named d0, d1 ... become data/0 ..."""
    return archive(entry("archive/data.pkl", pickle(body)), entry("archive/byteorder", b"little"),
                   *[entry("archive/data/" + k[1:], v) for k, v in records.items()], entry("archive/version", b"3\n"))
def quine_like(levels, inner=b""):
    """An archive in an archive in an archive ..."""
    data = inner or archive(entry("leaf.txt", b"leaf"))
    for i in range(levels): data = archive(entry("next.zip", data))
    return data


# ---- others ----
MAGIC = hexa("80028a0a6cfc9c46f9206aa850192e")
def legacy(body, keys=("0",), storages=((4, f32(1, 2, 3, 4)),), protocol=1001, little=True):
    system = pairs(protocol_version=integer(1001), little_endian=b"\x88" if little else b"\x89", type_sizes=pairs(short=integer(2), int=integer(4), long=integer(4)))
    return MAGIC + pickle(integer(protocol)) + pickle(system) + pickle(body) + pickle(EMPTY_LIST + MARK + b"".join(map(text, keys)) + b"e") + b"".join(i64(n) + raw for n, raw in storages)
def legacy_storage(kind="FloatStorage", key="0", numel=4, view=NONE):
    return MARK + text("storage") + name("torch", kind) + text(key) + text("cpu") + integer(numel) + view + TUPLE + PERSID
def safetensors(header, data=b"", length=None):
    h = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return u64(len(h) if length is None else length) + h + data
def tar(*files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for path, data in files:
            info = tarfile.TarInfo(path); info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()
def gguf(version=3, tensors=0, pairs=0, body=b""): return b"GGUF" + u32(version) + u64(tensors, pairs) + body
def npy(header, data=b""):
    h = header.encode()
    return b"\x93NUMPY\x01\x00" + u16(len(h)) + h + data
