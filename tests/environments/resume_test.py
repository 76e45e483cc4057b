# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run that is saved, ended and resumed equals one that was not."""

import functools
import pickle

import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec

from rnd_agents.environments import episode_replay
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from tests import environments_for_tests
from tests.environments import known

NUM_ENVIRONMENTS = 2


def ale():
  """An ALE game with sticky actions, whose frames every reset seeds."""
  ale_py = pytest.importorskip('ale_py')
  gymnasium.register_envs(ale_py)
  return functools.partial(
      gymnasium.make, 'ALE/Freeway-v5', obs_type='ram', max_episode_steps=150
  )


def minigrid():
  minigrid_wrappers = pytest.importorskip('minigrid.wrappers')
  return lambda: minigrid_wrappers.ImgObsWrapper(
      gymnasium.make('MiniGrid-DoorKey-5x5-v0', max_steps=70)
  )


def lunar_lander():
  pytest.importorskip('Box2D')
  return 'LunarLander-v3'


def bipedal_walker():
  pytest.importorskip('Box2D')
  return 'BipedalWalker-v3'


ENVIRONMENTS = {
    # Out of phase, so that some saved steps are LAST and their neighbours not.
    'MountainCar': lambda: 'MountainCar-v0',
    'CartPole': lambda: 'CartPole-v1',
    'Pendulum': lambda: 'Pendulum-v1',  # Continuous actions.
    'Hybrid': lambda: environments_for_tests.Hybrid,
    'LunarLander': lunar_lander,
    'BipedalWalker': bipedal_walker,
    'MiniGrid': minigrid,
    'ALE': ale,
    'DeepSea': lambda: functools.partial(
        gymnasium.make, 'rnd_agents/DeepSea-v0', size=7, deterministic=False
    ),
}


def actions_of(env, num_steps):
  """Random actions of T steps, the same each time."""
  rng = np.random.RandomState(0)
  spec = env.action_spec()
  return [
      tf.nest.map_structure(
          lambda *parts: np.stack(parts),
          *(array_spec.sample_spec_nest(spec, rng)
            for _ in range(env.batch_size)),
      )
      for _ in range(num_steps)
  ]


def assert_equal_steps(one, other):
  for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
    np.testing.assert_array_equal(a, b)


def check_resumed(make, num_steps, num_after, saves=4):
  """Plays through, saving on the way, then resumes from every save."""
  env = make()
  actions = actions_of(env, num_steps)
  steps, episodes, states = [env.reset()], [], {}
  last_was_saved = False
  for t, action in enumerate(actions):
    steps.append(env.step(action))
    is_last = (steps[-1].step_type == known.LAST).any()
    if (is_last and not last_was_saved) or t % (num_steps // saves) == 5:
      last_was_saved |= bool(is_last)
      # Pickled at once: what happens later must not change it.
      states[t + 1] = pickle.dumps(env.get_state())
    episodes.append(env.pop_episodes())
  env.close()
  assert last_was_saved and sum(len(e) for e in episodes) > 0
  for t, state in states.items():
    env = make()
    env.set_state(pickle.loads(state))
    assert_equal_steps(env.reset(), steps[t])
    # Episodes that ended with step t were still to be popped.
    popped = env.pop_episodes()
    assert popped == episodes[t - 1]
    for i in range(t, min(t + num_after, num_steps)):
      assert_equal_steps(env.step(actions[i]), steps[i + 1])
      assert env.pop_episodes() == episodes[i]
    env.close()


# In processes of their own environments resume by the same code: of a number,
# of nested actions, and of what only pickle can send.
@pytest.mark.parametrize(
    ('name', 'vectorization'),
    [(name, 'sync') for name in ENVIRONMENTS]
    + [(name, 'async') for name in ('CartPole', 'Hybrid', 'MiniGrid')],
)
def test_resumed_equals_unbroken(name, vectorization):
  env = ENVIRONMENTS[name]()

  def make():
    return loaders.load_environment(
        env, NUM_ENVIRONMENTS, seed=3, vectorization=vectorization
    )

  check_resumed(make, num_steps=300, num_after=150, saves=2)


def test_resumed_before_a_life_is_lost():
  lives = functools.partial(
      environments_for_tests.Steps,
      length=10,
      info=lambda env: {'lives': 5 - env.num_steps // 2},
  )
  check_resumed(
      lambda: loaders.load_environment(
          lives, NUM_ENVIRONMENTS, seed=0, lives_key='lives'
      ),
      num_steps=40,  # The second save is after 16, a step before a loss.
      num_after=10,
  )


def test_resumed_deep_sea_vector():
  for seed in (0, None):
    make = functools.partial(
        loaders.load_environment,
        'rnd_agents/DeepSea-v0',
        5,
        seed=seed,
        vectorization='vector_entry_point',
        # A map that only the state can bring back.
        env_kwargs={'size': 6, 'deterministic': False, 'mapping_seed': None},
    )
    check_resumed(make, num_steps=200, num_after=100)


class Remembers(environments_for_tests.Steps):
  """Shows how many episodes it has begun, which no seed brings back."""

  begun = 0

  def begin(self):
    self.begun += 1

  def observation(self):
    return np.float32([self.begun])


def test_what_cannot_be_replayed_is_not_restored_in_silence():
  env = loaders.load_environment(Remembers, 2)
  for _ in range(4):
    env.reset()
  for _ in range(2):
    env.step(np.zeros(2, int))
  with pytest.raises(failures.StateNotRestored, match='Environment 0'):
    loaders.load_environment(Remembers, 2).set_state(env.get_state())


def ends_after(length):
  """An environment that shows its seed."""
  return environments_for_tests.Steps(
      length,
      observation=lambda env: np.array([env.seed]),
      observation_space=spaces.Box(0, 2**31, (1,), np.int64),
  )


def test_an_episode_of_too_many_steps_is_not_restored(monkeypatch):
  monkeypatch.setattr(episode_replay, 'MAX_REPLAYED_STEPS', 3)
  env = loaders.load_environment(functools.partial(ends_after, 9), 2)
  env.reset()
  for _ in range(3):
    env.step(np.zeros(2, int))
  state = env.get_state()
  env.set_state(state)
  env.step(np.zeros(2, int))
  with pytest.raises(failures.StateNotRestored, match='too many to replay'):
    env.set_state(env.get_state())


@pytest.mark.parametrize('length, where', [(4, 'earlier than'), (6, 'not')])
@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_an_episode_that_ends_elsewhere_is_not_restored(
    vectorization, length, where
):
  def load(length):
    return loaders.load_environment(
        functools.partial(ends_after, length), 2, vectorization=vectorization
    )

  env = load(5)
  env.reset()
  for _ in range(5):
    env.step(np.zeros(2, int))
  state = env.get_state()
  env.close()
  assert (state['time_step'].step_type == known.LAST).all()
  other = load(length)
  message = f'Environment 0.* ends {where}'
  with pytest.raises(failures.StateNotRestored, match=message):
    other.set_state(state)
  other.close()


@pytest.mark.parametrize('resets', [True, False])
@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_after_a_failed_restore_episodes_have_the_seeds_they_report(
    vectorization, resets
):

  def load(lengths, seed):
    lengths = iter(lengths)
    return loaders.load_environment(
        lambda: ends_after(next(lengths)), 2, seed=seed,
        vectorization=vectorization,
    )

  env = load([4, 4], seed=1)
  env.reset()
  for _ in range(3):
    env.step(np.zeros(2, int))
  state = env.get_state()
  env.close()
  # The second of them cannot be restored; nor can the first of 'async', where
  # the first length is taken here, for the spaces, and each worker takes 2.
  other = load([4, 2], seed=77)
  other.reset()
  other.step(np.zeros(2, int))
  with pytest.raises(failures.StateNotRestored):
    other.set_state(state)
  if resets:
    time_step = other.reset()
  else:
    time_step = other.step(np.zeros(2, int))
  schedule = episode_seeds.stream(77)
  shown = [[schedule.seed_of(i, 2, 0)] for i in range(2)]
  np.testing.assert_array_equal(time_step.observation, shown)
  np.testing.assert_array_equal(time_step.step_type, [known.FIRST] * 2)
  seeds = {i: [] for i in range(2)}
  reported = {i: [] for i in range(2)}
  for _ in range(12):
    for i in np.flatnonzero(time_step.step_type == known.FIRST):
      seeds[i].append(int(time_step.observation[i, 0]))
    time_step = other.step(np.zeros(2, int))
    for episode in other.pop_episodes():
      reported[episode.environment_index].append(episode.seed)
  other.close()
  for i in range(2):
    assert len(reported[i]) >= 2
    assert reported[i] == seeds[i][:len(reported[i])]


def test_a_state_of_another_number_of_environments():
  state = loaders.load_environment('CartPole-v1', 2).get_state()
  with pytest.raises(ValueError, match='2 environments, and there are 3'):
    loaders.load_environment('CartPole-v1', 3).set_state(state)


def test_a_vector_environment_that_cannot_tell():
  env = loaders.load_environment(
      'CartPole-v1', 2, vectorization='vector_entry_point'
  )
  env.reset()
  with pytest.raises(NotImplementedError, match='CartPoleVectorEnv cannot be'):
    env.get_state()
  bare = vector_environment.VectorPyEnvironment(
      vector.SyncVectorEnv([lambda: gymnasium.make('CartPole-v1')])
  )
  with pytest.raises(NotImplementedError, match='SyncVectorEnv cannot be'):
    bare.get_state()


def test_reset_after_the_restored_one_begins_new_episodes():
  make = functools.partial(loaders.load_environment, 'CartPole-v1', 2, seed=0)
  env = make()
  env.reset()
  env.step(np.array([0, 1]))
  resumed = make()
  resumed.set_state(env.get_state())
  expected = env.reset()
  resumed.reset()
  assert_equal_steps(resumed.reset(), expected)
  # Also when a step came first.
  resumed = make()
  resumed.set_state(env.get_state())
  assert_equal_steps(resumed.current_time_step(), expected)
  assert_equal_steps(resumed.step(np.array([1, 1])), env.step(np.array([1, 1])))
  assert_equal_steps(resumed.reset(), env.reset())
  # And when a new seed was asked for.
  resumed.set_state(env.get_state())
  resumed.seed(9)
  env.seed(9)
  assert_equal_steps(resumed.reset(), env.reset())


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_an_environment_that_has_just_ended_takes_a_state(vectorization):
  load = functools.partial(
      loaders.load_environment,
      'CartPole-v1',
      2,
      vectorization=vectorization,
      max_episode_steps=3,
  )
  env, other = load(), load()
  env.reset()
  env.step(np.array([0, 1]))
  other.reset()
  for _ in range(3):
    other.step(np.array([0, 1]))
  assert other.current_time_step().is_last().all()
  other.set_state(env.get_state())
  for _ in range(4):
    assert_equal_steps(other.step(np.array([1, 0])), env.step(np.array([1, 0])))
  env.close()
  other.close()


def test_actions_in_an_array_that_is_used_again():
  env = episode_replay.SeededEpisodes(
      gymnasium.make('Pendulum-v1'), episode_seeds.stream(0)
  )
  env.reset()
  buffer = np.zeros(1, np.float32)
  for i in range(5):
    buffer[:] = i / 5
    observation = env.step(buffer)[0]
  other = episode_replay.SeededEpisodes(
      gymnasium.make('Pendulum-v1'), episode_seeds.stream(1)
  )
  restored = other.set_episode_state(env.get_episode_state())
  np.testing.assert_array_equal(restored, observation)
  # Saving does not end it, and the schedule comes along.
  np.testing.assert_array_equal(env.step(buffer)[0], other.step(buffer)[0])
  np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


@pytest.mark.parametrize(
    'env_id, actions',
    [
        ('CartPole-v1', [0, 1, 1, 0, 1, 0, 0, 1]),
        ('Pendulum-v1', [np.array([i], np.float32) for i in range(8)]),
    ],
)
def test_all_actions_of_a_long_episode_are_saved_in_pieces(
    monkeypatch, env_id, actions
):
  monkeypatch.setattr(episode_replay, '_STACKED_STEPS', 3)
  env, other = [
      episode_replay.SeededEpisodes(
          gymnasium.make(env_id), episode_seeds.stream(seed)
      )
      for seed in range(2)
  ]
  env.reset()
  for action in actions:
    observation = env.step(action)[0]
    state = env.get_episode_state()  # Saving adds no piece.
  assert [length for length, _ in state['actions']] == [3, 3, 2]
  np.testing.assert_array_equal(
      np.concatenate([stacked for _, stacked in state['actions']]), actions
  )
  np.testing.assert_array_equal(other.set_episode_state(state), observation)
  # The next episode begins without them.
  env.reset()
  assert env.get_episode_state()['actions'] == []


def test_an_unseeded_run_goes_on_with_its_own_schedule():
  env = loaders.load_environment('CartPole-v1', 2)
  env.reset()
  other = loaders.load_environment('CartPole-v1', 2)
  assert (other.reset().observation != env.reset().observation).any()
  other.set_state(env.get_state())
  other.reset()
  assert_equal_steps(other.reset(), env.reset())
