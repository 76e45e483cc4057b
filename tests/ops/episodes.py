# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Advantages worked out on episodes instead of rows: slow, plain, float64.

What follows knows nothing of boundary rows' discounts, weights and values: it
cuts the rows of one environment into the sequences that the agent lived
through and runs the textbook's loop over each.
"""

import numpy as np


def textbook_gae(rewards, values, final_value, discounts, lambda_value):
  """GAE over one sequence in which nothing ends.

  Args:
    rewards: Array [N].
    values: Of the states in which the rewards' actions were taken, [N].
    final_value: Of the state after the last.
    discounts: gamma, array [N].
    lambda_value: lambda, a float.

  Returns:
    Advantages, a list of N floats.
  """
  following_values = list(values[1:]) + [final_value]
  advantages, following = [], 0.0
  for t in reversed(range(len(rewards))):
    delta = rewards[t] + discounts[t] * following_values[t] - values[t]
    following = delta + discounts[t] * lambda_value * following
    advantages.insert(0, following)
  return advantages


def episodic_advantages(
    rewards,
    values,
    environment_discounts,
    is_last,
    discount_factor,
    lambda_value,
    bootstrap_at_time_limit=True,
):
  """Advantages of one environment's extrinsic stream, episode by episode.

  Args:
    rewards: Array [T].
    values: Of every row's observation, array [T+1].
    environment_discounts: 0 on a death, array [T].
    is_last: Whether the row's observation is its episode's last, [T+1].
    discount_factor: gamma.
    lambda_value: lambda.
    bootstrap_at_time_limit: Whether a time limit is no death.

  Returns:
    An array [T] with NaN where no action was taken.
  """
  num_steps = len(rewards)
  result = np.full(num_steps, np.nan)
  start = 0
  while start < num_steps:
    end = start  # Of the episode, or of what was recorded of it.
    while end < num_steps and not is_last[end]:
      end += 1
    if end > start:
      final_value = values[end]
      if is_last[end] and not bootstrap_at_time_limit:
        final_value = 0.0
      result[start:end] = textbook_gae(
          rewards[start:end],
          values[start:end],
          final_value,
          discount_factor * environment_discounts[start:end],
          lambda_value,
      )
    start = end + 1
  return result


def continuing_advantages(
    rewards, values, is_last, discount_factor, lambda_value
):
  """Advantages of one environment's intrinsic stream: one endless life.

  Args:
    rewards: Array [T].
    values: Array [T+1].
    is_last: Array [T+1].
    discount_factor: gamma.
    lambda_value: lambda.

  Returns:
    An array [T] with NaN where no action was taken.
  """
  acted = [t for t in range(len(rewards)) if not is_last[t]]
  result = np.full(len(rewards), np.nan)
  result[acted] = textbook_gae(
      rewards[acted],
      values[acted],
      values[-1],
      np.full(len(acted), discount_factor),
      lambda_value,
  )
  return result


def random_rows(seed, num_steps, batch_size=6, end_probability=0.3):
  """Rows of environments whose episodes end at random, by death or by clock.

  The first environment starts in a boundary row, the second has one before the
  last row, the third's episodes have one transition each, the fourth's last
  row is an episode's last; the others are left to chance.

  Args:
    seed: Of the numbers.
    num_steps: T.
    batch_size: B, at least 4.
    end_probability: Of an episode to end at a transition.

  Returns:
    A dict of float64 and boolean arrays: rewards, discounts [B, T]; values
    [B, T+1]; is_last [B, T+1].
  """
  rng = np.random.default_rng(seed)
  is_last = rng.random([batch_size, num_steps + 1]) < end_probability
  is_last[2] = np.arange(num_steps + 1) % 2 == 1
  is_last[1, -2] = True
  is_last[1, -1] = False
  is_last[3, -1] = True
  is_last[0, 0] = True
  for row in range(batch_size):  # A first observation is never a last one.
    for t in range(1, num_steps + 1):
      if is_last[row, t - 1] and is_last[row, t]:
        is_last[row, t] = False
  rewards = rng.normal(size=[batch_size, num_steps])
  discounts = rng.choice([1.0, 0.9, 0.5], size=rewards.shape)
  # Half of the ends are deaths.
  dies = is_last[:, 1:] & (rng.random(rewards.shape) < 0.5)
  discounts[dies] = 0.0
  # The row of an episode's last observation: reward 0, discount 1.
  rewards[is_last[:, :-1]] = 0.0
  discounts[is_last[:, :-1]] = 1.0
  return {
      'rewards': rewards,
      'discounts': discounts,
      'values': rng.normal(size=[batch_size, num_steps + 1]),
      'is_last': is_last,
  }
