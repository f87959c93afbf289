"""The native functions check what they are given, before they touch it."""

from typing import Any

import numpy as np
import pytest

from gcwsnet import _core

ZEROS_2, ZEROS_3 = np.zeros(2), np.zeros(3)


def dense(**changed: Any) -> Any:
    """The kernel of 2 rows of ones and 3 rows of twos in 8 columns, with arguments changed."""
    given: dict[str, Any] = {
        "x": np.ones((2, 8)),
        "x_scale": ZEROS_2,
        "y": np.full((3, 8), 2.0),
        "y_scale": ZEROS_3,
        "has_negative": True,
        "out": np.full((2, 3), np.nan),
        "n_threads": 1,
    } | changed
    _core.pgmm_dense(**given)
    return given["out"]


def sparse(**changed: Any) -> Any:
    """The kernel of the rows [1, 0], [1, 1] and of the rows [0, 2], [0, 0], [1, 1], with arguments changed."""
    given: dict[str, Any] = {
        "x_start": np.array([0, 2, 3]),
        "x_row": np.array([0, 1, 1]),
        "x_value": np.ones(3),
        "x_scale": ZEROS_2,
        "x_sum": np.array([1.0, 2.0]),
        "y_start": np.array([0, 1, 1, 3]),
        "y_column": np.array([1, 0, 1]),
        "y_value": np.array([2.0, 1.0, 1.0]),
        "y_scale": ZEROS_3,
        "y_sum": np.array([2.0, 0.0, 2.0]),
        "out": np.full((2, 3), np.nan),
        "n_threads": 1,
    } | changed
    _core.pgmm_sparse(**given)
    return given["out"]


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"x": np.ones((2, 7))}, "multiple of 8"),
        ({"x": np.ones((2, 16))}, "both matrices must have as many columns"),
        ({"x": np.ones((2, 8), dtype=np.float32)}, "rows must be float64"),
        ({"x_scale": np.zeros(4)[::2]}, "one float64 scale per row, contiguous"),
        ({"y_scale": ZEROS_2}, "one float64 scale per row"),
        ({"out": np.ones((3, 2))}, "out must be float64, rows of X x rows of Y"),
    ],
)
def test_dense_refuses_what_does_not_fit(changed: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        dense(**changed)


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"x_start": np.array([], dtype=np.int64)}, "index pointers must not be empty"),
        ({"x_start": np.array([1, 2, 3])}, "must start at 0, never fall and end within the data"),
        ({"x_start": np.array([0, 2, 4])}, "must start at 0, never fall and end within the data"),
        ({"x_start": np.array([0, 2**62, 3])}, "must start at 0, never fall and end within the data"),
        ({"y_start": np.array([0, -1, 1, 3])}, "must start at 0, never fall and end within the data"),
        ({"x_row": np.array([0, 1, 2])}, "index of the sparse matrix is out of range"),
        ({"y_column": np.array([1, -(2**63), 1])}, "index of the sparse matrix is out of range"),
        ({"x_row": np.array([0, 1, 1], dtype=np.int32)}, "contiguous int64 and float64, as long as each other"),
        ({"x_scale": np.zeros(4)[::2]}, "contiguous int64 and float64, as long as each other"),
        ({"y_sum": ZEROS_2}, "contiguous int64 and float64, as long as each other"),
        ({"out": np.ones((3, 2))}, "out must be float64, rows of X x rows of Y"),
    ],
)
def test_sparse_refuses_what_does_not_fit(changed: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        sparse(**changed)


@pytest.mark.parametrize("function", [dense, sparse])
def test_out_that_is_no_matrix_or_cannot_be_written_is_refused(function: Any) -> None:
    read_only = np.ones((2, 3))
    read_only.flags.writeable = False
    for out in (np.ones(6), None, [[0.0] * 3] * 2, read_only):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            function(out=out)
