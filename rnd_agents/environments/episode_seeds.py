# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Schedules of seeds: the seed of each episode of each environment.

A schedule is a small picklable object. The seed of episode e of environment i
of B depends on these three numbers only, so that any episode can be repeated.

*   `stream`: every episode another seed, the whole run repeatable; to train.
*   `cycle`: a fixed list over and over; to evaluate, since a learning curve is
    comparable only on the same starts.
*   `fixed`: the same seed always; to debug.
"""

import dataclasses
import functools
from typing import Optional, Protocol, Sequence, Tuple, Union

import gin
import numpy as np

from rnd_agents.environments import failures

# Seeds are drawn so many at a time: a SeedSequence takes as long as a step of
# CartPole.
_BLOCK_EPISODES = 64


class EpisodeSeeds(Protocol):
  """A schedule: what `stream`, `fixed` and `cycle` return."""

  def seed_of(
      self, environment_index: int, num_environments: int, episode_index: int
  ) -> int:
    """Returns the seed of one episode, all three counted from 0."""


@functools.lru_cache(maxsize=4096)
def _block(seed, environment_index, block):
  """Returns the seeds of one block of episodes of one environment."""
  words = np.random.SeedSequence(
      (seed, environment_index, block)
  ).generate_state(_BLOCK_EPISODES)
  return [int(word) >> 1 for word in words]  # Below 2**31, as ALE requires.


@dataclasses.dataclass(frozen=True)
class _Stream:
  """See `stream`."""

  seed: int

  def seed_of(self, environment_index, num_environments, episode_index):
    del num_environments
    block, index = divmod(episode_index, _BLOCK_EPISODES)
    return _block(self.seed, environment_index, block)[index]


@dataclasses.dataclass(frozen=True)
class _Cycle:
  """See `cycle`."""

  seeds: Tuple[int, ...]

  def seed_of(self, environment_index, num_environments, episode_index):
    index = episode_index * num_environments + environment_index
    return self.seeds[index % len(self.seeds)]


def new_stream(seed: Optional[int]) -> EpisodeSeeds:
  """Returns `stream(seed)`, whatever gin binds `stream.seed` to."""
  if seed is None:
    return _Stream(int(np.random.SeedSequence().entropy))
  return _Stream(checked_seed(seed))


@gin.configurable(module='rnd_agents.episode_seeds')
def stream(seed: Optional[int] = None) -> EpisodeSeeds:
  """Returns a schedule in which every episode has another seed below 2**31.

  Args:
    seed: of the whole schedule; None draws one from the system's entropy, which
      the schedule keeps.

  Raises:
    EnvironmentSetupError: `seed` is negative.
  """
  return new_stream(seed)


@gin.configurable(module='rnd_agents.episode_seeds')
def fixed(seed: int) -> EpisodeSeeds:
  """Returns a schedule that starts every episode of every environment alike.

  Args:
    seed: not negative.

  Raises:
    EnvironmentSetupError: `seed` is negative.
  """
  return _Cycle((checked_seed(seed),))


@gin.configurable(module='rnd_agents.episode_seeds')
def cycle(seeds: Union[int, Sequence[int]]) -> EpisodeSeeds:
  """Returns a schedule that repeats a list of seeds.

  Episode e of environment i of B gets number e B + i of the list, so that with
  B seeds each environment keeps its own.

  Args:
    seeds: a list; a number n stands for 0 ... n - 1.

  Raises:
    EnvironmentSetupError: the list is empty, or a seed is negative.
  """
  if isinstance(seeds, (int, np.integer)):
    seeds = range(seeds)
  seeds = tuple(checked_seed(seed) for seed in seeds)
  if not seeds:
    raise failures.EnvironmentSetupError('cycle needs at least one seed.')
  return _Cycle(seeds)


def checked_seed(seed: int) -> int:
  """Returns `seed` as an int; raises EnvironmentSetupError if negative."""
  if seed < 0:
    raise failures.EnvironmentSetupError(f'Seeds are not negative; got {seed}.')
  return int(seed)
