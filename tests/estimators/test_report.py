"""The report of a model is one page that loads nothing, says what is true of the held-out rows, and looks right."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import log_loss, roc_auc_score

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, PGMMRegressor
from gcwsnet.estimators import _importances
from gcwsnet.estimators._importances import importances_of
from gcwsnet.estimators._input import as_frame, check_rows
from tests.browser import found_by

SMALL: dict[str, Any] = {"n_hashes": 16, "hidden": (4,), "epochs": 3, "search": "off", "random_state": 0}
LOOK = """<body><script>
const page = %s, found = [], frames = [1100, 390].map(width => {
  const frame = document.createElement("iframe");
  Object.assign(frame, {width, height: 900, srcdoc: page});
  document.body.append(frame);
  return frame;
});
addEventListener("load", () => {
  for (const frame of frames) {
    const inner = frame.contentDocument, root = inner.documentElement;
    const sticks_out = one => {
      const [a, b] = [one.getBoundingClientRect(), one.closest("svg, .cards div, figure").getBoundingClientRect()];
      return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
    };
    const size = one => one.getBoundingClientRect();
    found.push({width: root.scrollWidth, frame: frame.contentWindow.innerWidth,
      loaded: frame.contentWindow.performance.getEntriesByType("resource").length,
      out: [...inner.querySelectorAll("svg *, .cards b")].filter(sticks_out).map(one => one.outerHTML.slice(0, 90)),
      pictures: [...inner.querySelectorAll("svg")].map(one => [size(one).width > 250, size(one).height > 200]),
      cut: [...inner.querySelectorAll(".confusion")].filter(
        one => size(one).width > one.parentElement.clientWidth + 1).length,
      bars: [...inner.querySelectorAll(".bar")].map(one => size(one).width)});
  }
  const pre = document.createElement("pre");
  pre.textContent = JSON.stringify(found);
  document.body.replaceChildren(pre);
});
</script></body>"""


def table(n: int = 300) -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a<b": rng.normal(size=n), "city": rng.choice(["Oslo", "Rome"], n), "noise": rng.normal(size=n)})
    number = X["a<b"] * 10 + (X["city"] == "Rome") * 5
    X.loc[::50, "noise"] = np.nan
    return X, np.where(number > 2, "yes & more", "no"), number.to_numpy()


def written(model: Any, X: Any, y: Any, folder: Path, **more: Any) -> str:
    model.write_report(folder / "report.html", X, y, **more)
    return (folder / "report.html").read_text()


def scores(page: str) -> dict[str, str]:
    return dict(re.findall(r"<div><span>(.*?)</span><b>([^ <]*)", page))


@pytest.mark.parametrize("kind", [GCWSNetClassifier, PGMMClassifier])
def test_the_scores_are_those_of_the_held_out_rows(kind: Any, tmp_path: Path) -> None:
    X, y, _ = table()
    model = kind(**SMALL if kind is GCWSNetClassifier else {"p": 1.0, "random_state": 0}).fit(X[:200], y[:200])
    found = scores(written(model, X[200:], y[200:], tmp_path))
    probabilities = model.predict_proba(X[200:])
    assert found == {
        "accuracy": f"{model.score(X[200:], y[200:]):.3f}",
        "log loss": f"{log_loss(y[200:], probabilities):.3f}",
        "AUC": f"{roc_auc_score(y[200:] == 'yes & more', probabilities[:, 1]):.3f}",
    }


@pytest.mark.parametrize("kind", [GCWSNetRegressor, PGMMRegressor])
def test_the_errors_are_those_of_the_held_out_rows(kind: Any, tmp_path: Path) -> None:
    X, _, y = table()
    model = kind(**SMALL if kind is GCWSNetRegressor else {"p": 1.0, "random_state": 0}).fit(X[:200], y[:200])
    found = scores(written(model, X[200:], y[200:], tmp_path))
    errors = model.predict(X[200:]) - y[200:]
    assert found["R2"] == f"{model.score(X[200:], y[200:]):.3f}"
    assert found["mean error"] == f"{np.abs(errors).mean():.3f}"
    assert found["root mean square error"] == f"{np.sqrt((errors**2).mean()):.3f}"


def test_names_stay_text_and_columns_come_in_the_order_of_their_importance(tmp_path: Path) -> None:
    X, y, _ = table()
    model = GCWSNetClassifier(**SMALL | {"epochs": 20}).fit(X[:200], y[:200])
    page = written(model, X[200:], y[200:], tmp_path, title="<b>Mine</b>")
    assert "<h1>&lt;b&gt;Mine&lt;/b&gt;</h1>" in page
    assert "yes &amp; more" in page
    rows = re.findall(r'<tr class=""><th>(a&lt;b|city|noise)</th>.*?<td>(\d*)</td><td>([^<]*)</td></tr>', page)
    assert [row[0] for row in rows] == ["a&lt;b", "city", "noise"]
    assert rows[2][1] == "2"  # missing values
    assert rows[1][2] == ", ".join(f"{city} ({n})" for city, n in X[200:]["city"].value_counts().items())
    assert not re.search(r"https?:|<script|<link|<img|url\(", page)


def test_a_browser_shows_it_on_a_desktop_and_on_a_phone(tmp_path: Path) -> None:
    X, y, number = table()
    tenths = np.digitize(number, np.quantile(number, np.linspace(0.1, 0.9, 9)))
    given = ((GCWSNetClassifier, y, 2), (GCWSNetClassifier, tenths, 2), (GCWSNetRegressor, number, 2))
    for kind, target, n_pictures in given:
        page = written(kind(**SMALL).fit(X[:200], target[:200]), X[200:], target[200:], tmp_path)
        for seen in found_by(LOOK % json.dumps(page).replace("</", "<\\/"), tmp_path):
            assert seen["width"] <= seen["frame"]
            assert (seen["loaded"], seen["out"], seen["cut"]) == (0, [], 0)
            assert seen["pictures"] == [[True, True]] * n_pictures
            assert seen["bars"] == sorted(seen["bars"], reverse=True)
            assert seen["bars"][0] > 20


@pytest.mark.filterwarnings("ignore:all rows have the label")
@pytest.mark.parametrize("n_classes", [1, 3, 15])
def test_any_number_of_classes_has_a_page(n_classes: int, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = np.digitize(X[:, 0], np.linspace(-1, 1, n_classes - 1)) if n_classes > 1 else np.zeros(300, int)
    page = written(GCWSNetClassifier(**SMALL).fit(X, y), X[:100], y[:100], tmp_path)
    assert ("ROC curve" in page, "Confusion matrix" in page) == (n_classes > 1, n_classes <= 12)


def test_few_rows_and_equal_numbers_have_a_page(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = GCWSNetRegressor(**SMALL).fit(X, X[:, 0])
    assert scores(written(model, X[:1], X[:1, 0], tmp_path))["R2"] == "undefined"
    assert scores(written(model, X, np.full(40, 2.0), tmp_path))["R2"] == "undefined"


def test_several_labels_of_a_row_have_no_page(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = GCWSNetRegressor(**SMALL).fit(X, X[:, :2])
    with pytest.raises(ValueError, match="one label or one number in each row"):
        model.write_report(tmp_path / "report.html", X, X[:, :2])


@pytest.mark.parametrize("is_sparse", [False, True])
def test_importances_of_many_columns_find_those_that_tell_at_a_bounded_cost(
    is_sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = (1 + rng.random((400, 300))) * (rng.random((400, 300)) < 0.3)
    y = (X[:, 7] + X[:, 200] > 0).astype(int)
    rows: Any = sparse.csr_array(X) if is_sparse else X
    model = GCWSNetClassifier(**SMALL | {"n_hashes": 256, "scale": None}).fit(rows[:300], y[:300])
    predictor = model._predictor()
    predicted: list[int] = []
    outputs = predictor.outputs_of_checked

    def counted(X: Any) -> Any:
        predicted.append(X.shape[0])
        return outputs(X)

    monkeypatch.setattr(predictor, "outputs_of_checked", counted)
    found = importances_of(predictor, rows[300:], y[300:])
    assert len(found) == _importances.MAX_COLUMNS
    assert {one.column for one in found[:2]} == {"7", "200"}
    assert sum(predicted) <= 100 * (1 + 3 * 50)


def test_columns_that_are_hashed_together_have_one_importance() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 300, (800, 2)).astype(str)
    X = pd.DataFrame({"word": words[:, 0], "other": words[:, 1], "number": rng.normal(size=800)})
    model = GCWSNetClassifier(**SMALL).fit(X, np.where(X["number"] > 0, "a", "b"))
    rows = _report_rows(model, X)
    found = {one.column: one.mean for one in importances_of(model._predictor(), rows, np.zeros(800, int))}
    assert set(found) == {"word", "other", "number"}
    assert found["word"] == found["other"]


def _report_rows(model: Any, X: Any) -> Any:
    return check_rows(as_frame(X), model, model.coder_.settings, model.schema_, reset=False)
