# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the chain of h-DQN."""

import numpy as np
import pytest

from rnd_agents.tasks import stochastic_chain

_LEFT, _RIGHT = 0, 1


def _play(env, *actions):
  """States and outcomes of an episode of these actions."""
  states, outcomes = [env.reset(seed=0)[0].argmax()], []
  for action in actions:
    observation, *outcome = env.step(action)
    assert observation.sum() == 1.0
    states.append(observation.argmax())
    outcomes.append(tuple(outcome))
  return states, outcomes


def test_the_end_pays_where_the_last_state_was_visited():
  env = stochastic_chain.StochasticChain(num_states=3, right_probability=1.0)
  states, outcomes = _play(env, _RIGHT, _RIGHT, _LEFT, _LEFT)
  assert states == [1, 2, 2, 1, 0]
  assert outcomes == [(0.0, False, False, {})] * 3 + [
      (1.0, True, False, {'is_success': True})
  ]
  states, outcomes = _play(env, _LEFT)  # It forgets the episode before.
  assert states == [1, 0]
  assert outcomes == [(0.01, True, False, {'is_success': False})]


def test_a_limit_is_no_end():
  env = stochastic_chain.StochasticChain(
      limit_env_steps=3, right_probability=1.0
  )
  _, outcomes = _play(env, *[_RIGHT] * 3)
  assert outcomes[-1] == (0.0, False, True, {'is_success': False})


def test_right_succeeds_as_often_as_it_should():
  env = stochastic_chain.StochasticChain(
      num_states=1000, limit_env_steps=10**6, right_probability=0.8
  )
  states, _ = _play(env, *[_RIGHT] * 500)
  succeeded = np.diff(states) == 1
  assert succeeded.mean() == pytest.approx(0.8, abs=0.06)  # 3 sigma.
  assert (np.diff(states)[~succeeded] == -1).all()


@pytest.mark.parametrize(('kwargs', 'message'), [
    (dict(num_states=1), 'num_states .*got 1.'),
    (dict(num_states=2.5), 'num_states .*got 2.5'),
    (dict(limit_env_steps=0), 'limit_env_steps .*integer'),
    (dict(right_probability=1.5), 'right_probability .*above 0'),
])
def test_bad_arguments(kwargs, message):
  with pytest.raises(ValueError, match=f'StochasticChain.{message}'):
    stochastic_chain.StochasticChain(**kwargs).reset()
