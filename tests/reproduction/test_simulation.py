"""When a simulation agrees with a formula, and how it is stored."""

import json
import math

import pytest

from reproduction._simulation import Panel, Simulation, curve

EXACT = curve("exact", [1, 2], [0.5, 0.25], [0, 0], [0.5, 0.25])


def simulation(*curves: object) -> Simulation:
    panel = Panel("title", "x", "y", curves, log=True)  # type: ignore[arg-type]
    return Simulation("name", "what it says", (panel,), {"random_state": 3})


@pytest.mark.parametrize(
    ("simulated", "off", "agrees"),
    [([1.0, 2.0], 0, True), ([1.0, 2.4], 4, True), ([0.49, 2.0], 5.1, False), ([1.0, 1.4], 6, False)],
)
def test_five_standard_errors_are_allowed(simulated: list[float], off: float, agrees: bool) -> None:
    found = simulation(EXACT, curve("some", [0, 1], simulated, [0.1, 0.1], [1.0, 2.0]))
    assert found.errors_off == pytest.approx(off)
    assert found.agrees is agrees


def test_what_has_no_error_may_not_be_off() -> None:
    assert simulation(EXACT).errors_off == 0
    found = simulation(curve("some", [0], [0.51], [0.0], [0.5]))
    assert math.isinf(found.errors_off)
    assert not found.agrees
    assert json.loads(found.as_json())["errors_off"] is None


def test_json_brings_the_same_back() -> None:
    found = simulation(EXACT, curve("some", [1 / 3], [2 / 3], [1e-300], [2 / 3]))
    assert Simulation.from_json(found.as_json()) == found
