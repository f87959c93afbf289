"""`gcwsnet train`: from files to a model."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gcwsnet.cli import _options as options

if TYPE_CHECKING:
    from gcwsnet.cli._display import TrainingDisplay
    from gcwsnet.files._train import TrainingOptions, TrainingResult

_net = partial(typer.Option, rich_help_panel="The net")
_run = partial(typer.Option, rich_help_panel="The run")
_where = partial(typer.Option, rich_help_panel="Where it runs")


def train(
    context: typer.Context,
    files: options.Files,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder for the model.")],
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="FILE", help="A file of held-out rows; may be repeated."),
    ] = None,
    engine: options.Engine = "local",
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    shards: Annotated[
        int | None,
        _where(
            min=1,
            help="With --engine dask: the pieces of rows that are learned apart, and then combined. The model follows "
            "from it, and not from the number of workers.",
            show_default="4",
        ),
    ] = None,
    sync_rows: Annotated[
        int | None,
        _where(min=1, help="With --engine dask: the rows of a piece.", show_default="8192"),
    ] = None,
    task: options.Task = "auto",
    random_state: options.RandomState = 0,
    n_jobs: options.NJobs = 1,
    hidden: Annotated[
        str,
        _net(
            metavar="A,B,...|none|auto",
            help="The units of the hidden layers. auto: 48 in an ensemble, 64 or 200 in one net.",
        ),
    ] = "auto",
    reduction: Annotated[
        str, _net(metavar="none|NUMBER|8bit", help="m: the table is m times smaller, by count-sketch.")
    ] = "none",
    epochs: Annotated[str, _net(metavar="NUMBER|auto", help="auto: 8, 3 or 1, by a search.")] = "auto",
    batch_size: Annotated[
        str, _net(metavar="NUMBER|auto", help="The rows of a step. auto: 32, 128 from 200,000 rows, 16 for a stream.")
    ] = "auto",
    learning_rate: Annotated[str, _net(metavar="NUMBER|auto", help="The rate of Adam at the beginning.")] = "auto",
    schedule: Annotated[
        str | None,
        _net(metavar="NAME", help="linear, cosine or constant; a stream is constant.", show_default="linear"),
    ] = None,
    betas: Annotated[str, _net(metavar="A,B", help="The betas of Adam; the paper has 0.9,0.999.")] = "0.0,0.999",
    weight_decay: Annotated[float, _net(min=0.0, help="The weight decay of Adam, decoupled as in AdamW.")] = 0.0,
    shuffle_rows: Annotated[
        int | None,
        _run(
            min=0,
            help="The rows of the buffer that shuffles; 0 keeps the order of the files.",
            show_default="65536, and 0 for a stream",
        ),
    ] = None,
    classes: Annotated[
        str | None, _run(metavar="A,B,...", help="All labels of a stream. By default, those that it shows.")
    ] = None,
    records: Annotated[
        int | None,
        _run(min=1, help="Records of the history in an epoch.", show_default="10 with --test, else 1"),
    ] = None,
    checkpoint_every: Annotated[
        int, _run(min=0, metavar="ROWS", help="Save what --resume needs after this many rows; 0 is never.")
    ] = 0,
    resume: Annotated[bool, _run("--resume", help="Continue after the last checkpoint.")] = False,
    restart: Annotated[bool, _run("--restart", help="Start again, and drop the checkpoint in the folder.")] = False,
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
    """Train a net on files, in one pass and in memory that does not grow with them.

    The loss and the accuracy of rows before they are learned are printed at 1, 2, 4, 8, ... thousand rows, and with
    --test also those of the test rows. The folder of the model gets model.safetensors, curves.json and curves.png.

    For example:
      gcwsnet train digits.csv --label digit --out model
      gcwsnet train train.svm --test test.svm --n-hashes 64 --hidden 64 --out model
      gcwsnet train clicks.csv --label clicked --hash-columns 65536 --out model
      cat train.svm | gcwsnet train - --n-features 64 --out model
      gcwsnet train train.svm --checkpoint-every 500 --resume --out model
      gcwsnet train codes --out model
      gcwsnet train parts/*.svm --engine dask --workers 2 --shards 4 --out model
    """
    from gcwsnet.cli._display import TrainingDisplay, print_values, summary
    from gcwsnet.files._train import TrainingOptions, train_files
    from gcwsnet.net._settings import TrainingSettings

    options.refuse_for_codes(context, files, test)
    options.refuse_both(resume, restart)
    options.check_engine(engine, scheduler, workers)
    if engine == "local":
        options.refuse(context, ["shards", "sync_rows"], "one process learns row after row. Give --engine dask too.")
    given = TrainingOptions(
        files=files,
        tests=test or [],
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
        training=TrainingSettings(
            hidden=_layers(hidden),
            ensemble=options.number("--ensemble", ensemble, int, word="auto"),
            reduction=None if reduction == "none" else options.number("--reduction", reduction, int, word="8bit"),
            epochs=options.number("--epochs", epochs, int, word="auto"),
            batch_size=options.number("--batch-size", batch_size, int, word="auto"),
            learning_rate=options.number("--learning-rate", learning_rate, float, word="auto"),
            schedule="linear" if schedule is None else schedule,
            betas=_betas(betas),
            weight_decay=weight_decay,
        ),
        has_schedule=schedule not in (None, "constant"),
        task=options.known_task(task),
        classes=None if classes is None else classes.split(","),
        seed=random_state,
        shuffle_rows=shuffle_rows,
        records=records,
        checkpoint_rows=checkpoint_every,
        resume=resume,
        restart=restart,
        n_jobs=n_jobs,
    )
    with TrainingDisplay(out, quiet=quiet or as_json) as display:
        if engine == "local":
            result = train_files(given, display)
        else:
            result = _train_on_cluster(given, display, scheduler, workers, shards, sync_rows, quiet=quiet or as_json)
    print_values(summary(result, out), as_json=as_json)


def _train_on_cluster(
    given: TrainingOptions,
    display: TrainingDisplay,
    scheduler: str | None,
    workers: int | None,
    shards: int | None,
    sync_rows: int | None,
    *,
    quiet: bool,
) -> TrainingResult:
    from gcwsnet.distributed._cluster import connected
    from gcwsnet.distributed._rounds import Sharding
    from gcwsnet.distributed._train_files import train_on_cluster

    given_sharding = {"shards": shards, "sync_rows": sync_rows}
    sharding = Sharding(**{name: value for name, value in given_sharding.items() if value is not None})

    def report(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr)

    with connected(scheduler=scheduler, workers=workers) as client:
        return train_on_cluster(given, display, report, client, sharding)


def _layers(given: str) -> tuple[int, ...] | Literal["auto"]:
    if given == "auto":
        return "auto"
    if given in ("", "none"):
        return ()
    return tuple(options.number("--hidden", one, int) for one in given.split(","))


def _betas(given: str) -> tuple[float, float]:
    betas = tuple(options.number("--betas", one, float) for one in given.split(","))
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise typer.BadParameter(
            f"The value must be two numbers from 0 to below 1, with a comma, got {given!r}.", param_hint="--betas"
        )
    return betas[0], betas[1]
