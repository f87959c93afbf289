"""`gcwsnet hash`: from files to codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gcwsnet.cli import _options as options


def hash_command(
    files: options.FilesToRead,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder for the codes.")],
    engine: options.Engine = "local",
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    codes_format: Annotated[
        str, typer.Option("--codes-format", metavar="npy|parquet", help="The format of the codes.")
    ] = "npy",
    task: options.Task = "auto",
    random_state: options.RandomState = 0,
    n_jobs: options.NJobs = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Continue with the files that are not done yet.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Start again, and drop the codes in the folder.")] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    n_hashes: options.NHashes = 256,
    bits: options.Bits = 8,
    t_bits: options.TBits = "all",
    p: options.Power = "auto",
    scale: options.Scale = "auto",
    relevance: options.Relevance = "auto",
    search: options.Search = "fast",
    ensemble: options.Ensemble = "auto",
    encoding: options.Encoding = "mixed",
    format: options.Format = "auto",  # noqa: A002
    label: options.Label = None,
    weight: options.Weight = None,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    categorical: options.Categorical = None,
    hash_columns: options.HashColumns = None,
    header: options.Header = None,
    missing: options.Missing = "auto",
    n_features: options.NFeatures = None,
    index_base: options.IndexBase = "auto",
    on_error: options.OnError = "stop",
    rejects: options.Rejects = None,
) -> None:
    """Hash files into a folder of codes, which gcwsnet train learns from as from the files themselves.

    The folder gets coder.safetensors (how rows become codes), codes.json, and of each file its codes, labels and
    weights and a manifest with their checksums. With several files, --rejects has a file for each of them. A file that
    cannot be read is left out and named, the others are done, and the exit code is 1; --resume does the rest. The codes
    of --engine dask are the same bytes, for any number of workers.

    For example:
      gcwsnet hash train.svm --n-hashes 64 --out codes
      gcwsnet hash digits.csv --label digit --codes-format parquet --out digits-codes
      gcwsnet hash parts/*.svm --resume --out parts-codes
      gcwsnet hash parts/*.svm --engine dask --workers 2 --out dask-codes
    """
    from gcwsnet.cli._display import print_values
    from gcwsnet.files._codes import FORMATS
    from gcwsnet.files._hash import HashingOptions, hash_with
    from gcwsnet.net._settings import TrainingSettings

    options.check_choice("--codes-format", codes_format, FORMATS)
    options.refuse_both(resume, restart)
    options.check_engine(engine, scheduler, workers)
    given = HashingOptions(
        files=files,
        out=out,
        reading=options.reading(
            format=format,
            label=label,
            weight=weight,
            columns=columns,
            exclude=exclude,
            categorical=categorical,
            hash_columns=hash_columns,
            header=header,
            missing=missing,
            n_features=n_features,
            index_base=index_base,
            on_error=on_error,
            rejects=rejects,
        ),
        coder=options.coder_settings(
            n_hashes=n_hashes,
            bits=bits,
            t_bits=t_bits,
            p=p,
            scale=scale,
            relevance=relevance,
            search=search,
            encoding=encoding,
            missing=missing,
        ),
        training=TrainingSettings(ensemble=options.number("--ensemble", ensemble, int, word="auto")),
        task=options.known_task(task),
        seed=random_state,
        format=codes_format,
        resume=resume,
        restart=restart,
        n_jobs=n_jobs,
    )

    def report(line: str) -> None:
        if not (quiet or as_json):
            print(line, file=sys.stderr)

    if engine == "dask":
        from gcwsnet.distributed._hash import hash_on_cluster

        file_coder, hashed, failures = hash_on_cluster(given, report, scheduler=scheduler, workers=workers)
    else:
        file_coder, hashed, failures = hash_with(given, report)
    summary = {
        "codes": str(out),
        "rows": sum(one.rows for one in hashed),
        "files": len(hashed),
        "n_hashes": n_hashes,
        "bits": bits,
        "scale": file_coder.coder.scale,
        "p": file_coder.coder.p,
    }
    skipped = sum(one.skipped for one in hashed)
    if skipped:
        summary["skipped"] = skipped
    if failures:
        summary["failed"] = [*failures] if as_json else ", ".join(failures)
    print_values(summary, as_json=as_json)
    if failures:
        reasons = [str(error) if name in str(error) else f"{name}: {error}" for name, error in failures.items()]
        for reason in reasons:
            report(f"not hashed: {reason}")
        raise ValueError(
            f"{len(failures)} of {len(failures) + len(hashed)} files have no codes, and the others are done; correct "
            f"them, and finish with --resume: {reasons[0]}" + ", and others" * (len(failures) > 1)
        )
