# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Curiosity for PPO of Stable-Baselines3, on Deep Sea.

    python -m examples.stable_baselines3_ppo --seed=0
    python -m examples.stable_baselines3_ppo --seed=0 --bonus_coefficient=0

`pip install stable-baselines3` first. Prints the share of the last 100 episodes
that found the treasure, and ends when it is 0.9 or at --num_env_steps.
"""

import argparse
import collections

try:
  import triton  # noqa: F401 (PyTorch's; after TensorFlow it would crash)
except ImportError:
  pass
# isort: split
import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
import gymnasium
from gymnasium import vector
import numpy as np
import stable_baselines3
from stable_baselines3.common import callbacks
from stable_baselines3.common import vec_env

from rnd_agents import tasks  # noqa: F401 (registers Deep Sea)
from rnd_agents.interchange import curious_vector_env


class VectorEnv(vec_env.VecEnv):
  """A Gymnasium vector environment as one of Stable-Baselines3."""

  def __init__(self, env):
    if env.metadata['autoreset_mode'] != vector.AutoresetMode.SAME_STEP:
      raise ValueError('Make the environment with SAME_STEP autoreset.')
    super().__init__(
        env.num_envs, env.single_observation_space, env.single_action_space
    )
    self.env = env

  def reset(self):
    observation, _ = self.env.reset(seed=self._seeds[0])
    self._reset_seeds()
    return observation

  def step_async(self, actions):
    self._actions = actions

  def step_wait(self):
    observation, reward, terminated, truncated, found = self.env.step(
        self._actions
    )
    ends = terminated | truncated
    infos = [{} for _ in ends]
    for i in np.flatnonzero(ends):
      infos[i]['terminal_observation'] = found['final_obs'][i]
      infos[i]['TimeLimit.truncated'] = bool(truncated[i] and not terminated[i])
      infos[i]['extrinsic_reward'] = found['reward'][i]
    return observation, reward.astype(np.float32), ends, infos

  def close(self):
    self.env.close()

  def get_attr(self, attr_name, indices=None):
    return [None for _ in self._get_indices(indices)]

  def set_attr(self, attr_name, value, indices=None):
    raise NotImplementedError

  def env_method(self, method_name, *args, indices=None, **kwargs):
    raise NotImplementedError

  def env_is_wrapped(self, wrapper_class, indices=None):
    return [False for _ in self._get_indices(indices)]


class _Treasures(callbacks.BaseCallback):
  """Ends the training when 90 of the last 100 episodes found the treasure."""

  def __init__(self):
    super().__init__()
    self.found = collections.deque(maxlen=100)
    self._rounds = 0

  def _on_step(self):
    for info in self.locals['infos']:
      if 'extrinsic_reward' in info:
        self.found.append(info['extrinsic_reward'] > 0.5)
    return len(self.found) < 100 or np.mean(self.found) < 0.9

  def _on_rollout_end(self):
    self._rounds += 1
    if self._rounds % 10 == 0:
      print(self.num_timesteps, np.mean(self.found), flush=True)


def train(size, num_env_steps, bonus_coefficient, seed):
  """Returns (environment steps, share of the last 100 episodes)."""
  env = gymnasium.make_vec(
      'rnd_agents/DeepSea-v0',
      32,
      vectorization_mode='sync',
      vector_kwargs=dict(autoreset_mode=vector.AutoresetMode.SAME_STEP),
      size=size,
      mapping_seed=42,
  )
  env = curious_vector_env.CuriousVectorEnv(
      env, bonus_coefficient=bonus_coefficient, seed=seed
  )
  ppo = stable_baselines3.PPO(
      'MlpPolicy',
      VectorEnv(env),
      n_steps=128,
      batch_size=1024,
      n_epochs=4,
      gamma=0.99,
      ent_coef=0.01,
      seed=seed,
      device='cpu',
  )
  treasures = _Treasures()
  ppo.learn(num_env_steps, callback=treasures)
  env.close()
  return ppo.num_timesteps, float(np.mean(treasures.found))


def main():
  """Trains and prints the result."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('--size', type=int, default=20)
  parser.add_argument('--num_env_steps', type=int, default=1_000_000)
  parser.add_argument('--bonus_coefficient', type=float, default=1.0)
  parser.add_argument('--seed', type=int, default=0)
  arguments = parser.parse_args()
  steps, share = train(**vars(arguments))
  print(f'{arguments}: {share:.2f} of the last episodes after {steps} steps')


if __name__ == '__main__':
  main()
