"""`gcwsnet bench`: rows hashed per second on this machine."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from gcwsnet.cli import _options as options


def bench(
    repetitions: Annotated[int, typer.Option(min=1, help="Timed calls of each kind; the median counts.")] = 5,
    as_json: options.Json = False,
) -> None:
    """Time the hasher on one thread, next to its full scan and to Algorithm 1 in NumPy.

    Other libraries are compared by the benchmarks of the source repository: python -m benchmarks hashing

    For example:
      gcwsnet bench
      gcwsnet bench --repetitions 3 --json
    """
    from gcwsnet.cli import _hashing_speed as speed

    rates = []
    for number, case in enumerate(speed.CASES, 1):
        print(f"[{number}/{len(speed.CASES)}] {case.title}, p={case.p:g}", file=sys.stderr, flush=True)
        rates.append((case, speed.measure(case, repetitions)))
    machine, versions = speed.machine(), speed.versions("gcwsnet", "numpy", "scipy")
    if as_json:
        cases = [
            {"name": case.name, "title": case.title, "p": case.p, "n_hashes": case.n_hashes, "rows_per_second": found}
            for case, found in rates
        ]
        print(json.dumps({"machine": machine, "versions": versions, "repetitions": repetitions, "cases": cases}))
        return
    print(f"{machine}\n{', '.join(f'{name} {number}' for name, number in versions.items())}")
    print(f"Rows per second, one thread, k = {speed.N_HASHES}, medians of {repetitions}.")
    print("In brackets: how many times as many rows gcwsnet hashes.\n")
    print(f"{'rows':<36}{'p':>4}{speed.OURS:>12}{speed.FULL_SCAN:>20}{speed.NUMPY:>20}")
    for case, found in rates:
        ours = found[speed.OURS]
        others = (f"{found[name]:,.0f} ({ours / found[name]:.1f})" for name in (speed.FULL_SCAN, speed.NUMPY))
        print(f"{case.title:<36}{case.p:>4g}{ours:>12,.0f}{''.join(f'{cell:>20}' for cell in others)}")
