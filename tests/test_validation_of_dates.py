"""Dates in frames: hashers and kernels refuse them, whatever the library, and say so in the same words."""

from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gcwsnet

DAY = datetime(2020, 1, 1)
VALUES: dict[str, list[Any]] = {
    "dates": [date(2020, 1, 1), date(2020, 1, 2)],
    "datetimes": [DAY, DAY],
    "durations": [timedelta(1), timedelta(2)],
    "times": [time(1), time(2)],
    "with missing": [None, date(2020, 1, 1)],
}
FRAMES: dict[str, Any] = {
    "pandas": lambda values: pd.DataFrame({"x": [1.0, 2.0], "when": values}),
    "pandas objects": lambda values: pd.DataFrame({"x": [1.0, 2.0], "when": pd.Series(values, dtype=object)}),
    "polars": lambda values: pl.DataFrame({"x": [1.0, 2.0], "when": values}),
    "arrow": lambda values: pa.table({"x": [1.0, 2.0], "when": values}),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", VALUES)
def test_a_column_of_dates_is_refused_by_name(frame: str, kind: str) -> None:
    X = FRAMES[frame](VALUES[kind])
    for function in (gcwsnet.gmm_transform, gcwsnet.pgmm_kernel, gcwsnet.GCWSHasher(4).fit):
        with pytest.raises(TypeError, match="X must hold real numbers, got dates or times in the column 'when'"):
            function(X)


@pytest.mark.parametrize("frame", FRAMES)
def test_numbers_are_taken_from_every_frame(frame: str) -> None:
    X = FRAMES[frame]([3, 4])
    assert np.asarray(gcwsnet.gmm_transform(X)).tolist() == [[1, 0, 3, 0], [2, 0, 4, 0]]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", ["dates", "datetimes"])
def test_estimators_take_dates_as_days_from_every_frame(frame: str, kind: str) -> None:
    X = FRAMES[frame](VALUES[kind])
    model = gcwsnet.GCWSNetClassifier(4, hidden=(2,), search="off", epochs=1).fit(X, [0, 1])
    assert model.schema_ is not None
    assert [column.kind for column in model.schema_.columns] == ["number", "date"]
