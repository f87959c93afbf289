"""The files that paths stand for, and the rule that no output is an input; it imports nothing that takes time."""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

STANDARD_STREAM = "-"
AnyPath = str | os.PathLike[str]

CODER, MANIFEST = "coder.safetensors", "codes.json"

PART_FILE = re.compile(r"part-\d{5,9}-\d{5,9}\.(codes|labels|weights)\.npy")

CODES_FILES = re.compile(rf"coder\.safetensors|codes\.json|file-\d{{5,9}}\.json|{PART_FILE.pattern}")


def find_names(name: str) -> list[str]:
    """Return the names of the files that a path, a pattern, a folder or "-" stands for.

    The files of a folder come in the order of their names, without the marker files of other programs (``.name``,
    ``_name``).
    """
    if name == STANDARD_STREAM:
        return [name]
    path = Path(name).expanduser()
    if path.is_dir():
        names = [str(one) for one in sorted(path.iterdir()) if one.is_file() and one.name[0] not in "._"]
        if not names:
            raise FileNotFoundError(f"a folder must have files to read, got {path}, which has none")
        return names
    if path.exists():
        return [str(path)]
    if not glob.has_magic(name):
        raise FileNotFoundError(f"there is no file {name}")
    names = [found for found in sorted(glob.glob(str(path), recursive=True)) if not os.path.isdir(found)]
    if not names:
        raise FileNotFoundError(f"a pattern must match at least one file, got {name}, which matches none")
    return names


def is_codes_folder(path: Path) -> bool:
    """Return whether `gcwsnet hash` has written this folder, or has begun to."""
    return (path / CODER).is_file()


def is_codes(files: list[str]) -> bool:
    """Return whether the one source is a folder of codes; several of them are an error."""
    folders = [file for file in files if is_codes_folder(Path(file))]
    if folders and len(files) > 1:
        raise ValueError(f"a folder of codes is trained on alone, got {', '.join(files)}")
    return bool(folders)


def require_separate(
    inputs: Iterable[AnyPath],
    outputs: Iterable[AnyPath],
    *,
    folder: AnyPath | None = None,
    written: re.Pattern[str] = re.compile(r"(?!)"),
) -> None:
    """Raise a ValueError if an output is an input or another output: by its path, or by a link that leads to it.

    Parameters
    ----------
    inputs, outputs : paths
        "-" is standard input or standard output. What is no regular file, such as /dev/null, may be both.
    folder : path, optional
        A folder that is written to.
    written : pattern
        The names of the files that are written to the folder.
    """
    taken = {identity: f"the input {path}" for path in inputs for identity in _identities(path, sys.stdin)}
    for path in outputs:
        identities = _identities(path, sys.stdout)
        _require_free(path, identities, taken)
        taken |= dict.fromkeys(identities, f"the output {path}")
    if folder is None:
        return
    entries = list(Path(folder).iterdir()) if os.path.isdir(folder) else []
    for path in (folder, *(entry for entry in entries if written.fullmatch(entry.name))):
        _require_free(path, _identities(path, None), taken)
    inside = os.path.realpath(folder)
    for identity in taken:
        parent, name = os.path.split(identity) if isinstance(identity, str) else ("", "")
        if parent == inside and written.fullmatch(name):
            _require_free(os.path.join(folder, name), {identity}, taken)


def _require_free(path: AnyPath, identities: set[Any], taken: dict[Any, str]) -> None:
    for identity in identities & taken.keys():
        raise ValueError(
            f"an output must be a file of its own, got {path}, which is {taken[identity]}; name another file"
        )


def _identities(path: AnyPath, stream: TextIO | None) -> set[Any]:
    """Return what two paths that lead to one file have in common; nothing for pipes and devices."""
    is_stream = path == STANDARD_STREAM
    names = set() if is_stream else {os.path.realpath(path)}
    try:
        found = os.fstat(stream.fileno()) if is_stream else os.stat(path)  # type: ignore[union-attr]
    except (OSError, ValueError, AttributeError):  # there is no such file yet, or the stream is closed
        return names
    if stat.S_ISREG(found.st_mode):
        return names | {(found.st_dev, found.st_ino)}
    return names if stat.S_ISDIR(found.st_mode) else set()
