"""Memory and time of one pass over files of two sizes.

LIBSVM files with 500 thousand and 5 million rows are generated (about 600 MB), and `gcwsnet train` learns from each
once: k = 64, b = 8, 64 hidden units, with scaling and p chosen automatically. The peak memory is that of the whole
process, Python included.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.subject import Section, environment, log, markdown_table

SIZES = (500_000, 5_000_000)
COLUMNS, ENTRIES = 1000, 12
ROWS_AT_ONCE = 50_000


def write_rows(path: Path, n: int) -> None:
    """Write rows with 12 entries of 1,000 columns, and a label that depends on all of them."""
    if path.exists():
        return
    beside = path.with_suffix(".part")
    effect = np.random.default_rng(0).normal(size=(COLUMNS, 4))
    with beside.open("w") as file:
        for first in range(0, n, ROWS_AT_ONCE):
            rng = np.random.default_rng([1, first])
            step = COLUMNS // ENTRIES
            columns = rng.integers(0, step, (ROWS_AT_ONCE, ENTRIES)) + step * np.arange(ENTRIES)
            values = rng.integers(1, 100, columns.shape) / 10
            label = (effect[columns] * np.log(values)[:, :, None]).sum(axis=1).argmax(axis=1)
            text = np.char.add(np.char.add((columns + 1).astype(str), ":"), values.astype(str))
            lines = (f"{one} {' '.join(row)}\n" for one, row in zip(label, text.tolist(), strict=True))
            file.writelines(lines)
    beside.replace(path)


def train(path: Path, out: Path) -> dict[str, Any]:
    """Run the command once, and return its JSON, its seconds and its peak memory."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "gcwsnet", "train", str(path), "--out", str(out), "--json", "--holdout", "0"]
    command += ["--n-hashes", "64", "--bits", "8", "--hidden", "64"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        summary = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)  # it has the peak memory of this process alone
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return {**json.loads(summary), "seconds": time.perf_counter() - start, "megabytes": usage.ru_maxrss / 1024}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--folder", type=Path, default=Path("build/streaming"), help="for the generated files")


def run(options: argparse.Namespace) -> Section:
    """Learn from both files, and compare."""
    options.folder.mkdir(parents=True, exist_ok=True)
    runs, rows = [], []
    for n in SIZES:
        path = options.folder / f"rows-{n}.svm"
        write_rows(path, n)
        found = train(path, options.folder / "model")
        runs.append(found)
        rows.append([f"{n:,}", f"{path.stat().st_size / 1e6:.0f}", f"{found['seconds']:.0f}"])
        rows[-1] += [f"{n / found['seconds']:,.0f}", f"{found['megabytes']:.0f}"]
        rows[-1] += [f"{100 * found['progressive_accuracy']:.1f}"]
        log(rows[-1])
    head = ["rows", "file, MB", "seconds", "rows/s", "peak memory, MB", "accuracy before learning, %"]
    lines = [*environment(note=", one thread"), "", markdown_table(head, rows, align="r"), ""]
    small, large = runs
    lines += [f"Ten times the rows take {large['seconds'] / small['seconds']:.1f} times the time and"]
    lines += [f"{large['megabytes'] / small['megabytes']:.2f} times the memory."]
    return Section("\n".join(lines))
