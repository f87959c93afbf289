"""The peers: other libraries that can hash the rows, each as a whole call from rows to codes on one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from benchmarks.hashing.cases import NUMPY, Problem
from benchmarks.hashing.numpy_gcws import NumpyGCWS
from benchmarks.hashing.torch_gcws import TorchDenseCompiled, TorchDenseEager, TorchGCWS, TorchSparse
from benchmarks.subject import EXTRA
from benchmarks.timing import Work
from gcwsnet._validation import require_memory

MIN_SHARE = 0.99  # of equal samples: logarithms and sums of other libraries round differently


class Peer(NamedTuple):
    """Another way to hash rows.

    Attributes
    ----------
    name, package : str
        The name in tables, and the package it needs.
    evaluations : float
        How many pairs of a feature and a hash one call evaluates; slower peers get fewer.
    make : callable
        From a problem and some of its rows to the call, or to None where the peer cannot hash such rows.
    """

    name: str
    package: str
    evaluations: float
    make: Callable[[Problem, Any], Work | None]


def numpy_peer(problem: Problem, X: Any) -> Work:
    """Return the call of Algorithm 1 in NumPy."""
    peer = NumpyGCWS(problem.table, problem.p)
    return lambda: peer(problem.weights(X))


def torch_eager(problem: Problem, X: Any) -> Work:
    """Return the call of Algorithm 1 in torch, operation by operation."""
    table, p = problem.table, problem.p
    return torch_peer(
        TorchSparse(table, p, compiled=False) if problem.is_sparse else TorchDenseEager(table, p), problem, X
    )


def torch_compiled(problem: Problem, X: Any) -> Work:
    """Return the call of Algorithm 1 by torch.compile, which is compiled before it is timed."""
    import_module("torch").compiler.reset()  # torch limits how often a kernel is compiled, and each shape counts
    table, p = problem.table, problem.p
    peer = TorchSparse(table, p, compiled=True) if problem.is_sparse else TorchDenseCompiled(table, p)
    return torch_peer(peer, problem, X)


def torch_peer(peer: TorchGCWS, problem: Problem, X: Any) -> Work:
    """Return the call of a torch peer, after its samples have been compared with those of NumPy."""
    some = problem.weights(X[:32])
    share = np.mean(peer.i_star(some) == NumpyGCWS(problem.table, problem.p).i_star(some))
    if share < MIN_SHARE:
        raise RuntimeError(f"only {share:.1%} of its samples are those of Algorithm 1")
    return lambda: peer(problem.weights(X))


def datasketch(problem: Problem, X: Any) -> Work | None:
    """Return the call of weighted minwise hashing, which is the same kernel for p = 1."""
    if problem.p != 1:
        return None
    n_features = len(problem.features)
    require_memory(28 * n_features * problem.n_hashes, "its table", "it is left out")
    many = import_module("datasketch").WeightedMinHashGenerator(n_features, problem.n_hashes, seed=0).minhash_many
    return lambda: many(problem.weights(X))


def rbf_sampler(problem: Problem, X: Any) -> Work:
    """Return the call of random Fourier features: another kernel, with as many components."""
    require_memory(16 * X.shape[1] * problem.n_hashes, "its table", "it is left out")
    sampler = RBFSampler(n_components=problem.n_hashes, random_state=0).fit(X[:2])
    return lambda: sampler.transform(X)


def rensa(problem: Problem, X: Any) -> Work | None:
    """Return the call of minwise hashing of sets: 0/1 rows, as lists of the columns of their ones."""
    if not (problem.is_zero_one and problem.is_sparse):
        return None
    os.environ.setdefault("RAYON_NUM_THREADS", "1")  # read at its first call
    sets = [ones.tolist() for ones in np.split(X.indices, X.indptr[1:-1])]
    digest = import_module("rensa").RMinHash.digest_matrix_from_token_hash_sets
    return lambda: digest(sets, problem.n_hashes, 42)


PEERS = (
    Peer(NUMPY, "numpy", 6e7, numpy_peer),
    Peer("torch eager", "torch", 4e7, torch_eager),
    Peer("torch compiled", "torch", 1e8, torch_compiled),
    Peer("datasketch", "datasketch", 4e6, datasketch),
    Peer("RBFSampler", "sklearn", 8e8, rbf_sampler),
    Peer("rensa", "rensa", 1e8, rensa),
)


def installed(peers: Sequence[Peer]) -> tuple[list[Peer], list[str]]:
    """Return the peers whose package is installed, and a notice for each missing package."""
    missing = {package for package in {peer.package for peer in peers} if not can_import(package)}
    notices = [
        f"{' and '.join(peer.name for peer in peers if peer.package == package)}: {package} is not installed: {EXTRA}"
        for package in sorted(missing)
    ]
    return [peer for peer in peers if peer.package not in missing], notices


def can_import(package: str) -> bool:
    """Import a package, and return whether it is installed."""
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def some_rows(peer: Peer, problem: Problem) -> Any:
    """Return the rows that a peer gets in a call: whole blocks of 32, or less than one block.

    They are enough for the work to outweigh the overhead: datasketch copies its whole table in each call.
    """
    evaluations = max(peer.evaluations, len(problem.features) * problem.n_hashes / 10)
    n = int(evaluations / (problem.entries * problem.n_hashes))
    return problem.X[: max(4, n if n < 32 else n // 32 * 32)]
