"""The rows that a training run learns from: those of files, of a stream, or of a folder of codes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gcwsnet.coding._codes_folder import (
    CODER,
    MANIFEST,
    Manifest,
    check_codes,
    file_manifest,
    hashed_files,
    is_codes_folder,
    read_description,
)
from gcwsnet.data import Batch, Batches, DataError
from gcwsnet.estimators._file_coder import FileCoder
from gcwsnet.estimators._model_format import check_file_coder
from gcwsnet.training import TrainingSettings


@dataclass(frozen=True)
class RowSource:
    """Rows to learn from: how they are coded, their codes in the order of the files, and what was skipped."""

    file_coder: FileCoder
    codes: Callable[[], Iterable[Batch]]
    skipped: Callable[[], tuple[int, list[str]]] = lambda: (0, [])


def files_source(batches: Batches, file_coder: FileCoder, n_jobs: int | None) -> RowSource:
    def codes() -> Iterator[Batch]:
        return _counted(file_coder.coded(batches, n_jobs), file_coder.n_rows)

    return RowSource(file_coder, codes, lambda: (batches.skipped, batches.reasons))


def _counted(batches: Iterable[Batch], n_rows: int | None) -> Iterator[Batch]:
    """Yield batches, and raise DataError if they have not this number of rows together."""
    found = 0
    for batch in batches:
        found += batch.n_rows
        if n_rows is not None and found > n_rows:
            break
        yield batch
    if n_rows is not None and found != n_rows:
        more = "more" if found > n_rows else f"{found:,}"
        raise DataError(f"there must be {n_rows:,} rows, as when the files were read first, got {more}; start again")


def codes_source(folder: Path, training: TrainingSettings) -> RowSource:
    """Return the rows of a folder that `gcwsnet hash` wrote.

    The epochs and the temperature that it selected are those of a net with default settings, and are for no others.
    """
    manifest = Manifest.read(folder)
    hashed = hashed_files(folder, manifest)
    file_coder = coder_of_codes(folder)
    if file_coder.targets is not None and replace(training, ensemble="auto") != TrainingSettings():
        coder = replace(file_coder.coder, epochs=None, temperature=1.0)
        file_coder = replace(file_coder, coder=coder, targets=file_coder.targets.with_temperature(1.0))
    if file_coder.targets is None:
        raise ValueError(f"{folder} has codes of rows without labels, and a net cannot be trained on them")
    if len(hashed) < len(manifest.files):
        raise ValueError(
            f"{folder} has the codes of {len(hashed)} of {len(manifest.files)} files; run gcwsnet hash again with "
            "--resume to finish it"
        )
    if any("unread" in one for one in manifest.files):  # the coder was learned without them
        file_coder = replace(file_coder, n_rows=sum(one.rows for one in hashed))
    n_codes, n_values = file_coder.coder.n_codes, 2**file_coder.coder.code_bits

    def stored() -> Iterator[Batch]:
        for one in hashed:
            for batch in one.batches(folder):
                check_codes(batch, file_manifest(folder, one.number), n_codes=n_codes, n_values=n_values)
                yield Batch(batch.X, file_coder.target(batch.y), batch.weight)

    return RowSource(file_coder, lambda: _counted(stored(), file_coder.n_rows))


def is_codes(files: list[str]) -> bool:
    """Return whether the one source is a folder of codes; several of them are an error."""
    folders = [file for file in files if is_codes_folder(Path(file))]
    if folders and len(files) > 1:
        raise ValueError(f"a folder of codes is trained on alone, got {', '.join(files)}")
    return bool(folders)


def codes_digest(folder: Path) -> str:
    """Return the SHA-256 of the manifests of a folder of codes, which have the checksums of all that is in it."""
    digest = hashlib.sha256()
    for path in [folder / MANIFEST, *sorted(folder.glob("file-*.json"))]:
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def coder_of_codes(folder: Path) -> FileCoder:
    """Return how the codes of a folder are made, or raise DataError if the file does not say it."""
    arrays, description = read_description(folder)
    try:
        check_file_coder(arrays, description)
        return FileCoder.from_state(arrays, description)
    except (ValueError, AttributeError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataError(
            f"the file must say how codes are made ({reason}); hash the files again", path=str(folder / CODER)
        ) from error
