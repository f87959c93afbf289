"""Folders of codes."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gcwsnet.coding import Coder, CoderSettings, fit_coder
from gcwsnet.coding._codes_folder import (
    Manifest,
    is_codes_folder,
    read_description,
    stored_codes,
    write_description,
    write_parts,
)
from gcwsnet.data import Batch


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(500, 4)), rng.integers(0, 3, 500)


def coder_of(X: np.ndarray) -> Coder:
    return fit_coder(X, CoderSettings(n_hashes=16, p=2.0, scale="minmax"), seed=7)


@pytest.mark.parametrize("form", ["npy", "parquet"])
@pytest.mark.parametrize("labels", ["integers", "strings", "numbers"])
def test_a_folder_gives_back_what_was_put_in(
    form: str, labels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gcwsnet.coding._codes_folder.BYTES_OF_A_PART", 16 * 150)
    X, numbers = rows()
    y = {"integers": numbers, "strings": np.array(["ash", "elm", "oak"])[numbers], "numbers": X[:, 0]}[labels]
    weight = np.random.default_rng(1).random(500)
    coder = coder_of(X)
    write_description(tmp_path, *coder.state())
    batches = [Batch(coder.codes(X[i : i + 70]), y[i : i + 70], weight[i : i + 70]) for i in range(0, 500, 70)]
    done = write_parts(tmp_path, 0, batches, form)
    assert done["rows"] == 500
    assert len(done["parts"]) == 4
    Manifest({}, [{"file": "a", **done}], 1).write(tmp_path)
    again = Coder.from_state(*read_description(tmp_path))
    found = list(stored_codes(tmp_path, Manifest.read(tmp_path)))
    assert_array_equal(np.concatenate([batch.X for batch in found]), coder.codes(X))
    assert_array_equal(np.concatenate([batch.y for batch in found]), y)
    assert_array_equal(np.concatenate([batch.weight for batch in found]), weight)
    assert_array_equal(again.codes(X), coder.codes(X))


def test_a_damaged_folder_says_so(tmp_path: Path) -> None:
    X, _ = rows()
    assert not is_codes_folder(tmp_path)
    write_description(tmp_path, *coder_of(X).state())
    assert is_codes_folder(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"codes\.json is missing"):
        Manifest.read(tmp_path)
    (tmp_path / "codes.json").write_text('{"version": 9}')
    with pytest.raises(ValueError, match="version 9"):
        Manifest.read(tmp_path)
    content = (tmp_path / "coder.safetensors").read_bytes()
    (tmp_path / "coder.safetensors").write_bytes(content[:-3] + b"xyz")
    with pytest.raises(ValueError, match="checksum"):
        read_description(tmp_path)


@pytest.mark.parametrize("form", ["npy", "parquet"])
def test_a_part_that_is_missing_is_an_error_that_names_it(form: str, tmp_path: Path) -> None:
    X, _ = rows()
    done = write_parts(tmp_path, 3, [Batch(coder_of(X).codes(X))], form)
    Manifest({}, [{"file": "a", **done}], 1).write(tmp_path)
    assert [batch.n_rows for batch in stored_codes(tmp_path, Manifest.read(tmp_path))] == [500]
    for path in tmp_path.glob("part-*"):
        path.unlink()
    with pytest.raises(FileNotFoundError, match="part-00003-00000"):
        list(stored_codes(tmp_path, Manifest.read(tmp_path)))
