"""Commands that meet faults and kills: the result is there whole or not at all, and a command can be run again."""

from __future__ import annotations

import shutil
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.runner import OF_THE_DISK, Runner

SMALL = ["--n-hashes", "16", "--p", "1", "--scale", "numeric"]
NET = [*SMALL, "--hidden", "8", "--ensemble", "1", "--checkpoint-every", "400", "--epochs", "1"]
NEAR = ["--threshold", "0.8", "--n-hashes", "32"]
OLD = b"what was there before"
MAX_TRIES_OF_A_KILL = 5


class Command(NamedTuple):
    """A command, how it is finished after a fault, and the files in which its result lies.

    Attributes
    ----------
    arguments, again : list of str
        What is run, and what is added when it is run again.
    results : list of str
        The names of files.
    replaces : bool
        Whether it replaces files that were there before. They are `OLD`, or what `before` wrote.
    before : list of str or None
        A command that wrote into the same folder before.
    reader : list of str or None
        A command that reads the result. It succeeds whenever the first file of the result is there.
    once : bool
        Whether it is not run again after a success: it would be refused, or would add to the result.
    """

    arguments: list[str]
    again: list[str]
    results: list[str]
    replaces: bool = False
    before: list[str] | None = None
    reader: list[str] | None = None
    once: bool = False


def commands(folder: Path) -> dict[str, Command]:
    """Return all commands that write files, with the files of `prepare` and `Runner`; they write to FOLDER/out."""
    data, few, bad, texts, model, near, out = (
        str(folder / name) for name in ("data.svm", "few.svm", "bad.svm", "texts.txt", "model", "index", "out")
    )
    train, hashing = ["train", data, "--out", out, *NET], ["hash", data, "--out", out, *SMALL]
    index = ["index", data, "--out", out, *NEAR]
    search = ["search", out, few, "--top", "1"]
    skip = ["--on-error", "skip", "--rejects", f"{out}/rejects.svm"]
    coder, part, near_index = "coder.safetensors", "part-00000-00000", ["index.safetensors"]

    def to_file(name: str, *arguments: str) -> Command:
        return Command([*arguments, "--out", f"{out}/{name}"], [], [name], replaces=True)

    made = {
        "train": Command(train, ["--resume"], ["model.safetensors"]),
        "retrain": Command([*train, "--random-state", "1"], ["--resume"], ["model.safetensors"], True, before=train),
        "hash": Command(hashing, ["--resume"], [coder, f"{part}.codes.npy"]),
        "predict": to_file("labels.csv", "predict", model, data),
        "predict to Parquet": to_file("labels.parquet", "predict", model, data, "--probabilities"),
        "evaluate": Command(["evaluate", model, bad, *skip], [], ["rejects.svm"], replaces=True),
        "save": Command(["save", model, f"{out}/copy.safetensors"], [], ["copy.safetensors"], replaces=True),
        "index": Command(index, [], near_index, reader=search, once=True),
        "append": Command(
            ["index", few, "--out", out, "--append"], [], near_index, True, before=index, reader=search, once=True
        ),
        "search": to_file("neighbours.csv", "search", near, few, "--top", "2"),
        "dedup": to_file("pairs.csv", "dedup", data, *NEAR),
        "dedup of texts": Command(
            ["dedup", texts, "--kept", f"{out}/kept.txt", *NEAR], [], ["kept.txt"], replaces=True
        ),
        "kernel": to_file("kernel.csv", "kernel", few, few),
    }
    if find_spec("onnx") is not None:
        export = ["export", model, "--onnx", f"{out}/model.onnx"]
        made["export"] = Command(export, [], ["model.onnx"], replaces=True)
    return made


def prepare(folder: Path) -> None:
    """Write rows: many, few, some that cannot be read, and texts."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 5)), rng.integers(0, 2, 1500)
    lines = [
        f"{label} " + " ".join(f"{i + 1}:{x:.3f}" for i, x in enumerate(row)) + "\n"
        for label, row in zip(y, X, strict=True)
    ]
    (folder / "data.svm").write_text("".join(lines))
    (folder / "few.svm").write_text("".join(lines[:40]))
    (folder / "bad.svm").write_text("".join(line if i % 20 else "1 1:nothing\n" for i, line in enumerate(lines)))
    words = np.array(["a", "row", "of", "words", "that", "are", "not", "all", "alike"])
    (folder / "texts.txt").write_text("".join(" ".join(rng.choice(words, 6)) + "\n" for _ in range(500)))


def clear(runner: Runner, command: Command) -> None:
    """Remove what commands wrote, and write the files that the command replaces."""
    old = _old(runner, command)
    shutil.rmtree(runner.out, ignore_errors=True)
    runner.out.mkdir()
    for name, content in old.items():
        (runner.out / name).write_bytes(content)


def _old(runner: Runner, command: Command) -> dict[str, bytes]:
    """Return the files that a command replaces, and what lies beside them."""
    if command.before is None:
        return dict.fromkeys(command.results, OLD) if command.replaces else {}
    key = tuple(command.before)
    if key not in runner.written_before:
        shutil.rmtree(runner.out, ignore_errors=True)
        assert runner.run(command.before)["code"] == 0
        runner.written_before[key] = {path.name: path.read_bytes() for path in runner.out.iterdir()}
    return runner.written_before[key]


def _found(runner: Runner, command: Command) -> dict[str, bytes]:
    """Return the files of the result that are there."""
    paths = [runner.out / name for name in command.results]
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


def check_end(runner: Runner, command: Command, expected: dict[str, bytes], ended: dict[str, Any], what: str) -> str:
    """Return how a run ended: the result is there whole or not at all, an error is said, and it can be repeated."""
    assert ended["code"] is not None, f"{what}: it hung: {ended['stderr']}"
    assert "Traceback" not in ended["stderr"], f"{what}: {ended['stderr']}"
    found = _found(runner, command)
    if ended["code"] == 0:
        assert found == expected, f"{what}: success, and another result"
        return "success"
    assert ended["code"] in (-9, 1), f"{what}: ended with {ended['code']}: {ended['stderr']}"
    said = ended["stderr"].replace("gcwsnet:", "").strip()
    assert ended["code"] < 0 or said not in ("", "std::bad_alloc"), f"{what}: an error without a word"
    end = "killed" if ended["code"] < 0 else "error"
    if command.replaces:
        old = _old(runner, command)
        assert command.results[0] in found, f"{what}: the file that was there is lost"
        of_one = any(all(content == one[name] for name, content in found.items()) for one in (old, expected))
        assert of_one, f"{what}: files of two runs beside each other: {sorted(found)}"
    if command.reader is not None and command.results[0] in found:
        read = runner.run(command.reader)
        assert read["code"] == 0, f"{what}: the result cannot be read: {read['stderr']}"
    if command.once and found == expected:
        return end
    begun = any(runner.out.iterdir())
    again = runner.run([*command.arguments, *(command.again if begun else [])])
    if again["code"] != 0 and command.again:
        again = runner.run([*command.arguments, "--restart"])
    assert again["code"] == 0, f"{what}: cannot be repeated: {again['stderr']}"
    assert _found(runner, command) == expected, f"{what}: another result when it was repeated"
    return end


class Whole(NamedTuple):
    """A command and its run without a fault: the result, the calls that a fault can be at, and how long it took."""

    command: Command
    expected: dict[str, bytes]
    calls: int
    seconds: float


def _whole(runner: Runner, name: str, kind: str) -> Whole:
    command = commands(runner.folder)[name]
    clear(runner, command)
    ended = runner.run(command.arguments, at=10**9, kind=kind)
    assert ended["code"] == 0, ended["stderr"]
    expected = _found(runner, command)
    assert list(expected) == command.results
    return Whole(command, expected, ended["calls"], ended["seconds"])


def _with_faults(runner: Runner, name: str, random: Random, n: int, kinds: list[str]) -> Counter[str]:
    command, expected, calls, _ = _whole(runner, name, kinds[0])
    places = [(at, kind) for at in range(calls) for kind in kinds]
    findings, ends = [], Counter(calls=calls)
    for at, kind in random.sample(places, min(n, len(places))):
        clear(runner, command)
        ended = runner.run(command.arguments, at=at, kind=kind)
        try:
            ends[check_end(runner, command, expected, ended, f"{name}, {kind} at call {at}")] += 1
        except AssertionError as finding:
            findings.append(str(finding))
    assert not findings, "\n".join(findings)
    return ends


def faults(runner: Runner, name: str, random: Random, n: int) -> Counter[str]:
    """Run a command with n faults of the disk, each of another kind or at another call, and return how runs ended.

    If n is as large as calls times kinds, all of them are there. All findings are one AssertionError at the end.
    """
    return _with_faults(runner, name, random, n, OF_THE_DISK)


def allocations(runner: Runner, name: str, random: Random, n: int) -> Counter[str]:
    """Run a command n times without memory from an allocation of 64 KB or more on, and return how runs ended."""
    return _with_faults(runner, name, random, n, ["ENOMEM"])


def kills(runner: Runner, name: str, random: Random, n: int) -> Counter[str]:
    """Kill a command n times at random moments, and return how runs ended; one that ended first does not count."""
    whole = [_whole(runner, name, "EIO") for _ in range(3)]
    command, expected = whole[0].command, whole[0].expected
    seconds = sorted(one.seconds for one in whole)[1]
    ends = Counter(killed=0)
    for _ in range(MAX_TRIES_OF_A_KILL * n):
        if ends["killed"] == n:
            break
        clear(runner, command)
        after = random.random() * seconds
        ended = runner.run(command.arguments, kill_after=after)
        ends[check_end(runner, command, expected, ended, f"{name}, killed after {after:.3f} s")] += 1
    return ends


def overlaps(runner: Runner, name: str, random: Random, n: int) -> Counter[str]:
    """Run a command n times with an output that is an input, by its path or by a link, and return how runs ended.

    Each run must be refused, and no file may change.
    """
    command, ends = commands(runner.folder)[name], Counter[str]()
    if name == "save":  # it is no command: a model may be saved in its own place
        return ends
    clear(runner, command)
    files = [path for path in runner.folder.rglob("*") if path.is_file() and runner.out not in path.parents]
    read = [path for path in files if any(one in map(str, (path, path.parent)) for one in command.arguments)]
    for _ in range(n):
        clear(runner, command)
        target, kind = random.choice(read), random.choice(["path", "symlink", "hard link"])
        given = target if kind == "path" else runner.folder / f"link{target.suffix}"
        if kind != "path":
            given.unlink(missing_ok=True)
            given.symlink_to(target) if kind == "symlink" else given.hardlink_to(target)
        arguments, before = list(command.arguments), {path: path.read_bytes() for path in read}
        options = [at for at, one in enumerate(arguments) if one in ("--out", "--kept", "--onnx", "--rejects")]
        if command.arguments[0] not in ("kernel", "export") and random.random() < 0.7:
            arguments += ["--on-error", "skip", "--rejects", str(given)]
        else:
            arguments[random.choice(options) + 1] = str(given)
        ended = runner.run(arguments)
        what = f"{name}, {kind} of {target.name}: {ended['stderr']}"
        assert ended["code"] in (1, 2), f"it was not refused: {what}"
        assert "Traceback" not in ended["stderr"], what
        assert {path: path.read_bytes() for path in read} == before, f"a file that is read has changed: {what}"
        if kind != "path":
            given.unlink()
        ends["refused"] += 1
    return ends
