"""Columns of tables as numbers, as days and as texts: one rule for pandas, Arrow and text files.

Dates are days since 1970-01-01 in UTC, durations are days, both to the microsecond. A category is a text.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet._validation import MAX_EXACT, inexact_integers
from gcwsnet.tables._errors import require_pyarrow

Floats = NDArray[np.float64]

MICROSECONDS_OF_A_DAY = 86_400_000_000
EPOCH = date(1970, 1, 1).toordinal()
TIME = r"(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d)(?:\.(?P<f>\d{1,9}))?)?"
DATE = re.compile(rf"(\d{{4}})-(\d\d)-(\d\d)(?:[T ]{TIME}(?: ?(?P<zone>Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d))?)?", re.ASCII)
DATE_WITH_YEAR_LAST = re.compile(
    rf"(?P<one>\d{{1,2}})(?P<sep>[/.-])(?P<two>\d{{1,2}})(?P=sep)(?P<year>\d{{4}})(?:[ T]{TIME})?", re.ASCII
)
DURATION = re.compile(rf"(-?\d{{1,7}}) days?(?: (?P<sign>[+-]?){TIME})?", re.ASCII)

BOOLEANS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}

NOT_A_NUMBER = ("-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "NaN", "nan")
MISSING_VALUES = ("", "NULL", "None", "null", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "n/a", *NOT_A_NUMBER)
"""The texts that stand for a missing value: the defaults of `pandas.read_csv`."""

MISSING_TEXTS = frozenset(MISSING_VALUES)

PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?(?:[eE][-+]?\d{1,3})?|-?inf", re.ASCII)
"""A number as programs write it, without zeros or a plus in front: 01 is a text, such as a part of a postcode."""

WORD = re.compile(r"\w+(?:'\w+)?")

MIN_PROSE, MIN_WORDS = 20, 4
"""A column of text has words if it has so many texts, half of which have so many words."""

INTEGER = re.compile(r"[-+]?\d+", re.ASCII)

NUMBERS_WITH_COMMAS = "numbers with commas"
NUMBER_WITH_COMMAS = re.compile(r"[+-]?(\d+(\.\d{3})*,\d+|\d{1,3}(,\d{3})+(\.\d+)?|\d+)")
"""A number with a decimal comma, with commas after each thousand, or without any."""


def parse_date(text: str) -> int | None:
    """Return the microseconds from 1970-01-01 in UTC to a date or time in ISO 8601, None for any other text.

    A time without a zone is in UTC. Digits beyond the microsecond are dropped.

    Examples
    --------
    >>> parse_date("1970-01-02"), parse_date("1970-01-01T01:00:00.5+01:00"), parse_date("2 May 1970")
    (86400000000, 500000, None)
    """
    found = DATE.fullmatch(text.strip())
    if found is None:
        return None
    try:
        days = date(*(int(part) for part in found.groups()[:3])).toordinal() - EPOCH
    except ValueError:  # the 30th of February
        return None
    zone = found["zone"]
    offset = 0
    if zone not in (None, "Z"):
        offset = int(zone[0] + "1") * (int(zone[1:3]) * 60 + int(zone[-2:])) * 60_000_000
    return days * MICROSECONDS_OF_A_DAY + _time(found) - offset


def parse_day_first(text: str) -> int | None:
    """Return the microseconds from 1970-01-01 to a date such as 31/12/2024 or 31.12.2024 18:30, None for other texts.

    Examples
    --------
    >>> parse_day_first("02/01/1970"), parse_month_first("01/02/1970 00:00:01"), parse_day_first("01/13/1970")
    (86400000000, 86401000000, None)
    """
    return _parse_year_last(text, ("two", "one"))


def parse_month_first(text: str) -> int | None:
    """Return the microseconds from 1970-01-01 to a date such as 12/31/2024, None for other texts."""
    return _parse_year_last(text, ("one", "two"))


def _parse_year_last(text: str, month_and_day: tuple[str, str]) -> int | None:
    found = DATE_WITH_YEAR_LAST.fullmatch(text.strip())
    if found is None:
        return None
    try:
        days = date(int(found["year"]), *(int(found[part]) for part in month_and_day)).toordinal() - EPOCH
    except ValueError:
        return None
    return days * MICROSECONDS_OF_A_DAY + _time(found)


DATE_ORDERS = {"day first": parse_day_first, "month first": parse_month_first}


def order_of_dates(texts: Sequence[str]) -> str | None:
    """Return "day first" or "month first" for dates with the year last, None if they are other texts.

    Where all fit both, it is "day first"; `DATE_ORDERS` has the parsers.

    Examples
    --------
    >>> order_of_dates(["01/02/2024", "31/12/2024"]), order_of_dates(["12/31/2024"]), order_of_dates(["31/12/24"])
    ('day first', 'month first', None)
    """
    for order, parse in DATE_ORDERS.items():
        if texts and all(parse(text) is not None for text in texts):
            return order
    return None


def parse_duration(text: str) -> int | None:
    """Return the microseconds of a duration as pandas writes it, None for any other text.

    Examples
    --------
    >>> parse_duration("1 days 00:00:01"), parse_duration("-1 days +23:59:59.5"), parse_duration("1 hour")
    (86401000000, -500000, None)
    """
    found = DURATION.fullmatch(text.strip())
    if found is None:
        return None
    return int(found[1]) * MICROSECONDS_OF_A_DAY + (-1 if found["sign"] == "-" else 1) * _time(found)


def _time(found: re.Match[str]) -> int:
    """Return the microseconds of the time of day of a match, 0 where it has none."""
    hours, minutes, seconds = (int(found[name] or 0) for name in "hms")
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + int((found["f"] or "").ljust(6, "0")[:6])


def days_of(numbers: NDArray[np.int64], unit: str, missing: NDArray[np.bool_]) -> Floats:
    """Return the days of numbers of seconds, milliseconds, microseconds or nanoseconds, with NaN for missing ones.

    Examples
    --------
    >>> days_of(np.array([86400, 2**62, 0]), "s", np.array([False, False, True])).tolist()
    [1.0, 53375995583650.32, nan]
    """
    numbers = np.where(missing, 0, numbers)
    factor = 1
    if unit == "ns":
        numbers = numbers // 1000
    else:
        factor = {"s": 1_000_000, "ms": 1000, "us": 1}[unit]
    if len(numbers) and max(-int(numbers.min()), int(numbers.max())) > np.iinfo(np.int64).max // factor:
        days = numbers / (MICROSECONDS_OF_A_DAY // factor)
    else:
        days = numbers * factor / MICROSECONDS_OF_A_DAY
    return np.where(missing, np.nan, days)


def parse_number(text: str) -> float | None:
    """Return the number that a text is, None for any other text and for NaN."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


PARSERS: dict[str, tuple[Callable[[str], float | None], str]] = {
    "number": (parse_number, "a number"),
    "boolean": (lambda text: BOOLEANS.get(text.strip().lower()), "true or false"),
    "date": (parse_date, "a date such as 2024-05-31 or 2024-05-31 18:30:00"),
    "duration": (parse_duration, "a duration such as 1 days 02:30:00"),
}
"""For kinds of columns that may be written as texts: the parser, which returns None for others, and what it parses."""


def kind_of_texts(texts: Sequence[str]) -> str:
    """Return "boolean", "date" or "duration" if all texts of a column are that, else "text".

    Of dates such as 31/12/2024 it is "date, day first", and of 12/31/2024 "date, month first".

    Numbers with commas, such as decimal ones, are nearly never meant as categories, and are no type that is known.

    Examples
    --------
    >>> kind_of_texts(["True", "false"]), kind_of_texts(["2024-05-31", "2024-06-01"]), kind_of_texts(["True", "Rome"])
    ('boolean', 'date', 'text')
    >>> kind_of_texts(["1,5", "2"])
    "numbers with commas, such as '1,5'"
    """
    kinds: dict[str, Callable[[str], bool]] = {
        "boolean": lambda text: text.strip().lower() in ("true", "false"),
        "date": lambda text: parse_date(text) is not None,
        "duration": lambda text: parse_duration(text) is not None,
    }
    for kind, holds in kinds.items():
        if texts and all(holds(text) for text in texts):
            return kind
    order = order_of_dates(texts)
    if order is not None:
        return f"date, {order}"
    with_comma = next((text for text in texts if "," in text), None)
    if with_comma is not None and all(NUMBER_WITH_COMMAS.fullmatch(text.strip()) for text in texts):
        return f"{NUMBERS_WITH_COMMAS}, such as {with_comma.strip()!r}"
    return "text"


def text_of(value: Any) -> str | None:
    """Return the text of a category; a whole number has no point. None for a missing one, as in `MISSING_VALUES`.

    Examples
    --------
    >>> [text_of(value) for value in ("Rome", True, 3, 3.0, np.float32(0.1), math.nan, "NA")]
    ['Rome', 'True', '3', '3', '0.1', None, None]
    """
    if isinstance(value, str):
        return None if value in MISSING_TEXTS else str(value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        number = value if isinstance(value, float) else float(str(value))  # as few digits as tell it from others
        return None if math.isnan(number) else str(int(number)) if number.is_integer() else repr(float(number))
    if isinstance(value, Decimal):
        return _text_of_decimal(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    raise TypeError(f"a category must be a text, a number or a boolean, got {value!r:.60}; convert the column to text")


def _text_of_decimal(value: Decimal) -> str | None:
    """Return the text of the float that a decimal number is written as, or all its digits where it has more."""
    if value.is_nan():
        return None
    number = float(value)
    if not value.is_finite() or Decimal(repr(number)) == value:
        return text_of(number)
    text = format(value, "f") if abs(value.adjusted()) < 1000 else str(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def words_of(text: str) -> list[str]:
    """Return the distinct words of a text, in lower case.

    Examples
    --------
    >>> words_of("Was it good? It wasn't.")
    ['good', 'it', 'was', "wasn't"]
    """
    return sorted(set(WORD.findall(text.lower())))


def is_prose(texts: Sequence[str]) -> bool:
    """Return whether texts are of several words each, and nearly all differ, so that only their words tell something.

    Examples
    --------
    >>> is_prose([f"the review number {i} of this film" for i in range(30)]), is_prose(["New York"] * 30)
    (True, False)
    """
    if len(texts) < MIN_PROSE or len(set(texts)) < 0.9 * len(texts):
        return False
    return sorted(len(WORD.findall(text)) for text in texts)[len(texts) // 2] >= MIN_WORDS


def unnamed_column(name: Any) -> str:
    """Return what there is to say of a column that a file has without a name."""
    return f"the column {name!r} has no name, as the row numbers that pandas writes"


def canonical_text(text: str) -> str:
    """Return one text for all ways to write a number or a boolean, and any other text as it is.

    Examples
    --------
    >>> [canonical_text(text) for text in ("1.0", "1", "-0.0", "2.50", "1e+16", "true", "01", "Rome")]
    ['1', '1', '0', '2.5', '10000000000000000', 'True', '01', 'Rome']
    """
    if text.lower() in ("true", "false"):
        return text.capitalize()
    if text.isdecimal() or PLAIN_NUMBER.fullmatch(text) is None:
        return text
    return str(text_of(Decimal(text)))


def form_of_text(text: str) -> str:
    """Return how a category is written: as "boolean", "integer" such as 1, "whole" such as 1.0, "number", or "text".

    Examples
    --------
    >>> [form_of_text(text) for text in ("true", "1", "1.0", "1.5", "1e+22", "1.10", "01")]
    ['boolean', 'integer', 'whole', 'number', 'number', 'text', 'text']
    """
    if text.lower() in ("true", "false"):
        return "boolean"
    found = PLAIN_NUMBER.fullmatch(text)
    if found is None:
        return "text"
    decimals = found[1]
    if decimals is None:
        return "integer" if text.lstrip("-").isdecimal() else "number"
    return "whole" if decimals == ".0" and text.endswith(".0") else "text" if decimals.endswith("0") else "number"


def are_values(forms: set[str]) -> bool:
    """Return whether texts of these forms are numbers or booleans, no two of which are the same value."""
    return bool(forms) and (forms == {"boolean"} or forms <= {"integer", "number"} or forms <= {"whole", "number"})


def find_categories(texts: Iterable[str], categories: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the places of texts among categories, by the text or else by the value that it is; -1 for unknown ones.

    Examples
    --------
    >>> find_categories(["1.0", "1", "Rome", "3"], ("1.0", "2.0", "Rome")).tolist()
    [0, 0, 2, -1]
    >>> find_categories(["1", "1.00"], ("1.0", "1")).tolist()
    [1, -1]
    """
    by_text, by_value = _category_places(categories)
    found = (by_text[text] if text in by_text else by_value.get(canonical_text(text), -1) for text in texts)
    return np.fromiter(found, dtype=np.int64)


@lru_cache(maxsize=1024)
def _category_places(categories: tuple[str, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the places of categories by their texts, and by their values, with -1 for a value that several have."""
    by_text = {category: place for place, category in enumerate(categories)}
    by_value: dict[str, int] = {}
    for category, place in by_text.items():
        value = canonical_text(category)
        by_value[value] = -1 if value in by_value else place
    return by_text, by_value


def labels_of_texts(texts: Sequence[str]) -> NDArray[Any]:
    """Return labels that are written as numbers: float64, or int64 where all are integers that float64 does not hold.

    A text that is no number is a ValueError, and so is such an integer beyond int64.

    Examples
    --------
    >>> labels_of_texts(["1", "2"]).tolist(), labels_of_texts(["1", "9007199254740993"]).tolist()
    ([1.0, 2.0], [1, 9007199254740993])
    """
    floats = np.array(texts, dtype=np.float64)
    large = np.flatnonzero(np.abs(floats) >= MAX_EXACT).tolist()
    if not any(is_inexact_text(texts[row]) for row in large):
        return floats
    if not bool(np.all(floats == np.floor(floats))):
        return floats  # of a regression
    if not float(np.abs(floats).max()) < 2**63:
        raise ValueError("labels beyond int64 are texts")
    return np.array([int(Decimal(text.strip())) for text in texts], dtype=np.int64)


def is_inexact_text(text: str) -> bool:
    """Return whether a text is an integer that float64 does not hold."""
    return INTEGER.fullmatch(text.strip()) is not None and is_inexact(Decimal(text.strip()))


def is_inexact(value: Any) -> bool:
    """Return whether an integer, or a decimal number that is written as one, is not a number that float64 holds."""
    if isinstance(value, Decimal) and (not value.is_finite() or int(value.as_tuple().exponent) < 0):
        return False
    return bool(abs(value) > MAX_EXACT and Decimal(_as_float(value)) != value)


def _as_float(value: Any) -> float:
    """Return a number of any type as a float, infinite beyond its range, and NaN for a missing value."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _inexact_objects(values: Iterable[Any]) -> dict[int, Any]:
    integers = ((row, value) for row, value in enumerate(values) if isinstance(value, int | np.integer | Decimal))
    return {row: value for row, value in integers if is_inexact(value if isinstance(value, Decimal) else int(value))}


class Factor(NamedTuple):
    """A column of texts by their numbers: row i has ``texts[indices[i]]``, or a missing value where the index is -1."""

    indices: NDArray[np.int64]
    texts: list[str]


def factor_of(indices: Any, values: Iterable[Any]) -> Factor:
    """Return a factor of distinct values, some of which may be missing or have the same text."""
    numbers: dict[str, int] = {}
    texts = [text_of(value) for value in values]
    places = [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in texts]
    indices = np.asarray(indices, dtype=np.int64)
    if places != list(range(len(places))):
        indices = np.array([*places, -1], dtype=np.int64)[indices]
    return Factor(indices, list(numbers))


class TableColumn(ABC):
    """A column of a table.

    Attributes
    ----------
    kind : str
        "number", "boolean", "date", "duration", "text", "category", "ordered" or "vector", or the name of another type.
    """

    kind: str
    _factor: Factor | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def numbers(self) -> Floats:
        """Return a column of numbers or booleans, with NaN for missing values."""

    @abstractmethod
    def inexact_rows(self) -> dict[int, Any]:
        """Return the rows of a column of numbers or of lists with an integer that float64 does not hold, and it."""

    @abstractmethod
    def days(self) -> Floats:
        """Return a column of dates or durations in days, with NaN for missing values."""

    @abstractmethod
    def _make_factor(self) -> Factor: ...

    def factor(self) -> Factor:
        """Return a column of texts, categories, numbers or booleans as indices into its distinct texts.

        Categories come in the order that they have, those that do not occur included.
        """
        if self._factor is None:
            self._factor = self._make_factor()
        return self._factor

    def lists(self) -> tuple[NDArray[np.int64], Floats]:
        """Return the lengths of the lists of a column, 0 for a missing one, and all their numbers in one array."""
        raise TypeError(f"a column of the type {self.kind} has no lists")


class ArrowColumn(TableColumn):
    """A column that is an array of pyarrow."""

    def __init__(self, array: Any) -> None:
        self.array, self.kind = array, arrow_kind(array.type)

    def __len__(self) -> int:
        return len(self.array)

    def numbers(self) -> Floats:
        array = self.array if self.array.type == "double" else self.array.cast("double", safe=False)
        if array.null_count:
            array = array.fill_null(float("nan"))
        return array.to_numpy(zero_copy_only=False)

    def inexact_rows(self) -> dict[int, Any]:
        types, array = require_pyarrow("tables").types, self.array
        if "vector" in self.kind:
            lengths, _ = self.lists()
            rows = np.repeat(np.arange(len(lengths)), lengths)
            return {int(rows[place]): value for place, value in ArrowColumn(array.flatten()).inexact_rows().items()}
        if types.is_decimal(array.type) and array.type.scale <= 0:
            return _inexact_objects(array.to_pylist())
        if not (types.is_integer(array.type) and array.type.bit_width == 64):
            return {}
        integers = array.fill_null(0).to_numpy(zero_copy_only=False)
        return {int(row): int(integers[row]) for row in inexact_integers(integers)}

    def days(self) -> Floats:
        types = require_pyarrow("tables").types
        array, missing = self.array, self.array.is_null().to_numpy(zero_copy_only=False)
        if types.is_date32(array.type):
            days = array.cast("int32").fill_null(0).to_numpy(zero_copy_only=False)
            return np.where(missing, np.nan, days)
        unit = "ms" if types.is_date64(array.type) else array.type.unit
        return days_of(array.cast("int64").fill_null(0).to_numpy(zero_copy_only=False), unit, missing)

    def _make_factor(self) -> Factor:
        types = require_pyarrow("tables").types
        array = self.array
        if not types.is_dictionary(array.type):
            array = array.dictionary_encode()
        indices = array.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        values = array.dictionary
        is_float = types.is_floating(values.type) and not values.null_count  # as NumPy's, which float32 is told by
        return factor_of(indices, values.to_numpy(zero_copy_only=False) if is_float else values.to_pylist())

    def lists(self) -> tuple[NDArray[np.int64], Floats]:
        pyarrow, compute = require_pyarrow("tables"), require_pyarrow("tables", "pyarrow.compute")
        array = self.array
        if pyarrow.types.is_fixed_size_list(array.type):
            array = array.cast(pyarrow.large_list(array.type.value_type))
        lengths = compute.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        return lengths.astype(np.int64), ArrowColumn(array.flatten()).numbers()


@lru_cache(maxsize=1024)
def arrow_kind(arrow_type: Any) -> str:
    """Return the kind of a column of a type of pyarrow, or the name of the type."""
    types = require_pyarrow("tables").types
    is_list = types.is_list(arrow_type) or types.is_large_list(arrow_type) or types.is_fixed_size_list(arrow_type)
    if is_list and (types.is_integer(arrow_type.value_type) or types.is_floating(arrow_type.value_type)):
        return "vector"
    if types.is_dictionary(arrow_type):
        return "ordered" if arrow_type.ordered else "category"
    kinds = {
        "number": (types.is_integer, types.is_floating, types.is_decimal, types.is_null),
        "boolean": (types.is_boolean,),
        "text": (types.is_string, types.is_large_string, getattr(types, "is_string_view", types.is_string)),
        "date": (types.is_date, types.is_timestamp),
        "duration": (types.is_duration,),
    }
    return next((kind for kind, tests in kinds.items() if any(test(arrow_type) for test in tests)), str(arrow_type))


class PandasColumn(TableColumn):
    """A column that is a series of pandas, which need not have pyarrow."""

    def __init__(self, series: Any) -> None:
        self._series, self.kind = series, pandas_kind(series)

    def __len__(self) -> int:
        return len(self._series)

    def numbers(self) -> Floats:
        if self._series.dtype == object:
            return np.array([_as_float(value) for value in self._series], dtype=np.float64)
        return self._series.to_numpy(dtype=np.float64, na_value=np.nan)

    def inexact_rows(self) -> dict[int, Any]:
        if self._series.dtype == object:
            return _inexact_objects(self._series)
        if getattr(self._series.dtype, "kind", "") not in "iu":
            return {}
        integers = self._series.fillna(0).to_numpy()
        return {int(row): int(integers[row]) for row in inexact_integers(integers)}

    def days(self) -> Floats:
        import pandas as pd  # noqa: PLC0415 - the user has it

        series = self._series
        if pd.api.types.is_object_dtype(series.dtype):
            series = pd.to_datetime(series, utc=True) if self.kind == "date" else pd.to_timedelta(series)
        if getattr(series.dtype, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        numbers = series.to_numpy()
        unit, _ = np.datetime_data(numbers.dtype)
        return days_of(numbers.view(np.int64), unit, np.isnat(numbers))

    def _make_factor(self) -> Factor:
        import pandas as pd  # noqa: PLC0415 - the user has it

        if isinstance(self._series.dtype, pd.CategoricalDtype):
            return factor_of(self._series.cat.codes.to_numpy(), self._series.cat.categories.to_numpy())
        indices, values = pd.factorize(self._series)
        return factor_of(indices, np.asarray(values))


def pandas_kind(series: Any) -> str:
    """Return the kind of a series of pandas, or the name of its type."""
    import pandas as pd  # noqa: PLC0415 - the user has it

    dtype, types = series.dtype, pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordered" if dtype.ordered else "category"
    if types.is_object_dtype(dtype):
        found = types.infer_dtype(series, skipna=True)
        kinds = {
            "text": ("string",),
            "boolean": ("boolean",),
            "number": ("integer", "floating", "mixed-integer-float", "decimal", "empty"),
            "date": ("date", "datetime", "datetime64"),
            "duration": ("timedelta", "timedelta64"),
        }
        return next((kind for kind, names in kinds.items() if found in names), f"object ({found})")
    holds = {
        "text": isinstance(dtype, pd.StringDtype),
        "boolean": types.is_bool_dtype(dtype),
        "number": types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype),
        "date": types.is_datetime64_any_dtype(dtype),
        "duration": types.is_timedelta64_dtype(dtype),
    }
    return next((kind for kind, found in holds.items() if found), str(dtype))
