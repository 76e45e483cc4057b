# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A curiosity in an agent that learns from replayed experience."""

from typing import NamedTuple

import tensorflow as tf
from tf_agents.typing import types

from rnd_agents.agents import optimizers
from rnd_agents.curiosity import transitions as transitions_lib
from rnd_agents.statistics import finite


class Batch(NamedTuple):
  """Transitions of a replayed batch.

  Attributes:
    transitions: `Transitions` [B * T].
    constants: the curiosity's `constants` of them.
  """

  transitions: transitions_lib.Transitions
  constants: types.NestedTensor


class ReplayedCuriosity(tf.Module):
  """Pays for replayed transitions what their novelty is worth today.

  Statistics follow what is collected, in its order.
  """

  def __init__(
      self,
      curiosity,
      optimizer,
      bonus_weight,
      collect_data_spec,
      name='ReplayedCuriosity',
  ):
    """Creates the curiosity's part of an agent.

    Args:
      curiosity: A `Curiosity`.
      optimizer: Trains its variables; not used where it has none.
      bonus_weight: Factor of the normalized bonus.
      collect_data_spec: A `Trajectory` spec of collected rows.
      name: Name of the module.
    """
    super().__init__(name=name)
    self.curiosity = curiosity
    self._bonus_weight = bonus_weight
    self._variables = list(curiosity.trainable_variables)
    self.optimizer = None
    if self._variables:
      self.optimizer = optimizer
      optimizers.build(optimizer, self._variables)
    self._previous_row = transitions_lib.PreviousRow(collect_data_spec)

  def update_statistics(self, row, mask=None):
    """Takes a collected row, a `Trajectory` [B], into the statistics.

    Args:
      row: The row.
      mask: Booleans [B]: False for environments without a row; None for none.

    Returns:
      What `Curiosity.watch` does of the transition to the row.
    """
    numbers = dict(observation=row.observation)
    with tf.control_dependencies(finite.verify(numbers, outer_rank=1)):
      return self.curiosity.watch(self._previous_row.join(row, mask))

  def batch(self, experience):
    """Returns the `Batch` of frames [B, T+1]."""
    rollout = transitions_lib.Transitions.of_trajectory(experience)
    transitions = rollout.flatten()
    return Batch(transitions, self.curiosity.constants(transitions))

  def add_bonus(self, rewards, batch):
    """Returns rewards [B, T+1] with the bonus added, but in the last frames."""
    bonus = tf.reshape(
        self.curiosity.rewards(*batch), tf.shape(rewards[:, :-1])
    )
    padded = tf.concat([bonus, tf.zeros_like(bonus[:, :1])], axis=1)
    return rewards + tf.cast(self._bonus_weight * padded, tf.float32)

  def train(self, batch):
    """Takes an optimizer step on the curiosity's loss, and returns the loss."""
    transitions, constants = batch
    with tf.GradientTape() as tape:
      loss = self.curiosity.loss(transitions, constants=constants)
    if self._variables:
      optimizers.apply(
          self.optimizer, tape.gradient(loss, self._variables), self._variables
      )
    return loss
