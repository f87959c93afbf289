"""`gcwsnet train` and `hash`: from files to a model, and to codes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gcwsnet._paths import is_codes, require_separate
from gcwsnet.cli import _options as options

_net = partial(typer.Option, rich_help_panel="The net")
_run = partial(typer.Option, rich_help_panel="The run")
_where = partial(typer.Option, rich_help_panel="Where it runs")


def _layers(given: Any) -> Any:
    """Return the units of hidden layers as a tuple, or "auto"."""
    if given == "auto":
        return given
    try:
        return () if given in ("", "none") else tuple(int(one) for one in str(given).split(","))
    except ValueError:
        raise typer.BadParameter(f"The value must be numbers with commas, none or auto, got {given!r}.") from None


@dataclass(frozen=True)
class NetOptions:
    """The net and its training, as the parameters of the estimators with these names."""

    hidden: Annotated[
        Any,
        _net(
            metavar="A,B,...|none|auto",
            parser=_layers,
            help="The units of the hidden layers. auto: 48 in an ensemble, 64 or 200 in one net.",
        ),
    ] = "auto"
    epochs: Annotated[Any, _net(**options.number_or_auto(int), help="auto: 8, 5, 3 or 1, by the rows.")] = "auto"
    early_stopping: Annotated[
        bool,
        _net(
            "--early-stopping",
            help="Learn for as many epochs as are best for the held-out rows, at most 30 unless --epochs says so.",
        ),
    ] = False
    batch_size: Annotated[
        Any,
        _net(
            **options.number_or_auto(int), help="The rows of a step. auto: 32, 128 from 200,000 rows, 4 for a stream."
        ),
    ] = "auto"
    learning_rate: Annotated[Any, _net(**options.number_or_auto(float), help="The initial learning rate of Adam.")] = (
        "auto"
    )


OF_NETS = [
    *("n_hashes", "bits", "search", "ensemble", *(one.name for one in fields(NetOptions))),
    *("test", "scheduler", "workers", "shards", "resume", "checkpoint_every"),
]


def _refuse_for_machine(context: typer.Context, files: list[str]) -> None:
    """Raise an error for what a kernel machine cannot have."""
    options.refuse(context, OF_NETS, "a kernel machine has no net and no codes. Leave it out.")
    if is_codes(files):
        raise typer.BadParameter("A kernel machine learns from rows, and not from codes.", param_hint="--model")


def train(
    context: typer.Context,
    files: options.Files,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder for the model.")],
    cluster: options.ClusterOptions,
    rows: options.TableOptions,
    skip: options.SkipOptions,
    hashing: options.HashOptions,
    net: NetOptions,
    run: options.ResumeOptions,
    kind: Annotated[
        Literal["net", "kernel"],
        typer.Option(
            "--model", help="A net, or the exact kernel machine, for at most 20,000 rows, which stay in memory."
        ),
    ] = "net",
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="FILE", help="A file of held-out rows; may be repeated."),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=0.9,
            help="The share of rows to hold out, to score a first model that learns from the others. 0 trains only the "
            "final model, on all rows.",
            show_default="0.2, and 0 for a stream and for codes",
        ),
    ] = None,
    shards: Annotated[
        int | None,
        _where(
            min=1,
            help="On a cluster: the number of parts of the rows that are learned at the same time. The model "
            "depends on it, and not on the number of workers.",
            show_default="4",
        ),
    ] = None,
    task: options.Task = "auto",
    random_state: options.RandomState = 0,
    n_jobs: options.NJobs = 1,
    checkpoint_every: Annotated[
        int, _run(min=0, metavar="ROWS", help="Save what --resume needs after this many rows; 0 is never.")
    ] = 0,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Write a page of HTML: scores on the held-out rows, pictures, columns by importance.",
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Train a net on files, in memory that does not grow with them, or a kernel machine.

    A first model learns from most rows, and is scored on the rows that were held out; the final model learns from all
    rows. At 1, 2, 4, 8, ... thousand rows, the loss and the accuracy of the rows before they are learned are printed,
    and with --test those of the test rows. The folder of the model gets model.safetensors.

    For example:
      gcwsnet train digits.csv --label digit --out digits-model --report digits.html
      gcwsnet train train.svm --test test.svm --n-hashes 64 --hidden 64 --out model
      gcwsnet train houses.csv --label price --model kernel --out model
      gcwsnet train clicks.csv --label clicked --hash-columns 65536 --out model
      cat train.svm | gcwsnet train - --n-features 64 --out model
      gcwsnet train train.svm --checkpoint-every 500 --resume --out model
      gcwsnet train codes --out model
      gcwsnet train parts/*.svm --workers 2 --shards 4 --out model
    """
    from gcwsnet.cli._display import TrainingDisplay, print_summary, reporter, summary
    from gcwsnet.files._train import WRITTEN, TrainingOptions, train_files
    from gcwsnet.files._train_machine import train_machine

    options.refuse_for_codes(context, files, test)
    if kind == "kernel":
        _refuse_for_machine(context, files)
    run.check()
    cluster.check()
    if cluster.is_used:
        options.refuse(context, ["holdout", "early_stopping", "report"], "a cluster holds no rows out. Leave it out.")
    else:
        options.refuse(context, ["shards"], "one process learns row after row. Give --workers or --scheduler too.")
    if holdout == 0 or "-" in files:
        options.refuse(context, ["report"], "it is about held-out rows, and there are none. Leave it out.")
    if report is not None:
        try:
            require_separate([], [report], folder=out, written=WRITTEN)
        except ValueError as error:
            raise typer.BadParameter(f"{error}.", param_hint="--report") from None
        report.parent.mkdir(parents=True, exist_ok=True)
    params = vars(net) | {"n_jobs": n_jobs}
    if not is_codes(files):
        params |= hashing.params() | {"missing": rows.missing, "random_state": random_state}
    given = TrainingOptions(
        files=files,
        tests=test or [],
        out=out,
        params=params,
        reading=rows.settings() | skip.settings(),
        task=task,
        holdout=holdout,
        checkpoint_rows=checkpoint_every,
        resume=run.resume,
        restart=run.restart,
    )
    quiet = quiet or as_json
    title = f"{Path(files[0]).name}{f' and {len(files) - 1} more' * (len(files) > 1)}"
    title += "" if rows.label is None else f": {rows.label}"
    with TrainingDisplay(out, quiet=quiet, report=report, title=title) as display:
        if not cluster.is_used:
            result = (train_machine if kind == "kernel" else train_files)(given, display)
        else:
            from gcwsnet.distributed._cluster import connected
            from gcwsnet.distributed._files import TrainingCluster
            from gcwsnet.distributed._rounds import Sharding

            sharding = Sharding() if shards is None else Sharding(shards)
            with connected(scheduler=cluster.scheduler, workers=cluster.workers) as client:
                result = train_files(given, display, TrainingCluster(client, reporter(quiet), sharding))
    if report is not None and not display.has_reported:
        why = "a resumed run has been scored before" if run.resume else "the rows are too few to hold some out"
        print(f"gcwsnet: no report was written: {why}", file=sys.stderr)
    print_summary(summary(result, out), as_json=as_json)


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
        from gcwsnet.distributed._files import hash_on_cluster

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
