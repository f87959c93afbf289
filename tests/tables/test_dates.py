"""Dates and durations as days: one rule for texts, pandas and Arrow."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.tables._columns import MICROSECONDS_OF_A_DAY, ArrowColumn, PandasColumn, parse_date, parse_duration

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MICROSECOND = datetime.timedelta(microseconds=1)
ZONES = st.none() | st.integers(-23 * 60, 23 * 60).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)


@given(st.datetimes(timezones=ZONES), st.sampled_from("T "))
def test_a_date_is_its_distance_from_1970_in_utc(moment: datetime.datetime, separator: str) -> None:
    in_utc = moment.replace(tzinfo=moment.tzinfo or datetime.timezone.utc)
    assert parse_date(moment.isoformat(sep=separator)) == (in_utc - EPOCH) // MICROSECOND


@given(st.dates())
def test_a_day_is_a_whole_number(day: datetime.date) -> None:
    assert parse_date(day.isoformat()) == (day.toordinal() - EPOCH.toordinal()) * MICROSECONDS_OF_A_DAY


@given(st.timedeltas(datetime.timedelta(days=-100_000), datetime.timedelta(days=100_000)))
def test_a_duration_is_what_pandas_writes(duration: datetime.timedelta) -> None:
    assert parse_duration(str(pd.Timedelta(duration))) == duration // MICROSECOND


@pytest.mark.parametrize(
    "text", ["", "2020", "2020-13-01", "2021-02-29", "2020-1-1", "01/02/2020", "2020-01-01 25:00", "Rome", "1 days"]
)
def test_other_texts_are_no_dates(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize("text", ["", "1", "1 day 5", "days", "2020-01-01", "1 days 24:00:00"])
def test_other_texts_are_no_durations(text: str) -> None:
    assert parse_duration(text) is None


def test_parts_of_a_microsecond_are_dropped_before_and_after_1970() -> None:
    text = ["1969-12-31T23:59:59.999999999", "1970-01-01T00:00:00.000000999", "2262-01-01T00:00:00.123456789"]
    expected = [-1, 0, parse_date("2262-01-01T00:00:00.123456")]
    assert [parse_date(one) for one in text] == expected
    moments = pd.Series(np.array(text, dtype="datetime64[ns]"))
    days = np.array(expected, dtype=np.int64) / MICROSECONDS_OF_A_DAY
    assert PandasColumn(moments).days().tolist() == days.tolist()
    assert ArrowColumn(pa.array(moments)).days().tolist() == days.tolist()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_the_unit_of_a_type_does_not_matter(unit: str) -> None:
    moments = np.array(["2024-05-31T18:30:01", "1901-01-01", "NaT"], dtype=f"datetime64[{unit}]")
    durations = np.array([-5, 86_400, "NaT"], dtype="timedelta64[s]").astype(f"timedelta64[{unit}]")
    first = parse_date("2024-05-31T18:30:01")
    assert first is not None
    expected = [first / MICROSECONDS_OF_A_DAY, -25202.0, np.nan]
    for column in (PandasColumn(pd.Series(moments)), ArrowColumn(pa.array(moments))):
        np.testing.assert_array_equal(column.days(), expected)
    for column in (PandasColumn(pd.Series(durations)), ArrowColumn(pa.array(durations))):
        np.testing.assert_array_equal(column.days(), [-5 / 86_400, 1, np.nan])


def test_all_types_of_days() -> None:
    days = [datetime.date(1970, 1, 2), None]
    for kind in (pa.date32(), pa.date64()):
        np.testing.assert_array_equal(ArrowColumn(pa.array(days, kind)).days(), [1, np.nan])
    np.testing.assert_array_equal(PandasColumn(pd.Series(days, dtype=object)).days(), [1, np.nan])
