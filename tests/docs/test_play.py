"""The page to play with computes in a browser what the package computes, and shows it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gcwsnet import GCWSHasher, estimate_similarity, pgmm_kernel
from gcwsnet.theory import similarity_variance
from tests.browser import found_by

PLAY = Path(__file__).parents[2] / "docs" / "play"
ROWS = [
    [6.0, -3.0, 0.0, 2.0, 1.0],
    [0.1, 0.2, -0.3, 1e-3, -1e3],
    [0.0, 0.0, 0.0, 0.0, -7.5],
    [5e-324, 1e300, -1e-310, 0.0, 1.0],
    [0.0, -0.0, 0.0, 0.0, 0.0],
]
N_HASHES = 64
SETTINGS = [(p, bits, seed) for p in (0.1, 1.0, 8.0, 1000.0) for bits, seed in ((1, 0), (8, 42), (32, 2**53 - 1))]
CODES = """<script src="%s"></script><body><script>
const found = %s.map(([p, bits, seed]) => {
  const drawn = GCWS.draw(seed, 5, %d);
  return %s.map(row => {
    const samples = GCWS.samples(row, p, drawn);
    return [samples.map(one => one.i), samples.map(one => one.t), GCWS.codes(samples, bits, drawn)];
  });
});
document.body.innerHTML = "<pre>" + JSON.stringify(found) + "</pre>";
</script></body>"""


def test_samples_and_codes_are_those_of_the_hasher(tmp_path: Path) -> None:
    script = (PLAY / "gcws.js").as_uri()
    page = CODES % (script, json.dumps(SETTINGS), N_HASHES, json.dumps(ROWS))
    for (p, bits, seed), found in zip(SETTINGS, found_by(page, tmp_path), strict=True):
        hasher = GCWSHasher(N_HASHES, p=p, bits=bits, random_state=seed).fit(ROWS)
        i_star, t_star, codes = np.array(found).transpose(1, 0, 2)
        np.testing.assert_array_equal(hasher.samples(ROWS), (i_star, t_star))
        np.testing.assert_array_equal(hasher.transform(ROWS), codes)


STEPS: list[dict[str, Any]] = [
    {},
    {"k": 8, "b": 1, "seed": 3},
    {"p": -1, "k": 8, "b": 2},
    {"p": 2, "k": 7, "b": 8, "a1": 9.5, "b1": 9},
    {"p": 0.5, "k": 0, "a2": -10, "b2": -0.5, "b3": 4},
    {"p": 0, "k": 8, **{f"a{column}": 0 for column in range(1, 6)}},
    {f"b{column}": 0 for column in range(1, 6)},
    {"click": 1, "b": 4},
    {"click": 2},
    {"click": 3, "next": True},
]
TAKE_STEPS = """<script>
const get = id => document.getElementById(id), found = [];
for (const step of %s) {
  for (const [id, value] of Object.entries(step)) {
    if (id === "click") document.querySelectorAll("#play .presets button")[value].click();
    else if (id === "next") get("next").click();
    else Object.assign(get(id), {value}).dispatchEvent(new Event("input", {bubbles: true}));
  }
  const row = name => [1, 2, 3, 4, 5].map(column => Number(get(name + column).value));
  const numbers = ids => Object.fromEntries(ids.map(id => [id, get(id).textContent.replace("−", "-")]));
  const bars = [...document.querySelectorAll("#features .larger")].map(one => one.getBoundingClientRect().height);
  found.push({a: row("a"), b: row("b"), seed: Number(get("seed").value), cells: get("hashes").children.length,
    bars: bars.filter(height => height > 2).length, ...numbers(["p-value", "k-value", "b-value", "kernel",
      "from-samples", "from-codes", "deviation", "n-same", "n-chance"])});
}
document.body.innerHTML = "<pre>" + JSON.stringify({problems, found}) + "</pre>";
</script>"""
PAGE = """<!DOCTYPE html><meta charset="utf-8">
<script>
const problems = [];
addEventListener("error", event => problems.push(event.message || "not loaded"), true);
</script>
<body>%s%s</body>"""


def test_moving_the_sliders_shows_the_kernel_and_its_estimates(tmp_path: Path) -> None:
    controls = (PLAY / "controls.html").read_text(encoding="utf-8").replace("_static", PLAY.as_uri())
    seen = found_by(PAGE % (controls, TAKE_STEPS % json.dumps(STEPS)), tmp_path)
    assert seen["problems"] == []
    assert len(seen["found"]) == len(STEPS)
    for shown in seen["found"]:
        p, k, bits = float(shown["p-value"]), int(shown["k-value"]), int(shown["b-value"])
        X = np.array([shown["a"], shown["b"]])
        hasher = GCWSHasher(k, p=p, bits=bits, random_state=shown["seed"]).fit(X)
        codes = hasher.transform(X)
        i_star, t_star = hasher.samples(X)
        same = ((i_star[0] == i_star[1]) & (t_star[0] == t_star[1])).sum()
        J = pgmm_kernel(X, p=p)[0, 1]
        deviation = np.sqrt(similarity_variance(J, bits=bits, n_hashes=k))
        estimate = estimate_similarity(codes[0], codes[1], bits=bits)
        assert shown["cells"] == k
        assert int(shown["n-same"]) == same
        assert int(shown["n-same"]) + int(shown["n-chance"]) == (codes[0] == codes[1]).sum()
        written = [float(shown[name]) for name in ("kernel", "from-samples", "from-codes")]
        assert written == pytest.approx([J, same / k, estimate], abs=0.000501)
        assert shown["deviation"] == f"± {deviation:.3f}"
        assert abs(written[2] - J) <= 5 * deviation + 0.001  # five standard deviations
    assert {shown["bars"] for shown in seen["found"]} >= {0, 1, 8}
