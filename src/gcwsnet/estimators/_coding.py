"""How rows become codes: preprocessing and p, given or chosen, and the hasher."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from gcwsnet._memory import available_bytes, require_memory
from gcwsnet._validation import Matrix, check_finite, check_matrix
from gcwsnet.estimators._parameters import Parameters
from gcwsnet.estimators._progress import show_selection
from gcwsnet.estimators._rows import Rows, rows_at_once
from gcwsnet.estimators._scaling import learn_scaling, zeros_for_nan
from gcwsnet.estimators._selection import LEAST_ROWS, Candidate, Pair, best_of, pairs_to_try, score_pairs, some_rows
from gcwsnet.estimators._targets import Targets
from gcwsnet.hashing import GCWSHasher

MEMORY_IF_UNKNOWN = 1 << 32


class Coding(Parameters):
    """The part of an estimator that turns rows into codes; of the net it only knows the scores."""

    seed_: int

    @abstractmethod
    def _scores(
        self, train: Rows, validation: Rows, targets: Targets, X: Matrix, X_validation: Matrix, p: float
    ) -> NDArray[np.float64]:
        """Return the score of each validation row by a small net, from rows that were scaled."""

    def _learns_from_first_rows(self) -> bool:
        """Tell whether more than the net is learned from the rows."""
        return self._settings.scale is not None or self._settings.p == "auto"

    def _make_coder(self, rows: Rows, targets: Targets) -> None:
        """Choose the scaling and p."""
        scale, self.p_ = self._select(rows, targets)
        self.scaling_: Any = None if scale is None else learn_scaling(rows.X, scale)
        self._make_hasher(rows.X.shape[1])

    def _select(self, rows: Rows, targets: Targets) -> Pair:
        """Return the scaling and p, chosen on some of the rows where the settings leave a choice."""
        train, validation = (rows.take(numbers) for numbers in some_rows(rows.X.shape[0], self.seed_))
        pairs = pairs_to_try(self._settings.scale, self._settings.p, train.X)
        self.selection_: list[Candidate] = []
        if len(pairs) == 1 or rows.X.shape[0] < LEAST_ROWS:
            return pairs[0]
        scores = partial(self._scores, train, validation, targets)
        candidates = list(score_pairs(pairs, train.X, validation.X, scores))
        best = best_of(candidates)
        self.selection_ = [replace(one, chosen=number == best) for number, one in enumerate(candidates)]
        show_selection(self.verbose, self.selection_)
        return pairs[best]

    def _make_hasher(self, n_columns: int) -> None:
        settings = self._settings
        self.hasher_ = GCWSHasher(
            settings.n_hashes,
            p=self.p_,
            bits=settings.bits,
            t_bits=settings.t_bits,
            encoding=settings.encoding,
            missing="zero" if settings.missing == "mean" else "error",
            random_state=self.seed_,
        ).fit(sparse.csr_matrix((1, n_columns), dtype=np.float32))

    def _scaled(self, X: Matrix) -> Matrix:
        if self.scaling_ is None:
            return X
        return self.scaling_.transform(X)

    def _codes(self, X: Matrix) -> Tensor:
        """Return the codes of the rows of X, which have been checked."""
        self.hasher_.n_jobs = self.n_jobs
        n, k = X.shape[0], self._settings.n_hashes
        require_memory(
            self._code_bytes(n), f"the codes of {n} rows with {k} hashes each", "use fewer hashes, bits or rows"
        )
        codes = np.empty((n, k), dtype=self._code_dtype())
        for first in range(0, n, step := rows_at_once(X)):
            codes[first : first + step] = self.hasher_.transform(self._scaled(X[first : first + step]))
        return torch.from_numpy(codes)

    def _code_dtype(self) -> np.dtype[Any]:
        return np.min_scalar_type((1 << self.hasher_.code_bits) - 1)

    def _code_bytes(self, n_rows: int) -> int:
        return n_rows * int(self._settings.n_hashes) * self._code_dtype().itemsize

    def _can_keep_codes(self, n_rows: int) -> bool:
        """Tell whether the codes of all rows fit well in memory, so that several epochs hash them once."""
        available = available_bytes() or MEMORY_IF_UNKNOWN
        return self._code_bytes(n_rows) <= available // 4

    def _check_input(self, X: Any, *, reset: bool) -> Matrix:
        """Return rows as users give them, checked, with missing values as `missing` says."""
        X = check_matrix(X, estimator=self, reset=reset)
        missing = self._settings.missing
        check_finite(
            X,
            nan_is_fine=missing != "error",
            columns=getattr(self, "feature_names_in_", None),
            way_out_of_nan=", or take NaN as 0 with missing='zero' or as the mean of its column with missing='mean'",
        )
        return zeros_for_nan(X) if missing == "zero" else X
