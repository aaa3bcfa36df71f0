#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wick against torch and safetensors on the same files in the same run, answers compared before anything is timed.

Usage: run.py WICK WICK_BENCH FOLDER [--markdown FILE]. The files are those of make_files.py; run it with the Python that
has torch. Exit 1 when a goal is missed. wick runs with its default checks; the page cache is warm for everybody.
"""
import json
import os
import statistics
import subprocess
import sys
import time

TORCH_LOAD = "import sys, torch; torch.load(sys.argv[1], mmap=True)"
TORCH_INSIDE = """
import sys, time, torch
times = []
for _ in range(7):
    start = time.perf_counter()
    torch.load(sys.argv[1], mmap=True)
    times.append(time.perf_counter() - start)
print(min(times))
"""
SAFETENSORS_INSIDE = """
import sys, time
from safetensors import safe_open
times = []
for _ in range(15):
    start = time.perf_counter()
    with safe_open(sys.argv[1], "pt") as file:
        for key in file.keys():
            piece = file.get_slice(key)
            piece.get_dtype(), piece.get_shape()
    times.append(time.perf_counter() - start)
print(min(times))
"""


class Report:
    def __init__(self):
        self.rows, self.missed = [], 0

    def add(self, what: str, value: str, goal: str, met: bool) -> None:
        self.rows.append((what, value, goal, "yes" if met else "NO"))
        self.missed += not met
        print(f"{what:<62} {value:>18}   goal {goal:<16} {'met' if met else 'MISSED'}", flush=True)

    def markdown(self) -> str:
        lines = ["| what | measured | goal | met |", "|---|---|---|---|"]
        return "\n".join(lines + [f"| {' | '.join(row)} |" for row in self.rows]) + "\n"


def wall(command: list[str], times: int) -> float:
    """Median seconds of a whole process."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        spent.append(time.perf_counter() - start)
    return statistics.median(spent)


def spawn(command: list[str]):
    """(seconds, rusage) with as little of Python around it as can be."""
    null = os.open(os.devnull, os.O_RDWR)
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
    _, status, usage = os.wait4(pid, 0)
    spent = time.perf_counter() - start
    os.close(null)
    assert os.waitstatus_to_exitcode(status) == 0, command
    return spent, usage


def python_says(code: str, path: str) -> float:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, path], capture_output=True, text=True, check=True)
    return float(done.stdout)


def apart(call, *arguments):
    """Runs `call` in a child: a process started later counts its parent's memory as its own, and torch holds much."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            call(*arguments)
            sys.stdout.flush()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001
            print(error, file=sys.stderr)
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0, f"{call.__name__} failed"


def answers_agree(wick: str, path: str) -> None:
    """Names, order, dtypes, shapes and strides as torch.load reads them."""
    import torch
    state = torch.load(path, mmap=True)
    expected = [(name, str(t.dtype).removeprefix("torch."), list(t.shape), list(t.stride())) for name, t in state.items()]
    listed = json.loads(subprocess.run([wick, "ls", "--json", path], capture_output=True, check=True).stdout)
    found = [(t["name"], t["dtype"], t["shape"], t["strides"]) for t in listed["tensors"]]
    assert found == expected, f"{path}: wick and torch disagree"
    print(f"{os.path.basename(path)}: {len(found):,} tensors, as torch reads them")


def in_process(bench: str, folder: str) -> dict:
    """Milliseconds of listing by file name, from Google Benchmark: the quickest of seven, as for torch."""
    done = subprocess.run([bench, folder, "--benchmark_format=json", "--benchmark_repetitions=7", "--benchmark_min_time=0.1"],
                          capture_output=True, text=True, check=True)
    best = {}
    for result in json.loads(done.stdout)["benchmarks"]:
        assert not result.get("error_occurred"), result
        if result["run_type"] == "iteration":
            best[result["name"]] = min(result["real_time"], best.get(result["name"], result["real_time"]))
    return best


def compare_with_torch(report: Report, wick: str, folder: str, inside: dict) -> None:
    vgg = f"{folder}/vgg.pt"
    report.add("160 tensors of 548 MB, listed in process", f"{inside['vgg.pt']:.3f} ms", "<= 0.5 ms", inside["vgg.pt"] <= 0.5)
    torch_process = wall([sys.executable, "-c", TORCH_LOAD, vgg], 5)
    wick_process = statistics.median(spawn([wick, "ls", vgg])[0] for _ in range(51))
    ratio = torch_process / wick_process
    report.add(f"the same, whole processes ({torch_process:.2f} s, {wick_process * 1e3:.2f} ms)", f"{ratio:.0f}x", ">= 500x", ratio >= 500)
    torch_inside = python_says(TORCH_INSIDE, f"{folder}/many.pt") * 1e3
    ratio = torch_inside / inside["many.pt"]
    report.add(f"20,000 tensors, in process ({torch_inside:.0f} ms, {inside['many.pt']:.2f} ms)", f"{ratio:.0f}x", ">= 100x torch", ratio >= 100)
    safetensors = python_says(SAFETENSORS_INSIDE, f"{folder}/many.safetensors") * 1e3
    ratio = safetensors / inside["many.pt"]
    report.add(f"20,000 tensors against safetensors on its own file ({safetensors:.1f} ms)", f"{ratio:.1f}x", ">= 2x", ratio >= 2)
    ratio = safetensors / inside["many.safetensors"]
    report.add(f"the same safetensors file in wick ({inside['many.safetensors']:.2f} ms)", f"{ratio:.1f}x", "-", True)


def growth(report: Report, wick: str, folder: str, inside: dict) -> None:
    counts = [count for count in (10, 100, 1_000, 10_000, 100_000, 1_000_000) if f"n{count}.pt" in inside]
    for count in counts:
        each = inside[f"n{count}.pt"] * 1e6 / count
        report.add(f"{count:,} tensors in process", f"{inside[f'n{count}.pt']:.3f} ms", f"{each:.0f} ns each", True)
    # A file has a cost of its own; per tensor it must not rise from a thousand on by more than caches explain.
    rise = (inside[f"n{counts[-1]}.pt"] / counts[-1]) / (inside["n1000.pt"] / 1000)
    report.add(f"time for each tensor, {counts[-1]:,} against 1,000", f"{rise:.2f}", "<= 2", rise <= 2)
    for name, count in [(f"n{count}.pt", count) for count in counts] + [("vgg.pt", 160), ("huge.pt", 4)]:
        spent, usage = spawn([wick, "ls", "--json", f"{folder}/{name}"])
        peak, allowed = usage.ru_maxrss * 1024 / 1e6, 50 + 400 * count / 1e6
        report.add(f"peak memory of ls --json, {name} ({spent * 1e3:.0f} ms)", f"{peak:.1f} MB", f"< {allowed:.0f} MB", peak < allowed)


def main(arguments: list[str]) -> int:
    wick, bench, folder = (os.path.abspath(path) for path in arguments[:3])
    for name in ("vgg.pt", "many.pt", "n1000.pt", "huge.pt"):
        apart(answers_agree, wick, f"{folder}/{name}")
    inside = in_process(bench, folder)
    report = Report()
    compare_with_torch(report, wick, folder, inside)
    growth(report, wick, folder, inside)
    if "--markdown" in arguments:
        with open(arguments[arguments.index("--markdown") + 1], "w", encoding="utf-8") as out:
            out.write(report.markdown())
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
