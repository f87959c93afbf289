"""Files of arrays and a description: their bytes, and rules for what they may hold. Reading runs no code.

A file is safetensors, with JSON and a checksum in the header: a model, the coder of a folder of codes, or an index.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

import gcwsnet
from gcwsnet._atomic import write_file as write_bytes
from gcwsnet._atomic import written_beside
from gcwsnet.hashing.parameters import HASH_VERSION


class Kind(NamedTuple):
    """What a file is, the version of its format, and the way out for a file of another version.

    Under `key` the header has a checksum, a space and the description.
    """

    name: str
    key: str
    version: int
    way_out: str


MODEL = Kind("a model", "gcwsnet", 5, "train again")

MAX_DESCRIPTION_BYTES = 1 << 26

DTYPES = (  # in the order of the format, from small items to large ones
    *("bool", "uint8", "int8", "int16", "uint16", "float16"),
    *("int32", "uint32", "float32", "float64", "int64", "uint64"),
)

TYPE_NAMES = {name: name[0].upper() + name.lstrip("uintfloa") for name in DTYPES} | {"bool": "BOOL"}

Arrays = dict[str, NDArray[Any]]

Description = dict[str, Any]


def write_file(path: Path, arrays: Arrays, description: Description) -> None:
    """Write arrays and a description by way of a file beside `path`, which is replaced at the end or not at all."""
    arrays = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    text = json.dumps(_versions(MODEL) | description, allow_nan=False)
    write_bytes(path, *serialized(arrays, {MODEL.key: f"{digest_of(text, arrays)} {text}"}))


class Parts(NamedTuple):
    """An array that is written part by part, since it need not fit into memory."""

    dtype: Any
    shape: tuple[int, ...]
    parts: Iterable[NDArray[Any]]


def write_parts(path: Path, kind: Kind, arrays: Mapping[str, Parts], description: Description) -> None:
    """Write a file as `write_file` does, whose arrays come part by part; equal content has equal bytes."""
    text = json.dumps(_versions(kind) | description, allow_nan=False, sort_keys=True)
    if len(text) > MAX_DESCRIPTION_BYTES:
        raise ValueError(f"names of columns and metadata must take at most 64 MiB as JSON, got {len(text)} bytes")
    names, header = _header({name: one[:2] for name, one in arrays.items()}, {kind.key: f"{'0' * 64} {text}"})
    with written_beside(path) as file:
        file.write(header)
        for name in names:
            for part in arrays[name].parts:
                for chunk in chunks(part):
                    file.write(np.ascontiguousarray(chunk, np.dtype(arrays[name].dtype).newbyteorder("<")).data)
        file.flush()
        digest = digest_of(text, _arrays_of(file, mapped=True))
        file.seek(header.index(b"0" * 64))
        file.write(digest.encode())


def chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the numbers of an array, 16 MiB at a time."""
    flat, step = array.reshape(-1), (1 << 24) // array.itemsize
    return (flat[start : start + step] for start in range(0, len(flat), step))


def _versions(kind: Kind) -> Description:
    return {"format_version": kind.version, "gcwsnet_version": gcwsnet.__version__, "hash_version": HASH_VERSION}


def serialized(arrays: Arrays, metadata: dict[str, str]) -> list[bytes | memoryview]:
    r"""Return the parts of a safetensors file of contiguous arrays: the same bytes that `safetensors` makes of them.

    A file is the length of its header in 8 bytes, the header in JSON, and the bytes of the arrays, which begin at
    multiples of their item sizes.

    Examples
    --------
    >>> serialized({"x": np.arange(3, dtype=np.uint8)}, {})[-1].tobytes()
    b'\x00\x01\x02'
    """
    names, header = _header({name: (array.dtype, array.shape) for name, array in arrays.items()}, metadata)
    return [header, *(arrays[name].reshape(-1).view(np.uint8).data for name in names)]


def _header(arrays: Mapping[str, tuple[Any, tuple[int, ...]]], metadata: dict[str, str]) -> tuple[list[str], bytes]:
    """Return the names of arrays in the order of a file, by their types and shapes, and what stands before them."""
    types = {name: np.dtype(dtype) for name, (dtype, _) in arrays.items()}
    header: dict[str, Any] = {"__metadata__": metadata}
    names = sorted(arrays, key=lambda name: (-DTYPES.index(types[name].name), name))
    end = 0
    for name in names:
        shape, begin = arrays[name][1], end
        end = begin + math.prod(shape) * types[name].itemsize
        header[name] = {"dtype": TYPE_NAMES[types[name].name], "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return names, len(text).to_bytes(8, "little") + text


def read_file(
    path: Path, kind: Kind = MODEL, *, mapped: bool = False, verify: bool = True
) -> tuple[Arrays, Description]:
    """Read the arrays and the description of a file, and check them by their checksum.

    Arrays that are `mapped` may be larger than memory. Without `verify` nothing of them is read.
    """
    try:
        with safe_open(path, framework="np") as opened:  # which checks the header, and that the file fits it
            metadata = opened.metadata() or {}
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged, cut off or not {kind.name} of gcwsnet: {error}") from error
    if kind.key not in metadata:
        raise ValueError(f"{path} is a safetensors file, but not {kind.name} of gcwsnet: it was not written by save()")
    with path.open("rb") as file:
        arrays = _arrays_of(file, mapped=mapped)
    digest, _, text = metadata[kind.key].partition(" ")
    try:
        description = json.loads(text, parse_constant=_refuse_constant)
        version = description["format_version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: its description cannot be read") from error
    if version != kind.version or description.get("hash_version") != HASH_VERSION:
        raise ValueError(
            f"{path} was written by gcwsnet {description.get('gcwsnet_version')} in format {version} with hash version "
            f"{description.get('hash_version')}; this is gcwsnet {gcwsnet.__version__}, which reads format "
            f"{kind.version} with hash version {HASH_VERSION}: load it with the version that wrote it, or "
            f"{kind.way_out}"
        )
    if verify and digest != digest_of(text, arrays):
        raise ValueError(f"{path} is damaged: its content does not fit its checksum; take another copy")
    return arrays, description


def _arrays_of(file: BinaryIO, *, mapped: bool) -> Arrays:
    """Return the arrays of a safetensors file whose header has been checked.

    `safetensors` panics where there is no memory for an array, and NumPy raises a MemoryError.
    """
    types = {of_file: name for name, of_file in TYPE_NAMES.items()}
    file.seek(0)
    n_bytes = int.from_bytes(file.read(8), "little")
    entries = json.loads(file.read(n_bytes))
    entries.pop("__metadata__", None)
    for name, entry in entries.items():
        if entry["dtype"] not in types:
            raise ValueError(
                f"{file.name} holds the array {name!r:.80} of the type {entry['dtype']}, which no file of gcwsnet has"
            )
    arrays = {}
    for name, entry in entries.items():
        dtype, shape = np.dtype(types[entry["dtype"]]).newbyteorder("<"), tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        if mapped and begin < end:
            arrays[name] = np.memmap(file, dtype, "r", 8 + n_bytes + begin, shape).view(np.ndarray)
        else:
            file.seek(8 + n_bytes + begin)
            arrays[name] = np.fromfile(file, dtype, (end - begin) // dtype.itemsize).reshape(shape)
    return arrays


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def digest_of(text: str, arrays: Arrays) -> str:
    """Return the checksum of a description and of contiguous arrays."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


class Rule(NamedTuple):
    """What an entry of a description, or the numbers of an array, must do; `text` follows the word "must"."""

    text: str
    fits: Callable[[Any], Any]


Rules = Any
"""A Rule; a list with the rules of each item; a tuple with those of a fixed number of items; or a dict with the rules
of named entries, of which "name?" may be left out, and "*" is for all other entries."""


def is_number(value: Any) -> bool:
    """Return whether a value of JSON is a finite number."""
    largest = sys.float_info.max
    return isinstance(value, int | float) and not isinstance(value, bool) and -largest <= value <= largest


def integer(least: int, most: int) -> Rule:
    """Return the rule for a whole number within bounds."""
    return Rule(f"be a whole number from {least} to {most}", lambda one: type(one) is int and least <= one <= most)


def number(least: float, most: float) -> Rule:
    """Return the rule for a number within bounds."""
    return Rule(f"be a number from {least:g} to {most:g}", lambda one: is_number(one) and least <= one <= most)


def choice(*values: Any) -> Rule:
    """Return the rule for one of some values, of the same type: 1 is not True."""
    listed = ", ".join(map(repr, values))
    return Rule(f"be one of {listed}", lambda one: any(type(one) is type(known) and one == known for known in values))


def either(word: str, rule: Rule) -> Rule:
    """Return a rule that one word follows too."""
    text = rule.text.removeprefix("be ")
    return Rule(f"be {word!r} or {text}", lambda one: one == word or rule.fits(one))


def or_null(rule: Rule) -> Rule:
    """Return a rule that null follows too."""
    return Rule(f"{rule.text} or null", lambda one: one is None or rule.fits(one))


def text_like(pattern: str, text: str) -> Rule:
    """Return the rule for a text that a regular expression matches."""
    return Rule(text, lambda one: isinstance(one, str) and re.fullmatch(pattern, one))


ANYTHING = Rule("be anything", lambda _: True)
NUMBER = Rule("be a number", is_number)
TEXT = Rule("be a text", lambda one: isinstance(one, str))
FLAG = choice(True, False)
LIST = Rule("be a list", lambda one: isinstance(one, list))
TEXTS = Rule("be a list of texts", lambda one: isinstance(one, list) and all(map(TEXT.fits, one)))
DISTINCT_TEXTS = Rule("be distinct texts", lambda one: TEXTS.fits(one) and len(set(one)) == len(one))
OBJECT = Rule("be an object with named entries", lambda one: isinstance(one, dict))
PLACE = Rule("be a name, a number or null", lambda one: one is None or type(one) in (str, int))
PLAIN = Rule(
    "be a text, a number, a flag or null", lambda one: one is None or isinstance(one, str | bool) or is_number(one)
)


def require(fits: Any, name: str, rule: str, value: Any) -> None:
    """Raise a ValueError that names an entry, the rule and the value, unless it fits."""
    if not fits:
        raise ValueError(f"{name} must {rule}, got {value!r:.60}")


def check_entries(value: Any, rules: Rules, name: str = "") -> None:
    """Raise a ValueError that names the first entry of what JSON held that does not follow its rule.

    Examples
    --------
    >>> check_entries({"seed": 7, "p": "much"}, {"seed": integer(0, 10), "p": number(0, 1)}, "coder")
    Traceback (most recent call last):
    ValueError: coder.p must be a number from 0 to 1, got 'much'
    """
    if isinstance(rules, Rule):
        require(rules.fits(value), name, rules.text, value)
    elif isinstance(rules, list | tuple):
        require(LIST.fits(value), name, LIST.text, value)
        if isinstance(rules, tuple):
            require(len(value) == len(rules), name, f"have {len(rules)} items", value)
        for place, one in enumerate(value):
            check_entries(one, rules[place] if isinstance(rules, tuple) else rules[0], f"{name}[{place}]")
    else:
        require(OBJECT.fits(value), name or "the description", OBJECT.text, value)
        prefix = f"{name}." if name else ""
        for key, rule in rules.items():
            entry = key.removesuffix("?")
            if entry in value:
                check_entries(value[entry], rule, f"{prefix}{entry}")
            elif key not in ("*", f"{entry}?"):
                raise ValueError(f"{prefix}{key} is missing")
        for key in value.keys() - {key.removesuffix("?") for key in rules}:
            if "*" not in rules:
                raise ValueError(
                    f"{name or 'the description'} has an entry {key!r:.60} that this version does not know"
                )
            check_entries(value[key], rules["*"], f"{prefix}{key}")


class UncheckedArrays:
    """The arrays of a file, each of which is taken once it is what it must be. At the end none may be left."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = dict(arrays)

    def has(self, start: str) -> bool:
        """Return whether there is an array whose name begins like this, and that was not taken yet."""
        return any(name.startswith(start) for name in self._arrays)

    def take(
        self,
        name: str,
        dtypes: str,
        *shape: int | None,
        least: float | None = None,
        above: float | None = None,
        finite: bool = True,
    ) -> NDArray[Any]:
        """Return an array, or raise a ValueError that names it and its rule.

        Parameters
        ----------
        name : str
        dtypes : str
            The types that it may have, with spaces between them.
        shape : int or None
            None is any length.
        least, above : float, optional
            Bounds of its numbers, which are finite unless `finite` is False.
        """
        if name not in self._arrays:
            raise ValueError(f"the array {name} is missing")
        array = self._arrays.pop(name)
        if array.dtype.name not in dtypes.split():
            expected = " or ".join(dtypes.split())
            raise ValueError(f"the array {name} must be of the type {expected}, got {array.dtype.name}")
        if len(array.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
            written = ", ".join("any" if n is None else str(n) for n in shape)
            raise ValueError(f"the array {name} must have the shape ({written}), got {array.shape}")
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"the array {name} must hold finite numbers, and has NaN or infinity")
        require_array(least is None or (array >= least).all(), name, f"hold no number below {least}")
        require_array(above is None or (array > above).all(), name, f"hold numbers above {above}")
        return array

    def finish(self) -> None:
        """Raise a ValueError that names an array that was not taken."""
        for name in sorted(self._arrays):
            raise ValueError(f"the array {name!r:.80} does not belong to these settings")


def require_array(fits: Any, name: str, rule: str) -> None:
    """Raise a ValueError that names an array and the rule for it, unless it fits."""
    if not fits:
        raise ValueError(f"the array {name} must {rule}")
