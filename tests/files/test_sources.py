"""Where bytes come from: paths, patterns, folders, standard input, compression, formats and lines."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gcwsnet.files import DataError, read
from tests.files.conftest import Write, fault, whole

ROWS = "".join(f"{i % 3} 1:{i} 7:0.5\n" for i in range(20_000)).encode()


def zstd(content: bytes) -> bytes:
    compressed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(compressed, "zstd") as stream:
        stream.write(content)
    return compressed.getvalue().to_pybytes()


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd,
}
READ_INPUT = """
import sys
from gcwsnet.files import read
assert "torch" not in sys.modules
batches = read("-", n_features=7, batch_rows=1000)
print(sum(batch.n_rows for batch in batches))
try:
    list(batches)
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("ending", COMPRESS)
def test_compression_is_detected_whatever_the_name(ending: str, write: Write) -> None:
    for name in (f"a.svm.{ending}", "a.svm", "a"):
        found = whole(read(write(name, COMPRESS[ending](ROWS)), batch_rows=999))
        assert np.array_equal(found.X[:, 0], np.arange(20_000))


SKIPPED_BY_ZSTD = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"
BETWEEN = {"gz": [b"", bytes(3)], "bz2": [b""], "xz": [b""], "zst": [b"", SKIPPED_BY_ZSTD]}
TABLE = "a,b\n" + "".join(f"{i},{i}\n" for i in range(1000))
TEXTS = {"libsvm": ROWS, "csv": TABLE.encode()}


def archive(ending: str, content: bytes) -> list[bytes]:
    """Return two halves of a content, each compressed on its own."""
    half = len(content) // 2
    return [COMPRESS[ending](content[:half]), COMPRESS[ending](content[half:])]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ending", COMPRESS)
def test_concatenated_archives_are_one(ending: str, name: str, write: Write) -> None:
    expected = whole(read(write("whole", TEXTS[name]), format=name))
    one, other = archive(ending, TEXTS[name])
    for between in BETWEEN[ending]:
        for joined in (one + between + other, one + other + between, between + one + other):
            if not joined.startswith(b"\x00"):
                assert np.array_equal(whole(read(write("a", joined), format=name)).X, expected.X)


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ending", COMPRESS)
def test_what_follows_a_stream_of_an_archive_is_a_whole_one(
    ending: str, name: str, piped: bool, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bz2 and xz ended at a second stream that was damaged, and only the rows of the first were read."""
    one, other = archive(ending, TEXTS[name])
    damaged = other[:1] + b"?" + other[2:]
    for joined in (
        one + damaged,
        one + b"garbage" + other,
        one + other[:-9],
        one + other[:3],
        one + other + b"garbage",
    ):
        if piped:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(joined)))
        path = "-" if piped else write("a", joined)
        with pytest.raises(DataError, match="truncated or damaged"):
            list(read(path, format=name, n_features=7 if name == "libsvm" else None))


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("part", [0.3, 0.999])
def test_a_truncated_archive_is_an_error(ending: str, part: float, write: Write) -> None:
    compressed = COMPRESS[ending](ROWS)
    path = write(f"a.svm.{ending}", compressed[: int(len(compressed) * part)])
    for on_error in ("stop", "skip"):
        error = fault(read(path, format="libsvm", n_features=7, index_base=1, on_error=on_error))
        assert str(error).startswith(
            f"{path}: the {ending.replace('zst', 'zstd')} archive must be complete, and it is truncated"
        )


def test_what_needs_pyarrow_says_so(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path, compressed = write("a.csv", "1,2\n"), write("a.svm.zst", zstd(ROWS))
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"CSV needs pyarrow, which is not installed; pip install 'gcwsnet\[data\]'"):
        list(read(path))
    with pytest.raises(ImportError, match="a file compressed with zstd needs pyarrow"):
        read(compressed)
    assert whole(read(write("a.svm.gz", gzip.compress(ROWS)))).n_rows == 20_000


def test_several_files_are_one_stream(write: Write, tmp_path: Path) -> None:
    expected = whole(read(write("whole.svm", ROWS), batch_rows=777))
    folder = tmp_path / "parts"
    folder.mkdir()
    lines = ROWS.splitlines(keepends=True)
    for part in range(4):
        content = b"".join(lines[5000 * part : 5000 * (part + 1)])
        (folder / f"part-{part}.svm").write_bytes(content if part % 2 else gzip.compress(content))
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.svm.crc").write_bytes(b"\x00")
    for sources in (folder, str(folder / "part-*.svm"), [folder / f"part-{part}.svm" for part in range(4)]):
        batches = list(read(sources, batch_rows=777))
        assert [batch.n_rows for batch in batches[:-1]] == [777] * 25
        assert np.array_equal(whole(batches).X, expected.X)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.svm"):
        read(tmp_path / "none.svm")
    with pytest.raises(FileNotFoundError, match=r"must match at least one file, got .*\*\.svm, which matches none"):
        read(str(tmp_path / "*.svm"))
    with pytest.raises(FileNotFoundError, match="a folder must have files to read"):
        read(tmp_path)
    with pytest.raises(ValueError, match="at least one file, got an empty list"):
        read([])


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(write: Write) -> None:
    assert whole(read(str(write("a[1].svm", "1 1:1\n")))).n_rows == 1


def test_mixed_formats_are_an_error(write: Write) -> None:
    a, b = write("a.svm", "1 1:1\n"), write("b.csv", "1,2\n")
    with pytest.raises(DataError, match=r"must have one format, got .*a\.svm as libsvm and .*b\.csv as csv"):
        read([a, b])


@pytest.mark.parametrize(
    ("text", "columns"),
    [("1 1:1 3:2\n", 3), ("# x\n\n+1\n-1 qid:3 1:2\n", 1), ("1,2,3\n4,5,6\n", 3), ("1\t2\n3\t4\n", 2)],
)
def test_a_format_is_detected_by_the_first_lines(text: str, columns: int, write: Write) -> None:
    assert whole(read(write("data.txt", text))).X.shape[1] == columns


def test_a_format_that_cannot_be_detected_must_be_given(write: Write) -> None:
    with pytest.raises(DataError, match="which begins with 'hello'; give format"):
        read(write("a.txt", "hello\n"))
    with pytest.raises(DataError, match="which has no line; give format"):
        read(write("a.txt", ""))
    with pytest.raises(ValueError, match=r"format must be one of 'auto', 'libsvm', .*got format='svm'"):
        read("-", format="svm")


def test_standard_input_is_read_once_from_a_pipe() -> None:
    source = gzip.compress(ROWS)
    done = subprocess.run([sys.executable, "-c", READ_INPUT], input=source, capture_output=True, check=True)
    rows, error = done.stdout.decode().splitlines()
    assert rows == "20000"
    assert error == "standard input can be read only once, and it was read already; save it to a file to reread it"


@pytest.mark.parametrize("compress", [bytes, *COMPRESS.values()])
def test_standard_input_may_be_compressed(compress: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(compress(ROWS))))
    assert whole(read("-", n_features=7)).n_rows == 20_000


def test_a_stream_is_read_once_and_the_second_time_is_an_error(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(ROWS,))
    writer.start()
    batches = read(pipe, n_features=7)
    assert whole(batches).n_rows == 20_000
    writer.join()
    with pytest.raises(ValueError, match="pipe can be read only once, and it was read already; save it to a file"):
        list(batches)


def test_a_stream_that_would_need_a_survey_says_what_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROWS)))
    with pytest.raises(ValueError, match=r"can be read only once.*or give n_features or hash_columns"):
        list(read("-"))


@pytest.mark.parametrize(("first", "base"), [(b"1 0:1\n", 0), (b"1 1:1\n", 1)])
def test_the_head_of_a_stream_decides_its_index_base(first: bytes, base: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(first + ROWS)))
    batches = read("-", n_features=9)
    assert whole(batches).n_rows == 20_001
    assert batches.schema.index_base == base


def test_an_index_0_behind_the_head_of_a_stream_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROWS + b"1 0:1\n")))
    error = fault(read("-", n_features=9))
    assert str(error).startswith("-:20001:3: an index must be at least 1, got '0'; if indices are counted from 0, give")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure the peak memory")
def test_a_file_of_several_gigabytes_with_one_line_is_an_error(tmp_path: Path) -> None:
    """Zeros, which take no disk space, are read with little more memory than the longest line may take."""
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.write(b"1" * (1 << 16))
        file.truncate(5 << 30)
    program = f"""
from gcwsnet.files import DataError, _csv, _sources, read
import pyarrow.csv

_csv.LONGEST_LINE = _sources.LONGEST_LINE = 1 << 24

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before = peak()
for settings in dict(format="libsvm", n_features=3, index_base=0), dict(format="csv", header=False):
    try:
        list(read({str(path)!r}, **settings))
    except DataError as error:
        print(error)
print((peak() - before) >> 10)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    *errors, megabytes = done.stdout.decode().splitlines()
    assert len(errors) == 2
    for error in errors:
        assert error.startswith(
            f"{path}:1: a line must have at most 16777216 bytes, got more; make sure that this is a text"
        )
    assert int(megabytes) < 150


def test_a_line_may_be_as_long_as_the_limit(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "1 " + " ".join(f"{i}:1" for i in range(1, 300_000)) + "\n"
    path = write("a.svm", f"1 1:1\n{line}")
    monkeypatch.setattr("gcwsnet.files._sources.LONGEST_LINE", len(line))
    assert whole(read(path)).X.shape == (2, 299_999)
    monkeypatch.setattr("gcwsnet.files._sources.LONGEST_LINE", 1 << 20)
    assert fault(read(path)).line == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", "a,b\n1,x\n2,y\n"), ("a.svm", "1 1:2\n0 1:3\n"), ("a", "a\tb\n1\tx\n")]
)
def test_text_that_is_not_utf_8_says_how_to_convert_it(name: str, text: str, encoding: str, write: Write) -> None:
    path = write(name, text.encode(encoding))
    with pytest.raises(DataError, match=r"must be UTF-8, without NUL bytes.*iconv -f UTF-16 -t UTF-8"):
        list(read(path, format="auto" if name != "a" else "tsv"))
