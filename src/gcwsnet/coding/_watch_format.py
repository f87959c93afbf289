"""What a file must hold of the columns of a stream: the version of their preprocessing, and the watch over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet.coding._fields import Arrays, Fields, Shape, array_of, check_csr, refuse_others, require_array
from gcwsnet.coding._scaling import CONSTANT, KINDS_OF_COLUMNS
from gcwsnet.coding._sparse_watch import ENTRIES, TIMES_LARGER, TIMES_SMALLER
from gcwsnet.coding._sparse_watch import NAMES as OF_SPARSE_ROWS
from gcwsnet.coding._version import BLOCK_ROWS, BLOCKS_OF_SHRINKING, NAMES, SETTLED_BLOCKS

MOST = 2**62
LARGEST_SIZE = 4096
"""The sizes of numbers lie between -1075 and 1024; that of a column without entries is a sum of up to three."""


def check_version(arrays: Arrays, coder: Fields) -> None:
    """Raise a ValueError that names the first array of a `ColumnVersion` that does not fit the columns.

    All arrays have a number for each column that is watched: ``version.awake`` 0 or 1, ``version.factor`` and
    ``version.deviation`` numbers above 0, and the others finite numbers.
    """
    n_columns, _ = _watched(arrays, coder)
    coder.integer("version", 0, MOST)
    for name in NAMES:
        if name == "awake":
            _flags(arrays, "version.awake", n_columns)
            continue
        numbers = array_of(arrays, f"version.{name}", "float64", (n_columns,))
        if name in ("factor", "deviation"):
            require_array((numbers > 0).all(), f"version.{name}", "hold numbers above 0")
    refuse_others(arrays, "version.", {f"version.{name}" for name in NAMES})


def check_stream(arrays: Arrays, model: Fields) -> None:
    """Raise a ValueError that names the first entry or array of a stream's state that does not fit the coder.

    - ``grows``: whether labels that are new become classes.
    - ``watch``: the blocks until a version is corrected, and 0 for sparse rows. Without this entry there is no watch.

    The arrays of a watch over D columns of dense rows: ``watch.constant`` and ``watch.unsettled`` (D,), 0 or 1;
    ``watch.value`` (D,); ``watch.learned`` and ``watch.now`` (2, D), medians and interquartile ranges;
    ``watch.latest`` (2 for each of up to 16 blocks, D); ``watch.parts`` (rows of an unfinished block, D);
    ``watch.settling`` (rows of the blocks since the last version, D). Of sparse rows: all attributes of `SparseWatch`
    (D,), and ``watch.data``, ``watch.indices`` and ``watch.indptr`` of an unfinished block.
    """
    stream = Fields(model.content.get("stream", {"grows": True}), f"{model.name}.stream")
    stream.only({"grows"} | stream.content.keys() & {"watch"})
    stream.choice("grows", [True, False])
    if "watch" not in stream.content:
        refuse_others(arrays, "watch.", ())
        return
    n_columns, prefix = _watched(arrays, model.part("coder"))
    kind = arrays.get(f"{prefix}kind")
    stream.require(kind is not None, "watch", "be missing where columns are not scaled one by one")
    constant = _flags(arrays, "watch.constant", n_columns)
    same = constant == (kind == KINDS_OF_COLUMNS.index(CONSTANT))
    require_array(same.all(), "watch.constant", f"mark the constant columns of {prefix}kind")
    check = _check_sparse if "watch.run" in arrays else _check_dense
    refuse_others(arrays, "watch.", {"watch.constant"} | check(arrays, stream, n_columns))


def _watched(arrays: Arrays, coder: Fields) -> tuple[int, str]:
    """Return how many columns are watched, and what the names of the arrays start with that preprocess them."""
    if "numbers" in coder.part("preprocessing").content:
        return int(arrays["preprocessing.numeric"].sum()), "preprocessing.numbers."
    return coder.integer("n_features", 1, MOST), "preprocessing."


def _check_dense(arrays: Arrays, stream: Fields, n_columns: int) -> set[str]:
    """Return the names of the arrays of a `ColumnWatch`, all of which have been checked."""
    to_settle = stream.integer("watch", 0, SETTLED_BLOCKS)
    array_of(arrays, "watch.value", "float64", (n_columns,))
    _flags(arrays, "watch.unsettled", n_columns)
    known = {f"watch.{name}" for name in ("value", "unsettled", "learned", "now")}
    for name in ("watch.learned", "watch.now"):
        _check_ranges(_without_infinity(arrays, name, (2, n_columns)), name)
    followed = (arrays["watch.now"][1] > 0) == (arrays["watch.learned"][1] > 0)
    require_array(followed.all(), "watch.now", "have ranges above 0 where watch.learned has them")
    if 0 < to_settle < SETTLED_BLOCKS:
        _without_infinity(arrays, "watch.settling", (BLOCK_ROWS * (SETTLED_BLOCKS - to_settle), n_columns))
        known.add("watch.settling")
    if "watch.parts" in arrays:
        n_rows = len(_without_infinity(arrays, "watch.parts", (None, n_columns)))
        require_array(1 <= n_rows < BLOCK_ROWS, "watch.parts", f"have from 1 to {BLOCK_ROWS - 1} rows")
        known.add("watch.parts")
    if "watch.latest" in arrays:
        latest = _without_infinity(arrays, "watch.latest", (None, n_columns))
        pairs = len(latest) % 2 == 0 and 2 <= len(latest) <= 2 * BLOCKS_OF_SHRINKING
        require_array(pairs, "watch.latest", f"have two rows for each of 1 to {BLOCKS_OF_SHRINKING} blocks")
        _check_ranges(latest, "watch.latest")
        known.add("watch.latest")
    return known


def _check_sparse(arrays: Arrays, stream: Fields, n_columns: int) -> set[str]:
    """Return the names of the arrays of a `SparseWatch`, all of which have been checked."""
    stream.choice("watch", [0])
    array_of(arrays, "watch.value", "float64", (n_columns,))
    _flags(arrays, "watch.unseen", n_columns)
    for name in ("watch.learned", "watch.now", "watch.before"):
        sizes = array_of(arrays, name, "float64", (n_columns,))
        require_array((np.abs(sizes) <= LARGEST_SIZE).all(), name, f"hold numbers up to {LARGEST_SIZE}")
    count = array_of(arrays, "watch.count", "int64", (n_columns,))
    most = np.where(arrays["watch.constant"], MOST, ENTRIES - 1)  # constant columns are not judged
    sound = ((count >= 0) & (count <= most)).all()
    require_array(sound, "watch.count", f"hold numbers from 0 to {ENTRIES - 1} for columns that are not constant")
    total = array_of(arrays, "watch.total", "float64", (n_columns,))
    sound = (np.abs(total) <= LARGEST_SIZE * count.astype(np.float64)).all()
    require_array(sound, "watch.total", f"hold numbers up to {LARGEST_SIZE} times watch.count")
    run = array_of(arrays, "watch.run", "int64", (n_columns,))
    sound = ((run > -TIMES_SMALLER) & (run < TIMES_LARGER)).all()
    require_array(sound, "watch.run", f"hold numbers from {1 - TIMES_SMALLER} to {TIMES_LARGER - 1}")
    known = {f"watch.{name}" for name in OF_SPARSE_ROWS}
    if "watch.indptr" not in arrays:
        return known
    n_rows = len(array_of(arrays, "watch.indptr", "int64", (None,))) - 1
    require_array(1 <= n_rows < BLOCK_ROWS, "watch.indptr", f"be of 1 to {BLOCK_ROWS - 1} rows")
    names = check_csr(arrays, "watch.", ("float64",), n_rows, n_columns, finite=False)
    _without_infinity(arrays, "watch.data", (None,))
    return known | names


def _flags(arrays: Arrays, name: str, n_columns: int) -> NDArray[np.bool_]:
    flags = array_of(arrays, name, "uint8", (n_columns,))
    require_array((flags <= 1).all(), name, "hold 0 and 1")
    return flags.astype(bool)


def _without_infinity(arrays: Arrays, name: str, shape: Shape) -> NDArray[Any]:
    """Return an array of numbers, of which those that are missing are NaN."""
    numbers = array_of(arrays, name, "float64", shape, finite=False)
    require_array(not np.isinf(numbers).any(), name, "hold finite numbers, or NaN for missing ones")
    return numbers


def _check_ranges(numbers: NDArray[Any], name: str) -> None:
    """Check the interquartile ranges, every other row; one that is NaN has a median that is NaN."""
    medians, ranges = numbers[::2], numbers[1::2]
    require_array(not (ranges < 0).any(), name, "hold no range below 0")
    require_array((np.isnan(medians) == np.isnan(ranges)).all(), name, "hold a median for each range")
