"""The rules of the verdicts, written before the runs with the setting of the paper: four classes, words as numbers."""

from __future__ import annotations

from typing import NamedTuple

HOLDS = "holds"
HOLDS_BUT = "holds except for small k and b"
UNTESTED = "cannot be tested here"
CONTRADICTED = "contradicted"
CLASSES = {
    HOLDS: "in the share of the cases that its words ask for",
    HOLDS_BUT: "in that share of the cases that are left without the smallest codes, which are named",
    UNTESTED: "all its cases are on rows that are derived or rebuilt, or not available at all; they are shown without "
    "a verdict",
    CONTRADICTED: "in fewer of the cases",
}
"""The four classes, and when a statement is in one. Only cases on the paper's own rows decide, and simulations."""


class Share(NamedTuple):
    """The share of the cases in which a statement must hold, and the words of the paper that ask for it."""

    words: str
    least: float


ALL = Share("without a reservation", 0.95)
TYPICALLY = Share('"typically"', 0.8)
OFTEN = Share('"often"', 0.5)
SHARES = (ALL, TYPICALLY, OFTEN)


class Small(NamedTuple):
    """Codes that count as small: a name, and the largest k and b of those that are meant; None is any."""

    name: str
    k: int | None
    b: int | None

    def has(self, k: int, b: int) -> bool:
        """Return whether codes of k hashes with b bits are meant."""
        return (self.k is None or k <= self.k) and (self.b is None or b <= self.b)


SMALL = (
    Small("k = 64 with b of 1 and 2", 64, 2),
    Small("k = 64", 64, None),
    Small("b = 1", None, 1),
    Small("k of 64 and 128 with b of 1 and 2", 128, 2),
    Small("b of 1 and 2", None, 2),
    Small("k of 64 and 128", 128, None),
)
"""What may be left out, the least first; the first that is enough is named."""

MUCH = 5.0
SUBSTANTIALLY = 1.0
OBVIOUS = 2.0
DRASTICALLY = 30.0
SIMILAR = 1.0
NOTICEABLE = 0.5
CLOSE = 2.0
CONSISTENT = 3.0
REASONABLE = 80.0
CLOSE_TO_BEST = 95.0
FAILED = 50.0
MAX_ERRORS = 5
WORDS = {
    '"much", "considerably"': f"more than {MUCH:g} points of accuracy",
    '"substantially" better or worse': f"more than {SUBSTANTIALLY:g} point: the paper says so of 91 and 89% (Covtype, "
    "100 epochs)",
    '"much", "substantially faster"': "at most half of the epochs that the other net needs for its last accuracy",
    '"obvious"': f"more than {OBVIOUS:g} points: the paper says so of 56.1 and 54.0% (SEMG, Table 1)",
    '"drastically"': f"more than {DRASTICALLY:g} points",
    '"noticeably", a "further improvement"': f"more than {NOTICEABLE:g} points",
    '"similar", "comparable", "little" gain': f"within {SIMILAR:g} point",
    '"consistent"': f"within {CONSISTENT:g} points",
    "a number of the text": f"within {CLOSE:g} points; that of GCWSNet at most {CLOSE:g} points below, as a better one "
    "does not speak against the paper",
    '"reasonable", "good", "works well", "robust"': f"at least {REASONABLE:g}% of the accuracy that it is compared "
    "with: the paper says so of p = 1 on M-Noise1, which has 84% of the best (Table 1)",
    '"close to the best"': f"at least {CLOSE_TO_BEST:g}% of the best",
    'training "fails"': f"less than {FAILED:g}% of the accuracy that it is compared with",
    "a simulation": f"at most {MAX_ERRORS} standard errors off; by chance one number in two million is off by more",
}
"""What words of the paper mean in numbers, for all statements alike; where the paper has a number, by that number."""
