"""The evidence of the paper, made again: its tables, figures and theorems, and a report on what holds."""

from gcwsnet.paper._report import write_report
from gcwsnet.paper._results import Outcome, Results
from gcwsnet.paper._run import listing, run_experiment
from gcwsnet.paper._theorems import THEOREMS, simulate
from gcwsnet.paper.experiments import EXPERIMENTS

__all__ = [
    "EXPERIMENTS",
    "THEOREMS",
    "Outcome",
    "Results",
    "listing",
    "run_experiment",
    "simulate",
    "write_report",
]
