"""How rows become codes: the scaling, p and the hashes, given or chosen."""

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

from gcwsnet._memory import require_memory
from gcwsnet._validation import Matrix, check_finite
from gcwsnet.estimators._hash_choice import best_hashes, rows_for_hashes
from gcwsnet.estimators._parameters import Parameters
from gcwsnet.estimators._progress import show_selection
from gcwsnet.estimators._rows import Rows, rows_at_once
from gcwsnet.estimators._scaling import learn_scaling
from gcwsnet.estimators._selection import LEAST_ROWS, Pair, Tried, best_of, pairs_to_try, some_rows, try_pairs
from gcwsnet.estimators._targets import Targets
from gcwsnet.hashing import GCWSHasher


class Coding(Parameters):
    """The part of an estimator that turns rows into codes, which knows of the net only how well it does."""

    seed_: int

    @abstractmethod
    def _scores(
        self, learned: Rows, judged: Rows, targets: Targets, X: Matrix, X_judged: Matrix, p: float
    ) -> NDArray[np.float64]:
        """The score of each judged row by a small net, with X and X_judged for the rows' own numbers."""

    def _learns_from_first_rows(self) -> bool:
        """Whether the rows decide about more than the net."""
        return isinstance(self.scale, str) or self.p == "auto" or self.oversample > 1

    def _make_coder(self, rows: Rows, targets: Targets) -> None:
        """Choose scaling, p and hashes."""
        scale, self.p_ = self._select(rows, targets)
        self.scaling_: Any = learn_scaling(rows.X, scale) if isinstance(scale, str) else scale
        self._make_hasher(self._scaled(rows.X[:1]).shape[1], self._choose_hashes(rows, targets))

    def _select(self, rows: Rows, targets: Targets) -> Pair:
        """The scaling and the power, chosen on some of the rows where the settings leave a choice."""
        learned, judged = (rows.take(numbers) for numbers in some_rows(rows.X.shape[0], self.seed_))
        pairs = pairs_to_try(self.scale, self.p, learned.X)
        self.selection_: list[Tried] = []
        if len(pairs) == 1 or rows.X.shape[0] < LEAST_ROWS:
            return pairs[0]
        tried = list(try_pairs(pairs, learned.X, judged.X, partial(self._scores, learned, judged, targets)))
        best = best_of(tried)
        self.selection_ = [replace(one, chosen=number == best) for number, one in enumerate(tried)]
        show_selection(self.verbose, self.selection_)
        return pairs[best]

    def _choose_hashes(self, rows: Rows, targets: Targets) -> NDArray[np.int64] | None:
        """The numbers of the hashes that look best on some of the rows; None where there is no choice."""
        if self.oversample == 1 or rows.X.shape[0] < LEAST_ROWS:
            return None
        some = rows.take(rows_for_hashes(rows.X.shape[0], self.seed_))
        all_of_them = np.arange(self.n_hashes * self.oversample)
        self._make_hasher(self._scaled(some.X[:1]).shape[1], all_of_them)
        return best_hashes(self._codes(some.X).numpy(), targets.encode(some.y).numpy(), self.n_hashes)

    def _make_hasher(self, n_columns: int, hash_numbers: NDArray[np.int64] | None) -> None:
        self.hash_numbers_ = hash_numbers
        self.hasher_ = GCWSHasher(
            self.n_hashes if hash_numbers is None else len(hash_numbers),
            p=self.p_,
            bits=self.bits,
            t_bits=self.t_bits,
            encoding=self.encoding,
            missing=self.missing,
            hash_numbers=hash_numbers,
            random_state=self.seed_,
        ).fit(sparse.csr_matrix((1, n_columns), dtype=np.float32))

    def _scaled(self, X: Matrix) -> Matrix:
        if self.scaling_ is None:
            return X
        return self.scaling_.transform(X)

    def _codes(self, X: Matrix) -> Tensor:
        """Codes of the rows of X, which have been checked."""
        self.hasher_.n_jobs = self.n_jobs
        n, k = X.shape[0], self.hasher_.n_hashes
        dtype = np.min_scalar_type((1 << self.hasher_.code_bits) - 1)
        require_memory(n * k * dtype.itemsize, f"the codes of {n} rows with {k} hashes each", "use cache=False")
        codes = np.empty((n, k), dtype=dtype)
        for first in range(0, n, step := rows_at_once(X)):
            codes[first : first + step] = self.hasher_.transform(self._scaled(X[first : first + step]))
        return torch.from_numpy(codes)

    def _check_finite(self, X: Matrix) -> None:
        check_finite(
            X,
            nan_is_fine=self.missing == "zero",
            columns=getattr(self, "feature_names_in_", None),
            way_out_of_nan=", or take NaN as zero (after scaling, so as the mean) with missing='zero'",
        )
