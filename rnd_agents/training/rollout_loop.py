# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learns from rollouts, each thrown away after its update: RND-PPO.

The generator of its actions, what the policy remembers and the row that the
last rollout shares with the next are part of a checkpoint, too. A run that was
killed and resumed is the run that was not, wherever the environments can be put
back (`VectorPyEnvironment.get_state`).
"""

import time

import numpy as np
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.metrics import tf_metrics
from tf_agents.policies import random_tf_policy
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.utils import common

from rnd_agents.training import training_loop

_WARM_UP_ROWS = 64  # Of random steps, between two looks at signals.


class RolloutLoop(training_loop.TrainingLoop):
  """Collects a rollout, trains on it, and again."""

  REMEDY = (
      'Lower train_eval.learning_rate, or set RNDPPOAgent.gradient_clipping'
  )

  def __init__(
      self,
      root_dir,
      agent,
      environment,
      evaluator_,
      seeds,
      rollout_length,
      **settings,
  ):
    """Builds the loop; nothing runs and nothing is written yet.

    Args:
      root_dir: The run's folder.
      agent: An `RNDPPOAgent`.
      environment: A `VectorPyEnvironment`.
      evaluator_: An `Evaluator` of the agent's policy.
      seeds: A `numpy.random.SeedSequence` that nothing else draws from.
      rollout_length: Steps of each environment between two updates.
      **settings: Of `TrainingLoop`.
    """
    self._tf_env = tf_py_environment.TFPyEnvironment(environment)
    self._rollout_length = rollout_length
    # Of the rollout before, NumPy.
    self._last_row = None
    self._policy_state = training_loop.as_numpy(
        agent.collect_policy.get_initial_state(environment.batch_size)
    )
    self._env_steps = tf_metrics.EnvironmentSteps(dtype=tf.int64)
    super().__init__(
        root_dir,
        agent,
        environment,
        evaluator_,
        seeds,
        seeds.generate_state(1, np.uint64)[0],
        env_steps=self._env_steps,
        **settings,
    )
    # T transitions need T+1 rows. The buffer is a ring of just that size, so
    # the last row of a rollout is the first one of the next, and no transition
    # is lost between two updates.
    self._buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
        agent.collect_data_spec,
        batch_size=environment.batch_size,
        max_length=rollout_length + 1,
    )
    self._collect = common.function(
        dynamic_step_driver.DynamicStepDriver(
            self._tf_env,
            self._collect_policy,
            observers=[self._buffer.add_batch, self._env_steps],
            # Out of reach: `_learn` tells how many rows to make, so that every
            # rollout has the same shape however its episodes end.
            num_steps=environment.batch_size * (rollout_length + 2),
        ).run
    )
    self._train = common.function(self._train_on_buffer)

  @property
  def env_steps(self):
    return int(self._env_steps.result().numpy())

  def _own_state(self):
    return dict(last_row=self._last_row, policy_state=self._policy_state)

  def _restore_own_state(self, state, episodes_go_on):
    if not episodes_go_on:
      return
    self._last_row = state['last_row']
    # Runs of older versions have none.
    self._policy_state = state.get('policy_state', self._policy_state)
    if self._last_row is not None:
      self._buffer.add_batch(training_loop.as_tensors(self._last_row))

  def _begin(self):
    self._tf_env.reset()

  def _prepare(self, schedule):
    """Random steps that seed the observation statistics (section 2.4).

    A run that is broken off here begins them again: no checkpoint holds the
    generator of the random policy, and half of them from anew would be another
    run.
    """
    total = schedule.warm_up_env_steps
    if self.iteration or self.env_steps >= total:
      return
    batch_size = self._environment.batch_size
    step = common.function(
        dynamic_step_driver.DynamicStepDriver(
            self._tf_env,
            random_tf_policy.RandomTFPolicy(
                self._tf_env.time_step_spec(), self._tf_env.action_spec()
            ),
            observers=[
                lambda row: self._agent.update_observation_statistics(
                    row.observation
                ),
                self._env_steps,
            ],
            num_steps=total + batch_size,  # Out of reach.
        ).run
    )

    def some_steps():
      # A row is a step of each environment, or less where episodes end.
      rows = -(-(total - self.env_steps) // batch_size)
      step(maximum_iterations=tf.constant(min(rows, _WARM_UP_ROWS)))

    self._warm_up(schedule, some_steps)
    if self.stopped_by:
      return
    # The episodes that the random policy began are not the agent's.
    self._tf_env.reset()
    self._environment.pop_episodes()
    self._save()

  def _train_on_buffer(self):
    """One update, in a graph.

    Returns:
      A tuple (loss info, whether each of the floating variables is finite, the
      last row of the rollout).
    """
    experience = self._buffer.gather_all()
    loss_info = self._agent.train(experience)
    last_row = tf.nest.map_structure(lambda x: x[:, -1], experience)
    return loss_info, self._are_finite(), last_row

  def _learn(self):
    start = time.monotonic()
    rows = self._rollout_length + (self._last_row is None)
    with self._environment_errors():
      _, policy_state = self._collect(
          policy_state=training_loop.as_tensors(self._policy_state),
          maximum_iterations=tf.constant(rows),
      )
    collected = time.monotonic()
    loss_info, finite, last_row = self._train()
    metrics = {
        name: float(value.numpy())
        for name, value in loss_info.extra._asdict().items()
    }
    metrics['loss'] = float(loss_info.loss.numpy())
    if not metrics.pop('num_ended_episodes', None):
      metrics.pop('intrinsic_episode_return_mean', None)
    self._last_row = training_loop.as_numpy(last_row)
    self._policy_state = training_loop.as_numpy(policy_state)
    return training_loop.Learned(
        metrics,
        finite.numpy(),
        dict(
            collect_time_s=collected - start,
            train_time_s=time.monotonic() - collected,
        ),
    )
