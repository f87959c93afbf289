"""Where the time of a fit goes, and how near its memory traffic is to that of a copy.

A fit on half of Covtype, without a search for settings, in batches of 32 and of 128, on one thread and on two. Its
parts are timed while it runs. All take turns, and medians count. So are the parts of fits with default settings of
fewer rows, in processor time on one thread, next to LightGBM's.

A step reads each row of the table that its batch picks for the outputs, and reads and writes that row and its second
moments for Adam: five times the bytes of these rows at least. They are set against the bytes that copying a large array
reads and writes in the same time. Rows that one batch after the other picks stay in the cache, so that steps can be
faster than a copy.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import copies_per_second, n_cores
from benchmarks.training import BATCHES, NO_SEARCH, covtype_or_generated, lightgbm_classifier
from gcwsnet import GCWSNetClassifier, search
from gcwsnet.estimators._gcwsnet import BaseGCWSNet
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.net._net import Net
from gcwsnet.tables._coder import Coder

PARTS = {
    "training steps": (Net, "train"),
    "hashing": (Hasher, "codes"),
    "scaling rows": (Coder, "preprocess"),
    "learning the scaling": (search, "fit_preprocessing"),
}
PARTS_OF_A_DEFAULT_FIT = {
    "search by the kernel": (search.KernelSearch, "best_points"),
    "search by small nets": (search._NetSearch, "outcome"),
    "hashing and training": (BaseGCWSNet, "_run"),
}
HAS_LIGHTGBM = find_spec("lightgbm") is not None
ROWS_OF_DEFAULT_FITS = (300, 1000, 3000, 10_000, 30_000, 100_000)
ROWS_READ_AND_WRITTEN = 5  # of weights: read for outputs, read and written by Adam; of second moments: read and written


@contextmanager
def timed(where: Any, name: str, seconds: dict[str, float], part: str, clock: Any) -> Iterator[None]:
    """Add the time of all calls of a function to a part."""
    function = getattr(where, name)

    def call(*arguments: Any, **named: Any) -> Any:
        start = clock()
        try:
            return function(*arguments, **named)
        finally:
            seconds[part] += clock() - start

    setattr(where, name, call)
    try:
        yield
    finally:
        setattr(where, name, function)


def seconds_of_parts(
    model: Any, X: Any, y: Any, parts: dict[str, tuple[Any, str]], clock: Any = time.perf_counter
) -> dict[str, float]:
    """Return the seconds of each part of a fit, of all others together, and of the whole."""
    seconds = dict.fromkeys(parts, 0.0)
    with ExitStack() as stack:
        for part, (where, name) in parts.items():
            stack.enter_context(timed(where, name, seconds, part, clock))
        start = clock()
        model.fit(X, y)
        whole = clock() - start
    return seconds | {"all else": whole - sum(seconds.values()), "whole": whole}


def default_fits(repetitions: int) -> str:
    """Return a table of the parts of fits with default settings, of rows of 20 numbers in three classes."""
    rng = np.random.default_rng(0)
    lines = []
    for n in ROWS_OF_DEFAULT_FITS:
        X = rng.normal(size=(n, 20))
        y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n), [-0.5, 0.5])
        found: list[dict[str, float]] = []
        for _ in range(repetitions + 1):  # the first one imports
            model = GCWSNetClassifier(random_state=0, n_jobs=1)
            times = seconds_of_parts(model, X, y, PARTS_OF_A_DEFAULT_FIT, time.process_time)
            times["off"] = seconds_of_parts(model.set_params(search="off"), X, y, {}, time.process_time)["whole"]
            times["rival"] = math.nan
            if HAS_LIGHTGBM:
                times["rival"] = seconds_of_parts(lightgbm_classifier(1), X, y, {}, time.process_time)["whole"]
            found.append(times)
        seconds = {part: median(one[part] for one in found[1:]) for part in found[0]}
        shares = [f"{100 * seconds[part] / seconds['whole']:.0f}" for part in (*PARTS_OF_A_DEFAULT_FIT, "all else")]
        ratios = [f"{seconds[one] / seconds['rival']:.1f}" for one in ("whole", "off")]
        lines.append([f"{n:,}", f"{seconds['whole']:.2f}", *ratios, *shares])
        log(n, seconds)
    head = ["rows", "seconds", "LightGBM's = 1", 'with search="off"']
    return markdown_table([*head, *(f"{part}, %" for part in PARTS_OF_A_DEFAULT_FIT), "all else, %"], lines, "r")


def picked_rows(codes: Any, size: int) -> float:
    """Return how many rows of the table a batch picks on average."""
    rows = codes[: len(codes) // size * size].astype(np.int64) + (np.arange(codes.shape[1]) << 8)
    return float(np.mean([len(np.unique(batch)) for batch in rows.reshape(-1, size * codes.shape[1])]))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 1_000_000, "the most rows to learn from")
    add_count(parser, "--repetitions", 3, "timed fits of each kind")


def run(options: argparse.Namespace) -> Section:
    """Time the parts of fits."""
    rows = covtype_or_generated().first(options.rows)
    kinds = [(size, n) for n in sorted({1, min(2, n_cores())}) for size in BATCHES]
    models = {(size, n): GCWSNetClassifier(batch_size=size, n_jobs=n, random_state=0, **NO_SEARCH) for size, n in kinds}
    found: dict[tuple[int, int], list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _ in range(options.repetitions):
        for kind, model in models.items():
            found[kind].append(seconds_of_parts(model, rows.X_train, rows.y_train, PARTS))
            log(kind, found[kind][-1])
    middle = {kind: {part: median(one[part] for one in times) for part in times[0]} for kind, times in found.items()}
    copied = {n: copies_per_second(n, 5) for n in {n for _, n in kinds}}
    some = np.random.default_rng(0).permutation(len(rows.y_train))[:20_000]
    codes = models[kinds[0]].coder_.codes(rows.X_train[some])
    lines, traffic = [], []
    for (size, n), seconds in middle.items():
        shares = [f"{100 * seconds[part] / seconds['whole']:.0f}" for part in (*PARTS, "all else")]
        gain = middle[size, 1]["whole"] / seconds["whole"]
        lines.append([str(size), str(n), f"{len(rows.y_train) / seconds['whole']:,.0f}", f"{gain:.2f}", *shares])
        n_picked = picked_rows(codes, size)
        n_bytes = ROWS_READ_AND_WRITTEN * n_picked * 4 * 200
        of_a_step = seconds["training steps"] * size / len(rows.y_train)
        rate = n_bytes / of_a_step
        cells = [f"{n_picked:,.0f}", f"{n_bytes / 1e6:.1f}", f"{1e3 * of_a_step:.2f}", f"{rate / 1e9:.1f}"]
        traffic.append([str(size), str(n), *cells, f"{copied[n] / 1e9:.1f}", f"{100 * rate / copied[n]:.0f}"])
    head = ["rows of a step", "threads", "rows per second", "times one thread", *(f"{part}, %" for part in PARTS)]
    of_traffic = ["table rows picked", "MB moved", "ms of a step", "GB/s", "GB/s of a copy", "of a copy, %"]
    text = [
        *environment(*["lightgbm"] * HAS_LIGHTGBM),
        f"{len(rows.y_train):,} rows, {rows.title}, k = 256, H = 200; medians of {options.repetitions}.",
        "",
        markdown_table([*head, "all else, %"], lines, "rr"),
        "",
        markdown_table([*head[:2], *of_traffic], traffic, "rr"),
        "",
        f"Default settings, 20 columns, 3 classes; medians of {options.repetitions}, processor time of one thread.",
        "",
        default_fits(options.repetitions),
    ]
    return Section("\n".join(text))
