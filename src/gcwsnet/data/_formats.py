"""Which format a file has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from gcwsnet.data._errors import DataError, shown
from gcwsnet.data._inputs import Input

FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npz", "npy")
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
ENDINGS = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".npy": "npy",
}
MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"\x93NUMPY": "npy",
}
LIBSVM_LINE = re.compile(rb"\s*[-+]?[.\d][^\s,:]*(\s+qid:\S+)?(\s+\d+:\S+)+\s*")


def find_format(inputs: Sequence[Input]) -> str:
    """The one format of all inputs: by their first bytes, then by their names, then by their first lines."""
    found = {_format_of(given): given.name for given in reversed(inputs)}
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise DataError(
            f"files that are read together must have one format, got {second} as {other} and {first} as {one}"
        )
    return next(iter(found))


def _format_of(given: Input) -> str:
    head = given.head()
    for magic, name in MAGIC.items():
        if head.startswith(magic):
            return name
    suffixes = [suffix.lower() for suffix in PurePath(given.name).suffixes]
    while suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    if suffixes and suffixes[-1] in ENDINGS:
        return ENDINGS[suffixes[-1]]
    return _format_of_text(head, given.name)


def _format_of_text(head: bytes, path: str) -> str:
    lines = [line for line in (line.split(b"#")[0] for line in head.splitlines()) if line.strip()]
    if any(LIBSVM_LINE.fullmatch(line) for line in lines[:100]):
        return "libsvm"
    if lines and b"\t" in lines[0]:
        return "tsv"
    if lines and b"," in lines[0]:
        return "csv"
    first = f"which begins with {shown(lines[0])}" if lines else "which has no line"
    raise DataError(
        f"a file must end with one of {', '.join(ENDINGS)}, or look like LIBSVM, CSV or TSV; got one {first}; give "
        "format, for example format='libsvm'",
        path=path,
    )
