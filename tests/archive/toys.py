# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Environments for the tests of archive exploration."""

import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents.archive import archive as archive_lib
from rnd_agents.archive import cells
from rnd_agents.archive import explorer as explorer_lib
from rnd_agents.archive import returning
from rnd_agents.environments import loaders


class Drift(gymnasium.Env):
  """A walk with wind: position and velocity, noise from the seed."""

  observation_space = spaces.Box(-99.0, 99.0, (2,), np.float64)
  action_space = spaces.Discrete(3, start=2)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.state = self.np_random.normal(size=2)
    return self.state.copy(), {}

  def step(self, action):
    self.state[1] += action - 3 + 0.1 * self.np_random.normal()
    self.state[0] += self.state[1]
    ended = bool(abs(self.state[0]) > 40.0)
    return self.state.copy(), float(self.state[0]), ended, False, {}


class Generator(Drift):
  """A Drift that cannot be copied."""

  def reset(self, *, seed=None, options=None):
    self.stream = (i for i in range(10**9))
    return super().reset(seed=seed, options=options)


class Outside(Drift):
  """A Drift that copies without its state, which lies in the class."""

  hidden = [0.0]

  def reset(self, *, seed=None, options=None):
    Outside.hidden[0] = 0.0
    return super().reset(seed=seed, options=options)

  def step(self, action):
    Outside.hidden[0] += 1.0
    observation, _, ended, _, _ = super().step(action)
    return observation, Outside.hidden[0], ended, False, {}


class Restless(Drift):
  """A Drift that does not repeat itself."""

  count = 0

  def step(self, action):
    Restless.count += 1
    observation, _, ended, _, _ = super().step(action)
    return observation, float(Restless.count), ended, False, {}


def singles(env, num_environments=2, **kwargs):
  """Single environments without the wrapper that records actions."""
  batch = loaders.load_environment(
      env, num_environments=num_environments, seed=0, **kwargs
  )
  return [each.env for each in batch.gymnasium_vector_env.envs]


def explorer(envs, seed=0, world_seeds=(7,), key_fn=cells.coarse_observation,
             memory_mb=500.0, **kwargs):
  """An explorer that has begun."""
  archive = archive_lib.Archive(counts_unfinished=True)
  returner = returning.Returner(envs, world_seeds, archive, key_fn, memory_mb)
  returner.check(np.random.default_rng(0))
  return explorer_lib.Explorer(
      envs, returner, archive, seed, num_worlds=len(world_seeds), **kwargs
  )


def advance(explorer, num_iterations):
  """Makes so many iterations."""
  for _, _ in zip(range(num_iterations), explorer.iterations()):
    pass
