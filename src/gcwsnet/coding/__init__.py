"""How a row becomes codes: preprocessing, p and the hasher, fitted once and kept in one immutable `Coder`."""

from gcwsnet.coding._candidates import Candidate
from gcwsnet.coding._coder import Coder, CoderSettings, fit_coder

__all__ = ["Candidate", "Coder", "CoderSettings", "fit_coder"]
