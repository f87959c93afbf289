"""Settings: all that one run depends on, as a dict that goes into JSON; one point of a grid of the paper."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

Settings = dict[str, Any]

STANDARDIZED = ("covtype", "covtype-authors")
"""Datasets whose numeric columns are standardized before anything else, for all methods."""

BATCH = {"covtype": 128, "covtype-authors": 128}
"""Rows in a batch, where they are not 32 (section 2 of the paper)."""

RATE = 0.001
"""The learning rate of Adam (section 2 of the paper)."""

H = 200
"""The default number of hidden units: the one that the text names for Covtype."""

TIMED_EPOCHS = 11
"""The epochs of a training whose times are taken; the first one does not count."""


def _net(dataset: str, L: int, hidden: int, epochs: int, seed: int) -> Settings:
    """Return the settings that nets on hashes and nets on numbers share; L = 1 has no hidden units."""
    return {
        "dataset": dataset,
        "standardized": dataset in STANDARDIZED,
        "L": L,
        "H": hidden if L > 1 else 0,
        "epochs": epochs,
        "checkpoints": 10 if epochs <= 5 else 1,
        "batch": BATCH.get(dataset, 32),
        "learning_rate": RATE,
        "seed": seed,
    }


def gcws(
    dataset: str,
    *,
    k: int,
    b: int,
    L: int,
    p: float = 1.0,
    H: int = H,
    t_bits: int = 0,
    m: int = 1,
    epochs: int = 1,
    rate: float = RATE,
    draw: int = 0,
    seed: int = 0,
) -> Settings:
    """Return settings of GCWSNet: the low b bits of i*, `t_bits` bits of t*, and a count-sketch that reduces by m.

    A rebuilt dataset has a `draw`, the seed of its rows.
    """
    hashing = {"p": float(p), "k": k, "b": b, "t_bits": t_bits, "m": m, "encoding": "lowbits", "optimizer": "adam"}
    net = {"method": "gcws", **hashing, **_net(dataset, L, H, epochs, seed), "learning_rate": rate}
    return {**net, **PADDLE, **_drawn(draw)}


PADDLE = {"weights": "xavier"}
"""The initial weights of all nets, in PaddlePaddle and so in the paper; their optimizer is plain Adam."""


def with_our_defaults(settings: Settings) -> Settings:
    """Return settings of the same run with this package's initial weights and lazy Adam, or torch's weights."""
    ours = {name: value for name, value in settings.items() if name != "weights"}
    return {**ours, "optimizer": "lazy"} if "weights" in settings and "optimizer" in settings else ours


def original(
    dataset: str,
    *,
    L: int,
    transform: str = "none",
    p: float = 1.0,
    H: int = H,
    epochs: int = 1,
    draw: int = 0,
    seed: int = 0,
) -> Settings:
    """Return settings of the net on the original data, with `transform` "none", "power" (u^p) or "log" (p log u)."""
    net = {"method": "original", "transform": transform, "p": float(p), **_net(dataset, L, H, epochs, seed)}
    return {**net, **PADDLE, **_drawn(draw)}


def _drawn(draw: int) -> Settings:
    """Return the setting of a draw; the first one is the dataset as it is loaded, and has none."""
    return {"draw": draw} if draw else {}


def nrff(
    dataset: str,
    *,
    k: int,
    gamma: float,
    L: int,
    length: str = "1",
    rows: str = "unit",
    H: int = H,
    epochs: int = 1,
    seed: int = 0,
) -> Settings:
    """Return settings of the net on k normalized random Fourier features, of length "1" or "sqrt(k)".

    The rows of the data are of length 1 ("unit"), or divided by one number ("scaled").
    """
    features = {"k": k, "gamma": float(gamma), "length": length, **({} if rows == "unit" else {"rows": rows})}
    return {"method": "nrff", **features, **_net(dataset, L, H, epochs, seed), **PADDLE}


def last_layer(dataset: str, *, k: int, b: int, H: int, every: int, epochs: int = 1, seed: int = 0) -> Settings:
    """Return settings of GCWS on the hidden layer of a net, after its first batch and each `every`-th one."""
    return {"method": "last-layer", "k": k, "b": b, "p": 1.0, "every": every, **_net(dataset, 2, H, epochs, seed)}


def clusters(dataset: str, *, rows: str, k: int = 0, p: float = 1.0, seed: int = 0) -> Settings:
    """Return settings of k-means on the original rows ("original"), or on the one-hot vectors of k codes ("codes")."""
    hashing = {"k": k, "b": 8, "p": float(p)} if rows == "codes" else {}
    return {"method": "clusters", "dataset": dataset, "standardized": False, "rows": rows, **hashing, "seed": seed}


def regression(*, rows: str, k: int = 0, p: float = 1.0, seed: int = 0) -> Settings:
    """Return settings of a ridge regression on the original rows, or on the one-hot vectors of k codes."""
    return {**clusters("diabetes", rows=rows, k=k, p=p, seed=seed), "method": "regression", "standardized": True}


def first_layer(dataset: str, *, k: int, b: int = 8, H: int = H, rows: int = 32) -> Settings:
    """Return settings of the time of a first layer for a batch of rows: of numbers, and of k codes."""
    sizes = {"k": k, "b": b, "p": 1.0, "H": H, "batch": rows}
    return {"method": "first-layer", "dataset": dataset, "standardized": dataset in STANDARDIZED, **sizes, "seed": 0}


def training_time(dataset: str, *, k: Sequence[int], b: Sequence[int], L: int, H: int = H) -> Settings:
    """Return settings of the time that an epoch of GCWSNet takes with each k and each b."""
    net = {**_net(dataset, L, H, TIMED_EPOCHS, 0), "k": list(k), "b": list(b)}
    return {"method": "training-time", **net, "turns": 3}


def svm(dataset: str, *, kernel: str, C: Sequence[float], parameter: float | None = None) -> Settings:
    """Return settings of support vector machines with one kernel and several C.

    The kernel is "linear", "pgmm" with p as its parameter, or with gamma as its parameter "rbf" (rows of length 1) or
    "rbf-scaled" (rows of length 1 on average).
    """
    return {
        "method": "svm",
        "dataset": dataset,
        "standardized": dataset in STANDARDIZED,
        "kernel": kernel,
        "parameter": parameter,
        "C": [float(c) for c in C],
    }


def zero_bit(dataset: str, *, p: float, k: int, pairs: int, seed: int = 0) -> Settings:
    """Return settings of pairs of rows whose k hashes are compared with the exact kernel."""
    rows = {"dataset": dataset, "standardized": dataset in STANDARDIZED, "pairs": pairs}
    return {"method": "zero-bit", **rows, "p": float(p), "k": k, "seed": seed}


def pattern(dataset: str, entries: str) -> Settings:
    """Return settings of the best guess from nothing but which entries of a row are "largest", or "nonzero"."""
    return {"method": "pattern", "dataset": dataset, "standardized": dataset in STANDARDIZED, "entries": entries}


def theorem(name: str, *, size: int, seed: int = 0) -> Settings:
    """Return settings of the simulation of a theorem."""
    return {"method": "theorem", "name": name, "size": size, "seed": seed}


def hidden_layers(settings: Settings) -> tuple[int, ...]:
    """Return the units of the L - 1 hidden layers: H, H / 2, H / 4 and so on."""
    return tuple(settings["H"] >> layer for layer in range(settings["L"] - 1))


def key(settings: Settings) -> str:
    """Return a name that no other settings have.

    Examples
    --------
    >>> from reproduction.settings import gcws, key
    >>> key(gcws("semg", k=64, b=8, L=1))
    'gcws-semg-f1734e6d0ca8b5c3'
    """
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    what = settings.get("dataset", settings.get("name"))
    return f"{settings['method']}-{what}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


SEEDED = ("gcws", "original", "nrff", "last-layer", "clusters", "regression")
"""Methods whose runs may be repeated with other seeds: of hashes, of initial weights, of the order of rows."""


def with_seeds(grid: Sequence[Settings], seeds: int) -> list[Settings]:
    """Return a grid whose nets are trained with the seeds 0 to `seeds` - 1, one seed after the other."""
    return [
        {**settings, "seed": seed} if settings["method"] in SEEDED else settings
        for seed in range(seeds)
        for settings in grid
        if seed == 0 or settings["method"] in SEEDED
    ]


def key_of_all_seeds(settings: Settings) -> str:
    """Return the key of the first of the runs that differ from these settings in nothing but the seed."""
    return key({**settings, "seed": 0} if settings["method"] in SEEDED else settings)


def describe(settings: Settings) -> str:
    """Return the settings in one line, without those that are always the same."""
    hidden = {"method", "dataset", "name", "standardized", "checkpoints", "encoding", "optimizer", "weights"}
    defaults = {
        "learning_rate": RATE,
        "t_bits": 0,
        "m": 1,
        "seed": 0,
        "draw": 0,
        "transform": "none",
        "p": 1.0,
        "parameter": None,
        "length": "1",
        "batch": 32,
        "H": 0,
    }
    numbers = [
        f"{name}={_number(value)}"
        for name, value in settings.items()
        if name not in hidden and defaults.get(name, ...) != value
    ]
    return " ".join([settings["method"], str(settings.get("dataset", settings.get("name"))), *numbers])


def _number(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_number, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
