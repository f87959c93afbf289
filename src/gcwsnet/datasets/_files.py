"""Where the files of datasets are looked for."""

from __future__ import annotations

import os
from pathlib import Path

DATA = "GCWSNET_DATA"
CACHE = "GCWSNET_CACHE"
Folder = str | os.PathLike[str]


def cache_folder() -> Path:
    """The user's folder for datasets: what GCWSNET_CACHE names, else `gcwsnet` in the user's cache folder.

    The user's cache folder is what XDG_CACHE_HOME names, if that is an absolute path, else ~/.cache.
    """
    named = os.environ.get(CACHE)
    if named:
        return Path(named).expanduser()
    above = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (above if above.is_absolute() else Path.home() / ".cache") / "gcwsnet"


def find_file(file: str, *, name: str, data_home: Folder | None) -> Path:
    """The path of a file that the dataset `name` is read from.

    A given `data_home` is the only folder that is searched. Without it, the folder that GCWSNET_DATA names is searched,
    and then the user's folder for datasets.
    """
    folders = _folders(data_home)
    for folder, _ in folders:
        path = folder / file
        if path.is_file():
            return path
    places = " and not in ".join(
        f"{folder} ({role}{'' if folder.is_dir() else ', no such folder'})" for folder, role in folders
    )
    way_out = "put it there" if len(folders) == 1 else "put it into one of them"
    if data_home is None and len(folders) == 1:
        way_out += f", or name its folder in {DATA}"
    raise FileNotFoundError(f"the dataset {name!r} is made of {file}, which is not in {places}; {way_out}")


def _folders(data_home: Folder | None) -> list[tuple[Path, str]]:
    """Folders to search, in order, each with what it is."""
    if data_home is not None:
        if not isinstance(data_home, str | os.PathLike):
            raise TypeError(f"data_home must be a path or None, got data_home={data_home!r}")
        return [(Path(data_home).expanduser(), "data_home")]
    folders = [(cache_folder(), "the cache folder")]
    named = os.environ.get(DATA)
    return [(Path(named).expanduser(), DATA), *folders] if named else folders
