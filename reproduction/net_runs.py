"""Runs of nets: GCWSNet, the same net on rows of numbers, and GCWS on the hidden layer of a net."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import normalize
from torch import Tensor, nn

from benchmarks.timing import medians
from gcwsnet import GCWSHasher, GCWSNetClassifier, RandomFourierFeatures
from gcwsnet._core import Net as CoreNet
from gcwsnet.nn import GCWSLayer, HashedLinear, LazyAdam
from reproduction.experiment_data import length_one_on_average, load_rows, subsample_test_rows
from reproduction.settings import Settings, gcws, hidden_layers, with_our_defaults

Floats = NDArray[np.float32]
TIMED = 201
CURVE_ROWS = 10_000
"""The most test rows on which accuracies along the epochs are measured; the last one is measured on all rows."""


def run_gcws(settings: Settings, data: Any) -> dict[str, Any]:
    """Return the accuracies of a GCWSNet: Adam with a constant rate, batches in random order."""
    if "weights" in settings:
        return _run_gcws_as_in_paper(settings, data)
    net = _gcws_net(settings)
    eval_set = subsample_test_rows(data.X_test, data.y_test, CURVE_ROWS)
    net.fit(data.X_train, data.y_train, eval_set=eval_set)
    accuracies = [100 * share for share in net.history_["eval_accuracy"]]
    all_rows = len(eval_set[1]) == len(data.y_test)
    return {
        "accuracy": accuracies[-1] if all_rows else 100 * float(net.score(data.X_test, data.y_test)),
        "curve": {"epoch": net.history_["epoch"], "accuracy": accuracies, "rows": len(eval_set[1])},
    }


def _gcws_net(settings: Settings) -> GCWSNetClassifier:
    """Return a GCWSNet that is not trained yet, with one thread."""
    return GCWSNetClassifier(
        settings["k"],
        bits=settings["b"],
        t_bits=settings["t_bits"],
        encoding=settings["encoding"],
        p=settings["p"],
        scale=None,
        relevance=0.0,
        search="off",
        hidden=hidden_layers(settings),
        reduction=None if settings["m"] == 1 else settings["m"],
        epochs=settings["epochs"],
        batch_size=settings["batch"],
        learning_rate=settings["learning_rate"],
        schedule="constant",
        optimizer=settings["optimizer"],
        betas=(0.9, 0.999),
        records=settings["checkpoints"],
        random_state=settings["seed"],
        n_jobs=1,
    )


def _run_gcws_as_in_paper(settings: Settings, data: Any) -> dict[str, Any]:
    """Return the accuracies of a GCWSNet with Xavier's weights and Adam on all rows of the table."""
    hasher = GCWSHasher(
        settings["k"],
        bits=settings["b"],
        t_bits=settings["t_bits"],
        encoding=settings["encoding"],
        p=settings["p"],
        random_state=settings["seed"],
        n_jobs=1,
    ).fit(data.X_train)
    codes, test_codes = (hasher.transform(X) for X in (data.X_train, data.X_test))
    classes, labels = np.unique(data.y_train, return_inverse=True)
    net = CoreNet(
        settings["k"],
        settings["b"] + settings["t_bits"],
        hidden_layers(settings),
        len(classes),
        reduction=settings["m"],
        seed=settings["seed"],
        initialize=False,
    )
    torch.manual_seed(settings["seed"])
    units = (*hidden_layers(settings), len(classes))
    layers = [HashedLinear(settings["k"], net.bits, units[0], reduction=settings["m"]), *plain_net(*units)]
    layers = [layer for layer in layers if not isinstance(layer, nn.ReLU)]
    tables = [weights for name, weights in net.weights().items() if name.endswith(".weight")]  # biases are zero
    for layer, weights in zip(_with_xavier_weights(layers), tables, strict=True):
        weights[:] = layer.weight.detach().numpy()
    y, y_test = labels.astype(np.int64), np.searchsorted(classes, data.y_test)

    def learn(rows: NDArray[np.int64]) -> None:
        n_steps = -(-len(rows) // settings["batch"])
        net.train(
            codes,
            y,
            order=rows,
            batch_size=settings["batch"],
            rates=np.full(n_steps, settings["learning_rate"]),
            losses=np.empty(n_steps),
            successes=np.empty(n_steps),
            betas=(0.9, 0.999),
            lazy=False,
        )

    def accuracy(codes: NDArray[Any], labels: NDArray[Any]) -> float:
        return 100 * float(np.mean(net.outputs(np.ascontiguousarray(codes)).argmax(axis=1) == labels))

    return train_with_checkpoints(settings, len(y), learn, accuracy, test_codes, y_test)


def run_original(settings: Settings, data: Any) -> dict[str, Any]:
    """Return the accuracies of the net on the original data, or on powers or logarithms of them."""
    train, test = (power_or_log(X, settings["transform"], settings["p"]) for X in (data.X_train, data.X_test))
    return train_plain_net(settings, train, data.y_train, test, data.y_test)


def run_nrff(settings: Settings, data: Any) -> dict[str, Any]:
    """Return the accuracies of the net on normalized random Fourier features."""
    names = ("dataset", "standardized", "k", "gamma", "seed")
    length = {"1": 1.0, "sqrt(k)": math.sqrt(settings["k"])}[settings["length"]]
    features = _features(*(settings[name] for name in names), settings.get("rows", "unit"))
    train, test = (np.float32(length) * rows for rows in features)
    return train_plain_net(settings, train, data.y_train, test, data.y_test)


@lru_cache(maxsize=1)
def _features(dataset: str, standardized: bool, k: int, gamma: float, seed: int, rows: str) -> tuple[Floats, Floats]:
    data = load_rows({"dataset": dataset, "standardized": standardized})
    X, Y = data.X_train, data.X_test
    if rows == "unit":
        features = RandomFourierFeatures(k, gamma=gamma, random_state=seed).fit(X)
        return features.transform(X), features.transform(Y)
    X, Y = length_one_on_average(X.astype(np.float64), Y.astype(np.float64))
    sampler = RBFSampler(gamma=gamma / 2, n_components=k, random_state=seed).fit(X)
    train, test = (normalize(sampler.transform(some)).astype(np.float32) for some in (X, Y))
    return train, test


def power_or_log(X: Floats, transform: str, p: float) -> Floats:
    """Return u^p or p log u of absolute entries, with their signs; 0 stays 0. All is in float32, as the net is."""
    X = np.asarray(X, np.float32)
    if transform == "none":
        return X
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        size = np.abs(X)
        if transform == "power":
            return np.sign(X) * size ** np.float32(p)
        return np.sign(X) * np.where(size > 0, np.float32(p) * np.log(size), np.float32(0))


def _with_xavier_weights(layers: Iterable[Any]) -> list[Any]:
    """Return layers that start with Xavier's uniform weights and biases of zero, as those of PaddlePaddle do."""
    for layer in layers:
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    return list(layers)


def plain_net(*units: int) -> nn.Sequential:
    """Return linear layers with ReLU between them, as torch initializes them."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(units):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def accuracy_percent(net: nn.Module, X: Tensor, y: Tensor, rows_at_once: int = 8192) -> float:
    """Return the accuracy in percent; a row whose outputs are not finite counts as wrong."""
    right = 0
    with torch.no_grad():
        for rows, labels in zip(X.split(rows_at_once), y.split(rows_at_once), strict=True):
            outputs = net(rows)
            valid = torch.isfinite(outputs).all(1)
            right += int(((outputs.argmax(1) == labels) & valid).sum())
    return 100 * right / len(y)


def _step(net: nn.Module, optimizer: torch.optim.Optimizer, X: Tensor, y: Tensor) -> None:
    """Let a net learn from one batch."""
    loss = nn.functional.cross_entropy(net(X), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train_plain_net(settings: Settings, X_train: Floats, y_train: Any, X_test: Floats, y_test: Any) -> dict[str, Any]:
    """Return the accuracies of a net on numbers: Adam with a constant rate, batches in random order."""
    classes, labels = np.unique(y_train, return_inverse=True)
    torch.manual_seed(settings["seed"])
    net = plain_net(X_train.shape[1], *hidden_layers(settings), len(classes))
    if "weights" in settings:
        _with_xavier_weights(net[::2])
    optimizer = torch.optim.Adam(net.parameters(), lr=settings["learning_rate"])
    X, y = torch.from_numpy(X_train), torch.from_numpy(labels)
    test = torch.from_numpy(X_test), torch.from_numpy(np.searchsorted(classes, y_test))

    def learn(rows: NDArray[np.int64]) -> None:
        for batch in torch.from_numpy(rows).split(settings["batch"]):
            _step(net, optimizer, X[batch], y[batch])

    return train_with_checkpoints(settings, len(y), learn, partial(accuracy_percent, net), *test)


def train_with_checkpoints(
    settings: Settings,
    n: int,
    learn: Callable[[NDArray[np.int64]], None],
    accuracy: Callable[[Any, Any], float],
    X_test: Any,
    y_test: Any,
) -> dict[str, Any]:
    """Return the accuracies of a net along its epochs; it learns from rows that are numbered in random order."""
    checked = subsample_test_rows(X_test, y_test, CURVE_ROWS)
    curve: dict[str, Any] = {"epoch": [], "accuracy": [], "rows": len(checked[1])}
    checks, size = settings["checkpoints"], settings["batch"]
    ends = sorted({min(-(-math.ceil((i + 1) * n / checks) // size) * size, n) for i in range(checks)})
    for epoch in range(settings["epochs"]):
        order = np.random.default_rng([settings["seed"], epoch]).permutation(n)
        for start, end in pairwise([0, *ends]):
            learn(order[start:end])
            curve["epoch"].append(epoch + end / n)
            curve["accuracy"].append(accuracy(*checked))
    return {"accuracy": accuracy(X_test, y_test), "curve": curve}


def run_last_layer(settings: Settings, data: Any) -> dict[str, Any]:
    """Return the accuracies of a net and of GCWS on its hidden layer, after its first batch and some of the others.

    Each time a new logistic regression learns in one epoch from the codes of all training rows. It does not change
    the net.
    """
    seed, size = settings["seed"], settings["batch"]
    torch.manual_seed(seed)
    classes, labels = np.unique(data.y_train, return_inverse=True)
    X, y = torch.from_numpy(data.X_train), torch.from_numpy(labels)
    test = torch.from_numpy(data.X_test), torch.from_numpy(np.searchsorted(classes, data.y_test))
    net = plain_net(X.shape[1], *hidden_layers(settings), len(classes))
    optimizer = torch.optim.Adam(net.parameters(), lr=settings["learning_rate"])
    orders = [
        torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(len(y)))
        for epoch in range(settings["epochs"])
    ]
    curve: dict[str, list[float]] = {"epoch": [], "batch": [], "net": [], "gcws": []}
    batches = [(epoch, batch) for epoch, order in enumerate(orders) for batch in order.split(size)]
    each = len(batches) // len(orders)
    for number, (epoch, batch) in enumerate(batches, start=1):
        _step(net, optimizer, X[batch], y[batch])
        if number == 1 or number == len(batches) or number % settings["every"] == 0:
            curve["epoch"].append(epoch + min((number - epoch * each) * size, len(y)) / len(y))
            curve["batch"].append(number)
            curve["net"].append(accuracy_percent(net, *test))
            with torch.random.fork_rng(devices=[]):
                curve["gcws"].append(_on_hidden_layer(settings, net, (X, y), test, orders[0]))
    return {"accuracy": curve["gcws"][-1], "curve": {**curve, "accuracy": curve["gcws"], "rows": len(test[1])}}


def run_first_layer(settings: Settings, data: Any) -> dict[str, Any]:
    """Return the median seconds that the first layer of a net takes for a batch: of numbers, and of codes.

    Numbers are multiplied by the weights of `torch.nn.Linear`. For codes, rows of the table of
    `gcwsnet.nn.HashedLinear` are added. Hashing, which a row needs once however often it is learned, is timed apart.
    """
    rows = np.ascontiguousarray(data.X_train[: settings["batch"]], np.float32)
    layer = GCWSLayer(
        rows.shape[1], settings["H"], settings["k"], bits=settings["b"], p=settings["p"], t_bits=0, seed=0
    )
    dense, X = nn.Linear(rows.shape[1], settings["H"]), torch.from_numpy(rows)
    codes = layer.codes(X)
    with torch.no_grad():
        return medians(
            {"numbers": lambda: dense(X), "codes": lambda: layer.linear(codes), "hashing": lambda: layer.codes(X)},
            TIMED,
        )


def run_training_time(settings: Settings, data: Any) -> dict[str, Any]:
    """Return the median seconds of an epoch of GCWSNet, without hashing: one row for each k, one column for each b.

    All nets take turns, so that a slow moment of the machine does not meet one of them alone.
    """
    times: dict[tuple[int, int], list[float]] = {(k, b): [] for k in settings["k"] for b in settings["b"]}
    for _ in range(settings["turns"]):
        for k, b in times:
            one = gcws(settings["dataset"], k=k, b=b, L=settings["L"], H=settings["H"], epochs=settings["epochs"])
            net = _gcws_net(with_our_defaults(one)).fit(data.X_train, data.y_train)
            times[k, b] += np.diff(net.history_["seconds"]).tolist()
    return {"seconds": [[median(times[k, b]) for b in settings["b"]] for k in settings["k"]]}


def _on_hidden_layer(
    settings: Settings, net: nn.Sequential, train: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor], order: Tensor
) -> float:
    """Return the accuracy of a logistic regression on the codes of the output of the hidden layer."""
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
        codes, test_codes = (layer.codes(hidden(X)) for X in (train[0], test[0]))
    optimizer = LazyAdam(layer.linear.parameters(), lr=settings["learning_rate"])
    for batch in order.split(settings["batch"]):
        _step(layer.linear, optimizer, codes[batch], train[1][batch])
    return accuracy_percent(layer.linear, test_codes, test[1])
