# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prioritised replay against a naive dict, chances and a second process."""

import collections
import json
import os
import shutil
import sys
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import trajectory

from rnd_agents.replay import prioritized_replay
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
_SPEC = sequences.sequence_spec(
    _FRAME_SPEC,
    sequences.SequenceSettings(_NUM_FRAMES - 1),
    [tf.TensorSpec([4], tf.float32), tf.TensorSpec([4], tf.float32)],
)


def _sequence(number, is_demonstration=False):
  """A sequence that is filled with random numbers of its own."""
  rng = np.random.default_rng(number)
  draw = tf.nest.map_structure(
      lambda spec: rng.normal(0, 9, spec.shape).astype(
          spec.dtype.as_numpy_dtype
      ),
      _SPEC,
  )
  draw.trajectory.observation['n'][:] = number
  return draw._replace(is_demonstration=np.bool_(is_demonstration))


def _numbers(batch):
  return batch.sequences.trajectory.observation['n'][:, 0].tolist()


@pytest.fixture(name='create')
def _create():
  pytest.importorskip(
      'reverb', reason='needs Reverb: pip install "rnd_agents[reverb]"'
  )
  opened = []

  def create(*args, spec=_SPEC, **kwargs):
    opened.append(prioritized_replay.PrioritizedReplay(spec, *args, **kwargs))
    return opened[-1]

  yield create
  for replay in opened:
    replay.close()


def _contents(replay, ratio=0.0):
  """What a table holds: chance and key of each number."""
  batch = replay.sample(400, ratio)
  return {
      number: (chance, key)
      for number, chance, key in zip(
          _numbers(batch), batch.probabilities.tolist(), batch.keys.tolist()
      )
  }


def test_sequences_come_back_as_they_were(create):
  replay = create(9, 9)
  replay.add(_sequence(1))
  replay.add_demonstration(_sequence(2, True))

  batch = replay.sample(32, 0.5)

  assert set(_numbers(batch)) == {1, 2}
  for i, number in enumerate(_numbers(batch)):
    expected = _sequence(number, number == 2)
    found = tf.nest.map_structure(lambda x, i=i: x[i], batch.sequences)
    for a, b in zip(
        tf.nest.flatten(found), tf.nest.flatten(expected), strict=True
    ):
      np.testing.assert_array_equal(a, b)
      assert a.dtype == b.dtype
  assert isinstance(batch.sequences, sequences.Sequence)
  assert batch.keys.dtype == np.uint64
  # Of its own table each.
  assert batch.probabilities.tolist() == [1.0] * 32
  assert batch.table_sizes.tolist() == [1] * 32


def test_windows_of_networks_without_memory(create):
  settings = sequences.SequenceSettings(2)
  spec = sequences.sequence_spec(_FRAME_SPEC, settings)
  replay = create(9, spec=spec)
  replay.add(_sequence(3)._replace(network_state=()))

  batch = replay.sample(2)

  assert batch.sequences.network_state == ()
  assert _numbers(batch) == [3, 3]


def test_number_of_demonstrations_is_binomial(create):
  replay = create(9, 9, seed=0)
  for i in range(3):
    replay.add(_sequence(i))
    replay.add_demonstration(_sequence(10 + i, True))

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


def test_ratio_of_0_and_1(create):
  replay = create(9, 9)
  assert not replay.is_ready(1.0)
  replay.add_demonstration(_sequence(5, True))
  assert replay.is_ready(1.0) and not replay.is_ready(0.5)
  assert _numbers(replay.sample(20, 1.0)) == [5] * 20  # Before the agent acts.
  replay.add(_sequence(4))
  assert replay.is_ready(0.5) and replay.is_ready(0.0)
  assert _numbers(replay.sample(20, 0.0)) == [4] * 20
  assert _numbers(replay.sample(20, 1)) == [5] * 20


def test_draws_follow_the_priorities(create):
  priorities = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
  chances = priorities**0.6 / np.sum(priorities**0.6)
  replay = create(9, priority_exponent=0.6)
  for i, priority in enumerate(priorities):
    replay.add(_sequence(i), priority)

  counts = np.zeros(5)
  for _ in range(20):
    batch = replay.sample(250)
    np.testing.assert_allclose(
        batch.probabilities, chances[_numbers(batch)], rtol=1e-12
    )
    counts += np.bincount(_numbers(batch), minlength=5)

  # Chi-squared of 4 degrees of freedom exceeds 40 once in 2e7 cases. Reverb's
  # draws have no seed.
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


def test_agrees_with_a_naive_dict(create):
  rng = np.random.default_rng(0)
  spec = _Small(tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.bool))
  replay = create(30, 12, priority_exponent=0.9, spec=spec)
  tables = {False: _NaiveTable(30), True: _NaiveTable(12)}
  done = collections.Counter()
  for number in range(10_000):
    kind = rng.choice(['add', 'sample', 'update'], p=[0.45, 0.15, 0.4])
    if number < 2 or kind == 'add':
      is_demonstration = number == 1 or bool(rng.random() < 0.01)
      table = tables[is_demonstration]
      priority = None
      if rng.random() < 0.7:
        priority = float(rng.choice([0.0, 1e-9, 1.0]) * rng.exponential(3.0))
      add = replay.add_demonstration if is_demonstration else replay.add
      sequence = _Small(np.int64(number), np.bool_(is_demonstration))
      if is_demonstration and len(table.priorities) == 12:
        with pytest.raises(ValueError, match='never evicted'):
          add(sequence, priority)
        done['refused'] += 1
        continue
      done['evicted'] += len(table.priorities) == table.max_size
      add(sequence, priority)
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
      ('evicted', 3000), ('refused', 10), ('sampled', 1000), ('stale', 1000),
      ('updated', 3000),
  ):
    assert done[what] > least, (what, done)
  assert replay.state()['max_priorities'] == {
      'agent': tables[False].largest, 'demonstrations': tables[True].largest
  }


def test_update_of_one_table_leaves_the_other(create):
  replay = create(9, 9, priority_exponent=1.0)
  for i in range(3):
    replay.add(_sequence(i), 1.0 + i)
    replay.add_demonstration(_sequence(10 + i, True), 1.0 + i)
  agent, demonstrations = _contents(replay), _contents(replay, 1.0)
  assert agent[2][0] == pytest.approx(3 / 6)

  replay.update_priorities([agent[2][1]], [7.0], [False])

  assert _contents(replay)[2][0] == pytest.approx(7 / 10)
  assert _contents(replay, 1.0) == demonstrations

  # In the wrong table a key is unknown.
  replay.update_priorities([agent[2][1]], [70.0], [True])
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


def test_new_sequences_have_the_largest_priority_so_far(create):
  replay = create(9, 9, priority_exponent=1.0)
  replay.add(_sequence(0), 0.25)
  replay.add(_sequence(1))  # 1, though none had it.
  assert _contents(replay)[1][0] == pytest.approx(1 / 1.25)
  replay.update_priorities([_contents(replay)[0][1]], [5.0], [False])
  replay.update_priorities([_contents(replay)[0][1]], [2.0], [False])
  replay.add(_sequence(2))
  assert _contents(replay)[2][0] == pytest.approx(5 / 8)
  # Each table for itself.
  replay.add_demonstration(_sequence(10, True), 3.0)
  replay.add_demonstration(_sequence(11, True))
  assert _contents(replay, 1.0)[11][0] == pytest.approx(3 / 6)


def test_the_oldest_make_room(create):
  replay = create(4)
  for i in range(7):
    replay.add(_sequence(i), 1000.0 - i)
    assert replay.sizes() == {'agent': min(i + 1, 4), 'demonstrations': 0}
  assert set(_contents(replay)) == {3, 4, 5, 6}


def test_tables_that_are_too_short_do_not_hang(create):
  replay = create(9, 2, min_sequences=3)
  for i in range(3):
    assert not replay.is_ready()
    with pytest.raises(ValueError, match=f'stored {i} sequences.*=3'):
      replay.sample(4)
    replay.add(_sequence(i))
  assert replay.is_ready(0.0) and not replay.is_ready(0.1)
  assert set(_numbers(replay.sample(4))) <= {0, 1, 2}
  before = replay.state()
  with pytest.raises(ValueError, match='no demonstrations'):
    replay.sample(4, 1e-9)  # Always, not only when one is drawn.
  assert replay.state() == before
  for i in range(2):
    replay.add_demonstration(_sequence(i, True))
  with pytest.raises(ValueError, match='The 2 sequences.*max_demonstrations'):
    replay.add_demonstration(_sequence(2, True))
  assert replay.sizes() == {'agent': 3, 'demonstrations': 2}


def test_a_replay_without_demonstrations(create):
  replay = create(9)
  replay.add(_sequence(0))
  with pytest.raises(ValueError, match='no demonstrations'):
    replay.sample(1, 0.5)
  with pytest.raises(ValueError, match='The 0 sequences'):
    replay.add_demonstration(_sequence(0, True))


def test_sequences_that_do_not_fit(create):
  replay = create(9, 9)
  good = _sequence(0)
  row = good.trajectory
  for bad, match in (
      (row.replace(reward=row.reward.astype(np.float64)), 'float64.*reward'),
      (row.replace(action=row.action[:2]), r'int64 \[2\].*action.*\[3\]'),
      (row.replace(observation=row.observation['x']), 'structure'),
  ):
    with pytest.raises((ValueError, TypeError), match=match):
      replay.add(good._replace(trajectory=bad))
  with pytest.raises(ValueError, match="'agent' says is_demonstration=True"):
    replay.add(_sequence(0, True))
  with pytest.raises(ValueError, match='is_demonstration=False'):
    replay.add_demonstration(_sequence(0))
  for priority in (np.nan, np.inf, -0.1):
    with pytest.raises(ValueError, match='finite and at least 0'):
      replay.add(good, priority)
    with pytest.raises(ValueError, match='finite and at least 0'):
      replay.update_priorities([1], [priority], [False])
  with pytest.raises(ValueError, match=r'\(2,\), \(1,\) and \(2,\)'):
    replay.update_priorities([1, 2], [1.0], [False, False])
  assert replay.sizes() == {'agent': 0, 'demonstrations': 0}


@pytest.mark.parametrize(('kwargs', 'match'), [
    ({'max_sequences': 0}, 'min_sequences=1 .* to max_sequences=0'),
    ({'max_sequences': 9, 'min_sequences': 10}, 'min_sequences=10'),
    ({'max_sequences': 9, 'min_sequences': 0}, 'min_sequences=0'),
    ({'max_sequences': 9, 'max_demonstrations': -1}, 'at least 0, got -1'),
    ({'max_sequences': 9, 'priority_exponent': -0.5}, 'got 0 and -0.5'),
])
def test_refuses_arguments(create, kwargs, match):
  with pytest.raises(ValueError, match=match):
    create(**kwargs)


def test_sample_refuses_arguments(create):
  replay = create(9)
  replay.add(_sequence(0))
  for args, match in (
      ((0,), 'batch_size=0'), ((4, 1.5), 'ratio=1.5'), ((4, -0.1), 'ratio=-0.1')
  ):
    with pytest.raises(ValueError, match=match):
      replay.sample(*args)


def test_says_how_to_install_reverb(monkeypatch):
  monkeypatch.setitem(sys.modules, 'reverb', None)
  with pytest.raises(ImportError, match=r'pip install "rnd_agents\[reverb\]"'):
    prioritized_replay.PrioritizedReplay(_SPEC, 9)


def _filled(create, folder):
  """A replay that has evicted, updated and drawn."""
  replay = create(4, 5, 0.8, seed=3, checkpoint_dir=folder)
  for i in range(6):
    replay.add(_sequence(i), 1.0 + i)
  for i in range(3):
    replay.add_demonstration(_sequence(10 + i, True), 2.0 + i)
  keys = [_contents(replay)[3][1], _contents(replay, 1.0)[11][1]]
  replay.update_priorities(keys, [9.0, 8.0], [False, True])
  replay.update_priorities(keys, [0.5, 0.25], [False, True])
  return replay


def _names(folder):
  """Paths of the checkpoints that have their name."""
  return sorted(
      os.path.join(folder, name)
      for name in os.listdir(folder)
      if not name.startswith('.')
  )


def _choices(replay):
  return [replay.sample(8, 0.5).sequences.is_demonstration.tolist()
          for _ in range(10)]


def test_checkpoint_brings_everything_back(create, tmp_path):
  folder = str(tmp_path)
  replay = _filled(create, folder)
  first = replay.checkpoint()
  replay.sample(5, 0.5)
  replay.update_priorities([_contents(replay)[4][1]], [11.0], [False])
  second = replay.checkpoint()
  assert _names(folder) == [first, second]
  saved = (
      _contents(replay), _contents(replay, 1.0), replay.sizes(), replay.state()
  )
  upcoming = _choices(replay)
  replay.add(_sequence(99), 500.0)  # After the checkpoint.
  replay.close()

  restored = create(4, 5, 0.8, seed=7, checkpoint_dir=folder)

  assert restored.state()['max_priorities'] == {
      'agent': 11.0, 'demonstrations': 8.0
  }
  found = (_contents(restored), _contents(restored, 1.0), restored.sizes())
  assert found == saved[:3]
  assert found[2] == {'agent': 4, 'demonstrations': 3}
  assert restored.state() == saved[3]
  assert _choices(restored) == upcoming
  # Data, the order of eviction, and keys that can be updated.
  batch = restored.sample(50, 0.5)
  for i, number in enumerate(_numbers(batch)):
    expected = _sequence(number)
    np.testing.assert_array_equal(
        batch.sequences.trajectory.reward[i], expected.trajectory.reward
    )
    np.testing.assert_array_equal(
        batch.sequences.network_state[1][i], expected.network_state[1]
    )
  for number in (20, 21):
    restored.add(_sequence(number), 1.0)
  assert set(_contents(restored)) == {4, 5, 20, 21}
  restored.update_priorities([found[0][5][1]], [1e9], [False])
  assert _contents(restored)[5][0] > 0.999


def test_restores_a_checkpoint_that_was_moved(create, tmp_path):
  replay = _filled(create, str(tmp_path / 'replay'))
  moved = str(tmp_path / 'snapshot' / 'of_the_run')
  shutil.move(replay.checkpoint(), moved)
  contents = _contents(replay, 1.0)
  replay.add(_sequence(50))
  replay.checkpoint()  # Newer, but not asked for.
  replay.close()

  restored = create(
      4, 5, 0.8, checkpoint_dir=str(tmp_path / 'replay'), restore_from=moved
  )
  assert set(_contents(restored)) == {2, 3, 4, 5}
  assert _contents(restored, 1.0) == contents
  elsewhere = create(4, 5, 0.8, restore_from=moved)
  assert set(_contents(elsewhere)) == {2, 3, 4, 5}
  with pytest.raises(ValueError, match='no checkpoint_dir'):
    elsewhere.checkpoint()
  with pytest.raises(FileNotFoundError, match='nowhere'):
    create(4, restore_from=str(tmp_path / 'nowhere'))


def test_what_a_kill_leaves_is_not_restored(create, tmp_path):
  replay = _filled(create, str(tmp_path))
  replay.checkpoint()
  replay.add(_sequence(20))
  newest = replay.checkpoint()
  replay.add(_sequence(21))
  # Killed when Reverb was ready, and its files had no name yet.
  written = replay._client.checkpoint()
  assert os.path.exists(os.path.join(written, 'DONE'))
  replay.close()

  restored = create(4, 5, 0.8, checkpoint_dir=str(tmp_path))
  assert set(_contents(restored)) == {3, 4, 5, 20}
  path = restored.checkpoint()
  assert os.listdir(tmp_path / '.being_written') == []
  assert _names(tmp_path) == [newest, path]


def test_the_last_two_and_those_in_use_stay(create, tmp_path):
  replay = create(9, checkpoint_dir=tmp_path)
  in_use = os.path.basename(replay.checkpoint())
  for _ in range(3):
    replay.checkpoint(in_use=[None, in_use])
  names = [f'{tmp_path}/replay_0000000{number}' for number in range(5)]
  assert _names(tmp_path) == [names[0], *names[2:4]]
  replay.checkpoint()
  assert _names(tmp_path) == names[3:]


def test_a_checkpoint_is_on_the_disk_before_it_has_its_name(
    create, tmp_path, monkeypatch
):
  fsync, replace = os.fsync, os.replace
  events = []

  def note_sync(descriptor):
    events.append(os.readlink(f'/proc/self/fd/{descriptor}'))
    fsync(descriptor)

  def note_name(source, target):
    events.append((os.fspath(source), os.fspath(target)))
    replace(source, target)

  monkeypatch.setattr(os, 'fsync', note_sync)
  monkeypatch.setattr(os, 'replace', note_name)
  path = _filled(create, str(tmp_path)).checkpoint()
  ((written, _),) = named = [e for e in events if isinstance(e, tuple)]
  before = events[: events.index(named[0])]
  files = {f'{written}/{name}' for name in os.listdir(path)}
  assert len(files) == 5 and {written, *files} <= set(before)
  # And the name itself.
  assert str(tmp_path) in events[events.index(named[0]) :]


def test_checkpoint_of_other_settings_is_refused(create, tmp_path):
  replay = _filled(create, str(tmp_path))
  path = replay.checkpoint()
  replay.close()
  wider = _SPEC._replace(network_state=(tf.TensorSpec([5], tf.float32),) * 2)
  for args, kwargs, match in (
      ((5, 5, 0.8), {}, 'max_sequences=4, not 5'),
      ((4, 6, 0.8), {}, 'max_demonstrations=5, not 6'),
      ((4, 5, 0.9), {}, 'priority_exponent=0.8, not 0.9'),
      ((4, 5, 0.8, 2), {}, 'min_sequences=1, not 2'),
      ((4, 5, 0.8), {'spec': wider}, 'spec='),
  ):
    with pytest.raises(ValueError, match=match):
      create(*args, checkpoint_dir=str(tmp_path), **kwargs)
  state = os.path.join(path, 'state.json')
  with open(state, encoding='utf-8') as file:
    assert json.load(file)['settings']['max_sequences'] == 4


@pytest.mark.parametrize('name', ['chunks', 'items', 'tables'])
@pytest.mark.parametrize('damage', ['short', 'half', 'other', 'gone'])
def test_damaged_checkpoint_is_refused(create, tmp_path, name, damage):
  replay = _filled(create, str(tmp_path))
  path = os.path.join(replay.checkpoint(), f'{name}.tfrecord')
  replay.close()
  with open(path, 'rb') as file:
    content = bytearray(file.read())
  content[len(content) // 2] ^= 0xFF
  with open(path, 'wb') as file:
    file.write({
        'short': content[:20], 'half': content[: len(content) // 2],
        'other': content, 'gone': b'',
    }[damage])

  with pytest.raises(RuntimeError, match='replay_00000000 is damaged'):
    create(4, 5, 0.8, checkpoint_dir=str(tmp_path))


@pytest.mark.parametrize('content', [b'', b'{"settings": {"max_seq'])
def test_a_damaged_state_is_refused(create, tmp_path, content):
  replay = _filled(create, str(tmp_path))
  path = os.path.join(replay.checkpoint(), 'state.json')
  replay.close()
  with open(path, 'wb') as file:
    file.write(content)
  with pytest.raises(RuntimeError, match='replay_00000000 is damaged'):
    create(4, 5, 0.8, checkpoint_dir=str(tmp_path))


def test_a_closed_replay_says_so(create):
  replay = create(9)
  replay.add(_sequence(0))
  replay.close()
  replay.close()
  for use in (
      lambda: replay.add(_sequence(1)), lambda: replay.sample(1), replay.sizes
  ):
    with pytest.raises(RuntimeError, match='has been closed'):
      use()


def test_same_seed_same_choices(create):
  choices = []
  for seed in (1, 1, 2):
    replay = create(9, 9, seed=seed)
    replay.add(_sequence(0))
    replay.add_demonstration(_sequence(0, True))
    choices.append(_choices(replay))
  assert choices[0] == choices[1] != choices[2]
