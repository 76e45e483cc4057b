# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions for `load_environment.reward_fn`: of rewards [B]."""

import gin
import numpy as np


@gin.configurable(module='rnd_agents')
def sign_of_reward(reward: np.ndarray) -> np.ndarray:
  """Returns -1, 0 or 1: scores of all games count alike.

  Bind it for training only, `train/load_environment.reward_fn =
  @sign_of_reward`; the returns of episodes stay those of the game anyway.

  Args:
    reward: [B].
  """
  return np.sign(reward)
