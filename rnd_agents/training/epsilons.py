# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Schedules of the probability of random actions."""

from collections.abc import Callable

import gin
import numpy as np

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents import signatures
from rnd_agents.ops import q_learning

_EPSILONS = dict.fromkeys(('base', 'first', 'last'), ranges.WITHIN_0_AND_1)
_EPSILONS['exponent'] = ranges.AT_LEAST_0


@gin.configurable(
    module='rnd_agents', denylist=['env_steps', 'num_environments']
)
def ladder_epsilon(
    env_steps: int,
    num_environments: int,
    base: float = 0.4,
    exponent: float = 7.0,
) -> np.ndarray:
  """Returns a fixed epsilon an environment, from `base` to nearly 0 (Ape-X).

  Environment i of N has `base ** (1 + exponent * i / (N - 1))`.
  """
  ranges.check(
      _EPSILONS, dict(base=base, exponent=exponent), 'ladder_epsilon.'
  )
  return q_learning.epsilon_ladder(num_environments, base, exponent)


@gin.configurable(
    module='rnd_agents', denylist=['env_steps', 'num_environments']
)
def linear_epsilon(
    env_steps: int,
    num_environments: int,
    first: float = 1.0,
    last: float = 0.05,
    num_env_steps: float = 10_000,
) -> np.ndarray:
  """Returns epsilons that fall linearly from `first` to `last`.

  They reach it after `num_env_steps`.
  """
  ranges.check(_EPSILONS, dict(first=first, last=last), 'linear_epsilon.')
  ranges.check_above_0('linear_epsilon.', num_env_steps=num_env_steps)
  share = min(env_steps / num_env_steps, 1.0)
  epsilon = first + share * (last - first)
  return np.full([num_environments], epsilon, np.float32)


@gin.configurable(
    module='rnd_agents', denylist=['env_steps', 'num_environments']
)
def exponential_epsilon(
    env_steps: int,
    num_environments: int,
    first: float = 0.95,
    last: float = 0.05,
    decay_env_steps: float = 100_000,
) -> np.ndarray:
  """Returns `last + (first - last) exp(-env_steps / decay_env_steps)`.

  As DI-engine does.
  """
  ranges.check(_EPSILONS, dict(first=first, last=last), 'exponential_epsilon.')
  ranges.check_above_0(
      'exponential_epsilon.', decay_env_steps=decay_env_steps
  )
  epsilon = last + (first - last) * np.exp(-env_steps / decay_env_steps)
  return np.full([num_environments], epsilon, np.float32)


# The schedules above.
NAMES = ('ladder_epsilon', 'linear_epsilon', 'exponential_epsilon')


def check_epsilon_fn(
    epsilon_fn: Callable[[int, int], np.ndarray],
    num_env_steps: int,
    num_environments: int,
) -> None:
  """Raises an error unless a schedule of epsilon returns probabilities.

  Args:
    epsilon_fn: `ladder_epsilon`, `linear_epsilon`, `exponential_epsilon` or a
      user's own: function of the environment steps so far and the number of
      environments to a float32 array of one epsilon for each environment.
    num_env_steps: Environment steps of the whole run; the schedule is called
      for its beginning and its end.
    num_environments: B.

  Raises:
    InvalidType: If it is not a function of these two.
    InvalidValue: If it does not return probabilities.
  """
  if not signatures.takes_arguments(epsilon_fn, 0, num_environments):
    raise errors.InvalidType(
        'ReplayTraining.epsilon_fn must be a function of (env_steps,'
        ' num_environments), such as @ladder_epsilon or @linear_epsilon'
        f' (without brackets), not {epsilon_fn!r}.'
    )
  for env_steps in (0, num_env_steps):
    given = epsilon_fn(env_steps, num_environments)
    try:
      epsilon = np.asarray(given)
    except ValueError:  # Of lists of several lengths.
      epsilon = np.asarray(None)
    if not np.issubdtype(epsilon.dtype, np.number):
      raise errors.InvalidType(
          'ReplayTraining.epsilon_fn must return numbers, one epsilon for each'
          f' of the {num_environments} environments, got {given!r}.'
      )
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
