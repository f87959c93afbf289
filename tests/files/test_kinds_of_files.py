"""One table, written as programs and people write tables: every file gives the same rows."""

import bz2
import csv
import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from gcwsnet.files import read

TABLE = pd.DataFrame(
    {
        "höhe": [1.5, -20.0, 3.25, 1e-3, np.nan, 7.0],
        "ort": ["Köln", 'a "quoted" name', "two\nlines", "semi;colon", "com,ma", "Köln"],
        "wann": pd.to_datetime(["2024-12-31", "2024-02-01", "2023-05-20", "2024-01-15", "2000-02-29", "1970-01-01"]),
        "neu": [True, False, True, True, False, False],
        "ziel": [1, 2, 1, 1, 2, 2],
    }
)


def as_csv(*, frame: pd.DataFrame = TABLE, encoding: str = "utf-8", **settings: Any) -> bytes:
    return frame.to_csv(index=settings.pop("index", False), **settings).encode(encoding)


def with_dates(form: str) -> pd.DataFrame:
    return TABLE.assign(wann=TABLE["wann"].dt.strftime(form))


def with_text(text: str) -> bytes:
    return as_csv(frame=TABLE.assign(höhe=TABLE["höhe"].astype(object).fillna(text)))


KINDS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "commas": ("csv", as_csv(), {}),
    "semicolons": ("csv", as_csv(sep=";"), {}),
    "semicolons and decimal commas": ("csv", as_csv(sep=";", decimal=","), {}),
    "tabs": ("tsv", as_csv(sep="\t"), {}),
    "tabs in a .csv, decimal commas": ("csv", as_csv(sep="\t", decimal=","), {}),
    "bars": ("csv", as_csv(sep="|"), {}),
    "no extension": ("", as_csv(sep=";"), {}),
    "a byte order mark": ("csv", as_csv(encoding="utf-8-sig"), {}),
    "UTF-16": ("csv", as_csv(encoding="utf-16"), {"encoding": "utf-16"}),
    "Windows-1252": ("csv", as_csv(sep=";", decimal=",", encoding="cp1252"), {"encoding": "cp1252"}),
    "Latin-1": ("csv", as_csv(encoding="latin-1"), {"encoding": "latin-1"}),
    "lines of Windows": ("csv", as_csv(lineterminator="\r\n"), {}),
    "no newline at the end": ("csv", as_csv().rstrip(b"\n"), {}),
    "blank lines": ("csv", as_csv().replace(b"\n-20.0", b"\n\n-20.0") + b"\n\n", {}),
    "every field quoted": ("csv", as_csv(quoting=csv.QUOTE_ALL), {}),
    "? for a missing number": ("csv", with_text("?"), {}),
    "unknown for a missing number": ("csv", with_text("unknown"), {}),
    "NA for a missing number": ("csv", with_text("NA"), {}),
    "-99 for a missing number": ("csv", with_text("-99"), {"na_values": ["-99"]}),
    "dates with the day first": ("csv", as_csv(frame=with_dates("%d/%m/%Y")), {}),
    "dates with points": ("csv", as_csv(frame=with_dates("%d.%m.%Y"), sep=";", decimal=","), {}),
    "dates with the month first": ("csv", as_csv(frame=with_dates("%m/%d/%Y")), {}),
    "dates with times": ("csv", as_csv(frame=with_dates("%Y-%m-%dT%H:%M:%SZ")), {}),
    "the index of pandas": ("csv", as_csv(index=True), {"exclude": ["Unnamed: 0"]}),
    "columns in another order": ("csv", as_csv(frame=TABLE[["ziel", "neu", "höhe", "wann", "ort"]]), {}),
    "gzip": ("csv.gz", gzip.compress(as_csv()), {}),
    "bzip2": ("csv.bz2", bz2.compress(as_csv()), {}),
    "xz": ("csv.xz", lzma.compress(as_csv()), {}),
    "zstd": ("csv.zst", pa.compress(as_csv(), "zstd", asbytes=True), {}),
    "gzip without an extension": ("", gzip.compress(as_csv()), {}),
    "Parquet": ("parquet", TABLE.to_parquet(index=False), {}),
    "Parquet with the index": ("parquet", TABLE.set_index("ziel", drop=False).reset_index(drop=True).to_parquet(), {}),
    "Feather": ("feather", TABLE.to_feather, {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_the_same_whoever_wrote_it(kind: str, tmp_path: Path) -> None:
    extension, content, settings = KINDS[kind]
    path = tmp_path / f"rows{'.' * bool(extension)}{extension}"
    content(path) if callable(content) else path.write_bytes(content)
    rows = read(path, label="ziel", missing="nan", **settings)
    columns = {column.name: column for column in rows.schema.columns}
    assert {name: column.kind for name, column in columns.items()} == {
        "höhe": "number",
        "ort": "onehot",
        "wann": "date",
        "neu": "boolean",
    }
    X, y, _ = next(iter(rows))
    place = dict(zip(rows.schema.feature_names(), range(X.shape[1]), strict=True))
    days = (TABLE["wann"] - pd.Timestamp("1970-01-01")).dt.days
    assert_array_equal(X[:, place["höhe"]], TABLE["höhe"])
    assert_array_equal(X[:, place["wann"]], days)
    assert_array_equal(X[:, place["neu"]], TABLE["neu"])
    for text in TABLE["ort"].unique():
        assert_array_equal(X[:, place[f"ort={text}"]], TABLE["ort"] == text)
    assert_array_equal(y, TABLE["ziel"])
