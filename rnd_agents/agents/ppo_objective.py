# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The PPO objective with several value heads, term by term."""

import dataclasses
import functools
import operator
from typing import Any

import tensorflow as tf
from tf_agents.utils import common

from rnd_agents.agents import replicas
from rnd_agents.ops import losses


@dataclasses.dataclass(eq=False)
class PPOObjective:
  """PPO's terms on minibatches (docs/rnd_ppo.md, "One update, step by step").

  Attributes:
    action_spec: A nest of `BoundedTensorSpec`.
    importance_ratio_clipping: PPO's epsilon.
    entropy_regularization: c_H.
    value_pred_loss_coef: Of each value loss.
    value_clipping: How far values may go from the old ones; 0 for anywhere.
    log_prob_clipping: Bound on log probabilities; 0 for none.
    streams: `ReturnStream`s; the value heads of those that are off do not
      learn.
  """

  action_spec: Any
  importance_ratio_clipping: Any
  entropy_regularization: Any
  value_pred_loss_coef: Any
  value_clipping: Any
  log_prob_clipping: Any
  streams: Any

  def __call__(self, distributions, values, minibatch):
    """Computes the terms.

    Args:
      distributions: A nest of the policy's action distributions, [m] or [m, L].
      values: Values, float [m, N] or [m, L, N].
      minibatch: A `samples.Minibatch`.

    Returns:
      Scalars by name; those that end in '_loss' are weighted.
    """
    batch = minibatch.rows
    counts = minibatch.counts
    if counts is None:
      counts = tf.ones_like(batch['advantage'])

    def average(per_sample, weight):
      return replicas.mean_of_slice(
          common.aggregate_losses(
              per_example_loss=per_sample, sample_weight=weight
          ).total_loss
      )

    def mean(per_sample):
      return average(per_sample, counts * batch.get('weight', 1.0))

    log_probability = self._log_probability(distributions, batch, counts)
    surrogate, ratio = losses.clipped_surrogate_loss(
        log_probability,
        batch['old_log_probability'],
        batch['advantage'],
        self.importance_ratio_clipping,
    )
    entropy = common.entropy(
        distributions, self.action_spec, outer_rank=counts.shape.rank
    )
    if entropy is None:
      entropy = tf.zeros_like(ratio)
    errors = losses.squared_value_error(
        values, batch['returns'], batch['old_values'], self.value_clipping
    )
    value_losses = {
        f'{stream.name}_value_loss': (
            self.value_pred_loss_coef * mean(errors[..., head])
            if stream.is_on
            else tf.constant(0.0)
        )
        for head, stream in enumerate(self.streams)
    }
    # Not the logarithm of the ratio, which may be 0 in float32.
    log_ratio = log_probability - batch['old_log_probability']
    off = tf.abs(ratio - 1.0) > self.importance_ratio_clipping
    return dict(
        policy_gradient_loss=mean(surrogate),
        value_estimation_loss=functools.reduce(
            operator.add, value_losses.values()
        ),
        entropy_regularization_loss=-self.entropy_regularization
        * mean(entropy),
        clip_fraction=average(tf.cast(off, tf.float32), counts),
        entropy=average(entropy, counts),
        # Schulman's estimator of KL(old, new): never negative.
        approximate_kl=average(ratio - 1.0 - log_ratio, counts),
        **value_losses,
    )

  def _log_probability(self, distributions, batch, counts):
    """Log probability [m] or [m, L] of the actions under the present policy."""
    log_probability = common.log_probability(
        distributions, batch['action'], self.action_spec
    )
    if self.log_prob_clipping > 0:
      log_probability = tf.clip_by_value(
          log_probability, -self.log_prob_clipping, self.log_prob_clipping
      )
    # What is no sample may hold anything: its ratio must not overflow.
    return tf.where(counts > 0, log_probability, batch['old_log_probability'])


def l2_regularization_loss(
    actor_net,
    value_net,
    policy_coefficient,
    value_coefficient,
    shared_coefficient,
):
  """Weighted sum of the squares of all kernels.

  Two views of one `ActorCriticNetwork` hold all of its weights each; which of
  them both outputs depend on, the views tell.

  Args:
    actor_net: A `Network`.
    value_net: A `Network`.
    policy_coefficient: Of kernels that serve the policy alone.
    value_coefficient: Of kernels that serve the values alone.
    shared_coefficient: Of kernels that serve both.

  Returns:
    A float scalar.
  """
  policy, values = _kernels(actor_net), _kernels(value_net)
  loss = tf.constant(0.0)
  for refs, coefficient in (
      ([ref for ref in policy if ref not in values], policy_coefficient),
      ([ref for ref in values if ref not in policy], value_coefficient),
      ([ref for ref in policy if ref in values], shared_coefficient),
  ):
    if refs and (tf.is_tensor(coefficient) or coefficient):
      squares = [tf.reduce_sum(tf.square(ref.deref())) for ref in refs]
      loss += coefficient * tf.add_n(squares)
  return loss


def weights_behind(net):
  """Returns the trainable weights that a network's output depends on.

  Args:
    net: A `Network`, or a view of an `ActorCriticNetwork`, which knows them.
  """
  weights = getattr(net, 'weights_behind', None)
  return net.trainable_weights if weights is None else weights


def _kernels(net):
  """References to the kernels that a network's output depends on, in order."""
  return [w.ref() for w in weights_behind(net) if 'kernel' in w.name]
