# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a replay saves, and what it is again after a restore."""

import io
import os
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequence_table


class _Sequence(NamedTuple):
  """Numbers and images."""

  number: np.ndarray
  frames: np.ndarray
  is_demonstration: np.ndarray


_SPEC = _Sequence(
    tf.TensorSpec([3], tf.float64),
    tf.TensorSpec([4, 6, 5, 2], tf.uint8),
    tf.TensorSpec([], tf.bool),
)


def _sequence(number, is_demonstration=False):
  rng = np.random.default_rng([number, is_demonstration])
  return _Sequence(
      rng.normal(size=[1, 3]),
      rng.integers(0, 256, [1, 4, 6, 5, 2], np.uint8),
      np.array([is_demonstration]),
  )


def _create(**kwargs):
  return prioritized_replay.PrioritizedReplay(
      _SPEC, 40, **{'priority_exponent': 0.7, 'seed': 3, **kwargs}
  )


def _work(replay, first, num_steps):
  """Adds, draws and updates; returns all that was drawn."""
  drawn = []
  for number in range(first, first + num_steps):
    priorities = [1.0 + number % 7] if number % 3 else None
    replay.add(_sequence(number), priorities, train_step=2 * number)
    batch = replay.sample(5, 0.3)
    replay.update_priorities(
        batch.keys,
        np.abs(batch.sequences.number[:, 0]),
        batch.sequences.is_demonstration,
    )
    drawn.append(batch)
  return drawn


def _assert_equal(batches, expected):
  for batch, other in zip(batches, expected, strict=True):
    for x, y in zip(
        tf.nest.flatten(batch), tf.nest.flatten(other), strict=True
    ):
      np.testing.assert_array_equal(x, y)


def _filled():
  replay = _create()
  for number in range(3):
    replay.add_demonstrations(_sequence(number, True), [1.0 + number])
  return replay


# Before anything is evicted, in a segment that is partly evicted, and after
# every place was used several times.
@pytest.mark.parametrize('num_before', [5, 45, 203])
@pytest.mark.parametrize('compress_images', [False, True])
@pytest.mark.parametrize('num_demonstrations', [3, 30])
def test_a_restored_replay_goes_on_to_the_last_bit(
    tmp_path, monkeypatch, num_before, compress_images, num_demonstrations
):
  monkeypatch.setattr(sequence_table, '_SEGMENT_BYTES', 1)  # Eight places.
  replay = _create(compress_images=compress_images)
  for number in range(num_demonstrations):
    replay.add_demonstrations(_sequence(number, True), [1.0 + number])
  for first in range(0, num_before, 11):  # Saved now and then on the way.
    _work(replay, first, min(11, num_before - first))
    state = replay.save(tmp_path)
  expected = _work(replay, num_before, 60)  # More than the table holds.

  restored = _create(compress_images=compress_images, seed=8)
  restored.restore(tmp_path, state)
  assert restored.sizes() == {
      'agent': min(num_before, 40), 'demonstrations': num_demonstrations
  }
  _assert_equal(_work(restored, num_before, 60), expected)


def test_a_state_stays_good_while_a_newer_one_is_written(tmp_path):
  replay = _filled()
  _work(replay, 0, 30)
  older = replay.save(tmp_path)
  expected = _work(replay, 30, 20)
  newer = replay.save(tmp_path)
  # Killed before the newer state was written down.
  restored = _create()
  restored.restore(tmp_path, older)
  _assert_equal(_work(restored, 30, 20), expected)
  # The files of what never was are written once more.
  again = restored.save(tmp_path)
  assert prioritized_replay.saved_files(
      again
  ) == prioritized_replay.saved_files(newer)


def test_only_what_is_new_is_written(tmp_path):
  replay = _filled()
  _work(replay, 0, 30)
  first = prioritized_replay.saved_files(replay.save(tmp_path))
  # Segments of 8: three are full; demonstrations have one.
  assert sorted(first) == [
      'agent_000000000000_00008.npz',
      'agent_000000000008_00008.npz',
      'agent_000000000016_00008.npz',
      'agent_000000000024_00006.npz',
      'demonstrations_000000000000_00003.npz',
  ]
  times = {name: os.stat(tmp_path / name).st_mtime_ns for name in first}
  assert prioritized_replay.saved_files(replay.save(tmp_path)) == first
  _work(replay, 30, 21)  # The first segment is evicted, and 3 of the next.
  second = prioritized_replay.saved_files(replay.save(tmp_path))
  assert set(second) - set(first) == {
      'agent_000000000024_00008.npz',
      'agent_000000000032_00008.npz',
      'agent_000000000040_00008.npz',
      'agent_000000000048_00003.npz',
  }
  assert set(first) - set(second) == {
      'agent_000000000000_00008.npz', 'agent_000000000024_00006.npz'
  }
  for name in set(first) & set(second):
    assert os.stat(tmp_path / name).st_mtime_ns == times[name]


@pytest.mark.parametrize(
    'damage', ['short', 'half', 'other', 'empty', 'gone', 'segment', 'array']
)
def test_a_damaged_file_is_named_and_the_replay_stays_empty(tmp_path, damage):
  replay = _filled()
  _work(replay, 0, 30)
  state = replay.save(tmp_path)
  path = tmp_path / 'demonstrations_000000000000_00003.npz'
  segment = (tmp_path / 'agent_000000000000_00008.npz').read_bytes()
  array = io.BytesIO()
  np.save(array, np.zeros(3))
  content = bytearray(path.read_bytes())
  content[len(content) // 2] ^= 0xFF
  path.unlink()
  if damage != 'gone':
    path.write_bytes({
        'short': content[:20], 'half': content[: len(content) // 2],
        'other': content, 'empty': b'', 'segment': segment,
        'array': array.getvalue(),
    }[damage])

  restored = _create()
  with pytest.raises(
      sequence_table.DamagedReplayError, match=f'{path}.*is damaged or missing'
  ):
    restored.restore(tmp_path, state)
  assert restored.sizes() == {'agent': 0, 'demonstrations': 0}
  # It can be used: the same as one that was never asked to restore.
  for number in range(3):
    restored.add_demonstrations(_sequence(number, True), [1.0 + number])
  _assert_equal(_work(restored, 0, 50), _work(_filled(), 0, 50))


def test_files_are_on_the_disk_before_save_returns(tmp_path, monkeypatch):
  fsync, synced = os.fsync, []

  def note(descriptor):
    synced.append(os.readlink(f'/proc/self/fd/{descriptor}'))
    fsync(descriptor)

  monkeypatch.setattr(os, 'fsync', note)
  names = prioritized_replay.saved_files(_filled().save(tmp_path))
  assert synced == [f'{tmp_path}/{name}.new' for name in names] + [
      str(tmp_path)
  ]


# A sequence of 21 KB, expanded in place, and one of 84 KB, by a thread.
@pytest.mark.parametrize(('height', 'width'), [(12, 11), (24, 22)])
def test_images_take_less_and_come_back(height, width):
  # Stacks of four frames of noise; at frame 17 another episode begins.
  rng = np.random.default_rng(0)
  frames = rng.integers(0, 256, [2, 43, height, width], np.uint8)
  stacks = np.stack([frames[:, t : t + 40] for t in range(4)], axis=-1)
  images = np.concatenate([stacks[0, :17], stacks[1, 17:]])
  spec = _SPEC._replace(frames=tf.TensorSpec(images.shape, tf.uint8))
  replay = prioritized_replay.PrioritizedReplay(spec, 9)
  replay.add(_sequence(0)._replace(frames=images[np.newaxis]))
  for found in replay.sample(2).sequences.frames:
    np.testing.assert_array_equal(found, images)
  column = replay._tables['agent']._columns[1]
  # Noise cannot be compressed: 17 + 3 frames of one, 23 + 3 of the other.
  assert 46 <= len(column._compressed[0]) / (height * width) < 47


def test_a_table_beyond_the_memory_is_refused():
  spec = _SPEC._replace(number=tf.TensorSpec([1_000_000], tf.float64))
  with pytest.raises(ValueError, match="'agent'.* GiB for 10,000,000 .*unroll"):
    prioritized_replay.PrioritizedReplay(spec, 10_000_000)


def test_demonstrations_beyond_the_memory_are_refused(monkeypatch):
  monkeypatch.setattr(sequence_table, '_SEGMENT_BYTES', 1)
  monkeypatch.setattr(os, 'sysconf', lambda _: 1_000)  # A megabyte.
  spec = _SPEC._replace(number=tf.TensorSpec([1_000], tf.float64))
  replay = prioritized_replay.PrioritizedReplay(spec, 40, compress_images=True)
  many = tf.nest.map_structure(
      lambda x: np.repeat(x, 64, axis=0), _sequence(0, True)
  )._replace(number=np.zeros([64, 1_000]))
  replay.add_demonstrations(many)
  with pytest.raises(ValueError, match="'demonstrations'.* 128 seq"):
    replay.add_demonstrations(many)
  assert replay.sizes() == {'agent': 0, 'demonstrations': 64}


def test_the_segment_beyond_the_last_counts_as_memory(monkeypatch):
  monkeypatch.setattr(os, 'sysconf', lambda _: 1_000)  # A megabyte.
  monkeypatch.setattr(sequence_table, '_SEGMENT_BYTES', 1)  # 8 sequences.
  spec = _SPEC._replace(number=tf.TensorSpec([2_700], tf.float64))
  prioritized_replay.PrioritizedReplay(spec, 32)
  with pytest.raises(ValueError, match="'agent'.* for 40 seq"):  # And 8 more.
    prioritized_replay.PrioritizedReplay(spec, 40)
