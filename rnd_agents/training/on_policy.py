# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learns from rollouts, each of them once: RND-PPO."""

from collections.abc import Callable, Sequence
import contextlib
import dataclasses

import gin
import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.trajectories import trajectory as trajectory_lib
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents import rollout_agent
from rnd_agents import switched_off
from rnd_agents.agents import agent_factory
from rnd_agents.agents import optimizers
from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.training import loops
from rnd_agents.training import runs
from rnd_agents.training import training


@gin.configurable(module='rnd_agents')
@dataclasses.dataclass(frozen=True)
class OnPolicyTraining(training.Training):
  """Trains an agent on rollouts, each right after it was collected.

  Attributes:
    rollout_length: Steps of each environment between two updates.
    create_agent: Function of (time step spec, action spec) that returns the
      agent, such as `create_rnd_ppo_agent`.
    num_devices: Number of devices that share each optimizer step: GPUs, or
      CPUs if there are none. Another number rounds differently.
  """

  rollout_length: int = 128
  create_agent: Callable[..., tf_agent.TFAgent] = (
      agent_factory.create_rnd_ppo_agent
  )
  num_devices: int = 1

  remedy = (
      'Lower create_rnd_ppo_agent.learning_rate, or set'
      ' RNDPPOAgent.gradient_clipping'
  )

  def check(self, num_env_steps: int, num_environments: int) -> None:
    ranges.check(
        dict.fromkeys(('rollout_length', 'num_devices'), ranges.COUNT),
        vars(self),
        'OnPolicyTraining.',
    )
    training.check_create_agent('OnPolicyTraining', self.create_agent)
    training.check_rollout_length(
        'OnPolicyTraining', self.rollout_length, num_env_steps
    )
    self._strategy()

  def _strategy(self) -> tf.distribute.Strategy | None:
    """Returns the strategy that shares optimizer steps; None for one device."""
    if self.num_devices == 1:
      return None
    return optimizers.mirrored_strategy(self._devices())

  def _devices(self) -> list[str]:
    """Returns names of the devices; raises InvalidValue for too few."""
    kind = 'GPU' if tf.config.list_logical_devices('GPU') else 'CPU'
    devices = tf.config.list_logical_devices(kind)
    if self.num_devices > len(devices):
      raise errors.InvalidValue(
          f'OnPolicyTraining.num_devices = {self.num_devices}, and TensorFlow'
          f' sees {len(devices)} {kind}{"s" if len(devices) > 1 else ""}: lower'
          ' it, or check CUDA_VISIBLE_DEVICES.'
      )
    return [device.name for device in devices[: self.num_devices]]

  def build_agent(
      self, specs: collector.Specs, num_environments: int
  ) -> tf_agent.TFAgent:
    strategy = self._strategy()
    with strategy.scope() if strategy else contextlib.nullcontext():
      agent = self.create_agent(specs.time_step, specs.action)
    if not isinstance(agent, rollout_agent.RolloutAgent):
      raise errors.InvalidValue(
          f'{type(agent).__name__} cannot be trained by OnPolicyTraining: it'
          ' has no check_rollout. Set train_eval.training = @ReplayTraining().'
      )
    agent.check_rollout(num_environments, self.rollout_length)
    return agent

  def build_twin(
      self, specs: collector.Specs, num_environments: int
  ) -> tf_agent.TFAgent:
    # Without the devices of the learner.
    return self.create_agent(specs.time_step, specs.action)

  def idle_settings(
      self, agent: tf_agent.TFAgent
  ) -> switched_off.Settings:
    if isinstance(agent, rnd_ppo_agent.RNDPPOAgent):
      return agent.idle_settings()
    return {}

  def whitened_observations(self, agent: tf_agent.TFAgent) -> Sequence[bool]:
    normalizer = agent.observation_normalizer
    return () if normalizer is None else normalizer.whitened

  def build_learner(
      self, run: runs.Run, agent: tf_agent.TFAgent, name: str = ''
  ) -> 'OnPolicyLearner':
    return OnPolicyLearner(agent)


class OnPolicyLearner(loops.Learner):
  """Trains on each rollout, once."""

  def __init__(self, agent: tf_agent.TFAgent):
    """Creates the learner.

    Args:
      agent: An on-policy agent, such as `RNDPPOAgent`.
    """
    self._agent = agent
    self._rollout: trajectory_lib.Trajectory | None = None
    self._metrics: dict[str, float] = {}
    self._finite: dict[str, bool] = {}
    self._floating_variables = loops.floating_variables(agent)
    self._train = common.function(self._train_on_rollout)
    self._update_statistics = common.function(
        agent.update_observation_statistics
    )

  def warm_up(
      self, trajectory: trajectory_lib.Trajectory, is_new: np.ndarray
  ) -> None:
    """Updates the statistics of observations (section 2.4 of RND's paper)."""
    observations = local.as_tensors(trajectory.observation)
    for t in range(is_new.shape[1]):
      self._update_statistics(
          tf.nest.map_structure(lambda x, t=t: x[:, t], observations),
          tf.constant(is_new[:, t]),
      )
    self._policy_version += 1  # The policy may whiten its observations.

  def add(
      self, trajectory: trajectory_lib.Trajectory, is_new: np.ndarray
  ) -> None:
    self._rollout = trajectory

  def train(self, num_env_steps: int) -> None:
    experience = local.as_tensors(self._rollout)
    self._rollout = None
    loss_info, finite = local.as_numpy(self._train(experience))
    self._policy_version += 1
    self._metrics = {
        name: float(value) for name, value in loss_info.extra._asdict().items()
    }
    self._metrics['loss'] = float(loss_info.loss)
    if not self._metrics.pop('num_ended_episodes', None):
      for name in list(self._metrics):
        if name.endswith('_episode_return_mean'):
          del self._metrics[name]
    self._finite = dict(zip(self._floating_variables, finite, strict=True))

  def _train_on_rollout(
      self, experience: trajectory_lib.Trajectory
  ) -> tuple[tf_agent.LossInfo, tf.Tensor]:
    """Returns the loss info, and whether each variable is finite."""
    loss_info = self._agent.train(experience)
    return loss_info, loops.are_finite([*self._floating_variables.values()])

  def metrics(self) -> dict[str, float]:
    return self._metrics

  def finite(self) -> dict[str, bool]:
    return self._finite
