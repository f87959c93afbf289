"""Files hashed into a folder of codes, file by file; finished files are not hashed again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gcwsnet._atomic import remove_left_overs
from gcwsnet.coding import CoderSettings
from gcwsnet.coding._codes_folder import (
    CODER,
    MANIFEST,
    PART,
    Manifest,
    is_codes_folder,
    read_description,
    write_description,
    write_parts,
)
from gcwsnet.data import Batch, read
from gcwsnet.data._sources import find_sources
from gcwsnet.estimators._file_coder import FileCoder, learn_from_files, read_with_schema
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

    def fingerprint(self) -> dict[str, Any]:
        """Return what must be the same for hashing to be resumed."""
        inputs = find_sources(self.files)
        if not all(one.reusable for one in inputs):
            raise ValueError("hash reads files more than once, which standard input cannot be; give files")
        given = {name: getattr(self, name) for name in ("reading", "task", "seed", "format")}
        files = [[one.name, os.path.getsize(one.name)] for one in inputs]
        return json.loads(
            json.dumps({**given, "hashing": asdict(self.coder), "net": self.training.state(), "files": files})
        )


def hash_files(options: HashingOptions, report: Callable[[str], None]) -> tuple[FileCoder, Manifest]:
    """Write the codes of all files that are not finished yet; `report` is called with lines for people."""
    options.coder.check()
    options.training.check()
    fingerprint = options.fingerprint()
    options.out.mkdir(parents=True, exist_ok=True)
    remove_left_overs(options.out)
    manifest = _unfinished(options, fingerprint)
    names = [name for name, _ in fingerprint["files"]]
    if manifest is None:
        file_coder = learn_from_files(
            read(names, **options.reading),
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
        write_description(options.out, *file_coder.state())
        manifest = Manifest(fingerprint, [], len(names))
        manifest.write(options.out)
    else:
        file_coder = FileCoder.from_state(*read_description(options.out))
        report(f"{len(manifest.files)} of {len(names)} files are finished")
    for number, name in enumerate(names[len(manifest.files) :], start=len(manifest.files)):
        written = write_parts(options.out, number, _codes(name, options, file_coder), options.format)
        manifest.files.append({"file": name, **written})
        manifest.write(options.out)
        report(f"{name}: {written['rows']:,} rows")
    return file_coder, manifest


def _unfinished(options: HashingOptions, fingerprint: dict[str, Any]) -> Manifest | None:
    """Return the manifest of an earlier run that is to be resumed."""
    if not is_codes_folder(options.out):
        return None
    if options.restart:
        for path in (options.out / MANIFEST, *options.out.glob(f"{PART}-*"), options.out / CODER):
            path.unlink(missing_ok=True)
        return None
    if not options.resume:
        raise ValueError(f"{options.out} has codes; finish them with --resume, or write them again with --restart")
    try:
        manifest = Manifest.read(options.out)
    except FileNotFoundError:
        return None  # killed between coder and manifest
    for name, value in fingerprint.items():
        if manifest.settings.get(name) != value:
            raise ValueError(
                f"{options.out} was begun with {name} {manifest.settings.get(name)}, and now it is {value}; codes of a "
                "folder have the same files and settings, so write them again with --restart"
            )
    return manifest


def _codes(name: str, options: HashingOptions, file_coder: FileCoder) -> Iterator[Batch]:
    schema = file_coder.schema
    label = {} if schema.label is None else {"label": schema.label}
    for batch in read_with_schema([name], options.reading, schema, **label):
        yield Batch(file_coder.codes(batch.X, options.n_jobs), batch.y, batch.weight)
