"""What the kernel does not take is refused, with the rule, the value and the place."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from gcwsnet import pgmm_kernel

ONES = np.ones((3, 4))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_an_entry_that_is_not_finite_is_named(form: Any) -> None:
    bad = ONES.copy()
    bad[2, 1], bad[2, 3] = -np.inf, np.nan
    with pytest.raises(ValueError, match=r"every entry must be finite.*X\[2, 1\] is -infinity;"):
        pgmm_kernel(form(bad), ONES)
    with pytest.raises(ValueError, match=r"every entry must be finite.*Y\[2, 1\] is -infinity;"):
        pgmm_kernel(ONES, form(bad))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_different_numbers_of_columns(form: Any) -> None:
    with pytest.raises(ValueError, match="X and Y must have the same number of columns, got 4 and 5"):
        pgmm_kernel(form(ONES), form(np.ones((2, 5))))
    with pytest.raises(ValueError, match="got 2 and 3"):
        pgmm_kernel([1, 2], [1, 2, 3])


@pytest.mark.parametrize("p", [0, -1.0, np.nan, np.inf, -np.inf, 1e-7, 2e6])
def test_a_power_out_of_range(p: float) -> None:
    with pytest.raises(ValueError, match=re.escape(f"p must be from 1e-06 to 1e+06, got p={p}")):
        pgmm_kernel(ONES, p=p)


@pytest.mark.parametrize("p", ["2", True, None, 1j, [2.0]])
def test_a_power_that_is_no_number(p: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"p must be a number, got p={p!r}")):
        pgmm_kernel(ONES, p=p)


def test_a_result_larger_than_memory_is_refused_before_it_is_made() -> None:
    empty = sparse.csr_array((10**6, 3))
    with pytest.raises(MemoryError, match=r"kernel matrix of 1000000 x 1000000 numbers would take 7\.3 TiB of memory"):
        pgmm_kernel(empty)
    assert pgmm_kernel(empty, np.ones((1, 3))).shape == (10**6, 1)


def test_more_columns_than_can_be_numbered() -> None:
    X = sparse.csr_array((np.ones(1), np.array([0]), np.array([0, 1])), shape=(1, 2**31 + 1))
    with pytest.raises(ValueError, match=r"X must have at most 2\*\*31 columns, got 2147483649"):
        pgmm_kernel(X)
