"""The files of an index: the same bytes however it was built, nothing lost, nothing read that is damaged."""

import itertools
import json
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet import _core
from gcwsnet.neighbors import GCWSIndex, _store
from gcwsnet.neighbors._index import spilling
from tests.conftest import using_instruction_set
from tests.neighbors.rows import clustered

X = clustered(400)
Q = X[:40] + 0.05
make = partial(GCWSIndex, 64, threshold=0.7)
NAMES = np.array([f"id {i} ä" for i in range(400)])


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def saved(index: GCWSIndex, folder: Path) -> dict[str, bytes]:
    index.save(folder)
    return content(folder)


def assert_same(a: GCWSIndex, b: GCWSIndex) -> None:
    for method in ("scan", "bands") if a.threshold is not None else ("scan",):
        found, wanted = (
            [*one.query(Q, 5), *one.pairs(0.7)] for one in (a.set_params(method=method), b.set_params(method=method))
        )
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("keep_rows", [True, False])
@pytest.mark.parametrize("threshold", [0.7, None])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("ids", [None, NAMES])
def test_a_saved_index_is_the_same_when_it_is_loaded(
    tmp_path: Path, keep_rows: bool, threshold: float | None, form: Callable[[Any], Any], ids: Any
) -> None:
    index = GCWSIndex(64, threshold=threshold, keep_rows=keep_rows, p=1.5, bits=12, random_state=9).add(
        form(X), ids=ids
    )
    index.metadata["source"] = ["a file"]
    index.save(tmp_path / "index")
    loaded = GCWSIndex.load(tmp_path / "index", n_jobs=2)
    assert_same(loaded, index)
    assert loaded.metadata == {"source": ["a file"]}
    assert loaded.get_params() == index.set_params(n_jobs=2).get_params()
    assert isinstance(loaded._store.segments[0].codes.base, np.memmap)
    assert content(tmp_path / "index") == saved(loaded, tmp_path / "again")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("ids", [np.arange(400) * 7 - 50, NAMES])
def test_a_merged_index_is_the_index_built_at_once_byte_for_byte(
    tmp_path: Path, form: Callable[[Any], Any], ids: Any
) -> None:
    wanted = saved(make().add(form(X), ids=ids), tmp_path / "once")
    cuts = [0, 37, 200, 201, 400]
    parts = []
    for first, last in itertools.pairwise(cuts):
        make().add(form(X[first:last]), ids=ids[first:last]).save(tmp_path / f"part {first}")
        parts.append(GCWSIndex.load(tmp_path / f"part {first}"))
    merged = parts[0]
    for one in parts[1:]:
        merged.merge(one)
    assert saved(merged, tmp_path / "merged") == wanted
    added = make()
    for i in range(0, 400, 23):
        added.add(form(X[i : i + 23]), ids=ids[i : i + 23])
    added.query_threshold(Q, 0.7)
    assert saved(added, tmp_path / "added") == wanted


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("ids", [None, NAMES])
@pytest.mark.parametrize(("memory", "max_segments"), [(1, 14), (30_000, 10), (1 << 30, 0)])
def test_an_index_larger_than_its_memory_is_that_built_at_once_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Any, ids: Any, memory: int, max_segments: int
) -> None:
    wanted = saved(make().add(form(X), ids=ids), tmp_path / "once")
    monkeypatch.setattr(_store, "MERGED_ROWS", 50)
    index, out = make(), tmp_path / "out"
    with spilling(index, out, memory) as spill:
        for first in range(0, 400, 30):
            index.add(form(X[first : first + 30]), ids=None if ids is None else ids[first : first + 30])
            spill()
            assert sum(one.nbytes for one in index._store.segments if not one.mapped) < memory
        n_mapped = sum(one.mapped for one in index._store.segments)
        assert n_mapped <= max_segments
        assert bool(n_mapped) == bool(max_segments)
        index.save(out)
    assert content(out) == wanted


def test_segments_on_disk_are_removed_after_an_error_and_after_a_killed_process(tmp_path: Path) -> None:
    def build() -> None:
        with spilling(index, tmp_path / "out", 1) as spill:
            index.add(X[:50])
            spill()
            assert (tmp_path / "out" / ".segments" / "0" / "index.json").exists()
            index.add(X[:, :3])

    index = make()
    with pytest.raises(ValueError, match="3 features"):
        build()
    assert not (tmp_path / "out").exists()
    (tmp_path / "out" / ".segments" / "0").mkdir(parents=True)
    (tmp_path / "out" / ".segments" / "0" / "codes-1.npy").write_text("half")
    index = make().add(X)
    with spilling(index, tmp_path / "out", 1 << 30):
        index.save(tmp_path / "out")
    assert content(tmp_path / "out") == saved(index, tmp_path / "once")


def test_removed_rows_leave_no_trace_in_the_files(tmp_path: Path) -> None:
    gone = np.arange(0, 400, 7)
    kept = np.delete(np.arange(400), gone)
    wanted = saved(make().add(X[kept], ids=kept), tmp_path / "once")
    index = make(method="bands").add(X)
    index.pairs(0.7)  # buckets are there, and rows are taken out of them
    assert saved(index.remove(gone), tmp_path / "removed") == wanted
    index.save(tmp_path / "all")
    reloaded = GCWSIndex.load(tmp_path / "all").add(X[:5], ids=gone[:5])
    assert saved(reloaded.remove(gone[:5]), tmp_path / "all") == wanted


def test_any_instruction_set_and_number_of_threads_writes_the_same_bytes(tmp_path: Path) -> None:
    wanted = saved(make().add(X), tmp_path / "one")
    for name in _core.instruction_sets():
        with using_instruction_set(name):
            for n_jobs in (1, 4):
                assert saved(make(n_jobs=n_jobs).add(X), tmp_path / f"{name} {n_jobs}") == wanted


def test_an_index_can_be_saved_over_the_one_it_was_loaded_from(tmp_path: Path) -> None:
    make().add(X[:300]).save(tmp_path)
    index = GCWSIndex.load(tmp_path).add(X[300:])
    index.save(tmp_path)
    assert content(tmp_path) == saved(make().add(X), tmp_path / "once")
    assert_same(index, GCWSIndex.load(tmp_path))


def test_the_files_of_an_index_never_change(tmp_path: Path) -> None:
    """Golden checksums: of an index of another machine, thread count, instruction set and version of today."""
    rows = (np.arange(60.0).reshape(12, 5) * 7919 % 23) - 11
    GCWSIndex(16, bits=8, threshold=0.8, recall=0.9).add(rows, ids=[f"r{i}" for i in range(12)]).save(tmp_path)
    arrays = json.loads((tmp_path / "index.json").read_text())["index"]["arrays"]
    assert {name: one["sha256"][:12] for name, one in arrays.items()} == GOLDEN


GOLDEN = {
    "bucket-keys": "1eaae8c12bd8",
    "bucket-rows": "eebdd980e197",
    "codes": "a6ec5e883f49",
    "id-ends": "bf4a3b3ec994",
    "id-texts": "d3f7e92c869d",
    "rows": "958315ca39a3",
}


class Killed(BaseException):
    pass


def events_of_saving(monkeypatch: pytest.MonkeyPatch, at: int | None) -> list[str]:
    """Count what changes the folder, and kill this process before event number `at`."""
    events: list[str] = []

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **more: Any) -> Any:
            if len(events) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            events.append(name)
            return call(*args, **more)

        return wrapped

    monkeypatch.setattr(os, "fsync", counted("fsync", lambda _: None))  # a kill loses nothing that is in the page cache
    for name in ("replace", "unlink", "write_text"):
        monkeypatch.setattr(Path, name, counted(name, getattr(Path, name)))
    return events


def test_a_process_killed_while_saving_leaves_the_old_index_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is killed by SIGKILL before each change of the folder in turn."""
    old, new = make().add(X[:200]), make().add(X)
    before, after = saved(old, tmp_path / "old"), saved(new, tmp_path / "new")
    folder = tmp_path / "index"
    with pytest.MonkeyPatch.context() as patch:
        old.save(folder)
        events = events_of_saving(patch, None)
        new.save(folder)
    n_events = len(events)
    assert n_events > 20
    monkeypatch.setattr(os, "fsync", lambda _: None)
    n_old = 0
    for at in range(n_events):
        for path in folder.iterdir():
            path.unlink()
        old.save(folder)
        child = os.fork()
        if child == 0:
            with pytest.MonkeyPatch.context() as patch:
                events_of_saving(patch, at)
                new.save(folder)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        index = GCWSIndex.load(folder)
        n_old += index.n_samples_fit_ == 200
        assert saved(index, folder) == (before if index.n_samples_fit_ == 200 else after)  # left-overs are removed
    assert 0 < n_old < n_events


def test_an_error_while_saving_leaves_the_old_index(tmp_path: Path) -> None:
    index = make().add(X[:200])
    before = saved(index, tmp_path)
    index.metadata["not JSON"] = object()
    with pytest.raises(TypeError):
        index.add(X[200:]).save(tmp_path)
    assert_same(GCWSIndex.load(tmp_path), make().add(X[:200]))
    assert before.keys() <= content(tmp_path).keys()


@pytest.mark.parametrize("name", ["codes", "bucket-keys", "bucket-rows", "rows", "id-texts", "id-ends"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "remove", "other type"])
def test_a_damaged_array_is_an_error_that_names_the_file(tmp_path: Path, name: str, damage: str) -> None:
    make().add(X, ids=NAMES).save(tmp_path)
    path = next(tmp_path.glob(f"{name}-[0-9a-f]*.npy"))
    data = path.read_bytes()
    if damage == "flip":
        path.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    elif damage == "truncate":
        path.write_bytes(data[:-1])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "remove":
        path.unlink()
    else:
        np.save(path, np.load(path).astype(np.complex128))
    with pytest.raises(ValueError, match=f"{path.name} is (damaged|missing).*take another copy"):
        GCWSIndex.load(tmp_path)
    if damage != "flip":  # sizes and types are checked without reading everything, too
        with pytest.raises(ValueError, match=path.name):
            GCWSIndex.load(tmp_path, verify=False)


def test_a_damaged_manifest_is_an_error(tmp_path: Path) -> None:
    make().add(X).save(tmp_path)
    path = tmp_path / "index.json"
    text = path.read_text()
    for changed in ("", text[:-20], text.replace('"bits": 8', '"bits": 7'), "[]", text.replace("sha256", "sha255")):
        path.write_text(changed)
        with pytest.raises(ValueError, match=r"index\.json is damaged"):
            GCWSIndex.load(tmp_path)


@pytest.mark.parametrize("what", ["format_version", "hash_version"])
def test_an_index_of_another_version_says_so(tmp_path: Path, what: str) -> None:
    make().add(X).save(tmp_path)
    path = tmp_path / "index.json"
    manifest = json.loads(path.read_text())
    manifest["index"][what] = 99
    path.write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=r"was written by gcwsnet .* 99.*load it with the version that wrote it"):
        GCWSIndex.load(tmp_path)


def test_folders_that_are_no_index_are_left_alone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"index\.json is missing: .* is not an index"):
        GCWSIndex.load(tmp_path)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match=r"other files than those of an index, such as letter\.txt"):
        make().add(X).save(tmp_path)
    assert content(tmp_path) == {"letter.txt": b"dear"}


def test_no_pickle_is_ever_read(tmp_path: Path) -> None:
    make().add(X).save(tmp_path)
    path = next(tmp_path.glob("codes-*.npy"))
    np.save(path, np.array([object()] * 400, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="damaged"):
        GCWSIndex.load(tmp_path, verify=False)
