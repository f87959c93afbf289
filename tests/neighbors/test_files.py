"""The files of an index: the same bytes however it was built, nothing lost, nothing read that is damaged."""

import hashlib
import itertools
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gcwsnet
from gcwsnet import _atomic, _core
from gcwsnet.estimators._tensor_file import read_file, serialized
from gcwsnet.neighbors import GCWSIndex, _store
from gcwsnet.neighbors._files import FILE, INDEX
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
            assert (tmp_path / "out" / ".segments" / "0" / FILE).exists()
            index.add(X[:, :3])

    index = make()
    with pytest.raises(ValueError, match="3 features"):
        build()
    assert not (tmp_path / "out").exists()
    (tmp_path / "out" / ".segments" / "0").mkdir(parents=True)
    (tmp_path / "out" / ".segments" / "0" / FILE).write_text("half")
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


def test_the_arrays_of_an_index_never_change(tmp_path: Path) -> None:
    """Golden checksums: of an index of another machine, thread count, instruction set and version of today."""
    rows = (np.arange(60.0).reshape(12, 5) * 7919 % 23) - 11
    GCWSIndex(16, bits=8, threshold=0.8, recall=0.9).add(rows, ids=[f"r{i}" for i in range(12)]).save(tmp_path)
    arrays, _ = read_file(tmp_path / FILE, INDEX)
    assert {name: hashlib.sha256(one.tobytes()).hexdigest()[:12] for name, one in arrays.items()} == GOLDEN


GOLDEN = {
    "bucket-keys": "1eaae8c12bd8",
    "bucket-rows": "eebdd980e197",
    "codes": "a6ec5e883f49",
    "id-ends": "bf4a3b3ec994",
    "id-texts": "d3f7e92c869d",
    "rows": "958315ca39a3",
}


def test_a_process_killed_while_saving_leaves_the_old_index_or_the_new_one(tmp_path: Path) -> None:
    """The process is killed by SIGKILL before and after the new file is moved into its place."""
    old, new = make().add(X[:200]), make().add(X)
    wanted = {n: saved(one, tmp_path / f"{n}") for n, one in ((200, old), (400, new))}
    folder = tmp_path / "index"
    for at, n in (("fsync", 200), ("sync_folder", 400)):
        old.save(folder)
        child = os.fork()
        if child == 0:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os if at == "fsync" else _atomic, at, lambda _: os.kill(os.getpid(), signal.SIGKILL))
                new.save(folder)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        index = GCWSIndex.load(folder)
        assert index.n_samples_fit_ == n
        assert saved(index, folder) == wanted[n]  # left-overs are removed


def test_an_error_while_saving_leaves_the_old_index(tmp_path: Path) -> None:
    index = make().add(X[:200])
    before = saved(index, tmp_path)
    index.metadata["not JSON"] = object()
    with pytest.raises(TypeError):
        index.add(X[200:]).save(tmp_path)
    assert_same(GCWSIndex.load(tmp_path), make().add(X[:200]))
    assert content(tmp_path) == before


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "other file"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, damage: str) -> None:
    make().add(X, ids=NAMES).save(tmp_path)
    path = tmp_path / FILE
    data = path.read_bytes()
    changed = {"flip": data[:-3] + bytes([data[-3] ^ 1]) + data[-2:], "truncate": data[:-1], "empty": b""}
    path.write_bytes(changed.get(damage, b"".join(serialized({"x": np.zeros(3)}, {}))))
    with pytest.raises(ValueError, match=rf"{FILE} is (damaged|a safetensors file, but not an? index)"):
        GCWSIndex.load(tmp_path)
    if damage != "flip":  # sizes are checked without reading everything, too
        with pytest.raises(ValueError, match=FILE):
            GCWSIndex.load(tmp_path, verify=False)


def test_a_folder_without_an_index_says_so_and_other_files_in_it_stay(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(FileNotFoundError, match=rf"{FILE} is missing: .* is not an index"):
        GCWSIndex.load(tmp_path)
    make().add(X).save(tmp_path)
    assert set(content(tmp_path)) == {"letter.txt", FILE}
    with pytest.raises(ValueError, match="not a model of gcwsnet"):
        gcwsnet.load(tmp_path / FILE)
