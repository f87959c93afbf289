"""One table in the kinds of files that people and programs write: what pandas, scikit-learn and LightGBM make of it.

The kinds are those of `tests/files/test_kinds_of_files.py`, where each must give the same rows. Where a kind needs a
hint, pandas gets the same one.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.subject import Section, environment, markdown_table
from gcwsnet.files import read
from tests.files.test_kinds_of_files import KINDS, TABLE

NAMES = {"höhe": "numbers", "ort": "text", "wann": "dates", "neu": "booleans", "ziel": "labels"}

HOLDS = {"höhe": "number", "ort": "onehot", "wann": "date", "neu": "boolean"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(options: argparse.Namespace) -> Section:  # noqa: ARG001
    """Return the table."""
    rows, n_lightgbm, n_fits = [], 0, 0
    for kind, (extension, content, settings) in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"rows{'.' * bool(extension)}{extension}"
            content(path) if callable(content) else path.write_bytes(content)
            frame, of_pandas = read_by_pandas(path, settings)
            n_lightgbm += is_read_by_lightgbm(path)
            n_fits += frame is not None and is_fitted_by_scikit_learn(frame)
            ours = read(path, label="ziel", missing="nan", **settings)
            columns = {column.name: column.kind for column in ours.schema.columns}
            n_columns = sum(columns.get(name) == holds for name, holds in HOLDS.items())
            n_columns += np.array_equal(np.asarray(next(iter(ours)).y), TABLE["ziel"])
        hints = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        rows.append([kind, of_pandas, f"{n_columns} of 5{f' with `{hints}`' if hints else ''}"])
    head = ["a table of five columns as a file with", "pandas", "gcwsnet"]
    said = (
        f"scikit-learn's `HistGradientBoostingClassifier` fits {n_fits} of the frames of pandas as they are, and\n"
        f" LightGBM's own reader takes {n_lightgbm} of the {len(rows)} files."
    )
    packages = ("pandas", "scikit-learn", "lightgbm")
    return Section("\n".join([*environment(*packages), "", markdown_table(head, rows, "lll"), "", said]))


def read_by_pandas(path: Path, settings: dict[str, Any]) -> tuple[pd.DataFrame | None, str]:
    """Return a frame, and how many of its columns are what they are in the table, or why there is no frame."""
    hints = {name: value for name, value in settings.items() if name != "exclude"}
    hints |= {"index_col": 0} if "exclude" in settings else {}
    by_extension: dict[str, Any] = {".parquet": pd.read_parquet, ".feather": pd.read_feather, ".tsv": pd.read_table}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = by_extension.get(path.suffix, pd.read_csv)(path, **hints)
    except (ImportError, ValueError, OSError) as error:
        return None, f"an error: {str(error).splitlines()[0][:60]}"
    wrong = [what for name, what in NAMES.items() if not is_right(frame, name)]
    if len(wrong) == len(NAMES):
        return frame, f"0 of 5: {len(frame.columns)} column{'s' * (len(frame.columns) > 1)}"
    return frame, f"{5 - len(wrong)} of 5{': not the ' + ', '.join(wrong) if wrong else ''}"


def is_right(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a column has the values of the table, in a type that says what they are."""
    if name not in frame.columns or len(frame) != len(TABLE):
        return False
    found, expected = frame[name].reset_index(drop=True), TABLE[name]
    if expected.dtype.kind == "M":
        return found.dtype.kind == "M" and bool((found.dt.tz_localize(None) == expected).all())
    if expected.dtype.kind in "fib" and found.dtype.kind not in "fib":
        return False
    return bool(((found == expected) | (found.isna() & expected.isna())).all())


def is_fitted_by_scikit_learn(frame: pd.DataFrame) -> bool:
    """Return whether a fit takes a frame as it is."""
    try:
        HistGradientBoostingClassifier().fit(frame.drop(columns="ziel"), frame["ziel"])
    except (ValueError, KeyError, TypeError):
        return False
    return True


def is_read_by_lightgbm(path: Path) -> bool:
    """Return whether LightGBM's own reader, which its command has too, takes a file."""
    params = {"header": True, "label_column": "name:ziel", "verbose": -1}
    try:
        return bool(lightgbm.Dataset(str(path), params=params).construct().num_data() == len(TABLE))
    except lightgbm.basic.LightGBMError:
        return False
