"""Size of model files and accuracy by the type of the saved weights.

A model with all defaults is fitted once to half of Covtype and to MNIST, saved with each type of weights, loaded and
tested. Where `reproduction.datasets.load` does not find a dataset, it is left out.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import gcwsnet
from benchmarks.subject import Section, add_count, environment, markdown_table
from gcwsnet import GCWSNetClassifier
from gcwsnet.net._packed import WEIGHTS
from reproduction import datasets

NAMES = ("covtype", "mnist")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 1_000_000, "the most rows to learn from")


def run(options: argparse.Namespace) -> Section:
    """Fit, save in each type, load and test."""
    lines, left_out = [], []
    for name in NAMES:
        try:
            data = datasets.load(name)
        except FileNotFoundError:
            left_out.append(name)
            continue
        model = GCWSNetClassifier(random_state=0, n_jobs=-1)
        model.fit(data.X_train[: options.rows], data.y_train[: options.rows])
        before = model.predict(data.X_test)
        for weights in WEIGHTS:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.safetensors"
                model.save(path, weights=weights)
                n_bytes = path.stat().st_size
                after = gcwsnet.load(path).predict(data.X_test)
            accuracy, changed = 100 * np.mean(after == data.y_test), 100 * np.mean(after != before)
            lines.append([name, weights, f"{n_bytes / 1e6:.1f}", f"{accuracy:.2f}", f"{changed:.2f}"])
    text = markdown_table(["", "weights", "MB", "accuracy, %", "predictions that changed, %"], lines)
    return Section("\n".join([*environment(), *(f"Left out: {one}." for one in left_out), "", text]))
