# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for loaders."""

import contextlib
import functools
import sys
import types

import gin
import gym
import gymnasium
from gymnasium.envs.classic_control import mountain_car
import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.environments import environment_ids
from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from rnd_agents.environments import single_environment
from rnd_agents.environments import vectorization
from rnd_agents.environments import wrappers
from rnd_agents.tasks import deep_sea
from tests import environments_for_tests

DEEP_SEA_ID = 'rnd_agents/DeepSea-v0'


class DoubledReward(gymnasium.RewardWrapper):

  def reward(self, reward):
    return 2 * reward


class ShiftedReward(gymnasium.RewardWrapper):

  def reward(self, reward):
    return reward + 1


def returns_nothing(env):
  del env


def first_episode(env):
  """Plays action 0 until an episode ends."""
  env.reset()
  for _ in range(1000):
    env.step(np.zeros(env.batch_size, int))
    for episode in env.pop_episodes():
      return episode


@pytest.mark.parametrize('env, limit, length', [
    ('MountainCar-v0', None, 200),  # The registered one.
    ('MountainCar-v0', 7, 7),
    ('MountainCar-v0', 300, 300),  # Beyond it.
    (functools.partial(gymnasium.make, 'MountainCar-v0'), None, 200),
    (mountain_car.MountainCarEnv, 9, 9),
])
def test_time_limits_are_truncations(env, limit, length):
  env = loaders.load_environment(env, max_episode_steps=limit)
  assert first_episode(env)[:5] == (0, -float(length), length, False, None)
  np.testing.assert_array_equal(env.current_time_step().discount, [1])


def test_time_limit_of_a_registered_vector_environment():
  env = loaders.load_environment(
      'CartPole-v1', 2, max_episode_steps=4, vectorization='vector_entry_point'
  )
  assert first_episode(env)[:6] == (0, 4.0, 4, False, None, None)


def test_a_second_time_limit_is_refused():
  with pytest.raises(ValueError, match='cannot replace the TimeLimit'):
    loaders.load_environment(
        lambda: gymnasium.make('MountainCar-v0'), max_episode_steps=300
    )


def test_kwargs_and_wrappers_in_order():
  make = functools.partial(deep_sea.DeepSeaEnv, size=2)
  for env in (make, DEEP_SEA_ID):
    env = loaders.load_environment(
        env,
        num_environments=3,
        env_kwargs={'unscaled_move_cost': 1.0, 'size': 2,
                    'randomize_actions': False},
        wrappers=[ShiftedReward, DoubledReward],
    )
    env.reset()
    # Left costs nothing and right 1 / 2; the treasure is far.
    reward = env.step(np.array([0, 1, 1])).reward
    np.testing.assert_array_equal(reward, [2 * (0 + 1), 2 * 0.5, 2 * 0.5])


@pytest.mark.parametrize('vectorizations, is_windy', [
    # The wind of an own vector environment is another, from another seed.
    (('sync', 'async'), True),
    (('sync', 'async', 'vector_entry_point'), False),
])
def test_the_vectorizations_agree(vectorizations, is_windy):
  actions = np.random.RandomState(0).randint(2, size=[12, 3])
  runs = []
  for way in vectorizations:
    env = loaders.load_environment(
        DEEP_SEA_ID,
        num_environments=3,
        seed=4,
        vectorization=way,
        env_kwargs={'size': 3, 'deterministic': not is_windy},
    )
    steps = [env.reset()] + [env.step(action) for action in actions]
    runs.append((np.array([s.observation for s in steps]),
                 np.array([s.reward for s in steps]),
                 [episode[:5] for episode in env.pop_episodes()]))
    env.close()
  for run in runs[1:]:
    np.testing.assert_array_equal(run[0], runs[0][0])
    np.testing.assert_array_equal(run[1], runs[0][1])
    assert run[2] == runs[0][2]
  # 12 steps: three episodes of 3 steps and a reset each.
  assert len(runs[0][2]) == 9


def _made_with(**attributes):
  def make():
    env = deep_sea.DeepSeaEnv()
    vars(env).update(attributes)
    return env

  return make


_NAN_BOX = gymnasium.spaces.Box(-1, 1, (2,))
_NAN_BOX.low = np.float32([np.nan, -1])


@pytest.mark.parametrize('kwargs, message', [
    (dict(env=_made_with(action_space=4)), 'action_space.* Space but .*int'),
    (dict(env=_made_with(observation_space=None), vectorization='async'),
     'observation_space.* Space but .*NoneType'),
    (dict(env=_made_with(observation_space=gym.spaces.Discrete(3))),
     'observation_space.* Space but gym.spaces'),
    (dict(env=_made_with(observation_space=gymnasium.spaces.Dict(a=_NAN_BOX))),
     'observation_space/a.* NaN or crossed'),
    (dict(env=_made_with(
        observation_space=gymnasium.spaces.Box(0, 255, (4, 4, 3), np.uint8)),
          wrappers=[functools.partial(
              gymnasium.wrappers.RescaleObservation, min_obs=0, max_obs=1)]),
     'uint8, which .*DtypeObservation'),
    (dict(env='CartPole-v1', num_environments=100_001), 'num_eval_episodes'),
    (dict(env='CartPole-v1', vectorization='threads'),
     "one of .*'async'.*, not 'threads'"),
    (dict(env='Cartpole-v1'), 'Similar ids: .*CartPole-v1'),
    (dict(env='LunarLandr-v3'), 'LunarLander-v3'),
    (dict(env='zzzz'), "environment 'zzzz'. Import"),
    (dict(env='MiniGrid-Empty-5x5-v0', env_kwargs=lambda place: {}),
     'env_kwargs must be a dict'),
    (dict(env='CartPole-v1', env_kwargs=lambda place: {'sise': place}),
     "CartPole-v1 does not take {'sise': 0}"),
    (dict(env='CartPole-v1', env_kwargs=lambda place: {},
          vectorization='vector_entry_point'), 'vector_entry_point'),
    (dict(env='CartPole-v1', env_kwargs=lambda place: place),
     r'env_kwargs must return a dict .*\[0\]'),
    (
        dict(env='LunarLander-v2'),
        r'LunarLander-v3, of which Gymnasium says: v3: .*wind',
    ),
    (dict(env='deepsea-v3'), 'Similar ids: rnd_agents/DeepSea-v0'),
    (dict(env='NetHackScore-v0'), "'NetHackScore-v0'. Import"),
    (dict(env='tests.environments.known:NoSuchClass'),
     "Unknown .*'NoSuchClass'. The module tests.environments.known neither"),
    (dict(env=deep_sea.DeepSeaEnv()), 'callable, not DeepSeaEnv'),
    (dict(env=lambda: 3), 'must return a gymnasium.Env.* int'),
    (dict(env=deep_sea.DeepSeaEnv, vectorization='vector_entry_point'),
     'needs a Gymnasium id'),
    (dict(env=DEEP_SEA_ID, vectorization='vector_entry_point',
          wrappers=[DoubledReward]), 'for single environments'),
    (dict(env=DEEP_SEA_ID, vectorization='vector_entry_point',
          action_repeat=2), 'action_repeat.* for single environments'),
    (dict(env=DEEP_SEA_ID, vectorization='vector_entry_point',
          action_mask_key=''), 'action_mask_key.* for single environments'),
    (dict(env=DEEP_SEA_ID, vectorization='vector_entry_point',
          env_kwargs={'sise': 3}), "does not take {'sise': 3}"),
    (dict(env='CartPole-v1', env_kwargs={'sise': 3}),
     "CartPole-v1 does not take {'sise': 3}"),
    (dict(env=deep_sea.DeepSeaEnv, env_kwargs={'sise': 3}),
     "DeepSeaEnv does not take {'sise': 3}"),
    (dict(env='CartPole-v1', wrappers=DoubledReward),
     'wrappers .*list.*DoubledReward'),
    (dict(env='CartPole-v1', wrappers=DoubledReward, action_repeat=2),
     'wrappers .*list.*DoubledReward'),
    (dict(env='CartPole-v1', wrappers=[DoubledReward, returns_nothing]),
     r'wrappers\[1\], returns_nothing.*NoneType'),
    (dict(env='CartPole-v1', seed=-1), 'not negative'),
    (dict(env='CartPole-v1', life_discount=0.5), 'life_discount .*lives_key'),
])
def test_bad_arguments(kwargs, message):
  with pytest.raises(failures.EnvironmentSetupError, match=message):
    loaders.load_environment(**kwargs)


class _Schedule:
  """A schedule that checkpoints cannot hold."""

  def seed_of(self, environment_index, num_environments, episode_index):
    return episode_index


@pytest.mark.parametrize('seeding', [_Schedule(), 3, (3,), _Schedule])
@pytest.mark.parametrize(
    'load',
    [
        functools.partial(loaders.load_environment, 'CartPole-v1'),
        lambda seeding: single_environment.from_gymnasium(
            gymnasium.make('CartPole-v1'), seeding=seeding
        ),
    ],
)
def test_a_schedule_that_no_checkpoint_can_hold(load, seeding):
  with pytest.raises(failures.EnvironmentSetupError, match='seeding must be a'):
    load(seeding=seeding)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('life_discount', -0.1),
        ('life_discount', 1.5),
        ('step_timeout_s', -1.0),
        ('num_environments', 0),
        ('num_environments', -2),
        ('num_environments', 2.5),
        ('max_episode_steps', 0),
        ('max_episode_steps', float('nan')),
        ('action_repeat', 0),
        ('first_place', -1),
        ('num_places', 0),
    ],
)
def test_a_number_out_of_range(name, value):
  with pytest.raises(errors.InvalidValue, match=f'{name} .*got {value}'):
    loaders.load_environment('CartPole-v1', lives_key='a', **{name: value})


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('num_environments', '2'),
        ('num_environments', None),
        ('seed', '0'),
        ('seed', 2.5),
        ('max_episode_steps', '10'),
        ('env_kwargs', 'size'),
        ('env_kwargs', [1]),
        ('action_repeat', None),
        ('reward_fn', 1.0),
        ('success_key', 3),
        ('preprocessing', 'False'),
        ('first_place', '0'),
        ('num_places', '1'),
    ],
)
def test_a_value_of_a_wrong_type(name, value):
  with pytest.raises(errors.InvalidType) as caught:
    loaders.load_environment('CartPole-v1', **{name: value})
  assert name in str(caught.value) and repr(value) in str(caught.value)


def test_a_number_without_a_fraction_is_a_count():
  environment = loaders.load_environment(
      'CartPole-v1', num_environments=np.float64(2.0)
  )
  with contextlib.closing(environment):
    assert environment.batch_size == 2


@pytest.mark.parametrize('env_kwargs', [{}, {'size': 3}])
def test_a_bug_in_a_constructor_is_none_of_the_arguments(env_kwargs):
  def make(**kwargs):
    return deep_sea.DeepSeaEnv(colour='blue', **kwargs)

  with pytest.raises(
      failures.EnvironmentFailure, match="TypeError.* argument 'colour'"
  ):
    loaders.load_environment(make, env_kwargs=env_kwargs)


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
@pytest.mark.parametrize('env', [
    environments_for_tests.Steps, 'rnd_agents/Recall-v0'
])
def test_arguments_of_each_place(env, vectorization):
  name = 'length' if callable(env) else 'delay_env_steps'
  env = loaders.load_environment(
      env,
      3,
      env_kwargs=lambda place: {name: place + 2},
      first_place=5,
      vectorization=vectorization,
  )
  env.reset()
  lengths = {}
  for _ in range(14):
    env.step(np.zeros(3, int))
    for episode in env.pop_episodes():
      lengths.setdefault(episode.environment_index, episode.length_env_steps)
  # Recall's cue and question are two steps more.
  more = 2 if name == 'delay_env_steps' else 0
  assert lengths == {i: 5 + i + 2 + more for i in range(3)}
  env.close()


def test_one_environment_twice():
  env = deep_sea.DeepSeaEnv()
  with pytest.raises(ValueError, match='same environment more than once'):
    loaders.load_environment(lambda: env, num_environments=2)


@pytest.mark.parametrize('env_id, module, extra', [
    ('ALE/MontezumaRevenge-v5', 'ale_py', 'atari'),
    ('MiniGrid-DoorKey-8x8-v0', 'minigrid', 'minigrid'),
    ('BabyAI-GoToObj-v0', 'minigrid', 'minigrid'),
    ('LunarLander-v3', 'Box2D', 'box2d'),
    ('BipedalWalkerHardcore-v3', 'Box2D', 'box2d'),
    ('CarRacing-v3', 'Box2D', 'box2d'),
])
def test_missing_packages_come_with_the_line_to_type(
    monkeypatch, env_id, module, extra
):
  monkeypatch.setitem(sys.modules, module, None)  # As if not installed.
  line = rf'{env_id} needs .* {module}: pip install "rnd_agents\[{extra}\]"'
  with pytest.raises(ImportError, match=line):
    loaders.load_environment(env_id)


@pytest.mark.parametrize('env_id, is_fresh', [
    ('BipedalWalker-v3', True),
    ('BipedalWalker', True),
    ('gymnasium:BipedalWalkerHardcore-v3', True),
    ('LunarLander-v3', False),
])
def test_worlds_that_outlive_episodes_are_made_anew(env_id, is_fresh):
  pytest.importorskip('Box2D')
  env = loaders.load_environment(env_id)
  inside = env.gymnasium_vector_env.envs[0]
  found = []
  while isinstance(inside, gymnasium.Wrapper):
    found.append(isinstance(inside, wrappers.FreshWorld))
    inside = inside.env
  assert any(found) == is_fresh


@pytest.mark.parametrize('packages, words', [
    (['nle'], ['"nle:NetHackScore-v0"']),
    (['craftax', 'nle'], ['"module:NetHackScore-v0"', 'craftax, nle']),
])
def test_packages_that_may_register_an_id(monkeypatch, packages, words):
  needs = dict.fromkeys(packages, ['numpy', 'gymnasium>=1.0'])
  needs |= dict(other=['gymnasium; extra == "x"'], plain=None)
  monkeypatch.setattr(
      environment_ids,
      'metadata',
      types.SimpleNamespace(
          packages_distributions=lambda: {name: [name] for name in needs},
          requires=needs.get,
      ),
  )
  with pytest.raises(failures.EnvironmentSetupError) as caught:
    loaders.load_environment('NetHackScore-v0')
  for word in words:
    assert word in str(caught.value)
  assert 'other' not in str(caught.value) and 'Similar' not in str(caught.value)


def _mujoco_in_parts():
  try:
    raise ImportError("its core bindings ('mujoco-core') are missing")
  except ImportError as error:
    raise gymnasium.error.DependencyNotInstalled('Not installed.') from error


def _enumerations_of_robotics():
  path = '/x/gymnasium_robotics/utils/mujoco_utils.py'
  exec(compile('assert False', path, 'exec'))


@pytest.mark.parametrize('env, advice', [
    (_mujoco_in_parts, 'pip uninstall -y mujoco mujoco-core'),
    (_enumerations_of_robotics, 'fails with MuJoCo 3.12.0.*"mujoco<3.12"'),
])
def test_versions_of_mujoco_that_do_not_work(monkeypatch, env, advice):
  monkeypatch.setattr(failures.metadata, 'version', {'mujoco': '3.12.0'}.get)
  with pytest.raises(failures.EnvironmentSetupError, match=advice):
    loaders.load_environment(env)


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_a_callable_of_a_module(vectorization):
  env = loaders.load_environment(
      'tests.environments_for_tests:Steps',
      2,
      env_kwargs={'length': 3},
      max_episode_steps=2,
      vectorization=vectorization,
  )
  assert env.name == 'Steps'
  assert first_episode(env)[:4] == (0, 3.0, 2, False)
  env.close()


def test_a_pool_of_environments_is_not_one():
  class Pool(environments_for_tests.Steps):
    config = {'num_envs': 8}
    spec = types.SimpleNamespace(config=config)  # EnvPool's own kind.

  for load in (
      lambda: loaders.load_environment(Pool),
      lambda: single_environment.from_gymnasium(Pool()),
  ):
    with pytest.raises(failures.EnvironmentSetupError, match='pool of 8'):
      load()


def test_default_names():
  name = vectorization.default_name
  assert name('CartPole-v1') == 'CartPole-v1'
  assert name('some.module:ALE/Pong-v5') == 'ALE-Pong-v5'
  assert name(deep_sea.DeepSeaEnv) == 'DeepSeaEnv'
  partial = functools.partial(deep_sea.DeepSeaEnv, size=3)
  assert name(functools.partial(partial, mapping_seed=1)) == 'DeepSeaEnv'
  assert name(lambda: None) == 'environment'


def test_a_module_of_configurables_may_come_with_the_id(tmp_path, monkeypatch):
  (tmp_path / 'configurable_pole.py').write_text("""
import gin
import gymnasium
from gymnasium.envs.classic_control import cartpole

@gin.configurable
class ConfigurablePole(cartpole.CartPoleEnv):
  pass

gymnasium.register('ConfigurablePole-v0', entry_point=ConfigurablePole)
""")
  monkeypatch.syspath_prepend(str(tmp_path))
  gin.parse_config_files_and_bindings([], [])  # Locks, as a program does.
  env = loaders.load_environment('configurable_pole:ConfigurablePole-v0')
  assert gin.config_is_locked()
  assert env.reset().observation.shape == (1, 4)


def test_gin_configures_it():
  gin.parse_config("""
      rnd_agents.load_environment.env = 'rnd_agents/DeepSea-v0'
      rnd_agents.load_environment.num_environments = 2
      rnd_agents.load_environment.env_kwargs = {'size': 3}
  """)
  env = loaders.load_environment()
  assert env.batch_size == 2
  assert env.observation_spec().shape == (3, 3)
