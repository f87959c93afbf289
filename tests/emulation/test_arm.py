"""What the tests on ARM say where the tools for them are missing."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.emulation.arm import TOOLS, main, missing_tools


def test_what_is_missing_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["tests.emulation.arm", "--folder", str(tmp_path / "arm")])
    assert main() == 1
    said = capsys.readouterr().err
    assert all(program in said for program in TOOLS)
    assert "apt-get install g++-aarch64-linux-gnu qemu-user" in said
    assert not (tmp_path / "arm").exists()


def test_nothing_is_missing_where_all_tools_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(program: str) -> str:
        return f"/usr/bin/{program}"

    def exists(_: Any) -> bool:
        return True

    monkeypatch.setattr(shutil, "which", found)
    monkeypatch.setattr(Path, "exists", exists)
    assert missing_tools() is None
