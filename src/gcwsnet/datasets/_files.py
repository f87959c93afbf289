"""Where the files of datasets are looked for, and what is said if they are not there."""

from __future__ import annotations

import os
from pathlib import Path

from gcwsnet.datasets._catalog import Form, Known
from gcwsnet.datasets._download import DownloadError, fetch

DATA = "GCWSNET_DATA"
CACHE = "GCWSNET_CACHE"
OFFLINE = "GCWSNET_OFFLINE"
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


def find_files(
    known: Known, *, name: str, data_home: Folder | None, download: bool = True
) -> tuple[Form, tuple[Path, ...]]:
    """The form in which there is a dataset, and the paths of its files.

    A given `data_home` is the only folder that is searched. Without it, the folder that GCWSNET_DATA names is searched,
    and then the user's folder for datasets. What is in none of them is downloaded into the last one.
    """
    folders = _folders(data_home)
    for folder, _ in folders:
        for form in known.forms:
            paths = tuple(folder / file for file in form.files)
            if all(path.is_file() for path in paths):
                return form, paths
    why, cause = _why_not(download), None
    if not why:
        try:
            return _fetched(known, folders[-1][0])
        except DownloadError as error:
            why, cause = f"downloading it failed ({error})", error
    hint = data_home is None and len(folders) == 1
    raise FileNotFoundError(
        _missing(known, name, folders, why) + (f", or name its folder in {DATA}" if hint else "")
    ) from cause


def _fetched(known: Known, folder: Path) -> tuple[Form, tuple[Path, ...]]:
    files = tuple(published.file for published in known.published)
    (form,) = (form for form in known.forms if form.files == files)
    for published in known.published:
        if not (folder / published.file).is_file():
            fetch(published, folder)
    return form, tuple(folder / file for file in files)


def _why_not(download: bool) -> str:
    """Why nothing may be downloaded; empty if it may."""
    if not isinstance(download, bool):
        raise TypeError(f"download must be True or False, got download={download!r}")
    if not download:
        return "it is not downloaded with download=False"
    return f"it is not downloaded while {OFFLINE} is set" if os.environ.get(OFFLINE, "") not in ("", "0") else ""


def _missing(known: Known, name: str, folders: list[tuple[Path, str]], why: str) -> str:
    npz = known.forms[0].files[0]
    places = " and not in ".join(
        f"{folder} ({role}{'' if folder.is_dir() else ', no such folder'})" for folder, role in folders
    )
    published = " and ".join(f"{file.file} from {file.urls[0]}" for file in known.published)
    where = "there" if len(folders) == 1 else "into one of them"
    return (
        f"the dataset {name!r} is made of {npz}, which is not in {places}, and neither is "
        f"{', '.join(file.file for file in known.published)}; {why}; put {published} {where}"
    )


def _folders(data_home: Folder | None) -> list[tuple[Path, str]]:
    """Folders to search, in order, each with what it is."""
    if data_home is not None:
        if not isinstance(data_home, str | os.PathLike):
            raise TypeError(f"data_home must be a path or None, got data_home={data_home!r}")
        return [(Path(data_home).expanduser(), "data_home")]
    folders = [(cache_folder(), "the cache folder")]
    named = os.environ.get(DATA)
    return [(Path(named).expanduser(), DATA), *folders] if named else folders
