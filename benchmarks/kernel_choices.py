"""Two choices about kernel machines, measured: alpha from a part of the rows, and ridge on codes.

The first is the alpha of 3,000 rows next to that of all of them. The second learns from one-hot codes by regularised
least squares with conjugate gradients, next to the defaults of the net and to a kernel machine on 8,000 of the rows.
Tables and Covtype are read from the folder that GCWSNET_DATA names.
"""

from __future__ import annotations

import argparse
import time
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.datasets import select, suite_datasets
from benchmarks.accuracy.metrics import classification_scores, regression_scores
from benchmarks.accuracy.split import Split, Task
from benchmarks.subject import Section, add_count, add_names, environment, log, markdown_table
from gcwsnet import GCWSHasher, GCWSNetClassifier, PGMMClassifier, PGMMRegressor, search
from gcwsnet.estimators._pgmm import fit_calibration

ROWS_OF_MACHINE, HELD_OUT = 8000, 2500
LARGE = {"covtype": (50_000, 20_000), "krkopt": (25_000, 3_000)}
"""Training rows and test rows of the tables on which ridge on codes is measured."""
STEPS = 40
PARTS = ("alpha", "hashed")


def scores_of(model: Any, task: Task, split: Split) -> dict[str, float]:
    """Return the scores of a fitted model on test rows."""
    if task == "regression":
        return regression_scores(split.y_test, model.predict(split.X_test))
    return classification_scores(np.searchsorted(model.classes_, split.y_test), model.predict_proba(split.X_test))


def alpha_rows(most_rows: int) -> list[list[str]]:
    """Return for each table of more than 3,000 rows the alpha of 3,000 rows, that of all rows, and their losses."""
    found = []
    for one in select(["tables"]):
        split = one.load(0)
        if not search.ROWS_FOR_ALPHA < len(split.y_train) <= most_rows:
            continue
        log(one.name)
        machine: Any = PGMMClassifier if one.task == "classification" else PGMMRegressor
        last = []
        for most in (search.ROWS_FOR_ALPHA, most_rows):
            with mock.patch.object(search, "MAX_ROWS_OF_ALL_ALPHAS", most):
                last.append(machine(random_state=0).fit(split.X_train, split.y_train).selection_[-1])
        more = 100 * (last[0].loss / last[1].loss - 1)
        cells = [f"{cell.alpha:g}" for cell in last] + [f"{more:.2f}%"]
        found.append([one.name, f"{len(split.y_train):,}", *cells])
    return found


def ridge_on_codes(F: Any, Y: NDArray[np.float32], alpha: float) -> NDArray[np.float32]:
    """Return the W with the least |F W - Y|**2 + alpha |W|**2, by conjugate gradients for each column of Y."""
    W, transposed = np.zeros((F.shape[1], Y.shape[1]), dtype=np.float32), F.T.tocsr()
    residual = transposed @ Y
    direction, square = residual.copy(), (residual**2).sum(axis=0)
    enough = 1e-6 * square
    for _ in range(STEPS):
        product = transposed @ (F @ direction) + np.float32(alpha) * direction
        step = square / np.maximum((direction * product).sum(axis=0), 1e-30)
        W += step * direction
        residual -= step * product
        before, square = square, (residual**2).sum(axis=0)
        if (square < enough).all():
            break
        direction = residual + (square / np.maximum(before, 1e-30)) * direction
    return W


def onehot(hasher: GCWSHasher, X: Any) -> Any:
    """Return one-hot codes whose inner product is the share of equal codes."""
    F = hasher.transform(np.ascontiguousarray(X)).astype(np.float32)
    F.data[:] = 1 / np.sqrt(hasher.n_hashes)
    return F


def hashed_rows(name: str) -> list[list[str]]:
    """Return the lines of one table: the net, the kernel machine on some rows, and ridge on codes."""
    whole = suite_datasets()[name].load(0)
    X = np.concatenate([whole.X_train, whole.X_test])
    y = np.concatenate([whole.y_train, whole.y_test])
    n_train, n_test = LARGE[name]
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    split = Split(X[train], y[train], X[test], y[test])
    found = []

    def add(what: str, seconds: float, scores: dict[str, float]) -> None:
        log(name, what, scores, f"{seconds:.1f} s")
        found.append([name, what, f"{scores['accuracy']:.1f}", f"{scores['log_loss']:.3f}", f"{seconds:.0f}"])

    start = time.process_time()
    net = GCWSNetClassifier(random_state=0).fit(split.X_train, split.y_train)
    add("GCWSNetClassifier", time.process_time() - start, scores_of(net, "classification", split))
    start = time.process_time()
    machine = PGMMClassifier(random_state=0).fit(split.X_train[:ROWS_OF_MACHINE], split.y_train[:ROWS_OF_MACHINE])
    add(
        f"PGMMClassifier, {ROWS_OF_MACHINE:,} rows",
        time.process_time() - start,
        scores_of(machine, "classification", split),
    )
    target = np.searchsorted(machine.classes_, split.y_train)
    n_classes = len(machine.classes_)
    Y = np.eye(n_classes, dtype=np.float32)[target]
    mean = Y.mean(axis=0)
    for n_hashes in (256, 1024):
        start = time.process_time()
        hasher = GCWSHasher(n_hashes, p=machine.p_, random_state=0, output="onehot")
        hasher.fit(machine.coder_.preprocess(split.X_train[:1]))
        F = onehot(hasher, machine.coder_.preprocess(split.X_train))
        hashing = time.process_time() - start
        for alpha in dict.fromkeys((machine.alpha_, 1.0)):
            start = time.process_time()
            W = ridge_on_codes(F[:-HELD_OUT], Y[:-HELD_OUT] - mean, alpha)
            scores = (F[-HELD_OUT:] @ W + mean).astype(np.float64)
            calibration = fit_calibration(scores, target[-HELD_OUT:], np.ones(HELD_OUT), n_classes)
            seconds = hashing + time.process_time() - start
            logits = calibration.logits(
                (onehot(hasher, machine.coder_.preprocess(split.X_test)) @ W + mean).astype(float)
            )
            shares = np.exp(logits - logits.max(axis=1, keepdims=True))
            known = np.searchsorted(machine.classes_, split.y_test)
            of_test = classification_scores(known, shares / shares.sum(axis=1, keepdims=True))
            add(f"ridge on {n_hashes:,} codes, alpha {alpha:g}", seconds, of_test)
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_names(parser, "--parts", PARTS, "only these parts")
    add_count(parser, "--most-rows", 10_000, "the most training rows of a table")


def run(options: argparse.Namespace) -> Section:
    """Measure these choices."""
    parts = options.parts or PARTS
    lines = environment(note=", one thread")
    if "alpha" in parts:
        head = ["table", "rows", "alpha of 3,000", "alpha of all", "more squared error"]
        lines += ["", "Alpha from a part of the rows:", "", markdown_table(head, alpha_rows(options.most_rows))]
    if "hashed" in parts:
        head = ["rows", "model", "accuracy", "log loss", "processor, s"]
        table = markdown_table(head, [row for name in LARGE for row in hashed_rows(name)], "ll")
        lines += [
            "",
            "Many rows; ridge on codes has the preprocessing and p of the kernel machine beside it:",
            "",
            table,
        ]
    return Section("\n".join(lines))
