"""How often samples collide, and how often they should: shared by the tests of the samplers."""

import numpy as np

from gcwsnet import gmm_transform

K = 32_768
GOLDEN_X = np.array([[-3.0, 17.0, 0.0, 0.5, 1.0], [1e-300, -8.0, 5e-324, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0]])
Samples = tuple[np.ndarray, np.ndarray]


def shares(samples: Samples) -> Samples:
    """How often the first row agrees with the others: in (i*, t*) and in i* alone."""
    i, t = samples
    return ((i[1:] == i[0]) & (t[1:] == t[0])).mean(axis=1), (i[1:] == i[0]).mean(axis=1)


def agree(share: np.ndarray, law: np.ndarray, n: int = K) -> bool:
    return bool(np.all(np.abs(share - law) <= 4 * np.sqrt(law * (1 - law) / n)))


def zero_bit_law(X: np.ndarray, p: float, *, of_the_smaller: bool = True) -> np.ndarray:
    """Law (Z) of the specification, of the first row and each other one."""
    W = gmm_transform(X) ** p
    u, v = W[0], W[1:]
    least, most = np.minimum(u, v), np.maximum(u, v)
    total = np.where((u <= v) == of_the_smaller, u.sum(), v.sum(axis=1, keepdims=True))
    law: np.ndarray = (least.sum(axis=1) + ((most - least) * least / total).sum(axis=1)) / most.sum(axis=1)
    return law
