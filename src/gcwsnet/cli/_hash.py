"""`gcwsnet hash`: from files to codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gcwsnet.cli import _options as options


def hash_command(
    files: options.FilesToRead,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder for the codes.")],
    cluster: options.ClusterOptions,
    rows: options.TableOptions,
    skip: options.SkipOptions,
    hashing: options.HashOptions,
    run: options.ResumeOptions,
    task: options.Task = "auto",
    random_state: options.RandomState = 0,
    n_jobs: options.NJobs = 1,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Hash files into a folder of codes, from which gcwsnet train learns the same net as from the files.

    The folder gets coder.safetensors (how rows become codes), codes.json, and of each file its codes, labels and
    weights and a manifest with their checksums. With several files, --rejects has a file for each of them. A file that
    cannot be read is left out and named, the others are done, and the exit code is 1; --resume does the rest. The codes
    of a cluster are the same bytes, for any number of workers.

    For example:
      gcwsnet hash train.svm --n-hashes 64 --out codes
      gcwsnet hash digits.csv --label digit --out digits-codes
      gcwsnet hash parts/*.svm --resume --out parts-codes
      gcwsnet hash parts/*.svm --workers 2 --out dask-codes
    """
    from gcwsnet.cli._display import print_values, reporter
    from gcwsnet.files._hash import HashingOptions, hash_with

    run.check()
    cluster.check()
    given = HashingOptions(
        files=files,
        out=out,
        reading=rows.settings() | skip.settings(),
        params=hashing.params() | {"missing": rows.missing, "random_state": random_state, "n_jobs": n_jobs},
        task=task,
        resume=run.resume,
        restart=run.restart,
    )
    report = reporter(quiet or as_json)
    if cluster.is_used:
        from gcwsnet.distributed._hash import hash_on_cluster

        file_coder, hashed, failures = hash_on_cluster(
            given, report, scheduler=cluster.scheduler, workers=cluster.workers
        )
    else:
        file_coder, hashed, failures = hash_with(given, report)
    summary = {
        "codes": str(out),
        "rows": sum(one.rows for one in hashed),
        "files": len(hashed),
        "n_hashes": file_coder.coder.settings.n_hashes,
        "bits": file_coder.coder.settings.bits,
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
