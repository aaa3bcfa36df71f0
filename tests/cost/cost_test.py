#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What looking into a file may cost: start-up, memory, growth with the number of tensors and with their bytes.

Usage: cost_test.py WICK EXAMPLE TEST, where TEST is a function below. Files are written by bench/checkpoint_writer.py,
without torch; its correctness against torch.load is checked by bench/run.py.
"""
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import checkpoint_writer  # noqa: E402
from checkpoint_writer import many_shapes  # noqa: E402

DEVNULL = os.open(os.devnull, os.O_RDWR)
QUIET = [(os.POSIX_SPAWN_DUP2, DEVNULL, 0), (os.POSIX_SPAWN_DUP2, DEVNULL, 1), (os.POSIX_SPAWN_DUP2, DEVNULL, 2)]


def write_checkpoint(path: str, shapes: dict) -> None:
    """In a process of its own: a child's peak counts what its parent held when it was started."""
    pid = os.fork()
    if pid == 0:
        checkpoint_writer.write_checkpoint(path, shapes)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def run(command: list[str]):
    """(wall seconds, rusage) of one run; any exit but 0 fails the test."""
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=QUIET)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    assert os.waitstatus_to_exitcode(status) == 0, f"{command} ended with {os.waitstatus_to_exitcode(status)}"
    return wall, usage


def wick_starts_within_2_ms_of_true(wick: str, example: str) -> None:
    """Medians of interleaved runs; a noisy machine gets five tries, a slow wick fails them all."""
    nothing = next(path for path in ("/bin/true", "/usr/bin/true") if os.path.exists(path))
    for attempt in range(5):
        pairs = [(run([nothing])[0], run([wick, "info", example])[0]) for _ in range(150)]
        idle, busy = (statistics.median(side) * 1e3 for side in zip(*pairs))
        print(f"true {idle:.2f} ms, wick info {busy:.2f} ms, difference {busy - idle:.2f} ms")
        if busy - idle <= 2.0:
            return
    raise AssertionError("wick info starts more than 2 ms after true")


def memory_stays_below_50_mb_and_400_bytes_a_tensor(wick: str, example: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for count in (10, 100_000):
            path = f"{folder}/n{count}.pt"
            write_checkpoint(path, many_shapes(count))
            for words in (["ls"], ["ls", "--json"], ["info"], ["info", "--json"]):
                peak = run([wick, *words, path])[1].ru_maxrss * 1024
                allowed = 50_000_000 + 400 * count
                print(f"{' '.join(words)}: {count} tensors, peak {peak / 1e6:.1f} MB of {allowed / 1e6:.1f} MB")
                assert peak < allowed


def eight_gb_are_listed_in_little_memory(wick: str, example: str) -> None:
    """A sparse file of 8 GB under a limit of address space that no mapping of it would fit in."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/huge.pt"
        write_checkpoint(path, {f"layer.{i}.weight": (16, 1024, 32768) for i in range(4)})
        assert os.path.getsize(path) > 8_000_000_000
        resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
        wall, usage = run([wick, "ls", "--json", path])
        run([wick, "show", path, "layer.3.weight[15,1023,32760:]"])
        print(f"8.6 GB: {wall * 1e3:.1f} ms, peak {usage.ru_maxrss / 1024:.1f} MB")
        assert usage.ru_maxrss * 1024 < 50_000_000


def time_grows_no_worse_than_linearly(wick: str, example: str) -> None:
    """Ten times the tensors, at most ten times the CPU time, with a quarter of slack for caches."""
    with tempfile.TemporaryDirectory() as folder:
        spent = {}
        for count in (10_000, 100_000):
            path = f"{folder}/n{count}.pt"
            write_checkpoint(path, many_shapes(count))
            usages = [run([wick, "ls", path])[1] for _ in range(7)]
            spent[count] = min(usage.ru_utime + usage.ru_stime for usage in usages)
            print(f"{count} tensors: {spent[count] * 1e3:.1f} ms")
        assert spent[100_000] < 12.5 * max(spent[10_000], 0.002)


def time_does_not_depend_on_bytes(wick: str, example: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spent = {}
        for name, size in (("small", 1), ("big", 4096)):
            path = f"{folder}/{name}.pt"
            write_checkpoint(path, {f"layer.{i}.weight": (size, 512) for i in range(160)})
            spent[name] = statistics.median(run([wick, "ls", path])[0] for _ in range(41)) * 1e3
            print(f"{name}: {os.path.getsize(path):,} bytes, {spent[name]:.2f} ms")
        assert spent["big"] < 1.5 * spent["small"] + 1


if __name__ == "__main__":
    globals()[sys.argv[3]](sys.argv[1], sys.argv[2])
