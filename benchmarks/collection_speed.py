# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collection: one vectorised environment against a process each.

    python -m benchmarks.collection_speed

Environment steps a second of 32 environments, as ratios of rounds in turns:

*   collecting: MountainCar with a PPO policy and TF-Agents'
    `DynamicStepDriver` writing to its `TFUniformReplayBuffer`, on
    `load_environment` ('vectorised') and on `ParallelPyEnvironment` of 32
    `suite_gym` environments ('processes');
*   stepping CartPole: random actions, no policy, on `load_environment`, on
    `ParallelPyEnvironment` and on Gymnasium's own vector environment ('raw'),
    without an adapter;
*   stepping Montezuma's Revenge: ALE's vector environment through the adapter
    and without it, against `ParallelPyEnvironment` of the same preprocessing.

A step is a transition. The calls that start a new episode cost time in all,
and count in none.
"""

import functools

from absl import app
from absl import flags
import gymnasium
import numpy as np
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
_GAME = 'MontezumaRevenge'
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


def create_collector(env, policy, num_envs):
  """A function that takes `_STEPS_EACH` steps of every environment."""
  buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      policy.trajectory_spec, num_envs, max_length=2 * _STEPS_EACH
  )
  return common.function(
      dynamic_step_driver.DynamicStepDriver(
          env, policy, [buffer.add_batch], num_steps=num_envs * _STEPS_EACH
      ).run
  )


def create_stepper(env, num_actions, num_envs):
  """A function that takes `_STEPS_EACH` random steps of every environment.

  Args:
    env: whatever has `reset` and `step`, batched.
    num_actions: they are 0 ... num_actions - 1.
    num_envs: B.
  """
  actions = np.random.RandomState(0).randint(
      num_actions, size=[_STEPS_EACH, num_envs]
  )
  env.reset()

  def run():
    for action in actions:
      env.step(action)

  return run


def in_processes(load, num_envs):
  """TF-Agents' environment of a process each."""
  return parallel_py_environment.ParallelPyEnvironment([load] * num_envs)


def load_one_atari():
  """The single pipeline, unbatched, for a process of TF-Agents."""
  return environments.single_environment.SinglePyEnvironment(
      environments.atari.load_atari(_GAME)
  )


def raw_atari(num_envs):
  """ALE's vector environment with the settings of `load_atari`."""
  return environments.atari.load_atari(
      _GAME, num_envs, vectorization='vector_entry_point'
  ).gymnasium_vector_env


def compare_collecting(num_envs, num_rounds):
  """Prints the speeds with a policy, a driver and a buffer."""
  load = environments.loaders.load_environment
  envs = {
      'vectorised': load(_NAME, num_envs),
      'processes': in_processes(
          functools.partial(suite_gym.load, _NAME), num_envs
      ),
  }
  tf_envs = {
      name: tf_py_environment.TFPyEnvironment(env) for name, env in envs.items()
  }
  policy = create_policy(tf_envs['vectorised'])
  report(
      f'Collecting {_NAME}',
      {
          name: create_collector(tf_envs[name], policy, num_envs)
          for name in tf_envs
      },
      num_envs,
      num_rounds,
  )
  for env in envs.values():
    env.close()


def compare_stepping(title, envs, num_actions, num_envs, num_rounds):
  """Prints the speeds of stepping alone."""
  report(
      title,
      {
          name: create_stepper(env, num_actions, num_envs)
          for name, env in envs.items()
      },
      num_envs,
      num_rounds,
  )
  for env in envs.values():
    env.close()


def report(title, contenders, num_envs, num_rounds):
  """Times the contenders in turns and prints speeds and ratios."""
  foreign_load = paired.ForeignLoad()
  times = paired.in_turns(contenders, num_rounds)
  print(
      f'{title}: {num_rounds} rounds of {num_envs * _STEPS_EACH} steps,'
      f' foreign load {foreign_load}'
  )
  for name in times:
    speed = num_envs * _STEPS_EACH / paired.median_s(times, name)
    print(f'  {name:10} {speed:8,.0f} environment steps/s (median)')
  for name in ('processes', 'raw'):
    if name in times:
      print(
          f'  {name} over vectorised, median (span): wall'
          f' {paired.ratios(times, name, "vectorised")},'
          f' CPU {paired.ratios(times, name, "vectorised", cpu=True)}'
      )
  if 'raw' in times:
    overhead = paired.ratios(times, 'vectorised', 'raw', cpu=True)
    print(f'  vectorised over raw, CPU: {overhead}; the goal is 1.15')


def main(argv):
  del argv
  num_envs, num_rounds = flags.FLAGS.num_envs, flags.FLAGS.num_rounds
  print(paired.machine())
  load = environments.loaders.load_environment
  chosen = flags.FLAGS.only
  if 'collecting' in chosen:
    compare_collecting(num_envs, num_rounds)
  if 'cartpole' in chosen:
    compare_stepping(
        'Stepping CartPole-v1',
        {
            'vectorised': load('CartPole-v1', num_envs),
            'processes': in_processes(
                functools.partial(suite_gym.load, 'CartPole-v1'), num_envs
            ),
            'raw': gymnasium.make_vec(
                'CartPole-v1', num_envs, vectorization_mode='sync'
            ),
        },
        2,
        num_envs,
        num_rounds,
    )
  if 'atari' in chosen:
    compare_stepping(
        f'Stepping {_GAME}',
        {
            'vectorised': load(
                f'ALE/{_GAME}-v5', num_envs, vectorization='vector_entry_point'
            ),
            'processes': in_processes(load_one_atari, num_envs),
            'raw': raw_atari(num_envs),
        },
        18,
        num_envs,
        num_rounds,
    )


if __name__ == '__main__':
  flags.DEFINE_integer('num_rounds', 20, 'Rounds that count.')
  flags.DEFINE_integer('num_envs', 32, 'Environments.')
  flags.DEFINE_multi_enum(
      'only',
      ['collecting', 'cartpole', 'atari'],
      ['collecting', 'cartpole', 'atari'],
      'What to compare.',
  )
  system_multiprocessing.handle_main(functools.partial(app.run, main))
