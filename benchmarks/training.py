"""Rows learned per second by whole fits, and the time of predictions, next to LightGBM where it is installed.

A fit is all of it: scaling, hashing, the net and its optimizer. Nothing is searched for: p is 1, the scaling "numeric",
and there is one net with 200 hidden units that learns once from each row.
There are batches of 32 and of 128, and one thread and two. The rows are half of Covtype, or generated ones like them
where `reproduction.datasets.load` does not find it. LightGBM has its defaults. All take turns, and medians count.

The first prediction is timed in a new process: the import, the load of a model file and the prediction of one row. It
is set against a process that imports NumPy and does nothing else. Single rows are then predicted one by one in a loop.
"""

from __future__ import annotations

import argparse
import json
import os
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
from gcwsnet import GCWSNetClassifier, Predictor
from reproduction import datasets

BATCHES = (32, 128)
NO_SEARCH: dict[str, Any] = {
    "p": 1.0,
    "scale": "numeric",
    "relevance": 0.0,
    "search": "off",
    "hidden": (200,),
    "ensemble": 1,
    "epochs": 1,
}
GENERATED_ROWS = 300_000
LIGHTGBM = "LightGBM"
NUMPY, PREDICTOR, ESTIMATOR = "NumPy, only imported", "gcwsnet.Predictor.load", "gcwsnet.load"
FIRST_PREDICTION = {
    NUMPY: """
import numpy
at("import")
at("load")
at("first row")
""",
    PREDICTOR: """
import gcwsnet, numpy
at("import")
model = gcwsnet.Predictor.load(path)
at("load")
model.predict_proba(numpy.array([row]))
at("first row")
""",
    ESTIMATOR: """
import gcwsnet, numpy
at("import")
model = gcwsnet.load(path)
at("load")
model.predict_proba(numpy.array([row]))
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
            **NO_SEARCH, batch_size=size, random_state=0, n_jobs=n_threads
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


def first_predictions(paths: dict[str, Path], row: Any, repetitions: int) -> dict[str, list[float]]:
    """Return the milliseconds of each part of first predictions in new processes, which take turns."""
    found: dict[str, list[list[float]]] = {kind: [] for kind in paths}
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(repetitions + 1):
        for kind, path in paths.items():
            program = TIMED + FIRST_PREDICTION[kind] + "\nprint(json.dumps(seconds))"
            command = [sys.executable, "-c", program, str(path), json.dumps(row.tolist())]
            start = time.perf_counter()
            printed = subprocess.run(command, check=True, capture_output=True, text=True, env=compiled).stdout
            seconds = json.loads(printed)
            seconds["whole process"] = time.perf_counter() - start
            found[kind].append([1e3 * seconds[part] for part in PARTS])
    return {  # without the first process of each kind, which finds cold files
        kind: [median(part) for part in zip(*times[1:], strict=True)] for kind, times in found.items()
    }


def one_by_one(predict: Callable[[Any], Any], X: Any) -> None:
    """Predict each row alone."""
    for i in range(len(X)):
        predict(X[i : i + 1])


def predictions_table(fitted: dict[str, Any], X: Any, repetitions: int) -> str:
    """Return a table with the times of first predictions and of predictions of single rows."""
    ours = next(iter(fitted.values()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        ours.save(path)
        paths = {NUMPY: path, PREDICTOR: path, ESTIMATOR: path}
        predict = {PREDICTOR: Predictor.load(path).predict_proba, ESTIMATOR: ours.predict_proba}
        if LIGHTGBM in fitted:
            booster = fitted[LIGHTGBM].booster_
            paths[LIGHTGBM] = Path(folder) / "booster"
            booster.save_model(paths[LIGHTGBM])
            predict[LIGHTGBM] = partial(booster.predict, num_threads=1)
        parts = first_predictions(paths, X[0], 2 * repetitions + 1)
    loops = medians({kind: partial(one_by_one, one, X) for kind, one in predict.items()}, repetitions)
    lines = [
        [
            kind,
            *(f"{part:.0f}" for part in times),
            f"{times[-1] / parts[NUMPY][-1]:.1f}",
            f"{1e6 * loops[kind] / len(X):.0f}" if kind in loops else "-",
        ]
        for kind, times in parts.items()
    ]
    head = ["", *(f"{part}, ms" for part in PARTS), "whole process, NumPy's = 1", "a row in a loop, microseconds"]
    return markdown_table(head, lines)


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
