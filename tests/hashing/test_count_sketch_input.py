"""CountSketch as scikit-learn users expect it, and its errors."""

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from gcwsnet import CountSketch, GCWSHasher
from gcwsnet.hashing._count_sketch import bins_and_signs
from gcwsnet.hashing._hasher import one_hot

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 256, (40, 30), dtype=np.uint8)
X = RNG.normal(size=(40, 30)) * RNG.choice([0, 1], (40, 30))


def assert_same(Z: Any, W: Any) -> None:
    assert Z.shape == W.shape
    assert (Z != W).nnz == 0


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [CountSketch(), CountSketch(n_bins=7, random_state=2**64 - 1), CountSketch(None)]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_clone_and_pickle_keep_the_sketch() -> None:
    sketch = CountSketch("8bit", bits=10, random_state=5).fit(CODES)
    Z = sketch.transform(CODES)
    assert_same(pickle.loads(pickle.dumps(sketch)).transform(CODES), Z)
    assert_same(clone(sketch).fit(CODES).transform(CODES), Z)
    assert len(pickle.dumps(sketch)) < 1000


def test_random_state_is_the_seed_or_draws_one() -> None:
    assert CountSketch(random_state=2**64 - 1).fit(X).seed_ == 2**64 - 1
    one, two = CountSketch().fit(X), CountSketch().fit(X)
    assert one.seed_ != two.seed_
    assert_same(CountSketch(random_state=one.seed_).fit_transform(X), one.transform(X))
    states = [np.random.RandomState(3) for _ in range(2)]
    assert len({CountSketch(random_state=state).fit(X).seed_ for state in states}) == 1


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_equal_arrays_and_have_their_columns_checked(frame: Any) -> None:
    for bits, rows in ((None, X), (8, CODES)):
        Z = frame({f"c{i}": rows[:, i] for i in range(30)})
        sketch = CountSketch(bits=bits, random_state=1).fit(Z)
        assert_same(sketch.transform(Z), CountSketch(bits=bits, random_state=1).fit_transform(rows))
        assert sketch.feature_names_in_[29] == "c29"
        with pytest.raises(ValueError, match="feature names"):
            sketch.transform(frame({f"d{i}": rows[:, i] for i in range(30)}))


def test_names_of_bins_and_set_output() -> None:
    sketch = CountSketch(n_bins=3, random_state=0).fit(X)
    assert list(sketch.get_feature_names_out()) == ["countsketch0", "countsketch1", "countsketch2"]
    with pytest.raises(ValueError, match="outputs a scipy sparse matrix"):
        sketch.set_output(transform="pandas").transform(X)
    with pytest.raises(ValueError, match="has 16777217 columns, too many to name one by one"):
        CountSketch(n_bins=2**24 + 1).fit(X).get_feature_names_out()


def test_a_linear_model_learns_from_sketches_as_from_one_hot_vectors() -> None:
    digits, labels = load_digits(return_X_y=True)
    scores = []
    for reduction in (1, 16):
        model = make_pipeline(
            GCWSHasher(128, bits=12, random_state=0),
            CountSketch(reduction, bits=12, random_state=0),
            SGDClassifier(loss="log_loss", random_state=0),
        )
        scores.append(model.fit(digits[:1000], labels[:1000]).score(digits[1000:], labels[1000:]))
    assert scores[1] > 0.9
    assert scores[1] > scores[0] - 0.02


def changed(rows: NDArray[Any], value: Any, dtype: Any = None) -> NDArray[Any]:
    copy = rows.astype(dtype or rows.dtype)
    copy[6, 2] = value
    return copy


@pytest.mark.parametrize(
    ("parameters", "rows", "error", "words"),
    [
        (
            {"reduction": 8, "n_bins": 100},
            X,
            ValueError,
            "not both: one follows from the other; got reduction=8 and",
        ),
        ({"reduction": None, "n_bins": 100}, X, ValueError, "not both: one follows from the other; got reduction=None"),
        ({"n_bins": 0}, X, ValueError, "n_bins must be from 1 to 4294967296, got n_bins=0"),
        ({"n_bins": 2**32 + 1}, X, ValueError, "n_bins must be from 1 to 4294967296, got n_bins=4294967297"),
        ({"n_bins": 2.0}, X, TypeError, "n_bins must be an integer, got n_bins=2.0"),
        ({"reduction": 0}, X, ValueError, "reduction must be from 1 to 4503599627370496, got reduction=0"),
        ({"reduction": 1.5}, X, TypeError, "reduction must be an integer, got reduction=1.5"),
        ({"reduction": "16"}, X, ValueError, "reduction must be an integer, '8bit' or None, got reduction='16'"),
        ({"reduction": "8bit"}, X, ValueError, "reduction='8bit' is 2**8 bins for each hash and needs the bits of"),
        ({"bits": 0}, CODES, ValueError, "bits must be from 1 to 32, got bits=0"),
        ({"bits": 33}, CODES, ValueError, "bits must be from 1 to 32, got bits=33"),
        ({"bits": 8.0}, CODES, TypeError, "bits must be an integer, got bits=8.0"),
        (
            {"random_state": -1},
            X,
            ValueError,
            "must be from 0 to 18446744073709551615, got random_state=-1",
        ),
        ({"random_state": "0"}, X, ValueError, "cannot be used to seed"),
        (
            {"bits": 8},
            changed(CODES, 300, np.int64),
            ValueError,
            "codes must be from 0 to 255 with bits=8, X[6, 2] is 300; give the bits of the hasher",
        ),
        ({"bits": 4}, changed(CODES % 16, 16), ValueError, "from 0 to 15 with bits=4, X[6, 2] is 16; give the bits"),
        ({"bits": 32}, changed(CODES, 2**32, np.uint64), ValueError, "bits=32, X[6, 2] is 4294967296"),
        ({"bits": 8}, changed(CODES, -1, np.int64), ValueError, "X[6, 2] is -1"),
        ({"bits": 8}, X, TypeError, "must hold codes, which are integers, got the type float64; real numbers are"),
        ({"bits": 1}, CODES > 9, TypeError, "must hold codes, which are integers, got the type bool"),
        (
            {"bits": 8},
            one_hot(CODES, 8),
            TypeError,
            "with bits=8 X must be an array of codes, got a sparse matrix; a one-hot matrix is sketched with bits=None",
        ),
        ({}, changed(X, np.nan), ValueError, "X[6, 2] is NaN; impute it or drop the row"),
        ({}, sparse.csr_array(changed(X, -np.inf)), ValueError, "X[6, 2] is -infinity"),
        ({}, pd.DataFrame(changed(X, np.inf)).add_prefix("c"), ValueError, "X[6, 2] (column 'c2') is infinity"),
        ({}, np.ma.masked_less(X, 0), ValueError, "X has masked entries; fill them first"),
        ({}, sparse.csr_array((1, 2**52 + 1)), ValueError, "at most 2**52 columns, got 4503599627370497"),
        (
            {"bits": 32},
            np.zeros((1, 1025), dtype=np.uint8),
            ValueError,
            "at most 2**32 bins, got 275146342400 with reduction=16 of 4402341478400 positions; use a larger reduction",
        ),
        (
            {"bits": 32},
            np.broadcast_to(np.uint8(0), (1, 2**20 + 1)),
            ValueError,
            "at most 2**52 positions, got 2**32 for each of 1048577 hashes",
        ),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict | str) else "",
)
def test_bad_input_is_named(parameters: dict[str, Any], rows: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        CountSketch(**parameters).fit(rows)


def test_transform_checks_as_fit_does() -> None:
    sketch = CountSketch(bits=8).fit(CODES)
    with pytest.raises(ValueError, match=r"X\[6, 2\] is 256"):
        sketch.transform(changed(CODES, 256, np.int64))
    with pytest.raises(ValueError, match="X has 29 features, but CountSketch is expecting 30"):
        sketch.transform(CODES[:, :29])
    with pytest.raises(ValueError, match=r"X\[6, 2\] is NaN"):
        CountSketch().fit(X).transform(changed(X, np.nan))
    for method in ("transform", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(CountSketch(), method)(X)


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 3e38), (np.float64, 1.7e308)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_sums_beyond_the_range_of_their_type_are_refused(dtype: Any, large: float, form: Any) -> None:
    _, signs = bins_and_signs(0, np.arange(30), 1)
    rows = np.ones((5, 30), dtype=dtype)
    rows[3] = large * signs
    with pytest.raises(ValueError, match=rf"range of {np.dtype(dtype)}, that of row 3 in bin 0 is not; scale X down"):
        CountSketch(n_bins=1, random_state=0).fit_transform(form(rows))
    assert np.isfinite(CountSketch(n_bins=1, random_state=0).fit_transform(form(rows[4:])).data).all()


def test_results_larger_than_memory_are_refused_before_they_are_made() -> None:
    many = np.broadcast_to(np.uint8(0), (10**10, 256))
    with pytest.raises(MemoryError, match=r"of 10000000000 rows would take 46\.6 TiB .*sketch them in batches"):
        CountSketch(n_bins=2**32, bits=8).fit(many[:1]).transform(many)


def test_memory_is_asked_for_what_is_stored_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gcwsnet._memory.available_bytes", lambda: 1 << 24)
    mostly_zero = np.zeros((3000, 2000), dtype=np.float32)
    mostly_zero[:, 7] = 1
    assert CountSketch(2).fit_transform(mostly_zero).nnz == 3000
    with pytest.raises(MemoryError, match=r"sketches of 3000 rows would take .* and 16\.0 MiB are available"):
        CountSketch(2).fit_transform(mostly_zero + 1)
