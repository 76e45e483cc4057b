# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A curiosity without PPO: a curious DQN.

    python -m examples.curiosity_for_any_agent
    python -m examples.curiosity_for_any_agent --bonus_weight=0
    python -m examples.curiosity_for_any_agent --curiosity=novel_d

A `Curiosity` knows nothing of the agent. Here its statistics follow what the
driver collects, and its bonus is added to the rewards of replayed batches, so
that an old transition is worth what its novelty is today. What a curiosity
knows of a transition's episode is kept with it.
The first command found the treasure of a 20 x 20 Deep Sea in each of the three
runs tried (the average return leaves 0 after 4,000 to 7,000 iterations); the
second did not in its one.
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

from rnd_agents import curiosity
from rnd_agents import environments
from rnd_agents import networks
from rnd_agents import tasks


def create_rnd(time_step_spec, action_spec):
  """RND with a predictor and a smaller, fixed target."""
  del action_spec
  seen_spec = curiosity.observation_spec(time_step_spec.observation)
  return curiosity.RandomNetworkDistillation(
      time_step_spec.observation,
      networks.RNDNetwork(seen_spec, (128, 128), 64),
      networks.RNDNetwork(seen_spec, (128,), 64, trainable=False),
  )


def create_product(time_step_spec, action_spec):
  """The product of RND and E3B."""
  return curiosity.create_product(
      time_step_spec, action_spec, (create_rnd, curiosity.create_e3b)
  )


CURIOSITIES = dict(
    rnd=create_rnd,
    novel_d=curiosity.create_novel_d,
    e3b=curiosity.create_e3b,
    icm=curiosity.create_icm,
    product=create_product,
)


def train(
    env_or_id,
    num_iterations,
    bonus_weight=1.0,
    num_envs=8,
    create_curiosity=create_rnd,
):
  """Trains a DQN; an iteration is a step of each environment and an update.

  Args:
    env_or_id: As for `load_environment`, with discrete actions.
    num_iterations: How many.
    bonus_weight: Factor of the bonus; 0 is plain DQN.
    num_envs: Environments stepped as one batch.
    create_curiosity: Function from (time step spec, action spec) to a
      `Curiosity`.

  Returns:
    A tuple (agent, curiosity, replay buffer).
  """
  env = tf_py_environment.TFPyEnvironment(
      environments.loaders.load_environment(env_or_id, num_envs)
  )
  agent = dqn_agent.DqnAgent(
      env.time_step_spec(),
      env.action_spec(),
      q_network.QNetwork(
          env.observation_spec(), env.action_spec(), fc_layer_params=(64, 64)
      ),
      tf.keras.optimizers.Adam(1e-3),
      epsilon_greedy=0.1,
      target_update_period=100,
      td_errors_loss_fn=common.element_wise_huber_loss,
      gamma=0.99,
      # TensorFlow's global step, otherwise, which every agent shares.
      train_step_counter=tf.Variable(0, dtype=tf.int64),
  )
  agent.initialize()
  bonus_payer = create_curiosity(env.time_step_spec(), env.action_spec())
  bonus_optimizer = tf.keras.optimizers.Adam(1e-4)
  previous_row = curiosity.PreviousRow(agent.collect_data_spec)
  average_return = tf_metrics.AverageReturnMetric(batch_size=num_envs)
  replay_buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      agent.collect_data_spec.replace(
          policy_info=dict(episodic=bonus_payer.episodic_spec)
      ),
      batch_size=num_envs,
      max_length=10_000,
  )

  def observe(row):
    info = dict(episodic=bonus_payer.watch(previous_row.join(row)))
    replay_buffer.add_batch(row.replace(policy_info=info))

  collect = common.function(
      dynamic_step_driver.DynamicStepDriver(
          env,
          agent.collect_policy,
          [observe, average_return],
          num_steps=num_envs,
      ).run
  )

  @common.function
  def train_step(experience):
    transitions = curiosity.Transitions.of_trajectory(experience)
    bonus = bonus_weight * bonus_payer.rewards(transitions)
    # A batch of one transition each, in rows of two: the second has none.
    rewards = experience.reward + tf.pad(bonus, [[0, 0], [0, 1]])
    loss = agent.train(experience.replace(reward=rewards, policy_info=())).loss
    transitions = transitions.flatten()
    with tf.GradientTape() as tape:
      bonus_loss = bonus_payer.loss(transitions)
    variables = bonus_payer.trainable_variables
    gradients = tape.gradient(bonus_loss, variables)
    bonus_optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return loss, bonus_loss

  for _ in range(100):
    collect()
  batches = iter(replay_buffer.as_dataset(sample_batch_size=64, num_steps=2))
  for iteration in range(1, num_iterations + 1):
    collect()
    loss, bonus_loss = train_step(next(batches)[0])
    if iteration % 500 == 0:
      logging.info(
          'Iteration %d: average return %.1f, loss %.4f, curiosity loss %.5f',
          iteration, average_return.result(), loss, bonus_loss,
      )
  return agent, bonus_payer, replay_buffer


def main(argv):
  del argv
  logging.set_verbosity(logging.INFO)
  args = flags.FLAGS
  deep_sea = functools.partial(tasks.deep_sea.DeepSeaEnv, size=20)
  train(
      args.env_name or deep_sea,
      args.num_iterations,
      args.bonus_weight,
      create_curiosity=CURIOSITIES[args.curiosity],
  )


if __name__ == '__main__':  # Flags here, so that others may import this file.
  flags.DEFINE_string('env_name', None, 'A Gymnasium id; none for Deep Sea.')
  flags.DEFINE_integer('num_iterations', 8_000, 'Steps of the 8 environments.')
  flags.DEFINE_float('bonus_weight', 1.0, 'What the bonus is multiplied with.')
  flags.DEFINE_enum('curiosity', 'rnd', list(CURIOSITIES), 'What pays it.')
  app.run(main)
