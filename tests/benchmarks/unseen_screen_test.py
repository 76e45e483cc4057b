# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of UnseenScreenVectorEnv, a variant of Deep Sea."""

import math

import gymnasium
import numpy as np
import pytest

from benchmarks import unseen_screen
from rnd_agents.tasks import deep_sea

SIZE = 5


def _play(env, num_steps, seed=None, actions_seed=0):
  """Steps env; returns [reset observation, steps] without infos."""
  rng = np.random.RandomState(actions_seed)
  steps = [env.reset(seed=seed)[:1]] if seed is not None else []
  return steps + [
      env.step(rng.randint(2, size=env.num_envs))[:4]
      for _ in range(num_steps)
  ]


def _shown(steps, screen):
  """(step, environment) of every screen."""
  return [
      (t, i)
      for t, (observations, *_) in enumerate(steps)
      for i, observation in enumerate(observations)
      if np.array_equal(observation, screen)
  ]


def test_takes_the_place_of_observations():
  env = unseen_screen.UnseenScreenVectorEnv(3, SIZE, screen_chance=0.05)
  steps = _play(env, 400, seed=1)
  # Norm 1, on cells that no path reaches: more columns than rows passed.
  expected = np.zeros([SIZE, SIZE])
  for row in range(SIZE):
    for column in range(row + 1, SIZE):
      expected[row, column] = 1 / math.sqrt(10)
  np.testing.assert_allclose(env.screen, expected, rtol=1e-6)

  shown = _shown(steps, env.screen)
  t, i = shown[0]
  # In one episode, although 10 were to expect: all but its first and last.
  assert t % (SIZE + 1) == 1
  assert shown == [(u, i) for u in range(t, t + SIZE - 1)]
  plain = _play(deep_sea.DeepSeaVectorEnv(3, SIZE), 400, seed=1)
  for u, _ in shown:
    steps[u][0][i] = plain[u][0][i]
  for step, plain_step in zip(steps, plain, strict=True):
    for a, b in zip(step, plain_step, strict=True):
      np.testing.assert_array_equal(a, b)


def test_chance_and_first_episode():
  chance, first, num_runs = 0.25, 3, 600
  env = unseen_screen.UnseenScreenVectorEnv(
      1, 2, screen_chance=chance, first_episode=first
  )
  episodes = []
  for seed in range(num_runs):
    t = 0
    env.reset(seed=seed)
    while not np.array_equal(env.step(np.zeros(1, int))[0][0], env.screen):
      t += 1
    episodes.append(t // 3)  # Two steps and a reset each.
  waits = np.array(episodes) - first + 1
  # A geometric distribution: mean 1 / p, P(1) = p.
  assert waits.min() == 1
  deviation = math.sqrt(1 - chance) / chance
  assert abs(waits.mean() - 1 / chance) < 4 * deviation / math.sqrt(num_runs)
  share = (waits == 1).mean()
  deviation = math.sqrt(chance * (1 - chance))
  assert abs(share - chance) < 4 * deviation / math.sqrt(num_runs)


def test_of_several_the_earliest_shows_it():
  screens = {}
  for num_envs in (1, 4):
    for seed in range(4):
      env = unseen_screen.UnseenScreenVectorEnv(num_envs, SIZE, 0.05)
      screens[num_envs, seed] = _shown(
          _play(env, 1000, seed), env.screen
      )[0]
  # Environment i of a seed s has the random stream of s + i.
  alone = [screens[1, seed][0] for seed in range(4)]
  assert screens[4, 0] == (min(alone), int(np.argmin(alone)))
  assert len(set(alone)) > 1


def test_equal_seeds_and_saved_states():
  def make():
    return unseen_screen.UnseenScreenVectorEnv(2, SIZE, 0.05)

  env = make()
  steps = _play(env, 300, seed=8)
  t, _ = _shown(steps, env.screen)[0]
  _play(env, 10)
  again = _play(env, 300, seed=8)  # A seed makes the screen due again.
  assert _shown(again, env.screen) == _shown(steps, env.screen)
  assert t > 2
  # Saved before it, on show, and after it.
  for saved in (t - 2, t, t + 1, t + SIZE):
    first, other = make(), make()
    _play(first, saved, seed=8)
    shown = other.set_state(first.get_state())
    np.testing.assert_array_equal(shown, steps[saved][0])
    for a, b in zip(_play(first, 30), _play(other, 30), strict=True):
      np.testing.assert_array_equal(a[0], b[0])
    other.reset()  # Without a seed nothing is due again.
    assert not _shown(_play(other, 1000), env.screen)


def test_registered():
  env = gymnasium.make_vec(
      'benchmarks/DeepSeaUnseenScreen-v0',
      num_envs=2,
      vectorization_mode='vector_entry_point',
      size=4,
      screen_chance=1.0,
  )
  env.reset(seed=0)
  observations = env.step(np.zeros(2))[0]
  np.testing.assert_array_equal(observations[0], env.screen)
  assert not np.array_equal(observations[1], env.screen)


@pytest.mark.parametrize(
    'kwargs',
    [
        {'size': 1},
        {'screen_chance': 0.0},
        {'screen_chance': 1.5},
        {'first_episode': -1},
    ],
)
def test_misuse(kwargs):
  with pytest.raises(ValueError, match='at least 2'):
    unseen_screen.UnseenScreenVectorEnv(**kwargs)
