# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of files of demonstrations."""

import logging
import os
import re
import shlex
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.drivers import py_driver
from tf_agents.environments import random_py_environment
from tf_agents.policies import random_py_policy
from tf_agents.specs import array_spec
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import trajectory
from tf_agents.utils import example_encoding_dataset

from rnd_agents import files
from rnd_agents.replay import demonstrations

_F32, _U8 = np.float32, np.uint8
_OBSERVATION = {
    'pixels': array_spec.BoundedArraySpec((3, 2), _U8, 0, 255),
    'body': (
        array_spec.ArraySpec((2,), np.float64),
        array_spec.BoundedArraySpec((), np.int32, 0, 4),
    ),
}
_ACTION = array_spec.BoundedArraySpec((), np.int64, 0, 3)
_STATE = [array_spec.ArraySpec((5,), _F32), array_spec.ArraySpec((), _F32)]


def _spec(observation=None, action=None, state=()):
  return demonstrations.trajectory_spec(
      observation or _OBSERVATION, action or _ACTION, state
  )


def _episode(length, seed, with_state=False):
  """T = length steps of noise."""
  random = np.random.RandomState(seed)
  frames = length + 1
  step_type = np.ones(frames, np.int32)
  step_type[0], step_type[-1] = 0, 2
  info = ()
  if with_state:
    info = {
        'network_state': (
            random.randn(frames, 5).astype(_F32),
            random.randn(frames).astype(_F32),
        )
    }
  return trajectory.Trajectory(
      step_type=step_type,
      observation={
          'pixels': random.randint(256, size=(frames, 3, 2)).astype(_U8),
          'body': (
              random.randn(frames, 2),
              random.randint(5, size=frames).astype(np.int32),
          ),
      },
      action=random.randint(4, size=frames).astype(np.int64),
      policy_info=info,
      next_step_type=np.append(step_type[1:], 0).astype(np.int32),
      reward=random.randn(frames).astype(_F32),
      discount=random.rand(frames).astype(_F32),
  )


def _assert_equal(episodes, expected):
  assert len(episodes) == len(expected)
  for episode, other in zip(episodes, expected):
    assert isinstance(episode, trajectory.Trajectory)
    tf.nest.assert_same_structure(episode, other)
    for a, b in zip(tf.nest.flatten(episode), tf.nest.flatten(other)):
      assert isinstance(a, np.ndarray) and a.dtype == b.dtype
      np.testing.assert_array_equal(a, b)


@pytest.fixture(name='file')
def _file(tmp_path):
  """A path, and the three episodes in it: 3, 1 and 300 steps."""
  path = str(tmp_path / 'my demos.tfrecord')
  episodes = [_episode(3, 0), _episode(1, 1), _episode(300, 2)]
  demonstrations.write_episodes(path, _spec(), episodes)
  return path, episodes


def test_what_is_read_is_what_was_written(file):
  path, episodes = file
  _assert_equal(demonstrations.read_episodes(path, _spec()), episodes)
  assert sorted(os.listdir(os.path.dirname(path))) == [
      'my demos.tfrecord', 'my demos.tfrecord.json', 'my demos.tfrecord.spec']
  assert demonstrations.Record.read(path) == (None, 3, 4 + 2 + 301)
  # TF-Agents' own reader agrees, frame by frame.
  frames = list(example_encoding_dataset.load_tfrecord_dataset(
      [path], as_trajectories=True, add_batch_dim=False))
  assert len(frames) == 4 + 2 + 301
  np.testing.assert_array_equal(
      frames[4].observation['body'][0], episodes[1].observation['body'][0][0])
  np.testing.assert_array_equal(frames[-1].reward, episodes[2].reward[-1])


def test_states_are_kept(tmp_path):
  episodes = [_episode(2, 0, with_state=True), _episode(4, 1, with_state=True)]
  spec = _spec(state=_STATE)
  demonstrations.write_episodes(tmp_path / 'a', spec, episodes)
  _assert_equal(demonstrations.read_episodes(tmp_path / 'a', spec), episodes)
  # Whoever has no use for them takes the same file.
  _assert_equal(demonstrations.read_episodes(tmp_path / 'a', _spec()), episodes)


class _Recorded:
  """Keeps what the observer beside it is given."""

  def __init__(self):
    self.frames = []

  def __call__(self, frame):
    self.frames.append(frame)


def test_what_a_driver_of_tf_agents_recorded(tmp_path, caplog):
  env = random_py_environment.RandomPyEnvironment(
      array_spec.BoundedArraySpec((2,), _F32, -1, 1), _ACTION,
      episode_end_probability=0.2, seed=3)
  spec = demonstrations.trajectory_spec(env.observation_spec(), _ACTION)
  path = str(tmp_path / 'stock')
  observer = example_encoding_dataset.TFRecordObserver(path, spec, py_mode=True)
  seen = _Recorded()
  policy = random_py_policy.RandomPyPolicy(env.time_step_spec(), _ACTION)
  py_driver.PyDriver(
      env, policy, [observer, seen], max_steps=40).run(env.reset())
  observer.close()
  last = [t for t, frame in enumerate(seen.frames) if frame.step_type == 2]
  assert 2 <= len(last) and last[-1] < len(seen.frames) - 1  # One is cut.
  with caplog.at_level(logging.WARNING):
    episodes = demonstrations.read_episodes(path, spec)
  assert f'{path}.json' in caplog.text
  num_left = len(seen.frames) - 1 - last[-1]
  assert f'the last {num_left} frames' in caplog.text
  starts = [0] + [t + 1 for t in last]
  assert len(episodes) == len(last)
  for start, end, episode in zip(starts, last, episodes):
    np.testing.assert_array_equal(
        episode.observation,
        np.stack([f.observation for f in seen.frames[start : end + 1]]))
    np.testing.assert_array_equal(
        episode.reward, [f.reward for f in seen.frames[start : end + 1]])


_BOX = array_spec.BoundedArraySpec
# What differs, and the parts that are named for it.
_MISFITS = [
    (
        dict(observation=dict(_OBSERVATION, pixels=_BOX((3, 4), _U8, 0, 255))),
        ['observation/pixels'],
    ),
    (
        dict(observation=dict(_OBSERVATION, pixels=_BOX((3, 2), _U8, 0, 1))),
        ['observation/pixels'],
    ),
    (
        dict(observation={'pixels': _OBSERVATION['pixels']}),
        ['observation/body/0', 'observation/body/1'],
    ),
    (
        dict(observation=dict(_OBSERVATION, more=_BOX((1,), _F32, 0, 1))),
        ['observation/more'],
    ),
    (dict(action=_BOX((), np.int64, 0, 4)), ['action']),
    (
        dict(
            action=_BOX((), np.int32, 0, 3), observation=_OBSERVATION['pixels']
        ),
        ['action', 'observation', 'observation/body/0', 'observation/body/1',
         'observation/pixels'],
    ),
    (
        dict(state=_STATE),
        ['policy_info/network_state/0', 'policy_info/network_state/1'],
    ),
]


@pytest.mark.parametrize(('changes', 'parts'), _MISFITS)
def test_each_part_that_does_not_fit_is_named(file, changes, parts):
  path, _ = file
  with pytest.raises(demonstrations.DemonstrationError, match=path) as error:
    demonstrations.read_episodes(path, _spec(**changes))
  message = str(error.value)
  found = re.findall('([a-z/_0-9]+) is [^;]* must be ', message)
  assert sorted(found) == parts
  assert ('--keep_network_state' in message) == ('state' in changes)


def test_what_is_no_misfit():
  # Bounds of floats, and of wide integers, were infinite once or will be.
  def spec(bound):
    return _spec(observation=(
        _BOX((2,), _F32, -bound, bound), _BOX((), np.int32, 0, 1000 * bound)))

  demonstrations.check_spec(spec(1), spec(2))
  most = np.iinfo(np.int32)
  demonstrations.check_spec(
      _spec(observation=_BOX((), np.int32, most.min, most.max)),
      _spec(observation=_BOX((), np.int32, most.min + 1, most.max)))
  box = _spec(action=_BOX((2,), _F32, -1, 1))
  demonstrations.check_spec(box, _spec(action=_BOX((2,), _F32, [-1, -1], 1)))
  with pytest.raises(demonstrations.DemonstrationError, match='-2., -1.. to'):
    demonstrations.check_spec(_spec(action=_BOX((2,), _F32, [-2, -1], 1)), box)
  some = _spec(action=_BOX((3,), _F32, [-2, -1, -1], 1))
  others = _spec(action=_BOX((3,), _F32, [-2, -2, -1], 1))
  with pytest.raises(demonstrations.DemonstrationError, match='-2., -2., -1.'):
    demonstrations.check_spec(some, others)


def _salvage_command(path):
  return (
      f'python -m train.collect_demos --salvage={shlex.quote(str(path))}'
      ' --out=NEW_FILE.'
  )


def _sizes(path):
  """Where each record of a file ends, in bytes."""
  ends = [0]
  for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
    ends.append(ends[-1] + 8 + 4 + len(record) + 4)
  assert ends[-1] == os.path.getsize(path)
  return ends


@pytest.mark.parametrize(
    ('num_frames', 'num_episodes'), [(300, 2), (5, 1), (2, 0), (0, 0)])
def test_a_file_that_was_cut(file, caplog, num_frames, num_episodes):
  path, episodes = file
  os.truncate(path, _sizes(path)[num_frames] + 20)
  with pytest.raises(demonstrations.DemonstrationError) as error:
    demonstrations.read_episodes(path)
  assert f'damaged after {num_frames} frames (truncated' in str(error.value)
  if num_episodes:
    assert _salvage_command(path) in str(error.value)
    with caplog.at_level(logging.WARNING):
      _assert_equal(
          demonstrations.read_episodes(path, salvage=True),
          episodes[:num_episodes],
      )
    assert f'damaged after {num_frames} frames' in caplog.text
    assert 'not recorded to its end' in caplog.text
  else:
    assert 'No whole episode' in str(error.value)
    with pytest.raises(demonstrations.DemonstrationError, match='no whole'):
      demonstrations.read_episodes(path, salvage=True)


def test_a_file_with_a_wrong_byte(file):
  path, episodes = file
  place = _sizes(path)[4] + 30  # Within the first frame of the second.
  with open(path, 'r+b') as stream:
    stream.seek(place)
    byte = stream.read(1)[0]
    stream.seek(place)
    stream.write(bytes([byte ^ 0xFF]))
  with pytest.raises(demonstrations.DemonstrationError) as error:
    demonstrations.read_episodes(path)
  assert 'damaged after 4 frames' in str(error.value)
  _assert_equal(demonstrations.read_episodes(path, salvage=True), episodes[:1])


@pytest.mark.parametrize(('num_frames', 'more'), [(4 + 2 + 9, 7), (4 + 2, 0)])
def test_a_file_cut_between_frames(file, caplog, num_frames, more):
  path, episodes = file
  # With a few bytes of the next frame, which TensorFlow does not mind.
  os.truncate(path, _sizes(path)[num_frames] + more)
  with pytest.raises(demonstrations.DemonstrationError) as error:
    demonstrations.read_episodes(path)
  assert f'has 2 episodes in {num_frames} frames, not 3 in 307' in (
      str(error.value))
  assert _salvage_command(path) in str(error.value)
  with caplog.at_level(logging.WARNING):
    found = demonstrations.read_episodes(path, salvage=True)
    _assert_equal(found, episodes[:2])
  assert 'not 3 in 307' in caplog.text
  assert ('the last 9 frames' in caplog.text) == bool(more)
  # A file of before there were records.
  os.remove(path + '.json')
  caplog.clear()
  with caplog.at_level(logging.WARNING):
    _assert_equal(demonstrations.read_episodes(path), episodes[:2])
  assert 'of its environment and length' in caplog.text


def test_a_record_that_is_damaged(file):
  path, _ = file
  for content in (
      '',
      '[]',
      '{"episodes": 3',
      '{"what": 3}',
      '{"environment": "a"}',
      '{"environment": {"a.b": 3}}',
      '{"episodes": "3", "frames": "3"}',
      '{"episodes": 3}',
  ):
    with open(path + '.json', 'w', encoding='utf-8') as record:
      record.write(content)
    for salvage in (False, True):
      with pytest.raises(
          demonstrations.DemonstrationError, match='json is damaged'
      ):
        demonstrations.read_episodes(path, salvage=salvage)


def test_files_that_are_none(file, tmp_path):
  path, _ = file
  def message(path):
    with pytest.raises(demonstrations.DemonstrationError) as error:
      demonstrations.read_episodes(path)
    return str(error.value)

  assert f'no file {tmp_path}/other' in message(f'{tmp_path}/other')
  text = tmp_path / 'notes.txt'
  text.write_text('Not at all a file of records.\n')
  assert 'notes.txt.spec is missing' in message(text)
  shutil.copy(path + '.spec', str(text) + '.spec')
  assert 'after 0 frames' in message(text)
  text.write_text('')
  assert 'holds no whole episode' in message(text)
  assert f'{tmp_path} is a directory' in message(tmp_path)
  for content, what in ((b'', 'empty'), (b'no spec', 'damaged, or not a spec')):
    with open(path + '.spec', 'wb') as spec:
      spec.write(content)
    assert f'{path}.spec is {what}: ' in message(path)
  example_encoding_dataset.encode_spec_to_file(
      path + '.spec', tensor_spec.from_spec(_ACTION))
  assert 'not of Trajectory' in message(path)
  # The spec of other demonstrations.
  example_encoding_dataset.encode_spec_to_file(
      path + '.spec', _spec(observation=_OBSERVATION['pixels']))
  assert 'damaged after 0 frames' in message(path)


def test_a_name_stands_for_a_complete_file(file, caplog):
  path, episodes = file
  new = [_episode(2, 7), _episode(5, 8)]
  with pytest.raises(KeyboardInterrupt):
    with demonstrations.DemonstrationWriter(path, _spec()) as writer:
      writer.write(new[0])
      _assert_equal(demonstrations.read_episodes(path), episodes)
      # What a kill would leave here.
      with pytest.raises(
          demonstrations.DemonstrationError, match='partial is not complete'
      ):
        demonstrations.read_episodes(path + '.partial')
      _assert_equal(
          demonstrations.read_episodes(path + '.partial', salvage=True), new[:1]
      )
      raise KeyboardInterrupt
  assert 'holds the 1 episodes' in caplog.text
  assert _salvage_command(path + '.partial') in caplog.text
  _assert_equal(demonstrations.read_episodes(path), episodes)
  salvaged = demonstrations.read_episodes(path + '.partial', salvage=True)
  _assert_equal(salvaged, new[:1])
  os.remove(path)
  with pytest.raises(demonstrations.DemonstrationError) as error:
    demonstrations.read_episodes(path)
  assert f'{path}.partial: ' in str(error.value)
  demonstrations.write_episodes(path, _spec(), iter(new))
  _assert_equal(demonstrations.read_episodes(path), new)
  assert not os.path.exists(path + '.partial')


def test_each_file_is_on_the_disk_before_its_name_and_the_frames_are_last(
    tmp_path, monkeypatch
):
  events = []
  sync, replace = files.sync, os.replace

  def synced(path):
    events.append(('sync', path))
    sync(path)

  def replaced(source, target):
    events.append((target, source))
    replace(source, target)

  monkeypatch.setattr(files, 'sync', synced)
  monkeypatch.setattr(os, 'replace', replaced)
  path = str(tmp_path / 'demos')
  demonstrations.write_episodes(path, _spec(), [_episode(1, 0)])
  assert events[-6:] == [
      (event, f'{path}.partial{suffix}')
      for suffix in ('.spec', '.json', '')
      for event in ('sync', path + suffix)
  ]


def test_no_episodes_leave_what_was_there(file):
  path, episodes = file
  with pytest.raises(demonstrations.DemonstrationError, match='no episodes'):
    demonstrations.write_episodes(path, _spec(), [])
  assert len(os.listdir(os.path.dirname(path))) == 3
  _assert_equal(demonstrations.read_episodes(path), episodes)


def _bad_episodes():
  good = _episode(4, 0)
  body = good.observation['body']
  nan = body[0].copy()
  nan[2, 1] = np.nan
  mid = good.step_type.copy()
  mid[-1] = 1
  return [
      (good._replace(action=good.action.astype(np.int32)),
       'Episode 0: action is int32'),
      (good._replace(action=good.action - 4), 'action goes from -'),
      (good._replace(action=good.action + 4), 'bounds, 0 to 3'),
      (good._replace(reward=good.reward[:-1]), 'reward is float32 [4]'),
      (good._replace(observation=dict(good.observation, body=(nan, body[1]))),
       'observation/body/0 has a NaN'),
      (good._replace(observation=good.observation['pixels']), 'Episode 0 has'),
      (good._replace(step_type=mid), 'step types [0 1 1 1 1]'),
      (tf.nest.map_structure(lambda x: x[1:], good), 'step types [1 1 1 2]'),
      (tf.nest.map_structure(lambda x: np.concatenate([x, x]), good),
       'step types [0 1 1 ... 1 1 2]'),
      (tf.nest.map_structure(lambda x: x[:1], good), 'step types [0]'),
      (good._replace(next_step_type=good.step_type), 'next step types [0 1'),
      (good._replace(step_type=np.array([0, 7, 1, 1, 2], np.int32)),
       'step types [0 7'),
      (good._replace(discount=good.discount + 4), 'discount goes from 4'),
      (good._replace(discount=good.discount - 1), 'discount goes from -'),
      (good._replace(reward=good.reward * _F32(1e30)), 'reward goes from -'),
  ]


@pytest.mark.parametrize('index', range(15))
def test_no_bad_episode_is_written(tmp_path, index):
  episode, message = _bad_episodes()[index]
  with pytest.raises(demonstrations.DemonstrationError) as error:
    demonstrations.write_episodes(tmp_path / 'a', _spec(), [episode])
  assert message in str(error.value)
  assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ('leaf', 'text'),
    [
        (array_spec.ArraySpec((2,), np.bool_), 'observation/x is bool [2]'),
        (array_spec.ArraySpec((2, 0), _F32), 'observation/x is float32 [2, 0]'),
    ],
)
def test_what_the_format_cannot_hold(tmp_path, leaf, text):
  with pytest.raises(demonstrations.DemonstrationError) as error:
    demonstrations.DemonstrationWriter(
        tmp_path / 'a', _spec(observation={'x': leaf}))
  assert text in str(error.value)
