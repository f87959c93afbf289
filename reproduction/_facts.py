"""The numbers that the paper gives, each with its place. Accuracies are in percent."""

from __future__ import annotations

from typing import NamedTuple


class Fact(NamedTuple):
    """A number of the paper, and where it stands."""

    value: float
    place: str


class Accuracies(NamedTuple):
    """A line of Table 1; None where the paper has a dash."""

    linear: float
    rbf: float | None
    gmm: float | None
    pgmm: float | None
    p: float | None


TABLE_1 = {
    "semg": Accuracies(19.3, 29.0, 54.0, 56.1, 2),
    "dailysports": Accuracies(77.7, 97.6, 99.6, 99.6, 0.6),
    "m-noise1": Accuracies(60.3, 66.8, 71.4, 85.2, 80),
    "m-image": Accuracies(70.7, 77.8, 80.9, 89.5, 50),
    "pamap101": Accuracies(75.3, None, None, None, None),
    "covtype": Accuracies(71.5, None, None, None, None),
}

SEMG_ORIGINAL_L1 = Fact(20.0, "section 2: less than 20% with L = 1 on the original data")
SEMG_ORIGINAL_L2 = Fact(25.0, "section 2: about 25% with L = 2 on the original data")
COVTYPE_ORIGINAL_1 = Fact(77.0, "section 2: original data, L = 2, H = 200, after 1 epoch")
COVTYPE_ORIGINAL_100 = Fact(89.0, "section 2: original data, L = 2, H = 200, after 100 epochs")
COVTYPE_GCWS_1 = Fact(84.0, "section 2: k = 64, b = 8, L = 2, H = 200, after 1 epoch")
COVTYPE_GCWS_100 = Fact(91.0, "section 2: k = 64, b = 8, L = 2, H = 200, after 100 epochs")
LAST_LAYER_NET = Fact(20.0, "section 6: the net after the first batch")
LAST_LAYER_GCWS = Fact(70.0, "section 6: GCWS on the hidden layer after the first batch")
