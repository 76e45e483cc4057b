# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The stochastic chain of h-DQN (Kulkarni et al., 2016, section 4.1)."""

from typing import Any

import gin
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents import ranges

_START = 1
_RIGHT = 1  # Any other action goes left.
_RANGES = dict(
    num_states=ranges.Range(
        lambda x: x >= 2 and x % 1 == 0, 'an integer from 2'
    ),
    limit_env_steps=ranges.COUNT,
    right_probability=ranges.SHARE,
)


@gin.configurable(module='rnd_agents', denylist=['render_mode'])
class StochasticChain(gymnasium.Env):
  """A row of states whose first one ends the episode.

  Going left always succeeds; going right succeeds with a probability of one
  half and else leads left. The end pays 1 if the last state was visited before,
  else 0.01. The observation, the state alone, does not distinguish these
  histories. The info of the last step has `is_success`: whether the end paid 1.
  """

  ends_by_itself = True  # No time limit is needed.

  metadata: dict[str, Any] = {'render_modes': []}

  def __init__(
      self,
      num_states: int = 6,
      limit_env_steps: int = 200,
      right_probability: float = 0.5,
      render_mode: None = None,
  ):
    """Creates the environment, which begins in the second state.

    Args:
      num_states: Number of states, at least 2.
      limit_env_steps: Steps after which an episode is truncated.
      right_probability: Probability that going right succeeds.
      render_mode: None.
    """
    del render_mode
    ranges.check(_RANGES, locals(), 'StochasticChain.')
    self.observation_space = spaces.Box(0.0, 1.0, (num_states,), np.float32)
    self.action_space = spaces.Discrete(2)
    self._limit_env_steps = limit_env_steps
    self._right_probability = right_probability
    self._state = _START
    self._has_been_last = False
    self._num_steps = 0

  def reset(
      self,
      *,
      seed: int | None = None,
      options: dict[str, Any] | None = None,
  ) -> tuple[np.ndarray, dict[str, Any]]:
    super().reset(seed=seed)
    self._state, self._has_been_last, self._num_steps = _START, False, 0
    return self._observation(), {}

  def _observation(self) -> np.ndarray:
    observation = np.zeros(self.observation_space.shape, np.float32)
    observation[self._state] = 1.0
    return observation

  def step(
      self, action: int
  ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
    # Drawn for both actions, so that later draws do not depend on the action.
    succeeds = self.np_random.random() < self._right_probability
    last = self.observation_space.shape[0] - 1
    if action == _RIGHT and succeeds:
      self._state = min(self._state + 1, last)
    else:
      self._state -= 1
    self._has_been_last |= self._state == last
    self._num_steps += 1
    ended = self._state == 0
    cut = not ended and self._num_steps >= self._limit_env_steps
    reward = (1.0 if self._has_been_last else 0.01) if ended else 0.0
    info = {}
    if ended or cut:
      info['is_success'] = bool(ended and self._has_been_last)
    return self._observation(), reward, ended, cut, info
