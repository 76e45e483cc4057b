# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times RLlib for `worker_speed`, run by a Python that has RLlib.

    RLLIB_PYTHON benchmarks/rllib_speed.py WORKERS ENVIRONMENTS LENGTH ROUNDS MS

Prints the seconds of each round in which RLlib's workers collect LENGTH steps
of each environment for PPO. This file imports nothing of this package.
"""

import sys
import time

import gymnasium
import numpy as np


class SlowSimulator(gymnasium.Env):
  """Sleeps for `step_ms` milliseconds a step; episodes have 100 steps."""

  observation_space = gymnasium.spaces.Box(-1.0, 1.0, [8], np.float32)
  action_space = gymnasium.spaces.Discrete(4)

  def __init__(self, step_ms=10):
    self._step_s = step_ms / 1e3
    self._step = 0

  def _observation(self):
    return np.full([8], self._step / 100.0, np.float32)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._step = 0
    return self._observation(), {}

  def step(self, action):
    time.sleep(self._step_s)
    self._step += 1
    return self._observation(), 0.0, False, self._step == 100, {}


def main(num_workers, num_environments, length, rounds, step_ms):
  """Prints seconds."""
  # pylint: disable=g-import-not-at-top
  import ray
  from ray.rllib.algorithms import ppo
  from ray.rllib.execution import rollout_ops
  from ray.tune import registry

  num_steps = num_environments * length
  ray.init('local', num_cpus=num_workers + 1, log_to_driver=False)
  registry.register_env('slow', lambda _: SlowSimulator(step_ms))
  config = (
      ppo.PPOConfig()
      .environment('slow')
      .env_runners(
          num_env_runners=num_workers,
          num_envs_per_env_runner=num_environments // num_workers,
          rollout_fragment_length=length,
      )
      .training(train_batch_size_per_learner=num_steps)
  )
  algorithm = config.build_algo()
  for _ in range(rounds):
    began = time.monotonic()
    rollout_ops.synchronous_parallel_sample(
        worker_set=algorithm.env_runner_group,
        max_env_steps=num_steps,
        _uses_new_env_runners=True,
        concat=False,
    )
    print(time.monotonic() - began, flush=True)
  algorithm.stop()


if __name__ == '__main__':
  main(*map(int, sys.argv[1:5]), float(sys.argv[5]))
