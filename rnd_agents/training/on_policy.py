# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learns from rollouts, each of them thrown away after its update: RND-PPO."""

import contextlib
import dataclasses
import time
from typing import Callable

import gin
import tensorflow as tf
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
    num_learners: Processes that share each optimizer step, with so many devices
      each (`training.learners`). Another number rounds differently.
  """

  rollout_length: int = 128
  create_agent: Callable = agent_factory.create_rnd_ppo_agent
  num_devices: int = 1
  num_learners: int = 1

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
        num_learners=self.num_learners,
    )
    self._strategy()

  def _strategy(self):
    """The strategy that shares optimizer steps; None for one device."""
    if self.num_learners > 1:
      strategy = replicas.of_processes(self.num_learners)
      num_devices = strategy.num_replicas_in_sync // self.num_learners
      if num_devices != self.num_devices:
        raise errors.InvalidValue(
            f'OnPolicyTraining.num_devices = {self.num_devices}, and of each'
            f' learner TensorFlow takes {num_devices}: set it to that, or see'
            ' to CUDA_VISIBLE_DEVICES.'
        )
      return strategy
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

  def build_agent(self, specs, num_environments):
    """Builds the agent of the learner.

    Args:
      specs: `collector.Specs`.
      num_environments: B.

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
    check(num_environments, self.rollout_length)
    return agent

  def build_twin(self, time_step_spec, action_spec, num_environments):
    """Builds an agent like the learner's, for the policies of a worker."""
    del num_environments
    return self.create_agent(time_step_spec, action_spec)

  def build_loop(self, run):
    """Builds the loop of a `run.Run`."""
    return OnPolicyLoop(
        run.agent,
        run.collector,
        run.counters,
        self.rollout_length,
        run.config.warm_up_env_steps,
    )


class OnPolicyLoop(loops.Loop):
  """Collects a rollout, trains on it, and again.

  A run that was killed and resumed is the run that was not, wherever the
  environments can be put back.
  """

  def __init__(
      self, agent, shards, counters, rollout_length, warm_up_env_steps=0
  ):
    """Builds the loop; nothing runs yet.

    Args:
      agent: An on-policy agent, such as `RNDPPOAgent`.
      shards: `collecting.shards.Shards`.
      counters: `loops.Counters`.
      rollout_length: T.
      warm_up_env_steps: Uniformly random steps, all environments together, that
        seed the observation statistics (section 2.4 of the RND paper).
    """
    self._agent = agent
    self._shards = shards
    self._counters = counters
    self._rollout_length = rollout_length
    self._warm_up_env_steps = warm_up_env_steps
    policy_variables = agent.collect_policy.variables()
    # In one call, which takes a fraction of the time of one call a variable.
    self._read_variables = common.function(
        lambda: [variable.read_value() for variable in policy_variables]
    )
    self._floating_variables = loops.floating_variables(agent)
    self._train = common.function(self._train_on_rollout)
    self._update_statistics = common.function(
        agent.update_observation_statistics
    )

  def begin(self):
    self._shards.reset()

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
      observations = rollout.trajectory.observation
      for t in range(rollout.trajectory.step_type.shape[1]):
        self._update_statistics(
            local.as_tensors(
                tf.nest.map_structure(lambda x, t=t: x[:, t], observations)
            )
        )
      self._counters.add(env_steps=rollout.num_env_steps)
      yield loops.Prepared(can_save=False)
    # The episodes that the random policy began are not the agent's.
    self._shards.reset()

  def iterations(self):
    self._shards.share(self._agent)
    while True:
      start = time.monotonic()
      variables = local.as_numpy(self._read_variables())
      rollout = self._shards.collect(
          lambda _, values=variables: values, self._rollout_length
      )
      collected = time.monotonic()
      episodes, num_env_steps = rollout.episodes, rollout.num_env_steps
      experience = local.as_tensors(rollout.trajectory)
      del rollout  # Of Atari's frames one copy is enough.
      with replicas.losses():
        loss_info, finite = local.as_numpy(self._train(experience))
      metrics = {
          name: float(value)
          for name, value in loss_info.extra._asdict().items()
      }
      metrics['loss'] = float(loss_info.loss)
      if not metrics.pop('num_ended_episodes', None):
        metrics.pop('intrinsic_episode_return_mean', None)
      self._counters.add(env_steps=num_env_steps)
      yield loops.Iteration(
          metrics,
          dict(zip(self._floating_variables, finite, strict=True)),
          episodes,
          num_env_steps,
          dict(
              collect_time_s=collected - start,
              train_time_s=time.monotonic() - collected,
          ),
      )

  def _train_on_rollout(self, experience):
    """One update, in a graph: (loss info, whether each variable is finite)."""
    loss_info = self._agent.train(experience)
    return loss_info, loops.are_finite(self._floating_variables.values())

  def get_state(self):
    return {}

  def set_state(self, state, episodes_go_on):
    pass
