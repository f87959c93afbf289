"""Near neighbours under the pGMM kernel: an index of codes, which is searched, merged and saved."""

from gcwsnet.neighbors._index import Deduplicator, Duplicates, GCWSIndex, Matches, Neighbors, Pairs
from gcwsnet.neighbors._index_settings import Bands, band_recall

__all__ = ["Bands", "Deduplicator", "Duplicates", "GCWSIndex", "Matches", "Neighbors", "Pairs", "band_recall"]
