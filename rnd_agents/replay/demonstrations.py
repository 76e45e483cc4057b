# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes and reads files of demonstrations: episodes to learn from.

The files are those of TF-Agents' `TFRecordObserver`: a TFRecord with one frame
(`Trajectory`) a record, and a file PATH.spec beside it with the spec of a
frame. `read_episodes` therefore reads files that a TF-Agents driver recorded in
one environment, and TF-Agents' `load_tfrecord_dataset` reads those written
here. A third file, PATH.json, is a `Record`: the number of episodes and frames,
and the environment. A file without one is read with a warning.

An episode of T steps has T + 1 frames. Frame t holds observation and action at
t, and the reward, discount and step type that follow. The frame after the T
steps is the boundary: its step type is LAST, its action and reward belong to no
transition. Bootstrapping at a time limit needs its observation.

A file has the name PATH.partial while it is written. With `salvage`,
`read_episodes` returns the whole episodes that a kill left in it, or those of a
damaged file; `train.collect_demos --salvage` writes them to a new file.

The format holds arrays of fixed shape without an empty axis, of float16,
float32, float64 and the integers from int8 to int64 that TensorFlow decodes,
but neither bool nor text. Nothing is compressed.
"""

from collections.abc import Callable, Iterable
import json
import os
import shlex
from typing import Any, NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types
from tf_agents.utils import example_encoding
from tf_agents.utils import example_encoding_dataset

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import files
from rnd_agents import spec_differences
from rnd_agents.statistics import finite

SPEC_SUFFIX = '.spec'  # TF-Agents' own.
RECORD_SUFFIX = '.json'
# Of parts of every episode; an action has those of its spec.
_BOUNDS = dict(
    discount=(0.0, 1.0),
    reward=(-finite.LARGEST_REWARD, finite.LARGEST_REWARD),
)
PARTIAL_SUFFIX = '.partial'
# The types that TF-Agents encodes.
_DTYPES = (
    'float16', 'float32', 'float64', 'uint8', 'int8', 'uint16', 'int16',
    'int32', 'int64',
)
_Path = str | os.PathLike


class DemonstrationError(errors.InvalidValue):
  """Demonstrations are missing, damaged or of another task."""


class Record(NamedTuple):
  """Contents of PATH.json, the description of a file.

  Attributes:
    environment: Settings of the environment by name, as gin writes them; None
      if they are unknown.
    episodes: Number of episodes; None until the file is complete.
    frames: Number of frames, T + 1 an episode; None until the file is complete.
  """

  environment: dict[str, Any] | None = None
  episodes: int | None = None
  frames: int | None = None

  @classmethod
  def read(cls, path: _Path) -> Optional['Record']:
    """Returns the record of a file of demonstrations; None if it has none.

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
        record = cls(**json.load(file))
      texts = [] if record.environment is None else record.environment.values()
      counts = {type(record.episodes), type(record.frames)}
      if not all(isinstance(text, str) for text in texts) or (
          counts not in ({int}, {type(None)})
      ):
        raise TypeError
      return record
    except (AttributeError, TypeError, ValueError) as error:
      raise DemonstrationError(
          f'{record_path} is damaged, or does not describe demonstrations. Copy'
          f' it again from where it was written, or move it away to read {path}'
          ' unchecked.'
      ) from error


def trajectory_spec(
    observation_spec: types.NestedSpec,
    action_spec: types.NestedSpec,
    network_state_spec: types.NestedSpec = (),
) -> trajectory.Trajectory:
  """Returns the spec of a frame of a demonstration.

  Args:
    observation_spec: Nest of specs, of one environment.
    action_spec: Nest of specs.
    network_state_spec: Nest of specs of the policy's state, if it is recorded.

  Returns:
    A `Trajectory` of tensor specs. Its policy info is () or a dict with one
    entry, `network_state`: the state before each frame, as a flat tuple.
  """
  states = tuple(tf.nest.flatten(network_state_spec))
  # Has TF-Agents' specs of step types, rewards and discounts.
  time_step = ts.time_step_spec(tensor_spec.from_spec(observation_spec))
  return tensor_spec.from_spec(
      trajectory.Trajectory(
          step_type=time_step.step_type,
          observation=time_step.observation,
          action=action_spec,
          policy_info={'network_state': states} if states else (),
          next_step_type=time_step.step_type,
          reward=time_step.reward,
          discount=time_step.discount,
      )
  )


class DemonstrationWriter:
  """Writes episodes to a file that gets its name when it is complete.

  Use it in a `with` statement. An exception there leaves PATH.partial with the
  episodes that were written.

  Attributes:
    num_episodes: Episodes written so far.
  """

  def __init__(
      self,
      path: _Path,
      spec: trajectory.Trajectory,
      environment: dict[str, Any] | None = None,
  ):
    """Creates the writer; `with` opens the file.

    Args:
      path: The file. An existing one is replaced at the end.
      spec: A `Trajectory` of specs of one frame, such as `trajectory_spec`
        returns.
      environment: Settings of the environment for the `Record`.

    Raises:
      DemonstrationError: If the format cannot hold a part of the spec.
    """
    self._path = os.path.abspath(path)
    self._partial = self._path + PARTIAL_SUFFIX
    self._spec = tensor_spec.from_spec(spec)
    self._environment = environment
    self._num_frames = 0
    self.num_episodes = 0
    _check_types(self._spec)

  def write(self, episode: trajectory.Trajectory) -> None:
    """Adds an episode.

    Args:
      episode: A `Trajectory` of NumPy arrays [T + 1, ...].

    Raises:
      DemonstrationError: If it does not fit the spec, or is not a whole
        episode.
    """
    episode = tf.nest.map_structure(np.asarray, episode)
    check_episode(episode, self._spec, f'Episode {self.num_episodes}')
    for t in range(len(episode.step_type)):
      self._observer(tf.nest.map_structure(lambda x, t=t: x[t], episode))
    self._observer.flush()  # A kill of this process now loses none of it.
    self.num_episodes += 1
    self._num_frames += len(episode.step_type)

  def __enter__(self) -> 'DemonstrationWriter':
    self._observer = example_encoding_dataset.TFRecordObserver(
        self._partial, self._spec, py_mode=True
    )
    self._write_record(Record(self._environment))
    return self

  def __exit__(
      self,
      error_type: type[BaseException] | None,
      error: BaseException | None,
      traceback: Any,
  ) -> None:
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
          _how_to_salvage(self._partial),
      )

  def _write_record(self, record: Record) -> None:
    with files.replacing(self._partial + RECORD_SUFFIX) as file:
      json.dump(record._asdict(), file, indent=2)


def write_episodes(
    path: _Path,
    spec: trajectory.Trajectory,
    episodes: Iterable[trajectory.Trajectory],
    environment: dict[str, Any] | None = None,
) -> None:
  """Writes a file of demonstrations.

  Args:
    path: The file.
    spec: A `Trajectory` of specs of one frame.
    episodes: `Trajectory`s of NumPy arrays [T + 1, ...], at least one.
    environment: Settings of the environment for the `Record`.

  Raises:
    DemonstrationError: If there are no episodes, or one does not fit the spec.
  """
  with DemonstrationWriter(path, spec, environment) as writer:
    for episode in episodes:
      writer.write(episode)
  if not writer.num_episodes:
    raise DemonstrationError(f'There are no episodes to write to {path}.')


def read_episodes(
    path: _Path,
    expected_spec: trajectory.Trajectory | None = None,
    salvage: bool = False,
    check_environment: Callable[[dict[str, Any]], None] | None = None,
) -> list[trajectory.Trajectory]:
  """Reads the episodes of a file.

  Args:
    path: The file.
    expected_spec: `Trajectory` of specs that the file must fit (`check_spec`);
      None for any.
    salvage: Whether a file that is damaged or incomplete is read as far as
      possible, with a warning.
    check_environment: Function that is called with the environment of the
      file's `Record`, if that is known, and may raise; None for no check.

  Returns:
    A list of `Trajectory`s of NumPy arrays [T + 1, ...], from the FIRST to the
    LAST frame. Their policy info is that of the file.

  Raises:
    DemonstrationError: If the file is missing, damaged or incomplete, has no
      whole episode, or does not fit.
  """
  path = os.fspath(path)
  spec = read_spec(path)
  record = Record.read(path)
  environment = None if record is None else record.environment
  if check_environment is not None and environment is not None:
    check_environment(environment)
  if expected_spec is not None:
    check_spec(spec, expected_spec, path)
  flat, error = _read_frames(path, spec)
  episodes = _cut(path, spec, flat)
  num_frames = len(flat[0]) if flat else 0
  fault = _fault(record, len(episodes), num_frames, error)
  if fault and not salvage:
    advice = 'No whole episode is left: collect again.'
    if episodes:
      advice = _how_to_salvage(path)
    raise DemonstrationError(f'{path} {fault}. {advice}')
  if fault:
    logging.warning('%s %s.', path, fault)
  if not episodes:
    raise DemonstrationError(
        f'{path} holds no whole episode, from a FIRST to a LAST frame: collect'
        ' again.'
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


def read_spec(path: _Path) -> trajectory.Trajectory:
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
    what = 'damaged, or not a spec' if os.path.getsize(spec_path) else 'empty'
    raise DemonstrationError(
        f'{spec_path} is {what}: copy it again from where it was written, or'
        ' collect again.'
    ) from error
  # The file does not preserve the type itself.
  if getattr(spec, '_fields', None) != trajectory.Trajectory._fields:
    raise DemonstrationError(
        f'{spec_path} is of {type(spec).__name__} and not of Trajectory: {path}'
        ' holds no demonstrations.'
    )
  return trajectory.Trajectory(*spec)


def check_spec(
    spec: trajectory.Trajectory,
    expected_spec: trajectory.Trajectory,
    source: str = 'The file of demonstrations',
) -> None:
  """Raises DemonstrationError if demonstrations are of another task.

  Names, types and shapes must be the same, and bounds as far as
  `spec_differences` compares them. Policy info is compared only if
  `expected_spec` has any.

  Args:
    spec: Result of `read_spec`.
    expected_spec: A `Trajectory` of specs, such as `trajectory_spec` returns.
    source: Name of the demonstrations in the message.

  Raises:
    DemonstrationError: If they do not fit; it names each part that differs.
  """
  faults = []
  for field in ('observation', 'action', 'policy_info', 'reward', 'discount'):
    theirs = getattr(spec, field)
    ours = getattr(expected_spec, field)
    if field == 'policy_info' and not tf.nest.flatten(ours):
      continue
    faults += spec_differences.differences(theirs, ours, field)
  if not faults:
    return
  advice = 'Collect them in the very environment of the training, wrappers too.'
  if all(fault.startswith('policy_info') for fault in faults):
    advice = (
        'Collect with a policy of the same networks and --keep_network_state,'
        ' or begin with states of zeros.'
    )
  raise DemonstrationError(
      f'{source} does not fit: {"; ".join(faults)}. {advice}'
  )


def _how_to_salvage(path: str) -> str:
  return (
      'To use its whole episodes: python -m train.collect_demos'
      f' --salvage={shlex.quote(path)} --out=NEW_FILE.'
  )


def _fault(
    record: Record | None,
    num_episodes: int,
    num_frames: int,
    error: tf.errors.OpError | None,
) -> str | None:
  """Returns the fault of a file, 'is cut short ...', or None."""
  if error is not None:
    return (
        f'is cut short or damaged after {num_frames:,} frames'
        f' ({_one_line(error)})'
    )
  if record is None:
    return None
  if record.frames is None:
    return 'is not complete: its collection was killed, or is still running'
  if (num_episodes, num_frames) != (record.episodes, record.frames):
    return (
        f'is cut short, or {RECORD_SUFFIX} beside it is of another file: it has'
        f' {num_episodes:,} episodes in {num_frames:,} frames, not'
        f' {record.episodes:,} in {record.frames:,}'
    )
  return None


def _read_frames(
    path: str, spec: trajectory.Trajectory
) -> tuple[list[np.ndarray], tf.errors.OpError | None]:
  """Returns flat arrays [N, ...], or [], and the error or None."""
  frames = tf.data.TFRecordDataset(path).map(
      example_encoding.get_example_decoder(spec), num_parallel_calls=2
  )
  # After damage in a batch one by one, to lose no frame before the damage.
  for size in (256, 1):
    batches, error = [], None
    try:
      for batch in frames.batch(size):
        batches.append([part.numpy() for part in tf.nest.flatten(batch)])
      break
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as damage:
      error = damage
  return [np.concatenate(parts) for parts in zip(*batches)], error


def _cut(
    path: str, spec: trajectory.Trajectory, flat: list[np.ndarray]
) -> list[trajectory.Trajectory]:
  """Returns the whole episodes of consecutive frames; warns about the rest."""
  if not flat:
    return []
  frames = tf.nest.pack_sequence_as(spec, flat)
  ends = np.flatnonzero(frames.step_type == ts.StepType.LAST) + 1
  episodes: list[trajectory.Trajectory] = []
  for start, end in zip([0, *ends[:-1]], ends):
    episode = tf.nest.map_structure(lambda x, s=start, e=end: x[s:e], frames)
    check_episode(episode, spec, f'{path}: episode {len(episodes)}')
    episodes.append(episode)
  num_left = len(frames.step_type) - (ends[-1] if len(ends) else 0)
  if num_left:
    logging.warning(
        '%s: the last %d frames belong to an episode that was not recorded to'
        ' its end, and are dropped.',
        path,
        num_left,
    )
  return episodes


def _missing(path: str) -> str:
  """Returns the message for a file that does not exist."""
  if os.path.isdir(path):
    return f'{path} is a directory: name a file in it.'
  partial = path + PARTIAL_SUFFIX
  if os.path.isfile(partial):
    return (
        f'There is no {path}, but {partial}: its collection was killed, or'
        f' is still running. {_how_to_salvage(partial)}'
    )
  return (
      f'There is no file {path}. `python -m train.collect_demos` (episodes of a'
      ' policy or an expert) or `python -m train.explore` makes one.'
  )


def _one_line(error: tf.errors.OpError) -> str:
  """Returns the message of a TensorFlow error without the name of its node."""
  text = error.message.rpartition('}}')[2].partition(' [')[0]
  return ' '.join(text.split())[:200]


def _check_types(spec: trajectory.Trajectory) -> None:
  """Raises DemonstrationError unless a file can hold the types of a spec."""
  for name, leaf in spec_differences.leaves(spec):
    if leaf.dtype.name not in _DTYPES or 0 in leaf.shape.as_list():
      raise DemonstrationError(
          f'{name} is {spec_differences.described(leaf)}, which a file of'
          f' demonstrations cannot hold: it takes {", ".join(_DTYPES)}, and no'
          ' empty axis. Convert it in a wrapper of the environment.'
      )


def check_episode(
    episode: trajectory.Trajectory, spec: trajectory.Trajectory, what: str
) -> None:
  """Raises DemonstrationError unless it is one whole episode of the spec.

  Args:
    episode: A `Trajectory` of NumPy arrays.
    spec: A `Trajectory` of specs of one frame.
    what: Name of the episode in the message.
  """
  arrays = dict(spec_differences.leaves(episode))
  specs = dict(spec_differences.leaves(spec))
  if arrays.keys() != specs.keys():
    raise DemonstrationError(
        f'{what} has {", ".join(arrays)}, and the spec {", ".join(specs)}.'
    )
  num_frames = len(np.atleast_1d(episode.step_type))
  for name, array in arrays.items():
    leaf = specs[name]
    shape = (num_frames, *leaf.shape.as_list())
    if array.dtype != leaf.dtype.as_numpy_dtype or array.shape != shape:
      raise DemonstrationError(
          f'{what}: {name} is {array.dtype} {list(array.shape)} and must be'
          f' {leaf.dtype.name} {list(shape)}, the frames first.'
      )
    if leaf.dtype.is_floating and not np.isfinite(array).all():
      raise DemonstrationError(f'{what}: {name} has a NaN or an infinity.')
    bounds = _BOUNDS.get(name)
    if name.startswith('action') and hasattr(leaf, 'minimum'):
      bounds = leaf.minimum, leaf.maximum
    if bounds is None:
      continue
    low, high = bounds
    if np.any(array < low) or np.any(array > high):
      raise DemonstrationError(
          f'{what}: {name} goes from {array.min()} to {array.max()}, beyond its'
          f' bounds, {np.min(low)} to {np.max(high)}.'
      )
  _, mask = action_masks.split_mask(episode.observation)
  if mask is not None:
    chosen = np.asarray(arrays['action'])[..., np.newaxis]
    allowed = np.take_along_axis(np.asarray(mask), chosen, axis=-1)
    forbidden = np.argwhere(allowed[:-1] == 0)
    if len(forbidden):
      raise DemonstrationError(
          f'{what}: its action mask forbids the action of step'
          f' {forbidden[0, 0]}.'
      )
  expected = np.full(num_frames, ts.StepType.MID, np.int32)
  expected[:1], expected[-1:] = ts.StepType.FIRST, ts.StepType.LAST
  if num_frames < 2 or not np.array_equal(episode.step_type, expected):
    raise DemonstrationError(
        f'{what} has the step types {_abridged(episode.step_type)}, and must'
        ' have FIRST (0), any number of MID (1), LAST (2): one whole episode'
        ' with its boundary frame.'
    )
  if not np.array_equal(
      episode.next_step_type, np.append(expected[1:], ts.StepType.FIRST)
  ):
    raise DemonstrationError(
        f'{what} has the next step types {_abridged(episode.next_step_type)},'
        ' which are not the step types of the frames that follow, and FIRST.'
    )


def _abridged(array: np.ndarray) -> str:
  return np.array2string(np.asarray(array), threshold=8)
