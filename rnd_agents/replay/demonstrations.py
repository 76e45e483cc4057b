# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes and reads files of demonstrations: episodes to learn from.

The files are those of TF-Agents' `TFRecordObserver`: a TFRecord with one frame
(`Trajectory`) a record, and a file PATH.spec beside it with the spec of a
frame. So `read` takes what a TF-Agents driver recorded of one environment, and
TF-Agents' `load_tfrecord_dataset` takes what is written here.

An episode of T steps has T + 1 frames. Frame t holds observation and action at
t, and the reward, discount and step type that follow. The frame after the T
steps is the boundary: its step type is LAST, its action and reward belong to no
transition. Bootstrapping at a time limit needs its observation.

While a file is being written it is called PATH.partial. What a kill leaves of
it can be read; an episode that was not written to its end is dropped.

Limits of the format: arrays of fixed shape with no empty axis, of float16,
float32, float64 and the integers from int8 to int64 that TensorFlow decodes;
no bool, no text. Nothing is compressed. A file that was cut between two
episodes reads as a shorter one.
"""

import os

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.utils import example_encoding
from tf_agents.utils import example_encoding_dataset

from rnd_agents import files
from rnd_agents.replay import demonstration_specs

SPEC_SUFFIX = '.spec'  # TF-Agents' own.
PARTIAL_SUFFIX = '.partial'
_BATCH_FRAMES = 256
_DAMAGE = (tf.errors.DataLossError, tf.errors.InvalidArgumentError)
DemonstrationError = demonstration_specs.DemonstrationError
check = demonstration_specs.check
trajectory_spec = demonstration_specs.trajectory_spec


class DemonstrationWriter:
  """Writes episodes to a file that gets its name when it is complete.

  Use it in a `with` statement. Where that ends in an exception, PATH.partial
  stays, with the episodes that were written.

  Attributes:
    num_episodes: Episodes written so far.
  """

  def __init__(self, path, spec):
    """Creates the writer; `with` opens the file.

    Args:
      path: The file. One that exists is replaced at the end.
      spec: A `Trajectory` of specs of one frame, such as `trajectory_spec`
        returns.

    Raises:
      DemonstrationError: If the format cannot hold a part of it.
    """
    self._path = os.path.abspath(path)
    self._partial = self._path + PARTIAL_SUFFIX
    self._spec = tensor_spec.from_spec(spec)
    self._observer = None
    self.num_episodes = 0
    demonstration_specs.check_types(self._spec)

  def write(self, episode):
    """Adds an episode.

    Args:
      episode: A `Trajectory` of NumPy arrays [T + 1, ...].

    Raises:
      DemonstrationError: If it does not fit the spec, or is no whole episode.
    """
    episode = tf.nest.map_structure(np.asarray, episode)
    demonstration_specs.check_episode(
        episode, self._spec, f'Episode {self.num_episodes}'
    )
    for t in range(len(episode.step_type)):
      self._observer(tf.nest.map_structure(lambda x, t=t: x[t], episode))
    self._observer.flush()  # A kill of this process now loses none of it.
    self.num_episodes += 1

  def __enter__(self):
    self._observer = example_encoding_dataset.TFRecordObserver(
        self._partial, self._spec, py_mode=True
    )
    return self

  def __exit__(self, error_type, error, traceback):
    self._observer.close()
    partial_spec = self._partial + SPEC_SUFFIX
    if error is None and self.num_episodes:
      for path in (partial_spec, self._partial):
        files.sync(path)
      os.replace(partial_spec, self._path + SPEC_SUFFIX)
      os.replace(self._partial, self._path)
    elif self.num_episodes:
      logging.warning(
          '%s holds the %d episodes before the error.',
          self._partial,
          self.num_episodes,
      )
    else:
      os.remove(partial_spec)
      os.remove(self._partial)


def write(path, spec, episodes):
  """Writes a file of demonstrations.

  Args:
    path: The file.
    spec: As for `DemonstrationWriter`.
    episodes: `Trajectory`s of NumPy arrays [T + 1, ...], at least one.

  Raises:
    DemonstrationError: If there are none, or one does not fit.
  """
  with DemonstrationWriter(path, spec) as writer:
    for episode in episodes:
      writer.write(episode)
  if not writer.num_episodes:
    raise DemonstrationError(f'There are no episodes to write to {path}.')


def read(path, expected_spec=None, salvage=False):
  """Reads the episodes of a file.

  Args:
    path: The file.
    expected_spec: Optional `Trajectory` of specs that it must fit; see `check`.
    salvage: Whether a damaged file is read up to the damage, with a warning.

  Returns:
    A list of `Trajectory`s of NumPy arrays [T + 1, ...], from the FIRST to the
    LAST frame. Their policy info is that of the file.

  Raises:
    DemonstrationError: If there is no such file, it is damaged, holds no whole
      episode, or does not fit.
  """
  path = os.fspath(path)
  spec = read_spec(path)
  if expected_spec is not None:
    check(spec, expected_spec, path)
  flat, error = _read_frames(path, spec)
  episodes = _cut(path, spec, flat)
  if error is not None:
    found = f'{len(flat[0]) if flat else 0:,} frames'
    if not salvage:
      whole = f'read(path, salvage=True) returns the {len(episodes)} before it.'
      raise DemonstrationError(
          f'{path} is cut short or damaged after {found}'
          f' ({_one_line(error)}). '
          + (whole if episodes else 'No whole episode is left: collect anew.')
      )
    logging.warning('%s is cut short or damaged after %s.', path, found)
  if not episodes:
    raise DemonstrationError(
        f'{path} holds no whole episode, from a FIRST to a LAST frame: collect'
        ' anew.'
    )
  return episodes


def read_spec(path):
  """Returns the spec of the frames of a file.

  Args:
    path: The file of demonstrations, not that of the spec.

  Returns:
    A `Trajectory` of tensor specs.

  Raises:
    DemonstrationError: If one of the two files is missing, or damaged.
  """
  path = os.fspath(path)
  if not os.path.isfile(path):
    raise DemonstrationError(_missing(path))
  spec_path = path + SPEC_SUFFIX
  if not os.path.isfile(spec_path):
    raise DemonstrationError(
        f'{spec_path} is missing, the spec of {path}: move and copy the two'
        ' together.'
    )
  try:
    spec = example_encoding_dataset.parse_encoded_spec_from_file(spec_path)
  # Protobuf raises errors of its own for a file that is empty or another kind.
  except Exception as error:  # pylint: disable=broad-exception-caught
    raise DemonstrationError(
        f'{spec_path} is damaged ({_one_line(error) or "empty"}): copy it again'
        ' from where it was written, or collect anew.'
    ) from error
  # The type is not the same after its way through the file.
  if getattr(spec, '_fields', None) != trajectory.Trajectory._fields:
    raise DemonstrationError(
        f'{spec_path} is of {type(spec).__name__} and not of Trajectory: {path}'
        ' holds no demonstrations.'
    )
  return trajectory.Trajectory(*spec)


def returns(episodes):
  """Returns the sums of rewards of `Trajectory`s [T + 1, ...], as float64."""
  # The reward of the boundary is that of a reset.
  return np.array(
      [np.sum(e.reward[:-1], dtype=np.float64) for e in episodes], np.float64
  )


def lengths(episodes):
  """Returns T, the environment steps, of `Trajectory`s [T + 1, ...]."""
  return np.array([len(e.step_type) - 1 for e in episodes], np.int64)


def _read_frames(path, spec):
  """Returns flat arrays [N, ...], or [], and the error or None."""
  try:
    return _concatenated(list(_batches(path, spec, _BATCH_FRAMES))), None
  except _DAMAGE as error:
    damage = error
  batches = []
  try:
    for batch in _batches(path, spec, 1):
      batches.append(batch)
  except _DAMAGE:
    pass  # As before.
  return _concatenated(batches), damage


def _concatenated(batches):
  return [np.concatenate(parts) for parts in zip(*batches)]


def _batches(path, spec, size):
  """Yields flat lists of arrays [size, ...]; the last ones may be shorter."""
  dataset = (
      tf.data.TFRecordDataset(path)
      .map(example_encoding.get_example_decoder(spec), num_parallel_calls=2)
      .batch(size)
  )
  for batch in dataset:
    yield [part.numpy() for part in tf.nest.flatten(batch)]


def _cut(path, spec, flat):
  """Returns the whole episodes of consecutive frames; warns of the rest."""
  if not flat:
    return []
  frames = tf.nest.pack_sequence_as(spec, flat)
  ends = np.flatnonzero(frames.step_type == ts.StepType.LAST) + 1
  episodes = []
  for start, end in zip([0, *ends[:-1]], ends):
    episode = tf.nest.map_structure(lambda x, s=start, e=end: x[s:e], frames)
    demonstration_specs.check_episode(
        episode, spec, f'{path}: episode {len(episodes)}'
    )
    episodes.append(episode)
  num_left = len(frames.step_type) - (ends[-1] if len(ends) else 0)
  if num_left:
    logging.warning(
        '%s: the last %d frames are of an episode that was not recorded to its'
        ' end and are dropped.',
        path,
        num_left,
    )
  return episodes


def _missing(path):
  """Returns the message for a file that does not exist."""
  partial = path + PARTIAL_SUFFIX
  if os.path.isfile(partial):
    return (
        f'There is no {path}, but {partial}: its collection was killed, or'
        f' still goes on. read({partial!r}, salvage=True) has what is whole.'
    )
  return (
      f'There is no file {path}. `python -m train.collect_demos` makes one.'
  )


def _one_line(error):
  """Returns the message of a TensorFlow error without the name of its node."""
  text = getattr(error, 'message', None) or str(error)
  return ' '.join(text.rpartition('}}')[2].partition(' [')[0].split())[:200]
