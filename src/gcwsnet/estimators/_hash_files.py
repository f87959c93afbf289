"""Files hashed into a folder of codes, file by file; finished files are not hashed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gcwsnet._atomic import locked, remove_left_overs
from gcwsnet.coding import CoderSettings
from gcwsnet.coding._codes_folder import (
    HashedFile,
    Manifest,
    coder_digest,
    file_manifest,
    hashed_files,
    is_codes_folder,
    remove_codes,
    write_description,
    write_parts,
)
from gcwsnet.data import Batch, DataError, read
from gcwsnet.data._fingerprint import Inputs, difference
from gcwsnet.data._sources import find_sources
from gcwsnet.estimators._file_coder import FileCoder, learn_from_files, read_with_schema
from gcwsnet.estimators._training_rows import coder_of_codes
from gcwsnet.training import TrainingSettings


@dataclass(frozen=True)
class HashingOptions:
    """The options of a run of hashing.

    Attributes
    ----------
    format : {"npy", "parquet"}
        The format of the codes.
    resume, restart : bool
        Whether the codes in the folder are finished, or dropped and written again.
    training : TrainingSettings
        The settings of the nets that codes are made for, and that the search compares.
    files, out, reading, coder, task, seed, n_jobs
        See `TrainingOptions`; `out` is the folder of the codes.
    """

    files: list[str]
    out: Path
    reading: dict[str, Any]
    coder: CoderSettings
    training: TrainingSettings
    task: str
    seed: int
    format: str
    resume: bool
    restart: bool
    n_jobs: int | None

    def settings(self) -> dict[str, Any]:
        """Return what must be the same for hashing to be resumed, besides the files."""
        given = {name: getattr(self, name) for name in ("reading", "task", "seed", "format")}
        return json.loads(json.dumps({**given, "hashing": asdict(self.coder), "net": self.training.state()}))


def hash_files(options: HashingOptions, report: Callable[[str], None]) -> tuple[FileCoder, list[HashedFile]]:
    """Write the codes of all files that are not finished yet; `report` is called with lines for people."""
    options.coder.check()
    options.training.check()
    sources = find_sources(options.files)
    if not all(one.reusable for one in sources):
        raise ValueError("hash reads files more than once, which standard input cannot be; give files")
    options.out.mkdir(parents=True, exist_ok=True)
    with locked(options.out):
        remove_left_overs(options.out)
        inputs = Inputs(one.name for one in sources)
        manifest = _unfinished(options, inputs)
        if manifest is None:
            file_coder, manifest = _begin(options, inputs, report)
        else:
            file_coder = coder_of_codes(options.out)
            finished = len(hashed_files(options.out, manifest))
            report(f"{finished} of {len(manifest.files)} files are finished")
        hashed = []
        for number in range(len(manifest.files)):
            is_new = not file_manifest(options.out, number).exists()
            hashed.append(hash_file(options.out, number, n_jobs=options.n_jobs, loaded=(manifest, file_coder)))
            if is_new:
                report(_line(hashed[-1]))
    return file_coder, hashed


def _line(hashed: HashedFile) -> str:
    skipped = f", {hashed.skipped:,} skipped" if hashed.skipped else ""
    return f"{hashed.input['name']}: {hashed.rows:,} rows{skipped}"


def hash_file(
    folder: Path, number: int, *, n_jobs: int | None = None, loaded: tuple[Manifest, FileCoder] | None = None
) -> HashedFile:
    """Write the codes of one file of a folder of codes, and return what was written.

    It depends on the coder, on the manifest and on the file alone, and leaves the same bytes whenever and however often
    it is called, by whichever process. A file that is finished already is not read again. What it writes counts from
    the moment when the manifest of the file is moved into place, as the last of all.

    Parameters
    ----------
    folder : Path
        A folder with the coder and the manifest, which `hash_files` writes first.
    number : int
        The number of the file in the manifest.
    n_jobs : int, optional
        Threads.
    loaded : tuple of Manifest and FileCoder, optional
        What is in the folder, if it is known already.
    """
    manifest = Manifest.read(folder) if loaded is None else loaded[0]
    finished = HashedFile.read(folder, manifest, number)
    if finished is not None and all((folder / name).is_file() for part in finished.parts for name in part.files):
        return finished
    file_coder = coder_of_codes(folder) if loaded is None else loaded[1]
    expected, settings = manifest.files[number], manifest.settings
    name = expected["name"]
    inputs = Inputs([name])
    if inputs.fingerprints != [expected]:
        raise DataError("the file has other contents than when hashing began; begin again with --restart", path=name)
    reading = settings["reading"]
    if "rejects" in reading and len(manifest.files) > 1:
        reading = reading | {"rejects": f"{reading['rejects']}.{number:05d}"}
    schema = file_coder.schema
    label = {} if schema.label is None else {"label": schema.label}
    batches = read_with_schema([name], reading, schema, **label)
    codes = (Batch(file_coder.codes(batch.X, n_jobs), batch.y, batch.weight) for batch in batches)
    parts = write_parts(folder, number, codes, settings["format"])
    inputs.check()
    n_rows = sum(part.rows for part in parts)
    hashed = HashedFile(number, expected, manifest.coder, n_rows, batches.skipped, parts)
    hashed.write(folder)
    return hashed


def _begin(options: HashingOptions, inputs: Inputs, report: Callable[[str], None]) -> tuple[FileCoder, Manifest]:
    """Learn how files become codes, and write that and the manifest."""
    remove_codes(options.out)
    file_coder = learn_from_files(
        read([one["name"] for one in inputs.fingerprints], **options.reading),
        options.coder,
        options.training,
        options.task,
        options.seed,
        options.n_jobs,
    )
    if "auto" in (options.coder.scale, options.coder.p) and file_coder.targets is None:
        report(
            "preprocessing and p were not selected, since there are no labels: where they are 'auto', they are "
            "'numeric' and 1"
        )
    inputs.check()
    write_description(options.out, *file_coder.state())
    manifest = Manifest(options.settings(), inputs.fingerprints, coder_digest(options.out))
    manifest.write(options.out)
    return file_coder, manifest


def _unfinished(options: HashingOptions, inputs: Inputs) -> Manifest | None:
    """Return the manifest of an earlier run that is to be resumed."""
    if not is_codes_folder(options.out) or options.restart:
        return None
    if not options.resume:
        raise ValueError(f"{options.out} has codes; finish them with --resume, or write them again with --restart")
    try:
        manifest = Manifest.read(options.out)
    except FileNotFoundError:
        return None  # killed between coder and manifest
    for name, value in options.settings().items():
        before = manifest.settings.get(name)
        if before != value:
            raise ValueError(
                f"{options.out} was begun with {name} {before}, and now it is {value}; codes of a folder have the same "
                "files and settings, so write them again with --restart"
            )
    if manifest.files != inputs.fingerprints:
        raise ValueError(
            f"{options.out} was begun with other files: {difference(manifest.files, inputs.fingerprints)}; write the "
            "codes again with --restart"
        )
    return manifest
