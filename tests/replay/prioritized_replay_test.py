# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prioritised replay against a naive dict, chances and a second process."""

import collections
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import trajectory

from rnd_agents.replay import episode_cutter
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequence_table
from rnd_agents.replay import sequences

_NUM_FRAMES = 3
_FRAME_SPEC = trajectory.Trajectory(
    step_type=tf.TensorSpec([], tf.int32),
    observation={
        'x': tf.TensorSpec([2], tf.float32), 'n': tf.TensorSpec([], tf.int64)
    },
    action=tf.TensorSpec([], tf.int64),
    policy_info=(),
    next_step_type=tf.TensorSpec([], tf.int32),
    reward=tf.TensorSpec([], tf.float32),
    discount=tf.TensorSpec([], tf.float32),
)
_SPEC = episode_cutter.sequence_spec(
    _FRAME_SPEC,
    sequences.SequenceSettings(_NUM_FRAMES - 1),
    [tf.TensorSpec([4], tf.float32), tf.TensorSpec([4], tf.float32)],
)


def _sequence(number, is_demonstration=False):
  """A sequence [1, ...] that is filled with random numbers of its own."""
  rng = np.random.default_rng(number)
  draw = tf.nest.map_structure(
      lambda spec: rng.normal(0, 9, [1, *spec.shape]).astype(
          spec.dtype.as_numpy_dtype
      ),
      _SPEC,
  )
  draw.trajectory.observation['n'][:] = number
  return draw._replace(is_demonstration=np.array([is_demonstration]))


def _numbers(batch):
  return batch.sequences.trajectory.observation['n'][:, 0].tolist()


def create(*args, spec=_SPEC, **kwargs):
  return prioritized_replay.PrioritizedReplay(spec, *args, **kwargs)


def _contents(replay, ratio=0.0):
  """What a table holds: chance and key of each number."""
  batch = replay.sample(400, ratio)
  return {
      number: (chance, key)
      for number, chance, key in zip(
          _numbers(batch), batch.probabilities.tolist(), batch.keys.tolist()
      )
  }


def test_sequences_come_back_as_they_were():
  replay = create(9)
  replay.add(_sequence(1), train_step=7)
  replay.add_demonstrations(_sequence(2, True))

  batch = replay.sample(32, 0.5)

  assert set(_numbers(batch)) == {1, 2}
  assert batch.train_steps.tolist() == [
      {1: 7, 2: 0}[number] for number in _numbers(batch)
  ]
  for i, number in enumerate(_numbers(batch)):
    expected = _sequence(number, number == 2)
    found = tf.nest.map_structure(lambda x, i=i: x[i : i + 1], batch.sequences)
    for a, b in zip(
        tf.nest.flatten(found), tf.nest.flatten(expected), strict=True
    ):
      np.testing.assert_array_equal(a, b)
      assert a.dtype == b.dtype
  assert isinstance(batch.sequences, episode_cutter.Sequence)
  assert batch.keys.dtype == np.uint64
  # Of its own table each.
  assert batch.probabilities.tolist() == [1.0] * 32
  assert batch.table_sizes.tolist() == [1] * 32


def test_windows_of_networks_without_memory():
  settings = sequences.SequenceSettings(2)
  spec = episode_cutter.sequence_spec(_FRAME_SPEC, settings)
  replay = create(9, spec=spec)
  replay.add(_sequence(3)._replace(network_state=()))

  batch = replay.sample(2)

  assert batch.sequences.network_state == ()
  assert _numbers(batch) == [3, 3]


def test_number_of_demonstrations_is_binomial():
  replay = create(9, seed=0)
  for i in range(3):
    replay.add(_sequence(i))
    replay.add_demonstrations(_sequence(10 + i, True))

  chosen = []
  for _ in range(400):
    batch = replay.sample(8, 0.25)
    chosen.append(batch.sequences.is_demonstration)
    assert [n >= 10 for n in _numbers(batch)] == chosen[-1].tolist()

  counts = np.sum(chosen, axis=1)
  # Mean 2 and variance 1.5; their standard errors over 400 batches, with the
  # fourth moment 3 v^2 + v (1 - 6 p q) = 6.5625.
  assert abs(counts.mean() - 2.0) < 4 * np.sqrt(1.5 / 400)
  assert abs(counts.var(ddof=1) - 1.5) < 4 * np.sqrt((6.5625 - 1.5**2) / 400)
  # Wherever in the batch.
  places = np.mean(chosen, axis=0)
  assert np.abs(places - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 400)
  # And each from the draw before independently, not by turns.
  flat = np.concatenate(chosen).astype(float) - 0.25
  assert abs(np.mean(flat[1:] * flat[:-1])) < 4 * 0.1875 / np.sqrt(3199)


def test_ratio_of_0_and_1():
  replay = create(9)
  assert not replay.is_ready(1.0)
  replay.add_demonstrations(_sequence(5, True))
  assert replay.is_ready(1.0) and not replay.is_ready(0.5)
  assert _numbers(replay.sample(20, 1.0)) == [5] * 20  # Before the agent acts.
  replay.add(_sequence(4))
  assert replay.is_ready(0.5) and replay.is_ready(0.0)
  assert _numbers(replay.sample(20, 0.0)) == [4] * 20
  assert _numbers(replay.sample(20, 1)) == [5] * 20


def test_draws_follow_the_priorities():
  priorities = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
  chances = priorities**0.6 / np.sum(priorities**0.6)
  replay = create(9, priority_exponent=0.6)
  for i, priority in enumerate(priorities):
    replay.add(_sequence(i), [priority])

  counts = np.zeros(5)
  for _ in range(20):
    batch = replay.sample(250)
    np.testing.assert_allclose(
        batch.probabilities, chances[_numbers(batch)], rtol=1e-12
    )
    counts += np.bincount(_numbers(batch), minlength=5)

  # Chi-squared of 4 degrees of freedom exceeds 40 once in 2e7 cases.
  expected = 5_000 * chances
  assert np.sum((counts - expected) ** 2 / expected) < 40
  uniform = np.full(5, 1000.0)
  assert np.sum((counts - uniform) ** 2 / uniform) > 40


class _Small(NamedTuple):
  """The least that can be replayed; it takes less time."""

  number: np.ndarray
  is_demonstration: np.ndarray


class _NaiveTable:
  """A table as a dict of priorities in order of arrival."""

  def __init__(self, max_size):
    self.max_size = max_size
    self.priorities = {}
    self.keys = {}  # Number of each key that was ever seen.
    self.largest = 1.0

  def add(self, number, priority):
    if priority is None:
      priority = self.largest
    if len(self.priorities) == self.max_size:
      del self.priorities[next(iter(self.priorities))]
    self.priorities[number] = max(priority, 1e-6)
    self.largest = max(self.largest, priority)

  def update(self, key, priority):
    number = self.keys[key]
    if number in self.priorities:
      self.priorities[number] = max(priority, 1e-6)
    self.largest = max(self.largest, priority)

  def chance(self, number, exponent):
    # One after the other, so that only the naive one sums anew every time.
    total = sum(p**exponent for p in self.priorities.values())
    return self.priorities[number] ** exponent / total


def _check_batch(batch, tables, exponent):
  for i, number in enumerate(batch.sequences.number.tolist()):
    table = tables[bool(batch.sequences.is_demonstration[i])]
    assert number in table.priorities  # Or it was evicted.
    assert batch.table_sizes[i] == len(table.priorities)
    np.testing.assert_allclose(
        batch.probabilities[i], table.chance(number, exponent), rtol=1e-6
    )
    table.keys[int(batch.keys[i])] = number


def test_agrees_with_a_naive_dict(monkeypatch):
  # Demonstrations begin with eight places, and get more three times.
  monkeypatch.setattr(sequence_table, '_SEGMENT_BYTES', 1)
  rng = np.random.default_rng(0)
  spec = _Small(tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.bool))
  replay = create(30, priority_exponent=0.9, spec=spec)
  tables = {False: _NaiveTable(30), True: _NaiveTable(None)}
  done = collections.Counter()
  for number in range(10_000):
    kind = rng.choice(['add', 'sample', 'update'], p=[0.45, 0.15, 0.4])
    if number < 2 or kind == 'add':
      is_demonstration = number == 1 or bool(rng.random() < 0.01)
      table = tables[is_demonstration]
      priority = None
      if rng.random() < 0.7:
        priority = float(rng.choice([0.0, 1e-9, 1.0]) * rng.exponential(3.0))
      add = replay.add_demonstrations if is_demonstration else replay.add
      sequence = _Small(np.array([number]), np.array([is_demonstration]))
      priorities = None if priority is None else [priority]
      done['evicted'] += len(table.priorities) == table.max_size
      add(sequence, priorities)
      table.add(number, priority)
    elif kind == 'sample':
      batch = replay.sample(int(rng.integers(1, 5)), float(rng.random()))
      _check_batch(batch, tables, 0.9)
      done['sampled'] += 1
    else:
      # Keys of both tables, of evicted ones too, at once.
      known = [(k, d) for d in tables for k in list(tables[d].keys)[-40:]]
      if not known:
        continue
      picked = rng.choice(len(known), min(6, len(known)), replace=False)
      keys, flags = zip(*[known[i] for i in picked])
      priorities = rng.choice([0.0, 1.0, 50.0], len(keys)) * rng.random()
      replay.update_priorities(np.array(keys, np.uint64), priorities, flags)
      for key, flag, priority in zip(keys, flags, priorities):
        done['stale'] += tables[flag].keys[key] not in tables[flag].priorities
        tables[flag].update(key, priority)
      done['updated'] += 1
    if number % 500 == 0:
      assert replay.sizes() == {
          'agent': len(tables[False].priorities),
          'demonstrations': len(tables[True].priorities),
      }
  # It did what it was to be tested in.
  for what, least in (
      ('evicted', 3000), ('sampled', 1000), ('stale', 1000), ('updated', 3000),
  ):
    assert done[what] > least, (what, done)
  replay.add(_Small(np.array([-1]), np.array([False])))
  tables[False].add(-1, None)  # Of the largest priority so far.
  _check_batch(replay.sample(40), tables, 0.9)


def test_update_of_one_table_leaves_the_other():
  replay = create(9, priority_exponent=1.0)
  for i in range(3):
    replay.add(_sequence(i), [1.0 + i])
    replay.add_demonstrations(_sequence(10 + i, True), [1.0 + i])
  agent, demonstrations = _contents(replay), _contents(replay, 1.0)
  assert agent[2][0] == pytest.approx(3 / 6)

  replay.update_priorities([agent[2][1]], [7.0], [False])

  assert _contents(replay)[2][0] == pytest.approx(7 / 10)
  assert _contents(replay, 1.0) == demonstrations

  replay.update_priorities([demonstrations[10][1]], [0.0], [True])
  assert _contents(replay)[2][0] == pytest.approx(7 / 10)
  # Nearly nothing, but not nothing: 1e-6 of 5.
  replay.update_priorities(
      [demonstrations[11][1], demonstrations[12][1]], [1e-7, 2e-6], [True, True]
  )
  found = _contents(replay, 1.0)
  assert {n: found[n][0] for n in found} == pytest.approx(
      {10: 1 / 4, 11: 1 / 4, 12: 2 / 4}
  )


def test_new_sequences_have_the_largest_priority_so_far():
  replay = create(9, priority_exponent=1.0)
  replay.add(_sequence(0), [0.25])
  replay.add(_sequence(1))  # 1, though none had it.
  assert _contents(replay)[1][0] == pytest.approx(1 / 1.25)
  replay.update_priorities([_contents(replay)[0][1]], [5.0], [False])
  replay.update_priorities([_contents(replay)[0][1]], [2.0], [False])
  replay.add(_sequence(2))
  assert _contents(replay)[2][0] == pytest.approx(5 / 8)
  # Each table for itself.
  replay.add_demonstrations(_sequence(10, True), [3.0])
  replay.add_demonstrations(_sequence(11, True))
  assert _contents(replay, 1.0)[11][0] == pytest.approx(3 / 6)


def test_many_at_once_are_one_after_the_other():
  random = np.random.default_rng(0)
  at_once, one_by_one = (
      create(20, spec=_Small(
          tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.bool)
      ), seed=0)
      for _ in range(2)
  )
  number = 0
  # Some, as many as the table holds, and more than memory has places.
  for num_new in (3, 15, 2, 1, 20, 21, 7, 90, 5):
    numbers = np.arange(number, number + num_new)
    number += num_new
    priorities = random.exponential(size=num_new)
    if num_new % 2:
      priorities = None
    at_once.add(_Small(numbers, np.zeros(num_new, bool)), priorities)
    for i in range(num_new):
      one_by_one.add(
          _Small(numbers[i : i + 1], np.array([False])),
          None if priorities is None else priorities[i : i + 1],
      )
    batches = [each.sample(2_000) for each in (at_once, one_by_one)]
    for x, y in zip(*map(tf.nest.flatten, batches), strict=True):
      np.testing.assert_array_equal(x, y)
    found = set(batches[0].sequences.number.tolist())
    assert found == set(range(max(number - 20, 0), number))


def test_the_oldest_make_room():
  replay = create(4)
  for i in range(7):
    replay.add(_sequence(i), [1000.0 - i])
    assert replay.sizes() == {'agent': min(i + 1, 4), 'demonstrations': 0}
  assert set(_contents(replay)) == {3, 4, 5, 6}


def test_tables_that_are_too_short_do_not_hang():
  replay = create(9, min_sequences=3)
  for i in range(3):
    assert not replay.is_ready()
    with pytest.raises(ValueError, match=f'stored {i} sequences.*=3'):
      replay.sample(4)
    replay.add(_sequence(i))
  assert replay.is_ready(0.0) and not replay.is_ready(0.1)
  assert set(_numbers(replay.sample(4))) <= {0, 1, 2}
  with pytest.raises(ValueError, match='no demonstrations'):
    replay.sample(4, 1e-9)  # Always, not only when one is drawn.
  for i in range(2):
    replay.add_demonstrations(_sequence(i, True))
  assert replay.sizes() == {'agent': 3, 'demonstrations': 2}


def test_sequences_that_do_not_fit():
  replay = create(9)
  good = _sequence(0)
  row = good.trajectory
  for bad, match in (
      (row.replace(reward=row.reward.astype(np.float64)), 'float64.*reward'),
      (row.replace(action=row.action[:, :2]), r'int64 \[1, 2\].*action.*\[3\]'),
      (row.replace(observation=row.observation['x']), 'structure'),
  ):
    with pytest.raises((ValueError, TypeError), match=match):
      replay.add(good._replace(trajectory=bad))
  with pytest.raises(ValueError, match="'agent' has is_demonstration=True"):
    replay.add(_sequence(0, True))
  with pytest.raises(ValueError, match='is_demonstration=False'):
    replay.add_demonstrations(_sequence(0))
  for priority in (np.nan, np.inf, -0.1):
    with pytest.raises(ValueError, match='finite and at least 0'):
      replay.add(good, [priority])
    with pytest.raises(ValueError, match='finite and at least 0'):
      replay.update_priorities([1], [priority], [False])
  with pytest.raises(ValueError, match=r'\(2,\), \(1,\) and \(2,\)'):
    replay.update_priorities([1, 2], [1.0], [False, False])
  assert replay.sizes() == {'agent': 0, 'demonstrations': 0}


@pytest.mark.parametrize(('kwargs', 'match'), [
    ({'max_sequences': 0}, 'max_sequences .*integer from 1, got 0'),
    ({'max_sequences': 100.5}, 'max_sequences .*got 100.5'),
    ({'max_sequences': 9, 'min_sequences': 10}, 'min_sequences=10'),
    ({'max_sequences': 9, 'min_sequences': 0}, 'min_sequences .*got 0'),
    ({'max_sequences': 9, 'priority_exponent': -0.5}, '0 and 10, got -0.5'),
    ({'max_sequences': 9, 'priority_exponent': 1e30}, '_exponent .*got 1e'),
])
def test_refuses_arguments(kwargs, match):
  with pytest.raises(ValueError, match=match):
    create(**kwargs)


def test_sample_refuses_arguments():
  replay = create(9)
  replay.add(_sequence(0))
  for args, match in (
      ((0,), 'batch_size=0'), ((4, 1.5), 'ratio=1.5'), ((4, -0.1), 'ratio=-0.1')
  ):
    with pytest.raises(ValueError, match=match):
      replay.sample(*args)
