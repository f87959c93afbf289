"""The blocks of code in pages of Markdown, to run them as tests."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A block of code, the line of its first line, and what the page says it prints, where it says so."""

    path: Path
    line: int
    language: str
    source: str
    output: str | None

    def missing_packages(self) -> list[str]:
        """Return the packages that a Python block imports and that are not installed."""
        names: set[str] = set()
        if self.language != "python":
            return []
        for node in ast.walk(ast.parse(self.source)):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
        return sorted(name for name in names if find_spec(name) is None)

    def run(self, namespace: dict[str, Any]) -> str:
        """Run a Python block in the namespace, or a shell block in the current folder, and return what it printed."""
        if self.language == "python":
            # A traceback shows the line of the page.
            code = compile("\n" * (self.line - 1) + self.source, str(self.path), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(code, namespace)
            return printed.getvalue()
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        command = ["bash", "-c", f"set -euo pipefail\n{self.source}"]
        done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{self.path.name}:{self.line}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout


def blocks(path: Path) -> list[Block]:
    """Return the ``python`` and ``sh`` blocks of a page in their order.

    A ``text`` block right behind one of them is what it prints.
    """
    text = path.read_text(encoding="utf-8")
    fence = r"^```(python|sh)\n(.*?)^```$(?:\n\n?^```text\n(.*?)^```$)?"
    return [
        Block(path, text.count("\n", 0, found.start(2)) + 1, found[1], found[2], found[3])
        for found in re.finditer(fence, text, flags=re.DOTALL | re.MULTILINE)
    ]


def same_output(said: str, printed: str, tolerance: float = 0.02) -> bool:
    """Return whether two texts have the same words, and numbers that differ by a small part or a small amount.

    The numbers of this package are the same everywhere. Those of others differ from version to version.
    """

    def split(text: str) -> tuple[list[str], list[float]]:
        numbers = [float(number.replace(",", "")) for number in NUMBER.findall(text)]
        return NUMBER.sub("0", text).split(), numbers

    (words, numbers), (other_words, other_numbers) = split(said), split(printed)
    near = all(abs(a - b) <= tolerance * max(1, abs(a)) for a, b in zip(numbers, other_numbers, strict=False))
    return words == other_words and len(numbers) == len(other_numbers) and near
