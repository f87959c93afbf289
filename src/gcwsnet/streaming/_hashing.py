"""Hashing of files into a folder of codes, file by file, which can be interrupted and resumed."""

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
from gcwsnet.streaming._prepare import missing_of, read_again


@dataclass(frozen=True)
class HashingOptions:
    """The options of hashing files; see the options of a training run."""

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
        """Return what must be the same for hashing to be resumed."""
        given = {name: getattr(self, name) for name in ("reading", "hashing", "task", "seed", "format")}
        inputs = find_sources(self.files)
        if not all(one.reusable for one in inputs):
            raise ValueError("hash reads files more than once, which standard input cannot be; give files")
        files = [[one.name, os.path.getsize(one.name)] for one in inputs]
        return json.loads(json.dumps({**given, "files": files}))


def hash_files(options: HashingOptions, log: Callable[[str], None]) -> tuple[Coder, Manifest]:
    """Write the codes of all files that are not done yet."""
    options.out.mkdir(parents=True, exist_ok=True)
    remove_left_overs(options.out)
    settings = options.settings()
    manifest = _unfinished(options, settings)
    names = [name for name, _ in settings["files"]]
    if manifest is None:
        batches = read(names, **options.reading)
        hashing = options.hashing | {"missing": missing_of(batches.schema)}
        coder = learn_coder(batches, batches.survey(), hashing, options.task, options.seed, options.n_jobs)
        layout = batches.schema
        if "auto" in (hashing["scale"], hashing["p"]) and not coder.selection:
            why = "there are no labels" if coder.task is None else "torch is not installed"
            if coder.task is None or not is_torch_there():
                log(f"scaling and p were not chosen, since {why}: the scaling is numeric where it is open, and p is 1")
        write_coder(options.out, coder, layout)
        manifest = Manifest(settings, [], len(names))
        manifest.write(options.out)
    else:
        coder, layout = read_coder(options.out, options.n_jobs)
        log(f"{len(manifest.files)} of {len(names)} files are done")
    for number, name in enumerate(names):
        if number < len(manifest.files):
            continue
        done = write_parts(options.out, number, _codes(name, options, layout, coder), options.format)
        manifest.files.append({"file": name, **done})
        manifest.write(options.out)
        log(f"{name}: {done['rows']:,} rows")
    return coder, manifest


def _unfinished(options: HashingOptions, settings: dict[str, Any]) -> Manifest | None:
    """Return the manifest of an earlier run that can be resumed."""
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
    for name, value in settings.items():
        if manifest.settings.get(name) != value:
            raise ValueError(
                f"{options.out} was begun with {name} {manifest.settings.get(name)}, and now it is {value}; the codes "
                "of a folder have the same files and settings, so write them again with --restart"
            )
    return manifest


def _codes(name: str, options: HashingOptions, layout: Schema, coder: Coder) -> Iterator[Batch]:
    label = {} if layout.label is None else {"label": layout.label}
    for batch in read_again([name], options.reading, layout, **label):
        yield Batch(coder.codes(batch.X), batch.y, batch.weight)
