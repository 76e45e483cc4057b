# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Other libraries' PPO on MountainCar, for `rivals`.

    RIVAL_PYTHON benchmarks/rival_libraries.py sb3|rllte ITERATIONS

With the settings of `gin_configs/mountain_car.gin` where the library has them.
This file imports nothing of this package.
"""

import sys
import time

NUM_ENVS, LENGTH = 32, 128


def sb3(iterations):
  """Stable-Baselines3's PPO, which has no RND."""
  from stable_baselines3 import PPO  # pylint: disable=g-import-not-at-top
  from stable_baselines3.common import callbacks
  from stable_baselines3.common import env_util
  from stable_baselines3.common import vec_env

  class Clock(callbacks.BaseCallback):
    """Prints the seconds from one rollout's start to the next."""

    begun = None

    def _on_rollout_start(self):
      now = time.perf_counter()
      if self.begun is not None:
        print(now - self.begun, flush=True)
      self.begun = now

    def _on_step(self):
      return True

  envs = env_util.make_vec_env('MountainCar-v0', NUM_ENVS, seed=0)
  model = PPO(
      'MlpPolicy',
      vec_env.VecNormalize(envs, gamma=0.999),
      learning_rate=1e-3,
      n_steps=LENGTH,
      batch_size=NUM_ENVS * LENGTH // 4,
      n_epochs=10,
      gamma=0.999,
      ent_coef=0.01,
      policy_kwargs=dict(net_arch=dict(pi=[64, 64], vf=[64, 64])),
      device='cpu',
      seed=0,
  )
  # One more, whose start ends the last.
  model.learn((iterations + 1) * NUM_ENVS * LENGTH, callback=Clock())


def rllte(iterations):
  """RLeXplore's PPO with its RND, whose bonus is computed and trained."""
  # pylint: disable=g-import-not-at-top
  import gymnasium
  from rllte import agent
  from rllte.env import utils
  from rllte.xplore.reward import rnd

  envs = utils.make_rllte_env(
      lambda: gymnasium.make('MountainCar-v0'),
      num_envs=NUM_ENVS,
      device='cpu',
      asynchronous=False,
  )
  ppo = agent.PPO(
      env=envs,
      device='cpu',
      tag='rivals',
      seed=0,
      num_steps=LENGTH,
      batch_size=NUM_ENVS * LENGTH // 4,
      n_epochs=10,
      lr=1e-3,
      ent_coef=0.01,
      hidden_dim=64,
  )
  bonus = rnd.RND(envs, device='cpu', batch_size=1024)
  compute = bonus.compute
  begun = []

  def timed(*args, **kwargs):
    now = time.perf_counter()  # Once an iteration, after its rollout.
    if begun:
      print(now - begun[-1], flush=True)
    begun.append(now)
    return compute(*args, **kwargs)

  bonus.compute = timed
  ppo.set(reward=bonus)
  ppo.train(
      num_train_steps=(iterations + 1) * NUM_ENVS * LENGTH,
      log_interval=10**9,
      save_interval=10**9,
      eval_interval=10**9,
  )


if __name__ == '__main__':
  {'sb3': sb3, 'rllte': rllte}[sys.argv[1]](int(sys.argv[2]))
