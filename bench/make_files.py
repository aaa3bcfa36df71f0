#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files that bench/run.py measures. Usage: make_files.py FOLDER [--million]. Needs torch and safetensors."""
import sys
from pathlib import Path

import torch
from checkpoint_writer import many_shapes, write_checkpoint
from safetensors.torch import save_file

COUNTS = (10, 100, 1_000, 10_000, 100_000)


def vgg_shapes() -> dict:
    """160 tensors, 548 MB of float32: VGG-16's three large matrices, its convolutions, and small ones up to 160."""
    shapes = {"classifier.0.weight": (4096, 25088), "classifier.0.bias": (4096,), "classifier.3.weight": (4096, 4096),
              "classifier.3.bias": (4096,), "classifier.6.weight": (1000, 4096), "classifier.6.bias": (1000,)}
    widths = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    for i, (before, after) in enumerate(zip(widths, widths[1:])):
        shapes[f"features.{i}.conv.weight"] = (after, before, 3, 3)
        shapes[f"features.{i}.conv.bias"] = (after,)
    index = 0
    while len(shapes) < 160:
        shapes[f"extra.{index}.weight"] = (16, 16)
        index += 1
    return shapes


def make(folder: Path, million: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({name: torch.zeros(shape) for name, shape in vgg_shapes().items()}, folder / "vgg.pt")
    many = {name: torch.zeros(shape) for name, shape in many_shapes(20_000).items()}
    torch.save(many, folder / "many.pt")
    save_file(many, folder / "many.safetensors")
    for count in COUNTS + ((1_000_000,) if million else ()):
        write_checkpoint(folder / f"n{count}.pt", many_shapes(count))
    write_checkpoint(folder / "huge.pt", {f"layer.{i}.weight": (16, 1024, 32768) for i in range(4)})


if __name__ == "__main__":
    make(Path(sys.argv[1]), "--million" in sys.argv)
