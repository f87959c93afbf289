"""Model files with other content and a right checksum, as a stranger can write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.numpy import save_file

from gcwsnet.estimators._tensor_file import MODEL, digest_of

Arrays = dict[str, Any]


def content(file: Path) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the description of a model file."""
    with safe_open(file, framework="np") as opened:
        arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        return arrays, json.loads(opened.metadata()[MODEL.key].partition(" ")[2])


def write(file: Path, arrays: Arrays, description: Any) -> None:
    """Write a model file whose checksum fits."""
    text = description if isinstance(description, str) else json.dumps(description)
    save_file(arrays, file, metadata={MODEL.key: f"{digest_of(text, arrays)} {text}"})


def change(file: Path, entries: dict[str, Any] | None = None, arrays: Arrays | None = None) -> None:
    """Change entries of the description, whose names have dots, and arrays; None removes an array."""
    stored, description = content(file)
    for name, value in (entries or {}).items():
        *parts, last = name.split(".")
        inner: Any = description
        for part in parts:
            inner = inner[int(part) if isinstance(inner, list) else part]
        inner[int(last) if isinstance(inner, list) else last] = value
    for name, value in (arrays or {}).items():
        if value is None:
            stored.pop(name)
        else:
            stored[name] = value
    write(file, stored, description)
