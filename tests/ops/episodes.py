# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Advantages worked out on episodes instead of rows: slow, plain, float64.

What follows knows nothing of boundary rows' discounts, weights and values: it
cuts the rows of one environment into the sequences that the agent lived
through and runs the textbook's loop over each.
"""

import numpy as np


def textbook_gae(rewards, values, final_value, discounts, lambda_value):
  """GAE over one sequence in which nothing ends, a list of N floats.

  Takes rewards and discounts [N], values of the states in which the actions
  were taken [N], and that of the state after the last.
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
  """Advantages [T] of one environment's extrinsic stream, episode by episode.

  Takes rewards and environment discounts (0 on a death) [T]; values and is_last
  of every row [T+1]. NaN where no action was taken.
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
  """Advantages [T] of one environment's intrinsic stream: one endless life.

  As `episodic_advantages`, without discounts of the environment.
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
  last row, the third's episodes have one transition each, the fourth's last row
  is an episode's last; the others are left to chance. Returns a dict: rewards,
  discounts [B, T]; values, is_last [B, T+1].
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
  # A discount of 0 within an episode: a life was lost.
  discounts = rng.choice([1.0, 0.9, 0.5, 0.0], size=rewards.shape)
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
