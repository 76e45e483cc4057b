# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Demonstrations go into Minari's data sets and come back as they were."""

import functools
import json
import os
import pathlib
import sys

import gymnasium
from gymnasium import spaces
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.interchange import minari_data
from rnd_agents.replay import demonstrations
from tests import tiny_runs

minari = pytest.importorskip('minari')
pytest.importorskip('h5py')

_NAME = 'minari:keys/expert-v0'
_OTHER = 'minari:keys-v0'
_SETTINGS = {'load_environment.env': "'Pictures-v0'"}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
  monkeypatch.setenv('MINARI_DATASETS_PATH', str(tmp_path / 'datasets'))


def _spec(observation_space, action_space):
  return demonstrations.trajectory_spec(
      gymnasium_spaces.observation_converter(observation_space)[0],
      gymnasium_spaces.action_converter(action_space, 1)[0],
  )


def _episode(random, spec, length, discount):
  """An episode of random numbers; its last discount is given."""

  def draw(leaf, num):
    low, high = np.minimum(leaf.minimum, 99), np.minimum(leaf.maximum, 99)
    shape = (num, *leaf.shape)
    if leaf.dtype.is_floating:
      return random.normal(size=shape).astype(leaf.dtype.as_numpy_dtype)
    drawn = random.integers(low, high + 1, size=shape)
    return drawn.astype(leaf.dtype.as_numpy_dtype)

  step_type = np.ones(length + 1, np.int32)
  step_type[0], step_type[-1] = 0, 2
  action = draw(spec.action, length + 1)
  action[-1] = 0
  discounts = np.ones(length + 1, np.float32)
  discounts[length - 1] = discount
  reward = random.normal(size=length + 1).astype(np.float32)
  reward[-1] = 0
  observation = tf.nest.map_structure(
      lambda leaf: draw(leaf, length + 1), spec.observation
  )
  _, mask = action_masks.split_mask(observation)
  if mask is not None:  # It allows what is done, and further actions.
    mask[np.arange(length + 1), action] = 1
  return spec._replace(
      step_type=step_type,
      observation=observation,
      action=action,
      next_step_type=np.append(step_type[1:], np.int32(0)),
      reward=reward,
      discount=discounts,
  )


def _assert_equal(episode, other):
  for name, value in episode._asdict().items():
    theirs = getattr(other, name)
    if name == 'policy_info':
      continue
    tf.nest.assert_same_structure(value, theirs)
    for part, read in zip(tf.nest.flatten(value), tf.nest.flatten(theirs)):
      np.testing.assert_array_equal(part, read, strict=True, err_msg=name)


_PICTURE = spaces.Box(0, 255, (84, 84, 3), np.uint8)
_MASK = spaces.Box(0, 1, (3,), np.uint8)


@pytest.mark.parametrize(
    'space',
    [
        spaces.Box(-np.inf, np.inf, (4,), np.float64),
        spaces.Box(0, 255, (84, 84, 1), np.uint8),
        _PICTURE,
        spaces.Box(0, 255, (84, 84, 4), np.uint8),
        spaces.Dict(
            image=spaces.Box(0, 255, (7, 7, 3), np.uint8),
            direction=spaces.Discrete(4),
        ),
        gymnasium_spaces.SpaceWithMask(
            observation=spaces.Dict(a=_PICTURE, b=spaces.Discrete(4)),
            action_mask=_MASK,
        ),
        # Of an environment that observes such keys, and has no mask for us.
        spaces.Dict(observation=_PICTURE, action_mask=_MASK),
    ],
    ids=lambda space: str(space.shape or type(space).__name__),
)
def test_episodes_come_back_as_they_were(space):
  random = np.random.default_rng(0)
  spec = _spec(space, spaces.Discrete(3, start=1))
  written = [
      _episode(random, spec, 5 + i, discount=float(i % 2)) for i in range(20)
  ]
  written[3].discount[1] = 0.0  # A life was lost.
  with minari_data.MinariWriter(_NAME, spec, _SETTINGS) as writer:
    for i, episode in enumerate(written):
      writer.write(episode, seed=100 + i)
  checked = []
  read = minari_data.read_data_set(_NAME, spec, checked.append)
  assert checked == [_SETTINGS] and len(read) == 20
  for episode, other in zip(written, read):
    _assert_equal(episode, other)
  # And for Minari itself.
  dataset = minari.load_dataset('keys/expert-v0')
  metadata = dataset.storage.get_episode_metadata(range(20))
  assert [each['seed'] for each in metadata] == list(range(100, 120))
  lengths = [len(episode) for episode in dataset.iterate_episodes()]
  assert lengths == [5 + i for i in range(20)]


def test_names_and_other_data_sets_are_refused():
  spec = _spec(_PICTURE, spaces.Discrete(3))
  names = {
      'minari:keys': 'keys/expert-v0: it has no version$',
      'minari:../keys-v0': 'keys/expert-v0: Malformed',
      _OTHER: 'not in',
  }
  for name, word in names.items():
    with pytest.raises(demonstrations.DemonstrationError, match=word):
      minari_data.read_data_set(name, spec, lambda _: None)
  episode = _episode(np.random.default_rng(0), spec, 3, 0.0)
  for is_there in (False, True):
    if is_there:
      with pytest.raises(demonstrations.DemonstrationError, match='exists'):
        minari_data.MinariWriter(_OTHER, spec, _SETTINGS)
    else:
      with minari_data.MinariWriter(_OTHER, spec, _SETTINGS) as writer:
        writer.write(episode, 0)
  other = _spec(_PICTURE, spaces.Discrete(4))
  with pytest.raises(demonstrations.DemonstrationError, match='action'):
    minari_data.read_data_set(_OTHER, other, lambda _: None)


@pytest.mark.parametrize('key', ['walker/torso', '.'])
def test_keys_that_hdf5_takes_for_paths_are_refused_before_all(tmp_path, key):
  box = spaces.Box(-1.0, 1.0, (2,), np.float32)
  of_key = spaces.Dict({key: box, 'other': box})
  for pair in ((of_key, box), (spaces.Dict(a=of_key), box), (box, of_key)):
    with pytest.raises(demonstrations.DemonstrationError, match='the key .*is'):
      minari_data.MinariWriter(_NAME, _spec(*pair), _SETTINGS)
  assert not list(tmp_path.rglob('keys*'))


def test_a_kill_leaves_nothing_under_the_name(tmp_path):
  spec = _spec(_PICTURE, spaces.Discrete(3))
  random = np.random.default_rng(0)

  def write(num_episodes):
    """Is killed in the first write after so many, or at the renaming."""
    with minari_data.MinariWriter(_OTHER, spec, _SETTINGS) as writer:
      for i in range(3):
        if i == num_episodes:
          raise tiny_runs.Killed
        writer.write(_episode(random, spec, 3, 0.0), i)

  def stays(*args):
    raise tiny_runs.Killed

  for num_episodes in range(3):
    with pytest.MonkeyPatch.context() as context:
      context.setattr(minari_data.shutil, 'rmtree', lambda *a, **b: None)
      with pytest.raises((tiny_runs.Killed, FileExistsError)):
        write(num_episodes)
    assert os.listdir(tmp_path / 'datasets') == ['keys-v0.partial']
    minari_data.shutil.rmtree(tmp_path / 'datasets' / 'keys-v0.partial')
  with pytest.MonkeyPatch.context() as context:
    context.setattr(minari_data.os, 'rename', stays)
    with pytest.raises(tiny_runs.Killed):
      write(9)
  assert os.listdir(tmp_path / 'datasets') == ['keys-v0.partial']
  write(9)
  assert os.listdir(tmp_path / 'datasets') == ['keys-v0']


def _write(name, num_episodes=2):
  """Writes a data set; returns what it must fit, and its folder."""
  spec = _spec(_PICTURE, spaces.Discrete(3))
  random = np.random.default_rng(0)
  with minari_data.MinariWriter(name, spec, _SETTINGS) as writer:
    for seed in range(num_episodes):
      writer.write(_episode(random, spec, 3, 0.0), seed)
  folder = pathlib.Path(os.environ['MINARI_DATASETS_PATH'])
  return spec, folder / name.removeprefix('minari:') / 'data'


def _edit(folder, **changes):
  """Changes the metadata of a data set."""
  path = folder / 'metadata.json'
  path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _cut(folder):
  """Leaves the first half of the data, as a download that broke off."""
  path = folder / 'main_data.hdf5'
  os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    ('damage', 'word'),
    [
        (_cut, 'damaged'),
        (functools.partial(_edit, total_episodes=9), 'damaged'),
        (functools.partial(_edit, data_format='of tomorrow'), 'damaged'),
        (functools.partial(_edit, total_episodes=0), 'no episode'),
    ],
)
def test_damaged_data_sets_are_refused(damage, word):
  spec, folder = _write(_OTHER)
  damage(folder)
  with pytest.raises(demonstrations.DemonstrationError, match=word) as caught:
    minari_data.read_data_set(_OTHER, spec)
  assert str(caught.value).startswith(_OTHER)


def test_a_data_set_whose_format_needs_another_package(monkeypatch):
  spec, folder = _write(_OTHER)
  _edit(folder, data_format='arrow')
  monkeypatch.setitem(sys.modules, 'pyarrow', None)
  with pytest.raises(errors.MissingPackage, match=f'{_OTHER}: pyarrow .*pip'):
    minari_data.read_data_set(_OTHER, spec)


def test_the_environment_need_not_be_checked():
  spec, _ = _write(_OTHER)
  assert len(minari_data.read_data_set(_OTHER, spec)) == 2


def test_an_error_leaves_the_episodes_before_it(tmp_path, caplog):
  spec, _ = _write('minari:whole-v0')
  random = np.random.default_rng(0)
  with pytest.raises(ZeroDivisionError):
    with minari_data.MinariWriter(_OTHER, spec, _SETTINGS) as writer:
      for seed in range(2):
        writer.write(_episode(random, spec, 3, 0.0), seed)
      _ = 1 / 0
  partial = tmp_path / 'datasets' / 'keys-v0.partial'
  assert f'{partial} holds the 2 episodes' in caplog.text
  partial.rename(tmp_path / 'datasets' / 'keys-v0')
  read = minari_data.read_data_set(_OTHER, spec)
  whole = minari_data.read_data_set('minari:whole-v0', spec)
  assert len(read) == 2
  for episode, other in zip(whole, read, strict=True):
    _assert_equal(episode, other)


class _Missions(gymnasium.Env):
  """A picture, a direction and a mission, as MiniGrid has them."""

  observation_space = spaces.Dict(
      image=_PICTURE, mission=spaces.Text(99, charset='abc ')
  )
  action_space = spaces.Discrete(3, start=1)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._left = 4
    return self._observation(), {}

  def _observation(self):
    picture = self.np_random.integers(256, size=(84, 84, 3), dtype=np.uint8)
    return dict(image=picture, mission='a b')

  def step(self, action):
    self._left -= 1
    return self._observation(), float(action), False, self._left == 0, {}


@pytest.mark.parametrize('jpeg', [False, True])
def test_a_data_set_of_minaris_collector(caplog, jpeg):
  pytest.importorskip('jax')  # For minari.DataCollector.
  env = minari.DataCollector(_Missions(), jpeg_encoding=jpeg)
  frames = []
  for seed in range(2):
    observation, _ = env.reset(seed=seed)
    frames.append(observation['image'])
    for action in (1, 2, 3, 1):
      observation, *_ = env.step(action)
      frames.append(observation['image'])
  env.create_dataset('missions-v0')
  spec = _spec(_Missions.observation_space, _Missions.action_space)
  checked = []
  read = minari_data.read_data_set('minari:missions-v0', spec, checked.append)
  assert 'names no environment' in caplog.text and not checked
  assert len(read) == 2 and list(read[0].observation) == ['image']
  images = np.concatenate([episode.observation['image'] for episode in read])
  assert np.array_equal(images, frames) != jpeg
  assert ('JPEG' in caplog.text) == jpeg
  assert list(read[0].action) == [0, 1, 2, 0, 0]
  assert list(read[0].reward) == [1, 2, 3, 1, 0]
  assert list(read[0].discount) == [1, 1, 1, 1, 1]  # A time limit.
