"""Inputs made of other inputs, by a generator with a seed: bytes, values of JSON, and arrays."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import numpy as np

TOKENS = [
    *(b'"', b"''", b'""', b"\n", b"\r\n", b"\r", b",", b":", b"#", b"\t", b" ", b"\x00", b"\xff", b"\xef\xbb\xbf"),
    *(b"nan", b"NA", b"inf", b"-0", b"1e309", b"1e-400", b"9007199254740993", b"2147483648", b"-1", b"0", b"qid:1"),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, 0.5, -1.0, 1e308, 1e-320),
    *("", "a", "auto", "numeric", "<U9", "../x", "\ud800", [], [[]], {}, [1] * 40, {"a": 1}),
]


def mutated_bytes(random: Random, content: bytes, others: list[bytes]) -> bytes:
    """Return bytes with a few places changed, cut out, doubled, or replaced by pieces of other inputs."""
    made = bytearray(content)
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        at = random.randint(0, len(made))
        end = min(len(made), at + random.choice([1, 1, 2, 4, 16, 200]))
        kind = random.randrange(6)
        if kind == 0 and made:
            at = min(at, len(made) - 1)
            made[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            made[at:at] = random.choice(TOKENS)
        elif kind == 2:
            del made[at:end]
        elif kind == 3:
            made[at:end] = random.choice(TOKENS)
        elif kind == 4:
            made[at:at] = made[at:end] * random.choice([1, 1, 2, 50])
        else:
            other = random.choice(others)
            first = random.randint(0, len(other))
            made[at:end] = other[first : first + random.choice([4, 20, 100])]
    return bytes(made)


def mutated_array(random: Random, array: Any) -> Any:
    """Return an array with another number, two numbers exchanged, another type or another shape."""
    kind = random.randrange(6)
    flat = array.reshape(-1).copy()
    if kind < 2 and len(flat):
        at, other = random.randrange(len(flat)), random.randrange(len(flat))
        odd = [np.nan, np.inf, 0, 1, 200] if array.dtype.kind == "f" else [77, 0, np.iinfo(array.dtype).max]
        flat[at], flat[other] = (random.choice(odd), flat[other]) if kind == 0 else (flat[other], flat[at])
        return flat.reshape(array.shape)
    if kind == 2:
        return np.ascontiguousarray(array[: len(array) // 2])
    if kind == 3:
        with np.errstate(invalid="ignore"):
            return array.astype(random.choice(["float32", "float64", "int8", "int64", "uint8"]))
    if kind == 4:
        return np.ascontiguousarray(array.T)
    return np.concatenate([array, array])


def mutated_json(random: Random, content: Any) -> Any:
    """Return a value of JSON with one to three entries changed, removed, added, or exchanged for another."""
    made = copy.deepcopy(content)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        places = list(_places(made))
        holder, key = random.choice(places)
        kind = random.randrange(5)
        if kind == 0 and isinstance(holder, dict):
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[random.choice(["colour", "", "0", str(key) + "x"])] = random.choice(VALUES)
        elif kind == 2:
            other, at = random.choice(places)
            holder[key] = copy.deepcopy(other[at])
        elif kind == 3 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = holder[key] * random.choice([-1, 0, 2, 1000, 0.5]) + random.choice([-1, 0, 1])
        else:
            holder[key] = copy.deepcopy(random.choice(VALUES))
    return made


def _places(value: Any) -> Any:
    """Yield all entries of all objects and lists, as the container and the key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(items):
        yield value, key
        yield from _places(one)
