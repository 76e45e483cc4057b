# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sequences for Q-learning: a worked one, random ones, and slow plain targets.

The numbers of the worked sequence were compared with those of DeepMind's acme
(acme/tf/losses/r2d2.py), which agree to the round-off of its inverse of h.
"""

import math

import numpy as np

from tests.ops import episodes

# One sequence of 6 frames and 3 actions. The episode ends after a_3, so that
# frame 4 is LAST; frame 5 would be the first of another.
ONLINE = np.array([[
    [0.1, 0.2, -0.1],
    [0.5, 0.3, 0.0],
    [0.0, 0.4, 0.2],
    [0.6, 0.1, 0.7],
    [0.9, 0.8, 0.3],
    [0.2, 0.1, 0.4],
]])
TARGET = np.array([[
    [0.0, 0.1, 0.2],
    [0.4, 0.6, 0.1],
    [0.3, 0.2, 0.5],
    [0.8, 0.2, 0.45],
    [0.7, 0.9, 0.2],
    [0.15, 0.25, 0.35],
]])
ACTIONS = np.array([[1, 0, 1, 2, 0]])
REWARDS = np.array([[0.0, 1.0, 0.0, 2.0, 0.5]])
DEATH = np.array([[1.0, 1.0, 1.0, 0.0, 1.0]])
TIME_LIMIT = np.ones([1, 5])
IS_LAST = np.array([[False, False, False, False, True, False]])
VALID = ~IS_LAST[:, :-1]
GAMMA = 0.9
EPSILON = 1e-3
# n-step and one-step errors y - Q of the sequence that ends with a death.
TWO_STEP_ERRORS = np.array([[0.303103, 0.202021, 0.275120, 0.034051, 0.0]])
ONE_STEP_ERRORS = np.array([[0.165262, 0.048991, 0.011444, 0.034051, 0.0]])


def textbook_h(x, epsilon):
  """h of a float, as the papers write it."""
  return math.copysign(math.sqrt(abs(x) + 1) - 1, x) + epsilon * x


def textbook_inverse_h(y, epsilon):
  """h^-1 of a float, as the papers write it."""
  root = math.sqrt(1 + 4 * epsilon * (abs(y) + 1 + epsilon))
  return math.copysign(((root - 1) / (2 * epsilon)) ** 2 - 1, y)


def slow_targets(
    online, target, rewards, discounts, is_last, gamma, n, epsilon, double_q
):
  """Targets of one sequence, a step at a time; a list of T floats or Nones.

  Takes Q values [T+1, A] of the two networks, rewards and discounts [T],
  is_last [T+1]. None stands where nobody acted; `epsilon` of h may be None.
  With `double_q` it is `online` that chooses.
  """
  num_steps = len(rewards)
  result = []
  for t in range(num_steps):
    if is_last[t]:
      result.append(None)
      continue
    total, scale, now = 0.0, 1.0, t
    while True:
      total += scale * float(rewards[now])
      scale *= gamma * float(discounts[now])
      now += 1
      if now == t + n or now == num_steps or is_last[now]:
        break
    if scale > 0:
      chooser = online if double_q else target
      worth = float(target[now, list(chooser[now]).index(max(chooser[now]))])
      if epsilon is not None:
        worth = textbook_inverse_h(worth, epsilon)
      total += scale * worth
    result.append(total if epsilon is None else textbook_h(total, epsilon))
  return result


def random_sequences(seed, num_steps, num_actions=3):
  """Sequences with deaths and time limits; half are padded after their first.

  Padding frames are LAST and hold NaN. Returns a dict: online, target [B, T+1,
  A]; rewards, discounts [B, T]; is_last [B, T+1].
  """
  data = episodes.random_rows(seed, num_steps)
  del data['values']
  rng = np.random.default_rng(seed + 1000)
  for name in ('online', 'target'):
    data[name] = rng.normal(size=[*data['is_last'].shape, num_actions])
  padded = {name: array.copy() for name, array in data.items()}
  for row, is_last in enumerate(padded['is_last']):
    if is_last.any():
      start = int(np.argmax(is_last)) + 1
      padded['is_last'][row, start:] = True
      for name in ('rewards', 'discounts', 'online', 'target'):
        padded[name][row, start:] = np.nan
  return {name: np.concatenate([data[name], padded[name]]) for name in data}
