# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""RND-PPO in TF-Agents' own PPO loop: Actor, Reverb, PPOLearner.

    pip install "rnd_agents[reverb]"
    python -m examples.ppo_learner_reverb --root_dir=runs/ppo_learner_reverb

The loop is that of `tf_agents.examples.ppo.schulman17`, on an old-Gym
environment; `load_environment`, `create_agent` and `warm_up` are what is new.
Against `agent.train`
on whole rollouts (classic_loop.py), a stock `PPOLearner` changes three things:

*   It updates all statistics before it trains, the policy's whitening too, so
    that the first minibatch's probability ratios are not all 1. The rewards
    that are learned from are computed by `preprocess_sequence` when tf.data
    reads the rollout: after that update in the first iteration, and as a rule
    before it in all others, for tf.data reads ahead.
*   It hands over observations without step types, so the first observation of
    an episode, which no action led to, counts in RND's statistics. It earns no
    reward all the same.
*   The target network runs again on every minibatch.

Reverb's server listens on all interfaces of the machine, without credentials:
whoever reaches its port can read and change the replay.
"""

import os

from absl import app
from absl import flags
from absl import logging
import gym
import tensorflow as tf
from tf_agents.environments import suite_gym
from tf_agents.metrics import py_metrics
from tf_agents.policies import py_tf_eager_policy
from tf_agents.policies import random_py_policy
from tf_agents.replay_buffers import reverb_replay_buffer
from tf_agents.replay_buffers import reverb_utils
from tf_agents.train import actor
from tf_agents.train import learner
from tf_agents.train import ppo_learner
from tf_agents.train import triggers
from tf_agents.train.utils import spec_utils
from tf_agents.train.utils import train_utils

from rnd_agents import agents
from rnd_agents import networks

_TABLES = ['training_table', 'normalization_table']


class FixedLengthObserver(reverb_utils.ReverbAddTrajectoryObserver):
  """Writes sequences of a fixed length, across the ends of episodes."""

  def __call__(self, trajectory):
    self._writer.append(trajectory)
    self._cached_steps += 1
    self._write_cached_steps()


def load_environment(env_name):
  """As `suite_gym.load`, which takes Gym's time limits for terminations."""
  gym_env = gym.make(env_name)
  return suite_gym.wrap_env(
      gym_env.unwrapped, max_episode_steps=gym_env.spec.max_episode_steps
  )


def create_agent(env, train_step):
  """An `RNDPPOAgent` for minibatches that a `PPOLearner` cuts."""
  observation_spec, action_spec, time_step_spec = spec_utils.get_tensor_specs(
      env
  )
  nets = networks.create_networks(observation_spec, action_spec)
  optimizer = tf.keras.optimizers.Adam(3e-4)
  agent = agents.RNDPPOAgent(
      time_step_spec, action_spec, optimizer, **nets._asdict(),
      discount_factor=0.99, normalize_observations=True, normalize_rewards=True,
      num_epochs=1,  # The learner repeats the data.
      compute_value_and_advantage_in_train=False,
      update_normalizers_in_train=False,
      train_step_counter=train_step,
  )
  agent.initialize()
  return agent


def warm_up(agent, env, train_step, num_env_steps):
  """Random steps, for RND whitens what it sees (section 2.4 of the paper)."""
  policy = random_py_policy.RandomPyPolicy(
      env.time_step_spec(), env.action_spec()
  )
  observations = []
  observers = [lambda row: observations.append(row.observation)]
  actor.Actor(env, policy, train_step, num_env_steps, observers=observers).run()
  agent.update_observation_statistics(tf.stack(observations))


def create_buffers(agent, sequence_length):
  """Returns (Reverb server, replay buffers of the tables by name)."""
  try:
    import reverb  # pylint: disable=g-import-not-at-top
  except ImportError as error:
    raise ImportError(
        'This example needs Reverb: pip install "rnd_agents[reverb]"'
    ) from error
  fifo = reverb.selectors.Fifo
  server = reverb.Server([
      reverb.Table(
          name, fifo(), fifo(), max_size=10, max_times_sampled=1,
          rate_limiter=reverb.rate_limiters.MinSize(1),
      )
      for name in _TABLES
  ])
  return server, {
      name: reverb_replay_buffer.ReverbReplayBuffer(
          agent.collect_data_spec, name, sequence_length,
          server_address=f'localhost:{server.port}',
          max_cycle_length=1, rate_limiter_timeout_ms=1000,
      )
      for name in _TABLES
  }


def train(
    root_dir,
    env_name,
    num_iterations,
    sequence_length=2_048,
    minibatch_size=64,
    num_epochs=4,
    num_iterations_between_evals=10,
    num_eval_episodes=5,
):
  """Trains; a run found in `root_dir` goes on. Returns (agent, eval_actor)."""
  if sequence_length % minibatch_size:
    # Of a rollout tf.data makes floor(frames * epochs / minibatch) minibatches,
    # of which PPOLearner takes floor(frames / minibatch) * epochs: the rest
    # would be trained on after the next rollout, instead of that.
    raise ValueError(
        f'sequence_length={sequence_length} is no multiple of'
        f' minibatch_size={minibatch_size}.'
    )
  steps_per_iteration = sequence_length // minibatch_size * num_epochs
  steps_between_evals = num_iterations_between_evals * steps_per_iteration
  env, eval_env = load_environment(env_name), load_environment(env_name)
  train_step = train_utils.create_train_step()
  agent = create_agent(env, train_step)
  server, buffers = create_buffers(agent, sequence_length)
  training_buffer, normalization_buffer = (buffers[name] for name in _TABLES)
  observer = FixedLengthObserver(
      training_buffer.py_client, _TABLES, sequence_length, sequence_length
  )
  env_steps = py_metrics.EnvironmentSteps()
  agent_learner = ppo_learner.PPOLearner(
      root_dir, train_step, agent,
      experience_dataset_fn=lambda: training_buffer.as_dataset(
          sample_batch_size=1, sequence_preprocess_fn=agent.preprocess_sequence
      ),
      normalization_dataset_fn=lambda: normalization_buffer.as_dataset(
          sample_batch_size=1
      ),
      num_samples=1,
      num_epochs=num_epochs,
      minibatch_size=minibatch_size,
      shuffle_buffer_size=sequence_length,
      triggers=[
          triggers.PolicySavedModelTrigger(
              os.path.join(root_dir, learner.POLICY_SAVED_MODEL_DIR),
              agent, train_step, interval=steps_between_evals,
              metadata_metrics={triggers.ENV_STEP_METADATA_KEY: env_steps},
          ),
          triggers.StepPerSecondLogTrigger(train_step, steps_per_iteration),
      ],
      checkpoint_interval=steps_between_evals,
      summary_interval=steps_per_iteration,
  )

  def policy_actor(policy, environment, folder, **kwargs):
    eager = py_tf_eager_policy.PyTFEagerPolicy(policy, use_tf_function=True)
    return actor.Actor(
        environment, eager, train_step, reference_metrics=[env_steps],
        summary_dir=os.path.join(root_dir, folder), **kwargs,
    )

  collect_actor = policy_actor(
      agent.collect_policy, env, learner.TRAIN_DIR,
      steps_per_run=sequence_length, observers=[observer, env_steps],
      metrics=actor.collect_metrics(10), summary_interval=steps_per_iteration,
  )
  eval_actor = policy_actor(
      agent.policy, eval_env, 'eval', episodes_per_run=num_eval_episodes,
      metrics=actor.eval_metrics(num_eval_episodes),
  )
  if train_step == 0:
    warm_up(agent, env, train_step, sequence_length)
  last_step = num_iterations * steps_per_iteration
  while agent_learner.train_step_numpy < last_step:
    collect_actor.run()
    # The observer has written the steps between episodes too, which the actor
    # does not count: those beyond the sequence are thrown away.
    observer.reset(write_cached_steps=False)
    agent_learner.run()
    training_buffer.clear()
    normalization_buffer.clear()
    step = agent_learner.train_step_numpy
    if step % steps_between_evals == 0 or step == last_step:
      eval_actor.run_and_log()
  observer.close()
  server.stop()
  return agent, eval_actor


def main(argv):
  del argv
  logging.set_verbosity(logging.INFO)
  args = flags.FLAGS
  train(args.root_dir, args.env_name, args.num_iterations)


if __name__ == '__main__':  # Flags here, so that others may import this file.
  flags.DEFINE_string('root_dir', 'runs/ppo_learner_reverb', 'Of the run.')
  flags.DEFINE_string('env_name', 'MountainCarContinuous-v0', 'Of old Gym.')
  flags.DEFINE_integer('num_iterations', 100, 'Rollouts of 2,048 steps.')
  app.run(main)
