"""Options that several commands share, and the settings that they become.

An option has the name, the values and the default of the Python parameter with the same meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from gcwsnet.tables._coder import CoderSettings

_reading = partial(typer.Option, rich_help_panel="How files are read")
_hashing = partial(typer.Option, rich_help_panel="How rows become codes")
_where = partial(typer.Option, rich_help_panel="Where it runs")

FORMATS = "LIBSVM, CSV, TSV, Parquet, Arrow, npz, npy"
FilesToRead = Annotated[list[str], typer.Argument(metavar="FILE", help=f"Files, folders or patterns: {FORMATS}.")]
Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help=f"Files, folders or patterns: {FORMATS}. - is standard input.")
]
Format = Annotated[str, _reading("--format", metavar="NAME", help="libsvm, csv, tsv, parquet, arrow, npz or npy.")]
Label = Annotated[
    str | None,
    _reading(metavar="COLUMN", help="The column of the labels: a name, or a number from 0; -1 is the last."),
]
Weight = Annotated[str | None, _reading(metavar="COLUMN", help="The column of the weights of rows.")]
Columns = Annotated[
    str | None, _reading(metavar="A,B,...", help="The columns to use. By default, all but label and weight.")
]
Exclude = Annotated[str | None, _reading(metavar="A,B,...", help="The columns to leave out.")]
Categorical = Annotated[
    str | None, _reading(metavar="A,B,...", help="Columns of numbers or dates that are categories, as text is.")
]
HashColumns = Annotated[
    int | None,
    _reading(
        min=1,
        help="Hash all categories to this number of columns. By default, columns with more than 100 categories are "
        "hashed to 16384.",
        show_default=False,
    ),
]
Header = Annotated[
    bool | None, _reading("--header/--no-header", help="Whether the first line of a CSV file has names.")
]
Missing = Annotated[
    str,
    _reading(
        metavar="auto|error|zero|mean",
        help="What a missing number is: auto: not there, with a column that says so; an error; the number 0; or the "
        "mean of its column where the scaling centres.",
    ),
]
MissingOrZero = Annotated[
    str, _reading("--missing", metavar="error|zero", help="What a missing value is: an error, or the number 0.")
]
NFeatures = Annotated[
    int | None, _reading(min=1, help="The columns of LIBSVM rows. Needed for a stream; files are read to find it.")
]
IndexBase = Annotated[str, _reading(metavar="auto|0|1", help="The first index of LIBSVM rows.")]
IdColumn = Annotated[
    str | None,
    _reading("--ids", metavar="COLUMN", help="The column of a table with the ids. By default numbers from 0."),
]
TextColumn = Annotated[
    str | None,
    _reading("--text", metavar="COLUMN", help="The column of a table that holds texts, compared by shingles."),
]
Shingle = Annotated[int, _reading(min=1, help="The words of a shingle of a text.")]
OnError = Annotated[str, _reading(metavar="stop|skip", help="What to do about a row that cannot be read.")]
Rejects = Annotated[Path | None, _reading(metavar="FILE", help="Where skipped rows are written.")]

NHashes = Annotated[int, _hashing(min=1, help="k, the number of codes of a row.")]
Bits = Annotated[int, _hashing(min=1, max=32, help="b, the bits of a code.")]
TBits = Annotated[
    str, _hashing(metavar="all|0..8", help="Mix all of t* into the bits of a code, or append this many bits of it.")
]
Power = Annotated[str, _hashing("--p", metavar="NUMBER|auto", help="The power of the pGMM kernel.")]
Scale = Annotated[
    str,
    _hashing(metavar="NAME", help="auto, numeric, standard, minmax, quantile, local, codes, idf, unit, tfidf or none."),
]
Relevance = Annotated[
    str, _hashing(metavar="NUMBER|auto", help="The power of the columns' relevance that they are multiplied by.")
]
Search = Annotated[
    str, _hashing(metavar="off|fast|thorough", help="How long to look for good settings where they are auto.")
]
Ensemble = Annotated[
    str, _hashing(metavar="NUMBER|auto", help="The nets, each on hashes of its own. auto: 4, or 1 above 10,000 rows.")
]
Recall = Annotated[float, _hashing(min=0.5, max=0.9999, help="The share of the neighbours that are to be found.")]
Sets = Annotated[
    bool, _hashing("--sets", help="A row is the set of its non-zero entries: Jaccard similarity, hashed faster.")
]
Encoding = Annotated[str, _hashing(metavar="mixed|lowbits", help="lowbits with --t-bits 0 is the paper's practice.")]

Engine = Annotated[
    str, _where("--engine", metavar="local|dask", help="This process, or the workers of a cluster of Dask.")
]
Scheduler = Annotated[
    str | None,
    _where(metavar="ADDRESS", help="With --engine dask: the scheduler of a cluster, such as tcp://10.0.0.1:8786."),
]
Workers = Annotated[
    int | None,
    _where(
        min=1,
        help="With --engine dask: start this number of worker processes here. By default one for each core.",
        show_default=False,
    ),
]

ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder or the file of a model.")]
Task = Annotated[str, typer.Option(metavar="NAME", help="auto, classification or regression.")]
RandomState = Annotated[int, typer.Option(min=0, help="The seed of hashes, weights and order.")]
NJobs = Annotated[int, typer.Option(help="Threads; -1 is all.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")]

OF_HASH = [
    *("random_state", "task", "n_hashes", "bits", "t_bits", "p", "scale", "relevance", "search", "ensemble"),
    *("encoding", "classes"),
    *("label", "weight", "columns", "exclude", "categorical", "hash_columns", "missing", "n_features", "index_base"),
]
OF_FILES = ["format", "header"]
INPUTS = ("model", "index", "files", "test", "a", "b")
OUTPUTS = ("out", "rejects", "kept", "onnx")


def check_choice(option: str, given: str, choices: Iterable[str]) -> str:
    """Return the value that is given, if it is one of the choices."""
    choices = list(choices)
    if given not in choices:
        known = f"{', '.join(choices[:-1])} or {choices[-1]}"
        raise typer.BadParameter(f"The value must be {known}, got {given!r}.", param_hint=option)
    return given


def known_task(task: str) -> str:
    """Return the task that is given, if there is such a task."""
    return check_choice("--task", task, ("auto", "classification", "regression"))


def refuse(context: typer.Context, names: Iterable[str], why: str) -> None:
    """Raise an error for the first of some options that was given, though it has no effect here."""
    for name in names:
        if getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT":
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"The option has no effect: {why}", param_hint=option)


def refuse_for_codes(context: typer.Context, files: list[str], tests: list[str] | None) -> None:
    """Raise an error for options that were given to `gcwsnet hash`, if the files are a folder of codes."""
    from gcwsnet.files._codes import is_codes_folder

    if any(is_codes_folder(Path(file)) for file in files):
        refuse(context, OF_HASH, "codes have it from gcwsnet hash. Leave it out, or hash again.")
        refuse(context, ["on_error", "rejects"], "codes have no rows that cannot be read. Leave it out.")
        if not tests:
            refuse(context, OF_FILES, "codes are read, and no other files. Leave it out.")


def require_separate_files(given: dict[str, Any]) -> None:
    """Raise an error if an output of a command is one of its inputs or another output, by path or by link."""
    from gcwsnet._atomic import STANDARD_STREAM, require_separate

    inputs = [file for name in INPUTS for file in _files_of(name, given.get(name) or [])]
    outputs = [given[name] for name in OUTPUTS if given.get(name) is not None]
    try:
        require_separate(inputs, [*outputs, STANDARD_STREAM])
    except ValueError as error:
        raise typer.BadParameter(f"{error}.") from None


def _files_of(name: str, given: Any) -> list[str]:
    """Return the files that an argument stands for; files that are missing are left to the command."""
    from gcwsnet.files._codes import WRITTEN, is_codes_folder
    from gcwsnet.files._sources import find_names

    if isinstance(given, list):
        return [file for one in given for file in _files_of(name, one)]
    path = Path(given)
    if name == "model":
        return [str(path), str(path / "model.safetensors")]
    if name == "index" or is_codes_folder(path):
        own = WRITTEN if name != "index" else re.compile(r"index\.json|.*\.npy")
        return [str(file) for file in (path.iterdir() if path.is_dir() else []) if own.fullmatch(file.name)]
    try:
        return find_names(given)
    except FileNotFoundError:
        return []


def refuse_both(resume: bool, restart: bool) -> None:
    """Raise an error if an unfinished run is to be both continued and dropped."""
    if resume and restart:
        raise typer.BadParameter("Give --resume or --restart, and not both.", param_hint="--restart")


def check_engine(engine: str, scheduler: str | None, workers: int | None) -> str:
    """Return the engine that is given, if there is such an engine and each option of a cluster has an effect."""
    check_choice("--engine", engine, ("local", "dask"))
    for option, value in (("--scheduler", scheduler), ("--workers", workers)):
        if engine == "local" and value is not None:
            raise typer.BadParameter(
                "The option has no effect without --engine dask. Give both, or neither.", param_hint=option
            )
    if scheduler is not None and workers is not None:
        raise typer.BadParameter(
            "Give --scheduler, for a cluster that runs, or --workers, to start one here, and not both.",
            param_hint="--workers",
        )
    return engine


def name_or_number(given: str | None) -> str | int | None:
    """Return a column as a number if it looks like one."""
    if given is not None and given.removeprefix("-").isdigit():
        return int(given)
    return given


def listed(given: str | None) -> list[str | int] | None:
    """Return the columns of a list with commas."""
    if given is None:
        return None
    return [column for one in given.split(",") if (column := name_or_number(one.strip())) is not None]


def reading(
    *,
    format: str = "auto",  # noqa: A002
    label: str | None = None,
    weight: str | None = None,
    columns: str | None = None,
    exclude: str | None = None,
    categorical: str | None = None,
    hash_columns: int | None = None,
    header: bool | None = None,
    missing: str | None = None,
    n_features: int | None = None,
    index_base: str = "auto",
    on_error: str = "stop",
    rejects: Path | None = None,
) -> dict[str, Any]:
    """Return the settings of `gcwsnet.files.read` that are not its defaults."""
    from gcwsnet.tables._coder import MISSING_WHEN_READ

    check_choice("--index-base", index_base, ("auto", "0", "1"))
    check_choice("--on-error", on_error, ("stop", "skip"))
    if missing is not None:
        check_choice("--missing", missing, MISSING_WHEN_READ)
    if rejects is not None and on_error != "skip":
        raise typer.BadParameter(
            "The option has no effect without --on-error skip. Give both, or neither.", param_hint="--rejects"
        )
    settings = {
        "format": format if format != "auto" else None,
        "label": name_or_number(label),
        "weight": name_or_number(weight),
        "columns": listed(columns),
        "exclude": listed(exclude),
        "categorical": listed(categorical),
        "hash_columns": hash_columns,
        "header": header,
        "missing": MISSING_WHEN_READ[missing or "error"],
        "n_features": n_features,
        "index_base": None if index_base == "auto" else int(index_base),
        "on_error": on_error if on_error != "stop" else None,
        "rejects": None if rejects is None else str(rejects),
    }
    return {name: value for name, value in settings.items() if value is not None}


def coder_settings(
    *,
    n_hashes: int,
    bits: int,
    t_bits: str,
    p: str,
    scale: str,
    relevance: str,
    search: str,
    encoding: str,
    missing: str,
) -> CoderSettings:
    """Return the settings that decide about codes."""
    from gcwsnet.tables._coder import CoderSettings

    return CoderSettings(
        n_hashes=n_hashes,
        bits=bits,
        t_bits=number("--t-bits", t_bits, int, word="all"),
        p=number("--p", p, float, word="auto"),
        scale=None if scale == "none" else scale,
        relevance=number("--relevance", relevance, float, word="auto"),
        search=search,
        encoding=encoding,
        missing=missing,
    )


def number(option: str, given: str, kind: type[int] | type[float], *, word: str | None = None) -> Any:
    """Return a number, or the one word that is possible too."""
    if given == word:
        return word
    try:
        return kind(given)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        known = what if word is None else f"{what} or {word}"
        raise typer.BadParameter(f"The value must be {known}, got {given!r}.", param_hint=option) from None
