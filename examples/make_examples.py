#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the example files beside this script, and what PyTorch reads from them. Made with torch 2.13.0 (CPU).

Usage: make_examples.py [FOLDER]. The weights are random numbers of a seed: nothing here is taken from anyone's model.
"""
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

SEED = 20


def training_checkpoint() -> dict:
    """Five real steps of AdamW on noise, saved as people do."""
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)
    for _ in range(5):
        loss = nn.functional.mse_loss(model(torch.randn(4, 6)), torch.randn(4, 3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "epoch": 11,
        "step": 48204,
        "loss": loss.item(),
        "config": {"hidden": 8, "dropout": None, "classes": ["cat", "dog", "owl"]},
    }


def block(width: int, out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(width, out, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
        nn.Conv2d(out, out, 3, padding=1, bias=False), nn.BatchNorm2d(out))


def small_resnet() -> nn.Module:
    """A whole module, class names and all, with the shape of a residual network."""
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True)),
        nn.MaxPool2d(3, stride=2, padding=1), block(8, 8, 1), block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Dropout(0.1), nn.Linear(16, 10))


class Scripted(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.register_buffer("mean", torch.tensor([0.5, 0.25, 0.125, 1.0]))

    def forward(self, x):
        return self.fc(x - self.mean).relu()


def write_files(folder: Path) -> None:
    torch.manual_seed(SEED)
    torch.save(training_checkpoint(), folder / "training.pt")
    torch.save(small_resnet().eval(), folder / "resnet.pt")
    torch.jit.save(torch.jit.script(Scripted()), str(folder / "scripted.pt"))
    state = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4)).state_dict()
    torch.save(state, folder / "legacy.pth", _use_new_zipfile_serialization=False)
    save_file({f"encoder.{key}": value for key, value in state.items()}, folder / "model.safetensors",
              metadata={"format": "pt"})


def write_expected(folder: Path) -> None:
    """What examples/read_checkpoint prints for training.pt, from torch.load."""
    checkpoint = torch.load(folder / "training.pt", weights_only=True)
    weight = checkpoint["model"]["0.weight"]
    lines = [f"epoch {checkpoint['epoch']}", f"0.weight {list(weight.shape)[0]} x {list(weight.shape)[1]}",
             "first " + " ".join(f"{value:.9g}" for value in weight.flatten()[:4].tolist())]
    (folder / "read_checkpoint" / "expected.txt").write_text("\n".join(lines) + "\n")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent)
    (folder / "read_checkpoint").mkdir(parents=True, exist_ok=True)
    write_files(folder)
    write_expected(folder)
    for path in sorted(folder.glob("*")):
        if path.suffix in {".pt", ".pth", ".safetensors"}:
            assert path.stat().st_size < 64 * 1024, path
            print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
