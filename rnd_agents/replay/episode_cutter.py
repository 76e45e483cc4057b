# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Cuts episodes into the sequences of a replay while they are collected."""

from collections.abc import Callable
import copy
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory as trajectory_lib
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents.replay import sequences

# Number of rows of an environment that are added at once.
_ROWS_AT_ONCE = 16


class Sequence(NamedTuple):
  """L = burn_in_length + unroll_length + 1 frames of one episode.

  The last frame is not trained: only the target of the last step needs it.

  Attributes:
    trajectory: `Trajectory` of arrays [L, ...]; its policy_info is a dict of
      `episodic`, the curiosity's part of each frame (`Curiosity.watch`), or ().
    network_state: Flat tuple of arrays: the recurrent state of the policy
      before the first frame; () for networks without memory.
    is_demonstration: np.bool_ []: whether an expert acted.
  """

  trajectory: trajectory_lib.Trajectory
  network_state: types.NestedSpecTensorOrArray
  is_demonstration: types.NestedSpecTensorOrArray


def sequence_spec(
    trajectory_spec: trajectory_lib.Trajectory,
    settings: sequences.SequenceSettings,
    network_state_spec: types.NestedTensorSpec = (),
    episodic_spec: types.NestedTensorSpec = (),
) -> Sequence:
  """Returns the spec of the sequences of an environment and a network.

  Args:
    trajectory_spec: `Trajectory` of `TensorSpec`s of one frame, such as an
      agent's collect_data_spec; its policy_info is left out.
    settings: `sequences.SequenceSettings`.
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
  """Cuts the episodes of a batch of environments as their rows are added.

  Sequences never cross episodes. Frames that are missing before an episode are
  copies of its first frame with step type MID. The FIRST after them resets the
  network, so that neither these frames nor the state of such a sequence, zeros,
  matter. Frames that are missing after an episode are LAST, with reward,
  discount and action 0; under 'fill' they are the last step, masked by step
  type LAST. Only there are step type and next step type both LAST, by which
  `ops.q_learning.step_weights` recognizes them.

  The newest rows of each environment are kept in a ring [B, R, ...], row n at
  place n % R, from which sequences are gathered. The first rows determine B.
  """

  def __init__(
      self,
      settings: sequences.SequenceSettings,
      add_fn: Callable[[Sequence], None],
      is_demonstration: bool = False,
  ):
    """Creates an `EpisodeCutter`.

    Args:
      settings: `sequences.SequenceSettings`.
      add_fn: Function of a `Sequence` of arrays [n, ...]: n sequences, in the
        order of their last frames; at one time in the order of the
        environments.
      is_demonstration: Value of `is_demonstration` in the sequences.
    """
    settings.check()
    self._settings = settings
    self._add_fn = add_fn
    self._is_demonstration = is_demonstration
    self._structure: types.NestedArray = ()  # Nest of a row without its arrays.
    # A ring for each leaf of a row; none before the first rows.
    self._rings: list[np.ndarray] = []
    self._state_rings: list[np.ndarray] = []  # Of each leaf of a network state.
    self._num_rows = np.zeros([0], np.int64)  # [B], rows so far.
    # [B], number of the first row of the newest episode.
    self._begin = np.zeros([0], np.int64)
    # [B], step type of the newest row.
    self._step_type = np.zeros([0], np.int32)

  def reset(self, environments: np.ndarray | slice = slice(None)) -> None:
    """Drops unfinished episodes; the next rows must be FIRST.

    Args:
      environments: Booleans [B]: which environments' episodes; all by default.
    """
    self._step_type[environments] = ts.StepType.LAST

  def __call__(
      self,
      rows: trajectory_lib.Trajectory,
      episodic: types.NestedArray = (),
      mask: np.ndarray | None = None,
  ) -> None:
    """Adds rows, and passes the sequences that they complete to `add_fn`.

    Args:
      rows: `Trajectory` [B, N, ...] of frames as TF-Agents' drivers make them:
        reward and discount follow the action, and a row of step type LAST, with
        the last observation, ends the episode. If its policy_info has a
        `network_state` (an attribute or a key), a nest [B, N, ...], that is the
        recurrent state before each frame.
      episodic: The curiosity's part of the steps to the frames
        (`Curiosity.watch`), a nest of arrays [B, N, ...].
      mask: Booleans [B, N]: False where there is no row; None if all are rows.

    Raises:
      ValueError: If an array is of another shape, or if a row cannot follow the
        one before.
    """
    states = _flat(_network_state(rows.policy_info))
    rows = _with_info(rows, episodic).replace(
        # Padding, which has no row here, may follow the end of an episode.
        next_step_type=np.where(
            np.equal(rows.step_type, ts.StepType.LAST),
            ts.StepType.FIRST,
            rows.next_step_type,
        )
    )
    leaves = _flat(rows)
    known = self._num_rows if self._rings else np.atleast_1d(leaves[0])
    num_environments = len(known)
    shape = (num_environments, *leaves[0].shape[1:2])
    for leaf in leaves + states:
      if leaf.ndim < 2 or leaf.shape[:2] != shape:
        raise errors.InvalidValue(
            f'Rows of {num_environments} environments must have arrays'
            f' [{num_environments}, N, ...], got one of shape {leaf.shape}.'
        )
    if not self._rings:
      self._begin_with(rows, leaves, states)
    mask = np.ones(shape, np.bool_) if mask is None else np.asarray(mask)
    # Leading columns may have no row: often the last one of the rollout before.
    first = int(np.argmax(mask.any(axis=0))) if mask.size else 0
    for start in range(first, shape[1], _ROWS_AT_ONCE):
      part = slice(start, start + _ROWS_AT_ONCE)
      self._take(
          [leaf[:, part] for leaf in leaves],
          [state[:, part] for state in states],
          mask[:, part],
      )

  @property
  def _num_places(self) -> int:
    """R: enough for a sequence that ends with the first of the added rows."""
    return self._settings.num_frames - 1 + _ROWS_AT_ONCE

  def _begin_with(
      self,
      rows: trajectory_lib.Trajectory,
      leaves: list[np.ndarray],
      states: list[np.ndarray],
  ) -> None:
    """Creates empty rings for rows [B, N]."""
    num_environments = len(leaves[0])

    def ring(leaf: np.ndarray) -> np.ndarray:
      shape = (num_environments, self._num_places, *leaf.shape[2:])
      return np.zeros(shape, leaf.dtype)

    self._structure = tf.nest.map_structure(lambda _: 0, rows)
    self._rings = list(map(ring, leaves))
    self._state_rings = list(map(ring, states))
    self._num_rows = np.zeros([num_environments], np.int64)
    self._begin = np.zeros([num_environments], np.int64)
    self._step_type = np.full([num_environments], ts.StepType.LAST)

  def _take(
      self, leaves: list[np.ndarray], states: list[np.ndarray], mask: np.ndarray
  ) -> None:
    """Adds at most _ROWS_AT_ONCE rows [B, N]."""
    # Puts the rows of each environment before the places without a row.
    order = np.argsort(~mask, axis=1, kind='stable')
    has_row = np.take_along_axis(mask, order, axis=1)
    step_type = np.take_along_axis(leaves[0], order, axis=1)
    step_types = np.concatenate([self._step_type[:, None], step_type], axis=1)
    is_first = step_type == ts.StepType.FIRST
    _check_order(step_types, is_first, has_row)
    number = self._num_rows[:, None] + np.arange(mask.shape[1])
    begin = np.where(is_first & has_row, number, self._begin[:, None])
    begin = np.maximum.accumulate(begin, axis=1)
    places = number % self._num_places
    b, i = np.nonzero(has_row)
    for ring, leaf in zip(
        self._rings + self._state_rings, leaves + states, strict=True
    ):
      ring[b, places[b, i]] = leaf[b, order[b, i]]
    start = self._starts(number - begin, step_type == ts.StepType.LAST)
    b, i = np.nonzero(has_row & (start >= 0))
    by_time = np.lexsort((b, order[b, i]))
    b, i = b[by_time], i[by_time]
    if b.size:
      self._add_fn(
          self._sequences(b, begin[b, i], start[b, i], (number - begin)[b, i])
      )
    num_new = mask.sum(axis=1)
    self._num_rows += num_new
    self._begin = begin[:, -1]
    self._step_type = step_types[np.arange(len(num_new)), num_new]

  def _starts(self, frames: np.ndarray, is_last: np.ndarray) -> np.ndarray:
    """Returns the first trained steps of the sequences that rows complete.

    A row completes at most one sequence.

    Args:
      frames: Integers [B, N]: the number of each row in its episode. For the
        row that ends the episode it is the number of the episode's steps.
      is_last: Booleans [B, N]: whether the row ends the episode.

    Returns:
      Integers [B, N]; -1 where no sequence is complete.
    """
    unroll_length, stride = self._settings.unroll_length, self._settings.stride
    start = frames - unroll_length
    is_complete = (start >= 0) & (start % stride == 0)
    rest = sequences.last_start(np.maximum(start, 0), self._settings)
    has_rest = is_last & ~is_complete & (self._settings.remainder != 'drop')
    return np.where(is_complete, start, np.where(has_rest, rest, -1))

  def _sequences(
      self,
      b: np.ndarray,
      begin: np.ndarray,
      start: np.ndarray,
      newest: np.ndarray,
  ) -> Sequence:
    """Gathers n sequences.

    Args:
      b: Integers [n]: environments.
      begin: Integers [n]: numbers of the rows with which the episodes begin.
      start: Integers [n]: first trained steps.
      newest: Integers [n]: the newest frames, which end the episodes where
        frames are missing.

    Returns:
      A `Sequence` of arrays [n, ...].
    """
    is_filled = self._settings.remainder == 'fill'
    frames = (start - self._settings.burn_in_length)[:, None]
    frames = frames + np.arange(self._settings.num_frames)  # [n, L].
    newest = newest[:, None]
    is_before, is_behind = frames < 0, frames > newest
    frames = np.where(is_behind, newest - is_filled, np.maximum(frames, 0))
    places = (begin[:, None] + frames) % self._num_places
    trajectory = tf.nest.pack_sequence_as(
        self._structure, [ring[b[:, None], places] for ring in self._rings]
    )
    trajectory.step_type[is_before] = ts.StepType.MID
    trajectory.step_type[is_behind] = ts.StepType.LAST
    if not is_filled:
      trajectory.next_step_type[is_behind] = ts.StepType.FIRST
      for leaf in tf.nest.flatten(
          (trajectory.action, trajectory.reward, trajectory.discount)
      ):
        leaf[is_behind] = 0
    states = [ring[b, places[:, 0]] for ring in self._state_rings]
    for state in states:
      state[is_before[:, 0]] = 0
    return Sequence(
        trajectory, tuple(states), np.full(b.shape, self._is_demonstration)
    )

  def get_state(self) -> dict[str, Any]:
    """Returns a picklable state, from which `set_state` continues episodes."""
    rings = (self._rings, self._state_rings) if self._rings else None
    return copy.deepcopy({
        'settings': tuple(self._settings),
        'structure': self._structure,
        'rings': rings,
        'num_rows': self._num_rows,
        'begin': self._begin,
        'step_type': self._step_type,
    })

  def set_state(self, state: dict[str, Any]) -> None:
    """Restores a state of `get_state`; raises ValueError if it does not fit."""
    if tuple(state['settings']) != tuple(self._settings):
      raise errors.InvalidValue(
          f'The state belongs to SequenceSettings{tuple(state["settings"])},'
          f' not to {self._settings}.'
      )
    if state['rings'] is not None:
      self._structure = state['structure']
      self._rings, self._state_rings = state['rings']
      self._num_rows = state['num_rows']
      self._begin, self._step_type = state['begin'], state['step_type']


def _check_order(
    step_types: np.ndarray, is_first: np.ndarray, has_row: np.ndarray
) -> None:
  """Raises InvalidValue if the order of step types [B, 1 + N] is impossible."""
  is_over = step_types[:, :-1] == ts.StepType.LAST
  wrong = step_types[:, 1:][has_row & (is_first != is_over)]
  if not wrong.size:
    return
  if wrong[0] == ts.StepType.FIRST:
    raise errors.InvalidValue(
        'An episode begins after one that has no row of step type LAST. Add'
        " that row too, which TF-Agents' drivers make between two episodes, or"
        ' call reset() after an unfinished episode.'
    )
  raise errors.InvalidValue(
      f'The first row of an episode has step type {wrong[0]}, not FIRST: add'
      ' rows from the beginning of an episode.'
  )


def _network_state(info: Any) -> types.NestedArray:
  if isinstance(info, dict):
    return info.get('network_state', ())
  return getattr(info, 'network_state', ())


def _flat(nest: types.NestedArray) -> list[np.ndarray]:
  return [np.asarray(leaf) for leaf in tf.nest.flatten(nest)]


def _with_info(
    row: trajectory_lib.Trajectory, episodic: types.NestedSpecTensorOrArray
) -> trajectory_lib.Trajectory:
  """Returns a row with the policy info that the replay stores."""
  has_some = bool(tf.nest.flatten(episodic))
  return row.replace(policy_info=dict(episodic=episodic) if has_some else ())
