# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""SAC of Stable-Baselines3 (PyTorch) or SBX (JAX), for `sac_rivals`.

    RIVAL_PYTHON benchmarks/rival_sac.py sb3|sbx ENV STEPS PERIOD SEED EPISODES

With the settings of `gin_configs/sac.gin`: PERIOD updates after PERIOD steps.
Prints the seconds to each 200th step from the first of them on; then, unless
EPISODES is 0, the mean return of the episodes that begin with the seeds 0 to
EPISODES - 1, as in `rnd-evaluate`, by the mode of the policy.
This file imports nothing of this package.
"""

import importlib
import sys
import time

import gymnasium
from stable_baselines3.common import callbacks

_INTERVAL = 200


class _Clock(callbacks.BaseCallback):

  begun = None

  def _on_step(self):
    if self.num_timesteps % _INTERVAL == 0:
      self.begun = self.begun or time.perf_counter()
      print(time.perf_counter() - self.begun, flush=True)
    return True


def _return(model, env, seed):
  """Returns the return of the episode of a seed, by the mode of the policy."""
  observation, _ = env.reset(seed=seed)
  total, is_over = 0.0, False
  while not is_over:
    action, _ = model.predict(observation, deterministic=True)
    observation, reward, terminated, truncated, _ = env.step(action)
    total += float(reward)
    is_over = terminated or truncated
  return total


def main(library, env_id, num_steps, period, seed, num_episodes):
  """Trains, and evaluates if it has episodes."""
  module = importlib.import_module(
      {'sb3': 'stable_baselines3', 'sbx': 'sbx'}[library]
  )
  model = module.SAC(
      'MlpPolicy',
      gymnasium.make(env_id),
      learning_rate=3e-4,
      buffer_size=1_000_000,
      learning_starts=100,
      batch_size=256,
      tau=0.005,
      gamma=0.99,
      train_freq=int(period),
      gradient_steps=int(period),
      policy_kwargs=dict(net_arch=[256, 256]),
      device='cpu',
      seed=int(seed),
  )
  model.learn(int(num_steps), callback=_Clock())
  if int(num_episodes):
    env = gymnasium.make(env_id)
    returns = [_return(model, env, i) for i in range(int(num_episodes))]
    print(f'return {sum(returns) / len(returns)}')


if __name__ == '__main__':
  main(*sys.argv[1:])
