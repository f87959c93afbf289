"""Tables of numbers in text files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from gcwsnet.datasets._archives import open_sources
from gcwsnet.datasets._layouts import Floats, read_table
from tests.datasets.layouts import text, zipped


def read(
    content: bytes, n_columns: int, folder: Path, *, delimiter: str | None = None, missing: bool = False
) -> Floats:
    (folder / "table").write_bytes(content)
    with open_sources([folder / "table"], ()) as (source,):
        return read_table(source, n_columns, delimiter=delimiter, missing=missing)


@given(
    table=arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(width=32)),
    delimiter=st.sampled_from([None, ","]),
)
def test_float32_numbers_come_out_as_they_were_written(
    table: NDArray[np.float32], delimiter: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    content = text(table, delimiter or " ")
    if np.isinf(table).any():
        with pytest.raises(ValueError, match=r"is -?infinity"):
            read(content, table.shape[1], folder, delimiter=delimiter, missing=True)
        return
    assert np.array_equal(
        read(content, table.shape[1], folder, delimiter=delimiter, missing=True), table, equal_nan=True
    )


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"1 2\n3 x\n", "line 2 must have numbers only, got 'x'"),
        (b"1 2\n\n3\n", "line 3 must have 2 numbers, got 1"),
        (b"1 2 3\n4 5 6\n", "line 1 must have 2 numbers, got 3"),
        (b"1 2\n3 1_0\n", "line 2 must have numbers only, got '1_0'"),
        (b"1 2\n3 0x10\n", "line 2 must have numbers only, got '0x10'"),
        (b"1 2\n3 \xff\n", "line 2 must have numbers only"),
        (b"# 1 2\n3 4\n", "line 1 must have 2 numbers, got 3"),
        (b"1 2\n3 " + b"9" * 500 + b"x\n", "line 2 must have numbers only, got '9{40}'"),
        (b"1 nan\n", r"every entry must be finite.*table\[0, 1\] is NaN"),
        (b"1 1e99\n", r"every entry must be finite.*table\[0, 1\] is infinity"),
        (b"", "no lines"),
    ],
)
def test_the_line_that_is_wrong_is_named(content: bytes, rule: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rule) as error:
        read(content, 2, tmp_path)
    assert str(tmp_path / "table") in str(error.value)


def test_damage_of_an_archive_is_named_with_the_file_inside(tmp_path: Path) -> None:
    content = bytearray(zipped({"d/table.txt": text(np.random.default_rng(0).random((500, 2)))}))
    content[2000] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(content)
    with (
        open_sources([tmp_path / "a.zip"], ["table.txt"]) as (source,),
        pytest.raises(ValueError, match=r"^d/table\.txt in .*a\.zip cannot be read"),
    ):
        read_table(source, 2)
