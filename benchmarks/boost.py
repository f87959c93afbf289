"""Accuracy of a net in training, and with a last layer on codes, along all epochs.

On DailySports, as in Figure 17 of the paper: a net with one hidden layer is trained on the numbers as they are, by
Adam. After 1, 2, 4, 8, ... batches and at the end of epochs `gcwsnet.nn.boost` learns a new last layer from all
rows for training, in one pass, and measures both on the rows for testing.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from benchmarks.subject import Section, add_count, environment, log, markdown_table, save_svg
from reproduction import datasets

UNITS = (200, 400)
BATCH, RATE = 32, 1e-3
ENDS = (1, 2, 3, 5, 8, 12, 20, 30, 40, 60, 80, 100)
"""The epochs after which nets are measured, beside the last one."""


class Record(NamedTuple):
    """The accuracies of a net and of the boosted one, in percent, after some batches."""

    epoch: float
    batch: float
    net: float
    boosted: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--epochs", 40, "the epochs of the net")
    add_count(parser, "--seeds", 1, "the seeds that accuracies are means over")


def run(options: argparse.Namespace) -> Section:
    """Train nets of both sizes."""
    data = datasets.load("dailysports")
    histories, tables = {}, []
    for units in UNITS:
        runs = [measure(data, units, options.epochs, seed) for seed in range(options.seeds)]
        histories[units] = [Record(*np.mean(records, axis=0).tolist()) for records in zip(*runs, strict=True)]
        lines = [
            [f"{one.epoch:.2f}", f"{one.batch:.0f}", f"{one.net:.1f}", f"{one.boosted:.1f}"] for one in histories[units]
        ]
        head = ["epoch", "batches", f"the net, H = {units}, %", "boosted, %"]
        tables.append(markdown_table(head, lines, "rr"))
    n_train, n_columns = data.X_train.shape
    about = (
        f"DailySports: {n_train} rows of {n_columns} numbers for training, {len(data.y_test)} for testing; batches of "
        f"{BATCH}, Adam with the rate {RATE}; k = 256, b = 8, p = 1; number of seeds: {options.seeds}."
    )
    text = "\n\n".join([" ".join(environment("torch")), about, *tables])
    return Section(text, {"images/boost.svg": partial(draw, histories)})


def draw(histories: dict[int, list[Record]], path: Path) -> None:
    """Draw the accuracies against the batches so far, as Figure 17 of the paper does."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    for axes, (units, records) in zip(figure.subplots(1, len(histories), sharey=True), histories.items(), strict=True):
        batches = [one.batch for one in records]
        axes.plot(batches, [one.boosted for one in records], "r-o", markersize=3, label="boosted")
        axes.plot(batches, [one.net for one in records], "k--s", markersize=3, label="the net")
        axes.set(title=f"DailySports, H = {units}", xscale="log", xlabel="batches of 32 rows", ylim=(0, 101))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("accuracy, %")
    figure.axes[0].legend(loc="lower right")
    save_svg(figure, path)


def measure(data: Any, units: int, epochs: int, seed: int) -> list[Record]:
    """Return the history of a training."""
    import torch
    from torch import nn

    from gcwsnet.nn import boost

    torch.manual_seed(seed)
    classes, labels = np.unique(data.y_train, return_inverse=True)
    X, y = torch.from_numpy(np.asarray(data.X_train, dtype=np.float32)), torch.from_numpy(labels)
    X_test = torch.from_numpy(np.asarray(data.X_test, dtype=np.float32))
    y_test = torch.from_numpy(np.searchsorted(classes, data.y_test))
    net = nn.Sequential(nn.Linear(X.shape[1], units), nn.ReLU(), nn.Linear(units, len(classes)))
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    order = torch.randperm(len(y))
    loader = list(zip(X[order].split(1024), y[order].split(1024), strict=True))
    n_batches = -(-len(y) // BATCH)
    ends = {n_batches * share for share in ENDS if share <= epochs}
    looks = {2**i for i in range(n_batches.bit_length()) if 2**i < n_batches} | ends | {n_batches * epochs}
    found, batch = [], 0
    for epoch in range(epochs):
        for rows in torch.randperm(len(y)).split(BATCH):
            nn.functional.cross_entropy(net(X[rows]), y[rows]).backward()
            optimizer.step()
            optimizer.zero_grad()
            batch += 1
            if batch in looks:
                with torch.no_grad():
                    found_now = [
                        100 * float((one(X_test).argmax(1) == y_test).float().mean())
                        for one in (net, boost(net, loader, seed=seed))
                    ]
                found.append(Record(batch / n_batches, batch, *found_now))
                log(f"H = {units}, epoch {epoch}, batch {batch}: {found_now[0]:.1f} {found_now[1]:.1f}")
    return found
