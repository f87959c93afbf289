"""Golden vectors: what must never change within a HASH_VERSION, on any machine."""

import os
import subprocess
import sys

import numpy as np
import pytest

from gcwsnet import HASH_VERSION, GCWSHasher, _core
from gcwsnet.hashing._caps import cap_table, column_caps
from gcwsnet.hashing.parameters import parameters
from gcwsnet.hashing.samplers import binwise, extremal, lowest_points, rejection, trials

GOLDEN_PARAMETERS = {
    "r": [[1073950748, 1057309831], [1068691503, 1081202924], [1073496010, 1068868090]],
    "log_c": [[1063098098, 1065551875], [1067956256, 3204600703], [1060609516, 1064798032]],
    "beta": [[1057223873, 1036350472], [1063782389, 1041057748], [1065297915, 1029235664]],
}
GOLDEN_SAMPLES = {
    0.01: [
        [[6, 8, 6, 2, 2, 1], [3, 3, 3, 3, 3, 3], [-1, -1, -1, -1, -1, -1], [4, 8, 6, 4, 4, 2]],
        [[0, 0, 0, 0, 0, 0], [3, 2, 1, 11, 9, 4], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]],
    ],
    1.0: [
        [[2, 2, 1, 2, 2, 2], [3, 3, 3, 3, 3, 3], [-1, -1, -1, -1, -1, -1], [4, 8, 6, 4, 4, 2]],
        [[3, 12, 1, 2, 2, 2], [221, 286, 125, 1076, 940, 344], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]],
    ],
    80.0: [
        [[2, 2, 2, 2, 2, 2], [3, 3, 3, 3, 3, 3], [-1, -1, -1, -1, -1, -1], [4, 8, 6, 4, 4, 2]],
        [
            [234, 943, 91, 165, 169, 120],
            [17637, 22909, 10014, 86038, 75251, 27519],
            [0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0],
        ],
    ],
}
GOLDEN_CODES = {
    "mixed": [
        [116, 83, 97, 165, 168, 229],
        [29, 161, 178, 206, 53, 189],
        [176, 162, 145, 47, 132, 113],
        [210, 55, 7, 224, 146, 135],
    ],
    "mixed of i*": [
        [26, 149, 158, 245, 211, 135],
        [138, 252, 56, 53, 196, 97],
        [249, 104, 11, 225, 20, 47],
        [210, 55, 7, 224, 146, 135],
    ],
    "mixed and two bits": [
        [27059, 153192, 162717, 250886, 216414, 138286],
        [141593, 258330, 58037, 54840, 201144, 99464],
        [255840, 106684, 11800, 231132, 20724, 48592],
        [215212, 56764, 7276, 230040, 149908, 138284],
    ],
    "lowbits": [[1, 1, 5, 1, 1, 1], [6, 6, 6, 6, 6, 6], [7, 7, 7, 7, 7, 7], [2, 4, 3, 2, 2, 1]],
}
GOLDEN_DIGEST = "65a1b8e9f2389dfd"

X = np.array(
    [
        [-3.0, 17.0, 0.0, 0.5, 1.0],
        [1e-300, -1e300, 5e-324, 2.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 1.0, 1.0],
    ]
)

SAMPLER_ROWS = np.array([[-3.0, 17.0, 0.0, 0.5, 1.0], [1e-300, -8.0, 5e-324, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0]])


def test_version() -> None:
    assert HASH_VERSION == 1


def test_parameters() -> None:
    q = parameters(seed=42, features=[0, 1, 2**32 - 1], hashes=[0, 5])
    bits = {name: getattr(q, name).view(np.uint32).tolist() for name in q._fields}
    assert bits == GOLDEN_PARAMETERS


@pytest.mark.parametrize("p", [0.01, 1.0, 80.0])
@pytest.mark.usefixtures("instruction_set")
def test_samples(p: float) -> None:
    i_star, t_star = GCWSHasher(6, p=p, random_state=42).fit(X).samples(X)
    assert i_star.tolist() == GOLDEN_SAMPLES[p][0]
    assert t_star.tolist() == GOLDEN_SAMPLES[p][1]


@pytest.mark.usefixtures("instruction_set")
def test_codes() -> None:
    codes = {
        "mixed": GCWSHasher(6, random_state=42).fit_transform(X),
        "mixed of i*": GCWSHasher(6, random_state=42, t_bits=0).fit_transform(X),
        "mixed and two bits": GCWSHasher(6, random_state=42, bits=16, t_bits=2).fit_transform(X),
        "lowbits": GCWSHasher(6, random_state=42, bits=3, t_bits=0, encoding="lowbits").fit_transform(X),
    }
    assert {name: found.tolist() for name, found in codes.items()} == GOLDEN_CODES


DIGEST_PROGRAM = """
import hashlib
import numpy as np
from gcwsnet.hashing._hasher import Hasher
i, j = np.meshgrid(np.arange(200), np.arange(300), indexing="ij")
X = ((i * 7919 + j * 104729) % 1009 - 500).astype(np.float64) / 64
X[X > 6] = 0
forms = [X, X.astype(np.float32)]
found = [Hasher(100, p=p, seed=7, n_features=300).codes(Z, 2) for p in (0.5, 20) for Z in forms]
print(hashlib.sha256(b"".join(codes.tobytes() for codes in found)).hexdigest()[:16])
"""


@pytest.mark.parametrize("name", _core.instruction_sets())
def test_another_process_with_any_instruction_set_gives_the_same_codes(name: str) -> None:
    environment = {**os.environ, "GCWSNET_ISA": name, "PYTHONHASHSEED": "123"}
    found = subprocess.run(
        [sys.executable, "-c", DIGEST_PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == GOLDEN_DIGEST


GOLDEN_BINWISE: dict[float, tuple[list[list[int]], list[list[int]]]] = {
    0.5: (
        [[1, 8, 6, 6, 2, 2], [6, 8, 6, 4, 4, 3], [0, 8, 6, 4, 4, 2]],
        [[1, 0, 0, 0, 1, 1], [1, 0, 0, -217, -79, 1], [0, 0, 0, 0, 0, 0]],
    ),
    1.0: (
        [[1, 2, 1, 1, 2, 2], [6, 8, 6, 4, 4, 3], [0, 8, 6, 4, 4, 2]],
        [[1, 12, 1, 1, 2, 2], [1, 0, 0, -433, -157, 1], [0, 0, 0, 0, 0, 0]],
    ),
    80.0: (
        [[1, 2, 1, 1, 2, 2], [6, 3, 6, 4, 4, 3], [0, 8, 6, 4, 4, 2]],
        [[63, 943, 17, 55, 169, 120], [17, 68, 11, -34625, -12565, 83], [0, 0, 0, 0, 0, 0]],
    ),
}


@pytest.mark.parametrize("p", GOLDEN_BINWISE)
def test_samples_of_binwise(p: float) -> None:
    i_star, t_star = binwise(SAMPLER_ROWS, 6, p=p, seed=42)
    assert (i_star.tolist(), t_star.tolist()) == GOLDEN_BINWISE[p]


GOLDEN_EXTREMAL: dict[float, tuple[list[list[int]], list[list[int]]]] = {
    0.5: (
        [[8, 2, 2, 1, 2, 2], [8, 3, 3, 8, 6, 3], [8, 2, 2, 8, 6, 6]],
        [[-64, 6, -64, -64, 7, 9], [-64, 6, 9, -64, -64, -64], [-64, -64, -64, -64, -64, -64]],
    ),
    1.0: (
        [[2, 2, 2, 2, 2, 2], [8, 3, 3, 3, 6, 3], [8, 2, 2, 8, 6, 6]],
        [[8, 6, 7, 9, 6, 9], [-64, 6, 8, 3, -64, -64], [-64, -64, -64, -64, -64, -64]],
    ),
    80.0: (
        [[2, 2, 2, 2, 2, 2], [3, 3, 3, 3, 3, 3], [8, 2, 2, 8, 6, 6]],
        [[1798, 1799, 1797, 1798, 1795, 1798], [1281, 1282, 1280, 1280, 1281, 1282], [-64, -64, -64, -64, -64, -64]],
    ),
}


@pytest.mark.parametrize("p", GOLDEN_EXTREMAL)
def test_samples_of_extremal(p: float) -> None:
    i_star, t_star = extremal(SAMPLER_ROWS, 6, p=p, seed=42)
    assert (i_star.tolist(), t_star.tolist()) == GOLDEN_EXTREMAL[p]


def test_points() -> None:
    y, number = lowest_points(0, [0, 0, 1], np.array([1, -100.5, 7], dtype=np.float32), 3)
    bits = [[f"{each:08x}" for each in row] for row in y.view(np.uint32)]
    assert bits[0] == ["3e0b8731", "3f8aad2e", "4010b363"]
    assert number.tolist() == [[-64, 11, -64], [-896, -827, -822], [0, 0, 1]]


CAPS = column_caps(np.array([[4.0, 20.0, 1.0, 2.0, 2.0], [-4.0, -9.0, 0.0, 0.0, 0.0]]))
GOLDEN_REJECTION: dict[float, tuple[list[list[int]], list[list[int]]]] = {
    0.5: (
        [[1, 2, 1, 8, 1, 2], [6, 8, 8, 8, 8, 3], [4, 4, 8, 8, 8, 2]],
        [[3, 3, 0, 0, 0, 3], [4, 4, 1, 0, 2, 1], [0, 2, 1, 0, 2, 3]],
    ),
    1.0: (
        [[1, 2, 1, 6, 2, 2], [3, 6, 8, 6, 8, 3], [2, 6, 8, 6, 2, 4]],
        [[3, 3, 0, 0, 0, 1], [0, 0, 1, 0, 3, 7], [14, 4, 1, 0, 0, 6]],
    ),
    80.0: (
        [[2, 2, 2, 2, 2, 2], [3, 3, 3, 3, 3, 3], [4, 8, 6, 4, 4, 2]],
        [
            [-7648372, -2776811, -6776961, -4598624, -5800879, -1651410],
            [-3850392, -5895564, -2122718, -4779402, -7971735, -8237875],
            [-1, -1, -1, -1, -1, -1],
        ],
    ),
}


@pytest.mark.parametrize("p", GOLDEN_REJECTION)
def test_samples_of_rejection(p: float) -> None:
    i_star, t_star = rejection(SAMPLER_ROWS, 6, p=p, seed=42, caps=CAPS)
    assert (i_star.tolist(), t_star.tolist()) == GOLDEN_REJECTION[p]


def test_table_and_trials() -> None:
    ends = cap_table(np.array([1, 3, 0, 4, 1e-30, 1e-10]), 0.01).ends
    assert ends.tolist() == [
        2134782044925085440,
        4293146370204632832,
        4293146370204632832,
        6457728861218053376,
        7527654383956839680,
        2**63,
    ]
    feature, log_height = trials(0, [0, 1, 255], [0, 1, 1023], cap_table(np.array([1.0, 3.0, 17.0, 0.0]), 1))
    assert feature.tolist() == [[2, 2, 2], [1, 2, 1], [2, 1, 2]]
    assert [f"{bits:08x}" for bits in log_height[0].view(np.uint32)] == ["bea8efe9", "bf79f8a8", "beb7466a"]
