"""Runs of the same net on rows of numbers: the original data, powers and logarithms of them, and Fourier features."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gcwsnet.fourier import RandomFourierFeatures
from gcwsnet.paper._data import rows_of
from gcwsnet.paper._gcws_runs import MOST_JUDGED
from gcwsnet.paper._settings import Settings, hidden_layers

Rows = NDArray[np.float32]


def run_original(settings: Settings, data: Any) -> dict[str, Any]:
    """Accuracies of the net on the original data, or on powers or logarithms of them."""
    train, test = (transformed(X, settings["transform"], settings["p"]) for X in (data.X_train, data.X_test))
    return learn(settings, train, data.y_train, test, data.y_test)


def run_nrff(settings: Settings, data: Any) -> dict[str, Any]:
    """Accuracies of the net on normalized random Fourier features."""
    names = ("dataset", "standardized", "k", "gamma", "seed")
    length = {"1": 1.0, "sqrt(k)": math.sqrt(settings["k"])}[settings["length"]]
    train, test = (np.float32(length) * rows for rows in _features(*(settings[name] for name in names)))
    return learn(settings, train, data.y_train, test, data.y_test)


@lru_cache(maxsize=1)
def _features(dataset: str, standardized: bool, k: int, gamma: float, seed: int) -> tuple[Rows, Rows]:
    data = rows_of({"dataset": dataset, "standardized": standardized})
    features = RandomFourierFeatures(k, gamma=gamma, random_state=seed).fit(data.X_train)
    return features.transform(data.X_train), features.transform(data.X_test)


def transformed(X: Rows, transform: str, p: float) -> Rows:
    """u^p or p log u of the sizes of the entries, with their signs; 0 stays 0. Computed in float32, as the net is."""
    X = np.asarray(X, np.float32)
    if transform == "none":
        return X
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        size = np.abs(X)
        if transform == "power":
            return np.sign(X) * size ** np.float32(p)
        return np.sign(X) * np.where(size > 0, np.float32(p) * np.log(size), np.float32(0))


def plain_net(n_columns: int, hidden: tuple[int, ...], n_classes: int) -> nn.Sequential:
    """Linear layers with ReLU between them, as torch begins them."""
    units = [n_columns, *hidden, n_classes]
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(units):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def percent_right(net: nn.Module, X: Tensor, y: Tensor, rows_at_once: int = 8192) -> float:
    """Accuracy; a row whose outputs are not numbers is wrong."""
    right = 0
    with torch.no_grad():
        for rows, labels in zip(X.split(rows_at_once), y.split(rows_at_once), strict=True):
            outputs = net(rows)
            valid = torch.isfinite(outputs).all(1)
            right += int(((outputs.argmax(1) == labels) & valid).sum())
    return 100 * right / len(y)


def learn(settings: Settings, X_train: Rows, y_train: Any, X_test: Rows, y_test: Any) -> dict[str, Any]:
    """Accuracies of a net on numbers: Adam with a constant rate, batches in random order."""
    torch.manual_seed(settings["seed"])
    classes, labels = np.unique(y_train, return_inverse=True)
    X, y = torch.from_numpy(X_train), torch.from_numpy(labels)
    held = torch.from_numpy(X_test), torch.from_numpy(np.searchsorted(classes, y_test))
    judged = tuple(part[:: -(-len(y_test) // MOST_JUDGED)] for part in held)
    net = plain_net(X.shape[1], hidden_layers(settings), len(classes))
    optimizer = torch.optim.Adam(net.parameters(), lr=settings["learning_rate"])
    reached: dict[str, Any] = {"epoch": [], "accuracy": [], "rows": len(judged[1])}
    n, checks = len(y), settings["checkpoints"]
    for epoch in range(settings["epochs"]):
        order = torch.from_numpy(np.random.default_rng([settings["seed"], epoch]).permutation(n))
        ends, done = [math.ceil((i + 1) * n / checks) for i in range(checks)], 0
        for batch in order.split(settings["batch"]):
            loss = nn.functional.cross_entropy(net(X[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += len(batch)
            if done >= ends[0]:
                ends = [end for end in ends if end > done]
                reached["epoch"].append(epoch + done / n)
                reached["accuracy"].append(percent_right(net, *judged))
    return {"accuracy": percent_right(net, *held), "curve": reached}
