# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The base class of curiosities."""

import abc
import inspect

import tensorflow as tf

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import transitions as transitions_lib
from rnd_agents.statistics import running_statistics


def build(name, curiosity_fn, time_step_spec, action_spec):
  """Returns the curiosity that a function builds for an environment.

  Args:
    name: Of the setting that has the function.
    curiosity_fn: Function of the two specs, such as `create_rnd`.
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.

  Raises:
    TypeError: If it is no such function, or returns something else.
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

  Agents take any curiosity. A new one implements `bonus`, and what it needs of
  `loss`, `constants` and the two updates of its statistics. The running
  deviation of the bonus's return, by which the bonus is divided, is here.

  With each rollout an agent does, in this order:

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
      discount_factor=0.99,
      name=None,
      scale_horizon_env_steps=None,
      least_scale_share=0.0,
  ):
    """Creates the statistics of the return.

    Args:
      discount_factor: Discount of the return whose standard deviation divides
        the bonus.
      name: Name of the module.
      scale_horizon_env_steps: Environment steps after which that deviation has
        forgotten most of an earlier return; None for never, as in the paper,
        where the first rollouts decide the scale permanently.
      least_scale_share: Share of the largest deviation so far below which the
        divisor does not fall: or the noise of a curiosity that has learned
        everything would become as large as its first bonus.

    Raises:
      TypeError: If a number is something else.
      ValueError: If one is out of range.
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
  def bonus(self, transitions, constants=None):
    """Returns the raw bonus of transitions, without a gradient.

    Args:
      transitions: `Transitions`. The bonus of those that are not valid is not
        looked at.
      constants: `constants(transitions)` where already known.

    Returns:
      A float tensor [outer...].
    """

  @property
  def episodic_spec(self):
    """Specs of what `episodic` returns of a transition; () for nothing."""
    return ()

  def episodic(self, transitions):
    """Returns the part of the bonus that depends on the episode so far.

    It depends on a memory of each environment's episode, which
    `update_statistics` extends by the same transitions afterwards.

    Args:
      transitions: `Transitions` [B, T] or [B] that follow on those of the last
        `update_statistics`; row b of every call belongs to environment b.

    Returns:
      A nest of tensors [B, T] or [B] like `episodic_spec`.
    """
    del transitions
    return ()

  def episodic_of_rows(self, episode):
    """Returns what `watch` would of each row of a whole episode.

    For demonstrations, which nothing watched; no memory changes.

    Args:
      episode: A `Trajectory` [T+1] from FIRST to LAST.

    Returns:
      A nest of tensors [T+1, ...]; 0 for the first row, which no step led to.
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

  def episodic_part(self, transitions):
    """Returns `transitions.episodic`, or computes it of a rollout."""
    if transitions.episodic is not None:
      return transitions.episodic
    return self.episodic(transitions)

  def loss(self, transitions, weights=None, constants=None):
    """Returns what `trainable_variables` minimize; 0 if there are none.

    Args:
      transitions: `Transitions` [M]. The loss is a mean over the valid ones.
      weights: Floats [M], a factor of each one's loss in that mean; None for 1.
      constants: `constants(transitions)` where already known.

    Returns:
      A float scalar.
    """
    del transitions, weights, constants
    return tf.constant(0.0)

  def constants(self, transitions):
    """Returns tensors that stay the same until the statistics change.

    Agents compute them once an update and gather them with each minibatch.

    Args:
      transitions: `Transitions`.

    Returns:
      A nest of tensors [outer..., ...]; () for none.
    """
    del transitions
    return ()

  def update_statistics(self, transitions):
    """Takes transitions into all statistics but those of the return.

    Args:
      transitions: `Transitions`, each of which is handed over once.
    """
    self.update_observation_statistics(
        transitions.next_observation, transitions.valid
    )

  def update_observation_statistics(self, observations, mask=None):
    """Takes observations into the statistics, such as a random policy's.

    Args:
      observations: A nest of raw tensors [outer..., ...].
      mask: Booleans [outer...]; None for all.
    """

  def update_return_statistics(self, bonus, valid=None):
    """Takes the returns of a rollout's bonus into their statistics.

    The sum is never reset: not at an episode's end, not between rollouts
    (Burda et al., 2018, section 2.3: the intrinsic return is non-episodic).

    Args:
      bonus: Raw bonus, a float tensor [B, T]; row b of every call belongs to
        environment b. Another B than before starts all sums at 0.
      valid: Booleans [B, T]; False entries are passed over.

    Raises:
      ValueError: If `bonus` is no float32 [B, T].
    """
    bonus = tf.convert_to_tensor(bonus)
    if valid is None:
      valid = tf.ones_like(bonus, tf.bool)
    fits = bonus.shape.is_compatible_with(valid.shape)
    if bonus.dtype != tf.float32 or not fits:
      raise errors.InvalidValue(
          f'{type(self).__name__}.bonus must return a float32 a transition, of'
          f' shape {valid.shape} here, not {bonus.dtype.name} {bonus.shape}.'
      )
    self._return_scaler.update(bonus, valid)

  def normalize_bonus(self, bonus):
    """Returns the bonus over the running standard deviation of its return.

    No mean is subtracted and nothing is clipped (Burda et al., 2018, section
    2.4).

    Args:
      bonus: A float tensor.
    """
    return self._return_scaler.scale(bonus)

  def watch(self, transitions):
    """Takes one transition of each environment into all statistics.

    For agents that learn from replayed experience: statistics follow what is
    collected, in its order.

    Args:
      transitions: `Transitions` [B]; entry b of every call belongs to
        environment b.

    Returns:
      Their `episodic`, to be kept with them for `rewards`.
    """
    transitions = transitions._replace(episodic=self.episodic(transitions))
    self.update_statistics(transitions)
    # [B] -> [B, 1]: one step in time of the return of each environment.
    self.update_return_statistics(
        self.bonus(transitions)[:, tf.newaxis],
        transitions.valid[:, tf.newaxis],
    )
    return transitions.episodic

  def rewards(self, transitions, constants=None):
    """Returns the normalized bonus of transitions, 0 where they are not valid.

    The bonus of replayed transitions: what their novelty is worth today, not
    when they were collected. What depends on the episode stays as it was.

    Args:
      transitions: `Transitions`.
      constants: `constants(transitions)` where already known.

    Raises:
      ValueError: If they lack `episodic` and the curiosity needs it.
    """
    if tf.nest.flatten(self.episodic_spec) and transitions.episodic is None:
      raise errors.InvalidValue(
          f'{type(self).__name__} pays by the episode so far, which replayed'
          ' transitions do not tell: keep what `watch` returns with each row,'
          " as policy_info['episodic'] (examples/curiosity_for_any_agent.py)."
      )
    rewards = self.normalize_bonus(self.bonus(transitions, constants))
    if transitions.valid is None:
      return rewards
    return tf.where(transitions.valid, rewards, 0.0)
