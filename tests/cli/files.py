"""Files for the commands to work on."""

from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_digits


def digits(n_train: int, n_test: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[: n_train + n_test]
    train, test = order[:n_train], order[n_train:]
    return X[train], y[train], X[test], y[test]


def write_digits(folder: Path, n_train: int = 400, n_test: int = 100) -> None:
    """train.svm, test.svm, digits.csv, parts/*.svm: digits, whose first and last pixels are not always 0."""
    X, y, X_test, y_test = digits(n_train, n_test)
    X[0, 0] = X[0, 63] = 1
    dump_svmlight_file(X, y, str(folder / "train.svm"), zero_based=False)
    dump_svmlight_file(X_test, y_test, str(folder / "test.svm"), zero_based=False)
    names = ["digit", *(f"pixel{i}" for i in range(64))]
    rows = [",".join(names), *(",".join(str(int(v)) for v in (label, *row)) for label, row in zip(y, X, strict=True))]
    (folder / "digits.csv").write_text("\n".join(rows) + "\n")
    (folder / "parts").mkdir(exist_ok=True)
    third = n_train // 3
    for number in range(3):
        rows_of = slice(number * third, (number + 1) * third)
        dump_svmlight_file(X[rows_of], y[rows_of], str(folder / "parts" / f"{number}.svm"), zero_based=False)


def write_clicks(folder: Path, n: int = 500) -> None:
    """clicks.csv: numbers and words, and whether there was a click."""
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "grey"])[rng.integers(0, 4, n)]
    age = rng.normal(40, 10, n)
    clicked = rng.random(n) < np.where(words == "red", 0.9, 0.1)
    lines = ["age,colour,clicked", *(f"{a:.3f},{w},{int(c)}" for a, w, c in zip(age, words, clicked, strict=True))]
    (folder / "clicks.csv").write_text("\n".join(lines) + "\n")


def write_texts(folder: Path) -> None:
    """texts.txt: a text on each line, of which some are nearly the same."""
    words = [f"word{i}" for i in range(40)]
    lines = [" ".join(words[i % 7 + j % 30] for j in range(20 + i % 3)) for i in range(30)]
    (folder / "texts.txt").write_text("\n".join(lines) + "\n")
