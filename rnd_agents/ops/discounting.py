# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Discounted sums over time: linear recurrences, advantages, returns.

Layout: TF-Agents' rows. Row t holds s_t, a_t and the reward, discount and step
type that follow; T+1 rows make T transitions. Where an episode ends, the row of
its last observation is a *boundary*: a transition LAST -> FIRST that no action
caused, with reward 0 and discount 1.

Two numbers for each transition define what happens at the end of an episode:

| transition into s_{t+1}     | bootstrap discount | trace weight |
|-----------------------------|--------------------|--------------|
| inside an episode           | gamma              | gamma lambda |
| termination                 | 0                  | 0            |
| truncation (time limit)     | gamma              | 0            |
| boundary, episodic stream   | 0                  | 0            |
| boundary, continuing stream | 1                  | 1            |

In a continuing stream a termination counts as inside an episode, with both
numbers multiplied by c, the share of the following value that it keeps (1 by
default). A discount of 0 within an episode, where a life was lost, is a
termination in either stream. A discount d between 0 and 1 has a part of that
effect: the bootstrap discount is d gamma in an episodic stream and
(1 - (1 - c)(1 - d)) gamma in a continuing one.
"""

import tensorflow as tf
from tf_agents.typing import types


def reverse_linear_recurrence(
    inputs: tf.Tensor, weights: tf.Tensor
) -> tf.Tensor:
  """Solves `y_t = x_t + w_t y_{t+1}` with `y_T = 0`, backwards in time.

  Two steps of the recurrence compose into one of the same form, so doubling
  the stride solves T steps in ceil(log2 T) vector operations instead of a loop
  of T small ones.

  Args:
    inputs: `x`, a float tensor [B, T].
    weights: `w`, a float tensor [B, T]; the last column has no effect.

  Returns:
    `y`, a float tensor [B, T].
  """
  inputs = tf.convert_to_tensor(inputs)
  weights = tf.convert_to_tensor(weights, dtype=inputs.dtype)
  tf.debugging.assert_rank(inputs, 2, 'inputs must be [B, T]')
  tf.debugging.assert_rank(weights, 2, 'weights must be [B, T]')
  num_steps = tf.shape(inputs)[1]

  def shift_left(x: tf.Tensor, stride: tf.Tensor) -> tf.Tensor:
    return tf.pad(x[:, stride:], [[0, 0], [0, stride]])

  def double(
      stride: tf.Tensor, y: tf.Tensor, w: tf.Tensor
  ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    return (
        2 * stride,
        y + w * shift_left(y, stride),
        w * shift_left(w, stride),
    )

  # The weight of the last step would multiply y_T = 0: dropping it keeps an
  # infinite or NaN filler there from spreading.
  weights = tf.pad(weights[:, :-1], [[0, 0], [0, 1]])
  dynamic = tf.TensorShape([inputs.shape[0], None])
  _, result, _ = tf.while_loop(
      lambda stride, *_: stride < num_steps,
      double,
      (tf.constant(1), inputs, weights),
      shape_invariants=(tf.TensorShape([]), dynamic, dynamic),
  )
  return tf.ensure_shape(result, inputs.shape)


def linear_recurrence(
    inputs: tf.Tensor, weights: tf.Tensor, initial: tf.Tensor
) -> tf.Tensor:
  """Solves `y_t = x_t + w_t y_{t-1}` with `y_{-1} = initial`, forwards in time.

  Args:
    inputs: `x`, a float tensor [B, T].
    weights: `w`, a float tensor [B, T].
    initial: The value before the first step, a float tensor [B].

  Returns:
    `y`, a float tensor [B, T].
  """
  inputs = tf.convert_to_tensor(inputs)
  weights = tf.convert_to_tensor(weights, dtype=inputs.dtype)
  initial = tf.convert_to_tensor(initial, dtype=inputs.dtype)
  first = inputs[:, :1] + weights[:, :1] * initial[:, tf.newaxis]
  inputs = tf.concat([first, inputs[:, 1:]], axis=1)
  backwards = reverse_linear_recurrence(
      tf.reverse(inputs, [1]), tf.reverse(weights, [1])
  )
  return tf.reverse(backwards, [1])


def generalized_advantage_estimation(
    rewards: tf.Tensor,
    values: tf.Tensor,
    final_value: tf.Tensor,
    discounts: tf.Tensor,
    trace_weights: tf.Tensor,
) -> tf.Tensor:
  """Computes GAE with separate bootstrap discounts and trace weights.

      delta_t = r_t + d_t V(s_{t+1}) - V(s_t)
      A_t     = delta_t + w_t A_{t+1},     A_T = 0

  (Schulman et al., 2016, arXiv 1506.02438, equations 11 to 16, with the product
  gamma lambda split in two so that a time limit can bootstrap without letting
  the trace run into the next episode.)

  Args:
    rewards: `r`, a float tensor [B, T].
    values: `V(s_0) .. V(s_{T-1})`, a float tensor [B, T].
    final_value: `V(s_T)`, a float tensor [B]. The true value of the state after
      the last transition, not `values[:, -1]`.
    discounts: `d`, bootstrap discounts, a float tensor [B, T].
    trace_weights: `w`, a float tensor [B, T].

  Returns:
    Advantages, a float tensor [B, T]. `A + V` is the TD(lambda) return.
  """
  rewards = tf.convert_to_tensor(rewards)
  values = tf.convert_to_tensor(values)
  final_value = tf.convert_to_tensor(final_value)
  tf.debugging.assert_rank(rewards, 2, 'rewards must be [B, T]')
  tf.debugging.assert_rank(values, 2, 'values must be [B, T]')
  tf.debugging.assert_rank(final_value, 1, 'final_value must be [B]')
  next_values = tf.concat([values[:, 1:], final_value[:, tf.newaxis]], axis=1)
  deltas = rewards + discounts * next_values - values
  return reverse_linear_recurrence(deltas, trace_weights)


def episodic_weights(
    discount_factor: float,
    lambda_value: float,
    environment_discounts: tf.Tensor,
    next_is_last: tf.Tensor,
    is_boundary: tf.Tensor,
    bootstrap_at_time_limit: bool = True,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns discounts and trace weights of a stream that ends with episodes.

  Args:
    discount_factor: gamma, a float.
    lambda_value: lambda, a float.
    environment_discounts: Discount of the environment at s_{t+1}: 0 where the
      episode terminated, the discount of a lost life where one was lost, 1
      elsewhere, also at a time limit. Float [B, T].
    next_is_last: Whether s_{t+1} is the last of its episode. Boolean [B, T].
    is_boundary: Whether row t is an episode's last. Boolean [B, T].
    bootstrap_at_time_limit: Whether V(s_LAST) stands for the future that a time
      limit cut off (Pardo et al., 2018, arXiv 1712.00378). False treats every
      end as a termination, as the RND authors' code does.

  Returns:
    A tuple (discounts, trace_weights), each a float tensor [B, T].
  """
  # Not a product: a boundary row may hold NaN.
  discounts = discount_factor * tf.where(
      is_boundary, tf.zeros_like(environment_discounts), environment_discounts
  )
  not_last = 1.0 - tf.cast(next_is_last, discounts.dtype)
  trace_weights = lambda_value * discounts * not_last
  if not bootstrap_at_time_limit:
    discounts *= not_last
  return discounts, trace_weights


def continuing_weights(
    discount_factor: float,
    lambda_value: float,
    is_boundary: tf.Tensor,
    environment_discounts: types.Float = 1.0,
    termination_discount: float = 1.0,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns discounts and trace weights of a stream across episode ends.

  The boundary row passes value and trace through unchanged, so the advantages
  of the other rows equal those of the stream with that row deleted: the value
  after an episode's last action is that of the next episode's first observation
  (Burda et al., 2018, section 2.3).

  Args:
    discount_factor: gamma, a float.
    lambda_value: lambda, a float.
    is_boundary: Whether row t is an episode's last. Boolean [B, T].
    environment_discounts: As for `episodic_weights`.
    termination_discount: c, a float: the share of the following value that a
      termination keeps. 1 keeps all of it, as in the paper; 0 ends the stream
      at terminations. A time limit always keeps all.

  Returns:
    A tuple (discounts, trace_weights), each a float tensor [B, T].
  """
  ones = tf.ones_like(is_boundary, tf.float32)
  left = 1.0 - (1.0 - termination_discount) * (1.0 - environment_discounts)
  discounts = tf.where(is_boundary, ones, discount_factor * left * ones)
  trace_weights = tf.where(
      is_boundary, ones, discount_factor * lambda_value * left * ones
  )
  return discounts, trace_weights


def bridge_boundary_values(
    values: tf.Tensor, is_boundary: tf.Tensor
) -> tf.Tensor:
  """Replaces the value of each boundary row by that of the next episode.

  Several boundary rows may follow each other: padding, as of an agent that
  waits for the end of its game.

  Args:
    values: `V(s_0) .. V(s_T)`, a float tensor [B, T+1].
    is_boundary: Whether row t is an episode's last. Boolean [B, T].

  Returns:
    A float tensor [B, T+1]: the values to use with `continuing_weights`.
  """
  is_boundary = tf.pad(tf.cast(is_boundary, tf.int32), [[0, 0], [0, 1]])
  # Rows of episodes in their order, then the others.
  rows = tf.argsort(is_boundary, axis=1, stable=True)
  num_before = tf.cumsum(1 - is_boundary, axis=1, exclusive=True)
  following = tf.gather(rows, num_before, axis=1, batch_dims=1)
  return tf.gather(values, following, axis=1, batch_dims=1)


def discounted_return_filter(
    rewards: tf.Tensor,
    discounts: types.Float,
    initial: tf.Tensor,
    valid: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Computes the discounted sums whose standard deviation scales rewards.

      R_t = g_t R_{t-1} + r_t

  It runs forwards in time, as the RND authors' `RewardForwardFilter` does
  (Burda et al., 2018, section 2.4): each value is a discounted return seen from
  its last reward. Rows that are not valid (boundaries between episodes) leave
  it unchanged.

  Args:
    rewards: `r`, a float tensor [B, T].
    discounts: `g`, a float tensor [B, T] or a float. A never-reset stream has
      the same g everywhere; 0 at an episode's first transition resets.
    initial: `R` after the rollout before this one, a float tensor [B].
    valid: Boolean tensor [B, T].

  Returns:
    A tuple (filtered [B, T], last [B]): `R` at every row and after the last
    one, to be handed in as `initial` next time.
  """
  rewards = tf.convert_to_tensor(rewards)
  discounts = discounts * tf.ones_like(rewards)
  filtered = linear_recurrence(
      tf.where(valid, rewards, tf.zeros_like(rewards)),
      tf.where(valid, discounts, tf.ones_like(discounts)),
      initial,
  )
  return filtered, filtered[:, -1]
