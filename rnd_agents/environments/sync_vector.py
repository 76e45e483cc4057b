# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gymnasium's SyncVectorEnv with a shorter loop."""

from typing import Any, Callable, Dict, Sequence, Tuple

import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np


class LeanSyncVectorEnv(vector.SyncVectorEnv):
  """Steps environments in turn; NEXT_STEP autoreset.

  Does what SyncVectorEnv does, without an element-wise write into each of four
  arrays, and without copying observations, which the adapter copies anyway:
  the next step may overwrite those that were returned.
  """

  def __init__(self, env_fns: Sequence[Callable[[], gymnasium.Env]]):
    """Creates a LeanSyncVectorEnv of what `env_fns` return."""
    super().__init__(env_fns, copy=False)

  def _batch(self, observations):
    """Stacks the observations; raises ValueError if one has another shape."""
    space = self.single_observation_space
    if (
        isinstance(space, spaces.Box)
        and space.shape
        and space.shape == np.shape(observations[0])
    ):
      # A good deal faster than stack(), for many small ones.
      batch = np.concatenate(observations).reshape(self._observations.shape)
      if batch.dtype == space.dtype:
        return batch
    # Casts, or refuses to.
    return vector.utils.concatenate(space, observations, self._observations)

  def step(
      self, actions: Any
  ) -> Tuple[Any, np.ndarray, np.ndarray, np.ndarray, Dict[str, Any]]:
    """Steps all environments; those that ended before start anew instead."""
    observations, rewards, terminations, truncations = [], [], [], []
    infos = {}
    for i, (env, action, starts) in enumerate(
        zip(
            self.envs,
            vector.utils.iterate(self.action_space, actions),
            self._autoreset_envs.tolist(),
            strict=True,
        )
    ):
      if starts:
        observation, info = env.reset()
        reward, terminated, truncated = 0.0, False, False
      else:
        observation, reward, terminated, truncated, info = env.step(action)
      observations.append(observation)
      rewards.append(reward)
      terminations.append(terminated)
      truncations.append(truncated)
      if info:
        infos = self._add_info(infos, info, i)
    self._env_obs = observations
    self._observations = self._batch(observations)
    terminated = np.array(terminations, np.bool_)
    truncated = np.array(truncations, np.bool_)
    self._autoreset_envs = terminated | truncated
    return (
        self._observations,
        np.array(rewards, np.float64),
        terminated,
        truncated,
        infos,
    )
