"""How fast rows are hashed, next to other libraries: what ``gcwsnet bench`` measures."""

from __future__ import annotations

from gcwsnet.bench._cases import CASES, Case, growing
from gcwsnet.bench._hashing import measure
from gcwsnet.bench._plot import check_picture, draw
from gcwsnet.bench._report import Report

__all__ = ["CASES", "Case", "Report", "check_picture", "draw", "growing", "measure"]
