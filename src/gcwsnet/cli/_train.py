"""`gcwsnet train`: files in, a model out."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from gcwsnet.cli import _options as options

_net = partial(typer.Option, rich_help_panel="The net")
_run = partial(typer.Option, rich_help_panel="The run")


def train(
    context: typer.Context,
    files: options.Files,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the model goes.")],
    test: Annotated[
        list[str] | None, typer.Option("--test", metavar="FILE", help="Rows to judge by; may be repeated.")
    ] = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    hidden: Annotated[str, _net(metavar="A,B,...|none", help="Units of the hidden layers.")] = "200",
    reduction: Annotated[str | None, _net(metavar="NUMBER|8bit", help="m, a count-sketch of the table.")] = None,
    epochs: Annotated[str, _net(metavar="NUMBER|auto", help="auto: 1, or 3 below 1,500 rows.")] = "auto",
    batch_size: Annotated[int, _net(min=1, help="Rows of a step.")] = 32,
    learning_rate: Annotated[str, _net(metavar="NUMBER|auto", help="Of Adam, at the beginning.")] = "auto",
    schedule: Annotated[str, _net(metavar="NAME", help="linear, cosine or constant.")] = "linear",
    momentum: Annotated[float, _net(min=0.0, max=0.999, help="Adam's first beta; the paper has 0.9.")] = 0.0,
    weight_decay: Annotated[float, _net(min=0.0, help="As in AdamW.")] = 0.0,
    shuffle_rows: Annotated[
        int, _run(min=0, help="Rows of the buffer that mixes files; 0 keeps their order.")
    ] = 65_536,
    classes: Annotated[
        str | None, _run(metavar="A,B,...", help="All labels of a stream; without it, those of its first rows.")
    ] = None,
    checkpoints: Annotated[int, _run(min=1, help="How often in an epoch the test rows are looked at.")] = 10,
    checkpoint_every: Annotated[
        int, _run(min=0, metavar="ROWS", help="Save all that is needed to go on; 0 is never.")
    ] = 0,
    resume: Annotated[bool, _run("--resume", help="Go on after the last checkpoint.")] = False,
    restart: Annotated[bool, _run("--restart", help="Begin anew, though there is a checkpoint.")] = False,
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
    """Train a net on files, in one pass and in memory that does not grow with them.

    On the way it says how good the net is on rows before it learns from them, at 1, 2, 4, 8, ... thousand rows, and
    with --test on the test rows. The folder of the model gets model.safetensors, curves.json and curves.png.


    For example:
      gcwsnet train digits.csv --label digit --out model
      gcwsnet train train.svm --test test.svm --hashes 64 --hidden 64 --out model
      gcwsnet train clicks.csv --label clicked --hash-columns 65536 --out model
      cat train.svm | gcwsnet train - --features 64 --out model
      gcwsnet train train.svm --checkpoint-every 500 --resume --out model
      gcwsnet train codes --out model
    """
    options.need_torch()
    from gcwsnet.cli._show import TrainingShown, summary
    from gcwsnet.streaming._session import Wanted
    from gcwsnet.streaming._session import train as run

    options.refuse_for_codes(context, files)
    wanted = Wanted(
        files=files,
        tests=test or [],
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
        net={
            "hidden": _layers(hidden),
            "reduction": reduction if reduction in (None, "8bit") else options.number("--reduction", reduction, int),
            "batch_size": batch_size,
            "learning_rate": _or_auto("--learning-rate", learning_rate, float),
            "schedule": schedule,
            "betas": (momentum, 0.999),
            "weight_decay": weight_decay,
        },
        task=options.known_task(task),
        classes=None if classes is None else [_label(one) for one in classes.split(",")],
        epochs=_or_auto("--epochs", epochs, int),
        seed=seed,
        shuffle_rows=shuffle_rows,
        checkpoints=checkpoints,
        checkpoint_rows=checkpoint_every,
        resume=resume,
        restart=restart,
        n_jobs=jobs,
    )
    with TrainingShown(out, quiet=quiet or as_json) as shown:
        finished = run(wanted, shown)
    told = summary(finished, out)
    print(json.dumps(told) if as_json else "\n".join(f"{name}: {value}" for name, value in told.items()))


def _layers(given: str) -> tuple[int, ...]:
    if given in ("", "none"):
        return ()
    return tuple(options.number("--hidden", one, int) for one in given.split(","))


def _or_auto(option: str, given: str, kind: type[int] | type[float]) -> Any:
    return given if given == "auto" else options.number(option, given, kind)


def _label(given: str) -> str | float:
    """A label of a stream: a number if it looks like one."""
    try:
        return float(given)
    except ValueError:
        return given
