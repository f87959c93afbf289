"""The instruction set of the native core: chosen by the environment when it is loaded, by tests at any time."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gcwsnet import _core

HASH_A_ROW = "import gcwsnet; gcwsnet.GCWSHasher(5).fit_transform([[1.0, 2.0]])"


def run(program: str, name: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GCWSNET_ISA": name}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", _core.instruction_sets())
def test_the_environment_chooses_when_the_core_is_loaded(name: str) -> None:
    assert run("from gcwsnet import _core; print(_core.instruction_set())", name).stdout == f"{name}\n"


def test_a_later_change_of_the_environment_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core does not read the environment while another thread may change it."""
    in_use = _core.instruction_set()
    for name in (*_core.instruction_sets(), "mmx"):
        monkeypatch.setenv("GCWSNET_ISA", name)
        assert _core.instruction_set() == in_use


def test_a_name_that_this_processor_does_not_have() -> None:
    ran = run(HASH_A_ROW, "mmx")
    assert ran.returncode != 0
    assert "ValueError: GCWSNET_ISA must name an instruction set of this processor (" in ran.stderr
    assert "baseline), got GCWSNET_ISA=mmx" in ran.stderr
    with pytest.raises(ValueError, match=r"name must be that of .*baseline\), got name=mmx"):
        _core.use_instruction_set("mmx")


def test_modules_of_the_core_include_only_themselves_the_base_and_the_dispatch() -> None:
    core = Path(__file__).parents[1] / "src" / "cpp"
    for file in core.glob("*/*.?pp"):
        module = file.parent.name
        below = {module, "base"} if module == "base" else {module, "base", "dispatch.hpp"}
        included = re.findall(r'#include "([^"]+)"', file.read_text(encoding="utf-8"))
        assert {name.partition("/")[0] for name in included} <= below, file
