"""The command `gcwsnet`: it lists the subcommands and reports their errors.

A module of a command imports what it works with inside its function, so that ``gcwsnet --help`` is quick.
"""

from __future__ import annotations

import inspect
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

import gcwsnet
from gcwsnet.cli._info import info
from gcwsnet.cli._neighbors import dedup, index, kernel, search
from gcwsnet.cli._options import check_files, in_options, running
from gcwsnet.cli._predict import evaluate, export, predict
from gcwsnet.cli._train import hash_command, train


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command with an option for each field of the option groups, the dataclasses that a function takes."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        group_hints = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=group_hints[one.name]
            )
            for one in fields(groups[name])
        ]

    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{one.name: given.pop(one.name) for one in fields(group)})
        function(**given)

    run.__name__ = function.__name__
    run.__doc__ = re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.cleandoc(function.__doc__ or ""))  # a terminal wraps it
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


COMMANDS: dict[str, Callable[..., None]] = {
    "train": with_options(train),
    "predict": with_options(predict),
    "evaluate": with_options(evaluate),
    "export": with_options(export),
    "hash": with_options(hash_command),
    "kernel": with_options(kernel),
    "index": with_options(index),
    "search": with_options(search),
    "dedup": with_options(dedup),
    "info": with_options(info),
}
FAILURES = (ImportError, MemoryError, OSError, ValueError)  # they name the thing and the way out


class OneLineErrors(TyperGroup):
    """A group of commands whose errors are one line: exit code 2 where the call is wrong, 1 where the work failed."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and end the process with an exit code."""
        run = partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        try:
            with warnings.catch_warnings(), showing_notes():
                warnings.showwarning = show_warning
                code = run()
        except typer.Abort:
            code = fail("aborted", 1)
        except BrokenPipeError:  # the reader has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more is written at the end
            code = 0
        except FAILURES as error:
            if _debug:
                raise
            code = fail(_said(error), 1)
        except Exception as error:
            if not hasattr(error, "format_message"):  # typer's own, or click's before typer brought its own
                raise
            code = fail(error.format_message().replace(": Value error, ", ": "), getattr(error, "exit_code", 2))
        sys.exit(code if isinstance(code, int) else 0)


class SeparateFiles(TyperCommand):
    """A command that does not begin if one of its outputs is one of its inputs or another output."""

    def invoke(self, ctx: Any) -> Any:
        """Check the files that are named, and run; errors then name options of the command."""
        running[:] = ctx.params
        check_files(ctx.params)
        return super().invoke(ctx)


def _said(error: Exception) -> str:
    """Return what an error says; one of Python or of C++ about memory says nothing, or only its name."""
    said = str(error)
    if isinstance(error, MemoryError) and said in ("", "std::bad_alloc"):
        return "there is not enough memory; end other programs, or use a machine with more"
    return in_options(said)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning in one line."""
    print(f"gcwsnet: warning: {' '.join(in_options(str(message)).split())}", file=sys.stderr)


@contextmanager
def showing_notes() -> Iterator[None]:
    """Print what readers note about files, each note once."""
    shown: set[str] = set()

    def show(record: logging.LogRecord) -> bool:
        note = in_options(record.getMessage())
        if note not in shown:
            print(f"gcwsnet: note: {note}", file=sys.stderr)
        shown.add(note)
        return False

    logger = logging.getLogger("gcwsnet.files")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addFilter(show)
    try:
        yield
    finally:
        logger.removeFilter(show)
        logger.setLevel(level)


def fail(message: str, code: int) -> int:
    """Print in one line what is wrong, and return the exit code."""
    print(f"gcwsnet: {' '.join(message.split())}", file=sys.stderr)
    return code


app = typer.Typer(name="gcwsnet", cls=OneLineErrors, rich_markup_mode="rich", pretty_exceptions_enable=False)
for name, command in COMMANDS.items():
    app.command(name, cls=SeparateFiles)(command)


_debug: list[bool] = []  # filled by --debug


def show_tracebacks(debug: bool) -> None:
    """Let errors show where they come from."""
    _debug[:] = [True] * debug


def show_version(version: bool) -> None:
    """Print the version and end."""
    if version:
        print(f"gcwsnet {gcwsnet.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[  # noqa: ARG001
        bool, typer.Option("--debug", callback=show_tracebacks, is_eager=True, help="Show where an error comes from.")
    ] = False,
) -> None:
    """Train classifiers and regressors on files in one pass, predict with them, and find similar rows."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run the command with arguments, by default those of the process; a stream that is closed is /dev/null."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    app(arguments, prog_name="gcwsnet")
