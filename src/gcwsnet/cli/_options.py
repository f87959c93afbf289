"""Options that several commands share, in groups, and the settings that they become.

An option has the name, the values and the default of the Python parameter with the same meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gcwsnet._paths import CODES_FILES, STANDARD_STREAM, find_names, is_codes_folder, require_separate

FORMATS = "LIBSVM, CSV, TSV, Parquet, Arrow, npz, npy"


def number_or_auto(kind: type[int] | type[float]) -> dict[str, Any]:
    """Return the settings of an option that is a number or "auto"."""

    def parse(given: Any) -> Any:
        if given == "auto":
            return given
        try:
            return kind(given)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise typer.BadParameter(f"The value must be {what} or auto, got {given!r}.") from None

    return {"metavar": "NUMBER|auto", "parser": parse}


def column(given: Any) -> str | int:
    """Return a column as a number if it looks like one."""
    text = str(given)
    return int(text) if text.removeprefix("-").isdigit() else text


def column_list(given: Any) -> list[str | int]:
    """Return the columns of a list with commas."""
    return given if isinstance(given, list) else [column(one.strip()) for one in str(given).split(",")]


def text_list(given: Any) -> list[str]:
    """Return the texts of a list with commas."""
    return given if isinstance(given, list) else str(given).split(",")


def separator(given: str) -> str:
    """Return the character that separates fields; a tab may be written as a word."""
    return {"tab": "\t", "\\t": "\t"}.get(given, given)


_reading = partial(typer.Option, rich_help_panel="How files are read")
_columns = partial(_reading, metavar="A,B,...", parser=column_list)
_hashing = partial(typer.Option, rich_help_panel="How rows become codes")
_run = partial(typer.Option, rich_help_panel="The run")
_where = partial(typer.Option, rich_help_panel="Where it runs")


Label = Annotated[
    Any,
    _reading(
        metavar="COLUMN", parser=column, help="The column of the labels: a name, or a number from 0; -1 is the last."
    ),
]
Weight = Annotated[Any, _reading(metavar="COLUMN", parser=column, help="The column of the weights of rows.")]


@dataclass(frozen=True)
class FileOptions:
    """How files of rows are parsed."""

    format: Annotated[str, _reading(metavar="NAME", help="libsvm, csv, tsv, parquet, arrow, npz or npy.")] = "auto"
    header: Annotated[
        bool | None, _reading("--header/--no-header", help="Whether the first line of a CSV file has names.")
    ] = None
    sep: Annotated[
        str,
        _reading(metavar="CHARACTER|auto", parser=separator, help="The separator of a CSV file, or tab."),
    ] = "auto"
    decimal: Annotated[Literal["auto", ".", ","], _reading(help="The decimal point of a CSV file.")] = "auto"
    na_values: Annotated[
        Any, _reading(metavar="A,B,...", parser=text_list, help="More texts that mean a missing value in CSV files.")
    ] = None
    encoding: Annotated[str, _reading(metavar="NAME", help="The encoding of a CSV file, such as cp1252 or utf-16.")] = (
        "utf-8"
    )

    def settings(self) -> dict[str, Any]:
        """Return the settings of `gcwsnet.files.read` that are not its defaults."""
        from gcwsnet.tables._coder import MISSING_WHEN_READ

        given = {one.name: getattr(self, one.name) for one in fields(self)}
        given |= {name: None for name in ("format", "index_base", "sep", "decimal") if given.get(name) == "auto"}
        given |= {"encoding": None} if self.encoding == "utf-8" else {}
        if given.get("index_base") is not None:
            given["index_base"] = int(given["index_base"])
        given["missing"] = MISSING_WHEN_READ[given.get("missing", "error")]
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class SkipOptions:
    """What is done about rows that cannot be read."""

    on_error: Annotated[
        Literal["stop", "skip"], _reading(help="Whether a row that cannot be read stops the command or is skipped.")
    ] = "stop"
    rejects: Annotated[Path | None, _reading(metavar="FILE", help="Where skipped rows are written.")] = None

    def settings(self) -> dict[str, Any]:
        """Return the settings of `gcwsnet.files.read` that are not its defaults."""
        if self.on_error == "stop":
            if self.rejects is not None:
                raise typer.BadParameter(
                    "The option has no effect without --on-error skip. Give both, or neither.", param_hint="--rejects"
                )
            return {}
        return {"on_error": "skip"} | ({} if self.rejects is None else {"rejects": str(self.rejects)})


@dataclass(frozen=True)
class ColumnOptions(FileOptions):
    """Which columns the rows of files have."""

    label: Label = None
    columns: Annotated[Any, _columns(help="The columns to use. By default, all but label and weight.")] = None
    exclude: Annotated[Any, _columns(help="The columns to leave out, such as an id.")] = None
    categorical: Annotated[Any, _columns(help="The columns of numbers or dates to treat as categories.")] = None
    hash_columns: Annotated[
        int | None,
        _reading(
            min=1,
            help="Hash all categories to this number of columns. By default, columns with more than 100 categories "
            "are hashed to 16384.",
            show_default=False,
        ),
    ] = None
    n_features: Annotated[
        int | None, _reading(min=1, help="The columns of LIBSVM rows. Needed for a stream; files are read to find it.")
    ] = None
    index_base: Annotated[Literal["auto", "0", "1"], _reading(help="The first index of LIBSVM rows.")] = "auto"


@dataclass(frozen=True)
class RowOptions(ColumnOptions):
    """How rows are read to be compared."""

    missing: Annotated[
        Literal["error", "zero"], _reading(help="What a missing value is: an error, or the number 0.")
    ] = "error"


@dataclass(frozen=True)
class TableOptions(ColumnOptions):
    """How rows are read to learn from them."""

    weight: Weight = None
    missing: Annotated[
        Literal["auto", "error", "zero", "mean"],
        _reading(
            help="What to do with missing numbers. auto: zero after scaling, with an indicator column; error: stop; "
            "zero: zero before scaling; mean: zero after scaling, the mean of a standardised column.",
        ),
    ] = "auto"


NHashes = Annotated[int, _hashing(min=1, help="k, the number of codes of a row.")]
Bits = Annotated[int, _hashing(min=1, max=32, help="b, the bits of a code.")]


@dataclass(frozen=True)
class HashOptions:
    """How rows become codes, as the parameters of the estimators with these names."""

    n_hashes: Annotated[
        Any,
        _hashing(
            **number_or_auto(int),
            help="The codes of a row for each net (k). auto: 128, or 256 above 10,000 rows and without labels.",
        ),
    ] = "auto"
    bits: Annotated[
        Any,
        _hashing(
            **number_or_auto(int), help="b, the bits of a code. auto: 4, or 6 above 10,000 rows; 8 without labels."
        ),
    ] = "auto"
    p: Annotated[Any, _hashing(**number_or_auto(float), help="The power of the pGMM kernel.")] = "auto"
    scale: Annotated[
        str,
        _hashing(
            metavar="NAME", help="auto, numeric, standard, minmax, quantile, local, levels, idf, unit, tfidf or none."
        ),
    ] = "auto"
    search: Annotated[
        Literal["off", "fast", "thorough"], _hashing(help="How long to look for good settings where they are auto.")
    ] = "fast"
    ensemble: Annotated[
        Any,
        _hashing(**number_or_auto(int), help="The nets, each on hashes of its own. auto: 4, or 1 above 10,000 rows."),
    ] = "auto"

    def params(self) -> dict[str, Any]:
        """Return them as parameters of an estimator."""
        return vars(self) | {"scale": None if self.scale == "none" else self.scale}


@dataclass(frozen=True)
class ClusterOptions:
    """Where a command runs: in this process, unless a cluster of Dask is named."""

    scheduler: Annotated[
        str | None,
        _where(metavar="ADDRESS", help="Run on a cluster of Dask: its scheduler, such as tcp://10.0.0.1:8786."),
    ] = None
    workers: Annotated[
        int | None, _where(min=1, help="Run on a cluster of this number of worker processes, which are started here.")
    ] = None

    @property
    def is_used(self) -> bool:
        """Whether there is a cluster."""
        return self.scheduler is not None or self.workers is not None

    def check(self) -> None:
        """Raise an error if two clusters are named."""
        if self.scheduler is not None and self.workers is not None:
            raise typer.BadParameter(
                "Give --scheduler, for a cluster that runs, or --workers, to start one here, and not both.",
                param_hint="--workers",
            )


@dataclass(frozen=True)
class ResumeOptions:
    """What is done about an unfinished run in the same folder."""

    resume: Annotated[bool, _run("--resume", help="Continue the unfinished run in the folder.")] = False
    restart: Annotated[bool, _run("--restart", help="Start again, and drop the unfinished run.")] = False

    def check(self) -> None:
        """Raise an error if an unfinished run is to be both continued and dropped."""
        if self.resume and self.restart:
            raise typer.BadParameter("Give --resume or --restart, and not both.", param_hint="--restart")


FilesToRead = Annotated[list[str], typer.Argument(metavar="FILE", help=f"Files, folders or patterns: {FORMATS}.")]
Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help=f"Files, folders or patterns: {FORMATS}. - is standard input.")
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder or the file of a model.")]
TableOut = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="A file that ends with .csv or .parquet.")
]
Task = Annotated[
    Literal["auto", "classification", "regression"], typer.Option(help="Whether to predict classes or numbers.")
]
RandomState = Annotated[int, typer.Option(min=0, help="The seed of hashes, weights and order.")]
NJobs = Annotated[int, typer.Option(help="Threads; -1 is all.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print a line of JSON for each row.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")]

OF_FILES = [one.name for group in (TableOptions, SkipOptions) for one in fields(group)]
OF_HASH = [
    *("random_state", "task", *(one.name for one in fields(HashOptions))),
    *(one.name for one in fields(TableOptions) if one.name not in ("format", "header")),
]
INPUTS = ("model", "index", "files", "test", "a", "b")
OUTPUTS = ("out", "report", "rejects", "kept", "onnx")


def refuse(context: typer.Context, names: Iterable[str], why: str) -> None:
    """Raise an error for the first of some options that was given, though it has no effect here."""
    for name in names:
        if getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT":
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"The option has no effect: {why}", param_hint=option)


def refuse_for_codes(context: typer.Context, files: list[str], tests: list[str] | None) -> None:
    """Raise an error for options that were given to `gcwsnet hash`, if the files are a folder of codes."""
    if any(is_codes_folder(Path(file)) for file in files):
        refuse(context, OF_HASH, "codes have it from gcwsnet hash. Leave it out, or hash again.")
        of_holdout = ["holdout", "early_stopping", "report"]
        refuse(context, of_holdout, "all rows were seen when the codes were made. Leave it out.")
        refuse(context, ["on_error", "rejects"], "codes have no rows that cannot be read. Leave it out.")
        if not tests:
            refuse(context, ["format", "header"], "codes are read, and no other files. Leave it out.")


def check_files(given: dict[str, Any]) -> None:
    """Raise an error if an input of a command is not there, or if an output is an input or another output.

    It comes before all else, and looks at paths only, so that a misspelt name is told at once.
    """
    inputs = [file for name in INPUTS for file in _files_of(name, given.get(name) or [])]
    outputs = [given[name] for name in OUTPUTS if given.get(name) is not None]
    try:
        require_separate(inputs, [*outputs, STANDARD_STREAM])
    except ValueError as error:
        raise typer.BadParameter(f"{error}.") from None


def _files_of(name: str, given: Any) -> list[str]:
    """Return the files that an argument stands for."""
    if isinstance(given, list):
        return [file for one in given for file in _files_of(name, one)]
    path = Path(given)
    if name in ("model", "index") and not path.exists():
        raise FileNotFoundError(f"there is no {name} at {path}")
    if name in ("model", "index"):
        return [str(path), str(path / f"{name}.safetensors")]
    if is_codes_folder(path):
        return [str(file) for file in path.iterdir() if CODES_FILES.fullmatch(file.name)]
    return find_names(given)


MENTION = re.compile(
    r"""(?<![\w'"/.-])(?:(?P<how>in|as)\ (?P<list>label|weight|columns|exclude|categorical|keep)\b
    |(?P<name>[a-z]\w*)=(?P<value>'[^']*'|"[^"]*"|\[[^\]]*\]|[^\s,;:)]+)
    |(?P<word>[a-z]+(?:_[a-z]+)+)(?![\w'"/.(]))""",
    re.VERBOSE,
)
"""A parameter of Python in an error: with a value, as what users name a column, or by a name with an underscore."""


running: list[str] = []
"""The names of the options of the command that runs."""


def in_options(message: str, names: Iterable[str] = running) -> str:
    """Return an error in the words of a command that has options with these names, by default the one that runs.

    Errors name parameters of Python, as ``name=value``. Of the ways out, which come after the last semicolon, those
    remain that the command has.

    Examples
    --------
    >>> in_options("p must be at most 1, got p=2; give p=1, or give sets=True", ["p"])
    '--p must be at most 1, got --p 2; give --p 1'
    """
    known = set(names)

    def is_known(piece: str) -> bool:
        return all((found["list"] or found["name"] or found["word"]) in known for found in MENTION.finditer(piece))

    rule, semicolon, way_out = message.rpartition("; ")
    if semicolon and not is_known(way_out):
        pieces = re.split(r",? or (?=give |use |name )|, or ", way_out)
        way_out = ", or ".join(piece for piece in pieces if is_known(piece))
        message = f"{rule}; {way_out}" if way_out else rule
    message = MENTION.sub(lambda found: _as_option(found, known), message)
    first, _, rest = message.partition(" ")
    if first in known and rest.startswith(("must ", "has ", "does ")):
        message = f"{_dashed(first)} {rest}"
    if "on_error" in known:
        message = re.sub(r"\bdrop the row\b", "skip such rows with --on-error skip", message)
    return message


def _as_option(found: re.Match[str], known: set[str]) -> str:
    """Return an option with its value, and a parameter that the command does not have as words."""
    if found["list"]:
        how = {"in": "with", "as": "as"}[found["how"]]
        return f"{how} {_dashed(found['list'])}" if found["list"] in known else found[0]
    if found["word"]:
        return _dashed(found["word"]) if found["word"] in known else found[0]
    name, value = found["name"], found["value"].strip("'\"")
    if name not in known:
        return f"{name.replace('_', ' ')} {value}"
    if value == "False":
        return "--no-header" if name == "header" else f"no {_dashed(name)}"
    if value == "None" and name not in ("scale", "reduction"):
        return f"no {_dashed(name)}"
    return _dashed(name) if value == "True" else f"{_dashed(name)} {value.lower() if value == 'None' else value}"


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"
