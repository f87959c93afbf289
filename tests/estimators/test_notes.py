"""A fit warns of what is odd about its rows, and says what follows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier

SMALL: dict[str, Any] = {"n_hashes": 8, "hidden": (4,), "epochs": 1, "search": "off", "random_state": 0}
X = pd.DataFrame({"a": np.arange(12.0), "b": list("xyxyxyxyxyxy")})
Y = np.array([0, 1] * 6)


def warned(X: Any, y: Any, model: Any = None) -> str:
    with pytest.warns(UserWarning, match=".") as found:
        (model or GCWSNetClassifier(**SMALL)).fit(X, y)
    assert found[0].filename == __file__
    return str(found[0].message)


@pytest.mark.parametrize("model", [GCWSNetClassifier(**SMALL), PGMMClassifier(p=1.0, random_state=0)])
def test_a_single_class(model: Any) -> None:
    assert warned(X, ["yes"] * 12, model) == "all rows have the label 'yes', and the model will predict nothing else"


def test_classes_of_one_row() -> None:
    expected = "the label 7 has one row, which cannot be both learned and held out for a score"
    assert warned(X, np.where(np.arange(12) == 3, 7, Y)) == expected
    expected = "the labels 7, 8 have one row each, which cannot be both learned and held out for a score"
    assert warned(X, [7, 8, *Y[2:]]) == expected


@pytest.mark.parametrize("more", [[], [str(i) for i in range(200)]])
def test_constant_columns_of_a_table(more: list[str]) -> None:
    n = 12 + len(more)
    frame = pd.DataFrame({"a": np.arange(n), "c": 5, "d": "one", "e": np.nan, "f": [*"xyxyxyxyxyxy", *more]})
    expected = "'c', 'd', 'e' have the same value in all rows, and say nothing about a label"
    assert warned(frame, np.arange(n) % 2) == expected
    assert warned(frame[["a", "c"]], np.arange(n), GCWSNetRegressor(**SMALL)).startswith("'c' has the same value")


def test_the_index_of_pandas() -> None:
    expected = "the column 'Unnamed: 0' has no name, as the row numbers that pandas writes; drop it if it is that"
    assert warned(X.rename(columns={"a": "Unnamed: 0"}), Y) == expected


def test_arrays_with_constant_columns_are_fine() -> None:
    GCWSNetClassifier(**SMALL).fit(np.column_stack([np.arange(12.0), np.ones(12)]), Y)
