"""The paper, reproduced: its tables, figures and theorems, and a report on which of its statements hold."""

from reproduction.execution import listing, run_experiment
from reproduction.experiments import EXPERIMENTS
from reproduction.report import write_report
from reproduction.results import Outcome, Results
from reproduction.theorems import THEOREMS

__all__ = ["EXPERIMENTS", "THEOREMS", "Outcome", "Results", "listing", "run_experiment", "write_report"]
