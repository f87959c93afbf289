"""npz files that are damaged, or are not what they must be."""

import pickle
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.datasets._npz import read_npz
from tests.datasets.layouts import arrays

GOOD = arrays(5, 3, 4)
SHAPES = {name: array.shape for name, array in GOOD.items()}
SAVE: list[Callable[..., None]] = [np.savez, np.savez_compressed]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.npz"


def written(save: Callable[..., None], **changed: Any) -> bytes:
    file = BytesIO()
    save(file, **{**GOOD, **changed})
    return file.getvalue()


WRITTEN = [written(save) for save in SAVE]


@pytest.mark.parametrize("save", SAVE)
@pytest.mark.parametrize("dtype", ["bool", "u1", ">i4", "f2", "f4", ">f4", "f8"])
def test_numbers_come_out_as_they_were_stored(save: Callable[..., None], dtype: str, path: Path) -> None:
    X = np.asfortranarray(GOOD["X_train"]).astype(dtype)
    path.write_bytes(written(save, X_train=X, other=np.arange(3)))
    found = read_npz(path, SHAPES)
    assert list(found) == list(SHAPES)
    assert found["X_train"].dtype == X.dtype
    for name, array in {**GOOD, "X_train": X}.items():
        assert np.array_equal(found[name], array)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"X_train": GOOD["X_train"][:4]}, r"X_train of PATH must have the shape \(5, 4\), got \(4, 4\)"),
    ({"X_test": GOOD["X_test"][:, :3]}, r"X_test of PATH must have the shape \(3, 4\), got \(3, 3\)"),
    ({"X_train": GOOD["X_train"].reshape(5, 2, 2)}, r"X_train of PATH must have the shape \(5, 4\), got \(5, 2, 2\)"),
    ({"y_test": GOOD["y_test"][:, np.newaxis]}, r"y_test of PATH must have the shape \(3,\), got \(3, 1\)"),
    ({"y_train": np.zeros(5)}, "y_train of PATH must hold integers, got the type float64"),
    ({"y_train": np.full(5, "a")}, "y_train of PATH must hold integers, got the type <U1"),
    ({"X_train": np.ones((5, 4), complex)}, "X_train of PATH must hold real numbers, got the type complex128"),
    ({"X_train": np.full((5, 4), "a")}, "X_train of PATH must hold real numbers, got the type <U1"),
    ({"X_test": np.full((3, 4), np.nan)}, r"every entry must be finite.*PATH: X_test\[0, 0\] is NaN"),
    ({"X_test": np.full((3, 4), -1e300)}, r"every entry must be finite.*PATH: X_test\[0, 0\] is -infinity"),
]


@pytest.mark.parametrize(("changed", "rule"), WRONG)
def test_an_array_that_breaks_a_rule_is_named_with_the_rule(changed: dict[str, Any], rule: str, path: Path) -> None:
    path.write_bytes(written(np.savez, **changed))
    with pytest.raises(ValueError, match=rule.replace("PATH", re.escape(str(path)))):
        read_npz(path, SHAPES)


def test_missing_arrays_are_named_with_those_that_are_there(path: Path) -> None:
    np.savez(path, x_train=GOOD["X_train"], y_train=GOOD["y_train"])
    with pytest.raises(ValueError, match=r"it lacks X_train, X_test, y_test, and has x_train, y_train$") as error:
        read_npz(path, SHAPES)
    assert str(error.value).startswith(f"{path} must have the arrays X_train, y_train, X_test, y_test; ")
    np.savez(path)
    with pytest.raises(ValueError, match="and has nothing"):
        read_npz(path, SHAPES)


def test_no_object_is_ever_loaded(path: Path, tmp_path: Path) -> None:
    touched = tmp_path / "touched"

    class Touch:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (touched,)

    objects = np.full((5, 4), Touch(), dtype=object)
    path.write_bytes(written(np.savez, X_train=objects))
    with pytest.raises(ValueError, match=r"X_train of .* must hold real numbers, got the type object"):
        read_npz(path, SHAPES)
    path.write_bytes(pickle.dumps(objects))
    with pytest.raises(ValueError, match="must be an npz file"):
        read_npz(path, SHAPES)
    assert not touched.exists()


def test_a_header_cannot_ask_for_more_memory_than_the_dataset_has(path: Path) -> None:
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (2**40, 4)})
    path.write_bytes(written(np.savez))
    with ZipFile(path, "w") as archive:
        for name in SHAPES:
            archive.writestr(f"{name}.npy", header.getvalue())
    with pytest.raises(ValueError, match=r"must have the shape \(5, 4\), got \(1099511627776, 4\)"):
        read_npz(path, SHAPES)


def test_an_array_that_is_longer_than_it_says_is_damaged(path: Path) -> None:
    with ZipFile(path, "w") as archive:
        for name, array in GOOD.items():
            member = BytesIO()
            np.save(member, array)
            archive.writestr(f"{name}.npy", member.getvalue() + b"!")
    with pytest.raises(ValueError, match=r"X_train of .* cannot be read \(.*more bytes than the header says\)"):
        read_npz(path, SHAPES)


def test_a_format_of_the_future_is_said_to_be_one(path: Path) -> None:
    with ZipFile(path, "w") as archive:
        for name in SHAPES:
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x09\x00")
    with pytest.raises(ValueError, match=r"X_train of .* cannot be read \(ValueError: format \(9, 0\)\)"):
        read_npz(path, SHAPES)


def test_what_is_no_archive_is_said_to_be_none(path: Path) -> None:
    for content in (b"", b"X,y\n1,2\n", b"\x93NUMPY\x01\x00"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"must be an npz file, and cannot be read .*put a whole copy"):
            read_npz(path, SHAPES)


@pytest.mark.parametrize("content", WRITTEN, ids=["stored", "compressed"])
def test_a_file_that_was_cut_off_is_an_error(content: bytes, path: Path) -> None:
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=re.escape(str(path))):
            read_npz(path, SHAPES)


@given(data=st.data())
def test_a_damaged_file_is_an_error_or_has_the_same_numbers(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(data.draw(st.sampled_from(WRITTEN)))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3)):
        content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(content)
    said, found = "", GOOD
    try:
        found = read_npz(path, SHAPES)
    except ValueError as error:
        said = str(error)
    assert not said or str(path) in said
    assert "\n" not in said
    assert all(np.array_equal(found[name], array) for name, array in GOOD.items())
