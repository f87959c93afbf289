"""Accuracy, time and size over a suite of datasets: `GCWSNET_DATA=folder python benchmarks/accuracy.py`.

GCWSNet with its defaults, and what else people would take with theirs, on one thread. Runs are kept in a file, a line
each, and are not run twice: a suite that was stopped goes on. `--only` names datasets; those that are not there are
left out with a notice. `--write-docs` puts tables and picture into docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from lightgbm import LGBMRegressor
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gcwsnet import GCWSNetRegressor
from gcwsnet.bench._measure import listed, machine, one_thread, versions
from gcwsnet.bench._page import DOCS, write_section
from gcwsnet.bench.suite._page import accuracies, choices, costs, draw
from gcwsnet.bench.suite._results import Result, read_results, run_pairs, run_rivals, write_result
from gcwsnet.bench.suite._rivals import rivals
from gcwsnet.bench.suite._sets import Set, all_sets

PICTURE = "images/accuracy-and-time.png"
PACKAGES = ("gcwsnet", "numpy", "scikit-learn", "torch", "lightgbm")


def measure(sets: list[Set], seeds: int, path: Path) -> None:
    """Run what has not been run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {one.key for one in read_results(path)}
    for one in sets:
        try:
            one.load(0)
        except FileNotFoundError:
            print(f"{one.name} is left out: there is no file of it", file=sys.stderr)
            continue
        for result in chain(run_rivals(one, rivals(), seeds, done), run_pairs(one, seeds, done)):
            write_result(path, result)
            told = f"{result.set}, {result.who}, seed {result.seed}: {result.accuracy:.1f}, {result.fit_seconds:.1f} s"
            print(told, result.note, file=sys.stderr, flush=True)


def regressions() -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Numbers to predict: bundled and generated rows."""
    rng = np.random.default_rng(0)
    houses = rng.normal(size=(20_000, 8)) @ rng.normal(size=(8, 8)) * np.exp(rng.normal(size=8))
    z = (houses - houses.mean(0)) / houses.std(0)
    price = (
        np.exp(0.5 * z[:, 0]) + np.sin(2 * z[:, 1]) * z[:, 2] + (z[:, 3] > 0) * z[:, 4] + 0.3 * rng.normal(size=20_000)
    )
    return {
        "diabetes": load_diabetes(return_X_y=True),
        "generated, 20,000 rows of 8 columns": (houses, price),
        "Friedman's function of 10 variables, 10,000 rows": make_friedman1(10_000, 10, noise=1.0, random_state=0),
    }


def predicted(seeds: int) -> Iterator[str]:
    """Markdown: R2 on a third of the rows, means over seeds and splits."""
    yield "| rows | linear model | LightGBM | GCWSNetRegressor | 5 epochs | 20 epochs |"
    yield "| :-- | --: | --: | --: | --: | --: |"
    for name, (X, y) in regressions().items():
        scores: dict[str, list[float]] = {}
        for seed in range(seeds):
            X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed)
            linear = RidgeCV(np.logspace(-2, 4, 13)) if len(X) < 1000 else LinearRegression()
            models = {
                "linear": make_pipeline(StandardScaler(), linear),
                "LightGBM": LGBMRegressor(n_jobs=1, random_state=seed, verbose=-1),
                "default": GCWSNetRegressor(random_state=seed),
                "5 epochs": GCWSNetRegressor(epochs=5, random_state=seed),
                "20 epochs": GCWSNetRegressor(epochs=20, random_state=seed),
            }
            for who, model in models.items():
                scores.setdefault(who, []).append(model.fit(X_train, y_train).score(X_test, y_test))
        print(name, scores, file=sys.stderr, flush=True)
        yield f"| {name} | {' | '.join(f'{np.mean(found):.3f}' for found in scores.values())} |"


def report(results: list[Result], sets: list[Set], seeds: int) -> Iterator[str]:
    """Markdown of all there is."""
    yield from (f"{machine()}, one thread.", f"{listed(versions(*PACKAGES))}.", "")
    yield f"Accuracy in percent on the test rows, means of {seeds} seeds, for bundled sets of 10 seeds and splits."
    yield "Trees hardly have a seed and run once; so does k=1024 on sets of more than 50,000 rows."
    yield from ("", *accuracies(results, sets, rivals()), "")
    yield from ("Times and sizes as multiples of those of GCWSNet beside it, medians over the sets:", "")
    yield from (*costs(results, rivals()), "", f"![accuracy against the seconds of a fit]({PICTURE})", "")
    yield "What GCWSNet chose, next to each fixed pair of scaling and p, on at most 20,000 rows; means as above:"
    yield from ("", *choices(results, sets), "")
    yield from (f"R2 on a third of the rows, means of {seeds} splits and seeds:", "", *predicted(seeds))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="datasets, separated by commas")
    parser.add_argument("--results", type=Path, default=Path("build/accuracy.jsonl"), help="the file of the runs")
    parser.add_argument("--write-docs", action="store_true")
    given = parser.parse_args()
    sets = [one for one in all_sets() if given.only is None or one.name in given.only.split(",")]
    with one_thread():
        measure(sets, given.seeds, given.results)
        results = read_results(given.results)
        text = "\n".join(report(results, sets, given.seeds))
    if given.write_docs:
        draw(results, sets, rivals(), DOCS / PICTURE)
        write_section("accuracy.md", "accuracy.py", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
