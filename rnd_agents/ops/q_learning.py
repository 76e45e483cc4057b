# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Q-learning on replayed sequences: targets, losses, margin, priorities.

The equations by which R2D2 (Kapturowski et al., 2019), DQfD (Hester et al.,
2018, arXiv 1704.03732) and R2D3 (Paine et al., 2019, arXiv 1909.01387) learn
from the Q values of one unroll.

Layout: TF-Agents' rows. Frame t holds s_t and a_t, and the reward and discount
received *after* a_t; T+1 frames make T steps, the last frame serves to
bootstrap. Where an episode ends, the frame of its last observation (step type
LAST) has no action: it carries no loss, and neither does padding, whose frames
are LAST too. Another episode may follow in the same sequence.

A step before padding needs the frame that it led to: padding begins after the
LAST frame of the episode, or after the frame to bootstrap from.
"""

import numbers
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.typing import types


def valid_steps(is_last: tf.Tensor) -> tf.Tensor:
  """Returns which steps of a sequence carry a loss: those with an action.

  Args:
    is_last: Whether each frame's step type is LAST, booleans [B, T+1].

  Returns:
    Booleans [B, T].
  """
  return tf.logical_not(tf.convert_to_tensor(is_last)[:, :-1])


def step_weights(is_last: tf.Tensor, next_is_last: tf.Tensor) -> tf.Tensor:
  """Returns how often each step counts in the loss of its sequence.

  A step with an action counts once. The last one of a sequence counts once more
  for each repeat of it, that is, for each frame whose step type and next step
  type are both LAST (`replay.sequences`, 'fill'). It counts at its own place,
  where the recurrent state and the return are right.

  Args:
    is_last: Whether each frame's step type is LAST, booleans [B, T+1].
    next_is_last: Whether each frame's next step type is LAST, booleans
      [B, T+1].

  Returns:
    float32 [B, T].
  """
  weights = tf.cast(valid_steps(is_last), tf.float32)
  repeats = tf.cast(tf.logical_and(is_last, next_is_last), tf.float32)
  steps_after = tf.cumsum(weights, axis=1, exclusive=True, reverse=True)
  return weights * tf.where(
      steps_after > 0, 1.0, 1.0 + tf.reduce_sum(repeats, 1, keepdims=True)
  )


def dueling_q_values(values: tf.Tensor, advantages: tf.Tensor) -> tf.Tensor:
  """`Q = V + A - mean_a A` (Wang et al., 2016, arXiv 1511.06581, equation 9).

  Args:
    values: V, a float tensor [..., 1].
    advantages: A, a float tensor [..., A].

  Returns:
    Q values, a float tensor [..., A].
  """
  advantages = tf.convert_to_tensor(advantages)
  return values + advantages - tf.reduce_mean(advantages, -1, keepdims=True)


def action_values(q_values: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
  """Returns Q(s, a) of one action a state.

  Args:
    q_values: Q(s, .), a float tensor [..., A].
    actions: a, integers from 0 [...].

  Returns:
    A float tensor [...].
  """
  actions = tf.convert_to_tensor(actions)
  return tf.gather(q_values, actions, batch_dims=actions.shape.rank, axis=-1)


def bootstrap_values(
    online_q_values: tf.Tensor,
    target_q_values: tf.Tensor,
    rescaling_epsilon: float | None = None,
    double_q: bool = True,
) -> tf.Tensor:
  """Computes the value of each state, in units of the reward.

      b_t = h^-1(Q'(s_t, argmax_a Q(s_t, a)))    with double Q
      b_t = h^-1(max_a Q'(s_t, a))               without

  (van Hasselt et al., 2016, arXiv 1509.06461.) Actions that are not allowed
  are to be the lowest of the Q values that choose: the online network's, the
  target network's without double Q.

  Args:
    online_q_values: Q, a float tensor [..., A].
    target_q_values: Q', a float tensor [..., A].
    rescaling_epsilon: Epsilon of h if the networks predict rescaled values;
      None if they predict returns.
    double_q: Whether the online network chooses the action.

  Returns:
    b, a float tensor [...].
  """
  if double_q:
    chosen = tf.argmax(online_q_values, axis=-1)
    values = action_values(target_q_values, chosen)
  else:
    values = tf.reduce_max(target_q_values, axis=-1)
  if rescaling_epsilon is None:
    return values
  return inverse_rescale(values, rescaling_epsilon)


def n_step_returns(
    rewards: tf.Tensor,
    discounts: tf.Tensor,
    values: tf.Tensor,
    is_last: tf.Tensor,
    discount_factor: float,
    num_steps: int,
) -> tf.Tensor:
  """Sums n discounted rewards and the value of the state after them.

      G_t = sum_{k<m} c_{t,k} r_{t+k} + c_{t,m} b_{t+m}
      c_{t,k} = prod_{j<k} gamma d_{t+j}

  m is n, or less where the sequence or the episode ends before: at the last
  frame of the sequence and at a LAST frame the sum stops and bootstraps. There
  a termination, d = 0, leaves the rewards alone, and a time limit, d = 1, is
  followed by the value of the future that it cut off (Pardo et al., 2018, arXiv
  1712.00378). Nothing after a LAST frame enters, be it NaN.

  Args:
    rewards: r, a float tensor [B, T].
    discounts: d, the environment's: 0 at a termination, float [B, T].
    values: b, a float tensor [B, T+1].
    is_last: Whether each frame is the last of its episode, booleans [B, T+1].
    discount_factor: gamma, a float.
    num_steps: n, an int from 1.

  Returns:
    G, a float tensor [B, T]; 0 where no action was taken.
  """
  _check_num_steps(num_steps)
  rewards = tf.convert_to_tensor(rewards)
  discounts = tf.convert_to_tensor(discounts)
  values = tf.convert_to_tensor(values)
  is_last = tf.convert_to_tensor(is_last)
  tf.debugging.assert_shapes(
      [
          (rewards, ('B', 'T')),
          (discounts, ('B', 'T')),
          (values[:, 1:], ('B', 'T')),
          (is_last[:, 1:], ('B', 'T')),
      ],
      message=(
          'rewards and discounts must be [B, T], values and is_last [B, T+1]:'
          " drop the last frame's reward and discount"
      ),
  )
  valid = valid_steps(is_last)
  weights = discount_factor * discounts
  # One pass a step of n: the k-step return is one reward and the (k-1)-step
  # return of the frame after it, and 0 steps from an end are its value.
  returns = values
  if values.shape[1] is not None:
    num_steps = min(num_steps, values.shape[1] - 1)
  for _ in range(num_steps):
    # A termination cuts off even an infinite value.
    future = tf.math.multiply_no_nan(returns[:, 1:], weights)
    returns = tf.where(valid, rewards + future, values[:, :-1])
    returns = tf.concat([returns, values[:, -1:]], axis=1)
  returns = returns[:, :-1]
  return tf.where(valid, returns, tf.zeros_like(returns))


class NStepTransitions(NamedTuple):
  """Transitions over n steps, each [B, T].

  Attributes:
    rewards: sums of discounted rewards.
    discounts: their discounts but for one gamma, which whoever computes a
      one-step target `rewards + gamma discounts V` multiplies with.
    ends: int32: numbers of the frames to bootstrap from, 1 to T; t itself where
      no action was taken.
  """

  rewards: tf.Tensor
  discounts: tf.Tensor
  ends: tf.Tensor


def n_step_transitions(
    rewards: tf.Tensor,
    discounts: tf.Tensor,
    is_last: tf.Tensor,
    discount_factor: float,
    num_steps: int,
) -> NStepTransitions:
  """Joins up to n steps to one, for agents that learn from single transitions.

  They end where those of `n_step_returns` do.

  Args:
    rewards: Float [B, T].
    discounts: The environment's, float [B, T].
    is_last: Whether each frame's step type is LAST, booleans [B, T+1].
    discount_factor: gamma, a float.
    num_steps: n, an int from 1.
  """
  frames = tf.pad(rewards, [[0, 0], [0, 1]])  # For the shape, [B, T+1].

  def sums(
      numbers: tf.Tensor, own: tf.Tensor, values: tf.Tensor, gamma: float
  ) -> tf.Tensor:
    return n_step_returns(numbers, own, values, is_last, gamma, num_steps)

  nothing, ones = tf.zeros_like(frames), tf.ones_like(frames)
  lengths = sums(ones[:, 1:], ones[:, 1:], nothing, 1.0)
  return NStepTransitions(
      rewards=sums(rewards, discounts, nothing, discount_factor),
      discounts=tf.math.divide_no_nan(
          sums(nothing[:, 1:], discounts, ones, discount_factor),
          discount_factor,
      ),
      ends=tf.range(tf.shape(rewards)[1]) + tf.cast(lengths, tf.int32),
  )


def n_step_targets(
    online_q_values: tf.Tensor,
    target_q_values: tf.Tensor,
    rewards: tf.Tensor,
    discounts: tf.Tensor,
    is_last: tf.Tensor,
    discount_factor: float,
    num_steps: int,
    rescaling_epsilon: float | None = None,
    double_q: bool = True,
) -> tf.Tensor:
  """Returns targets of n-step Q-learning, `y_t = h(G_t)` (`n_step_returns`).

  With 1 step these are the targets of DQfD's J_1; R2D2 and R2D3 take 5.

  Args:
    online_q_values: Q of every frame by the network in training, float
      [B, T+1, A].
    target_q_values: Q of every frame by the target network, float
      [B, T+1, A].
    rewards: Float [B, T].
    discounts: The environment's, float [B, T].
    is_last: Whether each frame's step type is LAST, booleans [B, T+1].
    discount_factor: gamma, a float.
    num_steps: n, an int from 1.
    rescaling_epsilon: Epsilon of h (`value_rescaling`); None for no h.
    double_q: Whether the online network chooses the action to bootstrap from.

  Returns:
    y, a float tensor [B, T] that passes no gradient; 0 where no action was
    taken.
  """
  values = bootstrap_values(
      online_q_values, target_q_values, rescaling_epsilon, double_q
  )
  targets = n_step_returns(
      rewards, discounts, values, is_last, discount_factor, num_steps
  )
  if rescaling_epsilon is not None:
    targets = rescale(targets, rescaling_epsilon)
  return tf.stop_gradient(targets)


def td_errors(
    q_values: tf.Tensor,
    actions: tf.Tensor,
    targets: tf.Tensor,
    valid_mask: tf.Tensor,
) -> tf.Tensor:
  """Returns `y_t - Q(s_t, a_t)`, 0 where no action was taken.

  Args:
    q_values: Q of the T steps by the network in training, float [B, T, A].
    actions: a, integers from 0 [B, T].
    targets: y, a float tensor [B, T].
    valid_mask: `valid_steps`, booleans [B, T].

  Returns:
    A float tensor [B, T].
  """
  errors = targets - action_values(q_values, actions)
  return tf.where(valid_mask, errors, tf.zeros_like(errors))


def large_margin_losses(
    q_values: tf.Tensor,
    actions: tf.Tensor,
    margin: float,
    is_demonstration: tf.Tensor | None = None,
) -> tf.Tensor:
  """Computes by how much other actions come too near to the demonstrator's.

      J_E = max_a (Q(s, a) + l(a_E, a)) - Q(s, a_E)

  with l = margin for every other action, 0 for the demonstrator's (Hester et
  al., 2018, equation 2, margin 0.8). Never negative. The gradient passes
  through both terms. The margin is in the units of the Q values: with value
  rescaling, those of h, where a return of 1 is 0.415.

  Args:
    q_values: Q, a float tensor [..., A].
    actions: a_E, integers from 0 [...].
    margin: A float, at least 0.
    is_demonstration: Booleans or numbers [...]: which actions are a
      demonstrator's; None if all are. The loss of others is 0.

  Returns:
    J_E, a float tensor [...].
  """
  if margin < 0:
    raise ValueError(f'margin must be at least 0, got {margin}.')
  q_values = tf.convert_to_tensor(q_values)
  actions = tf.convert_to_tensor(actions)
  margins = tf.one_hot(
      actions, tf.shape(q_values)[-1], 0.0, margin, dtype=q_values.dtype
  )
  best = tf.reduce_max(q_values + margins, axis=-1)
  losses = best - action_values(q_values, actions)
  if is_demonstration is None:
    return losses
  is_demonstration = tf.cast(is_demonstration, tf.bool)
  if is_demonstration.shape.rank != actions.shape.rank:
    raise ValueError(
        'is_demonstration must have the shape of the actions,'
        f' {actions.shape}, got {is_demonstration.shape}: repeat a flag of a'
        ' sequence for each of its steps.'
    )
  return tf.where(is_demonstration, losses, tf.zeros_like(losses))


def step_losses(
    n_step_errors: tf.Tensor,
    one_step_errors: tf.Tensor | None = None,
    margin_losses: tf.Tensor | None = None,
    n_step_weight: float = 1.0,
    one_step_weight: float = 1.0,
    margin_weight: float | tf.Tensor = 1.0,
    squared_error_scale: float = 0.5,
) -> tf.Tensor:
  """Computes the loss of each step: R2D2's, and DQfD's terms if given.

      L_t = c lambda_n d_n^2 + c lambda_1 d_1^2 + lambda_E J_E

  R2D2 and R2D3's paper: the first term, c = 1/2. DI-engine's R2D3: all three,
  c = 1. (DQfD's L2 term depends on no step: `R2D3Agent.l2_weight`.)

  Args:
    n_step_errors: d_n, a float tensor [B, T].
    one_step_errors: d_1, [B, T], or None for no such term.
    margin_losses: J_E, [B, T], or None for no such term.
    n_step_weight: lambda_n, a float.
    one_step_weight: lambda_1, a float.
    margin_weight: lambda_E, a float or a scalar tensor.
    squared_error_scale: c, a float.

  Returns:
    A float tensor [B, T].
  """
  losses = n_step_weight * squared_error_scale * tf.square(n_step_errors)
  if one_step_errors is not None:
    scale = one_step_weight * squared_error_scale
    losses += scale * tf.square(one_step_errors)
  if margin_losses is not None:
    losses += margin_weight * margin_losses
  return losses


def sequence_losses(
    losses: tf.Tensor, weights: tf.Tensor, mean_over_time: bool = False
) -> tf.Tensor:
  """Computes the loss of each sequence from those of the steps that count.

  Args:
    losses: Loss of each step, a float tensor [B, T].
    weights: How often each step counts, [B, T]: `step_weights`, or booleans.
    mean_over_time: False sums over the steps, as acme's R2D2 does; True takes
      their weighted mean, as DI-engine's does.

  Returns:
    A float tensor [B]; 0 where no step counts.
  """
  losses = tf.convert_to_tensor(losses)
  weights = tf.cast(weights, losses.dtype)
  totals = tf.reduce_sum(tf.math.multiply_no_nan(losses, weights), axis=1)
  if not mean_over_time:
    return totals
  return totals / tf.maximum(tf.reduce_sum(weights, axis=1), 1.0)


def batch_loss(
    losses: tf.Tensor, weights: tf.Tensor | None = None
) -> tf.Tensor:
  """Returns `mean_B(w L)`: the sum over the batch's size, not the weights' sum.

  Args:
    losses: L, the loss of each sequence, a float tensor [B].
    weights: w, importance weights [B], or None for 1.

  Returns:
    A float scalar. No gradient reaches the weights.
  """
  losses = tf.convert_to_tensor(losses)
  if weights is not None:
    tf.debugging.assert_shapes(
        [(losses, ('B',)), (weights, ('B',))],
        message='losses and weights must both be [B]',
    )
    losses *= tf.stop_gradient(tf.cast(weights, losses.dtype))
  return tf.reduce_mean(losses)


def _check_num_steps(num_steps: int) -> None:
  if isinstance(num_steps, bool) or not isinstance(num_steps, numbers.Integral):
    raise TypeError(
        f'num_steps must be an integer number of steps, got {num_steps!r}.'
    )
  if num_steps < 1:
    raise ValueError(f'num_steps must be at least 1, got {num_steps}.')


# -----------------------------------------------------------------------------
# Value rescaling maps returns of any size to a range that networks can fit:
#
#     h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x
#
# (Pohlen et al., 2018, arXiv 1805.11593, section 3.2; R2D2, section 2.3, with
# epsilon 1e-3.) The usual code subtracts nearly equal numbers, in h^-1 divided
# by epsilon: at epsilon 1e-3 that leaves 1e-4 of error in float32. The forms
# here are equal to it in algebra and subtract nothing, so that h^-1(h(x)) in
# float32 is x to a relative error of 1e-6 for every |x| from 1e-30 to 1e6, and
# both have their true slope at 0.


def rescale(values: tf.Tensor, epsilon: float = 1e-3) -> tf.Tensor:
  """Computes h, as `x / (sqrt(|x| + 1) + 1) + epsilon x`.

  Args:
    values: x, a float tensor of any shape.
    epsilon: A float, at least 0. Above 0 it bounds the slope of h^-1.

  Returns:
    h(x), a tensor like `values`.
  """
  _check_epsilon(epsilon)
  values = tf.convert_to_tensor(values)
  return values / (tf.sqrt(tf.abs(values) + 1.0) + 1.0) + epsilon * values


def inverse_rescale(values: tf.Tensor, epsilon: float = 1e-3) -> tf.Tensor:
  """Computes h^-1.

  With u = sqrt(|x| + 1) - 1, so that |x| = u (u + 2), h(|x|) = |y| reads
  epsilon u^2 + (1 + 2 epsilon) u - |y| = 0, and its positive root is

      u = 2 |y| / (1 + 2 epsilon + sqrt((1 + 2 epsilon)^2 + 4 epsilon |y|))

  Args:
    values: y, a float tensor of any shape.
    epsilon: The argument of `rescale`.

  Returns:
    x with h(x) = y, a tensor like `values`.
  """
  _check_epsilon(epsilon)
  values = tf.convert_to_tensor(values)
  linear = 1.0 + 2.0 * epsilon
  root = tf.sqrt(linear**2 + 4.0 * epsilon * tf.abs(values))
  # Has the sign of y: no tf.sign is needed, whose slope at 0 would be 0.
  u = 2.0 * values / (linear + root)
  return u * (tf.abs(u) + 2.0)


def _check_epsilon(epsilon: float) -> None:
  if epsilon < 0:
    raise ValueError(
        f'The epsilon of value rescaling must be at least 0, got {epsilon}: h'
        ' would have no inverse.'
    )


# -----------------------------------------------------------------------------
# Prioritised replay of sequences.


def sequence_priorities(
    td_errors: tf.Tensor, valid_mask: tf.Tensor, max_weight: float = 0.9
) -> tf.Tensor:
  """Computes the replay priority of each sequence.

      p = eta max_t |delta_t| + (1 - eta) mean_t |delta_t|

  (R2D2, Kapturowski et al., 2019, section 2.3, eta = 0.9.) Steps without a loss
  count in neither. `PrioritizedReplay` raises the priority to its exponent.

  Args:
    td_errors: delta, in the units of the network's output, or another measure
      of each step. Float [B, T].
    valid_mask: Which steps count, booleans [B, T].
    max_weight: eta, a float from 0 to 1.

  Returns:
    Priorities, a float tensor [B]; 0 where no step counts. No gradient passes.
  """
  sizes = tf.abs(tf.stop_gradient(tf.convert_to_tensor(td_errors)))
  tf.debugging.assert_shapes(
      [(sizes, ('B', 'T')), (valid_mask, ('B', 'T'))],
      message='td_errors and valid_mask must both be [B, T]',
  )
  sizes = tf.where(valid_mask, sizes, tf.zeros_like(sizes))
  count = tf.reduce_sum(tf.cast(valid_mask, sizes.dtype), axis=1)
  mean = tf.reduce_sum(sizes, axis=1) / tf.maximum(count, 1.0)
  largest = tf.reduce_max(sizes, axis=1)
  return max_weight * largest + (1.0 - max_weight) * mean


def importance_weights(
    probabilities: tf.Tensor,
    table_sizes: tf.Tensor,
    exponent: float | tf.Tensor,
) -> tf.Tensor:
  """Returns weights that correct for sampling by priority; the largest is 1.

      w_i = (N_i P_i)^-beta / max_j (N_j P_j)^-beta

  (Schaul et al., 2016, arXiv 1511.05952, section 3.4, the maximum taken over
  the batch.) Sequences of several tables have the size of their own table each,
  and the maximum is taken over all.

  Args:
    probabilities: P, the probability of each sequence to be drawn from its
      table, above 0, such as `prioritized_replay.Batch.probabilities`. Float
      [B].
    table_sizes: N, the number of sequences in each one's table, numbers [B].
    exponent: beta, a float or a scalar tensor from 0 (all weights are 1) to 1.

  Returns:
    Weights, float32 [B].

  Raises:
    tf.errors.InvalidArgumentError: If a probability is not above 0.
  """
  # Tables hold millions: a float32 product would not be exact.
  chances = tf.cast(probabilities, tf.float64) * tf.cast(
      table_sizes, tf.float64
  )
  tf.debugging.assert_positive(
      chances,
      'Nothing is drawn with probability 0 or from an empty table: pass the'
      ' probabilities that the batch was sampled with.',
  )
  # The largest weight belongs to the smallest chance: the quotient of chances
  # cannot overflow, as their powers could.
  relative = tf.reduce_min(chances) / chances
  return tf.cast(relative ** tf.cast(exponent, tf.float64), tf.float32)


# -----------------------------------------------------------------------------
# Schedules.


def linear_schedule(
    first: float,
    last: float,
    train_step: tf.Tensor,
    num_train_steps: int | None,
) -> types.Float:
  """Interpolates from `first` to `last` over the first optimizer steps.

  Args:
    first: Value at step 0.
    last: Value from step `num_train_steps` on.
    train_step: Optimizer steps so far, a scalar integer tensor.
    num_train_steps: Steps from `first` to `last`, at least 1; None keeps
      `first`.

  Returns:
    A float32 scalar tensor; `first` itself if `num_train_steps` is None.
  """
  if num_train_steps is None:
    return first
  done = tf.cast(train_step, tf.float32) / num_train_steps
  return first + (last - first) * tf.minimum(done, 1.0)


def epsilon_ladder(
    num_environments: int, base: float = 0.4, exponent: float = 7.0
) -> np.ndarray:
  """Returns an epsilon for each environment, from bold to nearly greedy.

      epsilon_i = base^(1 + exponent i / (N - 1)),    i = 0 .. N-1

  (Ape-X, Horgan et al., 2018, arXiv 1803.00933, section 4.1.) A lone
  environment gets `base`.

  Args:
    num_environments: N, an int from 1.
    base: epsilon, a float from 0 to 1.
    exponent: alpha, a float.

  Returns:
    float32 array [N].
  """
  if num_environments < 1:
    raise ValueError(
        f'num_environments must be at least 1, got {num_environments}.'
    )
  if not 0.0 <= base <= 1.0:
    raise ValueError(f'base must be a probability, got {base}.')
  rungs = np.arange(num_environments) / max(num_environments - 1, 1)
  return (base ** (1.0 + exponent * rungs)).astype(np.float32)
