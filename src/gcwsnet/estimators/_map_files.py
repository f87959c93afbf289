"""What is learned from files one by one: a map over files and a merge, in this process or in those of a cluster.

Each task is a function of a file and of settings, which may run anywhere and any number of times. What it returns for
one file is merged in the order of the files, so that the result does not depend on where and when tasks ran.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet.data import Batch, Batches, DataError, Schema, read
from gcwsnet.data._batch import joined, weighted
from gcwsnet.data._batches import ReaderBatches
from gcwsnet.data._fingerprint import Fingerprint, Inputs
from gcwsnet.data._sources import Source, detect_format
from gcwsnet.data._survey import Findings, Survey
from gcwsnet.estimators._file_coder import NO_ROWS, drawn_rows, read_with_schema, rows_at, sample_size

FAILURES = (ValueError, OSError)
"""What a file that is damaged or cannot be read raises."""
BATCH_ROWS = 8192
"""The rows of the first batch, whose size tells how many rows are drawn."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Failure:
    """A task that has failed for its item alone, and why."""

    error: Exception


class Map(Protocol):
    """A way to call a function with each item: yields the number of the item and what was returned, in any order.

    An item that cannot be done for a reason of its own, such as workers that die of it, has a `Failure` as its result.
    """

    def __call__(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]: ...


def one_by_one(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the results of the items in their order, each computed here when it is asked for."""
    for number, item in enumerate(items):
        yield number, function(item)


def attempt_each(
    over: Map, function: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[tuple[int, Result | Failure]]:
    """Yield the number of each item and its result or failure, in any order."""
    return over(partial(_attempt, function), items)


def _attempt(function: Callable[[Item], Result], item: Item) -> Result | Failure:
    try:
        return function(item)
    except FAILURES as error:
        return Failure(error)


def in_order(results: Iterator[tuple[int, Result]]) -> Iterator[Result]:
    """Yield the results of a map in the order of the items; those that come too early wait.

    Examples
    --------
    >>> list(in_order(iter([(1, "b"), (0, "a"), (2, "c")])))
    ['a', 'b', 'c']
    """
    waiting: dict[int, Result] = {}
    following = 0
    for number, result in results:
        waiting[number] = result
        while following in waiting:
            yield waiting.pop(following)
            following += 1


@dataclass(frozen=True)
class FileReading:
    """How each of some files is read on its own.

    Attributes
    ----------
    settings : dict
        Settings of `gcwsnet.data.read`.
    base : str
        The folder that names are in if they are not absolute.
    schema : Schema or None
        The schema, if it is known already.
    """

    settings: dict[str, Any]
    base: str
    schema: Schema | None = None

    def open(self, names: list[str], schema: Schema | None = None, **more: Any) -> Batches:
        """Return files, read with a schema where there is one."""
        paths = [os.path.join(self.base, name) for name in names]
        schema = self.schema if schema is None else schema
        if schema is None:
            return read(paths, **self.settings | more)
        label = {} if schema.label is None else {"label": schema.label}
        return read_with_schema(paths, self.settings | more, schema, **label)

    def open_one(self, name: str) -> ReaderBatches:
        """Return one file, from which a schema is learned; rows that are skipped are not written down."""
        batches = self.open([name], rejects=None)
        assert isinstance(batches, ReaderBatches)  # noqa: S101
        return batches


@dataclass(frozen=True)
class SurveyedFiles:
    """What is known about files after all their rows were read once.

    Attributes
    ----------
    schema : Schema
    survey : Survey
    fingerprints : dict of str to Fingerprint
        Those of the files that could be read, in their order.
    n_rows : list of int
        Their rows of positive weight.
    failures : dict of str to Exception
        Why other files could not be read.
    """

    schema: Schema
    survey: Survey
    fingerprints: dict[str, Fingerprint]
    n_rows: list[int]
    failures: dict[str, Exception]


def fingerprint_files(names: list[str], base: str, over: Map) -> list[Fingerprint | Failure]:
    """Return the fingerprints of files."""
    return list(in_order(attempt_each(over, partial(_fingerprint, base), names)))


def _fingerprint(base: str, name: str) -> Fingerprint:
    return Inputs([name], base).fingerprints[0]


def survey_files(names: list[str], reading: FileReading, over: Map) -> SurveyedFiles:
    """Return what all rows of files tell; files that cannot be read are left out, unless none can."""
    first, start = _start(names, reading)
    file_format = detect_format([Source(os.path.join(reading.base, first))])
    while True:
        merged: Findings | None = None
        fingerprints: dict[str, Fingerprint] = {}
        n_rows: list[int] = []
        failures: dict[str, Exception] = {}
        found = in_order(attempt_each(over, partial(_survey_file, reading, file_format, start), names))
        for name, result in zip(names, found, strict=True):
            if isinstance(result, Failure):
                failures[name] = result.error
                continue
            findings = result[1]
            rows_of_file = findings.rows.n_weighted
            try:
                if merged is not None:
                    merged.merge(findings, name)
            except DataError as error:
                failures[name] = error
                continue
            merged = merged or findings
            fingerprints[name] = result[0]
            n_rows.append(rows_of_file)
        if merged is None:
            raise next(iter(failures.values()))
        schema, again = reading.open_one(first).learned_schema(start, merged)
        if not again:
            return SurveyedFiles(schema, merged.survey(schema), fingerprints, n_rows, failures)
        start = schema


def _start(names: list[str], reading: FileReading) -> tuple[str, Schema]:
    """Return the first file that can be read, and the schema that all are read with while it is learned."""
    failures: list[Failure] = []
    for number, result in attempt_each(one_by_one, lambda name: reading.open_one(name).start_schema(), names):
        if not isinstance(result, Failure):
            return names[number], result
        failures.append(result)
    raise failures[0].error


def _survey_file(reading: FileReading, file_format: str, start: Schema, name: str) -> tuple[Fingerprint, Findings]:
    """Return the fingerprint of a file, and what is learned from its rows."""
    inputs = Inputs([name], reading.base)
    path = os.path.join(reading.base, name)
    if "format" not in reading.settings and (own := detect_format([Source(path)])) != file_format:
        raise DataError(
            f"files that are read together must have one format, got {own} here and {file_format} before", path=path
        )
    findings = reading.open_one(name).findings(start)
    inputs.check()
    return inputs.fingerprints[0], findings


def sample_files(surveyed: SurveyedFiles, reading: FileReading, seed: int, over: Map) -> Batch:
    """Return the rows that `sample` draws from all files together."""
    names = list(surveyed.fingerprints)
    ends = np.cumsum(surveyed.n_rows)
    n_rows, schema = int(ends[-1]), surveyed.schema
    if n_rows == 0:
        raise ValueError(NO_ROWS)
    n_first = int(np.searchsorted(ends, BATCH_ROWS)) + 1
    first = next(weighted(reading.open(names[:n_first], schema, rejects=None), BATCH_ROWS))
    numbers = drawn_rows(n_rows, sample_size(first, n_rows), seed)
    places = np.searchsorted(numbers, [0, *ends])
    items = [
        (name, numbers[begin:end] - (last - rows))
        for name, begin, end, last, rows in zip(names, places, places[1:], ends, surveyed.n_rows, strict=False)
        if begin < end
    ]
    chosen: list[Batch] = []
    for result in in_order(attempt_each(over, partial(_rows_of_file, reading, schema), items)):
        if isinstance(result, Failure):
            raise result.error
        chosen.append(result)
    return joined(chosen)


def _rows_of_file(reading: FileReading, schema: Schema, item: tuple[str, NDArray[np.int64]]) -> Batch:
    name, numbers = item
    return rows_at(reading.open([name], schema, rejects=None), numbers)
