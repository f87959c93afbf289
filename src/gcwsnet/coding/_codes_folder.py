"""Codes in a folder: how they were made, and parts with the codes, labels and weights of each file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet._atomic import written_beside
from gcwsnet.coding._tensor_file import Arrays, Description, read_file, write_file
from gcwsnet.data import Batch
from gcwsnet.data._batch import rebatched
from gcwsnet.data._errors import require_pyarrow

CODER, MANIFEST, PART = "coder.safetensors", "codes.json", "part"
FORMATS = ("npy", "parquet")
BYTES_OF_A_PART = 1 << 26
VERSION = 1


def is_codes_folder(path: Path) -> bool:
    """Return whether `gcwsnet hash` has written this folder, or has begun to."""
    return (path / CODER).is_file()


@dataclass
class Manifest:
    """The content of a folder of codes.

    Attributes
    ----------
    settings : dict
        The settings and the files of the run; it is resumed only with the same.
    files : list of dict
        The finished files in their order: "file", "rows", the names of their "parts" and the "format" of these.
    n_files : int
        The number of files when all are finished.
    """

    settings: dict[str, Any]
    files: list[dict[str, Any]]
    n_files: int

    @property
    def n_rows(self) -> int:
        """The rows of the finished files."""
        return sum(int(one["rows"]) for one in self.files)

    def write(self, folder: Path) -> None:
        """Write the manifest into a folder, in place of the one before."""
        content = {"version": VERSION, "settings": self.settings, "files": self.files, "n_files": self.n_files}
        with written_beside(folder / MANIFEST) as path:
            path.write_text(json.dumps(content, indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Return the manifest of a folder."""
        path = folder / MANIFEST
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["version"] != VERSION:
                raise ValueError(f"version {content['version']}, and this gcwsnet reads {VERSION}")
            return cls(content["settings"], content["files"], content["n_files"])
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{path} is missing: {folder} is not a folder of codes, or hashing has only begun"
            ) from None
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} cannot be read: {error}; hash the files again") from error


def write_description(folder: Path, arrays: Arrays, description: Description) -> None:
    """Write how the codes of a folder are made."""
    write_file(folder / CODER, arrays, description)


def read_description(folder: Path) -> tuple[Arrays, Description]:
    """Return what `write_description` wrote."""
    return read_file(folder / CODER)


def write_parts(folder: Path, number: int, batches: Iterable[Batch], format: str) -> dict[str, Any]:  # noqa: A002
    """Write the codes of file `number`: batches with codes for X and with labels as they were read."""
    n_rows = 0
    parts: list[str] = []
    for batch in _in_parts(batches):
        name = f"{PART}-{number:05d}-{len(parts):05d}"
        WRITERS[format](folder, name, batch)
        n_rows += batch.n_rows
        parts.append(name)
    return {"rows": n_rows, "parts": parts, "format": format}


def _in_parts(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield batches whose codes take at most 64 MB."""
    waiting = iter(batches)
    first = next(waiting, None)
    if first is None:
        return

    def all_of_them() -> Iterator[Batch]:
        yield first
        yield from waiting

    yield from rebatched(all_of_them(), max(1, BYTES_OF_A_PART // max(1, first.X.nbytes // first.n_rows)))


def stored_codes(folder: Path, manifest: Manifest) -> Iterator[Batch]:
    """Yield the codes of a folder in the order of the files, with labels and weights."""
    for one in manifest.files:
        for name in one["parts"]:
            batch = READERS[one["format"]](folder, name)
            for first in range(0, batch.n_rows, 8192):
                yield batch.rows(first, first + 8192)


def _write_npy(folder: Path, name: str, batch: Batch) -> None:
    arrays = {"labels": batch.y, "weights": batch.weight, "codes": batch.X}
    for what, array in arrays.items():
        if array is not None:
            with written_beside(folder / f"{name}.{what}.npy") as path:
                _save(path, array)


def _save(path: Path, array: NDArray[Any]) -> None:
    if array.dtype.kind == "O":
        array = array.astype(str)
    with path.open("wb") as file:  # np.save would add an ending to the name
        np.save(file, np.ascontiguousarray(array), allow_pickle=False)


def _read_npy(folder: Path, name: str) -> Batch:
    found = {}
    for what in ("codes", "labels", "weights"):
        path = folder / f"{name}.{what}.npy"
        found[what] = np.load(path, mmap_mode="r", allow_pickle=False) if path.exists() else None
    if found["codes"] is None:
        raise FileNotFoundError(f"{folder / name}.codes.npy is missing, which {folder / MANIFEST} names")
    return Batch(found["codes"], found["labels"], found["weights"])


def _write_parquet(folder: Path, name: str, batch: Batch) -> None:
    pyarrow, parquet = require_pyarrow("Parquet"), require_pyarrow("Parquet", "pyarrow.parquet")
    k = batch.X.shape[1]
    codes = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.ascontiguousarray(batch.X).ravel()), k)
    columns = {"codes": codes}
    if batch.y is not None:
        columns["label"] = pyarrow.array(batch.y)
    if batch.weight is not None:
        columns["weight"] = pyarrow.array(batch.weight)
    table = pyarrow.table(columns)
    with written_beside(folder / f"{name}.parquet") as path:
        parquet.write_table(table, path)


def _read_parquet(folder: Path, name: str) -> Batch:
    parquet = require_pyarrow("Parquet", "pyarrow.parquet")
    table = parquet.read_table(folder / f"{name}.parquet")
    column = table["codes"].combine_chunks()
    codes = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    label, weight = (table[what].to_numpy() if what in table.column_names else None for what in ("label", "weight"))
    return Batch(codes, label, weight)


WRITERS: dict[str, Callable[[Path, str, Batch], None]] = {"npy": _write_npy, "parquet": _write_parquet}
READERS: dict[str, Callable[[Path, str], Batch]] = {"npy": _read_npy, "parquet": _read_parquet}
