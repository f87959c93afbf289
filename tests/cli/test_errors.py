"""Errors speak of the options of the command, whatever parameters of Python they are about."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import gcwsnet
from gcwsnet import GCWSHasher, GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.cli._app import COMMANDS
from gcwsnet.cli._options import in_options
from gcwsnet.files import read
from gcwsnet.neighbors import GCWSIndex
from tests.cli.command import fail, run

PACKAGE = Path(gcwsnet.__file__).parent
FOLDERS = ("files", "tables", "hashing", "kernels", "net", "estimators", "neighbors")
PARAMETERS = {
    name
    for source in (read, GCWSHasher, GCWSNetClassifier, GCWSNetRegressor, GCWSIndex)
    for name in inspect.signature(source).parameters
}
OPTIONS = {name: list(inspect.signature(command).parameters) for name, command in COMMANDS.items()}


def texts(path: Path) -> Iterator[str]:
    """All texts of a module but its docstrings, with 7 for what is computed."""
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    left_out |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)


def messages() -> list[str]:
    modules = [path for folder in FOLDERS for path in (PACKAGE / folder).glob("*.py")] + [*PACKAGE.glob("_*.py")]
    return [text for path in modules for text in texts(path) if " " in text and text[0].islower()]


def test_there_are_messages_that_name_parameters() -> None:
    assert len([text for text in messages() if re.search(r"\b(missing|header|categorical)\b", text)]) > 5


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_error_of_a_command_names_a_parameter_of_python(command: str) -> None:
    python = re.compile(rf"(?<![\w'\"/.-])({'|'.join(sorted(PARAMETERS))})=|\bin (categorical|exclude)\b")
    possible = {f"--{name.replace('_', '-')}" for name in OPTIONS[command]} | {"--no-header"}
    for message in messages():
        said = in_options(message if "; " in message else f"it is wrong; {message}", OPTIONS[command])
        assert not python.search(said), said
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", said) if "--" not in message else []:
            assert option in possible, f"{command}: {said}"


@pytest.mark.parametrize(
    ("text", "line", "option"),
    [
        ("a,a,y\n1,2,0\n3,4,1\n", "train rows.csv --label y --out m", "--no-header"),
        ("a,b\n1,0\n3,1\n", "train rows.csv --label y --out m", "as --label"),
        ("a,y\n1,0\n3,1\n", "train rows.csv --label y --exclude id --out m", "as --exclude"),
        ("a,y\n1,0\n3,1\n", "train rows.csv --label y --columns id --out m", "as --columns"),
        ("a,b,y\n1,2,0\n3,4\n5,6,1\n", "train rows.csv --label y --out m", "--on-error skip"),
        ("a,b,y\n1,2,0\n3,x,1\n", "train rows.csv --label y --out m", "--categorical"),
        ("a,b\n1,2\n,4\n", "index rows.csv --out i", "--missing zero"),
        ("a,b\n1,2\n,4\n", "dedup rows.csv --threshold 0.5", "--missing zero"),
        ("1 0:2\n", "kernel rows.svm rows.svm --index-base 1", "--index-base 0"),
        ("1 9:2\n", "train rows.svm --n-features 5 --out m", "--n-features"),
        ("what is this\n", "train rows --out m", "--format libsvm"),
    ],
)
def test_an_error_names_the_option_that_helps(
    text: str, line: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("rows.csv", "rows.svm", "rows"):
        Path(name).write_text(text)
    assert option in fail(*line.split())


def test_an_error_leaves_out_what_the_command_does_not_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows: Any = pd.DataFrame({"a": range(40), "y": [0, 1] * 20})
    rows.to_csv("rows.csv", index=False)
    GCWSNetClassifier(n_hashes=8, hidden=4, search="off", missing="error", random_state=0).fit(
        rows[["a"]], rows["y"]
    ).save("m.safetensors")
    Path("holes.csv").write_text("a\n1\n\n \n")
    result = run("predict", "m.safetensors", "holes.csv")
    assert result.exit_code == 1
    assert "must not be missing" in result.stderr
    assert "missing=" not in result.stderr
    assert "--missing" not in result.stderr
    assert result.stdout == ""  # and no header before the error
