"""Files of arrays and a description."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import save

import gcwsnet
from gcwsnet import HASH_VERSION
from gcwsnet.estimators._tensor_file import DTYPES, MODEL, read_file, serialized, write_file

NUMBERS = np.arange(12, dtype=np.float64).reshape(3, 4)
ARRAYS: dict[str, Any] = {
    "float32": NUMBERS.astype(np.float32),
    "int64": NUMBERS.astype(np.int64),
    "uint8": NUMBERS.astype(np.uint8),
    "empty": np.zeros((0, 3)),
    "transposed": NUMBERS.T,
    "every other": NUMBERS[:, ::2],
    "not finite": np.array([np.nan, -np.inf, -0.0]),
}


def test_arrays_and_the_description_come_back(tmp_path: Path) -> None:
    write_file(tmp_path / "file", ARRAYS, {"name": "Ä", "numbers": [1, None, 0.1]})
    arrays, description = read_file(tmp_path / "file")
    assert arrays.keys() == ARRAYS.keys()
    for name, value in ARRAYS.items():
        assert arrays[name].dtype == value.dtype
        assert_array_equal(arrays[name], value)
    versions = (description[name] for name in ("format_version", "gcwsnet_version", "hash_version"))
    assert tuple(versions) == (MODEL.version, gcwsnet.__version__, HASH_VERSION)
    assert (description["name"], description["numbers"]) == ("Ä", [1, None, 0.1])


def test_a_description_that_json_cannot_hold_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_file(tmp_path / "file", {}, {"a": float("nan")})
    assert not list(tmp_path.iterdir())


def test_the_bytes_are_those_of_the_safetensors_library() -> None:
    rng = np.random.default_rng(0)
    arrays = {f"{i}é.{name}": (rng.random((3, i)) * 2).astype(name) for i, name in enumerate(DTYPES)}
    arrays |= {"scalar": np.array(3.0), "none": np.empty((0, 2), np.float32)}
    metadata = {"gcwsnet": 'abc {"x": "\\u00e9é\n\t\x7f"}'}
    assert b"".join(serialized(arrays, metadata)) == save(arrays, metadata)


def test_numbers_of_another_byte_order_stay_the_same_numbers(tmp_path: Path) -> None:
    write_file(tmp_path / "a", {"x": np.arange(5, dtype=">f4")}, {})
    arrays, _ = read_file(tmp_path / "a")
    assert arrays["x"].tolist() == [0, 1, 2, 3, 4]
