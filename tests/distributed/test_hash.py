"""Files hashed by Dask: the codes of one process, for any number of workers, whichever die."""

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from sklearn.base import clone

from gcwsnet import GCWSHasher, GCWSNetClassifier
from gcwsnet.distributed import hash_files
from gcwsnet.distributed._cluster import connected
from gcwsnet.files import DataError
from gcwsnet.files._hash import one_by_one
from gcwsnet.tables._coder import CoderSettings
from tests.cli.command import fail, run, start, succeed
from tests.cli.test_nothing_lost import content, until
from tests.distributed import faults
from tests.distributed.conftest import ClientOf

HASHING = ["--n-hashes", "8", "--p", "1", "--scale", "numeric"]
SETTINGS = CoderSettings(n_hashes=8, bits="auto", p=1.0, scale="numeric")


def write_table(folder: Path, n_files: int = 6, n_rows: int = 200) -> list[Path]:
    """Write CSV files: a number, a category that not all files have, a missing value here and there, and a label."""
    rng = np.random.default_rng(0)
    files = [folder / f"rows{number}.csv" for number in range(n_files)]
    for number, file in enumerate(files):
        lines = [
            f"{'' if i % 50 == 7 else x},{y},{'abcdef'[(i % 3 + number // 2) % 6]},{'no' if x < y else 'yes'}"
            for i, (x, y) in enumerate(rng.normal(size=(n_rows, 2)).tolist())
        ]
        file.write_text("\n".join(["x,y,city,label", *lines]) + "\n")
    return files


class Hashed:
    """Files, the arguments of a command that hashes them, and the bytes of the codes that it makes in one process."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.files = write_table(folder, **more)
        self.arguments = ["hash", *self.files, "--label", "label", *HASHING]
        succeed(*self.arguments, "--out", folder / "local")
        self.content = content(folder / "local")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Hashed:
    return Hashed(tmp_path_factory.mktemp("local"))


def on(client: Client) -> list[str]:
    """Return the options of the command that name a cluster."""
    return ["--scheduler", client.scheduler.address]


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_codes_are_those_of_the_local_command(
    n_workers: int, client_of: ClientOf, local: Hashed, tmp_path: Path
) -> None:
    client = client_of(n_workers)
    result = succeed(*local.arguments, "--out", tmp_path / "codes", *on(client))
    assert content(tmp_path / "codes") == local.content
    assert "rows: 1200" in result.stdout
    assert result.stderr.startswith(f"{n_workers} workers at {client.scheduler.address}\n")
    assert set(result.stderr.splitlines()[1:]) == {f"{file}: 200 rows" for file in local.files}


@pytest.mark.parametrize("form", ["names only", "empty", "svm", "parquet"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_file_without_rows_is_fine_among_others(form: str, place: int, client_of: ClientOf, tmp_path: Path) -> None:
    tables = [write_table(tmp_path, n_files=1, n_rows=30)[0].read_text().splitlines() for _ in range(3)]
    tables[place] = tables[place][: 0 if form == "empty" else 1]
    ending = form if form in ("svm", "parquet") else "csv"
    files = [tmp_path / f"{number}.{ending}" for number in range(3)]
    for file, lines in zip(files, tables, strict=True):
        if form == "svm":
            file.write_text("".join(f"{i % 2} 1:{i + 0.5} 2:{i % 7}\n" for i in range(len(lines) - 1)))
        elif form == "parquet":
            pd.DataFrame({"x": np.arange(1.0, len(lines)), "label": np.arange(1, len(lines)) % 2}).to_parquet(file)
        else:
            file.write_text("".join(f"{line}\n" for line in lines))
    label = [] if form == "svm" else ["--label", "label"]
    result = succeed("hash", *files, *label, *HASHING, "--out", tmp_path / "codes")
    assert "rows: 60" in result.stdout
    assert f"{files[place]}: 0 rows\n" in result.stderr
    run = ["train", *files, *label, *HASHING, "--epochs", 1]
    succeed(*run, "--out", tmp_path / "local")
    succeed(*run, "--out", tmp_path / "cluster", *on(client_of(1)))


def test_the_command_starts_workers_of_its_own(local: Hashed, tmp_path: Path) -> None:
    result = succeed(*local.arguments, "--out", tmp_path / "codes", "--workers", 1)
    assert content(tmp_path / "codes") == local.content
    assert result.stderr.startswith("1 workers at tcp://127.0.0.1:")


def test_files_are_found_from_another_working_directory(
    client_of: ClientOf, local: Hashed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers were started elsewhere; names stay as they were given."""
    monkeypatch.chdir(local.files[0].parent)
    names = [file.name for file in local.files]
    arguments = ["hash", *names, "--label", "label", *HASHING]
    succeed(*arguments, "--out", tmp_path / "one")
    monkeypatch.chdir(local.files[0].parent)
    succeed(*arguments, "--out", tmp_path / "other", *on(client_of(2)))
    assert content(tmp_path / "one") == content(tmp_path / "other")
    assert b'"name": "rows0.csv"' in content(tmp_path / "one")["codes.json"]


def test_a_worker_that_is_killed_changes_nothing(client_of: ClientOf, local: Hashed, tmp_path: Path) -> None:
    client = client_of(2)
    victim = sorted(client.nthreads())[0]
    process = client.run(faults.send_in_the_next_file, signal.SIGKILL, workers=[victim])[victim]
    succeed(*local.arguments, "--out", tmp_path / "codes", *on(client))
    assert faults.state_of(process) == "Z"
    assert content(tmp_path / "codes") == local.content
    client.wait_for_workers(2)


@pytest.mark.slow
def test_a_worker_that_hangs_is_replaced(local: Hashed, tmp_path: Path) -> None:
    with connected(workers=2) as client, faults.given_up_once_stopped(client):
        victim = sorted(client.nthreads())[0]
        process = client.run(faults.send_in_the_next_file, signal.SIGSTOP, workers=[victim])[victim]
        succeed(*local.arguments, "--out", tmp_path / "codes", *on(client))
        assert faults.state_of(process) in "TZ"
    assert content(tmp_path / "codes") == local.content


@pytest.mark.slow
def test_a_file_that_kills_every_worker_fails_alone(local: Hashed, tmp_path: Path) -> None:
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), connected(workers=2) as client:
        client.register_plugin(faults.DieOf(3), name="die")
        result = run(*local.arguments, "--out", tmp_path / "codes", *on(client))
        assert result.exit_code == 1
        assert f"failed: {local.files[3]}\n" in result.stdout
        assert (
            f"{local.files[3]}: 2 workers died one after the other while they worked on the same rows" in result.stderr
        )
        missing = {name for name in local.content if "00003" in name and not name.startswith("part")}
        found = content(tmp_path / "codes")
        assert {name: found.get(name) for name in local.content if name not in missing} == {
            name: value for name, value in local.content.items() if name not in missing
        }
    result = succeed(*local.arguments, "--out", tmp_path / "codes", "--resume")
    assert result.stderr == f"5 of 6 files are finished\n{local.files[3]}: 200 rows\n"
    assert content(tmp_path / "codes") == local.content


def test_a_killed_client_is_resumed_to_the_same_bytes(client_of: ClientOf, local: Hashed, tmp_path: Path) -> None:
    client, out = client_of(2), tmp_path / "codes"
    client.run(faults.hold_once_there_is, f"{out}/file-*.json")
    process = start(*local.arguments, "--out", out, *on(client))
    until(lambda: list(out.glob("file-*.json")), process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(list(out.glob("file-*.json"))) < len(local.files)
    client.run(faults.go_on)
    result = succeed(*local.arguments, "--out", out, *on(client), "--resume")
    assert " of 6 files are finished\n" in result.stderr
    assert content(out) == local.content


def test_a_killed_scheduler_is_an_error_and_the_codes_are_finished_by_another(
    client_of: ClientOf, local: Hashed, tmp_path: Path
) -> None:
    out = tmp_path / "codes"
    with faults.scheduler_killed_once_there_is(f"{out}/file-*.json", tmp_path) as cluster:
        error = fail(*local.arguments, "--out", out, *cluster)
    assert f"the scheduler at {cluster[-1]} was lost" in error
    assert "continue the command with --resume" in error
    assert 0 < len(list(out.glob("file-*.json"))) < len(local.files)
    resumed = succeed(*local.arguments, "--out", out, *on(client_of(1)), "--resume")
    assert " of 6 files are finished\n" in resumed.stderr
    assert content(out) == local.content


def test_a_damaged_file_fails_alone_as_it_does_locally(client_of: ClientOf, tmp_path: Path) -> None:
    files = write_table(tmp_path)
    intact = files[2].read_text()
    files[2].write_text(intact + "1,one,a,yes\n")
    files[4].chmod(0)
    arguments = ["hash", *files, "--label", "label", *HASHING]
    locally = run(*arguments, "--out", tmp_path / "local")
    there = run(*arguments, "--out", tmp_path / "codes", *on(client_of(2)))
    assert locally.exit_code == there.exit_code == 1
    assert f"not hashed: {files[2]}:202:y: a value must be a number, got 'one'" in there.stderr
    assert content(tmp_path / "local") == content(tmp_path / "codes")
    files[2].write_text(intact)
    files[4].chmod(0o644)
    for out, more in ((tmp_path / "local", []), (tmp_path / "codes", on(client_of(2)))):
        result = succeed(*arguments, "--out", out, "--resume", *more)
        assert f"{files[2]}: 200 rows" in result.stderr
        assert f"{files[0]}: 200 rows" not in result.stderr
    assert content(tmp_path / "local") == content(tmp_path / "codes")


def test_a_folder_is_resumed_by_either_engine(client_of: ClientOf, local: Hashed, tmp_path: Path) -> None:
    out = tmp_path / "codes"
    succeed(*local.arguments, "--out", out, *on(client_of(2)))
    for name in ("file-00001.json", "part-00005-00000.codes.npy"):
        (out / name).unlink()
    succeed(*local.arguments, "--out", out, "--resume")
    assert content(out) == local.content
    (out / "file-00004.json").unlink()
    succeed(*local.arguments, "--out", out, "--resume", *on(client_of(2)))
    assert content(out) == local.content
    assert "finish them with --resume" in fail(*local.arguments, "--out", out, *on(client_of(2)))


def test_two_clusters_are_an_error(local: Hashed) -> None:
    both = ["--workers", 2, "--scheduler", "tcp://127.0.0.1:1"]
    assert "and not both" in fail(*local.arguments, "--out", "unused", *both, code=2)


def threads(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    with ThreadPoolExecutor(2) as pool:
        yield from enumerate(pool.map(function, items))


@pytest.mark.parametrize("over", [None, threads], ids=["cluster", "threads"])
def test_settings_of_a_coder_give_the_codes_of_the_command(
    over: Any, client_of: ClientOf, local: Hashed, tmp_path: Path
) -> None:
    """Tasks may be done by anything that calls functions."""
    lines: list[str] = []
    more = {"client": client_of(2)} if over is None else {"over": over}
    done = hash_files([*local.files], tmp_path / "codes", SETTINGS, label="label", report=lines.append, **more)
    assert content(tmp_path / "codes") == local.content
    assert [one.rows for one in done.files] == [200] * 6
    assert done.failures == {}
    assert len(lines) == (7 if over is None else 6)


def write_arrays(folder: Path) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    for number in range(3):
        rows = slice(20 * number, 20 * number + 20)
        np.savez(folder / f"{number}.npz", X=X[rows], y=y[rows])
    return X, y


def codes_in(folder: Path) -> np.ndarray:
    return np.concatenate([np.load(path) for path in sorted(folder.glob("*.codes.npy"))])


def test_a_hasher_hashes_rows_as_they_are(client_of: ClientOf, tmp_path: Path) -> None:
    X, _ = write_arrays(tmp_path)
    hasher = GCWSHasher(8, p=2.0, bits=4, random_state=3)
    for given in (hasher, clone(hasher).fit(X)):
        hash_files(str(tmp_path / "*.npz"), tmp_path / "codes", given, client=client_of(2), restart=True)
        np.testing.assert_array_equal(codes_in(tmp_path / "codes"), clone(hasher).fit_transform(X))


def test_the_coder_of_an_estimator_hashes_as_it_does(client_of: ClientOf, tmp_path: Path) -> None:
    X, y = write_arrays(tmp_path)
    files, out = [*tmp_path.glob("*.npz")], tmp_path / "codes"

    def coder(seed: int, n_columns: int = 4) -> Any:
        settings: dict[str, Any] = {"ensemble": 1, "p": 1.0, "scale": "minmax", "hidden": (4,), "epochs": 1}
        return GCWSNetClassifier(8, **settings, random_state=seed).fit(X[:, :n_columns], y).coder_

    hash_files(tmp_path, out, coder(0), client=client_of(2))
    np.testing.assert_array_equal(codes_in(out), coder(0).codes(X))
    with pytest.raises(ValueError, match="was begun with coder"):
        hash_files(files, out, coder(1), client=client_of(2), resume=True)
    with pytest.raises(ValueError, match="the coder is for rows of 3 columns, and those of the files have 4"):
        hash_files(files, out, coder(1, 3), client=client_of(2), restart=True)


@pytest.mark.parametrize(
    ("coder", "more", "message"),
    [
        (GCWSHasher(8), {}, "the hasher must be fitted or have an int as random_state"),
        (GCWSHasher(8, method="minwise"), {}, "method='gcws', got a hasher with method='minwise'"),
        (GCWSHasher(8, random_state=0), {"random_state": 1}, "random_state has no effect: a GCWSHasher has its own"),
        (SETTINGS, {"over": one_by_one}, "over does the tasks in place of a cluster of Dask"),
        (
            SETTINGS,
            {"resume": True, "restart": True},
            "resume finishes the codes in the folder, and restart drops them",
        ),
    ],
)
def test_arguments_without_effect_are_errors(
    coder: Any, more: Any, message: str, client_of: ClientOf, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        hash_files(tmp_path, tmp_path / "codes", coder, client=client_of(1), **more)


def test_an_error_of_a_worker_keeps_its_place(client_of: ClientOf, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:x\n")
    with pytest.raises(DataError, match=r"a\.svm:2:5: a value must be a number") as caught:
        hash_files(tmp_path / "a.svm", tmp_path / "codes", SETTINGS, client=client_of(1))
    assert (caught.value.line, caught.value.column) == (2, 5)


@pytest.mark.parametrize("chunks", [(50, 4), (7, 4)])
def test_a_hasher_hashes_the_blocks_of_an_array_as_all_rows(chunks: Any) -> None:
    rows = np.random.default_rng(0).normal(size=(50, 4))
    X = dask.array.from_array(rows, chunks=chunks)
    hasher = GCWSHasher(6, random_state=1).fit(rows[:1])
    codes = X.map_blocks(hasher.transform, dtype=np.uint8, chunks=(X.chunks[0], (6,)))
    np.testing.assert_array_equal(codes.compute(scheduler="synchronous"), hasher.transform(rows))
