"""Bad input: each has its own clear error, and no codes come back."""

import re
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from gcwsnet import GCWSHasher, _core

X = np.random.default_rng(0).normal(size=(10, 4))


def bad(value: float, row: int = 6, column: int = 2) -> np.ndarray:
    Z = X.copy()
    Z[row, column] = value
    return Z


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"n_hashes": 0}, ValueError, "n_hashes must be from 1 to 1048576, got n_hashes=0"),
        ({"n_hashes": 2**20 + 1}, ValueError, "n_hashes must be from 1 to 1048576, got n_hashes=1048577"),
        ({"n_hashes": True}, TypeError, "n_hashes must be an integer, got n_hashes=True"),
        ({"bits": 40}, ValueError, "bits must be from 1 to 32, got bits=40"),
        ({"bits": "8"}, TypeError, "bits must be an integer, got bits='8'"),
        ({"t_bits": 9}, ValueError, "t_bits must be from 0 to 8, got t_bits=9"),
        ({"t_bits": "none"}, ValueError, "t_bits must be 'all' or from 0 to 8, got t_bits='none'"),
        ({"p": 0}, ValueError, "p must be from 1e-06 to 1e+06, got p=0"),
        ({"p": float("nan")}, ValueError, "p must be from 1e-06 to 1e+06, got p=nan"),
        ({"p": "2"}, TypeError, "p must be a number, got p='2'"),
        ({"p": 2.0, "method": "minwise"}, ValueError, "p has no effect with method='minwise'"),
        ({"encoding": "low"}, ValueError, "encoding must be one of 'mixed', 'lowbits', got encoding='low'"),
        (
            {"encoding": "lowbits"},
            ValueError,
            "needs a number as t_bits, got t_bits='all'; the paper's practice is t_bits=0",
        ),
        ({"output": "dense"}, ValueError, "output must be one of 'codes', 'onehot', got output='dense'"),
        (
            {"method": "magic"},
            ValueError,
            "method must be one of 'gcws', 'rejection', 'binwise', 'extremal', 'minwise', got method='magic'",
        ),
        ({"missing": "drop"}, ValueError, "missing must be one of 'error', 'zero', got missing='drop'"),
        ({"random_state": -1}, ValueError, "random_state must be from 0 to 18446744073709551615, got random_state=-1"),
        ({"random_state": "0"}, ValueError, "cannot be used to seed"),
        ({"table_memory": -1}, ValueError, "table_memory must be from 0 to 281474976710656, got table_memory=-1"),
        (
            {"table_memory": 0, "method": "extremal"},
            ValueError,
            "table_memory has no effect with method='extremal', which keeps no tables, got table_memory=0",
        ),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
        ({"n_jobs": 1.5}, TypeError, "n_jobs must be an integer or None, got n_jobs=1.5"),
    ],
    ids=str,
)
def test_parameter_out_of_its_range(parameters: dict[str, Any], error: type, words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        GCWSHasher(**parameters).fit(X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", ["fit", "transform", "samples"])
def test_nan_and_infinity_are_named_with_the_way_out(form: Any, method: str) -> None:
    hasher = GCWSHasher(5, random_state=0, n_jobs=2).fit(X)
    for value, called in ((np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "-infinity")):
        way_out = ", or take NaN as zero with missing='zero'" if np.isnan(value) else ""
        with pytest.raises(
            ValueError, match=re.escape(f"X[6, 2] is {called}; impute it or drop the row{way_out}") + "$"
        ):
            getattr(hasher, method)(form(bad(value)))


def test_the_first_of_several_is_named_whatever_the_threads() -> None:
    Z = np.ones((2000, 4))
    Z[150, 3], Z[151, 0], Z[1999, 1] = np.nan, np.inf, np.nan
    hasher = GCWSHasher(64, n_jobs=4).fit(np.ones((2, 4)))
    for _ in range(5):
        with pytest.raises(ValueError, match=re.escape("X[150, 3] is NaN")):
            hasher.transform(Z)


def test_more_columns_than_can_be_numbered() -> None:
    with pytest.raises(ValueError, match=re.escape("at most 2**31 columns, got 2147483649")):
        GCWSHasher(5).fit(sparse.csr_array((1, 2**31 + 1)))


def test_not_fitted() -> None:
    for method in ("transform", "samples", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(GCWSHasher(5), method)(X)


def test_results_larger_than_memory_are_refused_before_they_are_made() -> None:
    empty = sparse.csr_array((50_000_000, 3))
    hasher = GCWSHasher(2**20).fit(empty[:1])
    with pytest.raises(
        MemoryError, match=r"50000000 rows with 1048576 hashes each would take 47\.7 TiB .*hash in batches"
    ):
        hasher.transform(empty)
    with pytest.raises(MemoryError, match=r"would take 762\.9 TiB"):
        hasher.samples(empty)


@pytest.mark.parametrize(
    ("data", "indices", "indptr", "words"),
    [
        ([1.0, 2.0], [0, 9], [0, 2], "row 0 of the CSR matrix has column index 9"),
        ([1.0, 2.0], [0, -1], [0, 2], "row 0 of the CSR matrix has column index -1"),
        ([1.0, 2.0], [1, 0], [0, 2], "out of order"),
        ([1.0, 2.0], [1, 1], [0, 2], "out of order"),
        ([1.0, 2.0], [0, 1], [0, 3], "index pointer"),
        ([1.0, 2.0], [0, 1], [1, 2], "index pointer"),
        ([1.0, 2.0], [0, 1], [0, 2, 1], "index pointer"),
        ([1.0, 2.0], [0, 1], [0, -5, 2], "index pointer"),
        ([1.0], [0, 1], [0, 2], "as many indices as data"),
        ([1.0, 2.0], [0, 1], [], "must not be empty"),
    ],
)
def test_the_native_core_refuses_broken_csr(data: Any, indices: Any, indptr: Any, words: str) -> None:
    hasher = _core.Hasher(0, 4, 5, 0, _core.Scan.AUTO)
    arrays = np.array(data), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    n = max(len(indptr) - 1, 0)
    out = np.zeros((n, 5), dtype=np.int64), np.zeros((n, 5), dtype=np.int64)
    with pytest.raises(ValueError, match=words):
        hasher.samples_of_csr(*arrays, 1.0, False, *out, 1)
