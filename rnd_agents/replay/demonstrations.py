# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes and reads files of demonstrations: episodes to learn from.

The files are those of TF-Agents' `TFRecordObserver`: a TFRecord with one frame
(`Trajectory`) a record, and a file PATH.spec beside it with the spec of a
frame. So `read` takes what a TF-Agents driver recorded of one environment, and
TF-Agents' `load_tfrecord_dataset` takes what is written here. A third file,
PATH.json, is a `Record`: how much the file holds, and of which environment. A
file without one is read with a warning.

An episode of T steps has T + 1 frames. Frame t holds observation and action at
t, and the reward, discount and step type that follow. The frame after the T
steps is the boundary: its step type is LAST, its action and reward belong to no
transition. Bootstrapping at a time limit needs its observation.

While a file is being written it is called PATH.partial. `read` returns the
whole episodes that a kill leaves of it, or of a damaged file, with `salvage`;
`train.collect_demos --salvage` makes a file of them.

Limits of the format: arrays of fixed shape with no empty axis, of float16,
float32, float64 and the integers from int8 to int64 that TensorFlow decodes;
no bool, no text. Nothing is compressed.
"""

import json
import os
from typing import Any, Dict, NamedTuple, Optional

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
RECORD_SUFFIX = '.json'
PARTIAL_SUFFIX = '.partial'
_SALVAGE = (
    'To use its whole episodes: python -m train.collect_demos --salvage={}'
    ' --out=NEW_FILE.'
)
DemonstrationError = demonstration_specs.DemonstrationError
check = demonstration_specs.check
trajectory_spec = demonstration_specs.trajectory_spec


class Record(NamedTuple):
  """What PATH.json says of a file.

  Attributes:
    environment: Settings of the environment by name, as gin writes them; None
      if they are not known.
    episodes: Their number; None until the file is complete.
    frames: Their number, T + 1 an episode; None until the file is complete.
  """

  environment: Optional[Dict[str, Any]] = None
  episodes: Optional[int] = None
  frames: Optional[int] = None


class DemonstrationWriter:
  """Writes episodes to a file that gets its name when it is complete.

  Use it in a `with` statement. Where that ends in an exception, PATH.partial
  stays, with the episodes that were written.

  Attributes:
    num_episodes: Episodes written so far.
  """

  def __init__(self, path, spec, environment=None):
    """Creates the writer; `with` opens the file.

    Args:
      path: The file. One that exists is replaced at the end.
      spec: A `Trajectory` of specs of one frame, such as `trajectory_spec`
        returns.
      environment: See `Record`.

    Raises:
      DemonstrationError: If the format cannot hold a part of it.
    """
    self._path = os.path.abspath(path)
    self._partial = self._path + PARTIAL_SUFFIX
    self._spec = tensor_spec.from_spec(spec)
    self._observer = None
    self._environment = environment
    self._num_frames = 0
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
    self._num_frames += len(episode.step_type)

  def __enter__(self):
    self._observer = example_encoding_dataset.TFRecordObserver(
        self._partial, self._spec, py_mode=True
    )
    self._write_record(Record(self._environment))
    return self

  def __exit__(self, error_type, error, traceback):
    self._observer.close()
    suffixes = SPEC_SUFFIX, RECORD_SUFFIX, ''
    if not self.num_episodes:
      for suffix in suffixes:
        os.remove(self._partial + suffix)
    elif error is None:
      self._write_record(
          Record(self._environment, self.num_episodes, self._num_frames)
      )
      for suffix in suffixes:
        files.sync(self._partial + suffix)
        os.replace(self._partial + suffix, self._path + suffix)
    else:
      logging.warning(
          '%s holds the %d episodes before the error. %s',
          self._partial,
          self.num_episodes,
          _SALVAGE.format(self._partial),
      )

  def _write_record(self, record):
    with files.replacing(self._partial + RECORD_SUFFIX) as file:
      json.dump(record._asdict(), file, indent=2)


def write(path, spec, episodes, environment=None):
  """Writes a file of demonstrations.

  Args:
    path: The file.
    spec: As for `DemonstrationWriter`.
    episodes: `Trajectory`s of NumPy arrays [T + 1, ...], at least one.
    environment: See `Record`.

  Raises:
    DemonstrationError: If there are none, or one does not fit.
  """
  with DemonstrationWriter(path, spec, environment) as writer:
    for episode in episodes:
      writer.write(episode)
  if not writer.num_episodes:
    raise DemonstrationError(f'There are no episodes to write to {path}.')


def read(path, expected_spec=None, salvage=False, check_environment=None):
  """Reads the episodes of a file.

  Args:
    path: The file.
    expected_spec: Optional `Trajectory` of specs that it must fit; see `check`.
    salvage: Whether a file that is damaged or not complete is read as far as
      possible, with a warning.
    check_environment: Optional function that is called with the environment of
      the file's `Record`, if that has one, and may raise.

  Returns:
    A list of `Trajectory`s of NumPy arrays [T + 1, ...], from the FIRST to the
    LAST frame. Their policy info is that of the file.

  Raises:
    DemonstrationError: If there is no such file, it is damaged or not complete,
      holds no whole episode, or does not fit.
  """
  path = os.fspath(path)
  spec = read_spec(path)
  record = read_record(path)
  environment = None if record is None else record.environment
  if check_environment is not None and environment is not None:
    check_environment(environment)
  if expected_spec is not None:
    check(spec, expected_spec, path)
  flat, error = _read_frames(path, spec)
  episodes = _cut(path, spec, flat)
  num_frames = len(flat[0]) if flat else 0
  fault = _fault(record, len(episodes), num_frames, error)
  if fault and not salvage:
    advice = 'No whole episode is left: collect anew.'
    if episodes:
      advice = _SALVAGE.format(path)
    raise DemonstrationError(f'{path} {fault}. {advice}')
  if fault:
    logging.warning('%s %s.', path, fault)
  if not episodes:
    raise DemonstrationError(
        f'{path} holds no whole episode, from a FIRST to a LAST frame: collect'
        ' anew.'
    )
  if environment is None:
    logging.warning(
        '%s is not checked: it has no record, %s%s, of its environment%s.',
        path,
        path,
        RECORD_SUFFIX,
        ' and length' if record is None else '',
    )
  return episodes


def read_record(path):
  """Returns the `Record` of a file, None if there is none.

  Args:
    path: The file of demonstrations, not that of the record.

  Raises:
    DemonstrationError: If the record is damaged.
  """
  record_path = os.fspath(path) + RECORD_SUFFIX
  if not os.path.isfile(record_path):
    return None
  try:
    with open(record_path, encoding='utf-8') as file:
      return Record(**json.load(file))
  except (TypeError, ValueError) as error:
    raise DemonstrationError(
        f'{record_path} is damaged, or not of demonstrations. Copy it again'
        f' from where it was written, or move it away to read {path} unchecked.'
    ) from error


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
        f'{spec_path} is missing, the spec of {path}: move and copy the files'
        ' together.'
    )
  try:
    spec = example_encoding_dataset.parse_encoded_spec_from_file(spec_path)
  # Protobuf raises errors of its own for a file of another kind.
  except Exception as error:  # pylint: disable=broad-exception-caught
    what = 'damaged, or no spec' if os.path.getsize(spec_path) else 'empty'
    raise DemonstrationError(
        f'{spec_path} is {what}: copy it again from where it was written, or'
        ' collect anew.'
    ) from error
  # The type is not the same after its way through the file.
  if getattr(spec, '_fields', None) != trajectory.Trajectory._fields:
    raise DemonstrationError(
        f'{spec_path} is of {type(spec).__name__} and not of Trajectory: {path}'
        ' holds no demonstrations.'
    )
  return trajectory.Trajectory(*spec)


def _fault(record, num_episodes, num_frames, error):
  """Returns what is wrong with a file, 'is cut short ...', or None."""
  if error is not None:
    return (
        f'is cut short or damaged after {num_frames:,} frames'
        f' ({_one_line(error)})'
    )
  if record is None:
    return None
  if record.frames is None:
    return 'is not complete: its collection was killed, or still goes on'
  if (num_episodes, num_frames) != (record.episodes, record.frames):
    return (
        f'is cut short, or {RECORD_SUFFIX} beside it is of another file: it has'
        f' {num_episodes:,} episodes in {num_frames:,} frames, not'
        f' {record.episodes:,} in {record.frames:,}'
    )
  return None


def _read_frames(path, spec):
  """Returns flat arrays [N, ...], or [], and the error or None."""
  frames = tf.data.TFRecordDataset(path).map(
      example_encoding.get_example_decoder(spec), num_parallel_calls=2
  )
  # One by one where many at once meet a damage, to lose none before it.
  for size in (256, 1):
    batches, error = [], None
    try:
      for batch in frames.batch(size):
        batches.append([part.numpy() for part in tf.nest.flatten(batch)])
      break
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as damage:
      error = damage
  return [np.concatenate(parts) for parts in zip(*batches)], error


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
  if os.path.isdir(path):
    return f'{path} is a folder: name the file in it.'
  partial = path + PARTIAL_SUFFIX
  if os.path.isfile(partial):
    return (
        f'There is no {path}, but {partial}: its collection was killed, or'
        f' still goes on. {_SALVAGE.format(partial)}'
    )
  return (
      f'There is no file {path}. `python -m train.collect_demos` (episodes of a'
      ' policy or an expert) or `python -m train.explore` makes one.'
  )


def _one_line(error):
  """Returns the message of a TensorFlow error without the name of its node."""
  text = error.message.rpartition('}}')[2].partition(' [')[0]
  return ' '.join(text.split())[:200]
