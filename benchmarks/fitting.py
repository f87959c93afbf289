"""Seconds of a whole fit on Covtype, next to LightGBM: `GCWSNET_DATA=folder python benchmarks/fitting.py`.

GCWSNet scales, hashes and learns once from half of Covtype: k = 64, b = 8, 200 hidden units, batches of 128, all else
as it is by default. LightGBM is as it is by default, on the same rows and threads. Both take turns; medians count.
Accuracy is that on the other half. `--write-docs` puts the tables into docs/training-speed.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from lightgbm import LGBMClassifier

from gcwsnet import GCWSNetClassifier, datasets
from gcwsnet.bench._measure import listed, machine, medians, n_cores, versions
from gcwsnet.bench._page import write_section


def models(n_threads: int) -> dict[str, Any]:
    """What is timed."""
    settings: dict[str, Any] = {"n_hashes": 64, "batch_size": 128, "random_state": 0, "n_jobs": n_threads}
    return {
        "GCWSNetClassifier": GCWSNetClassifier(**settings),
        "GCWSNetClassifier, p = 1": GCWSNetClassifier(p=1.0, **settings),
        "LightGBM": LGBMClassifier(n_jobs=n_threads, random_state=0, verbose=-1),
    }


def table(data: Any, n_threads: int, repetitions: int) -> Iterator[str]:
    """Markdown: a line for each model."""
    made = models(n_threads)
    times = medians({name: partial(model.fit, data.X_train, data.y_train) for name, model in made.items()}, repetitions)
    yield f"| {n_threads} thread{'s' * (n_threads > 1)} | seconds | as a multiple of LightGBM's | accuracy, % |"
    yield "| :-- | --: | --: | --: |"
    for name, model in made.items():
        accuracy = 100 * model.score(data.X_test, data.y_test)
        yield f"| {name} | {times[name]:.1f} | {times[name] / times['LightGBM']:.2f} | {accuracy:.1f} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--write-docs", action="store_true")
    given = parser.parse_args()
    try:
        data = datasets.load("covtype", download=False)
    except FileNotFoundError as error:
        sys.exit(str(error))
    lines = [f"{machine()}.", f"{listed(versions('gcwsnet', 'numpy', 'torch', 'lightgbm'))}."]
    lines += [f"Medians of {given.repetitions} fits."]
    for n_threads in sorted({1, min(2, n_cores())}):
        lines += ["", *table(data, n_threads, given.repetitions)]
    if given.write_docs:
        write_section("training-speed.md", "fitting.py", "\n".join(lines))
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
