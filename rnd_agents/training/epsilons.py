# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""How often an epsilon-greedy agent acts at random, as it learns.

Each takes environment steps so far and the number of environments, and returns
a float32 array of one epsilon for each environment.
"""

import gin
import numpy as np

from rnd_agents.ops import q_learning


@gin.configurable(module='rnd_agents')
def ladder_epsilon(env_steps, num_environments, base=0.4, exponent=7.0):
  """A fixed one for each environment, from bold to nearly greedy (Ape-X)."""
  del env_steps
  return q_learning.epsilon_ladder(num_environments, base, exponent)


@gin.configurable(module='rnd_agents')
def linear_epsilon(
    env_steps, num_environments, first=1.0, last=0.05, num_env_steps=10_000
):
  """Falls from `first` to `last` within `num_env_steps`, and stays."""
  share = min(env_steps / num_env_steps, 1.0)
  epsilon = first + share * (last - first)
  return np.full([num_environments], epsilon, np.float32)


@gin.configurable(module='rnd_agents')
def exponential_epsilon(
    env_steps,
    num_environments,
    first=0.95,
    last=0.05,
    decay_env_steps=100_000,
):
  """DI-engine's: `last + (first - last) exp(-env_steps / decay_env_steps)`."""
  epsilon = last + (first - last) * np.exp(-env_steps / decay_env_steps)
  return np.full([num_environments], epsilon, np.float32)
