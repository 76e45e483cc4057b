# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collection: one vectorised environment against a process each.

    python -m benchmarks.collection_speed

Environment steps a second of MountainCar, 32 environments, the same PPO policy
and TF-Agents' `DynamicStepDriver` writing to its `TFUniformReplayBuffer`:

*   vectorised: `load_environment`, one `VectorPyEnvironment` of Gymnasium's;
*   processes: TF-Agents' `ParallelPyEnvironment` of 32 `suite_gym`
    environments, with its default settings.

A step is a transition. The calls that start a new episode cost time in both,
and count in neither.
"""

import functools

from absl import app
from absl import flags
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import parallel_py_environment
from tf_agents.environments import suite_gym
from tf_agents.environments import tf_py_environment
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.system import system_multiprocessing
from tf_agents.utils import common

from benchmarks import paired
from rnd_agents import agents
from rnd_agents import environments
from rnd_agents import networks

_NAME = 'MountainCar-v0'
_NUM_ENVS = 32
_STEPS_EACH = 64  # Of each environment, in a round.


def create_policy(env):
  """The collecting policy of an agent with 64-64 networks."""
  nets = networks.create_networks(
      env.observation_spec(), env.action_spec(), value_fc_layer_params=(64, 64)
  )
  agent = agents.RNDPPOAgent(
      env.time_step_spec(),
      env.action_spec(),
      tf.keras.optimizers.Adam(3e-4),
      normalize_observations=True,
      **nets._asdict(),
  )
  agent.initialize()
  return agent.collect_policy


def create_collector(env, policy):
  """A function that takes `_STEPS_EACH` steps of every environment."""
  buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      policy.trajectory_spec, _NUM_ENVS, max_length=2 * _STEPS_EACH
  )
  return common.function(
      dynamic_step_driver.DynamicStepDriver(
          env, policy, [buffer.add_batch], num_steps=_NUM_ENVS * _STEPS_EACH
      ).run
  )


def main(argv):
  del argv
  foreign_load = paired.ForeignLoad()
  envs = {
      'vectorised': environments.loaders.load_environment(_NAME, _NUM_ENVS),
      'processes': parallel_py_environment.ParallelPyEnvironment(
          [functools.partial(suite_gym.load, _NAME)] * _NUM_ENVS
      ),
  }
  tf_envs = {
      name: tf_py_environment.TFPyEnvironment(env) for name, env in envs.items()
  }
  policy = create_policy(tf_envs['vectorised'])
  times = paired.in_turns(
      {name: create_collector(tf_envs[name], policy) for name in tf_envs},
      flags.FLAGS.num_rounds,
  )
  print(paired.machine())
  print(
      f'{flags.FLAGS.num_rounds} rounds of {_NUM_ENVS * _STEPS_EACH} steps,'
      f' foreign load {foreign_load}'
  )
  for name in times:
    speed = _NUM_ENVS * _STEPS_EACH / paired.median_s(times, name)
    print(f'{name:10} {speed:8,.0f} environment steps/s (median)')
  print(
      'Processes over vectorised, median (span): wall'
      f' {paired.ratios(times, "processes", "vectorised")},'
      f' CPU {paired.ratios(times, "processes", "vectorised", cpu=True)}'
  )
  for env in envs.values():
    env.close()


if __name__ == '__main__':
  flags.DEFINE_integer('num_rounds', 20, 'Rounds that count.')
  system_multiprocessing.handle_main(functools.partial(app.run, main))
