"""The files of datasets: the folders in which they are looked for, and downloads into the cache folder.

The downloads need nothing but the standard library. A downloaded file is in its folder whole or not at all.
"""

from __future__ import annotations

import hashlib
import logging
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from zipfile import ZipFile

from gcwsnet._atomic import written_beside
from reproduction.datasets._archives import MAX_BYTES, wrap_read_errors
from reproduction.datasets._catalog import DatasetInfo, FileSet, PublishedFile

DATA = "GCWSNET_DATA"
CACHE = "GCWSNET_CACHE"
OFFLINE = "GCWSNET_OFFLINE"
TIMEOUT_SECONDS = 30
"""How long a server may be silent."""

CHUNK_BYTES = 1 << 18
THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
Folder = str | os.PathLike[str]
logger = logging.getLogger("gcwsnet")


class DownloadError(OSError):
    """An error of a download, after which the folder is as it was before."""


DOWNLOAD_FAILURES = (DownloadError, URLError, HTTPException, TimeoutError, ConnectionError, ssl.SSLError, ValueError)
"""The errors of a network, of a server and of what it sends. A full disk is not among them."""


def cache_folder() -> Path:
    """Return the user's folder for datasets: what GCWSNET_CACHE names, else `gcwsnet` in the user's cache folder.

    The user's cache folder is what XDG_CACHE_HOME names, if that is an absolute path, else ~/.cache.
    """
    named = os.environ.get(CACHE)
    if named:
        return Path(named).expanduser()
    above = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (above if above.is_absolute() else Path.home() / ".cache") / "gcwsnet"


def find_files(
    info: DatasetInfo, *, name: str, data_home: Folder | None, download: bool = True
) -> tuple[FileSet, tuple[Path, ...]]:
    """Return the first file set of a dataset that is in a folder, and the paths of its files.

    If `data_home` is given, it is the only folder that is searched. Else the folder that GCWSNET_DATA names is searched
    and then the cache folder. A dataset that is in neither is downloaded into the last of the searched folders.
    """
    folders = _folders(data_home)
    for folder, _ in folders:
        for file_set in info.file_sets:
            paths = tuple(folder / file for file in file_set.files)
            if all(path.is_file() for path in paths):
                return file_set, paths
    reason, cause = _why_not_downloaded(download), None
    if not reason:
        try:
            return _download_all(info, folders[-1][0])
        except DownloadError as error:
            reason, cause = f"the download failed ({error})", error
    hint = f", or set {DATA} to the folder that has it" if data_home is None and len(folders) == 1 else ""
    raise FileNotFoundError(_not_found(info, name, folders, reason) + hint) from cause


def _folders(data_home: Folder | None) -> list[tuple[Path, str]]:
    """Return the folders to search, in order, and what each of them is."""
    if data_home is not None:
        if not isinstance(data_home, str | os.PathLike):
            raise TypeError(f"data_home must be a path or None, got data_home={data_home!r}")
        return [(Path(data_home).expanduser(), "data_home")]
    folders = [(cache_folder(), "the cache folder")]
    named = os.environ.get(DATA)
    return [(Path(named).expanduser(), DATA), *folders] if named else folders


def _why_not_downloaded(download: bool) -> str:
    """Return why nothing may be downloaded, or an empty string if it may."""
    if not isinstance(download, bool):
        raise TypeError(f"download must be True or False, got download={download!r}")
    if not download:
        return "it was not downloaded because of download=False"
    return f"it was not downloaded because {OFFLINE} is set" if os.environ.get(OFFLINE, "") not in ("", "0") else ""


def _not_found(info: DatasetInfo, name: str, folders: list[tuple[Path, str]], reason: str) -> str:
    npz = info.file_sets[0].files[0]
    places = " or in ".join(
        f"{folder} ({role}{'' if folder.is_dir() else ', which does not exist'})" for folder, role in folders
    )
    sources = " and ".join(f"{published.file} from {published.urls[0]}" for published in info.published)
    where = "there" if len(folders) == 1 else "into one of these folders"
    return (
        f"the dataset {name!r} was not found: neither {npz} nor "
        f"{', '.join(published.file for published in info.published)} is in {places}; {reason}; put {sources} {where}"
    )


def _download_all(info: DatasetInfo, folder: Path) -> tuple[FileSet, tuple[Path, ...]]:
    files = tuple(published.file for published in info.published)
    (file_set,) = (file_set for file_set in info.file_sets if file_set.files == files)
    for published in info.published:
        if not (folder / published.file).is_file():
            fetch(published, folder)
    return file_set, tuple(folder / file for file in files)


def fetch(published: PublishedFile, folder: Path) -> Path:
    """Download a published file into a folder and return its path.

    The file is written beside its place, checked, and moved there. Whatever goes wrong, the folder then holds the
    whole file or what it held before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / published.file
    failures = []
    for url in published.urls:
        try:
            with written_beside(path) as part:
                _copy(url, part, published)
        except DOWNLOAD_FAILURES as error:  # noqa: PERF203
            failures.append(f"{url}: {_reason(error)}")
        else:
            logger.info("downloaded %s to %s", url, path)
            return path
    raise DownloadError("; ".join(failures))


def _copy(url: str, file: IO[bytes], published: PublishedFile) -> None:
    """Write the content of a URL to a file, and check it; an incomplete or a wrong one raises a DownloadError."""
    if not _is_secure(url):
        raise DownloadError("only https is downloaded")
    logger.info("downloading %s", url)
    headers = {"User-Agent": "gcwsnet", "Accept-Encoding": "identity"}
    opener = request.build_opener(_SecureRedirects)
    with opener.open(request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
        announced = response.headers.get("Content-Length", "")
        total = int(announced) if announced.isdecimal() else None
        _check_length(total or 0)
        length = 0
        with _progress_bar(published.file, total) as advance:
            while chunk := response.read(CHUNK_BYTES):
                length += len(chunk)
                _check_length(length)
                file.write(chunk)
                advance(len(chunk))
    if total is not None and length != total:
        raise DownloadError(f"{length:,} of {total:,} bytes came")
    _check_content(file, published)


def _is_secure(url: str) -> bool:
    """Return whether nobody can change what a URL brings on its way: by https, or from this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in THIS_MACHINE)


def _check_length(length: int) -> None:
    if length > MAX_BYTES:
        raise DownloadError(f"it has more than {MAX_BYTES:,} bytes, which no published file has")


def _check_content(file: IO[bytes], published: PublishedFile) -> None:
    """Raise an error if the checksum differs or, for a zip archive without a checksum, if the archive is damaged."""
    if published.checksum is None or not published.checksum.startswith("sha256:"):
        logger.warning(
            "%s has no known SHA-256: nothing proves that it is the published file. Its content is checked when it is "
            "read.",
            published.file,
        )
    file.seek(0)
    if published.checksum is not None:
        function, expected = published.checksum.split(":")
        digest = hashlib.new(function, usedforsecurity=False)
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
        if digest.hexdigest() != expected:
            raise DownloadError(f"its {function} must be {expected}, got {digest.hexdigest()}")
    elif published.file.endswith(".zip"):
        with wrap_read_errors("the zip archive"), ZipFile(file) as archive:
            damaged = archive.testzip()
            if damaged is not None:
                raise ValueError(f"{damaged} is damaged")


class _SecureRedirects(request.HTTPRedirectHandler):
    """A handler that follows redirects to https only, or within this machine."""

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: object, newurl: str
    ) -> request.Request | None:
        if not _is_secure(newurl):
            raise DownloadError(f"it is moved to {newurl}, and only https is followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _reason(error: Exception) -> str:
    """Return the reason of a failure in one line."""
    if isinstance(error, HTTPError):
        error.close()
        return f"HTTP {error.code} {error.reason}"
    reason = str(error.reason if isinstance(error, URLError) else error)
    return reason.splitlines()[0] if reason else type(error).__name__


@contextmanager
def _progress_bar(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show the progress of a download if standard error is a terminal and rich is installed.

    The function that is returned takes the number of bytes that have come since it was last called.
    """
    try:
        from rich import progress  # noqa: PLC0415
        from rich.console import Console  # noqa: PLC0415
    except ModuleNotFoundError:
        yield lambda _: None
        return
    console = Console(stderr=True)
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=total)
        yield lambda n_bytes: bar.update(task, advance=n_bytes)
