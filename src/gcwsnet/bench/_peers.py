"""Who else can hash the rows, and how each is called.

A peer is a whole call from rows to codes on one thread. What it needs is imported when it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from gcwsnet._memory import require_memory
from gcwsnet.bench._measure import Work
from gcwsnet.bench._numpy_peer import NumpyDense, NumpySparse
from gcwsnet.bench._problem import Problem
from gcwsnet.bench._torch_peer import TorchDenseCompiled, TorchDenseEager, TorchSparse

EXTRA = "pip install 'gcwsnet[bench]'"
SAME = 0.99  # of the samples, at least: logarithms and sums of other libraries round otherwise


class Peer(NamedTuple):
    """Another way to hash rows."""

    name: str
    package: str
    evaluations: float  # of a feature by a hash in a call: the slower the fewer
    make: Callable[[Problem, Any], Work | None]  # the call for some rows, or None where it cannot hash such rows


def numpy_peer(problem: Problem, X: Any) -> Work:
    """Algorithm 1 in NumPy."""
    peer = (NumpySparse if problem.is_sparse else NumpyDense)(problem.table, problem.p)
    return lambda: peer(problem.weights(X))


def torch_eager(problem: Problem, X: Any) -> Work:
    """Algorithm 1 in torch, operation by operation."""
    table, p = problem.table, problem.p
    return torch_peer(
        TorchSparse(table, p, compiled=False) if problem.is_sparse else TorchDenseEager(table, p), problem, X
    )


def torch_compiled(problem: Problem, X: Any) -> Work:
    """Algorithm 1 by torch.compile, compiled before it is timed."""
    import_module("torch").compiler.reset()  # a kernel is only compiled so often, and each shape counts
    table, p = problem.table, problem.p
    peer = TorchSparse(table, p, compiled=True) if problem.is_sparse else TorchDenseCompiled(table, p)
    return torch_peer(peer, problem, X)


def torch_peer(peer: TorchSparse | TorchDenseEager | TorchDenseCompiled, problem: Problem, X: Any) -> Work:
    """The call of a torch peer, after a look at its samples."""
    some = problem.weights(X[:32])
    judge = (NumpySparse if problem.is_sparse else NumpyDense)(problem.table, problem.p)
    same = np.mean(peer.i_star(some) == judge.i_star(some))
    if same < SAME:
        raise RuntimeError(f"only {same:.1%} of its samples are those of Algorithm 1")
    return lambda: peer(problem.weights(X))


def datasketch(problem: Problem, X: Any) -> Work | None:
    """Weighted minwise hashing: the same kernel for p = 1."""
    if problem.p != 1:
        return None
    n_features = len(problem.features)
    require_memory(28 * n_features * problem.n_hashes, "its table", "it is left out")
    many = import_module("datasketch").WeightedMinHashGenerator(n_features, problem.n_hashes, seed=0).minhash_many
    return lambda: many(problem.weights(X))


def rbf_sampler(problem: Problem, X: Any) -> Work:
    """Random Fourier features: another kernel, as many numbers."""
    require_memory(16 * X.shape[1] * problem.n_hashes, "its table", "it is left out")
    sampler = RBFSampler(n_components=problem.n_hashes, random_state=0).fit(X[:2])
    return lambda: sampler.transform(X)


def rensa(problem: Problem, X: Any) -> Work | None:
    """Minwise hashing of sets: 0/1 rows, as lists of the numbers of their ones."""
    if not (problem.is_zero_one and problem.is_sparse):
        return None
    os.environ.setdefault("RAYON_NUM_THREADS", "1")  # its threads are made at its first call
    sets = [ones.tolist() for ones in np.split(X.indices, X.indptr[1:-1])]
    digest = import_module("rensa").RMinHash.digest_matrix_from_token_hash_sets
    return lambda: digest(sets, problem.n_hashes, 42)


PEERS = (
    Peer("NumPy", "numpy", 6e7, numpy_peer),
    Peer("torch eager", "torch", 4e7, torch_eager),
    Peer("torch compiled", "torch", 1e8, torch_compiled),
    Peer("datasketch", "datasketch", 4e6, datasketch),
    Peer("RBFSampler", "sklearn", 8e8, rbf_sampler),
    Peer("rensa", "rensa", 1e8, rensa),
)


def installed(peers: Sequence[Peer]) -> tuple[list[Peer], list[str]]:
    """Peers that can be had here, and a line for each package that cannot."""
    missing = {package for package in {peer.package for peer in peers} if not can_import(package)}
    notices = [
        f"{' and '.join(peer.name for peer in peers if peer.package == package)}: {package} is not installed: {EXTRA}"
        for package in sorted(missing)
    ]
    return [peer for peer in peers if peer.package not in missing], notices


def can_import(package: str) -> bool:
    """Whether a package is installed; it is imported if so."""
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def some_rows(peer: Peer, problem: Problem) -> Any:
    """As many rows as the peer gets: whole blocks of 32, or fewer than one.

    Enough for a call to be more than its overhead: datasketch copies its whole table in each.
    """
    evaluations = max(peer.evaluations, len(problem.features) * problem.n_hashes / 10)
    n = int(evaluations / (problem.entries * problem.n_hashes))
    return problem.X[: max(4, n if n < 32 else n // 32 * 32)]
