"""Downloads from a local server: a file is in its folder whole or not at all, and an error names the way out."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from reproduction.datasets import _files, load
from reproduction.datasets._catalog import PublishedFile
from reproduction.datasets._files import DownloadError, fetch
from tests.reproduction.datasets.layouts import resize, text, zipped

CONTENT = bytes(np.random.default_rng(0).integers(0, 256, 1_000_000, dtype=np.uint8))
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


class Answer(NamedTuple):
    """What the server sends for a path: a status, headers and the bytes of the body."""

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class Server(NamedTuple):
    """A server that answers by path, and with 404 for unknown paths."""

    url: str
    answers: dict[str, Answer]
    asked: list[str]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            answer = made.answers.get(self.path, Answer(status=404))
            self.send_response(answer.status)
            for header in answer.headers:
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GCWSNET_OFFLINE")

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing: clients that hang up are what is tested."""

    http = Quiet(("127.0.0.1", 0), Handler)
    made = Server(f"http://127.0.0.1:{http.server_port}", {}, [])
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield made
    http.shutdown()
    http.server_close()
    thread.join()


LENGTH = (("Content-Length", str(len(CONTENT))),)


def test_a_file_comes_whole_into_a_new_folder_from_the_first_mirror_that_has_it(server: Server, tmp_path: Path) -> None:
    server.answers.update({"/b": Answer(CONTENT[:300_000], headers=LENGTH), "/c": Answer(CONTENT)})
    urls = tuple(f"{server.url}/{path}" for path in "abcd")
    path = fetch(PublishedFile("a.bin", urls, SHA256), tmp_path / "new" / "folder")
    assert path.read_bytes() == CONTENT
    assert [one.name for one in path.parent.iterdir()] == ["a.bin"]
    assert server.asked == ["/a", "/b", "/c"]


FAILURES: dict[str, tuple[Answer, str]] = {
    "truncated": (Answer(CONTENT[:300_000], headers=LENGTH), "300,000 of 1,000,000 bytes came"),
    "not found": (Answer(status=404), "HTTP 404 Not Found"),
    "wrong content": (Answer(CONTENT[:-1] + b"?"), f"its sha256 must be {SHA256[7:]}, got [0-9a-f]{{64}}$"),
    "too long": (Answer(CONTENT * 3), "it has more than 2,000,000 bytes, which no published file has"),
    "moved": (
        Answer(status=302, headers=(("Location", "ftp://127.0.0.1/a"),)),
        "moved to ftp://127.0.0.1/a, and only https is followed",
    ),
}


@pytest.mark.parametrize(("answer", "why"), FAILURES.values(), ids=FAILURES)
def test_a_failed_download_leaves_the_folder_as_it_was(
    answer: Answer, why: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_files, "MAX_BYTES", 2_000_000)
    server.answers["/a"] = answer
    (tmp_path / "a.bin").write_bytes(b"before")
    with pytest.raises(DownloadError, match=why) as error:
        fetch(PublishedFile("a.bin", (f"{server.url}/a",), SHA256), tmp_path)
    assert str(error.value).startswith(f"{server.url}/a: ")
    assert (tmp_path / "a.bin").read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.bin"]


@pytest.mark.parametrize("url", ["http://example.org/a", "file:///etc/hostname", "ftp://127.0.0.1/a", "data:,a"])
def test_only_https_is_downloaded(url: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="only https is downloaded"):
        fetch(PublishedFile("a.bin", (url,)), tmp_path / "folder")


PENDIGITS = "pen+based+recognition+of+handwritten+digits.zip"


@pytest.fixture
def pendigits(server: Server, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An archive of pendigits on the server, which the catalog expects during the test."""
    table = np.column_stack([np.random.default_rng(0).integers(0, 101, (10, 16)), np.arange(10)])
    content = zipped({name: text(table, ",", "%d") for name in ("pendigits.tra", "pendigits.tes")})
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
    published = PublishedFile(PENDIGITS, (f"{server.url}/81/{PENDIGITS}",), checksum)
    resize(monkeypatch, "pendigits", 10, 10, published=(published,))
    server.answers[f"/81/{PENDIGITS}"] = Answer(content)
    return content


@pytest.mark.parametrize("given", [False, True])
def test_a_dataset_is_downloaded_once_into_the_cache_or_the_given_folder(
    given: bool, server: Server, pendigits: bytes, cache: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home" if given else None
    found = load("pendigits", data_home=home)
    assert (found.X_train.shape, found.origin) == ((10, 16), "exact")
    assert ((home or cache) / PENDIGITS).read_bytes() == pendigits
    load("pendigits", data_home=home)
    assert server.asked == [f"/81/{PENDIGITS}"]


@pytest.mark.usefixtures("pendigits")
def test_nothing_is_downloaded_if_that_is_switched_off(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.url}/81/{PENDIGITS}"
    message = (
        f"the dataset 'pendigits' was not found: neither pendigits.npz nor {PENDIGITS} is in {cache} (the cache "
        f"folder); REASON; put {PENDIGITS} from {url} there, or set GCWSNET_DATA to the folder that has it"
    )
    with pytest.raises(FileNotFoundError) as error:
        load("pendigits", download=False)
    assert str(error.value) == message.replace("REASON", "it was not downloaded because of download=False")
    with pytest.raises(FileNotFoundError, match=r"is in .*/home \(data_home, which does not exist\); it was not"):
        load("pendigits", data_home=tmp_path / "home", download=False)
    monkeypatch.setenv("GCWSNET_OFFLINE", "1")
    with pytest.raises(FileNotFoundError) as error:
        load("pendigits")
    assert str(error.value) == message.replace("REASON", "it was not downloaded because GCWSNET_OFFLINE is set")
    assert server.asked == []
    monkeypatch.setenv("GCWSNET_OFFLINE", "0")
    assert load("pendigits").X_test.shape == (10, 16)
