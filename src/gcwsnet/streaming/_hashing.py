"""Files hashed into a folder of codes, file by file; what is done is not done again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gcwsnet._atomic import remove_left_overs
from gcwsnet.data import Batch, Schema, read
from gcwsnet.data._sources import find_sources
from gcwsnet.streaming._coder import Coder
from gcwsnet.streaming._folder import (
    CODER,
    MANIFEST,
    PART,
    Manifest,
    is_codes_folder,
    read_coder,
    write_coder,
    write_parts,
)
from gcwsnet.streaming._learn_coder import is_torch_there, learn_coder
from gcwsnet.streaming._prepare import read_again


@dataclass(frozen=True)
class Wanted:
    """All that hashing is asked for; see the session of training."""

    files: list[str]
    out: Path
    reading: dict[str, Any]
    hashing: dict[str, Any]
    task: str
    seed: int
    format: str
    resume: bool
    restart: bool
    n_jobs: int | None

    def settings(self) -> dict[str, Any]:
        """What must be the same for hashing to go on."""
        given = {name: getattr(self, name) for name in ("reading", "hashing", "task", "seed", "format")}
        inputs = find_sources(self.files)
        if not all(one.reusable for one in inputs):
            raise ValueError("hash reads files more than once, which standard input cannot be; give files")
        files = [[one.name, os.path.getsize(one.name)] for one in inputs]
        return json.loads(json.dumps({**given, "files": files}))


def hash_files(wanted: Wanted, told: Callable[[str], None]) -> tuple[Coder, Manifest]:
    """Write the codes of all files that are not done yet."""
    wanted.out.mkdir(parents=True, exist_ok=True)
    remove_left_overs(wanted.out)
    settings = wanted.settings()
    manifest = _begun(wanted, settings)
    names = [name for name, _ in settings["files"]]
    if manifest is None:
        batches = read(names, **wanted.reading)
        hashing = wanted.hashing | {"missing": "zero" if batches.schema.missing == "nan" else "error"}
        coder = learn_coder(batches, batches.survey(), hashing, wanted.task, wanted.seed, wanted.n_jobs)
        layout = batches.schema
        if "auto" in (hashing["scale"], hashing["p"]) and not coder.selection:
            why = "there are no labels" if coder.task is None else "torch is not installed"
            if coder.task is None or not is_torch_there():
                told(f"scaling and p were not chosen, since {why}: the scaling is numeric where it is open, and p is 1")
        write_coder(wanted.out, coder, layout)
        manifest = Manifest(settings, [], len(names))
        manifest.write(wanted.out)
    else:
        coder, layout = read_coder(wanted.out, wanted.n_jobs)
        told(f"{len(manifest.files)} of {len(names)} files are done")
    for number, name in enumerate(names):
        if number < len(manifest.files):
            continue
        done = write_parts(wanted.out, number, _codes(name, wanted, layout, coder), wanted.format)
        manifest.files.append({"file": name, **done})
        manifest.write(wanted.out)
        told(f"{name}: {done['rows']:,} rows")
    return coder, manifest


def _begun(wanted: Wanted, settings: dict[str, Any]) -> Manifest | None:
    """What there is of an earlier run that may go on."""
    if not is_codes_folder(wanted.out):
        return None
    if wanted.restart:
        for path in (wanted.out / MANIFEST, *wanted.out.glob(f"{PART}-*"), wanted.out / CODER):
            path.unlink(missing_ok=True)
        return None
    if not wanted.resume:
        raise ValueError(f"{wanted.out} has codes; finish them with --resume, or write them anew with --restart")
    try:
        manifest = Manifest.read(wanted.out)
    except FileNotFoundError:
        return None  # killed between coder and manifest
    for name, value in settings.items():
        if manifest.settings.get(name) != value:
            raise ValueError(
                f"{wanted.out} was begun with {name} {manifest.settings.get(name)}, and now it is {value}; codes of a "
                "folder have the same files and settings, so write them anew with --restart"
            )
    return manifest


def _codes(name: str, wanted: Wanted, layout: Schema, coder: Coder) -> Iterator[Batch]:
    label = {} if layout.label is None else {"label": layout.label}
    for batch in read_again([name], wanted.reading, layout, **label):
        yield Batch(coder.codes(batch.X), batch.y, batch.weight)
