# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Schedules of epsilon: how often an epsilon-greedy agent acts at random.

Each takes environment steps so far and the number of environments, and returns
a float32 array of one epsilon for each environment.
"""

import gin
import numpy as np

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.ops import q_learning


def check(epsilon_fn, num_env_steps, num_environments):
  """Refuses a schedule that does not return probabilities.

  Args:
    epsilon_fn: One of those below, or a user's own.
    num_env_steps: Of the whole run: it is asked for its beginning and its end.
    num_environments: B.

  Raises:
    TypeError: If it is no function.
    ValueError: If what it returns cannot be used.
  """
  if not callable(epsilon_fn):
    raise errors.InvalidType(
        'ReplayTraining.epsilon_fn must be a function, such as'
        f' @ladder_epsilon or @linear_epsilon, not {epsilon_fn!r}.'
    )
  for env_steps in (0, num_env_steps):
    epsilon = np.asarray(epsilon_fn(env_steps, num_environments))
    if epsilon.shape != (num_environments,):
      raise errors.InvalidValue(
          'ReplayTraining.epsilon_fn must return one epsilon for each of the'
          f' {num_environments} environments, got shape {list(epsilon.shape)}.'
      )
    if not np.all((epsilon >= 0.0) & (epsilon <= 1.0)):
      raise errors.InvalidValue(
          'Each epsilon must be between 0 and 1; at'
          f' {env_steps} environment steps ReplayTraining.epsilon_fn gave'
          f' {epsilon.tolist()}.'
      )


@gin.configurable(
    module='rnd_agents', denylist=['env_steps', 'num_environments']
)
def ladder_epsilon(env_steps, num_environments, base=0.4, exponent=7.0):
  """Returns a fixed epsilon an environment, from `base` to nearly 0 (Ape-X)."""
  return q_learning.epsilon_ladder(num_environments, base, exponent)


@gin.configurable(
    module='rnd_agents', denylist=['env_steps', 'num_environments']
)
def linear_epsilon(
    env_steps, num_environments, first=1.0, last=0.05, num_env_steps=10_000
):
  """Returns epsilons that fall linearly to `last` in `num_env_steps`."""
  ranges.check_above_0('linear_epsilon.', num_env_steps=num_env_steps)
  share = min(env_steps / num_env_steps, 1.0)
  epsilon = first + share * (last - first)
  return np.full([num_environments], epsilon, np.float32)


@gin.configurable(
    module='rnd_agents', denylist=['env_steps', 'num_environments']
)
def exponential_epsilon(
    env_steps,
    num_environments,
    first=0.95,
    last=0.05,
    decay_env_steps=100_000,
):
  """Returns `last + (first - last) exp(-env_steps / decay_env_steps)`.

  As DI-engine does.
  """
  ranges.check_above_0(
      'exponential_epsilon.', decay_env_steps=decay_env_steps
  )
  epsilon = last + (first - last) * np.exp(-env_steps / decay_env_steps)
  return np.full([num_environments], epsilon, np.float32)
