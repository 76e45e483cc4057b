# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A curiosity for any agent of TF-Agents, in a loop of your own: a curious DQN.

    python -m examples.curiosity_for_any_agent
    python -m examples.curiosity_for_any_agent --bonus_weight=0
    python -m examples.curiosity_for_any_agent --curiosity=novel_d

`CuriousAgent` around the agent adds the bonus to the rewards of replayed
batches, so that an old transition is worth what its novelty is today. Its
statistics follow what the driver collects: `agent.update_statistics` is an
observer. What a curiosity knows of a transition's episode is kept with it.
Gin files do it with resuming, evaluation and workers, too (docs/off_policy.md).
"""

import functools

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags
from absl import logging
import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.metrics import tf_metrics
from tf_agents.networks import q_network
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.utils import common

from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents import environments
from rnd_agents import tasks

CURIOSITIES = dict(
    rnd=curiosity.create_rnd,
    novel_d=curiosity.create_novel_d,
    e3b=curiosity.create_e3b,
    icm=curiosity.create_icm,
)


def create_agent(env, curiosity_fn, bonus_weight):
  """The newcomer's lines: your agent, and `CuriousAgent` around it."""
  specs = env.time_step_spec(), env.action_spec()
  dqn = dqn_agent.DqnAgent(
      *specs,
      q_network.QNetwork(
          env.observation_spec(), env.action_spec(), fc_layer_params=(64, 64)
      ),
      tf.keras.optimizers.Adam(1e-3),
      epsilon_greedy=0.1,
      target_update_period=100,
      gamma=0.99,
      # TensorFlow's global step, otherwise, which every agent shares.
      train_step_counter=tf.Variable(0, dtype=tf.int64),
  )
  agent = agents.CuriousAgent(
      dqn,
      curiosity_fn(*specs),
      rnd_optimizer=tf.keras.optimizers.Adam(1e-4),
      bonus_weight=bonus_weight,
  )
  agent.initialize()
  return agent


def train(
    env_or_id,
    num_iterations,
    bonus_weight=1.0,
    num_envs=8,
    curiosity_fn=curiosity.create_rnd,
):
  """Trains; an iteration is a step of each environment and an update.

  Args:
    env_or_id: As for `load_environment`, with discrete actions.
    num_iterations: How many.
    bonus_weight: Factor of the bonus; 0 is plain DQN.
    num_envs: Environments stepped as one batch.
    curiosity_fn: Function from (time step spec, action spec) to a `Curiosity`.

  Returns:
    A tuple (agent, replay buffer).
  """
  env = tf_py_environment.TFPyEnvironment(
      environments.loaders.load_environment(env_or_id, num_envs)
  )
  agent = create_agent(env, curiosity_fn, bonus_weight)
  average_return = tf_metrics.AverageReturnMetric(batch_size=num_envs)
  replay_buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      agent.collect_data_spec.replace(
          policy_info=dict(episodic=agent.curiosity.episodic_spec)
      ),
      batch_size=num_envs,
      max_length=10_000,
  )

  def observe(row):
    info = dict(episodic=agent.update_statistics(row))
    replay_buffer.add_batch(row.replace(policy_info=info))

  driver = dynamic_step_driver.DynamicStepDriver(
      env,
      agent.collect_policy,
      [observe, average_return],
      num_steps=num_envs,
  )
  collect = common.function(driver.run)
  train_step = common.function(agent.train)
  for _ in range(100):
    collect()
  batches = iter(replay_buffer.as_dataset(sample_batch_size=64, num_steps=2))
  for iteration in range(1, num_iterations + 1):
    collect()
    loss, info = train_step(next(batches)[0])
    if iteration % 500 == 0:
      logging.info(
          'Iteration %d: average return %.1f, loss %.4f, bonus %.4f',
          iteration, average_return.result(), loss, info.bonus_mean,
      )
  return agent, replay_buffer


def main(argv):
  del argv
  logging.set_verbosity(logging.INFO)
  args = flags.FLAGS
  deep_sea = functools.partial(tasks.deep_sea.DeepSeaEnv, size=20)
  train(
      args.env_name or deep_sea,
      args.num_iterations,
      args.bonus_weight,
      curiosity_fn=CURIOSITIES[args.curiosity],
  )


if __name__ == '__main__':  # Flags here, so that others may import this file.
  flags.DEFINE_string('env_name', None, 'A Gymnasium id; none for Deep Sea.')
  flags.DEFINE_integer('num_iterations', 8_000, 'Steps of the 8 environments.')
  flags.DEFINE_float('bonus_weight', 1.0, 'What the bonus is multiplied with.')
  flags.DEFINE_enum('curiosity', 'rnd', list(CURIOSITIES), 'What pays it.')
  app.run(main)
