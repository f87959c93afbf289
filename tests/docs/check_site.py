"""The built site works in a real browser, from the first page to the last. `make docs` runs these tests."""

from __future__ import annotations

import json
import subprocess
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import command
from tests.docs.test_links import MODULES, listed, reference

SITE = Path(__file__).parents[2] / "build" / "docs"
PAGES = {
    path.relative_to(SITE).as_posix(): path for path in sorted(SITE.rglob("*.html")) if "_static" not in path.parts
}
PHONE, DESKTOP = 390, 1200
EXAMPLES = 15
PATIENCE = 600  # seconds in which a browser must have gone through all pages
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
WATCH = """<script>
const loaded = ({src, href}) => `not loaded: ${src || href}`;
addEventListener("error", event => parent.problems.push(event.message || loaded(event.target)), true);
addEventListener("unhandledrejection", event => parent.problems.push(String(event.reason)));
console.error = message => parent.problems.push(String(message));
</script>"""
WALK = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const found = {}, frame = document.createElement("iframe");
frame.style.border = 0;
frame.height = 800;
document.body.append(frame);
const settled = () => new Promise(done => setTimeout(done, 30));

function look(page, width) {
  frame.width = width;
  const texts = [...page.querySelectorAll("article p, article li, article td")].filter(one => one.offsetParent);
  return {width: page.documentElement.scrollWidth,
    letters: Math.min(16, ...texts.map(one => parseFloat(getComputedStyle(one).fontSize))),
    column: Math.max(0, ...texts.map(one => one.getBoundingClientRect().width))};
}

async function walk() {
  for (const path of %s) {
    const problems = window.problems = [];
    frame.width = %d;
    await new Promise(done => { frame.onload = done; frame.src = path; });
    await settled();
    const page = frame.contentDocument, results = () => page.querySelectorAll("#search-results li a").length;
    for (let tries = 0; path.includes("?q=") && !results() && tries < 200; tries++) await settled();
    const resources = frame.contentWindow.performance.getEntriesByType("resource").map(one => one.name);
    const images = [...page.images];
    found[path] = {desktop: look(page, %d), phone: look(page, %d), problems,
      title: page.title, elsewhere: resources.filter(name => !name.startsWith(location.origin)),
      missing: images.filter(one => !one.complete || one.naturalWidth === 0).map(one => one.src),
      results: results()};
  }
  await fetch("/found", {method: "POST", body: JSON.stringify(found)});
}
walk();
</script></body>"""
SEARCH = "search.html?q=collision_probability"


class Links(HTMLParser):
    """Collects what a page loads, where it links to, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif (tag, name) in LOADS:
                self.loads.append(value or "")
            elif tag == "a" and name == "href":
                self.links.append(value or "")


@pytest.fixture(scope="module")
def parsed() -> dict[str, Links]:
    assert "index.html" in PAGES, "there is no site in build/docs; `make docs` builds it"
    return {name: Links(path.read_text(encoding="utf-8")) for name, path in PAGES.items()}


def leads(name: str, link: str, parsed: dict[str, Links]) -> bool:
    """Return whether a link of a page leads to a file of the site, and to an anchor if it names one."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (PAGES[name].parent / unquote(parts.path)).resolve() if parts.path else PAGES[name]
    if not target.is_relative_to(SITE) or not target.is_file():
        return False
    page = parsed.get(target.relative_to(SITE).as_posix())
    return not parts.fragment or page is None or unquote(parts.fragment) in page.anchors


def test_links_lead_to_pages_and_anchors(parsed: dict[str, Links]) -> None:
    links = [(name, link) for name, page in parsed.items() for link in page.links + page.loads]
    broken = [f"{name}: {link}" for name, link in links if not leads(name, link, parsed)]
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(parsed: dict[str, Links]) -> None:
    loads = [f"{name}: {link}" for name, page in parsed.items() for link in page.loads if urlsplit(link).netloc]
    assert loads == []
    for path in SITE.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert "@import" not in text
        assert "url(http" not in text.replace('"', "").replace("'", "")


def test_every_page_and_every_public_name_is_there(parsed: dict[str, Links]) -> None:
    assert [page for page in listed() if f"{page}.html" not in parsed] == []
    names = {f"{module}.{name}" for module, names in reference().items() for name in names}
    anchors = set().union(*(page.anchors for name, page in parsed.items() if name.startswith("api/")))
    assert names - anchors == {"gcwsnet.HASH_VERSION", "gcwsnet.__version__"}  # described on the page of names
    assert set(reference()) <= set(MODULES)


def test_no_sentence_of_a_docstring_became_a_list() -> None:
    """A paragraph that begins with one letter and a full stop is a list to Sphinx."""
    lists = ('<ol class="loweralpha', '<ol class="upperalpha', '<ol class="lowerroman', '<ol class="upperroman')
    api = {name: path.read_text(encoding="utf-8") for name, path in PAGES.items() if name.startswith("api/")}
    assert [name for name, text in api.items() if any(one in text for one in lists)] == []


def test_the_gallery_has_examples_with_pictures(parsed: dict[str, Links]) -> None:
    examples = [name for name in parsed if name.startswith("gallery/plot_")]
    assert len(examples) >= EXAMPLES
    assert [name for name in examples if not any("sphx_glr_" in link for link in parsed[name].loads)] == []


class Watched(SimpleHTTPRequestHandler):
    """Serves the site with a script in each page that reports errors, and the page that walks over them."""

    found: dict[str, Any]
    arrived: threading.Event

    def do_GET(self) -> None:
        path = SITE / unquote(urlsplit(self.path).path).lstrip("/")
        if self.path == "/walk":
            self.answer(WALK % (json.dumps([*PAGES, SEARCH]), DESKTOP, DESKTOP, PHONE))
        elif path.suffix == ".html" and path.is_file():
            self.answer(path.read_text(encoding="utf-8").replace("<head>", f"<head>{WATCH}", 1))
        elif self.path == "/favicon.ico":
            self.answer("")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self.found.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer("")
        self.arrived.set()

    def answer(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Be quiet."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a browser found on each page, wide and narrow."""
    browser = command(tmp_path_factory.mktemp("profile"))
    handler = type("Handler", (Watched,), {"found": {}, "arrived": threading.Event()})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/walk"
        with subprocess.Popen(
            [*browser, "--remote-debugging-port=0", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as walking:
            arrived = handler.arrived.wait(PATIENCE)  # type: ignore[attr-defined]
            walking.terminate()
        server.shutdown()
    assert arrived, f"the browser has not come to the end of {len(PAGES)} pages in {PATIENCE} s"
    return handler.found  # type: ignore[attr-defined]


def failing(seen: dict[str, Any], what: str) -> dict[str, Any]:
    """Return what of this kind was found, of the pages on which there is some."""
    return {path: found[what] for path, found in seen.items() if found[what]}


def test_no_script_fails_and_every_picture_loads(seen: dict[str, Any]) -> None:
    assert set(seen) == {*PAGES, SEARCH}
    assert failing(seen, "problems") == {}
    assert failing(seen, "missing") == {}
    assert failing(seen, "elsewhere") == {}
    assert [path for path, found in seen.items() if not found["title"]] == []


def test_pages_fit_a_phone_and_a_desktop(seen: dict[str, Any]) -> None:
    widths = {path: (found["phone"]["width"], found["desktop"]["width"]) for path, found in seen.items()}
    assert {path: two for path, two in widths.items() if two[0] > PHONE or two[1] > DESKTOP} == {}


def test_text_is_large_enough_and_lines_are_not_too_long(seen: dict[str, Any]) -> None:
    small = {path: found["phone"]["letters"] for path, found in seen.items() if found["phone"]["letters"] < 11}
    assert small == {}
    assert {path for path, found in seen.items() if found["desktop"]["column"] > 1000} == set()


def test_the_search_finds_a_function(seen: dict[str, Any]) -> None:
    assert seen[SEARCH]["results"] >= 1


def test_the_page_to_play_with_works_from_a_file(tmp_path: Path) -> None:
    run = [*command(tmp_path), "--virtual-time-budget=5000", "--dump-dom", PAGES["play.html"].as_uri()]
    dumped = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert '<strong id="kernel">0.714</strong>' in dumped
