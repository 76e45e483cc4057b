# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""An off-policy agent of one's own, with no metric but the priorities."""

from typing import Any, NamedTuple

import gin

from rnd_agents import agents
from tests.training import tiny_runs


class _Extra(NamedTuple):
  priorities: Any


@gin.configurable(
    module='own_agent_test', denylist=['burn_in_length', 'collect_epsilon']
)
def create_terse_agent(
    time_step_spec, action_spec, burn_in_length, collect_epsilon
):
  agent = agents.create_r2d3_agent(
      time_step_spec,
      action_spec,
      burn_in_length=burn_in_length,
      collect_epsilon=collect_epsilon,
  )
  train = agent.train

  def train_and_tell_less(*args, **kwargs):
    info = train(*args, **kwargs)
    return info._replace(extra=_Extra(info.extra.priorities))

  agent.train = train_and_tell_less
  return agent


def test_its_loss_is_its_only_metric(tmp_path):
  tiny_runs.train(
      tmp_path,
      120,
      'ReplayTraining.create_agent = @create_terse_agent',
      settings=tiny_runs.R2D3_SETTINGS,
  )
  rows = tiny_runs.rows(tmp_path, 'train')
  assert all(float(row['loss']) > 0 for row in rows)
  assert all(float(row['data_age_train_steps']) >= 0 for row in rows)
  assert not {'td_loss', 'demonstration_rate'} & rows[0].keys()
