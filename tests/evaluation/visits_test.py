# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the counts behind the heat maps."""

import collections
import pickle

import numpy as np
import pytest
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents.environments import loaders
from rnd_agents.evaluation import visits


def _spec(shape=(2,), low=-np.inf, high=np.inf):
  return array_spec.BoundedArraySpec(shape, np.float32, low, high)


def _step(observation):
  observation = np.asarray(observation, np.float32)
  return ts.restart(observation, batch_size=len(observation))


def _slow_plane(points, low, high):
  """Cell by cell, [50, 50]."""
  counts = np.zeros([50, 50], int)
  for point in points:
    x, y = (
        min(max(int(50 * (p - a) // (b - a)), 0), 49)
        for p, a, b in zip(*np.float64([point, low, high]))
    )
    counts[y, x] += 1
  return counts


def test_plane_within_bounds_equals_the_slow_loop():
  rng = np.random.default_rng(0)
  counts = visits.VisitCounts(_spec(low=[-1, -2], high=[1, 6]))
  points = []
  for _ in range(600):  # Twice into the counts, with a rest.
    observation = rng.normal(size=[4, 2]) * [0.5, 2]
    points += list(observation.astype(np.float32))
    counts.observe(_step(observation), {})
  np.testing.assert_array_equal(
      counts.counts(), _slow_plane(points, [-1, -2], [1, 6])
  )
  assert counts.counts().sum() == 2400
  assert counts.kind == 'plane'


def _named(name, **bounds):
  return array_spec.BoundedArraySpec((2,), np.float32, name=name, **bounds)


@pytest.mark.parametrize(
    'others',
    [
        {},
        {'speed': _named('speed')},  # Without bounds.
        {'goal': _named('goal', minimum=0, maximum=9)},
    ],
)
def test_a_position_in_a_nest_is_a_plane(others):
  bounds = dict(minimum=[-1, -2], maximum=[1, 6])
  counts = visits.VisitCounts(
      {**others, 'position': _named('position', **bounds)}
  )
  rng = np.random.default_rng(0)
  points = rng.normal(size=[4, 2]).astype(np.float32)
  observation = {name: points + 3 for name in others} | {'position': points}
  counts.observe(ts.restart(observation, batch_size=4), {})
  np.testing.assert_array_equal(
      counts.counts(), _slow_plane(points, [-1, -2], [1, 6])
  )


def test_positions_that_are_not_drawn_are_told(caplog):
  counts = visits.VisitCounts(
      {name: _named(name, minimum=0, maximum=1) for name in 'ab'}
  )
  with caplog.at_level('INFO', 'absl'):
    counts.observe(
        ts.restart({name: np.zeros([3, 2]) for name in 'ab'}, batch_size=3),
        {'position': np.full([3, 2], 0.5)},
    )
  assert counts.kind is None
  assert "info['position']" in caplog.text


@pytest.mark.parametrize('stop', [100, 256, 300])
def test_state_goes_on_where_it_was(stop):
  rng = np.random.default_rng(2)
  steps = [_step(rng.normal(size=[3, 2])) for _ in range(600)]
  spec = _spec(low=[-2, -2], high=[2, 2])
  whole, first, second = (visits.VisitCounts(spec) for _ in range(3))
  for step in steps:
    whole.observe(step, {})
  for step in steps[:stop]:
    first.observe(step, {})
  second.restore(pickle.loads(pickle.dumps(first.state())))
  for step in steps[stop:]:
    second.observe(step, {})
  np.testing.assert_array_equal(second.counts(), whole.counts())
  assert first.counts().sum() == 3 * stop


def test_shards_add_up_and_are_drawn_without_their_environments():
  rng = np.random.default_rng(3)
  spec = _spec(low=[-2, -2], high=[2, 2])
  whole = visits.VisitCounts(spec, 'Mine-v0')
  shards = [visits.VisitCounts(spec, 'Mine-v0') for _ in range(3)]
  for t in range(400):
    # The last shard has been created and has not begun.
    for shard in shards[: 2 if t < 300 else 1]:
      step = _step(rng.normal(size=[2, 2]))
      whole.observe(step, {})
      shard.observe(step, {})
  states = pickle.loads(pickle.dumps([shard.state() for shard in shards]))
  total = visits.VisitCounts.from_states(states)
  np.testing.assert_array_equal(total.counts(), whole.counts())
  np.testing.assert_array_equal(total.image(), whole.image())
  # What is drawn is a copy.
  assert shards[0].counts().sum() == 800 and shards[1].counts().sum() == 600
  unused = visits.VisitCounts.from_states(states[2:])
  assert unused.image() is None and not unused.counts().any()


def test_shards_of_a_grid_add_up_whatever_their_sizes():
  spec = array_spec.ArraySpec([5], np.float32)
  step = ts.restart(np.zeros([1, 5], np.float32), 1)
  shards = [visits.VisitCounts(spec) for _ in range(2)]
  shards[1].observe(step, {
      'position': np.array([[0, 0]]), 'grid_size': np.array([[4, 5]])
  })
  for shard, position in zip(shards, ([1, 2], [3, 0])):
    for _ in range(2):
      shard.observe(step, {'position': np.array([position])})
  total = visits.VisitCounts.from_states([s.state() for s in shards])
  expected = np.zeros([5, 4], int)
  expected[0, 3] = expected[2, 1] = 2
  expected[0, 0] = 1
  np.testing.assert_array_equal(total.counts(), expected)
  rooms = [visits.VisitCounts(spec) for _ in range(2)]
  for i, shard in enumerate(rooms):
    shard.observe(step, {'room': np.array([i + 1])})
  total = visits.VisitCounts.from_states([s.state() for s in rooms])
  assert total.counts().tolist() == [0, 1, 1] + 21 * [0]
  assert total.image().shape == (480, 640, 3)


def test_positions_from_infos_of_those_that_gave_one():
  counts = visits.VisitCounts(_spec((7, 7, 3), 0, 255))
  observation = np.zeros([3, 7, 7, 3])
  for _ in range(2):
    counts.observe(_step(observation), {
        'position': np.array([[1, 2], [4, 1], [9, 9]]),
        '_position': np.array([True, True, False]),
    })
  counts.observe(_step(observation), {})  # Nobody.
  counts.observe(_step(observation), {
      'position': np.array([[0, 3], [0, 0], [1, 2]]),
      '_position': np.array([True, False, True]),
  })
  expected = np.zeros([4, 5], int)
  expected[2, 1], expected[1, 4], expected[3, 0] = 3, 2, 1
  np.testing.assert_array_equal(counts.counts(), expected)
  assert counts.kind == 'grid'
  assert counts.image().shape == (480, 640, 3)


def test_positions_beyond_the_largest_grid_take_no_memory():
  counts = visits.VisitCounts(array_spec.ArraySpec([5], np.float32))
  step = ts.restart(np.zeros([2, 5], np.float32), 2)
  for x in (3, 999, 1_000, 2_000_000):
    counts.observe(step, {'position': np.array([[x, 1], [0, 0]])})
  assert counts.counts().shape == (2, 1_000)
  assert np.argwhere(counts.counts()).tolist() == [[0, 0], [1, 3], [1, 999]]


def test_rooms_from_infos():
  counts = visits.VisitCounts(_spec((4, 84, 84), 0, 255))
  for room in (1, 1, 4, 23, 77):
    counts.observe(_step(np.zeros([2, 1])), {'room': np.array([room, 1])})
  assert collections.Counter(
      {i: n for i, n in enumerate(counts.counts()) if n}
  ) == {1: 7, 4: 1, 23: 1}
  assert counts.counts().shape == (24,)
  assert counts.kind == 'rooms'
  assert counts.image().shape == (480, 640, 3)


def test_a_plane_without_bounds_is_not_counted():
  for spec in (_spec(), _spec(low=[-1, -np.inf], high=[1, np.inf])):
    counts = visits.VisitCounts(spec)
    counts.observe(_step([[0.0, 0.0]]), {})
    assert counts.kind is None and counts.image() is None


def _counts_of(environment):
  return visits.VisitCounts(environment.observation_spec(), environment.name)


def test_deep_sea_is_a_board():
  # Always left from the corner on top: one square of each row, N of them.
  environment = loaders.load_environment(
      'rnd_agents/DeepSea-v0', 3, vectorization='vector_entry_point',
      env_kwargs={'size': 4},
  )
  counts = _counts_of(environment)
  boards = []
  time_step = environment.reset()
  for _ in range(12):
    counts.observe(time_step, environment.get_info())
    boards.append(time_step.observation)
    time_step = environment.step(np.zeros(3, np.int64))
  assert counts.kind == 'board'
  np.testing.assert_array_equal(
      counts.counts(), np.sum(boards, axis=(0, 1)).astype(int)
  )


@pytest.mark.parametrize(
    'infos',
    [
        {'position': np.array([1.5, 2.5])},
        {'position': np.zeros([2, 3], np.int64)},
        {'position': np.full([2, 2], 3_000_000)},
        {'position': np.array([None, 'left'], object)},
        {'position': np.array([(1, 2), (1, 2, 3)], dtype=object)},
        {'room': np.array(['kitchen', 'hall'])},
        {'room': np.array([[1], [2]])},
        {'room': np.array([1, 99])},
    ],
)
def test_infos_of_the_same_name_that_mean_something_else(infos):
  spec = array_spec.ArraySpec([5], np.float32)
  counts = visits.VisitCounts(spec, 'Mine-v0')
  step = ts.restart(np.zeros([2, 5], np.float32), 2)
  for _ in range(300):
    counts.observe(step, infos)
  assert counts.kind is None
  assert counts.image() is None
