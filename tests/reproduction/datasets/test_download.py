"""Downloads from a local server: a file is in its folder whole or not at all, and an error names the way out."""

import hashlib
import io
import os
import threading
from collections.abc import Callable, Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request

import numpy as np
import pytest

from reproduction.datasets import _files, load
from reproduction.datasets._catalog import PublishedFile
from reproduction.datasets._files import DownloadError, fetch
from tests.reproduction.datasets.layouts import resize, text, zipped

CONTENT = bytes(np.random.default_rng(0).integers(0, 256, 1_000_000, dtype=np.uint8))
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
Answer = Callable[[BaseHTTPRequestHandler], None]


def whole(content: bytes) -> Answer:
    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Length", str(len(content)))
        to.end_headers()
        to.wfile.write(content)

    return answer


def truncated(to: BaseHTTPRequestHandler) -> None:
    to.send_response(200)
    to.send_header("Content-Length", str(len(CONTENT)))
    to.end_headers()
    to.wfile.write(CONTENT[:300_000])


def without_length(to: BaseHTTPRequestHandler) -> None:
    to.send_response(200)
    to.end_headers()
    to.wfile.write(CONTENT)


def silent(to: BaseHTTPRequestHandler) -> None:
    to.send_response(200)
    to.send_header("Content-Length", str(len(CONTENT)))
    to.end_headers()
    to.wfile.write(CONTENT[:300_000])
    to.wfile.flush()
    stop: threading.Event = to.server.stop  # type: ignore[attr-defined]
    stop.wait()


def moved(where: str) -> Answer:
    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(302)
        to.send_header("Location", where)
        to.end_headers()

    return answer


class Server:
    """A server that answers by path, and with 404 for unknown paths."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            if self.path in made.answers:
                made.answers[self.path](self)
            else:
                self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GCWSNET_OFFLINE")

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing: clients that hang up are what is tested."""

    http = Quiet(("127.0.0.1", 0), Handler)
    http.stop = threading.Event()  # type: ignore[attr-defined]
    made = Server(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield made
    http.stop.set()  # type: ignore[attr-defined]
    http.shutdown()
    http.server_close()
    thread.join()


def published_file(*urls: str, checksum: str | None = SHA256, name: str = "a.bin") -> PublishedFile:
    return PublishedFile(name, urls, checksum)


@pytest.mark.parametrize("answer", [whole(CONTENT), without_length])
def test_a_file_comes_whole_into_a_new_folder(answer: Answer, server: Server, tmp_path: Path) -> None:
    server.answers["/a"] = answer
    path = fetch(published_file(f"{server.url}/a"), tmp_path / "new" / "folder")
    assert path.read_bytes() == CONTENT
    assert os.listdir(tmp_path / "new" / "folder") == ["a.bin"]
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


FAILURES: list[tuple[str, Answer | None, str]] = [
    ("truncated", truncated, "300,000 of 1,000,000 bytes came"),
    ("not found", None, "HTTP 404 Not Found"),
    ("wrong content", whole(CONTENT[:-1] + b"?"), f"its sha256 must be {SHA256[7:]}, got [0-9a-f]{{64}}$"),
    ("too long", whole(CONTENT * 3), "it has more than 2,000,000 bytes, which no published file has"),
    ("silent", silent, "timed out"),
    ("another protocol", moved("ftp://127.0.0.1/a"), "moved to ftp://127.0.0.1/a, and only https is followed"),
]


@pytest.mark.parametrize(("answer", "why"), [case[1:] for case in FAILURES], ids=[case[0] for case in FAILURES])
def test_a_failed_download_leaves_the_folder_as_it_was(
    answer: Answer | None, why: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_files, "MAX_BYTES", 2_000_000)
    if answer is silent:
        monkeypatch.setattr(_files, "TIMEOUT_SECONDS", 0.01)
    if answer is not None:
        server.answers["/a"] = answer
    (tmp_path / "a.bin").write_bytes(b"before")
    with pytest.raises(DownloadError, match=why) as error:
        fetch(published_file(f"{server.url}/a"), tmp_path)
    assert str(error.value).startswith(f"{server.url}/a: ")
    assert (tmp_path / "a.bin").read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.bin"]


@pytest.mark.parametrize(
    "url", ["http://example.org/a", "file:///etc/hostname", "ftp://127.0.0.1/a", "data:,a", "/etc/hostname"]
)
def test_only_https_is_downloaded(url: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="only https is downloaded"):
        fetch(published_file(url, checksum=None), tmp_path / "folder")


def test_https_is_not_redirected_to_http() -> None:
    def follow(old: str, new: str) -> Request | None:
        return _files._SecureRedirects().redirect_request(Request(old), io.BytesIO(), 302, "", Message(), new)

    for old, new in (("http://localhost/x", "http://127.0.0.1/y"), ("https://a/x", "https://b/y")):
        followed = follow(old, new)
        assert followed is not None
        assert followed.full_url == new
    for old in ("https://a/x", "http://localhost/x"):
        with pytest.raises(DownloadError, match="it is moved to http://b/y, and only https is followed"):
            follow(old, "http://b/y")


def test_the_next_mirror_is_asked(server: Server, tmp_path: Path) -> None:
    server.answers |= {"/b": truncated, "/c": whole(CONTENT)}
    urls = [f"{server.url}/{path}" for path in "abcd"]
    assert fetch(published_file(*urls), tmp_path).read_bytes() == CONTENT
    assert server.asked == ["/a", "/b", "/c"]
    with pytest.raises(DownloadError, match=r"/a: HTTP 404 Not Found; .*/b: 300,000 of 1,000,000 bytes came$"):
        fetch(published_file(*urls[:2]), tmp_path)


PENDIGITS = "pen+based+recognition+of+handwritten+digits.zip"


@pytest.fixture
def pendigits(server: Server, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An archive of pendigits on the server, which the catalog expects during the test."""
    table = np.column_stack([np.random.default_rng(0).integers(0, 101, (10, 16)), np.arange(10)])
    content = zipped({name: text(table, ",", "%d") for name in ("pendigits.tra", "pendigits.tes")})
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
    published = PublishedFile(PENDIGITS, (f"{server.url}/81/{PENDIGITS}",), checksum)
    resize(monkeypatch, "pendigits", 10, 10, published=(published,))
    server.answers[f"/81/{PENDIGITS}"] = whole(content)
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


@pytest.mark.parametrize(("variable", "no"), [("1", "0"), ("yes", "")])
def test_nothing_is_downloaded_if_that_is_switched_off(
    variable: str, no: str, server: Server, pendigits: bytes, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pendigits
    url = f"{server.url}/81/{PENDIGITS}"
    message = (
        f"the dataset 'pendigits' was not found: neither pendigits.npz nor {PENDIGITS} is in {cache} (the cache "
        f"folder); REASON; put {PENDIGITS} from {url} there, or set GCWSNET_DATA to the folder that has it"
    )
    with pytest.raises(FileNotFoundError) as error:
        load("pendigits", download=False)
    assert str(error.value) == message.replace("REASON", "it was not downloaded because of download=False")
    monkeypatch.setenv("GCWSNET_OFFLINE", variable)
    with pytest.raises(FileNotFoundError) as error:
        load("pendigits")
    assert str(error.value) == message.replace("REASON", "it was not downloaded because GCWSNET_OFFLINE is set")
    assert server.asked == []
    monkeypatch.setenv("GCWSNET_OFFLINE", no)
    assert load("pendigits").X_test.shape == (10, 16)
