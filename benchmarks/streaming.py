"""Memory and time of one pass over files of two sizes: `python benchmarks/streaming.py`.

LIBSVM files with 500 thousand and 5 million rows are generated (some 600 MB in the folder `--folder`), and
`gcwsnet train` learns from each once: k = 64, b = 8, 64 hidden units, scaling and p chosen by itself. The peak is that
of the whole process, Python and torch included. `--write-docs` puts the table into docs/command-line.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gcwsnet.bench._measure import listed, machine, versions
from gcwsnet.bench._page import write_section

SIZES = (500_000, 5_000_000)
COLUMNS, ENTRIES = 1000, 12
ROWS_AT_ONCE = 50_000


def write_rows(path: Path, n: int) -> None:
    """Rows with 12 entries of 1,000 columns, and a label that hangs on pairs of them."""
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


def trained(path: Path, out: Path) -> dict[str, Any]:
    """One run of the command: what it says, its seconds and its peak memory."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "gcwsnet", "train", str(path), "--out", str(out), "--json"]
    command += ["--n-hashes", "64", "--bits", "8", "--hidden", "64"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return {**json.loads(said), "seconds": time.perf_counter() - start, "megabytes": usage.ru_maxrss / 1024}


def table(folder: Path) -> Iterator[str]:
    """Markdown: a line for each file, and how the larger one compares."""
    yield "| rows | file, MB | seconds | rows/s | peak memory, MB | accuracy before learning, % |"
    yield "| --: | --: | --: | --: | --: | --: |"
    runs = []
    for n in SIZES:
        path = folder / f"rows-{n}.svm"
        write_rows(path, n)
        run = trained(path, folder / "model")
        runs.append(run)
        cells = [f"{n:,}", f"{path.stat().st_size / 1e6:.0f}", f"{run['seconds']:.0f}", f"{n / run['seconds']:,.0f}"]
        cells += [f"{run['megabytes']:.0f}", f"{100 * run['progressive_accuracy']:.1f}"]
        print(cells, file=sys.stderr, flush=True)
        yield f"| {' | '.join(cells)} |"
    small, large = runs
    yield ""
    yield f"Ten times the rows take {large['seconds'] / small['seconds']:.1f} times the time and"
    yield f"{large['megabytes'] / small['megabytes']:.2f} times the memory."


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/streaming"), help="for the generated files")
    parser.add_argument("--write-docs", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{machine()}, one thread.", f"{listed(versions('gcwsnet', 'numpy', 'torch'))}.", "", *table(given.folder)]
    if given.write_docs:
        write_section("command-line.md", "streaming.py", "\n".join(lines))
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
