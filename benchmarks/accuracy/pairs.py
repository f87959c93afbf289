"""GCWSNet with each fixed pair of scaling and p, next to its own choice."""

from __future__ import annotations

from benchmarks.accuracy.learners import Learner, gcwsnet_maker

BOTH = [("numeric", 1.0), ("numeric", 0.5), ("numeric", 2.0), (None, 1.0), (None, 5.0), (None, 20.0), (None, 80.0)]
BOTH += [("standard", 1.0), ("minmax", 1.0)]
DENSE = [("quantile", 1.0), ("quantile", 2.0), ("local", 1.0)]
SPARSE = [("tfidf", 1.0), ("tfidf", 0.5), ("unit", 1.0), ("idf", 1.0)]


def fixed_pairs() -> list[Learner]:
    """Return GCWSNet with its own choice, and with each pair; some are for dense or for sparse rows alone."""
    found = [Learner("auto auto", "chosen", gcwsnet_maker(), ("classification",))]
    for pair in [*BOTH, *DENSE, *SPARSE]:
        scale, p = pair
        found.append(
            Learner(
                f"{scale} {p:g}",
                "chosen",
                gcwsnet_maker(scale=scale, p=p),
                ("classification",),
                takes_sparse=pair not in DENSE,
                takes_dense=pair not in SPARSE,
            )
        )
    return found
