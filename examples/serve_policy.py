# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Simulators that call the agent: each in a thread, all with one policy.

    python -m examples.serve_policy

Each simulator runs a loop of its own in which it asks for actions and reports
rewards. The agent trains in the background on what they report.
"""

import collections
from concurrent import futures

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags
from absl import logging
import gymnasium
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents import agents
from rnd_agents import networks
from rnd_agents.serving import policy_server


def create_agent():
  """An agent for the observations and actions of CartPole."""
  observation_spec = tf.TensorSpec([4], tf.float32)
  action_spec = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 1)
  nets = networks.create_networks(
      observation_spec, action_spec, value_fc_layer_params=(64, 64)
  )
  agent = agents.RNDPPOAgent(
      ts.time_step_spec(observation_spec), action_spec,
      tf.keras.optimizers.Adam(1e-3), **nets._asdict(),
      normalize_observations=True, normalize_rewards=True,
      normalize_advantages=True,
      train_step_counter=tf.Variable(0, dtype=tf.int64),
  )
  agent.initialize()
  return agent


def simulate(session, seed, returns, is_done):
  """Plays episodes, as a simulator that knows nothing of TensorFlow does."""
  simulator = gymnasium.make('CartPole-v1')
  while not is_done():
    observation, _ = simulator.reset(seed=seed)
    seed, episode_return, is_over = None, 0.0, False
    action = session.action(ts.restart(observation))
    while not is_over:
      observation, reward, terminated, truncated, _ = simulator.step(action)
      episode_return += reward
      is_over = terminated or truncated
      if terminated:
        time_step = ts.termination(observation, reward)
      elif truncated:
        time_step = ts.truncation(observation, reward)
      else:
        time_step = ts.transition(observation, reward)
      action = session.action(time_step)
    returns.append(episode_return)


def train(num_rollouts, num_simulators=16, rollout_length=128):
  """Trains on what simulators report.

  Args:
    num_rollouts: Updates.
    num_simulators: Threads.
    rollout_length: Steps of each simulator a rollout.

  Returns:
    A tuple (agent, returns of the last 50 episodes).
  """
  agent = create_agent()
  returns = collections.deque(maxlen=50)
  train_step = common.function(agent.train)

  def learn(rollout):
    loss = train_step(rollout)
    logging.info(
        'Rollout %d: average return %.1f, loss %.4f',
        server.num_rollouts + 1, np.mean(returns or [0.0]), loss.loss,
    )

  with policy_server.serve_policy(
      agent, num_simulators, rollout_length, learn
  ) as server, futures.ThreadPoolExecutor(num_simulators) as threads:

    def run(seed):
      with server.session() as session:
        simulate(
            session, seed, returns, lambda: server.num_rollouts >= num_rollouts
        )

    list(threads.map(run, range(num_simulators)))  # Raises what they raise.
  return agent, returns


def main(argv):
  del argv
  logging.set_verbosity(logging.INFO)
  train(flags.FLAGS.num_rollouts, flags.FLAGS.num_simulators)


if __name__ == '__main__':  # Flags here, so that others may import this file.
  flags.DEFINE_integer('num_rollouts', 40, 'Updates.')
  flags.DEFINE_integer('num_simulators', 16, 'Threads.')
  app.run(main)
