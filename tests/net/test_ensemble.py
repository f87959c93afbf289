"""Ensembles of nets on different hashes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gcwsnet.files import Batch
from gcwsnet.net._net import make_net
from gcwsnet.net._packed import member_seeds
from gcwsnet.net._trainer import Trainer
from tests.net.learners import (
    CODE_BITS,
    N_HASHES,
    SETTINGS,
    THREE_CLASSES,
    begin,
    rows_of,
    run,
)


def of_member(rows: Batch, number: int) -> Batch:
    return rows._replace(X=np.ascontiguousarray(rows.X[:, number * N_HASHES : (number + 1) * N_HASHES]))


def alone(number: int, members: int, targets: Any = THREE_CLASSES, **settings: Any) -> Trainer:
    """A trainer of one net that is as a member of an ensemble."""
    seed = member_seeds(5, members)[number]
    net = make_net(replace(SETTINGS, **settings), targets, n_hashes=N_HASHES, code_bits=CODE_BITS, seed=seed)
    return Trainer(net)


@pytest.mark.parametrize(
    "settings", [{}, {"hidden": ()}, {"reduction": 2}, {"optimizer": "adam", "betas": (0.9, 0.99)}]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_members_learn_as_if_they_were_alone_and_outputs_are_their_means(settings: Any, weighted: bool) -> None:
    rows, held_out = rows_of(200, 3, weighted=weighted), rows_of(50, 3)
    together = run(begin(ensemble=3, **settings), rows)
    net: Any = together.net
    outputs = []
    for number, member in enumerate(net.cores):
        single = run(alone(number, 3, **settings), of_member(rows, number))
        for name, weights in single.net.weights().items():
            assert_array_equal(weights, member.weights()[name])
        outputs.append(single.net.outputs(of_member(held_out, number).X, n_jobs=1))
    found = net.outputs(held_out.X, n_jobs=1)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.mean(np.array(outputs, dtype=np.float64), axis=0), rtol=1e-6)
    assert np.abs(outputs[0] - outputs[1]).max() > 0.01


def test_seeds_of_members_differ_and_the_first_one_is_that_of_a_single_net() -> None:
    seeds = member_seeds(5, 100)
    assert seeds[0] == 5
    assert len(set(seeds)) == 100
    assert member_seeds(5, 3) == seeds[:3]
    assert member_seeds(6, 3)[1:] != seeds[1:3]
    assert all(0 <= seed < 2**64 for seed in seeds)
