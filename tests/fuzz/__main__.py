"""The campaign: ``python -m tests.fuzz`` attacks all targets for a while, and keeps what it finds as inputs of tests.

It prints one line of JSON for each target: how many inputs there were and how they ended. The exit code is 1 if one of
them was a finding. The same seed makes the same inputs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from tests.fuzz.commands import allocations, commands, faults, kills, overlaps, prepare
from tests.fuzz.runner import Runner
from tests.fuzz.targets import TARGETS

INPUTS = Path(__file__).parent / "inputs"


def attack(name: str, seconds: float, seed: int) -> int:
    """Attack one target, keep what is found, and return the number of findings."""
    target, ends, findings = TARGETS[name], Counter[str](), 0
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = target.make(Random(f"{name} {seed} {number}"))
        number += 1
        try:
            ends[target.check(data)] += 1
        except Exception:
            findings += 1
            path = INPUTS / name / hashlib.sha256(data).hexdigest()[:16]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            print(f"{path}: found by {name} with seed {seed}, input {number - 1}", file=sys.stderr)
            traceback.print_exc(limit=-3)
    print(json.dumps({"target": name, "inputs": number, "findings": findings, "ends": dict(ends)}), flush=True)
    return findings


def attack_commands(names: list[str], n_faults: int, n_kills: int, n_overlaps: int, seed: int) -> int:
    """Run commands with faults, kills and outputs that are inputs, and return how often there were findings."""
    findings = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        runner = Runner(folder)
        for command in names or commands(folder):
            attacks: dict[str, Callable[..., Counter[str]]] = {
                "faults": partial(faults, n=n_faults),
                "allocations": partial(allocations, n=n_faults),
                "kills": partial(kills, n=n_kills),
                "overlaps": partial(overlaps, n=n_overlaps),
            }
            n_runs = {"kills": n_kills, "overlaps": n_overlaps}
            for by, attack_by in attacks.items():
                if not n_runs.get(by, n_faults):
                    continue
                said: dict[str, object] = {"command": command, "by": by}
                try:
                    said["ends"] = attack_by(runner, command, Random(f"{command} {seed}"))
                except AssertionError as error:
                    findings += 1
                    said["finding"] = str(error)
                print(json.dumps(said), flush=True)
        runner.close()
    return findings


def main() -> int:
    """Attack the targets that are named, or all, and the commands."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="by default all")
    parser.add_argument("--seconds", type=float, default=120.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--faults", type=int, default=0, help="faults of the disk, and of memory, in each command")
    parser.add_argument("--kills", type=int, default=0, help="kills of each command")
    parser.add_argument("--overlaps", type=int, default=0, help="outputs that are inputs, of each command")
    parser.add_argument("--commands", nargs="+", default=[], choices=commands(Path()), help="by default all")
    options = parser.parse_args()
    names = options.targets or list(TARGETS)
    findings = sum(attack(name, options.seconds / len(names), options.seed) for name in names)
    if options.faults or options.kills or options.overlaps:
        counts = options.faults, options.kills, options.overlaps
        findings += attack_commands(options.commands, *counts, options.seed)
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
