"""The same rows hashed by this package and by an older commit of it, in turn, on one thread.

The commit is checked out and built under ``build/against``, once. Each of the two runs in a process of its own, and
seconds are those of the processor: where other programs run too, a process that waits for its turn loses nothing.
"""

from __future__ import annotations

import os
import pickle
import statistics
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.hashing.cases import N_HASHES, Case
from benchmarks.hashing.speed import Say
from benchmarks.subject import environment, markdown_table
from benchmarks.timing import HighestLoad

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("hash_on_request.py")


@dataclass(frozen=True)
class Comparison:
    """One case: the rows per second of both, and how many times as many this package hashes."""

    name: str
    title: str
    p: float
    old: float
    new: float
    ratio: float


@dataclass(frozen=True)
class AgainstReport:
    """A run next to an older commit; `load` is the highest load of the machine, of which the run itself makes 1."""

    commit: str
    load: float
    repetitions: int
    rows: list[Comparison]
    left_out: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and strings."""
        return asdict(self)

    def as_markdown(self) -> str:
        """Return the table, with a sentence."""
        what = (
            f"Rows per second of processor time, one thread, k = {N_HASHES}, medians of {self.repetitions} calls in "
            f"turn with commit {self.commit[:9]}; the codes are equal:"
        )
        load = f"The load of the machine was up to {self.load:.1f}, of which the run itself makes 1."
        table = markdown_table(
            ["rows", "p", self.commit[:9], "now", "times as many"],
            [[one.title, f"{one.p:g}", f"{one.old:,.0f}", f"{one.new:,.0f}", f"{one.ratio:.2f}"] for one in self.rows],
        )
        parts = ["\n".join([*environment(), load]), what, table]
        if self.left_out:
            parts += ["Left out:", "\n".join(f"- {line}" for line in self.left_out)]
        return "\n\n".join(parts)


def compare(commit: str, cases: Sequence[Case], *, repetitions: int, say: Say) -> AgainstReport:
    """Return the rows hashed per second by this package and by a commit, each call of one followed by one of the other.

    Raises RuntimeError where a code differs.
    """
    commit = git("rev-parse", "--verify", f"{commit}^{{commit}}")
    package = built(commit, say)
    load = HighestLoad()
    rows, left_out = [], []
    with ExitStack() as stack:
        old, new = (stack.enter_context(HashingProcess(folder)) for folder in (package, None))
        for case in cases:
            try:
                X = case.rows()
            except (FileNotFoundError, ValueError) as error:  # missing, or damaged
                left_out.append(f"{case.title}: {error}")
                continue
            for process in (old, new):
                process.give(X, case)
            if old.ask("codes") != new.ask("codes"):
                raise RuntimeError(f"{case.title}, p={case.p:g}: the codes are not those of commit {commit}")
            pairs = [(old.ask("seconds"), new.ask("seconds")) for _ in range(repetitions)]
            n = X.shape[0]
            rows.append(
                Comparison(
                    case.name,
                    case.title,
                    case.p,
                    old=n / statistics.median(before for before, _ in pairs),
                    new=n / statistics.median(now for _, now in pairs),
                    ratio=statistics.median(before / now for before, now in pairs),
                )
            )
            load.update()
            say(f"{case.title}, p={case.p:g}: {rows[-1].ratio:.2f} times as many rows")
    return AgainstReport(commit, load.value, repetitions, rows, left_out)


def git(*arguments: str) -> str:
    """Return what git prints."""
    return run("git", "-C", str(ROOT), *arguments).strip()


def run(*command: str) -> str:
    """Return what a command prints; RuntimeError with its errors if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def built(commit: str, say: Say) -> Path:
    """Return the folder of the package of a commit, with its native core, which is built if it is not there."""
    home = ROOT / "build" / "against" / commit
    package = home / "source" / "src"
    if list((package / "gcwsnet").glob("_core*.so")):
        return package
    say(f"building commit {commit[:9]} in {home.relative_to(ROOT)}")
    (home / "source").mkdir(parents=True, exist_ok=True)
    git("archive", f"--output={home / 'source.tar'}", commit)
    run("tar", "-xf", str(home / "source.tar"), "-C", str(home / "source"))
    cmake = program("cmake")
    run(
        *(cmake, "-S", str(home / "source"), "-B", str(home / "cmake"), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"),
        *(f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_MAKE_PROGRAM={program('ninja')}"),
    )
    run(cmake, "--build", str(home / "cmake"))
    for core in (home / "cmake").glob("_core*.so"):
        core.rename(package / "gcwsnet" / core.name)
    return package


def program(name: str) -> str:
    """Return a tool of this environment, or its bare name where the environment has none."""
    path = Path(sysconfig.get_path("scripts")) / name
    return str(path) if path.exists() else name


class HashingProcess:
    """A process that hashes rows when it is asked to (``hash_on_request.py``).

    Parameters
    ----------
    package : Path, optional
        The folder that gcwsnet is imported from; without it, this package.
    """

    def __init__(self, package: Path | None) -> None:
        self.command = [sys.executable, str(WORKER), *([] if package is None else [str(package)])]

    def __enter__(self) -> HashingProcess:
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.communicate()

    def give(self, X: Any, case: Case) -> None:
        """Send rows, and how to hash them."""
        self._send((X, case.p, case.n_hashes))

    def ask(self, what: str) -> Any:
        """Return the "seconds" of one more call, or a digest of the "codes"."""
        self._send(what)
        assert self.process.stdout is not None
        return pickle.load(self.process.stdout)

    def _send(self, request: Any) -> None:
        assert self.process.stdin is not None
        pickle.dump(request, self.process.stdin)
        self.process.stdin.flush()
