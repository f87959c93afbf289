"""Tables of all types of columns: every kind of frame and file has the same rows, or there is a clear error."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from gcwsnet import GCWSNetClassifier
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.files import Schema, read
from gcwsnet.files._predict import Model
from gcwsnet.tables._frames import encode_frame, learn_schema, open_frame
from tests.fuzz.written import FINE

NUMBERS = [0.0, -0.0, 1.0, 2.0, 0.1, -2.5, 1e16, 1e22, 1e-7, 123456789.0, 1e300]
INTEGERS = [0, 1, -1, 2, 17, 10**6, 2**53, 2**53 + 1, 2**62]
TEXTS = ["a", "b", "1", "1.0", "01", "1.10", "true", "NA", "", "nan", "None", " a", "é", "2024-01-01", "x,y", '"q"']
DAYS = [0, 1, -1, 19000, 0.5, 0.25, 12345.678]


def _objects(values: list[Any]) -> Any:
    return pd.Series(values, dtype=object)


def _dates(values: list[Any]) -> list[Any]:
    return [None if one is None else datetime(2000, 1, 1) + timedelta(days=one) for one in values]


def _category(values: list[Any], *, ordered: bool = False) -> Any:
    return pd.Series(pd.Categorical(_objects(values), ordered=ordered))


COLUMNS: dict[str, tuple[list[Any], Callable[[list[Any]], Any]]] = {
    "float": (NUMBERS, lambda values: pd.Series(values, dtype="float64")),
    "float32": ([0.0, 1.0, -2.5, 4096.0], lambda values: pd.Series(values, dtype="float32")),
    "int": (INTEGERS, lambda values: pd.Series([one or 0 for one in values], dtype="int64")),
    "Int64": (INTEGERS, lambda values: pd.Series(values, dtype="Int64")),
    "bool": ([True, False], lambda values: pd.Series([bool(one) for one in values])),
    "boolean": ([True, False], lambda values: pd.Series(values, dtype="boolean")),
    "text": (TEXTS, _objects),
    "texts of a type": (TEXTS, lambda values: pd.Series(values, dtype="string")),
    "category of texts": (TEXTS, _category),
    "category of floats": (NUMBERS, _category),
    "category of integers": (INTEGERS, _category),
    "category of booleans": ([True, False], _category),
    "ordered texts": (TEXTS, lambda values: _category(values, ordered=True)),
    "ordered floats": (NUMBERS, lambda values: _category(values, ordered=True)),
    "objects": ([*NUMBERS[:5], *INTEGERS], _objects),
    "decimals": (["1.00", "2.5", "-0.0", "12345678901234567891.5", "7"], lambda values: _objects(_decimals(values))),
    "dates": (DAYS, lambda values: pd.to_datetime(pd.Series(_dates(values)))),
    "dates in a zone": (DAYS, lambda values: pd.to_datetime(pd.Series(_dates(values))).dt.tz_localize("Asia/Tokyo")),
    "dates as objects": (DAYS, lambda values: _objects([one and one.replace(tzinfo=UTC) for one in _dates(values)])),
    "durations": (DAYS, lambda values: pd.to_timedelta(pd.Series(values, dtype="float64"), unit="D")),
}


def _decimals(values: list[Any]) -> list[Any]:
    return [None if one is None else Decimal(one) for one in values]


def make_table(random: Random) -> bytes:
    """Return the columns of a small table, with missing values, by their types."""
    n_rows, columns = random.randint(1, 12), []
    for _ in range(random.randint(1, 4)):
        kind = random.choice(list(COLUMNS))
        some = random.sample(COLUMNS[kind][0], random.randint(1, min(4, len(COLUMNS[kind][0]))))
        values = [None if random.random() < 0.2 else random.choice(some) for _ in range(n_rows)]
        columns.append([kind, values])
    return json.dumps(columns).encode()


def check_table(data: bytes) -> str:
    """A schema of the frame, and one of its CSV file, give all other frames and files the same rows.

    A model of the frame makes the same predictions for all of them.
    """
    columns = json.loads(data)
    frame = pd.DataFrame({f"c{i}": COLUMNS[kind][1](values) for i, (kind, values) in enumerate(columns)})
    frame["x"] = np.arange(float(len(frame)))
    categories = [f"c{i}" for i, (kind, _) in enumerate(columns) if any(one in kind for one in ("text", "cat", "ord"))]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            made = _made(frame, Path(folder), dict.fromkeys(categories, str))
            schemas = [learn_schema(open_frame(frame), "nan")]
            X = _encoded(frame, schemas[0])
            if not any(kind.startswith("ordered") for kind, _ in columns):
                schemas.append(read(made["csv"], categorical=categories, missing="nan", header=True).schema)
        except (ValueError, TypeError, pa.ArrowException, pl.exceptions.PolarsError) as error:
            return type(error).__name__
        for schema in schemas:
            try:
                expected = X if schema is schemas[0] else _encoded(made["csv"], schema)
            except ValueError:
                continue
            for name, form in made.items():
                try:
                    found = _encoded(form, schema)
                except (ValueError, TypeError, UserWarning):
                    continue
                np.testing.assert_array_equal(found, expected, err_msg=f"{name}, {schema}")
        if len(frame) > 1:
            _check_predictions(frame, made, Path(folder) / "model")
    return FINE


def _check_predictions(frame: pd.DataFrame, made: dict[str, Any], path: Path) -> None:
    """A model of the frame, and the same model from its file, make the same predictions for every form."""
    model = GCWSNetClassifier(8, hidden=4, epochs=1, search="off", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of constant columns and of few rows of a class
        model.fit(frame, np.arange(len(frame)) % 2).save(path)
    expected, of_file = model.predict_proba(frame), Model(Predictor.load(path))
    for name, form in made.items():
        try:
            if isinstance(form, Path):
                batches = of_file.read([str(form)], labels_needed=False, reading=_header(form))
                found = np.vstack([np.asarray(one.probabilities) for one in of_file.predictions(batches)])
            else:
                found = model.predict_proba(form)
        except (ValueError, TypeError, UserWarning):
            continue
        np.testing.assert_array_equal(found, expected, err_msg=name)


def _made(frame: pd.DataFrame, folder: Path, types: dict[str, Any]) -> dict[str, Any]:
    """Return the frame in all forms that its types have: other frames, and the paths of files."""
    made: dict[str, Any] = {"pandas": frame, "csv": folder / "a.csv", "tsv": folder / "a.tsv"}
    frame.to_csv(made["csv"], index=False)
    frame.to_csv(made["tsv"], index=False, sep="\t")
    table = pa.Table.from_pandas(frame)
    frame.to_parquet(folder / "a.parquet")
    frame.to_feather(folder / "a.arrow")
    return made | {
        "arrow": table,
        "polars": pl.from_arrow(table),
        "parquet": folder / "a.parquet",
        "feather": folder / "a.arrow",
        "pandas of csv": pd.read_csv(made["csv"], dtype=types),
    }


def _encoded(form: Any, schema: Schema) -> Any:
    if not isinstance(form, Path):
        return encode_frame(open_frame(form), schema)
    return np.vstack([batch.X for batch in read(form, schema=schema, **_header(form))])


def _header(path: Path) -> dict[str, Any]:
    return {"header": True} if path.suffix in (".csv", ".tsv") else {}
