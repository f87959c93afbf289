"""An index whose segments go to files is the index built at once, byte for byte."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.neighbors import GCWSIndex, _segments
from gcwsnet.neighbors._index import SEGMENTS, spilling
from tests.neighbors.rows import clustered

X = clustered(700)
NAMES = [f"row {i} ä" for i in range(700)]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("ids", [None, NAMES])
@pytest.mark.parametrize(("memory", "most_written"), [(1, 24), (60_000, 12), (1 << 30, 0)])
def test_the_bytes_are_those_of_the_index_built_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Any, ids: Any, memory: int, most_written: int
) -> None:
    settings: dict[str, Any] = {"n_hashes": 64, "bits": 4, "threshold": 0.7}
    GCWSIndex(**settings).add(form(X), ids=ids).save(tmp_path / "once")
    monkeypatch.setattr(_segments, "MERGED_ROWS", 50)
    index = GCWSIndex(**settings)
    out = tmp_path / "out"
    with spilling(index, out, memory) as segments:
        for first in range(0, 700, 30):
            last = min(first + 30, 700)
            index.add(form(X[first:last]), ids=None if ids is None else ids[first:last])
            segments.write_if_full()
            in_memory = [one for one in index._store.segments if not one.mapped]
            assert sum(one.nbytes for one in in_memory) < memory
        assert segments.n_written <= most_written
        assert bool(segments.n_written) == bool(most_written)
        index.save(out)
    assert content(out) == content(tmp_path / "once")


def test_nothing_is_left_behind_when_it_fails(tmp_path: Path) -> None:
    index = GCWSIndex(32)

    def build() -> None:
        with spilling(index, tmp_path / "out", 1) as segments:
            index.add(X[:50])
            segments.write_if_full()
            assert (tmp_path / "out" / SEGMENTS / "0" / "index.json").exists()
            index.add(X[:, :3])

    with pytest.raises(ValueError, match="3 features"):
        build()
    assert not (tmp_path / "out").exists()


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "out" / SEGMENTS / "0").mkdir(parents=True)
    (tmp_path / "out" / SEGMENTS / "0" / "codes-1.npy").write_text("half")
    index = GCWSIndex(32).add(X)
    with spilling(index, tmp_path / "out", 1 << 30):
        index.save(tmp_path / "out")
    index.save(tmp_path / "once")
    assert content(tmp_path / "out") == content(tmp_path / "once")
