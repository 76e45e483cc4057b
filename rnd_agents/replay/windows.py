# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""From a stream of rows to windows of one length, as R2D2 learns from them.

A window is b frames of burn-in, U trained steps and one frame that only the
last step's target is taken from (Kapturowski et al., 2019, section 3). The
recurrent state is kept once a window: the one of its first frame.
"""

import numbers
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory as trajectory_lib

REMAINDERS = ('pad', 'drop', 'shift')


class Sequence(NamedTuple):
  """A window: L = burn_in_length + unroll_length + 1 frames of one episode.

  Attributes:
    trajectory: `Trajectory` of arrays [L, ...], policy_info ().
    network_state: flat tuple of arrays: the recurrent state that the policy had
      before the window's first frame; () for networks without memory.
    is_demonstration: np.bool_ []: whether an expert acted.
  """

  trajectory: trajectory_lib.Trajectory
  network_state: tuple
  is_demonstration: Any


class WindowSettings(NamedTuple):
  """How episodes are cut.

  Attributes:
    unroll_length: U, the trained steps of a window.
    burn_in_length: b, the frames before them.
    period: steps from a window's first trained step to the next one's: None for
      unroll_length, so that each step is trained in one window; less, and the
      windows overlap (R2D2: half of unroll_length).
    remainder: what becomes of the end of an episode that fills no window. Of
      six steps at unroll_length=4:

          pad:   [[1, 2, 3, 4], [5, 6, -, -]]
          drop:  [[1, 2, 3, 4]]
          shift: [[1, 2, 3, 4], [3, 4, 5, 6]]

      Under 'pad' and 'shift' every step is trained; 'drop' loses the reward at
      the end of most episodes. 'shift' pads an episode of less than U steps.
  """

  unroll_length: int
  burn_in_length: int = 0
  period: Optional[int] = None
  remainder: str = 'pad'

  @property
  def num_frames(self):
    """L, the frames of a window."""
    return self.burn_in_length + self.unroll_length + 1

  @property
  def stride(self):
    """`period` as a number."""
    return self.unroll_length if self.period is None else self.period

  def check(self):
    """Refuses what no episode can be cut by.

    Raises:
      TypeError: If a length is no integer.
      ValueError: If a setting is out of range.
    """
    for name, least in (
        ('unroll_length', 1), ('burn_in_length', 0), ('period', 1)
    ):
      value = getattr(self, name)
      if name == 'period' and value is None:
        continue
      if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(
            f'WindowSettings.{name} must be an integer number of steps, got'
            f' {value!r}.'
        )
      if value < least:
        raise ValueError(
            f'WindowSettings.{name} must be at least {least}, got {value}.'
        )
    if self.stride > self.unroll_length:
      raise ValueError(
          f'WindowSettings.period={self.period} is more than unroll_length='
          f'{self.unroll_length}: the steps between two windows would never be'
          ' trained. Make it unroll_length at the most.'
      )
    if self.remainder not in REMAINDERS:
      raise ValueError(
          f'WindowSettings.remainder can be one of {REMAINDERS}, not'
          f' {self.remainder!r}.'
      )


def sequence_spec(trajectory_spec, settings, network_state_spec=()):
  """The spec of the windows of an environment and a network.

  Args:
    trajectory_spec: `Trajectory` of `TensorSpec`s of one frame, such as an
      agent's collect_data_spec; its policy_info is left out.
    settings: `WindowSettings`.
    network_state_spec: Nest of `TensorSpec`s of one state, without batch.

  Returns:
    `Sequence` of `TensorSpec`s.
  """
  settings.check()

  def add_frames(spec):
    shape = tf.TensorShape([settings.num_frames]).concatenate(spec.shape)
    return tf.TensorSpec(shape, spec.dtype, spec.name)

  return Sequence(
      trajectory=tf.nest.map_structure(
          add_frames, trajectory_spec.replace(policy_info=())
      ),
      network_state=tuple(
          tf.TensorSpec(spec.shape, spec.dtype, spec.name)
          for spec in tf.nest.flatten(network_state_spec)
      ),
      is_demonstration=tf.TensorSpec([], tf.bool, 'is_demonstration'),
  )


class WindowCutter:
  """Cuts the episodes of one environment as their rows come in.

  Windows never cross episodes. Frames that are missing before an episode are
  copies of its first one with step type MID: the FIRST after them resets the
  network, so that neither they nor the state of such a window, zeros, matter.
  Frames that are missing behind it are LAST, with reward, discount and action
  0.
  """

  def __init__(self, settings, add_fn, is_demonstration=False):
    """Creates a `WindowCutter`.

    Args:
      settings: `WindowSettings`.
      add_fn: Function of a `Sequence`, called with each window once its last
        frame is known.
      is_demonstration: What the windows are marked as.
    """
    settings.check()
    self._settings = settings
    self._add_fn = add_fn
    self._is_demonstration = np.bool_(is_demonstration)
    self.reset()

  def reset(self):
    """Forgets an unfinished episode; the next row must be FIRST."""
    self._structure = None
    self._frames = []  # (leaves, state) of the newest L frames.
    self._num_frames = 0  # Of this episode.
    self._next_start = 0  # First trained step of the next window.

  def add(self, row, network_state=()):
    """Adds a frame, and hands over the windows that it completes.

    Args:
      row: `Trajectory` of one frame as TF-Agents' drivers make it: reward and
        discount are what came after the action, and a row of step type LAST,
        with the last observation, ends the episode.
      network_state: Flat tuple of arrays: the recurrent state before the frame.

    Raises:
      TypeError: If network_state is no tuple.
      ValueError: If the row has a batch dimension, or if it cannot follow the
        row before.
    """
    if not isinstance(network_state, (tuple, list)):
      raise TypeError(
          'network_state must be a flat tuple of arrays, () without memory; got'
          f' {type(network_state).__name__}.'
      )
    row = row.replace(policy_info=())
    if np.ndim(row.step_type):
      raise ValueError(
          f'A row of shape {np.shape(row.step_type)} is not that of one'
          ' environment: use BatchWindowCutter.'
      )
    self._add(_structure_of(row), tf.nest.flatten(row), network_state)

  def get_state(self):
    """What `set_state` needs to go on in mid-episode; it can be pickled."""
    return {
        'settings': tuple(self._settings),
        'structure': self._structure,
        'frames': list(self._frames),
        'num_frames': self._num_frames,
        'next_start': self._next_start,
    }

  def set_state(self, state):
    """Goes on from a `get_state`.

    Args:
      state: What `get_state` returned.

    Raises:
      ValueError: If the state is of a cutter with other settings.
    """
    if tuple(state['settings']) != tuple(self._settings):
      raise ValueError(
          f'The state belongs to WindowSettings{tuple(state["settings"])}, not'
          f' to {self._settings}.'
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
      self._emit_remainder()
      self.reset()

  def _check_order(self, step_type):
    is_first = step_type == ts.StepType.FIRST
    if is_first and self._num_frames:
      raise ValueError(
          f'An episode begins after {self._num_frames} frames of one that has'
          ' no row of step type LAST. Add that row too, which TF-Agents\''
          ' drivers make between two episodes, or call reset() where an episode'
          ' is broken off.'
      )
    if not is_first and not self._num_frames:
      raise ValueError(
          f'The first row of an episode has step type {step_type}, not FIRST:'
          ' add rows from the beginning of an episode.'
      )

  def _emit_remainder(self):
    num_steps = self._num_frames - 1  # The last frame is no step.
    unroll_length = self._settings.unroll_length
    covered = 0
    if self._next_start:
      covered = self._next_start - self._settings.stride + unroll_length
    if covered == num_steps or self._settings.remainder == 'drop':
      return
    start = self._next_start
    if self._settings.remainder == 'shift':
      start = max(num_steps - unroll_length, 0)
    self._emit(start)

  def _emit(self, start):
    """Hands over the window whose trained steps begin with step `start`."""
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
      frames += [self._padding(frames[-1])] * missing
    self._add_fn(Sequence(
        trajectory=tf.nest.pack_sequence_as(
            self._structure, [np.stack(column) for column in zip(*frames)]
        ),
        network_state=state,
        is_demonstration=self._is_demonstration,
    ))

  def _padding(self, leaves):
    row = tf.nest.pack_sequence_as(self._structure, leaves)
    return tf.nest.flatten(row.replace(
        step_type=np.full_like(row.step_type, ts.StepType.LAST),
        next_step_type=np.full_like(row.next_step_type, ts.StepType.FIRST),
        action=tf.nest.map_structure(np.zeros_like, row.action),
        reward=tf.nest.map_structure(np.zeros_like, row.reward),
        discount=np.zeros_like(row.discount),
    ))


class BatchWindowCutter:
  """A `WindowCutter` for each environment of a batch; an observer of drivers.

  The windows of the environments come in turn, in the order in which they are
  complete, all to one `add_fn`.
  """

  def __init__(
      self, num_environments, settings, add_fn, is_demonstration=False
  ):
    """Creates a `BatchWindowCutter`.

    Args:
      num_environments: B.
      settings: As for `WindowCutter`.
      add_fn: As for `WindowCutter`.
      is_demonstration: As for `WindowCutter`.
    """
    self._cutters = [
        WindowCutter(settings, add_fn, is_demonstration)
        for _ in range(num_environments)
    ]

  def __call__(self, trajectory):
    """Adds the rows of all environments.

    Args:
      trajectory: `Trajectory` [B, ...]. Where its policy_info has a
        `network_state` (as an attribute or a key), a nest [B, ...], that is the
        recurrent state before the frames.
    """
    info = trajectory.policy_info
    state = getattr(info, 'network_state', ())
    if isinstance(info, dict):
      state = info.get('network_state', ())
    self.add(trajectory, tuple(tf.nest.flatten(state)))

  def add(self, rows, network_state=()):
    """Adds the rows of all environments.

    Args:
      rows: `Trajectory` [B, ...], otherwise as for `WindowCutter`.
      network_state: Flat tuple of arrays [B, ...].

    Raises:
      ValueError: If an array is of another batch size, or if a row cannot
        follow the one before.
    """
    rows = rows.replace(policy_info=())
    leaves = [np.asarray(leaf) for leaf in tf.nest.flatten(rows)]
    states = [np.asarray(part) for part in network_state]
    for array in leaves + states:
      if not array.ndim or len(array) != len(self._cutters):
        raise ValueError(
            f'Rows of {len(self._cutters)} environments must have arrays'
            f' [{len(self._cutters)}, ...], got one of shape {array.shape}.'
        )
    structure = _structure_of(rows)
    for i, cutter in enumerate(self._cutters):
      cutter._add(  # pylint: disable=protected-access
          structure, [leaf[i] for leaf in leaves], [part[i] for part in states]
      )

  def reset(self):
    """Forgets unfinished episodes; the next rows must all be FIRST."""
    for cutter in self._cutters:
      cutter.reset()

  def get_state(self):
    """What `set_state` needs to go on in mid-episode; it can be pickled."""
    return [cutter.get_state() for cutter in self._cutters]

  def set_state(self, state):
    """Goes on from a `get_state`.

    Args:
      state: What `get_state` returned.

    Raises:
      ValueError: If the state is of other settings or another batch size.
    """
    if len(state) != len(self._cutters):
      raise ValueError(
          f'The state is of {len(state)} environments, not of'
          f' {len(self._cutters)}.'
      )
    for cutter, one in zip(self._cutters, state):
      cutter.set_state(one)


def _structure_of(row):
  """The nest of a row, with nothing in it."""
  return tf.nest.map_structure(lambda _: 0, row)
