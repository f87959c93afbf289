"""Accuracy and log loss of GCWSNet with early stopping, next to all of the epochs and to the default."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.accuracy.datasets import select
from benchmarks.subject import Section, add_count, add_names, environment, log, markdown_table
from gcwsnet import GCWSNetClassifier

DATASETS = ["iris", "wine", "breast_cancer", "vehicle", "german", "yeast", "digits"]
WAYS: dict[str, dict[str, Any]] = {
    "{epochs} epochs": {},
    "early stopping": {"early_stopping": True},
    "the default": {"epochs": "auto"},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--epochs", 20, "the most epochs")
    add_count(parser, "--seeds", 3, "the splits of each dataset")
    add_names(parser, "--datasets", DATASETS, "datasets or groups of the suite")


def _scores(way: dict[str, Any], rows: tuple[Any, ...], seed: int) -> tuple[float, float, int]:
    """Return the accuracy in percent, the log loss, and the epochs."""
    X, y, X_test, y_test = rows
    model = GCWSNetClassifier(random_state=seed, n_jobs=1, **way).fit(X, y)
    probability = model.predict_proba(X_test)
    accuracy = 100 * float((model.classes_[probability.argmax(axis=1)] == y_test).mean())
    return accuracy, log_loss(y_test, probability, labels=model.classes_), model.n_epochs_seen_


def run(options: argparse.Namespace) -> Section:
    """Compare the ways on all classifications that are selected."""
    ways = {name.format(epochs=options.epochs): {"epochs": options.epochs} | way for name, way in WAYS.items()}
    table, means = [], []
    for one in select(options.datasets or DATASETS):
        if one.task == "regression" or one.held_out:
            continue
        try:
            splits = [one.load(seed) for seed in range(options.seeds)]
        except (FileNotFoundError, ModuleNotFoundError) as error:
            log(f"{one.name} is left out: {error}")
            continue
        found = [[_scores(way, rows, seed) for seed, rows in enumerate(splits)] for way in ways.values()]
        means.append(np.mean(found, axis=1))
        cells = [f"{accuracy:.1f}, {loss:.3f}" for accuracy, loss, _ in means[-1]]
        table.append([one.name, f"{len(splits[0][1]):,}", *cells, f"{means[-1][1][2]:.0f}"])
        log(" | ".join(table[-1]))
    accuracy, loss = np.array(means)[:, :, 0], np.array(means)[:, :, 1]
    better = (accuracy[:, 1] >= accuracy[:, 0]).sum(), (loss[:, 1] <= loss[:, 0]).sum()
    note = (
        f"Accuracy in percent and log loss, means of {options.seeds} splits. Early stopping against all epochs: "
        f"accuracy {(accuracy[:, 1] - accuracy[:, 0]).mean():+.2f} points, at least as good on {better[0]} of "
        f"{len(means)}; log loss {(loss[:, 1] - loss[:, 0]).mean():+.3f}, at least as good on {better[1]} of "
        f"{len(means)}."
    )
    head = ["rows", "train", *ways, "epochs taken by early stopping"]
    return Section("\n".join([*environment("scikit-learn"), "", note, "", markdown_table(head, table, align="lr")]))
