"""A table with columns of all kinds."""

import numpy as np
import pandas as pd


def mixed_table(n: int = 600, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Rows with numbers, booleans, text, categories, dates and missing values, and a label that all of them tell."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Rome", "Oslo", "Lima"], n)
    size = rng.choice(["s", "m", "l"], n)
    flag = rng.random(n) < 0.5
    height = rng.normal(size=n)
    days = rng.integers(0, 1000, n)
    score = 2.0 * (city == "Rome") + (size == "l") + flag + height + days / 500
    frame = pd.DataFrame(
        {
            "height": np.where(rng.random(n) < 0.1, np.nan, 100 + 5 * height),
            "city": pd.Series(city).where(rng.random(n) > 0.1),
            "size": pd.Categorical(size, categories=["s", "m", "l"], ordered=True),
            "flag": flag,
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"),
            "long": pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"),
            "code": pd.Categorical(rng.integers(0, 5, n)),
        }
    )
    return frame, pd.Series(np.where(score > np.median(score), "yes", "no"))


def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns in another order."""
    return frame[frame.columns[::-1]]
