"""What the campaign has found stays found, and each target stands some new inputs."""

from pathlib import Path
from random import Random

import pytest

from tests.fuzz.targets import TARGETS

INPUTS = sorted((Path(__file__).parent / "inputs").glob("*/*"))


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_an_input_that_was_a_finding(path: Path) -> None:
    TARGETS[path.parent.name].check(path.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_some_inputs_with_a_fixed_seed(name: str) -> None:
    target = TARGETS[name]
    for number in range({"graph": 3, "partitions": 2}.get(name, 30)):
        target.check(target.make(Random(f"{name} tests {number}")))
