"""Columns that are constant while a preprocessing is learned: they are 0 until they vary."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.tables._constant import keep_constants, reactivate
from gcwsnet.tables._preprocessing import Recipe, fit_preprocessing

X = np.column_stack([np.arange(8.0), np.full(8, 5.0), np.arange(8.0) % 2, np.zeros(8)])
TARGET = np.arange(8) % 2


def kept(scale: str, relevance: float = 0.0, rows: Any = X) -> Any:
    return keep_constants(fit_preprocessing(rows, Recipe(scale, relevance), TARGET), rows)


@pytest.mark.parametrize("scale", ["numeric", "standard", "minmax", "quantile", "local"])
@pytest.mark.parametrize("relevance", [0.0, 1.0])
def test_a_constant_column_is_zero_until_it_varies_and_others_stay_as_they_are(scale: str, relevance: float) -> None:
    preprocessing = kept(scale, relevance)
    plain = fit_preprocessing(X, Recipe(scale, relevance), TARGET)
    np.testing.assert_allclose(preprocessing.transform(X), plain.transform(X), atol=1e-12)
    assert reactivate(preprocessing, X) is None
    assert reactivate(preprocessing, np.full((1, 4), np.nan)) is None
    rows = X.copy()
    rows[:, 1] = [5, 4, 6, 5, 5, 4.5, 5.5, 5]
    changed = reactivate(preprocessing, rows)
    assert changed is not None
    found, before = changed.transform(rows), plain.transform(rows)
    np.testing.assert_array_equal(np.delete(found, 1, axis=1), np.delete(before, 1, axis=1))
    assert (np.sign(found[:, 1].round(9)) == np.sign(rows[:, 1] - 5)).all()
    assert np.abs(found[:, 1]).max() <= 3
    assert reactivate(changed, rows) is None


def test_a_column_is_scaled_again_when_it_is_twice_as_far_away() -> None:
    preprocessing, sizes = kept("numeric"), []
    for distance in (1e-15, 0.1, 0.15, 0.3, 1e300):
        row = np.array([[1.0, 5.0, 0.0, distance]])
        preprocessing = reactivate(preprocessing, row) or preprocessing
        sizes.append(preprocessing.transform(row)[0, 3])
    np.testing.assert_allclose(sizes, [1, 1, 1.5, 1, 1])


def test_the_same_entry_in_all_sparse_rows_becomes_one() -> None:
    rows = sparse.csr_array(X + 1)
    found = kept("numeric", rows=rows).transform(rows)
    np.testing.assert_array_equal(found.toarray()[:, [1, 3]], 1)
