# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The gin files of R2D2 and R2D3 have the numbers of their sources."""

import gin
import pytest

from rnd_agents.training import experiment  # noqa: F401  Registers names.
from rnd_agents.training import gin_files
from rnd_agents.training import off_policy  # noqa: F401

# From the papers and from DI-engine's configuration for Pong, but for what the
# headers of the gin files have from elsewhere or from memory; not typed in from
# the gin files.
_NAMES = (
    'R2D3Agent.discount_factor',
    'R2D3Agent.n_step',
    'R2D3Agent.value_rescaling_epsilon',
    'R2D3Agent.recurrent_state_init',
    'R2D3Agent.one_step_weight',
    'R2D3Agent.margin_weight',
    'R2D3Agent.priority_max_weight',
    'R2D3Agent.target_update_tau',
    'R2D3Agent.target_update_period_train_steps',
    'PrioritizedReplay.max_sequences',
    'PrioritizedReplay.priority_exponent',
    'LSTMCore.units',
    'ReplayTraining.unroll_length',
    'ReplayTraining.burn_in_length',
    'ReplayTraining.batch_size',
    'create_r2d3_agent.learning_rate',
    'ReplayTraining.importance_exponent',
    'train_eval.num_environments',
)
_COLUMNS = {
    'r2d2_paper': (
        0.997, 5, 1e-3, 'stored', 0, 0, 0.9, 1, 2_500,
        100_000, 0.9, 512, 80, 40, 64, 1e-4, 0.6, 256,
    ),
    'r2d3_paper': (
        0.997, 5, 1e-3, 'zero', 0, 0, 0.9, 1, 400,
        100_000, 0.9, 512, 40, 40, 32, 2e-4, 0.6, 256,
    ),
    'r2d3_diengine': (
        0.997, 5, 1e-2, 'stored', 1, 1, 0.9, 1e-3, 1,
        20_000, 0.6, 512, 40, 2, 64, 5e-4, 0.4, 8,
    ),
}
_OF_DEMONSTRATIONS = {
    'r2d3_paper': {'ReplayTraining.demonstration_ratio': 1 / 256},
    'r2d3_diengine': {
        'ReplayTraining.demonstration_ratio': 1 / 4,
        'create_r2d3_agent.weight_decay': 1e-5,
        'ReplayTraining.importance_anneal_train_steps': 100_000,
        'R2D3Agent.margin': 0.8,
        'PrioritizedReplay.max_demonstrations': 5_000,
    },
}


@pytest.mark.parametrize('column', _COLUMNS)
def test_every_column_has_the_numbers_of_its_source(column):
  gin.clear_config()
  gin_files.parse([column])
  expected = dict(zip(_NAMES, _COLUMNS[column], strict=True))
  expected.update(_OF_DEMONSTRATIONS.get(column, {}))
  assert {name: gin.query_parameter(name) for name in expected} == expected


def test_an_update_of_r2d2_replays_each_step_four_fifths_of_a_time():
  gin.clear_config()
  gin_files.parse(['r2d2_paper'])
  trained = 64 * 80
  due = gin.query_parameter('ReplayTraining.env_steps_per_update')
  assert trained / due == 0.8
