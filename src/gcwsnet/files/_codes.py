"""Codes in a folder, with checksums of everything; what is read is verified first.

A folder has

- ``coder.safetensors``: how rows become codes;
- ``codes.json``: the settings, the versions, the checksum of the coder, and the files that are hashed;
- ``file-00000.json`` for each file that is finished: its fingerprint, the checksum of the coder, its rows, and its
  parts with their rows and checksums;
- the parts, ``part-00000-00000.codes.npy`` with ``.labels.npy`` and ``.weights.npy``.

The JSON files hold the SHA-256 of their own content. A file is written when all that it names is there.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gcwsnet
from gcwsnet._atomic import write_file
from gcwsnet._paths import CODER, CODES_FILES, MANIFEST, PART_FILE
from gcwsnet.estimators._gcwsnet import GCWSNetClassifier
from gcwsnet.estimators._model_file import check_file_coder, coder_state
from gcwsnet.estimators._tensor_file import (
    ANYTHING,
    OBJECT,
    TEXT,
    Rule,
    Rules,
    check_entries,
    choice,
    integer,
    read_file,
)
from gcwsnet.estimators._tensor_file import write_file as write_tensor_file
from gcwsnet.hashing.parameters import HASH_VERSION
from gcwsnet.net._targets import Targets
from gcwsnet.search import Candidate
from gcwsnet.tables._batch import Batch, rebatched
from gcwsnet.tables._coder import Coder
from gcwsnet.tables._errors import DataError

BYTES_OF_A_PART = 1 << 26

ROWS_OF_A_BATCH = 8192

VERSION = 5

AGAIN = "hash the files again"

COUNT = integer(0, 2**63 - 1)

FILES_OF_PART = Rule(
    "be files of this folder with checksums",
    lambda one: (
        isinstance(one, dict)
        and one
        and all(PART_FILE.fullmatch(name) and isinstance(digest, str) for name, digest in one.items())
    ),
)

MANIFEST_ENTRIES = {
    "hash_version": choice(HASH_VERSION),
    "gcwsnet_version": TEXT,
    "settings": {"params": OBJECT, "*": ANYTHING},
    "files": [{"name": TEXT, "*": ANYTHING}],
    "coder": TEXT,
}

FILE_ENTRIES = {
    "number": COUNT,
    "input": OBJECT,
    "coder": TEXT,
    "rows": COUNT,
    "skipped": COUNT,
    "parts": [{"rows": COUNT, "files": FILES_OF_PART}],
}


class FileCoder(NamedTuple):
    """How the rows of files become codes, the targets of their labels, and what the search compared.

    There are no targets where rows have no labels.
    """

    coder: Coder
    targets: Targets | None
    selection: list[Candidate]

    def write(self, folder: Path) -> None:
        """Write it into a folder; it is the same file for the same rows."""
        arrays, coder = coder_state(self.coder, self.selection, timings=False)
        target_arrays, targets = ({}, None) if self.targets is None else self.targets.state()
        write_tensor_file(folder / CODER, arrays | target_arrays, {"coder": coder, "targets": targets})

    @classmethod
    def read(cls, folder: Path) -> FileCoder:
        """Return what a folder has, or raise DataError if the file does not say it."""
        arrays, description = read_file(folder / CODER)
        try:
            check_file_coder(arrays, description)
            coder, targets = Coder.from_state(arrays, description["coder"]), description["targets"]
            selection = [Candidate(**one) for one in description["coder"]["selection"]]
            return cls(coder, None if targets is None else Targets.from_state(arrays, targets), selection)
        except (ValueError, AttributeError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise DataError(
                f"the file must say how codes are made ({reason}); hash the files again", path=str(folder / CODER)
            ) from error


@dataclass(frozen=True)
class Manifest:
    """What a folder of codes is made from: the settings of the run, its files, and the SHA-256 of the coder's file.

    Files are known by their fingerprints. Of one that could not be read when the coder was learned, which was learned
    without it then, there is the name alone, with "unread".
    """

    settings: dict[str, Any]
    files: list[dict[str, Any]]
    coder: str

    def write(self, folder: Path) -> None:
        """Write the manifest into a folder, in place of the one before."""
        versions = {"gcwsnet_version": gcwsnet.__version__, "hash_version": HASH_VERSION}
        _write_json(folder / MANIFEST, versions | asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Return the manifest of a folder, whose coder must be the one that it names."""
        path = folder / MANIFEST
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing: {folder} is not a folder of codes, or hashing has only begun")
        content = _read_json(path, MANIFEST_ENTRIES)
        settings, files, coder = content["settings"], content["files"], content["coder"]
        try:
            GCWSNetClassifier(**settings["params"])._check_parameters()
        except (TypeError, ValueError) as error:
            raise _damaged(path, f"its settings must be parameters of a net ({error})") from error
        if digest_of_file(folder / CODER) != coder:
            raise _damaged(folder / CODER, f"it must be the coder that {MANIFEST} names, and it is another one")
        return cls(settings, files, coder)


def is_input(expected: dict[str, Any], given: Any) -> bool:
    """Return whether a fingerprint is the one that a manifest has; any contents are, of a file that it has unread."""
    if "unread" in expected:
        return isinstance(given, dict) and given.get("name") == expected["name"]
    return given == expected


@dataclass(frozen=True)
class Part:
    """A part of the codes of a file: its rows, and the SHA-256 of each of its files by name."""

    rows: int
    files: dict[str, str]

    @property
    def has_weights(self) -> bool:
        """Whether rows have weights."""
        return any(name.endswith(".weights.npy") for name in self.files)


@dataclass(frozen=True)
class HashedFile:
    """The codes of one file that is finished."""

    number: int  # its place among the files of the folder
    input: dict[str, Any]  # its fingerprint
    coder: str  # the SHA-256 of the file of the coder
    rows: int
    skipped: int  # rows that could not be read
    parts: list[Part]

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        _write_json(file_manifest(folder, self.number), asdict(self))

    @classmethod
    def read(cls, folder: Path, manifest: Manifest, number: int) -> HashedFile | None:
        """Return what was written of file `number` of a manifest, and None if that is not finished."""
        path = file_manifest(folder, number)
        if not path.is_file():
            return None
        content = _read_json(path, FILE_ENTRIES)
        rows, parts = content["rows"], [Part(**part) for part in content["parts"]]
        _check(content["number"] == number, path, f"it must be of file number {number}")
        of_it = is_input(manifest.files[number], content["input"])
        _check(of_it, path, f"it must be of the file that {MANIFEST} names")
        _check(content["coder"] == manifest.coder, path, f"its codes must be made by the {CODER} beside it")
        _check(sum(part.rows for part in parts) == rows, path, f"the parts must have {rows} rows together")
        return cls(number, content["input"], manifest.coder, rows, content["skipped"], parts)

    def n_positive(self, folder: Path) -> int:
        """Return the number of rows whose weight is not 0."""
        return sum(_read_part(folder, one).weighted().n_rows if one.has_weights else one.rows for one in self.parts)

    def batches(self, folder: Path) -> Iterator[Batch]:
        """Yield the codes with labels and weights; each part is verified before any of its rows is given."""
        for part in self.parts:
            batch = _read_part(folder, part)
            for first in range(0, part.rows, ROWS_OF_A_BATCH):
                yield batch.rows(first, first + ROWS_OF_A_BATCH)


def check_part(folder: Path, part: Part, *, n_codes: int, n_values: int) -> None:
    """Raise DataError unless a part has its checksums, and rows of `n_codes` codes below `n_values`."""
    check_codes(_read_part(folder, part), folder / next(iter(part.files)), n_codes=n_codes, n_values=n_values)


def check_codes(batch: Batch, path: Path, *, n_codes: int, n_values: int) -> None:
    """Raise DataError unless rows have `n_codes` codes below `n_values`, as those of the coder have."""
    if batch.X.shape[1] != n_codes or int(batch.X.max(initial=0)) >= n_values:
        raise DataError(
            f"rows must have {n_codes} codes below {n_values}, as those of the coder have, got others; {AGAIN}",
            path=str(path),
        )


def file_manifest(folder: Path, number: int) -> Path:
    """Return the path of the manifest of file `number`."""
    return folder / f"file-{number:05d}.json"


def hashed_files(folder: Path, manifest: Manifest) -> list[HashedFile]:
    """Return the files of a folder that are finished."""
    found = (HashedFile.read(folder, manifest, number) for number in range(len(manifest.files)))
    return [one for one in found if one is not None]


def remove_codes(folder: Path) -> None:
    """Remove what `gcwsnet hash` has written into a folder: first what names the rest."""
    written = sorted(path for path in folder.iterdir() if CODES_FILES.fullmatch(path.name) and path.name != CODER)
    for path in (folder / MANIFEST, *written, folder / CODER):
        path.unlink(missing_ok=True)


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def codes_digest(folder: Path) -> str:
    """Return the SHA-256 of the manifests of a folder of codes, which have the checksums of all that is in it."""
    digest = hashlib.sha256()
    for path in [folder / MANIFEST, *sorted(folder.glob("file-*.json"))]:
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def write_parts(folder: Path, number: int, batches: Iterable[Batch]) -> list[Part]:
    """Write the codes of file `number`: batches with codes for X and with labels as they were read."""
    parts: list[Part] = []
    for batch in _in_parts(batches):
        name = f"part-{number:05d}-{len(parts):05d}"
        arrays = {"codes": batch.X, "labels": batch.y, "weights": batch.weight}
        contents = {f"{name}.{what}.npy": _npy(array) for what, array in arrays.items() if array is not None}
        for file, content in contents.items():
            write_file(folder / file, content)
        digests = {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}
        parts.append(Part(batch.n_rows, digests))
    return parts


def _in_parts(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield batches whose codes take at most 64 MB."""
    waiting = iter(batches)
    first = next(waiting, None)
    if first is not None:
        row_bytes = max(1, first.X.nbytes // first.n_rows)
        yield from rebatched(chain([first], waiting), max(1, BYTES_OF_A_PART // row_bytes))


def _npy(array: NDArray[Any]) -> memoryview:
    content = io.BytesIO()
    array = array.astype(str) if array.dtype.kind == "O" else array
    np.save(content, np.ascontiguousarray(array), allow_pickle=False)
    return content.getbuffer()


def _read_part(folder: Path, part: Part) -> Batch:
    contents = {name.split(".")[1]: _verified(folder / name, digest) for name, digest in part.files.items()}
    path = folder / next(iter(part.files))
    try:
        arrays = {what: np.load(io.BytesIO(content), allow_pickle=False) for what, content in contents.items()}
        batch = Batch(arrays["codes"], arrays.get("labels"), arrays.get("weights"))
    except (ValueError, TypeError, KeyError, EOFError, OSError) as error:
        raise _damaged(path, f"it must hold codes ({type(error).__name__}: {error})") from error
    codes = batch.X
    _check(codes.ndim == 2 and codes.dtype.kind == "u", path, "codes must be a matrix of unsigned integers")
    for what, kinds, found in (("labels", "biufU", batch.y), ("weights", "f", batch.weight)):
        fits = found is None or (found.ndim == 1 and found.dtype.kind in kinds)
        _check(fits, path, f"{what} must be a vector of {'numbers' if kinds == 'f' else 'numbers or texts'}")
    lengths = [len(one) for one in batch if one is not None]
    _check(lengths == [part.rows] * len(lengths), path, f"it must have {part.rows} rows, got {lengths}")
    return batch


def _verified(path: Path, digest: str) -> bytes:
    """Return the content of a file, whose SHA-256 must be the given one."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"the file is missing, which the folder of codes names; {AGAIN}", path=str(path)) from None
    _check(hashlib.sha256(content).hexdigest() == digest, path, "its content must fit its checksum")
    return content


def _write_json(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, allow_nan=False, sort_keys=True)
    checked = {"version": VERSION, "sha256": hashlib.sha256(text.encode()).hexdigest(), "content": content}
    write_file(path, json.dumps(checked, indent=1, allow_nan=False).encode())


def _read_json(path: Path, entries: Rules) -> dict[str, Any]:
    """Return the content of a file that `_write_json` wrote, with these entries."""
    try:
        checked = json.loads(path.read_bytes())
        version = checked["version"]
        if version != VERSION:
            raise DataError(f"it is of format {version}, and this gcwsnet reads {VERSION}; {AGAIN}", path=str(path))
        content: dict[str, Any] = checked["content"]
        text = json.dumps(content, allow_nan=False, sort_keys=True)
        if hashlib.sha256(text.encode()).hexdigest() != checked["sha256"]:
            raise ValueError("its content must fit its checksum")
        check_entries(content, entries)
    except DataError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _damaged(path, f"{error or 'it must be JSON'}") from error
    return content


def _damaged(path: Path, rule: str) -> DataError:
    return DataError(f"the folder of codes is damaged: {rule}; {AGAIN}, or take another copy", path=str(path))


def _check(fits: bool, path: Path, rule: str) -> None:
    if not fits:
        raise _damaged(path, rule)
