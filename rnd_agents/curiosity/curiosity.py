# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The base class of curiosities: modules that pay bonuses for exploring."""

import abc
from collections.abc import Callable
import inspect
from typing import Any

import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import transitions as transitions_lib
from rnd_agents.statistics import running_statistics

# Builds a curiosity from the time step spec and the action spec.
CuriosityFn = Callable[[ts.TimeStep, types.NestedTensorSpec], 'Curiosity']


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

  Raises:
    InvalidType: If it is not such a function, or returns something else.
  """
  try:
    # Gin may bind further arguments.
    inspect.signature(curiosity_fn).bind_partial(time_step_spec, action_spec)
  except TypeError as error:
    raise errors.InvalidType(
        f'{name} must be a function of (time_step_spec, action_spec), such as'
        f' @create_rnd (without brackets), got {curiosity_fn!r}.'
    ) from error
  curiosity = curiosity_fn(time_step_spec, action_spec)
  if not isinstance(curiosity, Curiosity):
    raise errors.InvalidType(
        f'{name} must return a Curiosity, got {type(curiosity).__name__}.'
    )
  return curiosity


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

    Raises:
      InvalidType: If a value is not a number.
      InvalidValue: If a number is out of range.
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
      transitions: transitions_lib.Transitions,
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

  def episodic(
      self, transitions: transitions_lib.Transitions
  ) -> types.NestedTensor:
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
        self.episodic(transitions_lib.Transitions.of_trajectory(batch)),
    )

  def episodic_part(
      self, transitions: transitions_lib.Transitions
  ) -> types.NestedTensor:
    """Returns `transitions.episodic`, or computes it if it is None."""
    if transitions.episodic is not None:
      return transitions.episodic
    return self.episodic(transitions)

  def loss(
      self,
      transitions: transitions_lib.Transitions,
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

  def constants(
      self, transitions: transitions_lib.Transitions
  ) -> types.NestedTensor:
    """Returns tensors that do not change until the statistics change.

    Agents compute them once for each update and gather them for minibatches.

    Args:
      transitions: `Transitions`.

    Returns:
      A nest of tensors [outer..., ...]; () for none.
    """
    del transitions
    return ()

  def update_statistics(self, transitions: transitions_lib.Transitions) -> None:
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

  def watch(
      self, transitions: transitions_lib.Transitions
  ) -> types.NestedTensor:
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
      transitions: transitions_lib.Transitions,
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
