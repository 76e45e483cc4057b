# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the sequences of episodes, against a slow list of frames."""

import collections
import functools
import pickle
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.drivers import py_driver
from tf_agents.policies import random_py_policy
from tf_agents.trajectories import trajectory

from rnd_agents.environments import loaders
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import sequences
from tests import environments_for_tests

_FIRST, _MID, _LAST = 0, 1, 2


def _row(k, num_steps, offset=0):
  """Frame k of an episode of steps x1, x2, ...: step k + 1, or the boundary.

  Rewards are 10, 20, ...; the last step is terminal. The boundary has
  the discount of a reset, 1, and a reward that is not to be repeated.
  """
  def step_type(i):
    return np.int32(_FIRST if i == 0 else _LAST if i == num_steps else _MID)

  boundary = k == num_steps
  return trajectory.Trajectory(
      step_type=step_type(k),
      observation={
          'x': np.array([offset + k + 1, -k], np.float32), 'n': np.int64(k)
      },
      action=np.int64(k + 100),
      policy_info=(),
      next_step_type=np.int32(_FIRST) if boundary else step_type(k + 1),
      reward=np.float32(-7 if boundary else offset + 10 * (k + 1)),
      discount=np.float32(k != num_steps - 1),
  )


def _state(k, offset=0):
  """What a network remembers before frame k: never zeros."""
  return (
      np.array([offset + k + 0.5, 7.0], np.float32), np.float64(offset - k - 1)
  )


def _stream(lengths, offset=0):
  """(row, state) of each frame of episodes of offset, 1,000 more, ..."""
  return [
      (_row(k, n, offset + 1000 * i), _state(k, offset + 1000 * i))
      for i, n in enumerate(lengths)
      for k in range(n + 1)
  ]


def _stacked(frames):
  """Frames (row, state) as rows [N, ...]."""
  rows, states = tf.nest.map_structure(lambda *x: np.array(x), *frames)
  return rows.replace(policy_info={'network_state': states})


def _batched(*parts):
  """[N, ...] of each environment as [B, N, ...]."""
  return tf.nest.map_structure(lambda *x: np.stack(x), *parts)


def _each(found):
  """Sequences [n, ...] one by one."""
  return [
      tf.nest.map_structure(lambda x, i=i: x[i], some)
      for some in found
      for i in range(len(some.is_demonstration))
  ]


def _cut(lengths, *settings, num_at_once=1):
  """Windows of episodes of 1,000, 2,000, ... and their settings."""
  found = []
  cutter = episode_cutter.EpisodeCutter(
      sequences.SequenceSettings(*settings), found.append
  )
  frames = _stream(lengths)
  for start in range(0, len(frames), num_at_once):
    cutter(_batched(_stacked(frames[start : start + num_at_once])))
  return _each(found)


def _slow_frames(num_steps, unroll_length, burn_in_length, period, remainder):
  """The frames of each window as a list of numbers, from below 0 to above T."""
  starts = []
  start = 0
  while start + unroll_length <= num_steps:
    starts.append(start)
    start += period
  trained = {start + i for start in starts for i in range(unroll_length)}
  if trained != set(range(num_steps)):
    if remainder in ('pad', 'fill') or (
        remainder == 'shift' and num_steps < unroll_length
    ):
      starts.append(start)
    elif remainder == 'shift':
      starts.append(num_steps - unroll_length)
  return [
      list(range(start - burn_in_length, start + unroll_length + 1))
      for start in starts
  ]


def _slow_window(frames, num_steps, offset, remainder):
  """Arrays of one window, and its state, a frame after the other."""
  rows = []
  for k in frames:
    row = _row(min(max(k, 0), num_steps), num_steps, offset)
    if k < 0:
      row = row.replace(step_type=np.int32(_MID))
    if k > num_steps and remainder == 'fill':
      row = _row(num_steps - 1, num_steps, offset)
      row = row.replace(step_type=np.int32(_LAST))
    elif k > num_steps:
      row = row.replace(
          step_type=np.int32(_LAST), next_step_type=np.int32(_FIRST),
          action=np.int64(0), reward=np.float32(0), discount=np.float32(0),
      )
    rows.append(row)
  stacked = tf.nest.map_structure(lambda *x: np.array(x), *rows)
  scale = 0 if frames[0] < 0 else 1
  return stacked, tuple(
      np.asarray(part) * scale for part in _state(max(frames[0], 0), offset)
  )


def _assert_same(found, expected):
  for a, b in zip(
      tf.nest.flatten(found), tf.nest.flatten(expected), strict=True
  ):
    np.testing.assert_array_equal(a, b)
    assert np.asarray(a).dtype == np.asarray(b).dtype


def _names(window):
  """Steps as x1, x2, ... are called; 'end' of the boundary, None of padding.

  A repeat of x6 is '6'.
  """
  row = window.trajectory
  names = []
  for x, step_type, next_step_type, discount in zip(
      row.observation['x'][:, 0].tolist(),
      row.step_type,
      row.next_step_type,
      row.discount,
  ):
    if step_type != _LAST:
      names.append(int(x))
    elif next_step_type == _LAST:
      names.append(str(int(x)))
    else:
      names.append('end' if discount else None)
  return names


@pytest.mark.parametrize(('num_steps', 'unroll', 'remainder', 'expected'), [
    (6, 3, 'pad', [[1, 2, 3, 4], [4, 5, 6, 'end']]),
    (6, 3, 'drop', [[1, 2, 3, 4], [4, 5, 6, 'end']]),
    (6, 3, 'shift', [[1, 2, 3, 4], [4, 5, 6, 'end']]),
    (6, 4, 'pad', [[1, 2, 3, 4, 5], [5, 6, 'end', None, None]]),
    (6, 4, 'fill', [[1, 2, 3, 4, 5], [5, 6, 'end', '6', '6']]),
    (6, 4, 'drop', [[1, 2, 3, 4, 5]]),
    (6, 4, 'shift', [[1, 2, 3, 4, 5], [3, 4, 5, 6, 'end']]),
    (2, 4, 'pad', [[1, 2, 'end', None, None]]),
    (2, 4, 'fill', [[1, 2, 'end', '2', '2']]),
    (1, 2, 'fill', [[1, 'end', '1']]),
    (6, 3, 'fill', [[1, 2, 3, 4], [4, 5, 6, 'end']]),
    (2, 4, 'drop', []),
    (2, 4, 'shift', [[1, 2, 'end', None, None]]),
    (2, 1, 'pad', [[1, 2], [2, 'end']]),
])
def test_steps_of_the_documentation(num_steps, unroll, remainder, expected):
  found = _cut([num_steps], unroll, 0, None, remainder)

  assert [_names(window) for window in found] == expected


def test_remainder_of_the_documentation_holds_the_end_and_nothing_else():
  window = _cut([6], 4)[1]

  row = window.trajectory
  np.testing.assert_array_equal(row.reward, [50, 60, -7, 0, 0])
  np.testing.assert_array_equal(row.discount, [1, 0, 1, 0, 0])
  np.testing.assert_array_equal(row.step_type, [1, 1, 2, 2, 2])
  np.testing.assert_array_equal(row.next_step_type, [1, 2, 0, 0, 0])
  np.testing.assert_array_equal(row.action, [104, 105, 106, 0, 0])
  np.testing.assert_array_equal(row.observation['n'], [4, 5, 6, 6, 6])
  assert row.policy_info == ()
  np.testing.assert_array_equal(window.network_state[0], [4.5, 7.0])
  assert window.network_state[1] == -5.0


def test_a_repeat_is_the_last_step_but_for_its_step_type():
  row = _cut([6], 4, 0, None, 'fill')[1].trajectory

  np.testing.assert_array_equal(row.reward, [50, 60, -7, 60, 60])
  np.testing.assert_array_equal(row.discount, [1, 0, 1, 0, 0])
  np.testing.assert_array_equal(row.step_type, [1, 1, 2, 2, 2])
  np.testing.assert_array_equal(row.next_step_type, [1, 2, 0, 2, 2])
  np.testing.assert_array_equal(row.action, [104, 105, 106, 105, 105])
  np.testing.assert_array_equal(row.observation['n'], [4, 5, 6, 5, 5])


def test_burn_in_of_2_before_4_steps_makes_7_frames():
  found = _cut([8], 4, 2)

  assert [_names(window) for window in found] == [
      [1, 1, 1, 2, 3, 4, 5], [3, 4, 5, 6, 7, 8, 'end']
  ]
  # Steps 5 to 8, frames 2 to 5, are trained, from the state before step 3.
  np.testing.assert_array_equal(
      found[1].trajectory.reward[2:6], [50, 60, 70, 80]
  )
  np.testing.assert_array_equal(found[1].network_state[0], [2.5, 7.0])
  # What comes before the episode is no beginning; step 1 is.
  np.testing.assert_array_equal(
      found[0].trajectory.step_type, [1, 1, 0, 1, 1, 1, 1]
  )
  np.testing.assert_array_equal(found[0].network_state[0], [0.0, 0.0])


def _random_cases():
  rng = np.random.default_rng(0)
  for remainder in sequences.REMAINDERS:
    for _ in range(40):
      unroll = int(rng.integers(1, 7))
      yield (
          rng.integers(1, 16, size=4).tolist(), unroll,
          int(rng.integers(0, 6)), int(rng.integers(1, unroll + 1)), remainder,
      )
    for unroll in (1, 3, 5):  # Tiles.
      yield list(range(1, 14)), unroll, 2, unroll, remainder


@pytest.mark.parametrize('case', _random_cases())
def test_sequences_of_random_episodes(case):
  lengths, unroll, burn_in, period, remainder = case
  # One by one, some, or more than are taken at once.
  found = _cut(
      lengths, unroll, burn_in, period, remainder,
      num_at_once=(1, 5, 40)[unroll % 3],
  )

  expected, owners = [], []
  for episode, num_steps in enumerate(lengths):
    for frames in _slow_frames(num_steps, unroll, burn_in, period, remainder):
      expected.append(
          _slow_window(frames, num_steps, 1000 * episode, remainder)
      )
      owners.append((episode, frames))
  assert len(found) == len(expected)
  for window, (row, state) in zip(found, expected):
    _assert_same(window.trajectory, row)
    _assert_same(window.network_state, state)

  # What is promised, whatever the slow list says.
  trained = collections.Counter()
  for window, (episode, frames) in zip(found, owners):
    row = window.trajectory
    valid = row.step_type[burn_in:-1] != _LAST
    assert valid.any()
    if remainder == 'fill':  # All windows weigh the same.
      repeats = (row.step_type == _LAST) & (row.next_step_type == _LAST)
      assert valid.sum() + repeats.sum() == unroll
    for x in row.observation['x'][burn_in:-1, 0][valid]:
      trained[int(x)] += 1
    firsts = np.flatnonzero(row.step_type == _FIRST).tolist()
    assert firsts == ([-frames[0]] if frames[0] <= 0 else [])
    assert set(row.observation['x'][:, 0] // 1000) == {episode}
  steps = [
      1000 * episode + k + 1
      for episode, num_steps in enumerate(lengths) for k in range(num_steps)
  ]
  if remainder != 'drop':
    assert set(trained) == set(steps)
    rewards = np.concatenate([w.trajectory.reward[burn_in:-1] for w in found])
    for episode, num_steps in enumerate(lengths):
      assert 1000 * episode + 10 * num_steps in rewards
  if period == unroll and remainder != 'shift':
    assert set(trained.values()) <= {1}


def test_arrays_that_are_used_again_do_not_change_windows():
  found = []
  cutter = episode_cutter.EpisodeCutter(
      sequences.SequenceSettings(4), found.append
  )
  rows = None
  for frame in _stream([4]):
    new = _batched(_stacked([frame]))
    rows = new if rows is None else rows
    for old, leaf in zip(tf.nest.flatten(rows), tf.nest.flatten(new)):
      old[...] = leaf
    cutter(rows)

  _assert_same(_each(found), _cut([4], 4))


@pytest.mark.parametrize('remainder', sequences.REMAINDERS)
def test_goes_on_in_mid_episode(remainder):
  settings = sequences.SequenceSettings(3, 2, 2, remainder)
  frames = _stream([7, 1, 5])
  expected = _cut([7, 1, 5], *settings)
  for stop in range(len(frames) + 1):
    found = []
    cutter = episode_cutter.EpisodeCutter(settings, found.append, True)
    if stop:
      cutter(_batched(_stacked(frames[:stop])))
    saved = cutter.get_state()
    num_found = len(found)
    # Is forgotten.
    cutter(_batched(_stacked([(frames + _stream([9]))[stop]])))
    del found[num_found:]
    resumed = episode_cutter.EpisodeCutter(settings, found.append)
    resumed.set_state(pickle.loads(pickle.dumps(saved)))
    if stop < len(frames):
      resumed(_batched(_stacked(frames[stop:])))
    _assert_same([w[:2] for w in _each(found)], [w[:2] for w in expected])


def test_state_of_other_settings_is_refused():
  cutter = episode_cutter.EpisodeCutter(sequences.SequenceSettings(3), print)
  other = episode_cutter.EpisodeCutter(sequences.SequenceSettings(3, 1), print)
  with pytest.raises(ValueError, match=r'\(3, 0, None, .pad.\), not to.*=1'):
    other.set_state(cutter.get_state())


def test_reset_forgets_an_unfinished_episode():
  found = []
  cutter = episode_cutter.EpisodeCutter(
      sequences.SequenceSettings(4), found.append
  )
  cutter(_batched(_stacked(_stream([9], 5000)[:3])))
  cutter.reset()
  cutter(_batched(_stacked(_stream([5]))))

  _assert_same(_each(found), _cut([5], 4))


def test_rows_out_of_order_are_refused():
  frames = _stream([9])
  cutter = episode_cutter.EpisodeCutter(sequences.SequenceSettings(4), print)
  for k in (1, 9):
    with pytest.raises(ValueError, match='first row of an episode'):
      cutter(_batched(_stacked([frames[k]])))
  cutter(_batched(_stacked(frames[:2])))
  for rows in (frames[:1], [frames[2], frames[0]]):
    with pytest.raises(ValueError, match='begins after one that has no.*LAST'):
      cutter(_batched(_stacked(rows)))
  cutter.reset()
  with pytest.raises(ValueError, match='step type 1, not FIRST'):
    cutter(_batched(_stacked(frames + [frames[1]])))


def test_spec_fits_the_windows():
  settings = sequences.SequenceSettings(4, np.int64(2))
  frame_spec = tf.nest.map_structure(
      lambda x: tf.TensorSpec(np.shape(x), np.asarray(x).dtype), _row(0, 6)
  ).replace(policy_info={'more': tf.TensorSpec([3], tf.float32)})
  spec = episode_cutter.sequence_spec(
      frame_spec, settings,
      [tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.float64)],
  )
  tf.nest.map_structure(
      lambda s, x: np.testing.assert_equal(
          (tuple(s.shape), s.dtype.as_numpy_dtype), (x.shape, x.dtype.type)
      ),
      spec, _cut([6], *settings)[0],
  )
  assert spec.trajectory.observation['x'].shape == [7, 2]


class _Info(NamedTuple):
  network_state: tuple
  other: np.ndarray


@pytest.mark.parametrize('kind', ['dict', 'tuple', 'tensors'])
@pytest.mark.parametrize('num_at_once', [1, 7, 40])
def test_batch_is_each_environment_for_itself(kind, num_at_once):
  settings = sequences.SequenceSettings(3, 1, 2)
  # Three environments whose episodes end at different times, and which have
  # rows at different times, the third one more often than the others.
  streams = [
      _stream(lengths, 10_000 * b)
      for b, lengths in enumerate([[4, 6], [1, 9], [16]])
  ]
  random = np.random.default_rng(0)
  mask = np.zeros([3, 40], bool)
  rows, expected = [], []
  for b, stream in enumerate(streams):
    times = np.sort(
        random.choice(20 if b == 2 else 40, len(stream), replace=False)
    )
    mask[b, times] = True
    padded = [stream[0]] * 40
    for time, frame in zip(times, stream, strict=True):
      padded[time] = frame
    rows.append(_stacked(padded))
    found = []
    cutter = episode_cutter.EpisodeCutter(settings, found.append)
    for time, frame in zip(times, stream):
      num_before = len(found)
      cutter(_batched(_stacked([frame])))
      expected += [(time, b, w) for w in _each(found[num_before:])]
  expected = [w for _, _, w in sorted(expected, key=lambda x: x[:2])]
  rows = _batched(*rows)
  if kind == 'tuple':
    rows = rows.replace(policy_info=_Info(
        rows.policy_info['network_state'], np.zeros([3, 40])
    ))
  found = []
  cutter = episode_cutter.EpisodeCutter(settings, found.append)
  for start in range(0, 40, num_at_once):
    part = tf.nest.map_structure(
        lambda x, t=start: x[:, t : t + num_at_once], (rows, (), mask)
    )
    if kind == 'tensors':
      part = tf.nest.map_structure(tf.constant, part)
    cutter(*part)
    resumed = episode_cutter.EpisodeCutter(settings, found.append)
    resumed.set_state(pickle.loads(pickle.dumps(cutter.get_state())))
    cutter = resumed

  found = _each(found)
  assert len(found) == len(expected) > 12
  _assert_same(found, expected)


def test_batch_refuses_other_sizes():
  settings = sequences.SequenceSettings(3)
  cutter = episode_cutter.EpisodeCutter(settings, print)
  first, row = (_stacked([frame]) for frame in _stream([5])[:2])
  rows = _batched(row, row)
  one = tf.nest.map_structure(lambda x: x[:, 0], rows)
  for _ in range(2):  # As the first rows, and as others.
    with pytest.raises(ValueError, match=r'2 environments.*\(1, 4\)'):
      cutter(rows.replace(policy_info={'network_state': np.zeros([1, 4])}))
    with pytest.raises(ValueError, match=r'\[2, N, ...\].*\(2,\)'):
      cutter(one)
    cutter.reset()
    cutter(_batched(first, first))
  resumed = episode_cutter.EpisodeCutter(settings, print)
  with pytest.raises(ValueError, match=r'must have arrays.*shape \(\)'):
    resumed(tf.nest.map_structure(lambda x: x[0, 0], rows))
  resumed.set_state(cutter.get_state())
  for each in (cutter, resumed):
    with pytest.raises(ValueError, match=r'2 environments.*\(3, 1\)'):
      each(_batched(row, row, row))


def test_rows_of_a_driver():
  lengths = iter([5, 2])
  make = functools.partial(
      environments_for_tests.Steps, reward=lambda env: float(env.is_over())
  )
  env = loaders.load_environment(lambda: make(next(lengths)), 2)
  policy = random_py_policy.RandomPyPolicy(
      env.time_step_spec(), env.action_spec()
  )
  found = []
  cutter = episode_cutter.EpisodeCutter(
      sequences.SequenceSettings(3), found.append
  )

  def observe(row):
    cutter(tf.nest.map_structure(lambda x: np.asarray(x)[:, np.newaxis], row))

  # Of both together, boundaries not counted.
  py_driver.PyDriver(env, policy, [observe], max_steps=20).run(env.reset())
  found = _each(found)

  summary = [
      (w.trajectory.observation[:, 0].tolist(), w.trajectory.reward.tolist())
      for w in found
  ]
  long = [([0, 1, 2, 3], [0, 0, 0, 0]), ([3, 4, 5, 5], [0, 1, 0, 0])]
  short = ([0, 1, 2, 2], [0, 1, 0, 0])
  assert summary[:4] == [short, long[0], long[1], short]
  for window in found:
    row = window.trajectory
    terminal = row.next_step_type == _LAST
    np.testing.assert_array_equal(row.reward, terminal)
    np.testing.assert_array_equal(row.discount[terminal], 0.0)
  assert found[0].trajectory.step_type.tolist() == [0, 1, 2, 2]
