# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Curiosities: modules that pay bonuses for exploring.

The transitions that they are given, their base class, and what they see of
observations.
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import gin
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types
from tf_agents.utils import nest_utils

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import observations as observations_lib
from rnd_agents import ranges
from rnd_agents import signatures
from rnd_agents.networks import encoders
from rnd_agents.ops import rollout_parts
from rnd_agents.statistics import running_statistics

# Builds a curiosity from the time step spec and the action spec.
CuriosityFn = Callable[[ts.TimeStep, types.NestedTensorSpec], 'Curiosity']
# Selects from a nest of tensors [outer..., *shape] what a curiosity sees.
ObservationFn = Callable[[types.NestedTensor], types.NestedTensor]
# Of the observations on which functions are tried.
_OUTER_SHAPE = (2, 3)


class Transitions(NamedTuple):
  """Transitions [B, T] of a rollout in their order, or a minibatch [M] of them.

  Attributes:
    next_observation: nest of tensors [outer..., ...]: raw observations, without
      their action masks.
    valid: booleans [outer...]; False for an entry without a transition:
      padding, or the step from the end of an episode to the next episode. None
      if all are transitions.
    observation: nest like `next_observation`. It and the next attributes are
      None if the caller has only next observations, like a `PPOLearner`.
    action: nest of tensors [outer..., ...].
    is_first: booleans [outer...]: whether an episode begins with the
      transition.
    episodic: result of `Curiosity.watch` when replayed transitions were
      collected; None if the curiosity has to compute it.
    next_is_first: booleans [outer...]: whether an episode begins with the next
      observation. None if it does after every entry that is not valid, as in
      transitions without padding.
  """

  next_observation: types.NestedTensor
  valid: tf.Tensor | None = None
  observation: types.NestedTensor | None = None
  action: types.NestedTensor | None = None
  is_first: tf.Tensor | None = None
  episodic: types.NestedTensor | None = None
  next_is_first: tf.Tensor | None = None

  @classmethod
  def of_trajectory(cls, experience: trajectory.Trajectory) -> 'Transitions':
    """Returns the transitions [B, T] between rows [B, T+1] of a trajectory.

    Args:
      experience: A `Trajectory`. An entry `episodic` of its policy info belongs
        to the transition to the row.
    """

    def begin(nest: types.NestedTensor) -> types.NestedTensor:
      return tf.nest.map_structure(lambda x: x[:, :-1], nest)

    def end(nest: types.NestedTensor) -> types.NestedTensor:
      return tf.nest.map_structure(lambda x: x[:, 1:], nest)

    step_type = begin(experience.step_type)
    observation = action_masks.without_mask(experience.observation)
    info = experience.policy_info
    has_episodic = isinstance(info, dict) and 'episodic' in info
    return cls(
        next_observation=end(observation),
        valid=tf.not_equal(step_type, ts.StepType.LAST),
        observation=begin(observation),
        action=begin(experience.action),
        is_first=tf.equal(step_type, ts.StepType.FIRST),
        episodic=end(info['episodic']) if has_episodic else None,
        next_is_first=tf.equal(end(experience.step_type), ts.StepType.FIRST),
    )

  def flatten(self) -> 'Transitions':
    """Returns transitions [B, T] as a minibatch [B * T]."""
    return merge_time(self)

  def add_time(self) -> 'Transitions':
    """Returns transitions [B] as rollouts [B, 1]."""
    return tf.nest.map_structure(
        lambda x: None if x is None else x[:, tf.newaxis], self
    )

  @property
  def is_rollout(self) -> bool:
    """Whether these are rollouts [B, T], and not [M]."""
    return self.is_first is not None and self.is_first.shape.rank == 2

  def rows(self) -> types.NestedTensor:
    """Returns the observations [B, T+1] of rollouts [B, T]."""
    return tf.nest.map_structure(
        lambda first, following: tf.concat([first[:, :1], following], axis=1),
        self.observation,
        self.next_observation,
    )

  def require_whole(self, owner: str) -> None:
    """Raises InvalidValue if only the next observations are known."""
    if self.observation is None or self.action is None or self.is_first is None:
      raise errors.InvalidValue(
          f'{owner} needs whole transitions: observations, actions and where'
          ' episodes begin. Here only next observations are known: take a'
          ' curiosity that needs no more, such as RND; or, with a PPOLearner,'
          ' call agent.train on whole rollouts.'
      )


class PreviousRow(tf.Module):
  """Joins the rows that a driver passes one after the other to transitions."""

  def __init__(
      self, trajectory_spec: trajectory.Trajectory, name: str = 'PreviousRow'
  ):
    """Creates the memory of one row.

    Args:
      trajectory_spec: A `Trajectory` spec of the rows.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._rows = running_statistics.EnvironmentRows(_kept(trajectory_spec))

  def join(
      self, row: trajectory.Trajectory, mask: tf.Tensor | None = None
  ) -> Transitions:
    """Returns the transitions from the row before to this one.

    Args:
      row: A `Trajectory` [B]; entry b of every call belongs to environment b.
      mask: Booleans [B]: False for environments without a row; None if all have
        one.

    Returns:
      `Transitions` [B], valid where there is a row and one before it. None is
      valid if the number of environments has changed.
    """
    batch_size = tf.shape(row.step_type)[0]
    is_known = self._rows.are_for(batch_size)
    before = self._rows.read(batch_size)
    observation, action, step_type = before
    kept = _kept(row)
    valid = is_known & ~row.is_first()
    next_is_first = ~valid
    new = kept
    if mask is not None:
      valid, next_is_first = valid & mask, next_is_first & mask
      new = nest_utils.where(mask, kept, before)
    self._rows.assign(new)
    return Transitions(
        next_observation=kept[0],
        valid=valid,
        observation=observation,
        action=action,
        is_first=tf.equal(step_type, ts.StepType.FIRST),
        next_is_first=next_is_first,
    )


def _kept(row: trajectory.Trajectory) -> tuple[types.NestedTensor, ...]:
  observation = action_masks.without_mask(row.observation)
  return observation, row.action, row.step_type


def merge_time(nest: types.NestedTensor) -> types.NestedTensor:
  """[B, T, ...] -> [B * T, ...] in every tensor of a nest; None stays."""

  def merge(x: tf.Tensor | None) -> tf.Tensor | None:
    if x is None:
      return None
    return tf.reshape(x, tf.concat([[-1], tf.shape(x)[2:]], axis=0))

  return tf.nest.map_structure(merge, nest)


# -----------------------------------------------------------------------------
# The base class.


class Curiosity(tf.Module, abc.ABC):
  """Pays a bonus for transitions and learns from them.

  Agents take any curiosity. A subclass implements `bonus` and, if needed,
  `loss`, `constants` and the two updates of its statistics. This class keeps
  the running deviation of the bonus's return, which divides the bonus.

  For each rollout an agent calls, in this order:

      bonus = curiosity.bonus(transitions)                    # [B, T]
      curiosity.update_return_statistics(bonus, transitions.valid)
      rewards = curiosity.normalize_bonus(bonus)
      curiosity.update_statistics(transitions)
      constants = curiosity.constants(transitions)
      # For each minibatch:
      loss = curiosity.loss(minibatch, weights, constants_of_minibatch)
  """

  def __init__(
      self,
      discount_factor: types.Float = 0.99,
      name: str | None = None,
      scale_horizon_env_steps: float | None = None,
      least_scale_share: float = 0.0,
  ):
    """Creates the statistics of the return.

    Args:
      discount_factor: Discount of the return whose standard deviation divides
        the bonus.
      name: Name of the module.
      scale_horizon_env_steps: Environment steps after which that deviation has
        forgotten most of an earlier return. A smaller one adapts sooner; None
        forgets nothing, as in the paper, so that the first rollouts determine
        the scale.
      least_scale_share: Lower bound on the divisor, as a share of the largest
        deviation so far. Above 0 it keeps the noise of a curiosity that has
        learned everything smaller than its first bonus.
    """
    super().__init__(name=name)
    ranges.check(
        dict(
            discount_factor=ranges.WITHIN_0_AND_1.or_schedule(),
            scale_horizon_env_steps=ranges.COUNT.or_none(),
            least_scale_share=ranges.WITHIN_0_AND_1,
        ),
        dict(
            discount_factor=discount_factor,
            scale_horizon_env_steps=scale_horizon_env_steps,
            least_scale_share=least_scale_share,
        ),
        f'{type(self).__name__}.',
    )
    self._return_scaler = running_statistics.ReturnScaler(
        discount_factor,
        horizon=scale_horizon_env_steps,
        least_share=least_scale_share,
    )

  @abc.abstractmethod
  def bonus(
      self,
      transitions: Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the raw bonus of transitions, without a gradient.

    Args:
      transitions: `Transitions`. The bonus of invalid ones is ignored.
      constants: `constants(transitions)` if already known.

    Returns:
      A float tensor [outer...].
    """

  @property
  def episodic_spec(self) -> types.NestedTensorSpec:
    """Specs of `episodic` of one transition; () for a bonus without memory."""
    return ()

  def episodic(self, transitions: Transitions) -> types.NestedTensor:
    """Returns the part of the bonus that depends on the episode so far.

    It is computed from a memory of each environment's episode, to which
    `update_statistics` adds the same transitions afterwards.

    Args:
      transitions: `Transitions` [B, T] or [B] that follow those of the last
        `update_statistics`; row b of every call belongs to environment b.

    Returns:
      A nest of tensors [B, T] or [B] like `episodic_spec`.
    """
    del transitions
    return ()

  def episodic_of_rows(
      self, episode: trajectory.Trajectory
  ) -> types.NestedTensor:
    """Returns `episodic` of each row of a whole episode; changes no memory.

    For demonstrations, which `watch` has not seen.

    Args:
      episode: A `Trajectory` [T+1] from FIRST to LAST.

    Returns:
      A nest of tensors [T+1, ...]; 0 for the first row.
    """
    if not tf.nest.flatten(self.episodic_spec):
      return ()
    batch = tf.nest.map_structure(
        lambda x: tf.convert_to_tensor(x)[tf.newaxis], episode
    )
    return tf.nest.map_structure(
        lambda x: tf.pad(x[0], [[1, 0]] + [[0, 0]] * (x.shape.rank - 2)),
        self.episodic(Transitions.of_trajectory(batch)),
    )

  def episodic_part(self, transitions: Transitions) -> types.NestedTensor:
    """Returns `transitions.episodic`, or computes it if it is None."""
    if transitions.episodic is not None:
      return transitions.episodic
    return self.episodic(transitions)

  def loss(
      self,
      transitions: Transitions,
      weights: tf.Tensor | None = None,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the loss of `trainable_variables`; 0 if there are none.

    Args:
      transitions: `Transitions` [M]. The loss is a mean over the valid ones.
      weights: Floats [M], factors of the losses in that mean; None for 1.
      constants: `constants(transitions)` if already known.

    Returns:
      A float scalar.
    """
    del transitions, weights, constants
    return tf.constant(0.0)

  @property
  def learns_from_sequences(self) -> bool:
    """Whether `constants` needs rollouts of more than one step."""
    return False

  def constants(self, transitions: Transitions) -> types.NestedTensor:
    """Returns tensors that do not change until the statistics change.

    Agents compute them once for each update and gather them for minibatches.

    Args:
      transitions: `Transitions`.

    Returns:
      A nest of tensors [outer..., ...]; () for none.
    """
    del transitions
    return ()

  def update_statistics(self, transitions: Transitions) -> None:
    """Adds transitions to all statistics but those of the return.

    Args:
      transitions: `Transitions` that were not added before.
    """
    self.update_observation_statistics(
        transitions.next_observation, transitions.valid
    )

  def update_observation_statistics(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds observations, such as a random policy's, to the statistics.

    Args:
      observations: A nest of raw tensors [outer..., ...].
      mask: Booleans [outer...]; None for all.
    """

  def update_return_statistics(
      self, bonus: tf.Tensor, valid: tf.Tensor | None = None
  ) -> None:
    """Adds the returns of a rollout's bonus to their statistics.

    The sum is never reset, neither at an episode's end nor between rollouts
    (Burda et al., 2018, section 2.3: the intrinsic return is non-episodic).

    Args:
      bonus: Raw bonus, a float tensor [B, T]; row b of every call belongs to
        environment b. Another B than before starts all sums at 0.
      valid: Booleans [B, T]; False entries are ignored.

    Raises:
      InvalidValue: If `bonus` is not float32 [B, T].
    """
    bonus = tf.convert_to_tensor(bonus)
    if valid is None:
      valid = tf.ones_like(bonus, tf.bool)
    fits = bonus.shape.is_compatible_with(valid.shape)
    if bonus.dtype != tf.float32 or not fits:
      raise errors.InvalidValue(
          f'{type(self).__name__}.bonus must return a float32 for each'
          f' transition, of shape {valid.shape} here, not {bonus.dtype.name}'
          f' {bonus.shape}.'
      )
    self._return_scaler.update(bonus, valid)

  def normalize_bonus(self, bonus: tf.Tensor) -> tf.Tensor:
    """Returns the bonus divided by the running deviation of its return.

    No mean is subtracted and nothing is clipped (Burda et al., 2018, section
    2.4).

    Args:
      bonus: A float tensor.
    """
    return self._return_scaler.scale(bonus)

  def watch(self, transitions: Transitions) -> types.NestedTensor:
    """Adds one transition of each environment to all statistics.

    For agents that learn from replayed experience: statistics are those of
    transitions in the order of their collection.

    Args:
      transitions: `Transitions` [B]; entry b of every call belongs to
        environment b.

    Returns:
      `episodic` of the transitions; keep it for `rewards` of replayed ones.
    """
    transitions = transitions._replace(episodic=self.episodic(transitions))
    self.update_statistics(transitions)
    # [B] -> [B, 1]: one step in time of the return of each environment.
    valid: tf.Tensor = transitions.valid
    self.update_return_statistics(
        self.bonus(transitions)[:, tf.newaxis], valid[:, tf.newaxis]
    )
    return transitions.episodic

  def rewards(
      self,
      transitions: Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the normalized bonus of transitions, 0 where they are not valid.

    For replayed transitions this is the current bonus, not that of the time of
    collection; only the part that depends on the episode is from that time.

    Args:
      transitions: `Transitions`.
      constants: `constants(transitions)` if already known.

    Raises:
      InvalidValue: If they lack `episodic` and the curiosity needs it.
    """
    if tf.nest.flatten(self.episodic_spec) and transitions.episodic is None:
      raise errors.InvalidValue(
          f'The bonus of {type(self).__name__} depends on the episode so far,'
          ' which replayed transitions lack: keep what `watch` returns with'
          " each row, as policy_info['episodic']"
          ' (examples/curiosity_for_any_agent.py).'
      )
    rewards = self.normalize_bonus(self.bonus(transitions, constants))
    if transitions.valid is None:
      return rewards
    return tf.where(transitions.valid, rewards, 0.0)


def from_function(
    name: str,
    curiosity_fn: Any,
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
) -> 'Curiosity':
  """Returns the curiosity that a function builds for an environment.

  Args:
    name: Name of the setting with the function, for messages.
    curiosity_fn: Function of the two specs, such as `create_rnd`.
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.
  """
  if not signatures.takes_arguments(curiosity_fn, time_step_spec, action_spec):
    raise errors.InvalidType(
        f'{name} must be a function of (time_step_spec, action_spec), such as'
        f' @create_rnd (without brackets), got {curiosity_fn!r}.'
    )
  observation = action_masks.without_mask(time_step_spec.observation)
  curiosity = curiosity_fn(
      time_step_spec._replace(observation=observation), action_spec
  )
  if not isinstance(curiosity, Curiosity):
    raise errors.InvalidType(
        f'{name} must return a Curiosity, got {type(curiosity).__name__}.'
    )
  return curiosity


# -----------------------------------------------------------------------------
# What curiosities see.


def observation_spec(
    environment_observation_spec: types.NestedTensorSpec,
    observation_fn: ObservationFn | None = None,
) -> types.NestedTensorSpec:
  """Returns the specs of a curiosity's input, for building its networks.

  Args:
    environment_observation_spec: A nest of tensor specs; an action mask is left
      out.
    observation_fn: Function that selects the input, from a nest of tensors
      [outer..., *shape] to another. Discrete entries are one-hot, so that their
      numbers do not count as sizes, and pictures [h, w, c], as in
      `rnd_agents.observations`; all others are as the environment gives them.
      None for the whole observation.

  Returns:
    A nest of float32 specs.

  Raises:
    InvalidValue: If the function does not fit the observations.
  """
  specs = tensor_spec.from_spec(
      action_masks.without_mask(environment_observation_spec)
  )
  if observation_fn is None:
    return encoders.float_spec(specs)
  return tf.nest.map_structure(
      lambda x: tf.TensorSpec(x.shape[2:], tf.float32),
      _selected_example(specs, observation_fn),
  )


def check_key_fn(
    name: str,
    key_fn: ObservationFn | None,
    environment_observation_spec: types.NestedTensorSpec,
) -> None:
  """Raises InvalidValue if a key function does not fit the observations.

  Args:
    name: Name of the setting with the function, for messages.
    key_fn: Function from raw observations [outer..., ...] to keys [outer...,
      ...], or None.
    environment_observation_spec: A nest of tensor specs.
  """
  if key_fn is not None:
    specs = tensor_spec.from_spec(environment_observation_spec)
    _select(name, key_fn, _zeros(specs))


def judges_more_than_observations(
    name: str, curiosity: 'Curiosity'
) -> errors.InvalidValue:
  """Returns the error of a setting whose curiosity needs whole transitions.

  Args:
    name: Name of the setting that builds it.
    curiosity: What it has built.
  """
  return errors.InvalidValue(
      f'{name} must build a curiosity that judges observations by themselves,'
      f' such as @create_rnd, not {type(curiosity).__name__}.'
  )


def _selected_example(
    specs: types.NestedTensorSpec, observation_fn: ObservationFn
) -> types.NestedTensor:
  """Returns what a function selects from observations of zeros.

  Raises:
    InvalidValue: If the function does not fit the observations.
  """
  encoded = tf.nest.map_structure(
      encoders.encode_discrete, _zeros(specs), specs
  )
  return _select('observation_fn', observation_fn, encoded)


def _zeros(specs: types.NestedTensorSpec) -> types.NestedTensor:
  """Returns observations, without their action masks, of zeros."""
  return tf.nest.map_structure(
      lambda spec: tf.zeros([*_OUTER_SHAPE, *spec.shape], spec.dtype),
      action_masks.without_mask(specs),
  )


def _select(
    name: str, function: ObservationFn, example: types.NestedTensor
) -> types.NestedTensor:
  """Returns what a function selects from observations [*_OUTER_SHAPE, ...]."""
  what = f'{name} {getattr(function, "__name__", function)}'
  try:
    selected = function(example)
  # A function for other observations may raise anything.
  except Exception as error:
    shapes = tf.nest.map_structure(lambda x: x.shape[2:].as_list(), example)
    raise errors.InvalidValue(
        f'{what} fails on observations of shapes {shapes}:'
        f' {type(error).__name__}: {errors.message_of(error)}'
    ) from error
  for leaf in tf.nest.flatten(selected):
    if not tf.is_tensor(leaf) or leaf.shape[:2] != _OUTER_SHAPE:
      got = f'shape {leaf.shape}' if tf.is_tensor(leaf) else repr(leaf)
      brackets = ' Write brackets behind its name.' if callable(leaf) else ''
      raise errors.InvalidValue(
          f'{what} must return a tensor with a row for each observation,'
          f' [{_OUTER_SHAPE[0]}, {_OUTER_SHAPE[1]}, ...] for observations of'
          f' this shape, got {got}.{brackets}'
      )
  return selected


def _needs_float64(dtype: tf.DType) -> bool:
  """Returns whether float32 may not hold the integers of a type."""
  return dtype.is_integer and dtype.size >= 4


@gin.configurable(module='rnd_agents')
def key_observation_fn(key: str) -> ObservationFn:
  """Returns an `observation_fn` that selects the entry `key` of a dict."""
  return lambda observation: observation[key]


@gin.configurable(module='rnd_agents', denylist=['observation'])
def newest_frame_observation_fn(observation: tf.Tensor) -> tf.Tensor:
  """Selects the last channel of stacked frames; an `observation_fn`."""
  return observation[..., -1:]


class SeenObservations(tf.Module):
  """Selects a curiosity's input from observations, whitens and clips it.

  As in Burda et al., 2018, section 2.4, for RND: by running moments.
  """

  def __init__(
      self,
      environment_observation_spec: types.NestedTensorSpec,
      observation_fn: ObservationFn | None = None,
      clip_value: float | None = 5.0,
      name: str = 'SeenObservations',
  ):
    """Creates the running moments.

    Args:
      environment_observation_spec: A nest of tensor specs: raw observations.
      observation_fn: Selects the input; see `observation_spec`.
      clip_value: Bound on whitened observations, in standard deviations; None
        for no clipping.
      name: Name of the module.
    """
    super().__init__(name=name)
    ranges.check(
        dict(observation_clip_value=ranges.ABOVE_0.or_none()),
        dict(observation_clip_value=clip_value),
    )
    self._environment_spec = tensor_spec.from_spec(
        action_masks.without_mask(environment_observation_spec)
    )
    self._observation_fn = observation_fn
    self._clip_value = clip_value
    self.spec = observation_spec(environment_observation_spec, observation_fn)
    flat_spec = tf.nest.flatten(self.spec)
    # Integers such as clocks, which need more than the 24 bits of float32.
    if observation_fn is None:
      self._is_wide = [
          observations_lib.treatment(spec).is_wide
          for spec in tf.nest.flatten(self._environment_spec)
      ]
    else:  # What a function returns has no bounds, only a type.
      selected = _selected_example(self._environment_spec, observation_fn)
      self._is_wide = [
          _needs_float64(tf.as_dtype(leaf.dtype))
          for leaf in tf.nest.flatten(selected)
      ]
    self.moments = [
        running_statistics.RunningMoments(
            spec.shape,
            'rnd_observation',
            initial_count=running_statistics.initial_count(is_wide),
        )
        for spec, is_wide in zip(flat_spec, self._is_wide, strict=True)
    ]

  def select(self, observations: types.NestedTensor) -> types.NestedTensor:
    """Selects the input from raw observations, not whitened.

    Args:
      observations: A nest of tensors [outer..., *shape].

    Returns:
      A nest of tensors [outer..., ...]: float64 for integers of a wide range,
      and for those of 32 bits or more that a function selects; else float32.
    """
    seen = tf.nest.map_structure(
        encoders.encode_discrete,
        action_masks.without_mask(observations),
        self._environment_spec,
    )
    if self._observation_fn is not None:
      seen = self._observation_fn(seen)
    flat = [
        tf.cast(x, tf.float64 if is_wide else tf.float32)
        for x, is_wide in zip(tf.nest.flatten(seen), self._is_wide, strict=True)
    ]
    return tf.nest.pack_sequence_as(self.spec, flat)

  def whiten(self, observations: types.NestedTensor) -> types.NestedTensor:
    """Returns network inputs: observations selected, whitened and clipped."""
    flat = tf.nest.flatten(self.select(observations))
    return tf.nest.pack_sequence_as(
        self.spec,
        [
            tf.cast(leaf_moments.whiten(leaf, self._clip_value), tf.float32)
            for leaf_moments, leaf in zip(self.moments, flat, strict=True)
        ],
    )

  def update(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds raw observations [outer..., *shape] to the moments."""
    flat = tf.nest.flatten(self.select(observations))
    for leaf_moments, leaf in zip(self.moments, flat, strict=True):
      leaf_moments.update(leaf, mask)

  def in_parts(
      self,
      function: Callable[[types.NestedTensor], tf.Tensor],
      observations: types.NestedTensor,
  ) -> tf.Tensor:
    """Applies a function to observations, in parts of a large rollout."""
    leaf = tf.nest.flatten(observations)[0]
    spec = tf.nest.flatten(self._environment_spec)[0]
    if len(leaf.shape) - len(spec.shape) < 2:  # A minibatch.
      return function(observations)
    return rollout_parts.by_environment(function, observations)
