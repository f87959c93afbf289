"""The rows that are searched: MNIST, DailySports and paragraphs of package documentation, with exact kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.accuracy.generated import load_docstrings
from gcwsnet import pgmm_kernel
from gcwsnet.neighbors._file_rows import shingle_rows
from reproduction import datasets

TOP = 10
PACKAGES = ("numpy", "scipy", "sklearn", "torch", "matplotlib", "pandas")
MIN_LETTERS = 80
TEXT_QUERIES = 5
"""How many times as many queries there are of texts, which take little time each."""


@dataclass(frozen=True)
class Case:
    """Rows, queries, and the exact pGMM kernel between them.

    Attributes
    ----------
    name, about : str
    X, Q : matrices
    K : float64 array of shape (queries, rows)
    """

    name: str
    about: str
    X: Any
    Q: Any
    K: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """The number of rows that are searched."""
        return int(self.X.shape[0])

    def recall(self, found: list[NDArray[np.int64]]) -> float:
        """Return the share of the ten nearest rows that were found; of rows as near as the tenth any counts."""
        tenth = np.partition(self.K, -TOP, axis=1)[:, -TOP] - 1e-9
        hits = [min(TOP, int((K[rows] >= least).sum())) for K, rows, least in zip(self.K, found, tenth, strict=True)]
        return sum(hits) / (TOP * len(found))

    def recall_and_precision(self, found: list[NDArray[np.int64]], t: float) -> tuple[float, float]:
        """Return the share of the rows above a similarity that were found, and of the found ones that are above."""
        above = [set(np.flatnonzero(t - 1e-9 <= K).tolist()) for K in self.K]
        both = sum(len(a & set(rows.tolist())) for a, rows in zip(above, found, strict=True))
        return both / max(1, sum(map(len, above))), both / max(1, sum(len(rows) for rows in found))


def load_cases(n_queries: int, scale: float) -> list[Case]:
    """Return the cases whose data are there."""
    makers: dict[str, Callable[[], tuple[str, Any, Any]]] = {
        "mnist": lambda: _images("mnist", "MNIST, pixels"),
        "dailysports": lambda: _images("dailysports", "DailySports, signals of any sign"),
        "texts": _texts,
    }
    cases = []
    for name, make in makers.items():
        try:
            about, X, Q = make()
        except FileNotFoundError:
            continue
        rng = np.random.default_rng(0)
        rows = np.sort(rng.permutation(X.shape[0])[: max(100, int(scale * X.shape[0]))])
        n_chosen = n_queries * (TEXT_QUERIES if name == "texts" else 1)
        chosen = np.sort(rng.permutation(Q.shape[0])[:n_chosen])
        X, Q = X[rows], Q[chosen]
        cases.append(Case(name, f"{about}, {X.shape[0]:,} rows", X, Q, pgmm_kernel(Q, X, n_jobs=-1)))
    return cases


def _images(name: str, about: str) -> tuple[str, Any, Any]:
    data = datasets.load(name, download=False)
    return about, data.X_train, data.X_test


def _texts() -> tuple[str, Any, Any]:
    """Return paragraphs of docstrings as sets of words: every thirtieth is a query."""
    found: dict[str, None] = {}
    for text in load_docstrings(PACKAGES)[0]:
        for paragraph in re.split(r"\n\s*\n", text):
            words = " ".join(paragraph.split())
            if len(words) >= MIN_LETTERS:
                found[words] = None
    X = shingle_rows(list(found), 1)
    X.data[:] = 1.0
    is_query = np.arange(X.shape[0]) % 30 == 0
    return "paragraphs of package documentation, sets of words", sparse.csr_array(X[~is_query]), X[is_query]


def part_of(case: Case, n_rows: int, n_queries: int) -> Case:
    """Return a case of fewer rows and queries."""
    about = f"{case.about.rsplit(',', 2)[0]}, the first {n_rows:,} rows"
    return Case(case.name, about, case.X[:n_rows], case.Q[:n_queries], case.K[:n_queries, :n_rows])
