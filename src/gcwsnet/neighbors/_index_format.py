"""What the files of an index must hold. They may come from a stranger, and are checked before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet._validation import MOST_COLUMNS
from gcwsnet.coding._fields import Fields, require_array
from gcwsnet.neighbors._settings import IndexSettings

TYPES = {
    "codes": ("|u1", "<u2", "<u4"),
    "bucket-keys": ("<u4",),
    "bucket-rows": ("<u4",),
    "ids": ("<i8",),
    "id-texts": ("|u1",),
    "id-ends": ("<i8",),
    "rows": ("<f4", "<f8"),
    "row-values": ("<f4", "<f8"),
    "row-columns": ("<i4", "<i8"),
    "row-starts": ("<i4", "<i8"),
}
"""The arrays of an index and their types."""
MATRICES = ("codes", "bucket-keys", "bucket-rows", "rows")
BITS_OF_A_BYTE = 8
CHUNK = 1 << 22

Arrays = Mapping[str, NDArray[Any]]


def check_manifest(manifest: dict[str, Any]) -> None:
    """Raise a ValueError that names the first entry of a manifest that does not fit the others.

    - ``settings``: those of `IndexSettings`, which checks their values itself.
    - ``arrays``: for each array its ``file``, its ``dtype``, its ``shape`` and its ``sha256``.
    - ``rows``: null, or ``csr`` and ``columns`` of the rows that are kept.
    - ``n_features``: null, or the columns of a row; ``feature_names``: null, or their names.
    - ``metadata``: an object with anything in it.
    """
    index = Fields(manifest, "index")
    arrays = index.part("arrays")
    for name in arrays.content:
        arrays.require(name in TYPES, name, f"be one of the arrays {', '.join(TYPES)}")
        one = arrays.part(name)
        one.text("file")
        one.text("sha256")
        one.choice("dtype", TYPES[name])
        n_axes = 2 if name in MATRICES else 1
        sizes = one.items("shape")
        sound = len(sizes) == n_axes and all(type(size) is int and 0 <= size < 2**48 for size in sizes)
        one.require(sound, "shape", f"be {n_axes} numbers from 0 to 2**48")
    _check_settings(index.part("settings"), arrays.part("codes"))
    n_features = None if index.get("n_features") is None else index.integer("n_features", 1, MOST_COLUMNS)
    if index.get("feature_names") is not None:
        names = index.items("feature_names")
        index.require(all(isinstance(one, str) for one in names), "feature_names", "be texts")
        index.require(len(names) == n_features, "feature_names", f"be {n_features} names, one for each column")
    if index.get("rows") is not None:
        kept = index.part("rows")
        kept.choice("csr", [True, False])
        columns = kept.integer("columns", 1, MOST_COLUMNS)
        kept.require(n_features in (None, columns), "columns", f"be n_features={n_features}")
    index.part("metadata")


def _check_settings(settings: Fields, codes: Fields) -> None:
    """Check settings, and that there are not more hashes than bits of codes: the bands are searched for among them."""
    bits = codes.items("shape")[1] * np.dtype(codes.text("dtype")).itemsize * BITS_OF_A_BYTE
    settings.integer("n_hashes", 1, max(1, bits))
    settings.integer("seed", 0, 2**64 - 1)
    content = {"sets": False} | settings.content  # which format 1 does not have
    try:
        parameters = content | {"random_state": content.pop("seed"), "fetch_rows": None, "method": "auto"}
        IndexSettings.checked(parameters)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{settings.name}: {error}") from error


def check_content(arrays: Arrays, n_columns: int | None) -> None:
    """Raise a ValueError that names the first array whose numbers point at what is not there.

    It reads all of them, in parts.

    Parameters
    ----------
    arrays : dict of arrays
    n_columns : int or None
        The columns of rows that are kept.
    """
    n = len(arrays["codes"])
    if "bucket-rows" in arrays:
        for band in arrays["bucket-rows"]:
            require_array(_within(band, 0, n), "bucket-rows", f"hold rows below {n}")
    if "id-ends" in arrays:
        _check_starts(arrays["id-ends"], "id-ends", len(arrays["id-texts"]))
    for name in ("rows", "row-values"):
        for part in _parts(arrays[name]) if name in arrays else ():
            require_array(np.isfinite(part).all(), name, "hold finite numbers")
    if "row-starts" in arrays and n_columns is not None:
        starts, columns = arrays["row-starts"], arrays["row-columns"]
        require_array(len(columns) == len(arrays["row-values"]), "row-columns", "be as long as row-values")
        _check_starts(starts, "row-starts", len(columns))
        require_array(_within(columns, 0, n_columns), "row-columns", f"hold columns below {n_columns}")
        first = np.zeros(len(columns) + 1, dtype=bool)
        first[starts] = True
        for at in range(0, len(columns) - 1, CHUNK):
            here = columns[at : at + CHUNK + 1]
            rises = (here[1:] > here[:-1]) | first[at + 1 : at + len(here)]
            require_array(rises.all(), "row-columns", "hold the columns of each row in ascending order")


def _check_starts(starts: NDArray[Any], name: str, end: int) -> None:
    sound = len(starts) >= 1 and starts[0] == 0 and starts[-1] == end and bool((starts[1:] >= starts[:-1]).all())
    require_array(sound, name, f"rise from 0 to {end}")


def _within(numbers: NDArray[Any], least: int, end: int) -> bool:
    return all(least <= int(part.min()) and int(part.max()) < end for part in _parts(numbers))


def _parts(array: NDArray[Any]) -> Any:
    step = max(1, CHUNK // max(1, int(np.prod(array.shape[1:]))))
    return (array[at : at + step] for at in range(0, len(array), step) if array.size)
