# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""How a run is evaluated changes nothing of what it learns."""

import pytest

from rnd_agents.training import configuration
from tests import tiny_runs

_CURIOUS = (
    *tiny_runs.OFF_POLICY_SETTINGS,
    "load_environment.env = 'CartPole-v1'",
    'create_curious_agent.curiosity_fn = @create_rnd',
    'create_rnd_networks.fc_layer_params = (4,)',
    'create_rnd_networks.target_fc_layer_params = (4,)',
)
# Name: (settings, how the agent acts in evaluations, environment steps).
_RUNS = {
    'RND-PPO': (
        tiny_runs.SETTINGS, 'RNDPPOAgent.greedy_eval = False', 320
    ),
    'R2D3': (
        tiny_runs.without_memory(tiny_runs.R2D3_SETTINGS),
        'R2D3Agent.eval_epsilon = 0.5',
        320,
    ),
    'double DQN': (
        (
            *_CURIOUS,
            'create_curious_agent.agent_fn = @create_dqn_agent',
            'create_q_networks.fc_layer_params = (4,)',
            'create_q_networks.head_units = 4',
        ),
        'create_dqn_agent.eval_epsilon = 0.5',
        90,
    ),
    'SAC': (
        (
            *_CURIOUS,
            "load_environment.env = 'Pendulum-v1'",
            'create_curious_agent.agent_fn = @create_sac_agent',
            'create_sac_agent.fc_layer_params = (4,)',
        ),
        'CuriousAgent.greedy_eval = False',
        90,
    ),
}
_OF_EVALUATIONS = (
    'train_eval.num_eval_episodes = 3',
    'train_eval.eval_interval_env_steps = 40',
    'eval/load_environment.max_episode_steps = 6',
)


@pytest.mark.parametrize('name', _RUNS)
def test_training_is_the_same_whatever_evaluations_are(name, tmp_path):
  settings, acts, num_env_steps = _RUNS[name]
  plain, other = tmp_path / 'plain', tmp_path / 'other'
  tiny_runs.train(plain, num_env_steps, settings=settings)
  tiny_runs.train(
      other, num_env_steps, settings=(*settings, *_OF_EVALUATIONS, acts)
  )
  trained = tiny_runs.rows(plain, 'train')
  assert tiny_runs.rows(other, 'train') == trained
  assert float(trained[-1]['train_steps']) > 0
  assert tiny_runs.rows(other, 'eval') != tiny_runs.rows(plain, 'eval')


def test_these_are_the_settings_of_acting_that_a_run_may_change():
  """Of a further one this file must say that it changes no training."""
  may_change = {
      name for name in configuration._SAFE if name.endswith('.eval_epsilon')
  }
  assert may_change <= {acts.split(' =')[0] for _, acts, _ in _RUNS.values()}
