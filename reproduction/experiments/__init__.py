"""The experiments of the paper, in modules of figures that belong together."""

from reproduction.experiment import Experiment
from reproduction.experiments import (
    abstract,
    codes,
    defaults,
    hundred_epochs,
    last_layer,
    nrff,
    one_epoch,
    power,
    remarks,
    semg,
    table_1,
    theory,
)
from reproduction.settings import key

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        table_1.TABLE,
        one_epoch.SECTION_1,
        remarks.DIFFERENT_DRAWS,
        remarks.OTHER_TASKS,
        *theory.ALL,
        theory.EQUATION_7,
        one_epoch.SECTION_2,
        remarks.DEEPER,
        defaults.DEFAULTS,
        remarks.AUTHORS_SPLIT,
        remarks.TRAINING_TIME,
        semg.FIGURE_1,
        semg.FIGURE_2,
        hundred_epochs.FIGURE_3,
        hundred_epochs.FIGURE_4,
        hundred_epochs.FIGURE_5,
        hundred_epochs.FIGURE_6,
        hundred_epochs.FIGURE_7,
        hundred_epochs.FIGURE_7_STAND_IN,
        one_epoch.DAILYSPORTS,
        one_epoch.M_NOISE1,
        one_epoch.M_IMAGE,
        codes.FIGURE_11,
        theory.FIGURE_12,
        theory.FIGURE_13,
        codes.FIGURE_14,
        codes.SECTION_4,
        power.FIGURE_15,
        power.FIGURE_16,
        last_layer.FIGURE_17,
        nrff.FIGURE_18,
        abstract.ABSTRACT,
    )
}
"""All experiments by name, in the order of the paper."""


def experiment_of_runs() -> dict[str, str]:
    """Return the name of the experiment that a run is stored with, by the key of the run.

    A run that several experiments share is stored with the first of them.
    """
    names: dict[str, str] = {}
    for name, experiment in EXPERIMENTS.items():
        for settings in (*experiment.grid(False), *experiment.grid(True)):
            names.setdefault(key(settings), name)
    return names
