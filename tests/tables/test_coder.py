"""The coder: from rows to codes, fitted once."""

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gcwsnet import GCWSHasher
from gcwsnet.search import fit_coder
from gcwsnet.tables._coder import Coder, CoderSettings
from gcwsnet.tables._scaling import FOR_DENSE_ROWS, KINDS, fit_scaling

RNG = np.random.default_rng(0)
X = np.hstack([RNG.normal(3, 2, (300, 4)), RNG.integers(0, 2, (300, 1))])
COUNTS = RNG.poisson(0.5, (300, 6)).astype(np.float32)
SMALL: dict[str, Any] = {"n_hashes": 16, "p": 2.0, "relevance": 0}


def fitted(X: Any, **settings: Any) -> Coder:
    return fit_coder(X, CoderSettings(**SMALL | settings), seed=7)[0]


@pytest.mark.parametrize("scale", [*KINDS, None])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_codes_are_those_of_preprocessing_and_hasher_and_survive_a_state(scale: str | None, form: Any) -> None:
    if scale in FOR_DENSE_ROWS and form is sparse.csr_array:
        return
    rows = form(COUNTS)
    coder = fitted(rows, scale=scale)
    scaling = fit_scaling(rows, scale)
    prepared = rows if scaling is None else scaling.transform(rows)
    expected = GCWSHasher(16, p=2.0, random_state=7).fit_transform(prepared)
    assert_array_equal(coder.codes(rows), expected)
    arrays, description = coder.state()
    again = Coder.from_state(arrays, json.loads(json.dumps(description, allow_nan=False)))
    assert_array_equal(again.codes(rows), expected)
    assert again.state()[1] == description
    assert (again.scale, again.p, again.settings) == (scale, 2.0, coder.settings)
    for other in (copy.deepcopy(coder), pickle.loads(pickle.dumps(coder))):
        assert_array_equal(other.codes(rows), expected)


def test_without_a_score_auto_is_numeric_and_1() -> None:
    coder, selection = fit_coder(X, CoderSettings(n_hashes=16), seed=7)
    assert (coder.scale, coder.p, selection) == ("numeric", 1.0, [])


@pytest.mark.parametrize(
    ("given", "n_rows", "n_hashes", "bits"),
    [
        ({}, 10_000, 128, 4),
        ({}, 10_001, 256, 6),
        ({}, math.inf, 256, 6),
        ({}, None, 256, 8),
        ({"encoding": "lowbits", "t_bits": 0}, 100, 256, 8),
    ],
)
def test_automatic_hashes_and_bits_follow_from_the_number_of_rows(
    given: dict[str, Any], n_rows: float | None, n_hashes: int, bits: int
) -> None:
    auto: Any = {"n_hashes": "auto", "bits": "auto"}
    found = CoderSettings(**auto, **given).for_rows(n_rows)
    assert (found.n_hashes, found.bits) == (n_hashes, bits)
    found = CoderSettings(n_hashes=9, bits=7, **given).for_rows(n_rows)
    assert (found.n_hashes, found.bits) == (9, 7)


@pytest.mark.parametrize("form", [np.float64, np.float32, np.asfortranarray])
def test_the_codes_of_a_row_are_those_that_it_has_among_others(form: Any) -> None:
    rows, other = form(X), form(-X)
    coder = fitted(rows, scale="numeric")
    expected = coder.codes(rows)
    row = rows[:1].copy()
    for number in (0, 0, 3, 5, 0):
        row[:] = rows[number]
        assert_array_equal(coder.codes(row), expected[number : number + 1])
        assert not np.array_equal(coder.codes(other[number : number + 1]), expected[number : number + 1])
    assert vars(pickle.loads(pickle.dumps(coder))).keys() == set(Coder.__dataclass_fields__)
