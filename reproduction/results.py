"""Results of runs: one JSON file each, with all that they depend on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from gcwsnet._atomic import written_beside
from reproduction.settings import Settings, key


@dataclass(frozen=True)
class Outcome:
    """What came out of a run.

    Attributes
    ----------
    settings : dict
        All that it depends on.
    origin : str or None
        What the dataset is: "exact", "rounded", "derived", "rebuilt" or "bundled"; None without a dataset.
    result : dict
        Accuracies in percent: "accuracy" at the end, on all rows for testing, and "curve" on the way there.
    seconds : float
        How long it took.
    versions : dict
        Of this package, of its hashes, and of what it uses.
    machine : str
        Where it was run.
    """

    settings: Settings
    origin: str | None
    result: dict[str, Any]
    seconds: float
    versions: dict[str, str]
    machine: str

    @property
    def accuracy(self) -> float:
        """In percent, at the end."""
        return float(self.result["accuracy"])

    def at(self, epoch: float) -> float:
        """The accuracy in percent at the first checkpoint that is not before an epoch."""
        curve = self.result["curve"]
        for reached, accuracy in zip(curve["epoch"], curve["accuracy"], strict=True):
            if reached >= epoch - 1e-9:
                return float(accuracy)
        return self.accuracy


_FIELDS = {field.name for field in fields(Outcome)}


class Results:
    """The outcomes in a folder. Each is written beside its file and moved into place, and is never computed twice.

    Parameters
    ----------
    folder : path
        It is made when the first outcome is written.

    Raises
    ------
    ValueError
        For a file in the folder that holds no outcome.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._known = {path.stem: _read(path) for path in sorted(self.folder.glob("*.json"))}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._known.values())

    def __contains__(self, settings: Settings) -> bool:
        return key(settings) in self._known

    def get(self, settings: Settings) -> Outcome | None:
        """The outcome of these settings, if there is one."""
        return self._known.get(key(settings))

    def save(self, outcome: Outcome) -> Path:
        """Write an outcome; its file."""
        path = write(outcome, self.folder)
        self._known[path.stem] = outcome
        return path

    def read_again(self, settings: Settings) -> Outcome:
        """The outcome that another process wrote."""
        name = key(settings)
        self._known[name] = _read(self.folder / f"{name}.json")
        return self._known[name]


def write(outcome: Outcome, folder: Path) -> Path:
    """Write an outcome beside its file, and move it into place."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key(outcome.settings)}.json"
    with written_beside(path) as beside:
        beside.write_text(json.dumps(asdict(outcome), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path


def _read(path: Path) -> Outcome:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must be JSON, and is not ({error}); remove it, and the run is done again") from error
    if not isinstance(content, dict) or set(content) != _FIELDS or key(content["settings"]) != path.stem:
        raise ValueError(f"{path} must be the outcome of a run under its own name, and is not; remove it")
    return Outcome(**content)
