"""The experiments of the paper, one module for each table, figure or group of figures that belong together."""

from gcwsnet.paper._experiment import Experiment
from gcwsnet.paper.experiments import (
    _count_sketch,
    _count_sketch_ratio,
    _covtype,
    _last_layer,
    _learning_rates,
    _noise_levels,
    _nrff,
    _one_epoch,
    _pamap101,
    _power,
    _semg,
    _t_bits,
    _table_1,
    _theorems,
    _zero_bit,
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        _table_1.TABLE,
        _noise_levels.SECTION_1,
        *_theorems.ALL,
        _zero_bit.EQUATION_7,
        _learning_rates.SECTION_2,
        _semg.FIGURE_1,
        _semg.FIGURE_2,
        _covtype.FIGURE_3,
        _covtype.FIGURE_4,
        _covtype.FIGURE_5,
        _pamap101.FIGURE_6,
        _pamap101.FIGURE_7,
        _one_epoch.DAILYSPORTS,
        _one_epoch.M_NOISE1,
        _one_epoch.M_IMAGE,
        _t_bits.FIGURE_11,
        _count_sketch_ratio.FIGURE_12,
        _count_sketch_ratio.FIGURE_13,
        _count_sketch.FIGURE_14,
        _power.FIGURE_15,
        _power.FIGURE_16,
        _last_layer.FIGURE_17,
        _nrff.FIGURE_18,
    )
}
"""In the order of the paper, by name."""
