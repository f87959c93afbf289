"""Rows of npy and npz files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from scipy import sparse

from gcwsnet.data._arrays import as_batch, screened
from gcwsnet.data._batch import Batch
from gcwsnet.data._errors import DataError, Faults
from gcwsnet.data._inputs import Input
from gcwsnet.data._layout import Layout
from gcwsnet.data._numpy import Array, Rows, damaged, mapped_npy, npz_arrays
from gcwsnet.data._reader import Reader
from gcwsnet.data._settings import Name

PIECE = 1 << 21  # bytes
CSR_PARTS = ("data", "indices", "indptr", "shape")


class NpyReader(Reader):
    """A matrix in an npy file. Its label and weight may be columns of it."""

    def known_layout(self) -> Layout | None:
        """As wide as the first file, without label and weight."""
        with self._opened(self.inputs[0]) as (n_features, _):
            settings = self.settings
            return Layout(n_features, settings.missing or "error", label=settings.label, weight=settings.weight)

    def pieces(self, layout: Layout, faults: Faults) -> Iterator[Batch]:
        """Some megabytes at a time."""
        for given in self.inputs:
            with self._opened(given) as (_, parts):
                first = 0
                for part in parts:
                    batch = as_batch(part, self.settings.dtype)
                    yield screened(batch, first, given.name, layout, self.settings, faults)
                    first += batch.n_rows

    @contextmanager
    def _opened(self, given: Input) -> Iterator[tuple[int, Iterator[tuple[Array, Array, Array]]]]:
        """The width of a file, and its X, y and weight part by part."""
        _require_file(given, "npy")
        rows = mapped_npy(given.name)
        if len(rows.shape) != 2:
            raise DataError(f"an npy file must have two dimensions, got the shape {rows.shape}", path=given.name)
        chosen = [_number(name, rows.shape[1]) for name in (self.settings.label, self.settings.weight)]
        n_features = rows.shape[1] - sum(number is not None for number in chosen)
        yield n_features, _npy_parts(rows, *chosen)


class NpzReader(NpyReader):
    """X, y and weight of an npz file, or X_train, y_train and weight_train, or a matrix that SciPy has saved."""

    @contextmanager
    def _opened(self, given: Input) -> Iterator[tuple[int, Iterator[tuple[Array, Array, Array]]]]:
        _require_file(given, "npz")
        with npz_arrays(given.name) as arrays, damaged(given.name):
            if all(name in arrays for name in CSR_PARTS):
                n_features = int(arrays["shape"].take(2)[1])
                yield n_features, _csr_parts(arrays, n_features, given.name)
                return
            X = arrays.get("X", arrays.get("X_train"))
            if X is None or len(X.shape) != 2:
                raise DataError(
                    "an npz file must have X or X_train with two dimensions, or a CSR matrix saved by "
                    f"scipy.sparse.save_npz; got {', '.join(arrays) or 'nothing'}",
                    path=given.name,
                )
            y, weight = (arrays.get(name, arrays.get(f"{name}_train")) for name in ("y", "weight"))
            for name, vector in (("y", y), ("weight", weight)):
                if vector is not None and vector.shape != X.shape[:1]:
                    raise DataError(f"{name} must have the shape {X.shape[:1]}, got {vector.shape}", path=given.name)
            yield X.shape[1], _dense_parts(X, y, weight)


def _require_file(given: Input, format: str) -> None:  # noqa: A002
    if not given.reusable:
        raise DataError(f"{format} must be a file, not a stream; put it into a file", path=given.name)


def _number(name: Name | None, n_columns: int) -> int | None:
    if name is None:
        return None
    if isinstance(name, str) or not -n_columns <= name < n_columns:
        raise ValueError(f"a column must be a number from {-n_columns} to {n_columns - 1}, got {name!r}")
    return name % n_columns


def _sizes(n_rows: int, row_bytes: int) -> Iterator[int]:
    step = max(1, PIECE // max(1, row_bytes))
    for begin in range(0, n_rows, step):
        yield min(step, n_rows - begin)


def _npy_parts(rows: Rows, label: int | None, weight: int | None) -> Iterator[tuple[Array, Array, Array]]:
    for n in _sizes(rows.shape[0], rows.shape[1] * rows.dtype.itemsize):
        all_columns = rows.take(n)
        X = np.delete(all_columns, [number for number in (label, weight) if number is not None], axis=1)
        yield (
            X,
            None if label is None else all_columns[:, label],
            None if weight is None else all_columns[:, weight],
        )


def _dense_parts(X: Rows, y: Rows | None, weight: Rows | None) -> Iterator[tuple[Array, Array, Array]]:
    for n in _sizes(X.shape[0], X.shape[1] * X.dtype.itemsize):
        yield X.take(n), None if y is None else y.take(n), None if weight is None else weight.take(n)


def _csr_parts(arrays: Mapping[str, Rows], n_features: int, path: str) -> Iterator[tuple[Array, Array, Array]]:
    """Parts of a CSR matrix, its index pointer first."""
    form = "csr" if "format" not in arrays else np.char.decode(arrays["format"].take(1)).item()
    if form != "csr":
        raise DataError(f"a sparse matrix must be CSR, got {form}; save its tocsr()", path=path)
    data, indices, indptr = (arrays[name] for name in CSR_PARTS[:3])
    y, weight = arrays.get("y"), arrays.get("weight")
    n_rows, before = indptr.shape[0] - 1, indptr.take(1)
    for n in _sizes(n_rows, 1 << 10):
        ends = np.concatenate([before, indptr.take(n)]).astype(np.int64)
        if (np.diff(ends) < 0).any() or ends[0] < 0 or ends[-1] > data.shape[0] or data.shape != indices.shape:
            raise ValueError("the index pointer of the matrix does not fit its entries")
        columns, values = indices.take(int(ends[-1] - ends[0])), data.take(int(ends[-1] - ends[0]))
        if columns.size and (columns.min() < 0 or columns.max() >= n_features):
            raise ValueError(f"the indices of the matrix must be from 0 to {n_features - 1}")
        index = np.int32 if max(n_features, ends[-1] - ends[0]) <= np.iinfo(np.int32).max else np.int64
        entries = (values, columns.astype(index), (ends - ends[0]).astype(index))
        X = sparse.csr_array(entries, shape=(n, n_features))
        yield X, None if y is None else y.take(n), None if weight is None else weight.take(n)
        before = ends[-1:]
