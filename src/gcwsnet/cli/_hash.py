"""`gcwsnet hash`: files in, codes out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from gcwsnet.cli import _options as options


def hash_command(
    files: options.Files,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the codes go.")],
    codes_format: Annotated[
        str, typer.Option("--codes-format", metavar="npy|parquet", help="The format of the codes.")
    ] = "npy",
    task: options.Task = "auto",
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the files that are not done yet.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew, though there are codes.")] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    hashes: options.Hashes = 256,
    bits: options.Bits = 8,
    t_bits: options.TBits = "all",
    p: options.Power = "auto",
    scale: options.Scale = "auto",
    encoding: options.Encoding = "mixed",
    oversample: options.Oversample = 1,
    format: options.Format = "auto",  # noqa: A002
    label: options.Label = None,
    weight: options.Weight = None,
    columns: options.Columns = None,
    categorical: options.Categorical = None,
    hash_columns: options.HashColumns = None,
    header: options.Header = None,
    missing: options.Missing = None,
    features: options.Features = None,
    index_base: options.IndexBase = "auto",
    on_error: options.OnError = "stop",
    rejects: options.Rejects = None,
) -> None:
    """Hash files into a folder of codes, which gcwsnet train learns from as from the files themselves.

    The folder gets coder.safetensors, which tells how rows become codes, codes.json, and the codes, labels and weights
    of each file.

    For example:
      gcwsnet hash train.svm --hashes 64 --out codes
      gcwsnet hash digits.csv --label digit --codes-format parquet --out codes-of-digits
      gcwsnet hash parts/*.svm --resume --out codes-of-parts
    """
    from gcwsnet.streaming._folder import FORMATS
    from gcwsnet.streaming._hashing import Wanted, hash_files

    if codes_format not in FORMATS:
        raise typer.BadParameter(f"must be npy or parquet, got {codes_format!r}", param_hint="--codes-format")
    wanted = Wanted(
        files=files,
        out=out,
        reading=options.reading(
            format=format,
            label=label,
            weight=weight,
            columns=columns,
            categorical=categorical,
            hash_columns=hash_columns,
            header=header,
            missing=missing,
            features=features,
            index_base=index_base,
            on_error=on_error,
            rejects=rejects,
        ),
        hashing=options.hashing(
            hashes=hashes, bits=bits, t_bits=t_bits, p=p, scale=scale, encoding=encoding, oversample=oversample
        ),
        task=options.known_task(task),
        seed=seed,
        format=codes_format,
        resume=resume,
        restart=restart,
        n_jobs=jobs,
    )
    coder, manifest = hash_files(wanted, lambda line: None if quiet or as_json else print(line, file=sys.stderr))
    told = {
        "codes": str(out),
        "rows": manifest.n_rows,
        "files": len(manifest.files),
        "hashes": hashes,
        "bits": bits,
        "scale": getattr(coder.scaling, "scale", None),
        "p": coder.p,
    }
    print(json.dumps(told) if as_json else "\n".join(f"{name}: {value}" for name, value in told.items()))
