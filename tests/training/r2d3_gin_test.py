# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The gin files of R2D2 and R2D3 have the numbers of their sources."""

import gin
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents.collecting import collector
from rnd_agents.training import experiment  # noqa: F401  Registers names.
from rnd_agents.training import gin_files
from rnd_agents.training import off_policy

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
    'r2d2_diengine': (
        0.997, 5, 1e-2, 'stored', 0, 0, 0.9, 1e-3, 1,
        10_000, 0.6, 512, 80, 20, 64, 5e-4, 0.4, 8,
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
    },
}


@pytest.mark.parametrize('column', _COLUMNS)
def test_every_column_has_the_numbers_of_its_source(column):
  gin_files.parse([column])
  expected = dict(zip(_NAMES, _COLUMNS[column], strict=True))
  expected.update(_OF_DEMONSTRATIONS.get(column, {}))
  assert {name: gin.query_parameter(name) for name in expected} == expected


def test_an_update_of_r2d2_replays_each_step_four_fifths_of_a_time():
  gin_files.parse(['r2d2_paper'])
  trained = 64 * 80
  due = gin.query_parameter('ReplayTraining.env_steps_per_update')
  assert trained / due == 0.8


def _settings(name):
  """Copies of the bindings of a gin file, by name."""
  gin.clear_config()
  gin_files.parse([name])
  return {key: dict(value) for key, value in gin.config._CONFIG.items()}


def test_pong_at_a_ratio_of_one_half_is_pong_but_for_the_ratio():
  others, half = (_settings(name) for name in ('pong_r2d3', 'pong_r2d3_half'))
  key = ('', 'rnd_agents.ReplayTraining')
  assert others[key].pop('demonstration_ratio') == 1 / 16
  assert half[key].pop('demonstration_ratio') == 1 / 2
  assert half == others

  # The second one is in force.
  training = off_policy.ReplayTraining()
  training.check(760_000, 8)
  assert training.demonstration_ratio == 0.5
  specs = collector.Specs(
      ts.time_step_spec(tf.TensorSpec([42, 42, 4], tf.uint8)),
      tensor_spec.BoundedTensorSpec([], tf.int64, 0, 5),
  )
  agent = training.build_agent(specs, 8)
  assert agent.burn_in_length == 10
  assert agent.collect_policy.epsilon.shape == [8]
