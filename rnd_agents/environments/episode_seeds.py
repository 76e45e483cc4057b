# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Schedules of seeds: the seed of each episode of each environment.

A schedule is a small NamedTuple, which checkpoints hold. The seed of episode e
of environment i of B depends on these three numbers only, so that any episode
can be repeated.

*   `stream` gives every episode another seed, for training.
*   `cycle` repeats a fixed list, for evaluations: learning curves are
    comparable only on the same starts.
*   `fixed` gives all episodes one seed, for debugging.
"""

from collections.abc import Sequence
import functools
import io
import secrets
from typing import NamedTuple, Protocol

import gin
import numpy as np

from rnd_agents import errors
from rnd_agents import plain_data
from rnd_agents.environments import failures

# Number of seeds drawn at a time: making a SeedSequence takes as long as a step
# of CartPole.
_BLOCK_EPISODES = 64


class EpisodeSeeds(Protocol):
  """A schedule of seeds, such as `stream`, `fixed` and `cycle` return."""

  def seed_of(
      self, environment_index: int, num_environments: int, episode_index: int
  ) -> int:
    """Returns the seed of one episode, all three counted from 0."""


def check_schedule(schedule: EpisodeSeeds | None) -> None:
  """Raises EnvironmentSetupError unless checkpoints can hold a schedule.

  Args:
    schedule: Value of `seeding`; None for a stream.
  """
  if schedule is None:
    return
  try:
    plain_data.dump(schedule, io.BytesIO())
    is_plain = True
  except errors.InvalidType:
    is_plain = False
  if not (is_plain and hasattr(schedule, 'seed_of')):
    raise failures.EnvironmentSetupError(
        'load_environment.seeding must be a schedule of episode_seeds, such as'
        ' @episode_seeds.cycle(), or a NamedTuple of a module, with a method'
        f' seed_of, which checkpoints can hold, got {schedule!r}.'
    )


@functools.lru_cache(maxsize=4096)
def _block(seed: int, environment_index: int, block: int) -> list[int]:
  """Returns the seeds of one block of episodes of one environment."""
  words = np.random.SeedSequence(
      (seed, environment_index, block)
  ).generate_state(_BLOCK_EPISODES)
  return [int(word) >> 1 for word in words]  # Below 2**31, as ALE requires.


class _Stream(NamedTuple):
  """The schedule of `stream`."""

  seed: int

  def seed_of(
      self, environment_index: int, num_environments: int, episode_index: int
  ) -> int:
    del num_environments
    block, index = divmod(episode_index, _BLOCK_EPISODES)
    return _block(self.seed, environment_index, block)[index]


class _Cycle(NamedTuple):
  """The schedule of `cycle` and `fixed`."""

  seeds: tuple[int, ...]

  def seed_of(
      self, environment_index: int, num_environments: int, episode_index: int
  ) -> int:
    index = episode_index * num_environments + environment_index
    return self.seeds[index % len(self.seeds)]


class _Part(NamedTuple):
  """The schedule of `of_part`."""

  schedule: EpisodeSeeds
  first_place: int
  num_places: int

  def seed_of(
      self, environment_index: int, num_environments: int, episode_index: int
  ) -> int:
    del num_environments
    return self.schedule.seed_of(
        self.first_place + environment_index, self.num_places, episode_index
    )


def of_part(
    schedule: EpisodeSeeds, first_place: int, num_places: int
) -> EpisodeSeeds:
  """Returns a schedule of a part of the environments, such as a shard.

  Args:
    schedule: Schedule of all environments.
    first_place: Index of the first environment of the part.
    num_places: Number of all environments.
  """
  return _Part(schedule, first_place, num_places)


def new_stream(seed: int | None) -> EpisodeSeeds:
  """Returns `stream(seed)`, ignoring gin's binding of `stream.seed`."""
  if seed is None:
    return _Stream(secrets.randbits(128))
  return _Stream(checked_seed(seed))


@gin.configurable(module='rnd_agents.episode_seeds')
def stream(seed: int | None = None) -> EpisodeSeeds:
  """Returns a schedule in which every episode has another seed below 2**31.

  Args:
    seed: Seed of the whole schedule; None draws it from the system's entropy.
  """
  return new_stream(seed)


def is_stream(schedule: EpisodeSeeds | None) -> bool:
  """Returns whether another `stream` is as good as this schedule."""
  if isinstance(schedule, _Part):
    schedule = schedule.schedule
  return schedule is None or isinstance(schedule, _Stream)


@gin.configurable(module='rnd_agents.episode_seeds')
def fixed(seed: int) -> EpisodeSeeds:
  """Returns a schedule that gives all episodes of all environments one seed.

  Args:
    seed: The seed, at least 0.
  """
  return _Cycle((checked_seed(seed),))


@gin.configurable(module='rnd_agents.episode_seeds')
def cycle(seeds: int | Sequence[int]) -> EpisodeSeeds:
  """Returns a schedule that repeats a list of seeds.

  Episode e of environment i of B gets entry e B + i of the list, so that with B
  seeds each environment has one of its own.

  Args:
    seeds: A list of seeds; a number n stands for 0 ... n - 1.
  """
  if isinstance(seeds, (int, np.integer)):
    seeds = range(seeds)
  seeds = tuple(checked_seed(seed) for seed in seeds)
  if not seeds:
    raise failures.EnvironmentSetupError('cycle needs at least one seed.')
  return _Cycle(seeds)


def checked_seed(seed: int) -> int:
  """Returns `seed` as an int; raises a UserError unless it is one from 0."""
  if not isinstance(seed, (int, np.integer)):
    raise errors.InvalidType(f'A seed must be an integer, got {seed!r}.')
  if seed < 0:
    raise failures.EnvironmentSetupError(f'Seeds are not negative; got {seed}.')
  return int(seed)
