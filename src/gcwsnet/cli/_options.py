"""Options that several commands share, and what they become."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

_reading = partial(typer.Option, rich_help_panel="How files are read")
_hashing = partial(typer.Option, rich_help_panel="How rows become codes")

FORMATS = "LIBSVM, CSV, TSV, Parquet, Arrow, npz, npy"
Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help=f"Files, folders or patterns: {FORMATS}; - is standard input.")
]
Format = Annotated[str, _reading("--format", metavar="NAME", help="libsvm, csv, tsv, parquet, arrow, npz or npy.")]
Label = Annotated[
    str | None,
    _reading(metavar="COLUMN", help="The column of the labels: name, or number from 0; -1 is the last."),
]
Weight = Annotated[str | None, _reading(metavar="COLUMN", help="The column of the rows' weights.")]
Columns = Annotated[str | None, _reading(metavar="A,B,...", help="The columns to learn from; without it all others.")]
Categorical = Annotated[
    str | None, _reading(metavar="A,B,...", help="Columns of numbers that are categories; columns of text are anyway.")
]
HashColumns = Annotated[
    int | None, _reading(min=1, help="Hash categories to so many columns, instead of a column for each.")
]
Header = Annotated[
    bool | None, _reading("--header/--no-header", help="Whether the first line of a CSV file has names.")
]
Missing = Annotated[
    str | None,
    _reading(metavar="RULE", help="Missing values: error, zero, or mean (after scaling).", show_default="error"),
]
Features = Annotated[
    int | None, _reading(min=1, help="Columns of LIBSVM rows; found out for files, needed for a stream.")
]
IndexBase = Annotated[str, _reading(metavar="0|1|auto", help="The first index of LIBSVM rows.")]
OnError = Annotated[str, _reading(metavar="stop|skip", help="What to do about a row that cannot be read.")]
Rejects = Annotated[Path | None, _reading(metavar="FILE", help="Where skipped rows are written.")]

Hashes = Annotated[int, _hashing(min=1, help="k, the codes of a row.")]
Bits = Annotated[int, _hashing(min=1, max=24, help="b, the bits of a code.")]
TBits = Annotated[
    str, _hashing(metavar="all|0..8", help="What becomes of t*: mixed into the bits, or so many bits of it.")
]
Power = Annotated[str, _hashing("--p", metavar="NUMBER|auto", help="The power of the pGMM kernel.")]
Scale = Annotated[
    str, _hashing(metavar="NAME", help="auto, numeric, standard, minmax, quantile, idf, unit, tfidf or none.")
]
Encoding = Annotated[str, _hashing(metavar="mixed|lowbits", help="lowbits with --t-bits 0 is the paper's practice.")]
Oversample = Annotated[int, _hashing(min=1, help="Draw so many times the hashes, and keep the best.")]

ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder or the file of a model.")]
Task = Annotated[str, typer.Option(metavar="NAME", help="auto, classification or regression.")]
Seed = Annotated[int, typer.Option(min=0, help="Of hashes, weights and order.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1 is all.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")]


OF_HASH = [
    *("seed", "task", "hashes", "bits", "t_bits", "p", "scale", "encoding", "oversample", "classes"),
    *("label", "weight", "columns", "categorical", "hash_columns", "missing", "features", "index_base"),
]


def known_task(task: str) -> str:
    """The task that is given, if there is such a one."""
    if task not in ("auto", "classification", "regression"):
        raise typer.BadParameter(f"must be auto, classification or regression, got {task!r}", param_hint="--task")
    return task


def refuse_for_codes(context: typer.Context, files: list[str]) -> None:
    """An error for options that codes leave no room for, since they were given to `gcwsnet hash`."""
    from gcwsnet.streaming._folder import is_codes_folder

    if not any(is_codes_folder(Path(file)) for file in files):
        return
    for name in OF_HASH:
        if getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT":
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter("codes have it from gcwsnet hash; leave it out, or hash anew", param_hint=option)


def need_torch() -> None:
    """An error that says what to install, where torch is missing."""
    import gcwsnet.nn  # noqa: F401


def name_or_number(given: str | None) -> str | int | None:
    """A column by its number if it looks like one."""
    if given is not None and given.removeprefix("-").isdigit():
        return int(given)
    return given


def listed(given: str | None) -> list[str | int] | None:
    """Columns separated by commas."""
    if given is None:
        return None
    return [column for one in given.split(",") if (column := name_or_number(one.strip())) is not None]


def reading(
    *,
    format: str,  # noqa: A002
    label: str | None,
    weight: str | None,
    columns: str | None,
    categorical: str | None,
    hash_columns: int | None,
    header: bool | None,
    missing: str | None,
    features: int | None,
    index_base: str,
    on_error: str,
    rejects: Path | None,
) -> dict[str, Any]:
    """Settings of `gcwsnet.data.read`, those that are not its defaults."""
    if index_base not in ("auto", "0", "1"):
        raise typer.BadParameter(f"must be 0, 1 or auto, got {index_base!r}", param_hint="--index-base")
    if missing not in (None, "error", "zero", "mean"):
        raise typer.BadParameter(f"must be error, zero or mean, got {missing!r}", param_hint="--missing")
    if on_error not in ("stop", "skip"):
        raise typer.BadParameter(f"must be stop or skip, got {on_error!r}", param_hint="--on-error")
    if rejects is not None and on_error != "skip":
        raise typer.BadParameter("is for --on-error skip", param_hint="--rejects")
    settings = {
        "format": format if format != "auto" else None,
        "label": name_or_number(label),
        "weight": name_or_number(weight),
        "columns": listed(columns),
        "categorical": listed(categorical),
        "hash_columns": hash_columns,
        "header": header,
        "missing": {"mean": "nan"}.get(missing or "", missing),
        "n_features": features,
        "index_base": None if index_base == "auto" else int(index_base),
        "on_error": on_error if on_error != "stop" else None,
        "rejects": None if rejects is None else str(rejects),
    }
    return {name: value for name, value in settings.items() if value is not None}


def reading_again(
    *,
    format: str,  # noqa: A002
    label: str | None,
    weight: str | None,
    header: bool | None,
    on_error: str,
    rejects: Path | None,
) -> dict[str, Any]:
    """Settings of `gcwsnet.data.read` where a model knows the rest."""
    return reading(
        format=format,
        label=label,
        weight=weight,
        columns=None,
        categorical=None,
        hash_columns=None,
        header=header,
        missing=None,
        features=None,
        index_base="auto",
        on_error=on_error,
        rejects=rejects,
    )


def hashing(
    *, hashes: int, bits: int, t_bits: str, p: str, scale: str, encoding: str, oversample: int
) -> dict[str, Any]:
    """Settings of an estimator that decide about codes."""
    return {
        "n_hashes": hashes,
        "bits": bits,
        "t_bits": t_bits if t_bits == "all" else number("--t-bits", t_bits, int),
        "p": p if p == "auto" else number("--p", p, float),
        "scale": None if scale == "none" else scale,
        "encoding": encoding,
        "oversample": oversample,
    }


def number(option: str, given: str, kind: type[int] | type[float]) -> Any:
    """A number where a word was possible too."""
    try:
        return kind(given)
    except ValueError:
        raise typer.BadParameter(f"must be a number or one of its words, got {given!r}", param_hint=option) from None
