"""The theorems of the paper are simulated with the package, and a simulation knows when it agrees with a formula."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gcwsnet import theory
from gcwsnet.kernels import pgmm_kernel
from reproduction import THEOREMS, theorems
from reproduction.rules import MAX_ERRORS
from reproduction.settings import theorem
from reproduction.theorems import errors_off, run_theorem


def worst(name: str) -> float:
    """Return the standard errors by which the worst number of a small simulation is off."""
    panels = run_theorem(theorem(name, size=1))["panels"]
    return max(off for panel in panels for one in panel["curves"] for off in errors_off(one))


@pytest.mark.parametrize("name", THEOREMS)
def test_simulation_and_formula_agree(name: str) -> None:
    """With a fixed seed; each number within five standard errors."""
    assert 0.5 < worst(name) < MAX_ERRORS
    for panel in run_theorem(theorem(name, size=1))["panels"]:
        for one in panel["curves"]:
            assert len(one["x"]) == len(one["simulated"]) == len(one["error"]) == len(one["formula"]) >= 9
            assert np.isfinite([one["x"], one["simulated"], one["error"], one["formula"]]).all()
            assert min(one["error"]) > 0


def doubled(formula: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **named: 2 * formula(*arguments, **named)


WRONG: list[tuple[str, object, str, Callable[..., Any]]] = [
    ("theorem1", theorems, "pgmm_kernel", lambda u, v, p: pgmm_kernel(u, v, p=1.3 * p)),
    ("theorem2", theory, "collision_probability", lambda J, bits: J + 0 * bits),
    ("theorem3", theory, "inner_product_variance", doubled(theory.inner_product_variance)),
    ("theorem4", theory, "count_sketch_variance", doubled(theory.count_sketch_variance)),
    ("theorem5", theory, "rff_variance", doubled(theory.rff_variance)),
    ("theorem5", theory, "nrff_variance", theory.rff_variance),
    ("theorem5", theory, "rbf_kernel", lambda rho, gamma, right=theory.rbf_kernel: right(rho, gamma / 2)),
    ("gmm-limit", theory, "gmm_limit", lambda rho: (1 + rho) / 2),
    ("projections", theory, "inner_product_variance", doubled(theory.inner_product_variance)),
    ("picked", theorems, "_chances", lambda u, p, right=theorems._chances: right(u, 1.3 * p)),
]


@pytest.mark.parametrize(("name", "module", "formula", "wrong"), WRONG)
def test_a_wrong_formula_is_found(
    name: str, module: object, formula: str, wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, formula, wrong)
    assert worst(name) > MAX_ERRORS
