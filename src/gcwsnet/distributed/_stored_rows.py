"""Rows of a folder of codes that workers read where they need them, by their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from gcwsnet.coding._codes_folder import HashedFile, Part, check_part
from gcwsnet.data import Batch
from gcwsnet.distributed._map import map_on
from gcwsnet.estimators._file_coder import FileCoder, encoded
from gcwsnet.estimators._map_files import Failure, attempt_each
from gcwsnet.training import Targets


@dataclass(frozen=True)
class StoredPart:
    """A part of a folder of codes; only the rows that are taken are read.

    Attributes
    ----------
    folder : Path
        It is the same for all workers, as on a file system that they share.
    part : Part
    label_type : str
    targets : Targets
        How labels become what is learned.
    """

    folder: Path
    part: Part
    label_type: str | None
    targets: Targets

    def take(self, rows: NDArray[np.int64]) -> Batch:
        """Return the codes, the encoded targets and the weights of rows, counted without those of weight 0."""
        positive = positive_rows(self.folder, self.part)
        rows = rows if positive is None else positive[rows]
        found = {name.split(".")[-2]: _opened(self.folder / name)[rows] for name in self.part.files}
        y = encoded(self.targets, self.label_type, found["labels"])
        return Batch(np.ascontiguousarray(found["codes"]), y, found.get("weights"))


@lru_cache(maxsize=256)
def _opened(path: Path) -> NDArray[Any]:
    opened: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return opened


def positive_rows(folder: Path, part: Part) -> NDArray[np.int64] | None:
    """Return the numbers of the rows of a part whose weight is not 0, None if it has no weights."""
    name = next((name for name in part.files if name.split(".")[-2] == "weights"), None)
    return None if name is None else np.flatnonzero(_opened(folder / name))


def n_positive(folder: Path, part: Part) -> int:
    """Return the number of rows of a part whose weight is not 0."""
    positive = positive_rows(folder, part)
    return part.rows if positive is None else len(positive)


def stored_parts(
    client: Client, folder: Path, hashed: list[HashedFile], file_coder: FileCoder
) -> tuple[list[StoredPart], list[int]]:
    """Return the parts of a folder of codes and their rows, once workers have verified each of them.

    Parameters
    ----------
    client : distributed.Client
    folder : Path
    hashed : list of HashedFile
        What the folder has.
    file_coder : FileCoder
        How labels are encoded.
    """
    folder = folder.absolute()
    parts = [part for one in hashed for part in one.parts]
    if any(name.endswith(".parquet") for part in parts for name in part.files):
        raise ValueError(
            f"{folder} has codes in Parquet, of which single rows cannot be read; hash the files again with "
            "--codes-format npy, or train without --engine dask"
        )
    coder = file_coder.coder
    check = partial(check_part, folder, n_codes=coder.n_codes, n_values=2**coder.code_bits)
    for _, result in attempt_each(map_on(client), check, parts):
        if isinstance(result, Failure):
            raise result.error
    assert file_coder.targets is not None  # noqa: S101
    rows = [StoredPart(folder, part, file_coder.label_type, file_coder.targets) for part in parts]
    return rows, [n_positive(folder, part) for part in parts]
