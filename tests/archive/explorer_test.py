# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of exploration: what it finds, and that it repeats."""

import io

import numpy as np
import pytest

from rnd_agents import plain_data
from rnd_agents.archive import cells
from tests.archive import toys

_SIZE = 8


def _deep_sea(num_environments=2, **kwargs):
  return toys.singles(
      'rnd_agents/DeepSea-v0', num_environments, env_kwargs={'size': _SIZE},
      **kwargs,
  )


def _deep_sea_explorer(envs, **kwargs):
  return toys.explorer(
      envs, key_fn=cells.position_of_largest, steps_per_visit=_SIZE, **kwargs
  )


def test_solves_deep_sea():
  explorer = _deep_sea_explorer(_deep_sea(), target_score=0.9)
  explorer.begin()
  env_steps = 0
  for num_env_steps in explorer.iterations():  # It ends by itself.
    env_steps += num_env_steps
    assert env_steps < 50_000  # At random: 2**8 episodes.
  archive = explorer.archive
  best = archive.best(0)
  # 1 for the treasure, less 0.01 for the eight moves.
  assert archive.column('score')[best] == pytest.approx(0.99, abs=1e-12)
  assert archive.column('length')[best] == _SIZE
  # All cells above the diagonal can be reached, and nothing else.
  assert len(archive) <= _SIZE * (_SIZE + 1) / 2 + 1


def _bytes(state):
  file = io.BytesIO()
  plain_data.dump(state, file)
  return file.getvalue()


def _novelty(observations):
  return 1.0 + observations[:, 0] ** 2


@pytest.mark.parametrize('kwargs', [
    dict(repeat_probability=0.5),
    dict(world_seeds=(1, 2, 3), novelty=_novelty),
    dict(memory_mb=0.0),
])
def test_a_state_continues_bit_for_bit(kwargs):
  def explorer(seed=0):
    return toys.explorer(
        toys.singles(toys.Drift), seed=seed, steps_per_visit=15, **kwargs
    )

  whole, begun, resumed, other = (explorer(s) for s in (0, 0, 0, 1))
  for each in (whole, begun, other):
    each.begin()
  toys.advance(whole, 8)
  toys.advance(other, 8)
  toys.advance(begun, 3)
  resumed.set_state(begun.get_state())
  toys.advance(resumed, 5)
  expected = _bytes(whole.get_state())
  assert _bytes(resumed.get_state()) == expected
  assert _bytes(other.get_state()) != expected


def test_worlds_are_apart():
  explorer = toys.explorer(
      toys.singles(toys.Drift), world_seeds=(1, 2), steps_per_visit=5
  )
  explorer.begin()
  toys.advance(explorer, 10)
  (env,) = toys.singles(toys.Drift, 1)
  archive = explorer.archive
  assert set(archive.column('world')) == {0, 1}
  for cell in range(len(archive)):
    world = archive.column('world')[cell]
    observation, _ = env.reset(seed=[1, 2][world])
    score = 0.0
    data = archive.actions_to(int(archive.column('node')[cell]))
    for action in explorer.returner.actions.unpack(data):
      observation, reward, ended, _, _ = env.step(action)
      score += reward
    assert score == archive.column('score')[cell]
    key = None if len(data) and ended else cells.coarse_observation(
        observation, env)
    assert key == archive.keys[cell]


def test_explores_by_a_policy():
  envs = _deep_sea()
  mapping = envs[0].unwrapped.action_mapping

  def act(observations):
    assert observations.shape == (2, _SIZE, _SIZE)
    at = observations.reshape(2, -1).argmax(1)
    return mapping.reshape(-1)[at]

  explorer = _deep_sea_explorer(envs, act=act)
  explorer.begin()
  toys.advance(explorer, 1)  # Every action steers right.
  archive = explorer.archive
  assert archive.column('score')[archive.best(0)] == pytest.approx(0.99)
  diagonal = [(i, i) for i in range(_SIZE)] + [None]
  assert archive.keys == diagonal


class _Lists(toys.Drift):
  """Observes a list of numbers, which a Box takes."""

  def reset(self, *, seed=None, options=None):
    observation, info = super().reset(seed=seed, options=options)
    return observation.tolist(), info

  def step(self, action):
    observation, *others = super().step(action)
    return observation.tolist(), *others


def test_a_list_is_the_observation_of_one_environment():
  # Two environments of two numbers each: not one array for each number.
  shown = {}
  for env in (toys.Drift, _Lists):
    shown[env] = found = []

    def act(observations, found=found):
      found.append(observations)
      return np.zeros(len(observations), np.int64)

    explorer = toys.explorer(toys.singles(env), act=act, steps_per_visit=3)
    explorer.begin()
    toys.advance(explorer, 2)
  np.testing.assert_array_equal(shown[_Lists], shown[toys.Drift])


def test_random_actions_where_the_policy_has_no_say():
  def explorer(**kwargs):
    explorer = _deep_sea_explorer(_deep_sea(), **kwargs)
    explorer.begin()
    toys.advance(explorer, 3)
    return explorer.archive

  def act(observations):
    return np.zeros(len(observations), np.int64)

  assert set(explorer(act=act, act_probability=0.0).keys) > {(1, 1), None}


def test_random_actions_repeat():
  explorer = toys.explorer(
      toys.singles(toys.Drift, 1), steps_per_visit=12, repeat_probability=1.0
  )
  explorer.begin()
  toys.advance(explorer, 1)
  archive = explorer.archive
  longest = int(np.argmax(archive.column('length')))
  data = archive.actions_to(int(archive.column('node')[longest]))
  actions = explorer.returner.actions.unpack(data)
  assert len(actions) > 3 and len(set(actions.tolist())) == 1
  assert actions[0] in (2, 3, 4)


def test_novelty_is_that_of_the_latest_visit():
  calls = []

  def novelty(observations):
    calls.append(observations)
    return 100.0 * len(calls) + np.arange(len(observations))

  explorer = _deep_sea_explorer(_deep_sea(), novelty=novelty)
  explorer.begin()
  expected = {}
  for call in (1, 2, 3):
    toys.advance(explorer, 1)
    for i, observation in enumerate(calls[-1]):
      key = cells.position_of_largest(observation, None)
      expected[key if observation.any() else None] = 100.0 * call + i
  archive = explorer.archive
  assert dict(zip(archive.keys, archive.column('novelty'))) == expected
  with pytest.raises(ValueError, match='must return a finite number'):
    bad = _deep_sea_explorer(_deep_sea(), novelty=lambda x: -np.ones(len(x)))
    bad.begin()
    toys.advance(bad, 1)
