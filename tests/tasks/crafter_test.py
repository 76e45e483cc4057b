# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for crafter, beside the package `crafter`."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.environments import check
from rnd_agents.environments import loaders
from rnd_agents.tasks import crafter

crafter_package = pytest.importorskip('crafter')

# Prints the sum of all pictures of 500 steps, each times its number.
_PLAY = '''
import sys
import gymnasium
import numpy as np
from rnd_agents import tasks
kept = [object() for _ in range(int(sys.argv[1]))]  # Moves addresses.
env = gymnasium.make('rnd_agents/Crafter-v0', length=300)
actions = np.random.default_rng(0).integers(17, size=500)
env.reset(seed=4)
total = 0
for i, action in enumerate(actions):
  observation, _, terminated, truncated, _ = env.step(action)
  total += (i + 1) * int(observation.sum())
  if terminated or truncated:
    env.reset()
print(total)
'''


def _play(env, num_steps, seed=4, actions_seed=0):
  """Returns what each step returned, with the resets after the ends."""
  actions = np.random.default_rng(actions_seed).integers(17, size=num_steps)
  told = [env.reset(seed=seed)]
  for action in actions:
    told.append(env.step(action))
    if told[-1][2] or told[-1][3]:
      told.append(env.reset())
  return told


def test_the_worlds_and_rewards_are_those_of_the_package():
  ours, theirs = crafter.Crafter(), crafter_package.Env(seed=7)
  # Creatures that leave are found in an order of its own.
  theirs._balance_chunk = ours._game._balance_chunk = lambda *_: None
  np.testing.assert_array_equal(ours.reset(seed=7)[0], theirs.reset())
  rng = np.random.default_rng(0)
  num_episodes, total = 0, 0.0
  for _ in range(500):
    action = int(rng.integers(17))
    observation, reward, terminated, truncated, info = ours.step(action)
    expected, its_reward, done, its_info = theirs.step(action)
    np.testing.assert_array_equal(observation, expected)
    assert reward == its_reward and (terminated or truncated) == done
    total += abs(reward)
    if done:
      num_episodes += 1
      reached = {k: v > 0 for k, v in its_info['achievements'].items()}
      assert info == dict(
          achievements=reached, num_achievements=sum(reached.values())
      )
      assert len(reached) == 22
      np.testing.assert_array_equal(ours.reset()[0], theirs.reset())
  assert num_episodes >= 1 and total > 1


def test_episodes_are_the_same_in_other_processes():
  sums = {
      subprocess.run(
          [sys.executable, '-c', _PLAY, str(num_objects)],
          check=True, capture_output=True, text=True,
      ).stdout
      for num_objects in (0, 12_345)
  }
  assert len(sums) == 1


def test_an_episode_depends_on_its_seed_and_actions_alone():
  env = crafter.Crafter(length=60)
  first = _play(env, 150)
  second = _play(env, 150)
  for told, again in zip(first, second, strict=True):
    np.testing.assert_equal(told, again)
  # Other seeds and further episodes have other worlds; without a seed the first
  # is drawn from the system.
  worlds = []
  for unseeded in (crafter.Crafter(), crafter.Crafter()):
    for seed in (None, None, 4, 5):
      unseeded.reset(seed=seed)
      worlds.append(unseeded._game._world._mat_map.tobytes())
  assert worlds[2:4] == worlds[6:] and len(set(worlds)) == 6


def test_an_end_by_time_is_a_truncation_and_by_death_a_termination():
  env = crafter.Crafter(length=3)
  env.reset(seed=0)
  ends = [env.step(0)[2:4] for _ in range(3)]
  assert ends == [(False, False), (False, False), (False, True)]
  env.reset()
  env._game._player.health = -9
  assert env.step(0)[2:4] == (True, False)


def test_pictures_change_nothing():
  seen = crafter.Crafter(length=400, render_mode='rgb_array')
  unseen = crafter.Crafter(length=400)
  for env in (seen, unseen):
    env.reset(seed=1)
  assert unseen.render() is None
  for step in range(300):  # Night falls: its noise is drawn.
    action = step % 5
    observation = seen.step(action)[0]
    np.testing.assert_array_equal(observation, unseen.step(action)[0])
    if step % 50 == 49:
      picture = seen.render()
      assert picture.shape == (256, 256, 3)
      if step == 49:  # By day: the same, larger, so that cells agree.
        small, large = observation[:63, :63], picture[2:254, 2:254]
        np.testing.assert_allclose(
            small.reshape(9, 7, 9, 7, 3).mean((1, 3)),
            large.reshape(9, 28, 9, 28, 3).mean((1, 3)),
            atol=40,
        )


def test_without_rewards():
  env = crafter.Crafter(reward=False)
  assert {told[1] for told in _play(env, 100)[1:] if len(told) == 5} == {0.0}


def test_wrong_arguments_are_refused():
  for arguments in (
      dict(size=8), dict(size=64.5), dict(length=0), dict(render_mode='human')
  ):
    with pytest.raises(errors.InvalidValue, match=next(iter(arguments))):
      crafter.Crafter(**arguments)
  for arguments in (dict(size='64'), dict(reward='False')):
    with pytest.raises(errors.InvalidType, match=next(iter(arguments))):
      crafter.Crafter(**arguments)


def test_the_checker_finds_no_fault():
  report = check.check_environment(
      crafter.Crafter, max_steps=200, tries_agent=False
  )
  assert not report.findings


def test_achievements_of_a_batch_are_numbers_of_its_episodes():
  env = loaders.load_environment(
      'rnd_agents/Crafter-v0',
      2,
      seed=0,
      env_kwargs=dict(length=2),
      info_keys=('achievements', 'num_achievements'),
  )
  env.reset()
  env.step(np.zeros(2, int))
  for single in env.gymnasium_vector_env.envs:
    single.unwrapped._game._player.achievements['collect_wood'] += 2
  env.step(np.zeros(2, int))
  for episode in env.pop_episodes():
    assert episode.info['achievements_collect_wood'] == 1.0
    assert episode.info['achievements_eat_cow'] == 0.0
    assert episode.info['num_achievements'] == 1.0


def test_items_are_seen_without_vitals():
  env = gymnasium.make('rnd_agents/Crafter-v0').unwrapped
  observation = env.reset(seed=0)[0]

  def items():
    return crafter.crafter_items(tf.constant(env._game.render())).numpy()

  before = items()
  np.testing.assert_array_equal(before, 0)  # Nothing is owned.
  player = env._game._player
  player.inventory['food'] = 3
  player.inventory['health'] = 2
  assert (observation != env._game.render()).any()
  np.testing.assert_array_equal(items(), before)
  shown = []
  for name in ('sapling', 'wood', 'iron_sword'):  # The first and the last.
    player.inventory[name] += 1
    shown.append(items())
    assert (shown[-1] != before).any()
    before = shown[-1]
  batched = crafter.crafter_items(tf.constant(env._game.render())[None, None])
  np.testing.assert_array_equal(batched[0, 0], shown[-1])
  with pytest.raises(errors.InvalidValue, match='square pictures'):
    crafter.crafter_items(tf.zeros([4, 3]))


def test_kinds_are_what_the_inventory_holds():
  env = gymnasium.make('rnd_agents/Crafter-v0').unwrapped
  env.reset(seed=0)
  inventory = env._game._player.inventory
  rng = np.random.default_rng(0)
  pictures, expected = [], []
  for _ in range(50):
    inventory.update({name: rng.integers(3) for name in inventory})
    inventory['wood'] = 9 * rng.integers(2)
    pictures.append(env._game.render())
    # Sixteen items from the first row on; the vitals come first.
    owned = [0] * 4 + [int(x > 0) for x in list(inventory.values())[4:]]
    expected.append(np.reshape([*owned, 0, 0], [2, 9]))
  found = crafter.crafter_kinds(tf.constant(np.stack(pictures)[:, None]))
  np.testing.assert_array_equal(found, np.stack(expected)[:, None])
