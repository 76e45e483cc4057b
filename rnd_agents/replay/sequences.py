# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Cuts rollouts and episodes into sequences of one length.

A recurrent network learns from sequences: their steps stay together and in
order, and minibatches are drawn over sequences. With burn-in (Kapturowski et
al., 2019, section 3) the steps before a sequence are unrolled first, only to
bring the stored state of an older network nearer to what the network of now
would have. `starts` decides where the sequences lie, for both cutters:

    cut                          indices of the chunks of a rollout, for PPO
    EpisodeCutter, BatchCutter   arrays, while an episode goes on, for a replay
"""

import numbers
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory as trajectory_lib
from tf_agents.utils import nest_utils

from rnd_agents import errors

REMAINDERS = ('pad', 'fill', 'drop', 'shift')


class SequenceSettings(NamedTuple):
  """How rollouts or episodes are cut into sequences.

  Attributes:
    unroll_length: U, the trained steps of a sequence; None for a whole rollout.
    burn_in_length: b, the steps before them that only warm the state.
    period: Steps from the first trained step of a sequence to that of the next
      one; None for unroll_length, so that each step is trained in one sequence.
      Less, and the sequences overlap (R2D2: half of unroll_length).
    remainder: What becomes of the last steps, which are too few for a sequence.
      Of six steps at unroll_length=4:

          pad:   [[1, 2, 3, 4], [5, 6, -, -]]
          fill:  [[1, 2, 3, 4], [5, 6, 6, 6]]
          drop:  [[1, 2, 3, 4]]
          shift: [[1, 2, 3, 4], [3, 4, 5, 6]]

      'drop' loses the reward at the end of most episodes. 'shift' pads what is
      shorter than U. 'fill' adds to the weight of the step that it repeats.
  """

  unroll_length: Optional[int]
  burn_in_length: int = 0
  period: Optional[int] = None
  remainder: str = 'pad'

  @property
  def num_frames(self):
    """L, the frames of a sequence of an episode: one more than its steps."""
    return self.burn_in_length + self.unroll_length + 1

  @property
  def stride(self):
    """`period` as a number."""
    return self.unroll_length if self.period is None else self.period

  def check(self, owner='SequenceSettings', of_rollouts=False, **names):
    """Checks the settings.

    Args:
      owner: Whose arguments the settings are, for the messages.
      of_rollouts: Whether unroll_length may be None, as for `cut`.
      **names: Names of the owner's arguments, where they are not those of the
        settings: period='window_period'.

    Raises:
      TypeError: If a length is not an integer.
      ValueError: If a setting is out of range.
    """
    names = {name: f'{owner}.{names.get(name, name)}' for name in self._fields}
    for name, least, is_optional in (
        ('unroll_length', 1, of_rollouts),
        ('burn_in_length', 0, False),
        ('period', 1, True),
    ):
      value = getattr(self, name)
      if value is None and is_optional:
        continue
      if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise errors.InvalidType(
            f'{names[name]} must be an integer number of steps from {least},'
            f' got {value!r}.'
        )
      if value < least:
        words = f'{names[name]} must be at least {least}, got {value}.'
        raise errors.InvalidValue(words)
    if self.unroll_length is None and self.burn_in_length:
      raise errors.InvalidValue(
          f'{names["burn_in_length"]}={self.burn_in_length} needs'
          f' {names["unroll_length"]}: a rollout that is not cut has no steps'
          ' before it.'
      )
    if self.unroll_length is not None and self.stride > self.unroll_length:
      raise errors.InvalidValue(
          f'{names["period"]}={self.period} is more than'
          f' {names["unroll_length"]}={self.unroll_length}: the steps between'
          ' two sequences would never be trained. Lower it.'
      )
    if self.remainder not in REMAINDERS:
      raise errors.InvalidValue(
          f'{names["remainder"]} must be one of {REMAINDERS}, got'
          f' {self.remainder!r}.'
      )


def starts(num_steps, settings):
  """Returns the first trained step of each sequence.

  Args:
    num_steps: T, an integer or an int32 tensor [].
    settings: `SequenceSettings` with an unroll_length.

  Returns:
    Integers [C], ascending; of the type of num_steps, NumPy's or TensorFlow's.
    Under 'pad' and 'fill' the last sequence may end after the T steps.
  """
  is_tensor = tf.is_tensor(num_steps)
  ops, arange = (tf, tf.range) if is_tensor else (np, np.arange)
  others = num_steps - settings.unroll_length  # Steps after the first sequence.
  if settings.remainder == 'drop':
    num_sequences = ops.maximum(others // settings.stride + 1, 0)
  else:
    num_sequences = -(-ops.maximum(others, 0) // settings.stride) + 1
  first_steps = arange(num_sequences) * settings.stride
  if settings.remainder == 'shift':
    first_steps = ops.minimum(first_steps, ops.maximum(others, 0))
  return first_steps


# ------------------------------------------------------------------------------
# Chunks of a rollout.


class Chunks(NamedTuple):
  """Indices of the steps of C chunks in the rollout that they are cut from.

  Attributes:
    steps: int32 [C, U]: index of each step, the last one's where none is left.
    weights: float32 [C, U]: how often each step counts. A step counts once, in
      the first chunk that has it; under 'fill' the last one for its repeats
      too, at its own place, where the state is the one that it had.
    burn_in: int32 [C, b]: the steps before each chunk, 0 where there are none.
    has_burn_in: bool [C]: whether all b of them exist.
  """

  steps: tf.Tensor
  weights: tf.Tensor
  burn_in: tf.Tensor
  has_burn_in: tf.Tensor


def cut(num_steps, settings):
  """Cuts a rollout into chunks.

  The steps of a burn-in belong to the chunk before as well: all are learned
  from. A chunk nearer to the start than its burn-in is long has none.

  Args:
    num_steps: T, an integer or an integer tensor [].
    settings: `SequenceSettings`.

  Returns:
    `Chunks`.

  Raises:
    TypeError: If a length is not an integer.
    ValueError: If a setting is out of range, or num_steps below 1.
  """
  settings.check(of_rollouts=True)
  if tf.is_tensor(num_steps):
    num_steps = tf.cast(num_steps, tf.int32)
  else:
    num_steps = int(num_steps)
    if num_steps < 1:
      words = f'A rollout has 1 step at least, not {num_steps}.'
      raise errors.InvalidValue(words)
  length = settings.unroll_length
  length = num_steps if length is None else int(length)
  settings = settings._replace(unroll_length=length)
  burn_in_length = int(settings.burn_in_length)
  first_steps = tf.cast(starts(num_steps, settings), tf.int32)
  steps = first_steps[:, tf.newaxis] + tf.range(length)
  # Where the chunk before ends; it has counted the steps up to there.
  ends = tf.concat([[0], first_steps[:-1] + length], axis=0)
  counts = (steps >= ends[:, tf.newaxis]) & (steps < num_steps)
  weights = tf.cast(counts, tf.float32)
  if settings.remainder == 'fill':
    repeats = tf.cast(steps >= num_steps, tf.float32)
    repeats = tf.reduce_sum(repeats, axis=1, keepdims=True)
    weights += tf.where(tf.equal(steps, num_steps - 1), repeats, 0.0)
  return Chunks(
      steps=tf.minimum(steps, num_steps - 1),
      weights=weights,
      burn_in=tf.maximum(
          first_steps[:, tf.newaxis] + tf.range(-burn_in_length, 0), 0
      ),
      has_burn_in=first_steps >= burn_in_length,
  )


def warm_up(unroll, observations, step_types, before, stored, has_burn_in):
  """Returns the states of chunks after their burn-in.

  Args:
    unroll: A function of (observations, step types, states) that returns the
      states after the last step.
    observations: A nest of tensors [M, b, ...]: the burn-in of M chunks.
    step_types: Integer tensor [M, b].
    before: Nest of tensors [M, ...]: stored with the first step of a burn-in.
    stored: The same, stored with the first step of a chunk.
    has_burn_in: Booleans [M].

  Returns:
    A nest like `stored`: the state after the burn-in where there is one, else
    `stored`. No gradient flows through it.
  """
  warmed = unroll(observations, step_types, before)
  states = nest_utils.where(has_burn_in, warmed, stored)
  return tf.nest.map_structure(tf.stop_gradient, states)


# ------------------------------------------------------------------------------
# Sequences of episodes.


class Sequence(NamedTuple):
  """L = burn_in_length + unroll_length + 1 frames of one episode.

  The last frame is not trained: only the target of the last step needs it.

  Attributes:
    trajectory: `Trajectory` of arrays [L, ...]; its policy_info is a dict of
      `episodic`, what a curiosity knows of each frame, or ().
    network_state: Flat tuple of arrays: the recurrent state that the policy had
      before the first frame; () for networks without memory.
    is_demonstration: np.bool_ []: whether an expert acted.
  """

  trajectory: trajectory_lib.Trajectory
  network_state: tuple
  is_demonstration: Any


def sequence_spec(
    trajectory_spec, settings, network_state_spec=(), episodic_spec=()
):
  """Returns the spec of the sequences of an environment and a network.

  Args:
    trajectory_spec: `Trajectory` of `TensorSpec`s of one frame, such as an
      agent's collect_data_spec; its policy_info is left out.
    settings: `SequenceSettings`.
    network_state_spec: Nest of `TensorSpec`s of one state, without batch.
    episodic_spec: `Curiosity.episodic_spec`; () without a curiosity.

  Returns:
    `Sequence` of `TensorSpec`s.
  """
  settings.check()
  return Sequence(
      trajectory=tensor_spec.add_outer_dim(
          _with_info(trajectory_spec, episodic_spec), settings.num_frames
      ),
      network_state=tuple(tf.nest.flatten(network_state_spec)),
      is_demonstration=tf.TensorSpec([], tf.bool, 'is_demonstration'),
  )


class EpisodeCutter:
  """Cuts the episodes of one environment while their rows come in.

  Sequences never cross episodes. Frames that are missing before an episode are
  copies of its first one with step type MID: the FIRST after them resets the
  network, so that neither they nor the state of such a sequence, zeros, matter.
  Frames that are missing behind it are LAST, with reward, discount and action
  0; under 'fill' they are the last step, masked by step type LAST. Only there
  are step type and next step type both LAST: so
  `ops.q_learning.step_weights` knows them.
  """

  def __init__(self, settings, add_fn, is_demonstration=False):
    """Creates an `EpisodeCutter`.

    Args:
      settings: `SequenceSettings`.
      add_fn: Function of a `Sequence`, called with each one once its last frame
        is known.
      is_demonstration: What the sequences are marked as.
    """
    settings.check()
    self._settings = settings
    self._add_fn = add_fn
    self._is_demonstration = np.bool_(is_demonstration)
    self.reset()

  def reset(self):
    """Drops an unfinished episode; the next row must be FIRST."""
    self._structure = None
    self._frames = []  # (leaves, state) of the newest L frames.
    self._num_frames = 0  # Of this episode.
    self._next_start = 0  # First trained step of the next sequence.

  def add(self, row, network_state=(), episodic=()):
    """Adds a frame, and hands over the sequences that it completes.

    Args:
      row: `Trajectory` of one frame as TF-Agents' drivers make it: reward and
        discount are what came after the action, and a row of step type LAST,
        with the last observation, ends the episode.
      network_state: Flat tuple of arrays: the recurrent state before the frame.
      episodic: What a curiosity knows of the step to the frame, a nest of
        arrays.

    Raises:
      TypeError: If network_state is not a tuple.
      ValueError: If the row has a batch dimension, or cannot follow the row
        before.
    """
    if not isinstance(network_state, (tuple, list)):
      raise errors.InvalidType(
          'network_state must be a flat tuple of arrays, () without memory; got'
          f' {type(network_state).__name__}.'
      )
    row = _with_info(row, episodic)
    if np.ndim(row.step_type):
      raise errors.InvalidValue(
          f'A row of shape {np.shape(row.step_type)} is not that of one'
          ' environment: use BatchCutter.'
      )
    self._add(_structure_of(row), tf.nest.flatten(row), network_state)

  def get_state(self):
    """Returns what `set_state` needs to go on in mid-episode, picklable."""
    return {
        'settings': tuple(self._settings),
        'structure': self._structure,
        'frames': list(self._frames),
        'num_frames': self._num_frames,
        'next_start': self._next_start,
    }

  def set_state(self, state):
    """Goes on from a `get_state`; raises ValueError if its settings differ."""
    if tuple(state['settings']) != tuple(self._settings):
      raise errors.InvalidValue(
          f'The state belongs to SequenceSettings{tuple(state["settings"])},'
          f' not to {self._settings}.'
      )
    self._structure = state['structure']
    self._frames = list(state['frames'])
    self._num_frames = state['num_frames']
    self._next_start = state['next_start']

  def _add(self, structure, leaves, network_state):
    """`add` of a flat row, whose arrays may be overwritten afterwards."""
    step_type = int(leaves[0])
    self._check_order(step_type)
    self._structure = structure
    self._frames.append((
        [np.array(leaf) for leaf in leaves],
        tuple(np.array(part) for part in network_state),
    ))
    del self._frames[:-self._settings.num_frames]
    self._num_frames += 1
    if self._num_frames > self._next_start + self._settings.unroll_length:
      self._emit(self._next_start)
      self._next_start += self._settings.stride
    if step_type == ts.StepType.LAST:
      # The last frame is no step.
      first_steps = starts(self._num_frames - 1, self._settings)
      for start in first_steps[self._next_start // self._settings.stride :]:
        self._emit(int(start))
      self.reset()

  def _check_order(self, step_type):
    is_first = step_type == ts.StepType.FIRST
    if is_first and self._num_frames:
      raise errors.InvalidValue(
          f'An episode begins after {self._num_frames} frames of one that has'
          ' no row of step type LAST. Add that row too, which TF-Agents\''
          ' drivers make between two episodes, or call reset() where an episode'
          ' is broken off.'
      )
    if not is_first and not self._num_frames:
      raise errors.InvalidValue(
          f'The first row of an episode has step type {step_type}, not FIRST:'
          ' add rows from the beginning of an episode.'
      )

  def _emit(self, start):
    """Hands over the sequence whose trained steps begin with step `start`."""
    first = start - self._settings.burn_in_length
    last = start + self._settings.unroll_length
    oldest = self._num_frames - len(self._frames)
    held = self._frames[max(first, 0) - oldest : last + 1 - oldest]
    frames = [leaves for leaves, _ in held]
    state = held[0][1]
    if first < 0:
      # The flat row's first leaf is its step type.
      mid = np.full_like(frames[0][0], ts.StepType.MID)
      frames = [[mid] + frames[0][1:]] * -first + frames
      state = tuple(np.zeros_like(part) for part in state)
    missing = self._settings.num_frames - len(frames)
    if missing:
      frames += [self._filler(*frames[-2:])] * missing
    self._add_fn(Sequence(
        trajectory=tf.nest.pack_sequence_as(
            self._structure, [np.stack(column) for column in zip(*frames)]
        ),
        network_state=state,
        is_demonstration=self._is_demonstration,
    ))

  def _filler(self, last_step, end):
    if self._settings.remainder == 'fill':
      return [np.full_like(last_step[0], ts.StepType.LAST)] + last_step[1:]
    row = tf.nest.pack_sequence_as(self._structure, end)
    return tf.nest.flatten(row.replace(
        step_type=np.full_like(row.step_type, ts.StepType.LAST),
        next_step_type=np.full_like(row.next_step_type, ts.StepType.FIRST),
        action=tf.nest.map_structure(np.zeros_like, row.action),
        reward=tf.nest.map_structure(np.zeros_like, row.reward),
        discount=np.zeros_like(row.discount),
    ))


class BatchCutter:
  """An `EpisodeCutter` for each environment of a batch; an observer of drivers.

  The sequences of all environments go to one `add_fn`, in the order in which
  they are complete.
  """

  def __init__(self, num_environments, settings, add_fn):
    """Creates a `BatchCutter`.

    Args:
      num_environments: B.
      settings: As for `EpisodeCutter`.
      add_fn: As for `EpisodeCutter`.
    """
    self._cutters = [
        EpisodeCutter(settings, add_fn) for _ in range(num_environments)
    ]

  def __call__(self, row, episodic=(), mask=None):
    """Adds a row of each environment.

    Args:
      row: `Trajectory` [B, ...], otherwise as for `EpisodeCutter.add`. Where
        its policy_info has a `network_state` (as an attribute or a key), a nest
        [B, ...], that is the recurrent state before the frames.
      episodic: As for `EpisodeCutter.add`, a nest [B, ...].
      mask: Booleans [B]: False for environments without a row; None for none.

    Raises:
      ValueError: If an array is of another batch size, or if a row cannot
        follow the one before.
    """
    info = row.policy_info
    state = getattr(info, 'network_state', ())
    if isinstance(info, dict):
      state = info.get('network_state', ())
    row = _with_info(row, episodic)
    leaves = [np.asarray(leaf) for leaf in tf.nest.flatten(row)]
    states = [np.asarray(part) for part in tf.nest.flatten(state)]
    for array in leaves + states:
      if not array.ndim or len(array) != len(self._cutters):
        raise errors.InvalidValue(
            f'Rows of {len(self._cutters)} environments must have arrays'
            f' [{len(self._cutters)}, ...], got one of shape {array.shape}.'
        )
    structure = _structure_of(row)
    for i, cutter in enumerate(self._cutters):
      if mask is not None and not mask[i]:
        continue
      cutter._add(  # pylint: disable=protected-access
          structure, [leaf[i] for leaf in leaves], [part[i] for part in states]
      )

  def reset(self):
    """Drops unfinished episodes; the next rows must all be FIRST."""
    for cutter in self._cutters:
      cutter.reset()

  def get_state(self):
    """Returns what `set_state` needs to go on in mid-episode, picklable."""
    return [cutter.get_state() for cutter in self._cutters]

  def set_state(self, state):
    """Goes on from a `get_state`; raises ValueError if it does not fit."""
    if len(state) != len(self._cutters):
      number = len(self._cutters)
      words = f'The state is of {len(state)} environments, not of {number}.'
      raise errors.InvalidValue(words)
    for cutter, one in zip(self._cutters, state):
      cutter.set_state(one)


def _with_info(row, episodic):
  """A row whose policy info is what the replay keeps of it."""
  has_some = bool(tf.nest.flatten(episodic))
  return row.replace(policy_info=dict(episodic=episodic) if has_some else ())


def _structure_of(row):
  """The nest of a row, with nothing in it."""
  return tf.nest.map_structure(lambda _: 0, row)
