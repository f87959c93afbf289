"""The coder of files: rows become codes, and labels become targets. It needs no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet._memory import require_memory
from gcwsnet._validation import check_finite, row_batches
from gcwsnet.data import Batch
from gcwsnet.estimators._files import Arrays, Description
from gcwsnet.estimators._scaling import zeros_for_nan
from gcwsnet.estimators._scaling_arrays import scaling_arrays, scaling_from_arrays
from gcwsnet.estimators._target_arrays import places_of_labels, standardized
from gcwsnet.hashing import GCWSHasher
from gcwsnet.streaming._task import as_labels


def filled(X: Any, missing: str) -> Any:
    """Return rows with 0 in place of NaN if `missing` is "zero", once they are found to have no other odd values."""
    check_finite(X, nan_is_fine=missing != "error", columns=None, way_out_of_nan="")
    return zeros_for_nan(X) if missing == "zero" else X


@dataclass
class Coder:
    """A coder that turns the rows of files into codes, and their labels into targets.

    Attributes
    ----------
    settings : dict
        The parameters of an estimator that decide about codes: n_hashes, bits, t_bits, encoding, p, scale and missing;
        p and scale as they were asked for.
    seed, n_features : int
    scaling : ColumnScaling, QuantileScaling, TermScaling or None
    p : float
        The power in use.
    selection : list of dict
        The candidates for scaling and p, with their scores.
    task : {"classification", "regression"} or None
        None for rows without labels.
    label_type : {"integers", "numbers", "strings"} or None
    n_rows : int or None
        The rows of the files; None for a stream.
    classes : array or None
        The labels of a classification.
    mean, size : arrays or None
        Mean and standard deviation of the targets of a regression.
    n_jobs : int or None
    """

    settings: dict[str, Any]
    seed: int
    n_features: int
    scaling: Any
    p: float
    selection: list[dict[str, Any]]
    task: str | None
    label_type: str | None
    n_rows: int | None
    classes: NDArray[Any] | None = None
    mean: NDArray[np.float64] | None = None
    size: NDArray[np.float64] | None = None
    n_jobs: int | None = None
    hasher: GCWSHasher = field(init=False)

    def __post_init__(self) -> None:
        self.hasher = GCWSHasher(
            self.settings["n_hashes"],
            p=self.p,
            bits=self.settings["bits"],
            t_bits=self.settings["t_bits"],
            encoding=self.settings["encoding"],
            missing="zero" if self.settings["missing"] == "mean" else "error",
            random_state=self.seed,
            n_jobs=self.n_jobs,
        ).fit(sparse.csr_matrix((1, self.n_features), dtype=np.float32))

    def codes(self, X: Any) -> NDArray[Any]:
        """Return the codes of rows as they were read."""
        if X.shape[1] != self.n_features:
            raise ValueError(f"rows must have {self.n_features} columns as those before, got {X.shape[1]}")
        X = filled(X, self.settings["missing"])
        parts = [rows if self.scaling is None else self.scaling.transform(rows) for _, rows in row_batches(X)]
        n_bytes = X.shape[0] * self.settings["n_hashes"] * np.min_scalar_type((1 << self.hasher.code_bits) - 1).itemsize
        require_memory(n_bytes, f"the codes of {X.shape[0]} rows", "read fewer rows at once, or use fewer hashes")
        return np.concatenate([np.asarray(self.hasher.transform(part)) for part in parts])

    def target(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the targets of labels or numbers."""
        y = as_labels(y, self.label_type)
        if self.classes is not None:
            return places_of_labels(y, self.classes)
        assert self.mean is not None and self.size is not None  # noqa: S101, PT018
        return standardized(y, self.mean, self.size)

    def coded(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield codes and targets of batches."""
        for batch in batches:
            if batch.y is None:
                raise ValueError("there are no labels to learn from; name their column with --label")
            yield Batch(self.codes(batch.X), self.target(batch.y), batch.weight)

    def state(self) -> tuple[Arrays, Description]:
        """Return the coder as arrays and as a description for JSON."""
        arrays = scaling_arrays(self.scaling)
        if self.mean is not None and self.size is not None:
            arrays |= {"targets.mean": self.mean, "targets.size": self.size}
        labels = self.classes
        description = {
            "settings": self.settings,
            "seed": self.seed,
            "n_features": self.n_features,
            "scaling": None if self.scaling is None else self.scaling.scale,
            "p": self.p,
            "selection": self.selection,
            "task": self.task,
            "label_type": self.label_type,
            "n_rows": self.n_rows,
            "classes": None if labels is None else labels.tolist(),
            "classes_type": None if labels is None else labels.dtype.str,
        }
        return arrays, description

    @classmethod
    def from_state(cls, arrays: Arrays, description: Description, n_jobs: int | None = None) -> Coder:
        """Return the coder whose `state` was saved."""
        labels = description["classes"]
        return cls(
            settings=description["settings"],
            seed=description["seed"],
            n_features=description["n_features"],
            scaling=scaling_from_arrays(description["scaling"], description["n_features"], arrays),
            p=description["p"],
            selection=description["selection"],
            task=description["task"],
            label_type=description["label_type"],
            n_rows=description["n_rows"],
            classes=None if labels is None else np.array(labels, dtype=np.dtype(description["classes_type"])),
            mean=arrays.get("targets.mean"),
            size=arrays.get("targets.size"),
            n_jobs=n_jobs,
        )
