"""Bad input: an error that names the rule, the value and the way out, and an index that is as it was."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from gcwsnet import GCWSHasher
from gcwsnet.neighbors import GCWSIndex
from tests.neighbors.rows import clustered

X = clustered(50)


@pytest.fixture
def index() -> GCWSIndex:
    return GCWSIndex(32, threshold=0.8).add(X, ids=np.arange(50))


def assert_as_it_was(index: GCWSIndex) -> None:
    assert index.n_samples_fit_ == 50
    assert index.n_features_in_ == 20
    assert index.query(X, 1).ids[:, 0].tolist() == list(range(50))


@pytest.mark.parametrize(
    ("rows", "ids", "error", "message"),
    [
        (X[:2, :19], None, ValueError, "X has 19 features, but GCWSIndex is expecting 20 features"),
        (X[:2] * np.nan, None, ValueError, r"X\[0, 0\] is NaN"),
        (X[:2] * np.inf, None, ValueError, r"X\[0, 0\] is"),
        ([["a", "b"]], None, ValueError, "X must hold numbers"),
        (X[:2], [7, 60], ValueError, "ids must differ, and 7 is in the index already; nothing was added"),
        (X[:2], [60, 60], ValueError, "ids must differ, and 60 occurs twice"),
        (X[:2], [60], ValueError, "one id for each row, got 1 ids for 2 rows"),
        (X[:2], ["a", "b"], ValueError, "all numbers or all texts"),
        (X[:2], ["a", 3], TypeError, "whole numbers .* or texts, all of one kind, got 'a'"),
        (X[:2], [1.5, 2.5], TypeError, r"got 1\.5 \(float\)"),
        (X[:2], [2**63, 1], TypeError, "below 2"),
        (X[:2], [True, False], TypeError, r"got True \(bool\)"),
    ],
)
def test_rows_that_cannot_be_added_change_nothing(
    index: GCWSIndex, rows: Any, ids: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        index.add(rows, ids=ids)
    assert_as_it_was(index)


def test_a_first_batch_that_fails_leaves_an_empty_index() -> None:
    index = GCWSIndex(32)
    with pytest.raises(ValueError, match="one id for each row"):
        index.add(X, ids=[1])
    assert not hasattr(index, "n_features_in_")
    assert index.add(X[:, :5]).n_features_in_ == 5


def test_columns_of_other_names_are_an_error() -> None:
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(20)])
    index = GCWSIndex(32).add(frame)
    with pytest.raises(ValueError, match="feature names"):
        index.query(frame.rename(columns={"c3": "d3"}), 1)


@pytest.mark.parametrize(
    ("ids", "message"),
    [([3, 77], "and 77 is not; nothing was removed"), (["x"], "and 'x' is not"), ([3, 3], "3 occurs twice")],
)
def test_unknown_ids_cannot_be_removed(index: GCWSIndex, ids: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        index.remove(ids)
    assert_as_it_was(index)
    index.remove([3])
    with pytest.raises(ValueError, match="and 3 is not"):
        index.remove([3])


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (GCWSHasher(32, random_state=1), "seed=0 and seed=1"),
        (GCWSHasher(32, random_state=0, p=2.0), r"p=1\.0 and p=2\.0"),
        (GCWSHasher(32, random_state=0, bits=4), "bits of the codes"),
        (GCWSHasher(32, random_state=0, method="extremal"), "method='gcws' and method='extremal'"),
        (GCWSHasher(16, random_state=0), r"the shape \(n, 32\), got \(50, 16\)"),
    ],
)
def test_codes_of_another_hasher_are_refused(codes: GCWSHasher, message: str) -> None:
    index = GCWSIndex(32, keep_rows=False).add(X)
    for call in (index.add, lambda given: index.query(given, 1)):
        with pytest.raises(ValueError, match=message):
            call(clone(codes).fit_transform(X))
    assert_as_it_was(index)


def test_codes_cannot_be_compared_exactly(index: GCWSIndex) -> None:
    codes = GCWSHasher(32, random_state=0).fit_transform(X)
    with pytest.raises(ValueError, match="codes have no rows to compare exactly"):
        index.query(codes, 1)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (GCWSIndex(32, threshold=0.8, random_state=1), "seed=0 and seed=1"),
        (GCWSIndex(64, threshold=0.8), "n_hashes=32 and n_hashes=64"),
        (GCWSIndex(32), "threshold=0.8 and threshold=None"),
        (GCWSIndex(32, threshold=0.8, keep_rows=False), "keep_rows=True and keep_rows=False"),
    ],
)
def test_indexes_of_other_settings_cannot_be_merged(index: GCWSIndex, other: GCWSIndex, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        index.merge(clone(other).add(X, ids=np.arange(50, 100)))
    assert_as_it_was(index)


def test_indexes_with_a_common_id_or_other_rows_cannot_be_merged(index: GCWSIndex) -> None:
    with pytest.raises(ValueError, match="ids must differ, and 49 is in the index already"):
        index.merge(GCWSIndex(32, threshold=0.8).add(X, ids=np.arange(49, 99)))
    with pytest.raises(ValueError, match="all numbers or all texts"):
        index.merge(GCWSIndex(32, threshold=0.8).add(X, ids=[f"{i}" for i in range(50)]))
    with pytest.raises(ValueError, match=r"as many columns, got \[5, 20\]"):
        index.merge(GCWSIndex(32, threshold=0.8).add(X[:, :5], ids=np.arange(50, 100)))
    assert_as_it_was(index)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_hashes": 0}, "n_hashes must be from 1"),
        ({"bits": 40}, "bits must be from 1 to 32, got bits=40"),
        ({"p": -1.0}, "p must be from"),
        ({"threshold": 1.5}, "threshold must be from 0 to 1, got threshold=1.5"),
        ({"recall": 1.0}, "recall must be from 0.5 to 0.9999"),
        ({"method": "tree"}, "method must be one of"),
        ({"method": "bands"}, "method='bands' needs a threshold"),
    ],
)
def test_wrong_settings_are_refused_when_rows_come(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GCWSIndex(**settings).add(X)


def test_searches_say_what_they_need(index: GCWSIndex, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="k must be at most 50, the rows that can be neighbours, got k=51"):
        index.query(X, 51)
    with pytest.raises(ValueError, match="n_neighbors must be at most 49"):
        index.kneighbors(n_neighbors=50)
    with pytest.raises(ValueError, match="t must be from 0 to 1"):
        index.query_threshold(X, 1.1)
    with pytest.raises(ValueError, match=r"bands were chosen for similarities from threshold=0\.8 on, got 0\.5"):
        index.set_params(method="bands").pairs(0.5)
    with pytest.raises(NotFittedError):
        GCWSIndex(32).query(X, 1)
    with pytest.raises(NotFittedError):
        GCWSIndex(32).save(tmp_path)


def test_texts_as_ids_do_not_count_on() -> None:
    index = GCWSIndex(32).add(X, ids=[f"{i}" for i in range(50)])
    with pytest.raises(ValueError, match="texts as ids, which cannot be continued; give ids"):
        index.add(X)


def test_ids_that_cannot_go_on_say_so() -> None:
    index = GCWSIndex(8).add(X[:1], ids=[2**63 - 2])
    assert index.add(X[1:2]).ids_[-1] == 2**63 - 1
    with pytest.raises(ValueError, match=r"below 2\*\*63, and the largest one is 9223372036854775807; give ids"):
        index.add(X[2:3])
    assert index.add(X[2:3], ids=[0]).n_samples_fit_ == 3
