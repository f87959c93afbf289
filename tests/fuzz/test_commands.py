"""Commands on a disk that fails, and commands that are killed: the result is there whole or not at all."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.commands import allocations, commands, faults, kills, overlaps, prepare
from tests.fuzz.runner import Runner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler and Linux"),
]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    folder = tmp_path_factory.mktemp("commands")
    prepare(folder)
    made = Runner(folder)
    yield made
    made.close()


@pytest.mark.parametrize("name", sorted(commands(Path())))
def test_a_fault_of_the_disk_leaves_what_was_there_and_the_command_can_be_run_again(runner: Runner, name: str) -> None:
    ends = faults(runner, name, Random(7), 5)
    assert ends["error"] + ends["killed"] > 0


@pytest.mark.parametrize(("name", "n"), [("append", 3), ("hash", 3), ("predict", 3), ("export", 20)])
def test_a_command_without_memory_says_so_and_can_be_run_again(runner: Runner, name: str, n: int) -> None:
    """The process of `export` ended where protobuf had no memory for the large constants of a graph."""
    if name == "export":
        pytest.importorskip("onnx")
    assert allocations(runner, name, Random(7), n)["error"] > 0


@pytest.mark.parametrize("name", sorted(commands(Path())))
def test_a_killed_command_can_be_run_again(runner: Runner, name: str) -> None:
    assert kills(runner, name, Random(7), 3)["killed"] > 0


@pytest.mark.parametrize("name", sorted(set(commands(Path())) - {"save"}))
def test_an_output_that_is_an_input_is_refused(runner: Runner, name: str) -> None:
    assert overlaps(runner, name, Random(7), 5)["refused"] == 5
