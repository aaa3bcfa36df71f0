# SPDX-License-Identifier: Apache-2.0
"""Writes torch.save's zip form directly, for files that torch itself would take minutes or gigabytes to write.

The records are those of torch 2.13: data.pkl, .format_version, .storage_alignment, byteorder, data/N, version,
.data/serialization_id; storages at 64-byte alignment. bench/run.py checks that torch.load reads the same from them.
Zeros are left as holes, so a file of 8 GB takes a few KB of disk.
"""
import io
import pickle
import struct
import sys
import types
import zlib

ALIGNMENT = 64
FLAGS = 0x0800  # UTF-8 names


def _fake(module: str, name: str):
    """A stand-in that pickles as the global `module name`, whether or not torch is installed."""
    holder = types.ModuleType(module)
    made = type(name, (), {"__module__": module, "__qualname__": name})
    setattr(holder, name, made)
    return holder, made


class _Tensor:
    def __init__(self, rebuild, arguments):
        self.reduced = (rebuild, arguments)

    def __reduce__(self):
        return self.reduced


class _Storage:
    def __init__(self, key, numel):
        self.key, self.numel = key, numel


def _pickle_of(shapes: dict) -> bytes:
    """data.pkl of an OrderedDict of float32 parameters, one storage each."""
    from collections import OrderedDict
    utils, rebuild = _fake("torch._utils", "_rebuild_tensor_v2")
    root, float_storage = _fake("torch", "FloatStorage")
    saved = {name: sys.modules.get(name) for name in ("torch", "torch._utils")}
    sys.modules.update({"torch": root, "torch._utils": utils})
    try:
        out = io.BytesIO()

        class Pickler(pickle.Pickler):
            def persistent_id(self, value):
                if isinstance(value, _Storage):
                    return ("storage", float_storage, value.key, "cpu", value.numel)
                return None

        state = OrderedDict()
        for index, (name, shape) in enumerate(shapes.items()):
            strides, step = [], 1
            for size in reversed(shape):
                strides.append(step)
                step *= size
            state[name] = _Tensor(rebuild, (_Storage(str(index), step), 0, tuple(shape), tuple(reversed(strides)), False, OrderedDict()))
        Pickler(out, protocol=2).dump(state)
        return out.getvalue()
    finally:
        for name, module in saved.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def _crc_of_zeros(count: int) -> int:
    block, crc = bytes(1 << 20), 0
    while count:
        take = min(count, len(block))
        crc = zlib.crc32(block[:take], crc)
        count -= take
    return crc


class _Zip:
    def __init__(self, file, root: str):
        self.file, self.root, self.entries, self.crcs = file, root, [], {}

    def add(self, name: str, content: bytes | int) -> None:
        """A record of bytes, or of that many zeros (left as a hole)."""
        zeros = isinstance(content, int)
        size = content if zeros else len(content)
        if zeros:
            if size not in self.crcs:
                self.crcs[size] = _crc_of_zeros(size)
            crc = self.crcs[size]
        else:
            crc = zlib.crc32(content)
        path = f"{self.root}/{name}".encode()
        header = self.file.tell()
        big = size >= 0xFFFFFFFF
        extra = struct.pack("<HHQQ", 1, 16, size, size) if big else b""
        start = header + 30 + len(path) + len(extra) + 4
        padding = -start % ALIGNMENT
        extra += struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        shown = 0xFFFFFFFF if big else size
        self.file.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 0, FLAGS, 0, 0, 0, crc, shown, shown, len(path), len(extra)))
        self.file.write(path + extra)
        if zeros:
            self.file.seek(size, 1)
        else:
            self.file.write(content)
        self.entries.append((path, crc, size, header))

    def finish(self) -> None:
        start = self.file.tell()
        directory = bytearray()
        for path, crc, size, header in self.entries:
            wide = [value for value in (size, size, header) if value >= 0xFFFFFFFF]
            extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
            shown, place = min(size, 0xFFFFFFFF), min(header, 0xFFFFFFFF)
            directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 0, 0, FLAGS, 0, 0, 0, crc, shown, shown, len(path),
                                     len(extra), 0, 0, 0, 0, place) + path + extra
        self.file.write(directory)
        count, end = len(self.entries), self.file.tell()
        self.file.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, len(directory), start))
        self.file.write(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        self.file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, min(count, 0xFFFF), min(count, 0xFFFF),
                                    min(len(directory), 0xFFFFFFFF), min(start, 0xFFFFFFFF), 0))


def write_checkpoint(path, shapes: dict, root: str = "archive") -> None:
    """`shapes`: name -> sizes of a float32 tensor of zeros."""
    with open(path, "wb", buffering=1 << 20) as file:
        archive = _Zip(file, root)
        archive.add("data.pkl", _pickle_of(shapes))
        archive.add(".format_version", b"1")
        archive.add(".storage_alignment", b"64")
        archive.add("byteorder", b"little")
        for index, shape in enumerate(shapes.values()):
            numel = 1
            for size in shape:
                numel *= size
            archive.add(f"data/{index}", 4 * numel)
        archive.add("version", b"3\n")
        archive.add(".data/serialization_id", b"0" * 40)
        archive.finish()


def many_shapes(count: int) -> dict:
    """Names and shapes such as a deep transformer has: `count` small tensors."""
    kinds = [("attention.query.weight", (2, 2)), ("attention.query.bias", (2,)), ("output.dense.weight", (2, 3)), ("norm.weight", (2,))]
    return {f"encoder.layer.{i // 4}.{kinds[i % 4][0]}": kinds[i % 4][1] for i in range(count)}
