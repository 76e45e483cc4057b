# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each gin parameter of a run arrives, or gin refuses it."""

import functools

import numpy as np
import pytest

from rnd_agents.archive import archive_novelty
from rnd_agents.archive import cells
from rnd_agents.archive import exploration
from rnd_agents.replay import prioritized_replay
from rnd_agents.training import experiment
from rnd_agents.training import off_policy
from rnd_agents.training import on_policy
from rnd_agents.training import two_level
from tests import gin_parameters

_FOUND = gin_parameters.configurables(
    'rnd_agents/collecting',
    'rnd_agents/archive',
    'rnd_agents/plotting',
    'rnd_agents/replay',
    'rnd_agents/training',
)
# What a run does to call each of them; None where all parameters are refused.
_CALLS = {
    'rnd_agents.train_eval': functools.partial(experiment.Experiment, 'folder'),
    'rnd_agents.explore': functools.partial(exploration.Exploration, 'folder'),
    'rnd_agents.CuriosityNovelty': lambda: archive_novelty.CuriosityNovelty(
        None, None
    ),
    'rnd_agents.coarse_observation': lambda: cells.coarse_observation(0, None),
    'rnd_agents.position_of_largest': lambda: cells.position_of_largest(
        0, None
    ),
    'rnd_agents.minigrid_state': lambda: cells.minigrid_state(0, None),
    'rnd_agents.ram_bytes': lambda: cells.ram_bytes(0, None),
    'rnd_agents.OnPolicyTraining': on_policy.OnPolicyTraining,
    'rnd_agents.ReplayTraining': off_policy.ReplayTraining,
    'rnd_agents.TwoLevelTraining': two_level.TwoLevelTraining,
    'rnd_agents.ladder_epsilon': lambda: off_policy.ladder_epsilon(0, 2),
    'rnd_agents.linear_epsilon': lambda: off_policy.linear_epsilon(0, 2),
    'rnd_agents.exponential_epsilon': (
        lambda: off_policy.exponential_epsilon(0, 2)
    ),
    'rnd_agents.PrioritizedReplay': functools.partial(
        prioritized_replay.PrioritizedReplay, None, seed=np.uint64(1)
    ),
}


def test_all_configurables_are_known_here():
  assert set(_FOUND) == set(_CALLS)


@pytest.mark.parametrize('selector', _CALLS)
def test_parameters_arrive_or_are_refused(selector):
  ignored = gin_parameters.without_effect(
      selector, _FOUND[selector], _CALLS[selector]
  )
  assert not ignored
