# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learns from rollouts, each of them thrown away after its update: RND-PPO."""

import contextlib
import dataclasses
from typing import Callable

import gin
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.agents import agent_factory
from rnd_agents.agents import replicas
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.training import loops


@gin.configurable(module='rnd_agents')
@dataclasses.dataclass(frozen=True)
class OnPolicyTraining:
  """Trains an agent on rollouts, each right after it was collected.

  Attributes:
    rollout_length: Steps of each environment between two updates.
    create_agent: Function of (time step spec, action spec) that returns the
      agent, such as `create_rnd_ppo_agent`.
    num_devices: Devices that share each optimizer step: GPUs, or CPUs where
      there is none. Another number rounds differently.
  """

  rollout_length: int = 128
  create_agent: Callable = agent_factory.create_rnd_ppo_agent
  num_devices: int = 1

  # What to do about numbers that are not finite.
  REMEDY = (
      'Lower create_rnd_ppo_agent.learning_rate, or set'
      ' RNDPPOAgent.gradient_clipping'
  )

  def check(self, num_env_steps, num_environments):
    """Refuses settings that cannot run.

    Args:
      num_env_steps: Of the whole run.
      num_environments: B.

    Raises:
      UserError: If there are any.
    """
    del num_env_steps, num_environments
    ranges.check_above_0(
        'OnPolicyTraining.',
        rollout_length=self.rollout_length,
        num_devices=self.num_devices,
    )
    self._strategy()

  def _strategy(self):
    """The strategy that shares optimizer steps; None for one device."""
    return replicas.mirrored(self._devices()) if self.num_devices > 1 else None

  def _devices(self):
    """Names of the devices that learn, refused where there are too few."""
    kind = 'GPU' if tf.config.list_logical_devices('GPU') else 'CPU'
    devices = tf.config.list_logical_devices(kind)
    if self.num_devices > len(devices):
      raise errors.InvalidValue(
          f'OnPolicyTraining.num_devices = {self.num_devices}, and TensorFlow'
          f' sees {len(devices)} {kind}{"s" if len(devices) > 1 else ""}: lower'
          ' it, or see to CUDA_VISIBLE_DEVICES.'
      )
    return [device.name for device in devices[: self.num_devices]]

  @property
  def collect_length(self):
    """Steps of each environment that are collected with one policy."""
    return self.rollout_length

  def build_agent(self, specs, num_environments, step_length=1):
    """Builds the agent of the learner.

    Args:
      specs: `collector.Specs`.
      num_environments: B.
      step_length: Environment steps that a step of the agent takes at most.

    Raises:
      UserError: If the agent cannot learn from the rollouts.
    """
    strategy = self._strategy()
    with strategy.scope() if strategy else contextlib.nullcontext():
      agent = self.create_agent(specs.time_step, specs.action)
    check = getattr(agent, 'check_rollout', None)
    if check is None:
      raise errors.InvalidValue(
          f'{type(agent).__name__} cannot be trained by OnPolicyTraining: it'
          ' has no check_rollout. Set train_eval.training = @ReplayTraining().'
      )
    if self.rollout_length < step_length:
      raise errors.InvalidValue(
          f'OnPolicyTraining.rollout_length = {self.rollout_length} may have no'
          f' decision of the upper level, for a goal may take {step_length}'
          ' steps: raise it, or lower TwoLevelTraining.goal_length.'
      )
    # They may be shorter, which makes more of them.
    check(num_environments, self.rollout_length // step_length)
    if step_length > 1:
      _check_memory(agent.collect_policy)
    return agent

  def build_twin(self, time_step_spec, action_spec, num_environments):
    """Builds an agent like the learner's, for the policies of a worker."""
    del num_environments
    return self.create_agent(time_step_spec, action_spec)

  def build_learner(self, run, agent, view=None, level=''):
    """Builds the learner of an agent of a `run.Run`.

    Args:
      run: The run.
      agent: What `build_agent` returned.
      view: As for `OnPolicyLearner`.
      level: Of the agent in a hierarchy, such as '_upper'.
    """
    del run, level
    return OnPolicyLearner(agent, self.rollout_length, view)

  def build_loop(self, run):
    """Builds the loop of a `run.Run`."""
    return loops.create_loop(run, self, OnPolicyLoop)


def _check_memory(policy):
  """Refuses a memory that rows which only pad decisions would change."""
  if not tf.nest.flatten(policy.policy_state_spec):
    return
  time_step, state = tf.nest.map_structure(
      lambda leaf: tf.ones([1, *leaf.shape], leaf.dtype),
      (policy.time_step_spec, policy.policy_state_spec),
  )
  last = time_step._replace(step_type=tf.fill([1], ts.StepType.LAST))
  new_state = policy.distribution(last, state).state
  for old, new in zip(tf.nest.flatten(state), tf.nest.flatten(new_state)):
    if np.any(old != new):
      raise errors.InvalidValue(
          'The memory of an upper level that learns from rollouts must stay as'
          ' it is at a step of type LAST, as that of a RecurrentCore does: take'
          ' networks.LSTMCore, or networks.GRUCore.'
      )


class OnPolicyLearner(loops.Learner):
  """Trains on a rollout as soon as it is long enough."""

  def __init__(self, agent, rollout_length, view=None):
    """Creates the learner.

    Args:
      agent: An on-policy agent, such as `RNDPPOAgent`.
      rollout_length: T.
      view: Function from what was collected, a `Trajectory` [B, T+1], to a
        tuple (what the agent learns from, a `Trajectory` [B, N+1]; booleans
        [B, N+1]: rows whose transition is known, each row once). None for what
        was collected.
    """
    self._agent = agent
    self._rollout_length = rollout_length
    self._view = view or (lambda experience: (experience, None))
    self._parts = []  # Of a rollout.
    self._metrics, self._finite = {}, {}
    self._floating_variables = loops.floating_variables(agent)
    self._train = common.function(self._train_on_rollout)
    self._update_statistics = common.function(
        agent.update_observation_statistics
    )

  def warm_up(self, rollout):
    """Takes observations into the statistics (section 2.4 of RND's paper)."""
    rows, is_known = self._view(local.as_tensors(rollout.trajectory))
    for t in range(rows.step_type.shape[1]):
      self._update_statistics(
          tf.nest.map_structure(lambda x, t=t: x[:, t], rows.observation),
          None if is_known is None else is_known[:, t],
      )

  def add(self, rollout):
    self._parts.append(rollout.trajectory)

  def train(self, num_env_steps):
    num_steps = sum(part.step_type.shape[1] - 1 for part in self._parts)
    if num_steps < self._rollout_length:
      return
    experience = local.as_tensors(_joined(self._parts))
    self._parts.clear()
    loss_info, finite = local.as_numpy(self._train(experience))
    self.policy_version += 1
    self._metrics = {
        name: float(value) for name, value in loss_info.extra._asdict().items()
    }
    self._metrics['loss'] = float(loss_info.loss)
    if not self._metrics.pop('num_ended_episodes', None):
      for name in list(self._metrics):
        if name.endswith('_episode_return_mean'):
          del self._metrics[name]
    self._finite = dict(zip(self._floating_variables, finite, strict=True))

  def _train_on_rollout(self, experience):
    """One update, in a graph: (loss info, whether each variable is finite)."""
    loss_info = self._agent.train(self._view(experience)[0])
    return loss_info, loops.are_finite(self._floating_variables.values())

  def metrics(self):
    return self._metrics

  def finite(self):
    return self._finite


def _joined(parts):
  """Joins rollouts [B, T+1] of which each begins with the last row before."""
  if len(parts) == 1:
    return parts[0]
  begins = [
      tf.nest.map_structure(lambda x: x[:, :-1], part) for part in parts[:-1]
  ]
  return tf.nest.map_structure(
      lambda *each: np.concatenate(each, axis=1), *begins, parts[-1]
  )


class OnPolicyLoop(loops.Loop):
  """Takes uniformly random steps before the first iteration."""

  def prepare(self):
    """Takes random steps into the observation statistics.

    No checkpoint holds the generator of the random policy, and half of its
    steps from anew would be another run: a run that is stopped here begins them
    again.
    """
    total = self._warm_up_env_steps
    if self._counters.iteration or self._counters.env_steps >= total:
      return
    num_environments = self._shards.num_environments
    while self._counters.env_steps < total:
      # A row is a step of each environment, or less where episodes end.
      rows = -(-(total - self._counters.env_steps) // num_environments)
      rollout = self._shards.collect_random(
          min(rows, collector.MAX_RANDOM_ROWS)
      )
      self._learner.warm_up(rollout)
      self._counters.add(env_steps=rollout.num_env_steps)
      yield loops.Prepared(can_save=False)
    # The episodes that the random policy began are not the agent's.
    self._shards.reset()
