"""A real browser without a window, for pages that must work in one."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = ("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")


def command(profile: Path) -> list[str]:
    """Return the command that starts a browser with a profile of its own; skip the test where there is no browser."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser is installed: looked for {', '.join(BROWSERS)}")
    root = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    return [browser, *QUIET, *root, f"--user-data-dir={profile}"]


def found_by(page: str, folder: Path) -> Any:
    """Return the JSON that the scripts of a page leave in a ``<pre>``, its only content in the end."""
    path = folder / "look.html"
    path.write_text(page, encoding="utf-8")
    run = [*command(folder / "profile"), "--virtual-time-budget=10000", "--dump-dom", path.as_uri()]
    dumped = subprocess.run(run, check=True, capture_output=True, text=True)
    seen = re.search("<pre>([{\\[].*)</pre>", dumped.stdout)
    assert seen is not None, dumped.stdout[-2000:]
    return json.loads(html.unescape(seen[1]))
