"""The paper, reproduced: its tables, figures and theorems, and a report on which of its statements hold."""

from reproduction.execution import listing, run_experiment
from reproduction.experiments import EXPERIMENTS, experiment_of_runs
from reproduction.report import write_report
from reproduction.results import Outcome, Results
from reproduction.theorems import THEOREMS, simulate

__all__ = [
    "EXPERIMENTS",
    "THEOREMS",
    "Outcome",
    "Results",
    "experiment_of_runs",
    "listing",
    "run_experiment",
    "simulate",
    "write_report",
]
