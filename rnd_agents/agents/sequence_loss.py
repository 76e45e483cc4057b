# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The loss and the priorities of replayed sequences, from their Q values."""

import dataclasses
from typing import NamedTuple, Optional

import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents.ops import annealing
from rnd_agents.ops import priorities as priority_ops
from rnd_agents.ops import q_learning


class Terms(NamedTuple):
  """What is known of each step of the sequences; all are [B, T].

  Attributes:
    valid: Booleans: False for steps from one episode to the next.
    demonstrated: Booleans: valid steps of demonstrations.
    agrees: Booleans: whether the best action is that which was taken.
    step_weights: `q_learning.step_weights`.
    targets: n-step targets.
    q_values: Of the actions that were taken.
    n_step_errors: Of the Q values against the targets.
    one_step_errors: The same with targets of one step; None if not needed.
    margin_losses: Large-margin losses of demonstrations; None if not needed.
    losses: Of each step.
  """

  valid: tf.Tensor
  demonstrated: tf.Tensor
  agrees: tf.Tensor
  step_weights: tf.Tensor
  targets: tf.Tensor
  q_values: tf.Tensor
  n_step_errors: tf.Tensor
  one_step_errors: Optional[tf.Tensor]
  margin_losses: Optional[tf.Tensor]
  losses: tf.Tensor

  def means(self):
    """Means over the steps that count, by the names of `R2D3Agent`'s metrics.

    What is not needed is 0.
    """

    def mean_square(errors):
      return None if errors is None else tf.square(errors)

    return dict(
        td_loss=masked_mean(mean_square(self.n_step_errors), self.valid),
        one_step_loss=masked_mean(
            mean_square(self.one_step_errors), self.valid
        ),
        margin_loss=masked_mean(self.margin_losses, self.demonstrated),
        td_error_mean=masked_mean(tf.abs(self.n_step_errors), self.valid),
        q_mean=masked_mean(self.q_values, self.valid),
        target_mean=masked_mean(self.targets, self.valid),
        demonstration_agreement=masked_mean(self.agrees, self.demonstrated),
    )


@dataclasses.dataclass(frozen=True)
class SequenceLoss:
  """Computes the loss of R2D2, with those of DQfD for demonstrations.

  The attributes are arguments of `R2D3Agent`, which explains them.
  """

  n_step: int
  discount_factor: float
  value_rescaling_epsilon: Optional[float]
  double_q: bool
  n_step_weight: float
  one_step_weight: float
  margin_weight: float
  margin_anneal_train_steps: Optional[int]
  margin: float
  squared_error_scale: float
  mean_over_time: bool
  priority_max_weight: float
  priorities_from: str

  def terms(
      self, q_values, target_q_values, experience, is_demonstration, train_step
  ):
    """Computes errors, losses and masks of each step.

    Args:
      q_values: Of the network in training, [B, T+1, A].
      target_q_values: Of its target, [B, T+1, A].
      experience: A `Trajectory` [B, T+1]; the last frame only bootstraps.
      is_demonstration: Booleans [B].
      train_step: Optimizer steps so far, an integer tensor.

    Returns:
      `Terms`.
    """
    is_last = tf.equal(experience.step_type, ts.StepType.LAST)
    valid = q_learning.valid_steps(is_last)
    demonstrated = valid & is_demonstration[:, tf.newaxis]
    actions = experience.action[:, :-1]
    step_q_values = q_values[:, :-1]

    def targets(n_step):
      return q_learning.n_step_targets(
          q_values,
          target_q_values,
          experience.reward[:, :-1],
          experience.discount[:, :-1],
          is_last,
          self.discount_factor,
          n_step,
          self.value_rescaling_epsilon,
          self.double_q,
      )

    def errors(of_targets):
      return q_learning.td_errors(step_q_values, actions, of_targets, valid)

    n_step_targets = targets(self.n_step)
    n_step_errors = errors(n_step_targets)
    one_step_errors, margin_losses = None, None
    if self.one_step_weight or self.priorities_from == 'both_errors':
      one_step_errors = errors(targets(1))
    if self.margin_weight:
      margin_losses = q_learning.large_margin_losses(
          step_q_values, actions, self.margin, demonstrated
      )
    return Terms(
        valid=valid,
        demonstrated=demonstrated,
        agrees=tf.equal(
            tf.argmax(step_q_values, -1), tf.cast(actions, tf.int64)
        ),
        step_weights=q_learning.step_weights(
            is_last, tf.equal(experience.next_step_type, ts.StepType.LAST)
        ),
        targets=n_step_targets,
        q_values=q_learning.action_values(step_q_values, actions),
        n_step_errors=n_step_errors,
        one_step_errors=one_step_errors,
        margin_losses=margin_losses,
        losses=q_learning.step_losses(
            n_step_errors,
            one_step_errors,
            margin_losses,
            self.n_step_weight,
            self.one_step_weight,
            annealing.linear(
                self.margin_weight,
                0.0,
                train_step,
                self.margin_anneal_train_steps,
            ),
            self.squared_error_scale,
        ),
    )

  def loss(self, terms, weights=None):
    """Returns the loss of a batch; its importance weights are [B] or None."""
    losses = q_learning.sequence_losses(
        terms.losses, terms.step_weights, self.mean_over_time
    )
    return q_learning.batch_loss(losses, weights)

  def priorities(self, terms):
    """Returns the new priority of each sequence, [B]."""
    errors = terms.n_step_errors
    if self.priorities_from == 'losses':
      errors = terms.losses
    elif self.priorities_from == 'both_errors':
      errors = tf.abs(errors) + tf.abs(terms.one_step_errors)
    return priority_ops.sequence_priorities(
        errors, terms.valid, self.priority_max_weight
    )


def masked_mean(values, mask):
  """Mean of the values that the mask keeps; 0 where there are none."""
  if values is None:
    return tf.constant(0.0)
  mask = tf.cast(mask, tf.float32)
  return tf.math.divide_no_nan(
      tf.reduce_sum(tf.cast(values, tf.float32) * mask), tf.reduce_sum(mask)
  )
