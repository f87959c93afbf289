"""Rows learned per second by whole fits, and the time of predictions, next to LightGBM where it is installed.

A fit is all of it: scaling, hashing, the net and its optimizer, with p and the scaling given and all else by default.
There are batches of 32 and of 128, and one thread and two. The rows are half of Covtype, or generated ones like them
where `gcwsnet.datasets.load` does not find it. LightGBM has its defaults. All take turns, and medians count.

The first prediction is timed in a new process: the import, the load of a model file and the prediction of one row.
Single rows are then predicted one by one in a loop.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import medians, n_cores
from gcwsnet import GCWSNetClassifier, datasets

BATCHES = (32, 128)
GENERATED_ROWS = 300_000
LIGHTGBM = "LightGBM"
FIRST_PREDICTION = {
    "gcwsnet": """
import gcwsnet
at("import")
model = gcwsnet.load(path)
at("load")
model.predict_proba([row])
at("first row")
""",
    LIGHTGBM: """
import lightgbm, numpy
at("import")
model = lightgbm.Booster(model_file=path)
at("load")
model.predict(numpy.array([row]))
at("first row")
""",
}
PARTS = ("import", "load", "first row", "whole process")
TIMED = """
import json, sys, time
path, row = sys.argv[1], json.loads(sys.argv[2])
seconds, last = {}, time.perf_counter()
def at(part):
    global last
    seconds[part], last = time.perf_counter() - last, time.perf_counter()
"""


class Rows(NamedTuple):
    """Training rows and test rows, with the name that they have in a report."""

    title: str
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any

    def first(self, n: int) -> Rows:
        """Return at most n rows of each kind."""
        return Rows(self.title, *(part[:n] for part in self[1:]))


def covtype_or_generated() -> Rows:
    """Return Covtype if it is found, else rows of as many columns and classes."""
    try:
        data = datasets.load("covtype", download=False)
        return Rows("half of Covtype", data.X_train, data.y_train, data.X_test, data.y_test)
    except FileNotFoundError as error:
        log(f"the rows are generated: {error}")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * GENERATED_ROWS, 54)).astype(np.float32)
    X[:, 10:] = X[:, 10:] > 2
    y = (X[:, :10] @ rng.normal(size=(10, 7)) + np.abs(X[:, :10]) @ rng.normal(size=(10, 7))).argmax(axis=1)
    return Rows("generated rows", X[:GENERATED_ROWS], y[:GENERATED_ROWS], X[GENERATED_ROWS:], y[GENERATED_ROWS:])


def lightgbm_classifier(n_threads: int) -> Any:
    """Return LightGBM's classifier with its defaults."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=n_threads, random_state=0, verbose=-1)


def models(n_threads: int) -> dict[str, Any]:
    """Return the models that are timed."""
    made: dict[str, Any] = {
        f"GCWSNetClassifier, batches of {size}": GCWSNetClassifier(
            p=1.0, scale="numeric", batch_size=size, random_state=0, n_jobs=n_threads
        )
        for size in BATCHES
    }
    if find_spec("lightgbm") is not None:
        made[LIGHTGBM] = lightgbm_classifier(n_threads)
    return made


def fits_table(
    rows: Rows, make_models: Callable[[int], dict[str, Any]], repetitions: int
) -> tuple[str, dict[str, Any]]:
    """Return a table with a line for each model and number of threads, and the models of one thread."""
    lines: list[list[str]] = []
    of_one_thread: dict[str, Any] = {}
    for n_threads in sorted({1, min(2, n_cores())}):
        made = make_models(n_threads)
        works = {name: partial(model.fit, rows.X_train, rows.y_train) for name, model in made.items()}
        times = medians(works, repetitions)
        for name, model in made.items():
            accuracy = 100 * model.score(rows.X_test, rows.y_test)
            ratio = f"{times[name] / times[LIGHTGBM]:.2f}" if LIGHTGBM in times else "-"
            rate = len(rows.y_train) / times[name]
            lines.append([name, str(n_threads), f"{times[name]:.2f}", f"{rate:,.0f}", ratio, f"{accuracy:.1f}"])
            log(*lines[-1])
        of_one_thread = of_one_thread or made
    head = ["", "threads", "seconds", "rows per second", "seconds, LightGBM's = 1", "accuracy, %"]
    return markdown_table(head, lines), of_one_thread


def first_prediction(kind: str, path: Path, row: Any, repetitions: int) -> list[float]:
    """Return the milliseconds of each part of a first prediction in a new process."""
    program = TIMED + FIRST_PREDICTION[kind] + "\nprint(json.dumps(seconds))"
    command = [sys.executable, "-c", program, str(path), json.dumps(row.tolist())]
    found = []
    for _ in range(repetitions + 1):
        start = time.perf_counter()
        seconds = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds["whole process"] = time.perf_counter() - start
        found.append([1e3 * seconds[part] for part in PARTS])
    return [median(part) for part in zip(*found[1:], strict=True)]  # the first process finds cold files


def microseconds_of_a_row(predict: Callable[[Any], Any], X: Any, repetitions: int) -> float:
    """Return the microseconds of a prediction of one row in a loop."""

    def loop() -> None:
        for i in range(len(X)):
            predict(X[i : i + 1])

    return 1e6 * medians({"rows": loop}, repetitions)["rows"] / len(X)


def predictions_table(fitted: dict[str, Any], X: Any, repetitions: int) -> str:
    """Return a table with the times of first predictions and of predictions of single rows."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in (next(iter(fitted)), *(name for name in fitted if name == LIGHTGBM)):
            path, model = Path(folder) / "model", fitted[name]
            if name == LIGHTGBM:
                model.booster_.save_model(path)
                parts = first_prediction(LIGHTGBM, path, X[0], repetitions)
                of_a_row = microseconds_of_a_row(partial(model.booster_.predict, num_threads=1), X, repetitions)
            else:
                model.save(path, optimizer=False)
                parts = first_prediction("gcwsnet", path, X[0], repetitions)
                of_a_row = microseconds_of_a_row(model.predict_proba, X, repetitions)
            lines.append([name, *(f"{part:.0f}" for part in parts), f"{of_a_row:.0f}"])
    return markdown_table(["", *(f"{part}, ms" for part in PARTS), "a row in a loop, microseconds"], lines)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 1_000_000, "the most rows to learn from")
    add_count(parser, "--repetitions", 3, "timed calls of each kind")


def run(options: argparse.Namespace) -> Section:
    """Time fits and predictions."""
    rows = covtype_or_generated().first(options.rows)
    fits, fitted = fits_table(rows, models, options.repetitions)
    lines = environment(*(["lightgbm"] if LIGHTGBM in fitted else []))
    shape = f"{len(rows.y_train):,} rows of {rows.X_train.shape[1]} columns"
    lines += [f"{rows.title[0].upper()}{rows.title[1:]}, {shape}; medians of {options.repetitions}.", "", fits, ""]
    lines += ["The first prediction in a new process, and single rows on one thread:", ""]
    lines += [predictions_table(fitted, rows.X_test[:1000], options.repetitions)]
    return Section("\n".join(lines))
