"""The peers compute Algorithm 1: with the parameters of the hasher they give the samples of the reference."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.hashing import peers, torch_gcws
from benchmarks.hashing.cases import Problem
from benchmarks.hashing.numpy_gcws import NumpyGCWS, make_table
from benchmarks.hashing.peers import PEERS, Peer
from gcwsnet.hashing.parameters import parameters
from gcwsnet.hashing.reference import gcws
from gcwsnet.kernels import gmm_transform

N_HASHES = 40
MIN_SHARE = 0.999  # of equal samples: a logarithm of NumPy or torch may round differently than the hasher's
DRAW = partial(parameters, 0)


@pytest.fixture
def torch() -> Iterator[Any]:
    """The module torch, where it is installed; tests of it run on one thread."""
    module = pytest.importorskip("torch")
    threads = module.get_num_threads()
    module.set_num_threads(1)
    yield module
    module.set_num_threads(threads)


def rows(n_columns: int, signed: bool = False) -> NDArray[np.float32]:
    """Rows of which half of the entries are zero, but none is all zero."""
    rng = np.random.default_rng(n_columns)
    X = rng.lognormal(sigma=2, size=(37, n_columns)) * (rng.random((37, n_columns)) < 0.5)
    X[:, 1] = 1
    return np.asarray(X * rng.choice([-1, 1], X.shape) if signed else X, dtype=np.float32)


def share_of_equal_samples(make: Any, X: Any, p: float) -> float:
    """Return the share of samples that are those of the reference, and check that the codes are made of them."""
    n_columns = X.shape[1]
    peer = make(make_table(X, range(0, 2 * n_columns, 2), N_HASHES, DRAW), p)
    i_star = peer.i_star(X)
    assert np.array_equal(peer(X), i_star & 255)
    samples, _ = gcws(X.toarray() if sparse.issparse(X) else X, N_HASHES, p=p)
    return float(np.mean(2 * i_star == samples))


@pytest.mark.parametrize("n_columns", [3, 70, 400])
@pytest.mark.parametrize("p", [1, 20])
def test_numpy_gives_the_samples_of_the_reference(n_columns: int, p: float) -> None:
    X = rows(n_columns)
    assert share_of_equal_samples(NumpyGCWS, X, p) >= MIN_SHARE
    assert share_of_equal_samples(NumpyGCWS, sparse.csr_matrix(X), p) >= MIN_SHARE


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("n_columns", [3, 70, 400])
@pytest.mark.parametrize("p", [1, 20])
def test_eager_torch_gives_the_samples_of_the_reference(n_columns: int, p: float) -> None:
    X = rows(n_columns)
    assert share_of_equal_samples(torch_gcws.TorchDenseEager, X, p) >= MIN_SHARE
    eager = partial(torch_gcws.TorchSparse, compiled=False)
    assert share_of_equal_samples(eager, sparse.csr_matrix(X), p) >= MIN_SHARE


def test_signed_rows_are_given_as_their_weights() -> None:
    X = rows(20, signed=True)
    problem = Problem(X, 1, N_HASHES)
    assert problem.is_signed
    assert problem.features == range(40)
    numpy_gcws = NumpyGCWS(make_table(X, problem.features, N_HASHES, DRAW), 1)
    samples, _ = gcws(X, N_HASHES)
    assert np.mean(numpy_gcws.i_star(problem.weights(X)) == samples) >= MIN_SHARE
    assert np.array_equal(problem.weights(X), gmm_transform(X))


def peer(name: str) -> Peer:
    return next(one for one in PEERS if one.name == name)


def test_a_peer_with_other_samples_is_not_timed() -> None:
    problem = Problem(rows(20), 1, N_HASHES)

    class Wrong(torch_gcws.TorchDenseEager):
        def __init__(self) -> None:
            pass

        def i_star(self, X: Any) -> NDArray[np.int64]:
            return np.zeros((len(X), N_HASHES), dtype=np.int64)

    with pytest.raises(RuntimeError, match="of its samples are those of Algorithm 1"):
        peers.torch_peer(Wrong(), problem, problem.X)
