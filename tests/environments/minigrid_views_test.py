# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Views without movables beside those of worlds that have none."""

import copy

import gymnasium
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.environments import minigrid_views

pytest.importorskip('minigrid')

_MOVABLE = ('key', 'ball', 'box')


def _views(env_id, num_steps=400):
  """Pairs of the view of a world and of that without its loose objects."""
  env = gymnasium.make(env_id).unwrapped
  rng = np.random.default_rng(0)
  env.reset(seed=0)
  was_carried = set()
  for _ in range(num_steps):
    # Things in the way are picked up more often than by chance.
    front = env.grid.get(*env.front_pos)
    is_loose = front is not None and front.type in _MOVABLE
    env.step(3 if is_loose and rng.random() < 0.3 else rng.choice(6))
    was_carried.add(env.carrying and env.carrying.type)
    bare = copy.deepcopy(env)
    for i, each in enumerate(bare.grid.grid):
      if each is not None and each.type in _MOVABLE:
        bare.grid.grid[i] = None
    yield env.gen_obs()['image'], bare.gen_obs()['image']
  assert was_carried >= {None, 'ball', 'box'}


def _one_hot(cells):
  codes = [np.eye(n, dtype=np.float32)[cells[..., i]]
           for i, n in enumerate((11, 6, 3))]
  return np.concatenate(codes, axis=-1)


@pytest.mark.parametrize('width', [7, 5])
def test_what_is_carried_stays_and_what_lies_about_goes(width):
  seen, bare = (np.array(x) for x in zip(*_views(
      'MiniGrid-ObstructedMaze-2Dlhb-v1'
  ), strict=True))
  # A smaller view is the part of the larger one before the agent.
  k = (7 - width) // 2
  seen, bare = (x[:, k : 7 - k, 7 - width :] for x in (seen, bare))
  function = tf.function(minigrid_views.minigrid_without_movables)
  np.testing.assert_array_equal(function(tf.constant(seen)), bare)
  shape = 20, -1, width, width, 20
  one_hot = [_one_hot(x).reshape(shape) for x in (seen, bare)]
  np.testing.assert_array_equal(function(tf.constant(one_hot[0])), one_hot[1])
  found = function(dict(direction=tf.range(4), image=tf.constant(one_hot[0])))
  np.testing.assert_array_equal(found['image'], one_hot[1])
  np.testing.assert_array_equal(found['direction'], np.arange(4))
  assert (seen != bare).any((1, 2, 3)).sum() > 100


@pytest.mark.parametrize(
    'observation',
    [
        tf.zeros([2, 4]),
        tf.zeros([2, 3]),
        tf.zeros([2, 1, 3]),
        tf.zeros([]),
        tf.zeros([2, 3, 56, 56, 3], tf.uint8),
        dict(position=tf.zeros([2])),
    ],
)
def test_other_observations_are_refused(observation):
  with pytest.raises(errors.InvalidValue, match='needs cells of MiniGrid'):
    minigrid_views.minigrid_without_movables(observation)


def test_chosen_things_are_seen_on_the_floor_or_not_even_in_the_hands():
  key, ball, box = [5, 4, 0], [6, 1, 0], [7, 4, 0]
  empty = [1, 0, 0]
  # The agent stands in the middle of the last row, and has a ball in hand.
  seen = np.full([1, 3, 3, 3], empty)
  seen[0, 0, 0], seen[0, 0, 1], seen[0, 2, 2], seen[0, 1, 2] = (
      key, box, ball, ball
  )
  def expected(*kept):
    result = seen.copy()
    for place in {(0, 0), (0, 1), (2, 2), (1, 2)} - set(kept):
      result[0][place] = empty
    return result

  for hidden, carried_hidden, kept in (
      (['key'], [], [(0, 1), (2, 2), (1, 2)]),
      (['box', 'ball'], ['key'], [(0, 0), (1, 2)]),
      (['key', 'ball', 'box'], ['ball', 'box'], []),
      ([], ['ball'], [(0, 0), (0, 1), (2, 2)]),
      (
          ['green ball', 'green key', 'yellow box'],
          ['blue ball'],
          [(0, 0), (1, 2)],
      ),
  ):
    found = minigrid_views.minigrid_without_movables(
        tf.constant(seen), hidden, carried_hidden
    )
    np.testing.assert_array_equal(found, expected(*kept))
    one_hot = minigrid_views.minigrid_without_movables(
        dict(image=tf.constant(_one_hot(seen))), hidden, carried_hidden
    )
    np.testing.assert_array_equal(one_hot['image'], _one_hot(expected(*kept)))


def test_the_color_of_what_is_carried_may_be_hidden():
  key, other_key, box, empty = [5, 4, 0], [5, 2, 0], [7, 4, 0], [1, 0, 0]
  seen = np.full([4, 3, 3, 3], empty)
  seen[:, 0, 0] = key  # On the floor.
  seen[:, 1, 2] = key, other_key, box, empty
  expected = seen.copy()
  expected[:, 1, 2] = [5, 0, 0], [5, 0, 0], empty, empty
  arguments = ['box'], ['box'], False
  np.testing.assert_array_equal(
      minigrid_views.minigrid_without_movables(tf.constant(seen), *arguments),
      expected,
  )
  one_hot = minigrid_views.minigrid_without_movables(
      dict(image=tf.constant(_one_hot(seen).astype(np.uint8))), *arguments
  )['image']
  assert one_hot.dtype == tf.uint8
  np.testing.assert_array_equal(one_hot, _one_hot(expected))


@pytest.mark.parametrize('names', [['door'], ['key', 5], ['big red key'], [''],
                                   ['pink key'], 'red'])
@pytest.mark.parametrize('argument', ['hidden', 'carried_hidden'])
def test_other_kinds_are_refused(argument, names):
  with pytest.raises(errors.InvalidValue, match='are lists of'):
    minigrid_views.minigrid_without_movables(
        tf.zeros([1, 3, 3, 3]), **{argument: names}
    )
