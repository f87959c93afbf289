"""The instructions that it takes to hash a row, with each instruction set, on the emulated processor.

    python -m tests.emulation.avx512 --module tests.emulation.instructions

Bochs does one instruction in each cycle of its clock, so that the time of a call there says how many it took. Whole
calls are counted, logarithms and encoding included, after two that make the tables.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core

N_HASHES, N_ROWS, TABLE_BYTES = 256, 256, 1 << 30
INSTRUCTION_SETS = ("baseline", "avx2", "avx512")


def rows() -> dict[tuple[str, float], NDArray[np.float32]]:
    """Return rows by their name and p."""
    rng = np.random.default_rng(0)
    uniform = rng.random((N_ROWS, 784), dtype=np.float32)
    normal = np.abs(rng.standard_normal((N_ROWS, 2500), dtype=np.float32))
    fifth = np.where(rng.random((N_ROWS, 784)) < 0.2, uniform, np.float32(0))
    return {
        ("uniform, D=784", 1.0): uniform,
        ("uniform^80, D=784", 80.0): uniform,
        ("abs normal, D=2500", 1.0): normal,
        ("uniform, 20% of 784", 1.0): fifth,
    }


def cycles_per_second() -> float:
    """Return the rate of the processor's clock, as the kernel knows it."""
    return 1e6 * float(re.findall(r"cpu MHz\s*: (\S+)", Path("/proc/cpuinfo").read_text())[0])


def instructions_for_a_row(X: NDArray[np.float32], p: float) -> float:
    """Return the instructions of a call that hashes and encodes rows, divided by their number."""
    hasher = _core.Hasher(0, X.shape[1], N_HASHES, TABLE_BYTES, _core.Scan.AUTO)
    codes = np.empty((len(X), N_HASHES), np.uint8)
    encoding = _core.Encoding(False, False, 8, 0, X.shape[1])
    for _ in range(3):
        start = time.perf_counter()
        hasher.codes_of_dense(X, p, False, encoding, codes, 1)
    return (time.perf_counter() - start) * cycles_per_second() / len(X)


def main() -> None:
    """Print a table, with a line for each kind of rows."""
    print(f"| rows | p | {' | '.join(INSTRUCTION_SETS)} |\n| :-- | --: |{' --: |' * len(INSTRUCTION_SETS)}")
    for (name, p), X in rows().items():
        counts = []
        for instruction_set in INSTRUCTION_SETS:
            _core.use_instruction_set(instruction_set)
            counts.append(f"{instructions_for_a_row(X, p):,.0f}")
        print(f"| {name} | {p:g} | {' | '.join(counts)} |", flush=True)


if __name__ == "__main__":
    main()
