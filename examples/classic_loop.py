# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""RND-PPO in the classic TF-Agents loop: driver, replay buffer, agent.train.

    python -m examples.classic_loop --root_dir=runs/classic_loop

Of a loop around TF-Agents' `PPOAgent` three things change: the networks, the
agent's class, and some random steps before the first update.
"""

import os

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags
from absl import logging
import tensorflow as tf
from tf_agents.drivers import dynamic_episode_driver
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.metrics import tf_metrics
from tf_agents.policies import policy_saver
from tf_agents.policies import random_tf_policy
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.utils import common

from rnd_agents import agents
from rnd_agents import environments
from rnd_agents import networks


def create_agent(env):
  """The newcomer's lines: networks, optimizer, agent."""
  nets = networks.create_networks(env.observation_spec(), env.action_spec())
  optimizer = tf.keras.optimizers.Adam(3e-4)
  return agents.RNDPPOAgent(
      env.time_step_spec(), env.action_spec(), optimizer, **nets._asdict(),
      discount_factor=0.99, normalize_observations=True, normalize_rewards=True,
      train_step_counter=tf.Variable(0, dtype=tf.int64),
  )


def warm_up(agent, env, num_env_steps):
  """Random steps, for RND whitens what it sees (section 2.4 of the paper)."""
  dynamic_step_driver.DynamicStepDriver(
      env,
      random_tf_policy.RandomTFPolicy(env.time_step_spec(), env.action_spec()),
      [lambda row: agent.update_observation_statistics(row.observation)],
      num_steps=num_env_steps,
  ).run()
  env.reset()


def train(
    root_dir, num_iterations, num_envs=32, rollout_length=128, driver='step'
):
  """Trains on MountainCar; a run found in `root_dir` goes on.

  Args:
    root_dir: Where the checkpoint and the policy go.
    num_iterations: Rollouts, those of earlier runs in `root_dir` included.
    num_envs: Environments stepped as one batch.
    rollout_length: Transitions of each environment a rollout, for 'step'.
    driver: 'step', or 'episode' for rollouts of whole episodes.

  Returns:
    A tuple (agent, metrics: of this run, by name).
  """
  env = tf_py_environment.TFPyEnvironment(
      environments.loaders.load_environment('MountainCar-v0', num_envs)
  )
  agent = create_agent(env)
  agent.initialize()
  average_return = tf_metrics.AverageReturnMetric(
      batch_size=num_envs, buffer_size=2 * num_envs
  )
  env_steps = tf_metrics.EnvironmentSteps()
  replay_buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      agent.collect_data_spec, batch_size=num_envs, max_length=1_000
  )
  observers = [replay_buffer.add_batch, average_return, env_steps]
  if driver == 'step':
    # T transitions need T+1 rows: the last one has the value to bootstrap from.
    collect_driver = dynamic_step_driver.DynamicStepDriver(
        env, agent.collect_policy, observers,
        num_steps=num_envs * (rollout_length + 1),
    )
  else:
    collect_driver = dynamic_episode_driver.DynamicEpisodeDriver(
        env, agent.collect_policy, observers, num_episodes=num_envs
    )
  collect = common.function(collect_driver.run)
  # In one function: a rollout of another length needs no new graph.
  train_step = common.function(lambda: agent.train(replay_buffer.gather_all()))

  iteration = tf.Variable(0, dtype=tf.int64)
  checkpointer = common.Checkpointer(
      os.path.join(root_dir, 'train'), 1, agent=agent, iteration=iteration
  )
  checkpointer.initialize_or_restore()
  if iteration == 0:
    warm_up(agent, env, num_env_steps=num_envs * 200)
  # A recurrent policy goes on remembering; without memory the state is ().
  time_step, state = None, agent.collect_policy.get_initial_state(num_envs)
  while iteration < num_iterations:
    time_step, state = collect(time_step, state)
    loss = train_step()
    replay_buffer.clear()
    iteration.assign_add(1)
    logging.info(
        'Iteration %d: average return %.1f, loss %.4f, bonus %.4f',
        iteration, average_return.result(), loss.loss, loss.extra.bonus_mean,
    )
    if iteration % 10 == 0 or iteration == num_iterations:
      checkpointer.save(iteration)
  policy_saver.PolicySaver(agent.policy).save(os.path.join(root_dir, 'policy'))
  return agent, dict(average_return=average_return, env_steps=env_steps)


def main(argv):
  del argv
  logging.set_verbosity(logging.INFO)
  args = flags.FLAGS
  train(args.root_dir, args.num_iterations, driver=args.driver)


if __name__ == '__main__':  # Flags here, so that others may import this file.
  flags.DEFINE_string('root_dir', 'runs/classic_loop', 'Folder of the run.')
  flags.DEFINE_integer('num_iterations', 100, 'Rollouts of 4,128 steps.')
  flags.DEFINE_enum('driver', 'step', ['step', 'episode'], 'Kind of rollout.')
  app.run(main)
