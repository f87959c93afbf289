"""Files from the network, which are in a folder whole or not at all."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import ssl
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from zipfile import ZipFile

from gcwsnet.datasets._damage import whole
from gcwsnet.datasets._progress import progress
from gcwsnet.datasets._published import Published

SECONDS = 30
"""How long a server may be silent."""

MOST_BYTES = 2**31
"""How long a file may be: the largest published one has 0.7 GB."""

AT_ONCE = 1 << 18
logger = logging.getLogger("gcwsnet")


class DownloadError(OSError):
    """A file could not be downloaded; the folder is as it was before."""


FAILURES = (DownloadError, URLError, HTTPException, TimeoutError, ConnectionError, ssl.SSLError, ValueError)
"""What a network, a server and what it sends may do wrong; a full disk is none of them."""


def fetch(published: Published, folder: Path) -> Path:
    """The path of a published file in a folder, into which it is downloaded.

    It is written beside its place, checked, and moved there. Whatever goes wrong, the folder holds the whole file or
    what it held before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / published.file
    failures = []
    for url in published.urls:
        part = folder / f".{published.file}.{secrets.token_hex(4)}.part"
        try:
            with part.open("xb") as file:
                _copy(url, file, published.file)
                file.flush()
                os.fsync(file.fileno())
            _check(part, published)
            os.replace(part, path)
        except FAILURES as error:
            failures.append(f"{url}: {_why(error)}")
        else:
            _sync(folder)
            logger.info("downloaded %s to %s", url, path)
            return path
        finally:
            part.unlink(missing_ok=True)
    raise DownloadError("; ".join(failures))


def _copy(url: str, file: IO[bytes], name: str) -> None:
    """Write what is at a URL into a file; DownloadError if less comes than was said."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError("only http and https are downloaded")
    logger.info("downloading %s", url)
    asked = request.Request(url, headers={"User-Agent": "gcwsnet", "Accept-Encoding": "identity"})  # noqa: S310
    with _opener().open(asked, timeout=SECONDS) as answer:
        said = answer.headers.get("Content-Length", "")
        total = int(said) if said.isdecimal() else None
        _check_length(total or 0)
        length = 0
        with progress(name, total) as advance:
            while some := answer.read(AT_ONCE):
                length += len(some)
                _check_length(length)
                file.write(some)
                advance(len(some))
    if total is not None and length != total:
        raise DownloadError(f"{length:,} of {total:,} bytes came")


def _check_length(length: int) -> None:
    if length > MOST_BYTES:
        raise DownloadError(f"it has more than {MOST_BYTES:,} bytes, which no published file has")


def _check(part: Path, published: Published) -> None:
    """DownloadError if the checksum is another one; without one, ValueError if an archive is damaged."""
    if published.checksum is not None:
        function, expected = published.checksum.split(":")
        digest = hashlib.new(function, usedforsecurity=False)
        with part.open("rb") as file:
            while some := file.read(AT_ONCE):
                digest.update(some)
        if digest.hexdigest() != expected:
            raise DownloadError(f"its {function} must be {expected}, got {digest.hexdigest()}")
    elif published.file.endswith(".zip"):
        with whole("the zip archive"), ZipFile(part) as archive:
            damaged = archive.testzip()
            if damaged is not None:
                raise ValueError(f"{damaged} is damaged")


class _SameOrSafer(request.HTTPRedirectHandler):
    """Follows from http to http or https, and from https to https."""

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: object, newurl: str
    ) -> request.Request | None:
        allowed = ("https",) if urlsplit(req.full_url).scheme == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in allowed:
            raise DownloadError(f"it is moved to {newurl}, and only {' and '.join(allowed)} is followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _opener() -> request.OpenerDirector:
    """Opens http and https, and no other kind of URL: no local files, no FTP."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        _SameOrSafer(),
    ):
        opener.add_handler(handler)
    return opener


def _why(error: Exception) -> str:
    """The reason in one line."""
    if isinstance(error, HTTPError):
        error.close()
        return f"HTTP {error.code} {error.reason}"
    reason = str(error.reason if isinstance(error, URLError) else error)
    return reason.splitlines()[0] if reason else type(error).__name__


def _sync(folder: Path) -> None:
    """Make the move last, where folders can be synced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
