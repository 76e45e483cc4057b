# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pools of envpool against the environments that they copy."""

import sys

import gin
import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from rnd_agents.environments import wrappers

MID, LAST = ts.StepType.MID, ts.StepType.LAST


@pytest.fixture(autouse=True)
def _needs_envpool(request):
  if 'missing' not in request.node.name:
    pytest.importorskip('envpool')


def _pool(env_id, num_environments=4, **arguments):
  arguments = dict(dict(seed=0, vectorization='envpool'), **arguments)
  return loaders.load_environment(env_id, num_environments, **arguments)


def _actions(env, num_steps, seed=0):
  space = env.gymnasium_vector_env.action_space
  space.seed(seed)
  return [space.sample() for _ in range(num_steps)]


def _play(env, actions):
  """Returns the time steps of a reset and of actions, stacked [T, B, ...]."""
  steps = [env.reset(), *map(env.step, actions)]
  return tf.nest.map_structure(lambda *parts: np.stack(parts), *steps)


def _assert_equal(one, other):
  tf.nest.map_structure(np.testing.assert_array_equal, one, other)


# Worlds without chance, so that whole rollouts must be equal.
@pytest.mark.parametrize(
    ('env_id', 'arguments'),
    [
        # Several truncations in a row, and goals.
        ('MiniGrid-Empty-5x5-v0', dict(env_kwargs={'max_steps': 25})),
        ('MiniGrid-Empty-5x5-v0', dict(max_episode_steps=17)),
        # With lava.
        ('MiniGrid-DistShift1-v0', dict(env_kwargs={'max_steps': 30})),
        ('CliffWalking-v1', dict(max_episode_steps=9)),
    ],
)
def test_rollouts_are_those_of_the_original(env_id, arguments):
  if env_id.startswith('MiniGrid'):
    pytest.importorskip('minigrid')
  pool = _pool(env_id, **arguments)
  original = _pool(env_id, vectorization='sync', **arguments)
  # Mostly forward, so that something is reached.
  actions = np.array(_actions(pool, 400))
  actions = np.where(np.random.default_rng(0).random(actions.shape) < 0.5,
                     np.minimum(actions, 2), 2)
  steps, expected = _play(pool, actions), _play(original, actions)

  _assert_equal(steps, expected)
  ends = steps.discount[steps.step_type == LAST]
  assert (ends == 1).sum() > 5
  assert env_id.startswith('Cliff') or (ends == 0).sum() > 2
  assert pool.pop_episodes() == [
      episode._replace(seed=None) for episode in original.pop_episodes()
  ]
  assert (
      pool.gymnasium_vector_env.spec.max_episode_steps
      == arguments.get('max_episode_steps', 25 if '5x5' in env_id else 30)
  )


def test_goals_on_the_step_of_the_limit_terminate():
  pytest.importorskip('minigrid')
  path = np.array([2, 2, 1, 2, 2])[:, np.newaxis].repeat(3, 1)
  grid = _pool('MiniGrid-Empty-5x5-v0', 3, env_kwargs={'max_steps': 5})
  cliff = _pool('CliffWalking-v1', 3, max_episode_steps=13)
  for env, actions, reward in (
      (grid, path, 1 - 0.9 * 5 / 5),
      (cliff, np.repeat([0, *[1] * 11, 2], 3).reshape(13, 3), -1),
  ):
    for _ in range(2):  # The episode after it is a whole one.
      steps = _play(env, actions)
      assert (steps.step_type[-2:] == [[MID], [LAST]]).all()
      np.testing.assert_allclose(steps.reward[-1], reward)
      assert (steps.discount[-1] == 0).all()
      env.step(actions[0])


def test_falls_on_the_step_of_the_limit_terminate():
  # Poles that are pushed to the right fall after some steps.
  right = np.ones([15, 8], np.int64)
  falls = _play(_pool('CartPole-v1', 8), right).step_type == LAST
  first = falls.argmax(axis=0)
  limit = int(first.max())
  steps = _play(_pool('CartPole-v1', 8, max_episode_steps=limit), right)
  assert (steps.discount[limit, first == limit] == 0).all()
  limit = int(first.min()) - 1
  steps = _play(_pool('CartPole-v1', 8, max_episode_steps=limit), right)
  assert (steps.step_type[limit] == LAST).all()
  assert (steps.discount == 1).all()
  # Each of the episodes begins near the middle.
  assert np.abs(steps.observation[:: limit + 1]).max() <= 0.05


# (id, function from an observation to the original's state)
@pytest.mark.parametrize(
    ('env_id', 'state'),
    [
        ('CartPole-v1', lambda x: x),
        ('MountainCar-v0', lambda x: x),
        ('MountainCarContinuous-v0', lambda x: x),
        ('Pendulum-v1', lambda x: [np.arctan2(x[1], x[0]), x[2]]),
        (
            'Acrobot-v1',
            lambda x: [
                np.arctan2(x[1], x[0]), np.arctan2(x[3], x[2]), x[4], x[5]
            ],
        ),
    ],
)
def test_trajectories_are_those_of_the_original(env_id, state):
  pool = _pool(env_id, 2, max_episode_steps=120)
  original = gymnasium.make(env_id, disable_env_checker=True).unwrapped
  actions = np.array(_actions(pool, 300))
  steps = _play(pool, actions)
  for t, i in np.argwhere(steps.step_type[:-1] != LAST):
    original.reset()
    original.state = np.array(state(steps.observation[t, i].astype(float)))
    observation, reward, terminated, *_ = original.step(actions[t, i])
    if env_id == 'Pendulum-v1' and abs(observation[2]) == 8:
      continue  # The log and the docs say how envpool's differs there.
    np.testing.assert_allclose(
        steps.observation[t + 1, i], observation, atol=1e-5, rtol=1e-5
    )
    np.testing.assert_allclose(steps.reward[t + 1, i], reward, atol=1e-5)
    assert (steps.discount[t + 1, i] == 0) == terminated
  assert (steps.step_type == LAST).sum() >= 4


@pytest.mark.parametrize(
    ('env_id', 'package'),
    [
        ('LunarLander-v3', 'Box2D'),
        ('HalfCheetah-v5', 'mujoco'),
        ('FrozenLake-v1', 'numpy'),
        ('MiniGrid-DoorKey-8x8-v0', 'minigrid'),
        ('MiniGrid-KeyCorridorS3R3-v0', 'minigrid'),
        ('MiniGrid-LavaCrossingS9N1-v0', 'minigrid'),
        ('BabyAI-GoToObj-v0', 'minigrid'),
    ],
)
def test_specs_and_limits_are_those_of_the_original(env_id, package):
  pytest.importorskip(package)
  if package == 'minigrid':
    import minigrid  # noqa: F401
  pool = _pool(env_id, 2)
  original = _pool(env_id, 2, vectorization='sync')
  assert pool.time_step_spec() == original.time_step_spec()
  assert pool.action_spec() == original.action_spec()
  env = original.gymnasium_vector_env.envs[0]
  if package == 'minigrid':
    limit = None if env_id[:6] == 'BabyAI' else env.unwrapped.max_steps
  else:
    limit = env.spec.max_episode_steps
  assert pool.gymnasium_vector_env.spec.max_episode_steps == limit
  _play(pool, _actions(pool, 20))  # The adapter checks their range.


def test_missions_and_rewards_of_minigrid():
  pytest.importorskip('minigrid')
  for env_id in ('MiniGrid-Fetch-5x5-N2-v0', 'BabyAI-GoToObj-v0'):
    with gin.unlock_config():
      gin.bind_parameter('load_minigrid.mission', 'words')
    pool = _pool(env_id, 16)
    original = _pool(env_id, 2, vectorization='sync')
    assert pool.observation_spec() == original.observation_spec()
    steps = _play(pool, np.array(_actions(pool, 300)) % 4)
    words = steps.observation['mission']
    assert (words != 1).all()  # None is unknown.
    assert len(np.unique(words.reshape(-1, 64), axis=0)) > 5
    # 1 - 0.9 t / T, of float64.
    limit = {'M': 125, 'B': 64}[env_id[0]]
    episodes = pool.pop_episodes()
    successes = [each for each in episodes if each.return_ > 0]
    assert len(successes) > 5
    for each in successes:
      assert each.terminated
      np.testing.assert_allclose(
          each.return_, 1 - 0.9 * each.length_env_steps / limit, atol=1e-6
      )


def test_frames_rewards_lives_and_rooms_of_atari():
  pytest.importorskip('ale_py')
  arguments = dict(
      env_kwargs=dict(
          repeat_action_probability=0.0,
          noop_max=1,
          max_num_frames_per_episode=1 + 4 * 60,
      ),
      lives_key='lives',
  )
  pool = _pool('ALE/MontezumaRevenge-v5', 2, **arguments)
  original = _pool(
      'ALE/MontezumaRevenge-v5',
      2,
      vectorization='sync',
      wrappers=[wrappers.RoomsVisited],
      **arguments,
  )
  assert pool.time_step_spec() == original.time_step_spec()
  one, other = pool.reset(), original.reset()
  lasts = 0
  for action in _actions(pool, 130):
    # Gymnasium leaves the last raw frame of the limit out.
    is_cut = one.is_last() & (one.discount == 1)
    one.observation[is_cut, ..., -1] = other.observation[is_cut, ..., -1] = 0
    _assert_equal(one, other)
    for key in ('lives', 'room', 'rooms_visited'):
      np.testing.assert_array_equal(
          pool.get_info()[key], original.get_info()[key], key
      )
    lasts += one.is_last().sum()
    one, other = pool.step(action), original.step(action)
  assert lasts >= 4


def test_sticky_actions_of_atari():
  pytest.importorskip('ale_py')
  same = []
  for probability in (0.0, 0.25):
    pool = _pool(
        'ALE/Breakout-v5',
        env_kwargs=dict(repeat_action_probability=probability),
    )
    steps = _play(pool, np.tile([[1], [2], [0], [3]], [3, 4]))
    frames = steps.observation[-1, ..., -1]
    same.append(len(np.unique(frames.reshape(4, -1), axis=0)) == 1)
  assert same == [True, False]


def test_equal_seeds_give_equal_bytes_and_others_share_no_stream():
  actions = np.array(_actions(_pool('CartPole-v1', 8), 60))
  one, same = (_play(_pool('CartPole-v1', 8), actions) for _ in range(2))
  _assert_equal(one, same)
  firsts = [
      _pool('CartPole-v1', 8, seed=seed).reset().observation
      for seed in (0, 1, 2)
  ]
  env = _pool('CartPole-v1', 8)
  firsts += [env.reset().observation, env.reset().observation]
  firsts.append(env.reset_with_seeds(range(8)).observation)
  np.testing.assert_array_equal(firsts[0], firsts[3])
  assert len(np.unique(np.concatenate(firsts), axis=0)) == 5 * 8
  # A seed of a list depends neither on its place nor on the episodes before.
  again = env.reset_with_seeds([7, 3, *range(6)]).observation
  np.testing.assert_array_equal(again[:2], firsts[-1][[7, 3]])


def test_a_state_that_cannot_be_saved():
  env = _pool('CartPole-v1', 2)
  env.reset()
  with pytest.raises(NotImplementedError, match='begin new ones'):
    env.get_state()
  env.close()


def test_ids_that_only_envpool_has():
  # Its bounds are those of envpool: 1.2e-38 for "none".
  env = _pool('LunarLander-v2', 4, max_episode_steps=30)
  assert env.observation_spec().minimum < -1e30
  steps = _play(env, _actions(env, 31))
  assert (steps.observation < 0).any()
  assert (steps.step_type[30] == LAST).all()
  # One that keeps its own flags and does not obey a limit.
  env = _pool('Snake-v1', 2, max_episode_steps=2)
  steps = _play(env, _actions(env, 5))
  assert (steps.step_type[[2, 5]] == LAST).all()


@pytest.mark.parametrize('observation', ['dict', 'one_hot'])
def test_cells_of_obstructed_mazes_are_those_of_the_original(observation):
  pytest.importorskip('minigrid')
  env_id, num_worlds = 'MiniGrid-ObstructedMaze-2Dlhb-v1', 400
  with gin.unlock_config():
    gin.bind_parameter('load_minigrid.observation', observation)
  numbers = []
  for vectorization in ('envpool', 'sync'):
    env = _pool(env_id, num_worlds, vectorization=vectorization)
    first = env.reset().observation
    cells = first['image'] if observation == 'dict' else first
    # How often each kind, colour and state of a cell is seen in each world.
    kinds, found = np.unique(
        cells.reshape(-1, cells.shape[-1]), axis=0, return_inverse=True
    )
    seen = np.eye(len(kinds))[found.reshape(num_worlds, -1)].sum(axis=1)
    numbers.append(
        dict(zip(map(tuple, kinds), zip(seen.mean(axis=0), seen.var(axis=0))))
    )
  pool, original = numbers
  assert pool.keys() == original.keys()
  # Three without colour, a ball, a box, doors of six colours closed or locked.
  assert len(pool) == 3 + 2 + 6 * 2
  for kind, (mean, variance) in pool.items():
    other_mean, other_variance = original[kind]
    error = np.sqrt((variance + other_variance) / num_worlds)
    assert abs(mean - other_mean) < 4 * error, kind


def test_other_worlds_by_their_own_name():
  pytest.importorskip('minigrid')
  env = _pool('envpool:MiniGrid-MultiRoom-N2-S4-v0', 2)
  env.reset()
  with pytest.raises(failures.EnvironmentFailure, match='eval/'):
    env.reset_with_seeds([0, 1])


@pytest.mark.parametrize(
    ('env_id', 'arguments', 'message'),
    [
        ('MiniGrid-ObstructedMaze-Full-v1', {}, "'envpool:MiniGrid"),
        ('MiniGrid-ObstructedMaze-Full-v0', {}, 'side room'),
        ('BabyAI-ActionObjDoor-v0', {}, 'no key'),
        ('BabyAI-SynthS5R2-v0', {}, 'never return'),
        ('MiniGrid-MultiRoom-N6-v0', {}, 'cannot be reached'),
        ('Blackjack-v1', {}, 'Tuple'),
        ('Pong-v5', {}, 'ALE/Pong-v5'),
        ('Go9x9-v1', {}, '2 players'),
        ('CartPole-v7', {}, 'CartPole-v1'),
        ('CartPole-v1', dict(env_kwargs={'gravity': 1.0}), 'gravity'),
        ('CartPole-v1', dict(env_kwargs={'num_envs': 1}), 'num_envs'),
        ('CartPole-v1', dict(env_kwargs={'num_threads': 'x'}), 'refuses'),
        ('HalfCheetah-v5', dict(env_kwargs={'frame_stack': 2}), 'frame_stack'),
        ('CartPole-v1', dict(wrappers=[gymnasium.Wrapper]), 'wrappers'),
        ('CartPole-v1', dict(action_repeat=2), 'action_repeat'),
        ('CartPole-v1', dict(env_kwargs=lambda place: {}), 'Gymnasium id'),
        (lambda: gymnasium.make('CartPole-v1'), {}, 'Gymnasium id'),
        ('envpool:CartPole-v1', dict(vectorization='sync'), "= 'envpool'"),
        ('LunarLander-v2', dict(vectorization='sync'), "= 'envpool'"),
        (
            'MiniGrid-Empty-5x5-v0',
            dict(preprocessing=False),
            'preprocessing',
        ),
        (
            'ALE/Pong-v5',
            dict(env_kwargs={'terminal_on_life_loss': True}),
            'terminal_on_life_loss',
        ),
    ],
)
def test_refused(env_id, arguments, message):
  if str(env_id)[:3] in ('Min', 'Bab', 'env'):
    pytest.importorskip('minigrid')
  if str(env_id)[:3] in ('ALE', 'Hal', 'Lun'):
    for package in ('ale_py', 'mujoco', 'Box2D'):
      pytest.importorskip(package)
  with pytest.raises(failures.EnvironmentSetupError, match=message):
    _pool(env_id, **arguments)


def test_actions_are_checked_before_the_pool_sees_them():
  env = _pool('CartPole-v1', 2)
  env.reset()
  for action in ([0, 2], [-1, 0], [[0], [1]], [0], [0.0, 1.0]):
    with pytest.raises((ValueError, TypeError)):
      env.step(np.array(action))


def test_missing_package(monkeypatch):
  monkeypatch.setitem(sys.modules, 'envpool', None)
  with pytest.raises(failures.MissingPackageError, match=r'\[envpool\]'):
    _pool('CartPole-v1')
