"""Runs with GCWS on the output of the hidden layer of a net, while that net is trained on the original data."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gcwsnet.nn import GCWSLayer, LazyAdam
from gcwsnet.paper._plain_runs import percent_right, plain_net
from gcwsnet.paper._settings import Settings, hidden_layers


def run_last_layer(settings: Settings, data: Any) -> dict[str, Any]:
    """Accuracies of a net and of GCWS on its hidden layer, after batches of the first epoch.

    Each time a new logistic regression learns in one epoch from the codes of all rows for training. The net never
    learns anything of it.
    """
    seed, size = settings["seed"], settings["batch"]
    torch.manual_seed(seed)
    classes, labels = np.unique(data.y_train, return_inverse=True)
    X, y = torch.from_numpy(data.X_train), torch.from_numpy(labels)
    held = torch.from_numpy(data.X_test), torch.from_numpy(np.searchsorted(classes, data.y_test))
    net = plain_net(X.shape[1], hidden_layers(settings), len(classes))
    optimizer = torch.optim.Adam(net.parameters(), lr=settings["learning_rate"])
    order = torch.from_numpy(np.random.default_rng([seed, 0]).permutation(len(y)))
    curve: dict[str, list[float]] = {"epoch": [], "batch": [], "net": [], "gcws": []}
    batches = order.split(size)
    for number, batch in enumerate(batches, start=1):
        loss = nn.functional.cross_entropy(net(X[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number == 1 or number == len(batches) or number % settings["every"] == 0:
            curve["epoch"].append(min(number * size, len(y)) / len(y))
            curve["batch"].append(number)
            curve["net"].append(percent_right(net, *held))
            with torch.random.fork_rng(devices=[]):
                curve["gcws"].append(_on_hidden_layer(settings, net, (X, y), held, order))
    return {"accuracy": curve["gcws"][-1], "curve": {**curve, "accuracy": curve["gcws"], "rows": len(held[1])}}


def _on_hidden_layer(
    settings: Settings, net: nn.Sequential, train: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor], order: Tensor
) -> float:
    """Accuracy of a logistic regression on the codes of what the hidden layer gives."""
    hidden = net[:-1]
    n_classes = net[-1].out_features
    layer = GCWSLayer(
        settings["H"],
        n_classes,
        settings["k"],
        bits=settings["b"],
        p=settings["p"],
        t_bits=0,
        encoding="lowbits",
        seed=settings["seed"],
    )
    with torch.no_grad():
        codes, judged = (layer.codes(hidden(X)) for X in (train[0], test[0]))
    optimizer = LazyAdam(layer.linear.parameters(), lr=settings["learning_rate"])
    for batch in order.split(settings["batch"]):
        loss = nn.functional.cross_entropy(layer.linear(codes[batch]), train[1][batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return percent_right(layer.linear, judged, test[1])
