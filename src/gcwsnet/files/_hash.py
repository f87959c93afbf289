"""Files hashed into a folder of codes, each by itself; finished files are not hashed again.

All that is done with all rows is a map over files and a merge (`_map_files`), in this process or in those of a cluster.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet._atomic import locked, remove_left_overs
from gcwsnet._paths import CODER, CODES_FILES, MANIFEST, is_codes_folder, require_separate
from gcwsnet.estimators._gcwsnet import GCWSNetClassifier
from gcwsnet.estimators._tensor_file import digest_of
from gcwsnet.files._codes import (
    FileCoder,
    HashedFile,
    Manifest,
    digest_of_file,
    file_manifest,
    hashed_files,
    is_input,
    remove_codes,
    write_parts,
)
from gcwsnet.files._learn import (
    NO_ROWS,
    FilesOptions,
    begun_estimator,
    checked,
    drawn_rows,
    find_targets,
    known_labels,
    other_setting,
    read_with_schema,
    rows_at,
    sample_size,
)
from gcwsnet.files._read import read
from gcwsnet.files._reader import Batches, Reader, no_rows
from gcwsnet.files._sources import Fingerprint, Inputs, Source, detect_format, difference, find_sources
from gcwsnet.search import fit_coder
from gcwsnet.tables._batch import Batch, joined, weighted
from gcwsnet.tables._coder import Coder
from gcwsnet.tables._encode import Learner, Survey
from gcwsnet.tables._errors import DataError, NoRowsError
from gcwsnet.tables._schema import Schema

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
    """How each of some files is read on its own."""

    settings: dict[str, Any]  # of `gcwsnet.files.read`
    base: str  # the folder that names are in if they are not absolute
    schema: Schema | None = None  # if it is known already

    def open(self, names: list[str], schema: Schema | None = None, **more: Any) -> Batches:
        """Return files, read with a schema where there is one."""
        paths = [os.path.join(self.base, name) for name in names]
        schema = self.schema if schema is None else schema
        if schema is None:
            return read(paths, **self.settings | more)
        label = {} if schema.label is None else {"label": schema.label}
        return read_with_schema(paths, self.settings | more, schema, **label)

    def reader(self, name: str) -> Reader:
        """Return the reader of one file, from which a schema is learned; skipped rows are not written down."""
        return self.open([name], rejects=None).reader


@dataclass(frozen=True)
class SurveyedFiles:
    """What is known about files after all their rows were read once."""

    schema: Schema
    survey: Survey
    fingerprints: dict[str, Fingerprint]  # of the files that could be read, in their order
    n_rows: list[int]  # their rows of positive weight
    failures: dict[str, Exception]  # why other files could not be read


def _fingerprint(base: str, name: str) -> Fingerprint:
    return Inputs([name], base).fingerprints[0]


def survey_files(names: list[str], reading: FileReading, over: Map) -> SurveyedFiles:
    """Return what all rows of files tell; files that cannot be read are left out, unless none can."""
    first, start = _start(names, reading)
    file_format = detect_format([Source(os.path.join(reading.base, first))])
    while True:
        merged: Learner | None = None
        fingerprints: dict[str, Fingerprint] = {}
        n_rows: list[int] = []
        failures: dict[str, Exception] = {}
        found = in_order(attempt_each(over, partial(_survey_file, reading, file_format, start), names))
        for name, result in zip(names, found, strict=True):
            if isinstance(result, Failure):
                failures[name] = result.error
                continue
            learner = result[1]
            rows_of_file = learner.n_weighted
            try:
                if merged is not None and learner.n_rows:
                    merged.merge(learner, name)
            except DataError as error:
                failures[name] = error
                continue
            if merged is None and learner.n_rows:
                merged = learner
            fingerprints[name] = result[0]
            n_rows.append(rows_of_file)
        if merged is None:
            raise next(iter(failures.values()), no_rows(names))
        schema, is_complete = reading.reader(first).learned_schema(merged)
        if is_complete:
            return SurveyedFiles(schema, merged.survey(schema), fingerprints, n_rows, failures)
        start = schema


def _start(names: list[str], reading: FileReading) -> tuple[str, Schema]:
    """Return the first file that can be read, and the schema that all are read with while it is learned."""
    failures: list[Failure] = []
    for number, result in attempt_each(one_by_one, lambda name: reading.reader(name).first_schema(), names):
        if not isinstance(result, Failure):
            return names[number], result
        failures.append(result)
    raise failures[0].error


def _survey_file(reading: FileReading, file_format: str, start: Schema, name: str) -> tuple[Fingerprint, Learner]:
    """Return the fingerprint of a file, and what is learned from its rows."""
    inputs = Inputs([name], reading.base)
    path = os.path.join(reading.base, name)
    if "format" not in reading.settings and (own := detect_format([Source(path)])) != file_format:
        raise DataError(
            f"files that are read together must have one format, got {own} here and {file_format} before", path=path
        )
    learner = reading.reader(name).learn(start)
    inputs.check()
    return inputs.fingerprints[0], learner


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


@dataclass(frozen=True, kw_only=True)
class HashingOptions(FilesOptions):
    """The options of a run of hashing."""

    coder: Coder | None = None  # how rows become codes, where that was learned before

    def settings(self) -> dict[str, Any]:
        """Return what must be the same for hashing to be resumed, besides the files."""
        if self.coder is None:
            return self.fingerprint()
        arrays, description = self.coder.state()
        return self.fingerprint(coder=digest_of(json.dumps(description), arrays))


def learn_coder(rows: Batch, schema: Schema, survey: Survey, options: HashingOptions) -> FileCoder:
    """Return how rows of files that were surveyed become codes, learned from some of them; a given coder is taken."""
    if options.coder is None and survey.label_type is not None:
        estimator, targets = begun_estimator(rows, schema, survey, survey.n_weighted, options, with_net=False)
        return FileCoder(estimator.coder_, targets, estimator.selection_)
    coder = options.coder
    if coder is None:
        settings, training = GCWSNetClassifier(**options.params)._check_parameters()
        settings.check_finite(rows.X)
        n_nets = training.for_rows(survey.n_weighted).members()
        coder, _ = fit_coder(
            rows.X, settings.for_rows(None), options.seed, numeric=schema.numeric, schema=schema, ensemble=n_nets
        )
    elif rows.X.shape[1] != coder.n_features:
        raise ValueError(
            f"the coder is for rows of {coder.n_features} columns, and those of the files have {rows.X.shape[1]}"
        )
    known = None if survey.label_type is None else find_targets(rows.y, survey, options.task)[1]
    return FileCoder(replace(coder, schema=schema), known, [])


class HashedFiles(NamedTuple):
    """The result of hashing: the coder, the files that are finished, and by name why others are not."""

    file_coder: FileCoder
    files: list[HashedFile]
    failures: dict[str, Exception]


def hash_with(options: HashingOptions, report: Callable[[str], None], over: Map = one_by_one) -> HashedFiles:
    """Write the codes of all files that are not finished yet, and return what is there.

    A file that cannot be read or hashed is left out, and the others are finished. If none can, the error of the first
    is raised. `report` is called with lines for people, and the tasks of the files are done by `over`.
    """
    options.check()
    sources = find_sources(options.files)
    if not all(one.reusable for one in sources):
        raise ValueError("hash reads files more than once, which standard input cannot be; give files")
    names, base = list(dict.fromkeys(one.name for one in sources)), os.getcwd()
    rejects = [_rejects(options.reading, number, len(names)) for number in range(len(names))]
    require_separate(names, [one for one in rejects if one is not None], folder=options.out, written=CODES_FILES)
    options.out.mkdir(parents=True, exist_ok=True)
    with locked(options.out):
        remove_left_overs(options.out)
        manifest = _unfinished(options, names, base, over)
        failures: dict[str, Exception] = {}
        if manifest is None:
            file_coder, manifest, failures = _begin(options, names, base, report, over)
        else:
            file_coder = FileCoder.read(options.out)
            finished = len(hashed_files(options.out, manifest))
            report(f"{finished} of {len(manifest.files)} files are finished")
        numbers = [number for number, name in enumerate(names) if name not in failures]
        is_new = [not file_manifest(options.out, number).exists() for number in numbers]
        hashed: dict[int, HashedFile] = {}
        task = partial(hash_file, options.out.absolute(), base=base, n_jobs=options.n_jobs)
        for place, result in attempt_each(over, task, numbers):
            number = numbers[place]
            if isinstance(result, Failure):
                failures[names[number]] = result.error
            else:
                hashed[number] = result
                if is_new[place]:
                    report(_line(result))
        remove_left_overs(options.out)  # those of workers that have died
    if not hashed:
        raise next(iter(failures.values()))
    return HashedFiles(
        file_coder,
        [hashed[number] for number in sorted(hashed)],
        {name: failures[name] for name in names if name in failures},
    )


def _rejects(reading: dict[str, Any], number: int, n_files: int) -> str | None:
    """Return the file for the skipped rows of file `number`, which has one of its own among several files."""
    if "rejects" not in reading:
        return None
    return str(reading["rejects"]) if n_files == 1 else f"{reading['rejects']}.{number:05d}"


def _line(hashed: HashedFile) -> str:
    skipped = f", {hashed.skipped:,} skipped" if hashed.skipped else ""
    return f"{hashed.input['name']}: {hashed.rows:,} rows{skipped}"


def hash_file(folder: Path, number: int, *, base: str = "", n_jobs: int | None = None) -> HashedFile:
    """Write the codes of one file of a folder of codes, and return what was written.

    It depends on the coder, on the manifest and on the file alone, and leaves the same bytes whenever and however often
    it is called, by whichever process. A file that is finished already is not read again. What it writes counts from
    the moment when the manifest of the file is moved into place, as the last of all. Names that are not absolute are in
    the folder `base`.
    """
    manifest, (coder, targets, _) = _loaded(folder, _versions(folder))
    finished = HashedFile.read(folder, manifest, number)
    if finished is not None and all((folder / name).is_file() for part in finished.parts for name in part.files):
        return finished
    expected, settings = manifest.files[number], manifest.settings
    name = expected["name"]
    inputs = Inputs([name], base)
    if not is_input(expected, inputs.fingerprints[0]):
        raise DataError("the file has other contents than when hashing began; begin again with --restart", path=name)
    reading = settings["reading"]
    if (rejects := _rejects(reading, number, len(manifest.files))) is not None:
        reading = reading | {"rejects": os.path.join(base, rejects)}
    batches = FileReading(reading, base).open([name], coder.schema)

    def coded(batch: Batch) -> Batch:
        if "unread" in expected and targets is not None:
            known_labels(batch.y, targets)  # they were not seen when the coder was learned
        return batch._replace(X=coder.codes(checked(coder, batch.X), n_jobs=n_jobs))

    try:
        parts = write_parts(folder, number, map(coded, batches))
    except NoRowsError:
        parts = []
    inputs.check()
    n_rows = sum(part.rows for part in parts)
    hashed = HashedFile(number, inputs.fingerprints[0], manifest.coder, n_rows, batches.skipped, parts)
    hashed.write(folder)
    return hashed


def _versions(folder: Path) -> tuple[tuple[int, ...], ...]:
    """Return what changes when the manifest or the coder of a folder is replaced."""
    found = [(folder / name).stat() for name in (MANIFEST, CODER) if (folder / name).exists()]
    return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)


@lru_cache(maxsize=1)
def _loaded(folder: Path, versions: tuple[tuple[int, ...], ...]) -> tuple[Manifest, FileCoder]:
    """Return what a folder has, which is kept for the next file."""
    del versions
    return Manifest.read(folder), FileCoder.read(folder)


def _begin(
    options: HashingOptions, names: list[str], base: str, report: Callable[[str], None], over: Map
) -> tuple[FileCoder, Manifest, dict[str, Exception]]:
    """Learn how files become codes, and write that and the manifest; return why files were left out, too."""
    remove_codes(options.out)
    schema = None if options.coder is None else options.coder.schema
    reading = FileReading(options.reading, base, schema)
    surveyed = survey_files(names, reading, over)
    rows = sample_files(surveyed, reading, options.seed, over)
    file_coder = learn_coder(rows, surveyed.schema, surveyed.survey, options)
    open_settings = [options.params.get(name, "auto") for name in ("scale", "p")]
    if options.coder is None and "auto" in open_settings and file_coder.targets is None:
        report(
            "preprocessing and p were not selected, since there are no labels: where they are 'auto', they are "
            "'numeric' and 1"
        )
    file_coder.write(options.out)
    files = [surveyed.fingerprints.get(name) or {"name": name, "unread": True} for name in names]
    manifest = Manifest(options.settings(), files, digest_of_file(options.out / CODER))
    manifest.write(options.out)
    return file_coder, manifest, surveyed.failures


def _unfinished(options: HashingOptions, names: list[str], base: str, over: Map) -> Manifest | None:
    """Return the manifest of an earlier run that is to be resumed."""
    if not is_codes_folder(options.out) or options.restart:
        return None
    if not options.resume:
        raise ValueError(f"{options.out} has codes; finish them with --resume, or write them again with --restart")
    try:
        manifest = Manifest.read(options.out)
    except FileNotFoundError:
        return None  # killed between coder and manifest
    if other := other_setting(manifest.settings, options.settings()):
        raise ValueError(
            f"{options.out} was begun with {other}; codes of a folder have the same files and settings, so write them "
            "again with --restart"
        )
    _check_inputs(options.out, manifest, names, base, over)
    return manifest


def _check_inputs(folder: Path, manifest: Manifest, names: list[str], base: str, over: Map) -> None:
    """Raise an error if a folder of codes was begun with other files; those that could not be read may have changed."""
    other = ""
    if [one["name"] for one in manifest.files] != names:
        other = difference(manifest.files, [{"name": name} for name in names])
    else:
        fingerprints = in_order(attempt_each(over, partial(_fingerprint, base), names))
        for number, now in enumerate(list(fingerprints)):
            finished = HashedFile.read(folder, manifest, number)
            if "unread" in manifest.files[number] and finished is None:
                continue
            if isinstance(now, Failure):
                raise now.error
            if now != (manifest.files[number] if finished is None else finished.input):
                other = f"{names[number]} has other contents"
                break
    if other:
        raise ValueError(f"{folder} was begun with other files: {other}; write the codes again with --restart")
