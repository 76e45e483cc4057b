# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of action masks: from the environment to its time steps."""

import functools

from gymnasium import spaces
import numpy as np
import pytest

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from tests import masked_environments


def _load(*, num_environments=2, vectorization='sync', key='legal', **kwargs):
  return loaders.load_environment(
      functools.partial(masked_environments.Lamps, **kwargs),
      num_environments,
      seed=3,
      action_mask_key=key,
      vectorization=vectorization,
  )


def _allowed_actions(time_step):
  return np.argmax(time_step.observation.action_mask, axis=-1)


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
@pytest.mark.parametrize('place', ['info', 'observation'])
def test_the_mask_is_beside_the_observation(place, vectorization):
  env = _load(place=place, vectorization=vectorization)
  spec = env.observation_spec()
  assert spec.action_mask.shape == (4,)
  rest = {'lamps': spec.observation['lamps']} if place == 'observation' else (
      spec.observation
  )
  assert rest == spec.observation
  time_step = env.reset()
  for _ in range(9):
    lamps = time_step.observation.observation
    if place == 'observation':
      lamps = lamps['lamps']
    # A lamp that is lit may be switched off; at the end all may.
    expected = np.where(time_step.is_last()[:, np.newaxis], 1, lamps)
    np.testing.assert_array_equal(time_step.observation.action_mask, expected)
    time_step = env.step(_allowed_actions(time_step))
  # A restored environment has the same mask.
  state, now = env.get_state(), env.current_time_step()
  env.step(_allowed_actions(now))
  env.set_state(state)
  np.testing.assert_array_equal(
      env.reset().observation.action_mask, now.observation.action_mask
  )
  env.close()


def test_masks_of_several_entries_are_padded():
  env = _load(action_space=spaces.MultiDiscrete([2, 3], start=[5, -1]))
  assert env.observation_spec().action_mask.shape == (2, 3)
  mask = env.reset().observation.action_mask
  assert (mask[:, 0, 2] == 0).all()  # There is no third value.
  # Lamps of the first entry, then of the second.
  lamps = env.current_time_step().observation.observation
  np.testing.assert_array_equal(mask[:, 0, :2], lamps[:, :2])
  np.testing.assert_array_equal(mask[:, 1], lamps[:, 2:])
  env.step(np.argmax(mask, axis=-1))


@pytest.mark.parametrize('mask, words', [
    ([0, 0, 0, 0], 'Lamps.*allows no action'),
    (None, 'Lamps.*neither of its observation'),
    ([1, 0, 1], 'Lamps.*must be 4 numbers'),
    ([1, 0, 1, -1e9], 'Lamps.*must be 4 numbers'),
])
@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_masks_that_do_not_serve(mask, words, vectorization):
  env = _load(mask=mask, vectorization=vectorization)
  with pytest.raises(failures.EnvironmentFailure, match=words):
    env.reset()
  env.close()


@pytest.mark.parametrize('space', [
    spaces.Box(-1, 1, (2,)), spaces.Dict(a=spaces.Discrete(2)),
])
def test_only_discrete_actions_have_masks(space):
  with pytest.raises(errors.InvalidValue, match='Discrete or MultiDiscrete'):
    _load(action_space=space)


def test_a_vector_environment_of_its_own_takes_no_mask():
  with pytest.raises(errors.InvalidValue, match='action_mask_key'):
    loaders.load_environment(
        'CartPole-v1',
        action_mask_key='legal',
        vectorization='vector_entry_point',
    )


def test_splitting():
  whole = action_masks.ObservationWithMask({'a': 1}, 2)
  assert action_masks.split_mask(whole) == ({'a': 1}, 2)
  assert action_masks.split_mask({'a': 1}) == ({'a': 1}, None)
