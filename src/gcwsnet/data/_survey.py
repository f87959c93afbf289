"""What one look at all rows tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet.data._batch import Batch
from gcwsnet.data._layout import Layout

MOST_LABELS = 10_000


@dataclass(frozen=True)
class Survey:
    """What one look at all rows tells.

    Attributes
    ----------
    n_rows : int
        Without those that are skipped.
    n_features : int
    label_type : {"integers", "numbers", "strings"} or None
        None without labels. "integers" are whole numbers, whatever their type.
    labels : tuple or None
        Distinct labels in rising order; None if there are too many to keep, or none at all.
    index_base : 0, 1 or None
        Of LIBSVM files.
    skipped : int
        Rows that are skipped with ``on_error="skip"``.
    """

    n_rows: int
    n_features: int
    label_type: str | None
    labels: tuple[Any, ...] | None
    index_base: int | None
    skipped: int


class Tally:
    """Counts for a survey, batch after batch.

    Parameters
    ----------
    most_labels : int
        Distinct labels are kept up to this number.
    """

    def __init__(self, most_labels: int) -> None:
        self.n_rows = 0
        self.least_index: int | None = None
        self.most_index = -1
        self._most_labels = most_labels
        self._labels: set[Any] | None = set()
        self._types: set[str] = set()

    def add(self, batch: Batch) -> None:
        """Count the rows of a batch."""
        self.n_rows += batch.n_rows
        if sparse.issparse(batch.X) and batch.X.nnz:
            least, most = int(batch.X.indices.min()), int(batch.X.indices.max())
            self.least_index = least if self.least_index is None else min(self.least_index, least)
            self.most_index = max(self.most_index, most)
        if batch.y is not None and batch.n_rows:
            self._add_labels(batch.y)

    @property
    def label_type(self) -> str | None:
        """The widest type of the labels so far."""
        return next((name for name in ("strings", "numbers", "integers") if name in self._types), None)

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """Distinct labels in rising order, None if there are too many."""
        return tuple(sorted(self._labels)) if self._labels else None

    def survey(self, layout: Layout, skipped: int) -> Survey:
        """What the counts tell of rows that are laid out so."""
        return Survey(
            n_rows=self.n_rows,
            n_features=layout.n_features,
            label_type=self.label_type,
            labels=self.labels,
            index_base=layout.index_base,
            skipped=skipped,
        )

    def _add_labels(self, y: NDArray[Any]) -> None:
        self._types.add(label_type(y))
        if self._labels is not None:
            self._labels.update(np.unique(y).tolist())
            if len(self._labels) > self._most_labels:
                self._labels = None


def label_type(y: NDArray[Any]) -> str:
    """What labels are, by their values."""
    if y.dtype.kind in "bui":
        return "integers"
    if y.dtype.kind == "f":
        return "integers" if bool(np.all(y == np.floor(y))) else "numbers"
    return "strings"
