# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that environments are put back to where they were."""

import gymnasium
import numpy as np
import pytest

from rnd_agents.archive import cells
from rnd_agents.archive import returning
from rnd_agents.archive import snapshots
from tests.archive import toys

_ATARI = dict(
    env_kwargs=dict(
        repeat_action_probability=0.25, max_num_frames_per_episode=300
    )
)
_PARTS = {
    'toy': (toys.Drift, {}),
    'minigrid': ('MiniGrid-DoorKey-5x5-v0', {}),
    'ale': ('ALE/Pong-v5', _ATARI),
    'deep_sea': ('rnd_agents/DeepSea-v0', {}),
}


def _play(env, actions):
  """What each step gives, up to the end of the episode."""
  moments = []
  for action in actions:
    moments.append(env.step(action)[:4])
    if any(moments[-1][2:]):
      break
  return moments


@pytest.mark.parametrize('name', _PARTS)
def test_snapshot_continues_as_the_original(name):
  env, kwargs = _PARTS[name]
  first, second = toys.singles(env, **kwargs)
  first.action_space.seed(3)
  actions = [first.action_space.sample() for _ in range(60)]
  taker = snapshots.Snapshots([first, second])
  first.reset(seed=3)
  _play(first, actions[:6])
  snapshot = taker.take(0, 'more')
  expected = _play(first, actions[6:])
  assert len(expected) >= 4
  for index, other in ((1, second), (0, first), (1, second)):
    other.reset(seed=4)
    assert taker.restore(index, snapshot) == 'more'
    np.testing.assert_equal(_play(other, actions[6:]), expected)


@pytest.mark.parametrize(('probability', 'kwargs'), [
    (0.25, {}),
    (1.0, {}),
    (0.9, dict(preprocessing=False)),  # Skips 4 frames by itself.
])
def test_a_sticky_frame_repeats_the_action_before_the_snapshot(
    probability, kwargs
):
  first, second = toys.singles(
      'ALE/MsPacman-v5',
      env_kwargs=dict(repeat_action_probability=probability),
      **kwargs,
  )
  taker = snapshots.Snapshots([first, second])
  actions = np.random.default_rng(0).integers(9, size=40)
  first.reset(seed=3)
  # The players move after 260 frames.
  _play(first, [0] * 65)
  taken, expected = [], []
  for action in actions:
    taken.append(taker.take(0))
    expected += _play(first, [action])
  first.reset(seed=3)  # Snapshots change nothing on the way.
  _play(first, [0] * 65)
  np.testing.assert_equal(_play(first, actions), expected)
  for t in reversed(range(len(actions))):
    taker.restore(1, taken[t])
    np.testing.assert_equal(
        _play(second, actions[t : t + 2]), expected[t : t + 2]
    )


def test_wrappers_are_part_of_a_snapshot():
  (env,) = toys.singles(toys.Drift, 1, max_episode_steps=5)
  taker = snapshots.Snapshots([env])
  env.reset(seed=0)
  _play(env, [3, 3])
  snapshot = taker.take(0)
  assert [m[3] for m in _play(env, [3] * 9)] == [False, False, True]
  taker.restore(0, snapshot)
  assert [m[3] for m in _play(env, [3] * 9)] == [False, False, True]


class Late(toys.Drift):
  """A Drift that copies without its state up to its eighth step."""

  hidden = [0.0]

  def reset(self, *, seed=None, options=None):
    Late.hidden[0] = self.count = 0
    return super().reset(seed=seed, options=options)

  def step(self, action):
    self.count += 1
    observation, reward, ended, _, _ = super().step(action)
    if self.count <= 8:
      Late.hidden[0] += 1
      reward = float(Late.hidden[0])
    return observation, reward, ended, False, {}


@pytest.mark.parametrize(('env', 'uses_snapshots'), [
    (toys.Drift, True), (toys.Generator, False), (toys.Outside, False),
    (Late, False),
])
def test_snapshots_are_used_where_they_repeat(env, uses_snapshots):
  explorer = toys.explorer(toys.singles(env))
  assert explorer.returner.uses_snapshots == uses_snapshots


@pytest.mark.parametrize(('name', 'memory_mb'), [
    ('toy', 0.0), ('toy', 0.002), ('toy', 500.0), ('minigrid', 0.002),
])
def test_put_back_equals_seed_and_actions(name, memory_mb):
  env, kwargs = _PARTS[name]
  explorer = toys.explorer(
      toys.singles(env, **kwargs), memory_mb=memory_mb, steps_per_visit=20
  )
  explorer.begin()
  toys.advance(explorer, 10)
  returner, archive = explorer.returner, explorer.archive
  assert memory_mb != 0.002 or returner._num_bytes <= 2000
  (fresh,) = toys.singles(env, 1, **kwargs)
  rng = np.random.default_rng(0)
  for cell in rng.integers(len(archive), size=20):
    if archive.keys[cell] is None:
      continue
    expected, _ = fresh.reset(seed=7)
    node = int(archive.column('node')[cell])
    for action in returner.actions.unpack(archive.actions_to(node)):
      expected = fresh.step(action)[0]
    observation = returner.put_back(1, cell)
    np.testing.assert_equal(observation, expected)
    actions = [returner.actions.sample(rng) for _ in range(5)]
    np.testing.assert_equal(
        _play(explorer.returner._envs[1], actions), _play(fresh, actions)
    )
  assert (returner.replayed_env_steps > 0) == (memory_mb < 500.0)


def test_what_cannot_be_put_back():
  with pytest.raises(returning.NotPutBack, match='went another way at step 1 '):
    toys.explorer(toys.singles(toys.Restless))


def test_another_way_later():
  explorer = toys.explorer(toys.singles(toys.Drift), memory_mb=0.0)
  explorer.begin()
  toys.advance(explorer, 2)
  explorer.returner._world_seeds[0] = 8  # Another episode than was explored.
  with pytest.raises(returning.NotPutBack, match='The episode of seed 8'):
    toys.advance(explorer, 1)


def _failing(observation, env):
  del observation
  return env.nothing


def test_key_function_that_fails():
  explorer = toys.explorer(toys.singles(toys.Drift), key_fn=_failing)
  with pytest.raises(cells.KeyFailure) as failure:
    explorer.begin()
  assert str(failure.value).startswith(
      'The key function _failing of an observation and its environment raised'
      ' AttributeError: '
  )
  explorer = toys.explorer(
      toys.singles(toys.Drift), key_fn=cells.minigrid_state
  )
  with pytest.raises(cells.KeyFailure) as failure:
    explorer.begin()
  assert str(failure.value).startswith(
      'The key function minigrid_state: minigrid_state needs a MiniGrid task,'
  )


class _Text(gymnasium.Env):
  observation_space = gymnasium.spaces.Box(0, 1, (1,))
  action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))


def test_actions_without_bounds():
  with pytest.raises(ValueError, match='Random actions need bounds'):
    toys.explorer([_Text()])
