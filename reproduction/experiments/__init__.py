"""The experiments of the paper, in modules of figures that belong together."""

from reproduction.experiment import Experiment
from reproduction.experiments import codes, kernels, nets, power, remarks, theory

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        kernels.TABLE,
        remarks.NOISE_LEVELS,
        remarks.DIFFERENT_DRAWS,
        remarks.OTHER_TASKS,
        *theory.ALL,
        theory.EQUATION_7,
        nets.FIGURE_1,
        nets.FIGURE_2,
        nets.FIGURE_3,
        nets.FIGURE_4,
        nets.FIGURE_5,
        remarks.AUTHORS_SPLIT,
        nets.FIGURE_6,
        nets.FIGURE_7,
        nets.STAND_IN,
        nets.DAILYSPORTS,
        nets.M_NOISE1,
        nets.M_IMAGE,
        remarks.LEARNING_RATES,
        remarks.DEEPER,
        remarks.TRAINING_TIME,
        codes.FIGURE_11,
        theory.FIGURE_12,
        theory.FIGURE_13,
        codes.FIGURE_14,
        codes.SECTION_4,
        power.FIGURE_15,
        power.FIGURE_16,
        kernels.FIGURE_17,
        kernels.FIGURE_18,
        nets.ABSTRACT,
    )
}
"""All experiments by name, in the order of the paper; what it says of all figures at once is last."""
