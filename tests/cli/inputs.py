# SPDX-License-Identifier: Apache-2.0
"""Small files for the tests of the command line, written with Python's standard library alone.

The pickles name torch's and numpy's functions as those libraries do; stand-ins of the same names let Python's pickle
write them. What is in each file is said here, and the tests expect it from here.
"""
import collections
import io
import pickle
import struct
import sys
import types
import zipfile
from pathlib import Path


def _stand_in(module: str, name: str, made):
    for end in range(1, module.count(".") + 2):
        part = ".".join(module.split(".")[:end])
        sys.modules.setdefault(part, types.ModuleType(part))
    made.__module__, made.__qualname__, made.__name__ = module, name, name
    setattr(sys.modules[module], name, made)
    return made


def _rebuild(*_):
    pass


REBUILD = _stand_in("torch._utils", "_rebuild_tensor_v2", _rebuild)
STORAGES = {name: _stand_in("torch", name, type(name, (), {})) for name in
            ("FloatStorage", "HalfStorage", "LongStorage")}
RECONSTRUCT = _stand_in("numpy.core.multiarray", "_reconstruct", lambda *_: None)
NDARRAY = _stand_in("numpy", "ndarray", type("ndarray", (), {}))
DTYPE = _stand_in("numpy", "dtype", type("dtype", (), {}))
FORMAT = {"FloatStorage": "f", "HalfStorage": "e", "LongStorage": "q"}


class Storage:
    def __init__(self, kind, values, key=None, missing=False):
        self.kind, self.values, self.key, self.missing = kind, values, key, missing
        self.data = struct.pack(f"<{len(values)}{FORMAT[kind]}", *values)


class Tensor:
    def __init__(self, storage, shape, strides=None, offset=0):
        self.storage, self.shape, self.offset = storage, tuple(shape), offset
        if strides is None:
            strides, step = [], 1
            for size in reversed(shape):
                strides.insert(0, step)
                step *= size
        self.strides = tuple(strides)

    def __reduce__(self):
        return REBUILD, (self.storage, self.offset, self.shape, self.strides, False, collections.OrderedDict())


def tensor(kind, values, shape):
    return Tensor(Storage(kind, values), shape)


class Dtype:
    def __reduce__(self):
        return DTYPE, ("f8", False, True), (3, "<", None, None, None, -1, -1, 0)


class Array:
    """numpy.array(values, dtype=float64)"""
    def __init__(self, values):
        self.values = values

    def __reduce__(self):
        data = struct.pack(f"<{len(self.values)}d", *self.values)
        return RECONSTRUCT, (NDARRAY, (0,), b"b"), (1, (len(self.values),), Dtype(), False, data)


class _Pickler(pickle.Pickler):
    def __init__(self, file, storages):
        super().__init__(file, protocol=2)
        self.storages = storages

    def persistent_id(self, thing):
        if not isinstance(thing, Storage):
            return None
        if thing.key is None:
            thing.key = str(len(self.storages))
            self.storages.append(thing)
        return ("storage", STORAGES[thing.kind], thing.key, "cpu", len(thing.values))


def save(path: Path, thing, root="archive"):
    """A zip as torch.save writes it."""
    file, storages = io.BytesIO(), []
    _Pickler(file, storages).dump(thing)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{root}/data.pkl", file.getvalue())
        archive.writestr(f"{root}/byteorder", b"little")
        for storage in storages:
            if not storage.missing:
                archive.writestr(f"{root}/data/{storage.key}", storage.data)
        archive.writestr(f"{root}/version", b"3\n")


def model():
    shared = Storage("FloatStorage", [0.0, 0.5, 1.0, -1.5, 2.0, 2.5])
    return collections.OrderedDict([
        ("layer.0.weight", Tensor(shared, (2, 3))),
        ("layer.0.bias", tensor("FloatStorage", [1.0, 2.0], (2,))),
        ("layer.1.weight", tensor("FloatStorage", [float(i) for i in range(6)], (2, 3))),
        ("layer.1.bias", tensor("FloatStorage", [3.0, 4.0], (2,))),
        ("head.weight", tensor("HalfStorage", [0.25, 0.5, 0.75, 1.0], (2, 2))),
        ("tied.weight", Tensor(shared, (3, 2), (1, 3))),
        ("steps", tensor("LongStorage", [7], ())),
    ])


def write_all(folder: Path):
    save(folder / "model.pt", model())
    save(folder / "training.pt", {
        "epoch": 3, "state_dict": {"fc.weight": tensor("FloatStorage", [1.0, 2.0, 3.0, 4.0], (2, 2))},
        "note": "red \x1b[31m", "big": 2**80, "scores": [0.5, 0.25], "nested": {"a": {"b": 1}},
        "mean": Array([1.0, 2.0, 3.0])})
    save(folder / "bad.pt", {"good": tensor("FloatStorage", [1.0], (1,)),
                             "lost": Tensor(Storage("FloatStorage", [1.0, 2.0], missing=True), (2,))})
    (folder / "python2.pkl").write_bytes(b"\x80\x02}q\x00U\x04caf\xe9q\x01U\x02\xe9!q\x02s.")  # {'caf\xe9': '\xe9!'}
    (folder / "odd.pkl").write_bytes(pickle.dumps({"ok": 1, "lone \ud800": 2}, protocol=4))
    with zipfile.ZipFile(folder / "bundle.zip", "w") as archive:
        archive.write(folder / "model.pt", "weights/policy.pth")
        archive.writestr("readme.txt", "hello")
    (folder / "pointer.bin").write_bytes(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 440473133\n")
    (folder / "notes.txt").write_bytes(b"only words\n")
    walked = folder / "walked"
    walked.mkdir()
    save(walked / "a.pt", {"x": tensor("FloatStorage", [1.0], (1,))})
    (walked / "b.pt").symlink_to("a.pt")
    (walked / "readme.md").write_bytes(b"# words\n")
    flat = {f"w{i:05}": tensor("FloatStorage", [float(i)], (1,)) for i in range(3)}
    save(folder / "flat.pt", flat)
    save(folder / "long.pt", {"row": tensor("LongStorage", list(range(2000)), (2000,))})
