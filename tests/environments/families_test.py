# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every family of environments by its id: loads, steps, seeds both ways."""

import os

os.environ.setdefault('SDL_VIDEODRIVER', 'dummy')
os.environ.setdefault('SDL_AUDIODRIVER', 'dummy')

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec

from rnd_agents.environments import check
from rnd_agents.environments import loaders
from tests.environments import known

# (ids, the package without which they are skipped, shape and dtype observed)
FAMILIES = {
    'classic_control': (
        [
            'CartPole-v1',
            'MountainCar-v0',
            'MountainCarContinuous-v0',
            'Acrobot-v1',
            'Pendulum-v1',
        ],
        None,
    ),
    'toy_text': (['FrozenLake-v1', 'Blackjack-v1'], None),
    'box2d': (
        ['LunarLander-v3', 'BipedalWalker-v3', 'CarRacing-v3'], 'Box2D'
    ),
    'mujoco': (['HalfCheetah-v5', 'Hopper-v5', 'Ant-v5'], 'mujoco'),
    'ale': (
        [
            'ALE/MontezumaRevenge-v5',
            'ALE/Venture-v5',
            'ALE/PrivateEye-v5',
            'ALE/Gravitar-v5',
            'ALE/Pitfall-v5',
            'ALE/Solaris-v5',
            'ALE/Freeway-v5',
            'ALE/Pong-v5',
        ],
        'ale_py',
    ),
    'minigrid': (
        [
            'MiniGrid-Empty-Random-5x5-v0',
            'MiniGrid-DoorKey-5x5-v0',
            'MiniGrid-MultiRoom-N2-S4-v0',
            'MiniGrid-KeyCorridorS3R1-v0',
            'MiniGrid-ObstructedMaze-1Dl-v0',
            'MiniGrid-MemoryS7-v0',
        ],
        'minigrid',
    ),
    'deep_sea': (['rnd_agents/DeepSea-v0'], None),
}
IDS = [
    pytest.param(env_id, module, id=env_id)
    for ids, module in FAMILIES.values()
    for env_id in ids
]
NUM_ENVIRONMENTS = 2
# A step of CarRacing draws a picture.
NUM_STEPS = {'CarRacing-v3': 60}
# Without wind, all seeds of Deep Sea are alike.
ENV_KWARGS = {'rnd_agents/DeepSea-v0': {'deterministic': False}}


# Steps that the checker may take where they are slow.
CHECKED_STEPS = {'ale': 50, 'box2d': 200, 'CarRacing-v3': 20}


def load(env_id, module, seed):
  """Returns two environments, or skips the test, naming what is missing."""
  if module is not None:
    pytest.importorskip(module, reason=f'{env_id} needs {module}')
  return loaders.load_environment(
      env_id,
      NUM_ENVIRONMENTS,
      seed=seed,
      env_kwargs=ENV_KWARGS.get(env_id),
  )


def play(env, num_steps):
  """The time steps of random actions, the same each time."""
  rng = np.random.RandomState(0)
  spec = array_spec.add_outer_dims_nest(
      env.action_spec(), (NUM_ENVIRONMENTS,)
  )
  steps = [env.reset()]
  for _ in range(num_steps):
    steps.append(env.step(array_spec.sample_spec_nest(spec, rng)))
  return steps


def as_bytes(steps):
  return [[a.tobytes() for a in tf.nest.flatten(step)] for step in steps]


def _check_steps(env, steps):
  """Their types, and the episodes that the environment tells of them."""
  spec = array_spec.add_outer_dims_nest(
      env.observation_spec(), (NUM_ENVIRONMENTS,)
  )
  previous = np.full(NUM_ENVIRONMENTS, known.LAST)
  returns = np.zeros(NUM_ENVIRONMENTS)
  expected = []
  for step in steps:
    assert array_spec.check_arrays_nest(step.observation, spec)
    # FIRST after LAST, and only then.
    np.testing.assert_array_equal(
        step.step_type == known.FIRST, previous == known.LAST
    )
    first = step.step_type == known.FIRST
    assert not step.reward[first].any() and step.discount[first].all()
    assert step.discount[step.step_type == known.MID].all()
    returns[first] = 0.0
    returns += step.reward
    for i in np.flatnonzero(step.step_type == known.LAST):
      expected.append((i, returns[i], step.discount[i] == 0.0))
    previous = step.step_type
  episodes = env.pop_episodes()
  assert [(e.environment_index, e.terminated) for e in episodes] == [
      (i, terminated) for i, _, terminated in expected
  ]
  np.testing.assert_allclose(
      [e.return_ for e in episodes], [e[1] for e in expected], rtol=1e-4,
      atol=1e-3,
  )


@pytest.mark.parametrize('env_id, module', IDS)
def test_random_steps_and_seeds_both_ways(env_id, module):
  env = load(env_id, module, seed=3)
  steps = play(env, NUM_STEPS.get(env_id, 500))  # Of each of the two.
  _check_steps(env, steps)
  num_steps = 25 if env_id in NUM_STEPS else 50
  one = as_bytes(steps[: num_steps + 1])
  # The same object, seeded anew, and another one.
  env.seed(3)
  assert as_bytes(play(env, num_steps)) == one
  env.close()
  env = load(env_id, module, seed=3)
  assert as_bytes(play(env, num_steps)) == one
  env.seed(4)
  assert as_bytes(play(env, num_steps)) != one
  env.close()


# Of the games, which are one class, the first ones.
@pytest.mark.parametrize(
    'env_id, module',
    [
        each
        for each in IDS
        if each.id not in FAMILIES['ale'][0][2:]
    ],
)
def test_checker(env_id, module):
  if module is not None:
    pytest.importorskip(module, reason=f'{env_id} needs {module}')
  (family,) = [name for name, (ids, _) in FAMILIES.items() if env_id in ids]
  report = check.check_environment(
      check.find_callable(env_id, ENV_KWARGS.get(env_id, {})),
      num_episodes=2,
      max_steps=CHECKED_STEPS.get(env_id, CHECKED_STEPS.get(family, 700)),
  )
  # What is left is what the few steps do not reach, or no fault at all.
  assert {found.rule for found in report.findings} <= {'episode-end'}


def test_there_are_at_least_25():
  assert len(IDS) >= 25
  assert len({param.id for param in IDS}) == len(IDS)
