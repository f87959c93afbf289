"""Grids that figures of the paper have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproduction.charts import BY_K, ORIGINAL, Chart, over_epochs
from reproduction.results import Results
from reproduction.settings import Settings, gcws, original

K = (64, 128, 256, 512)
B = (1, 2, 4, 8)
Net = tuple[int, int]
"""L, and H."""

NETS: tuple[Net, ...] = ((1, 0), (2, 200), (3, 200))


def net_shown(net: Net) -> str:
    """A net in the words of the paper."""
    L, H = net
    return "L = 1" if L == 1 else f"L = {L}, H = {H}"


def nets_on_hashes(
    dataset: str, *, p: float, epochs: int, k: Sequence[int] = K, b: Sequence[int] = B, nets: Sequence[Net] = NETS
) -> list[Settings]:
    """GCWSNet with all k, b and nets, and each net on the original data."""
    return [original(dataset, L=L, H=H, epochs=epochs) for L, H in nets] + [
        gcws(dataset, k=some_k, b=some_b, L=L, H=H, p=p, epochs=epochs) for L, H in nets for some_b in b for some_k in k
    ]


def curves(
    results: Results, dataset: str, *, p: float, epochs: int, panels: Sequence[tuple[int, Net]], title: str
) -> Iterator[Chart]:
    """A chart of accuracy over epochs for each b and net: a line for each k, and a dashed one for the original data."""
    for b, (L, H) in panels:
        runs = [(f"k = {k}", gcws(dataset, k=k, b=b, L=L, H=H, p=p, epochs=epochs), BY_K[k]) for k in K]
        ours = over_epochs(results, runs)
        theirs = over_epochs(results, [("original data", original(dataset, L=L, H=H, epochs=epochs), ORIGINAL)])
        yield Chart(f"{title}: b = {b}, {net_shown((L, H))}", (*ours, *theirs) if ours else ())
