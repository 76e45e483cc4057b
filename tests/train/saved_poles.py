# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The folder of a run whose policy holds CartPole's pole for some 40 steps."""

import gymnasium
import tensorflow as tf
from tf_agents.environments import tf_py_environment
from tf_agents.policies import policy_saver
from tf_agents.policies import random_tf_policy

from rnd_agents.environments import loaders


class PushTowardsTheLean(random_tf_policy.RandomTFPolicy):
  """Pushes the cart to the side to which the pole leans."""

  def _action(self, time_step, policy_state, seed):
    step = super()._action(time_step, policy_state, seed)
    return step._replace(
        action=tf.cast(time_step.observation[:, 2] > 0, tf.int64)
    )


def save(run, config):
  """Saves the policy, and a configuration, in a folder; returns the folder."""
  (run / 'operative_config.gin').write_text(config)
  env = tf_py_environment.TFPyEnvironment(
      loaders.load_environment('CartPole-v1', 1)
  )
  policy = PushTowardsTheLean(env.time_step_spec(), env.action_spec())
  policy_saver.PolicySaver(policy, batch_size=None).save(
      str(run / 'policies' / 'policy')
  )
  return run


def play(seed, limit):
  """(length, whether the pole fell) of its episode, by gymnasium alone."""
  env = gymnasium.make('CartPole-v1', max_episode_steps=limit)
  observation, _ = env.reset(seed=seed)
  for length in range(1, 1000):
    observation, _, terminated, truncated, _ = env.step(int(observation[2] > 0))
    if terminated or truncated:
      return length, int(terminated)
