# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The interface of collectors.

A collector steps the environments of one shard: a fixed part of the batch of a
run, with its environments, the generator of its actions and the state of its
policy. It gets a recipe and lists of arrays and returns arrays, and shares no
object with whoever learns. So it may live in the learner's process, in another
one or on another machine: what it collects depends on its recipe and on the
arrays alone.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory as trajectory_lib
from tf_agents.typing import types

from rnd_agents.environments import episode_log
from rnd_agents.environments import vector_environment


class Recipe(NamedTuple):
  """Recipe of a collector; it can be pickled.

  Another process that makes a collector needs the run's gin configuration and
  TensorFlow's global seed of the run.

  Attributes:
    make_environment: function that returns the environments of the shard.
    make_policy: function of (specs, number of environments) that returns the
      collect policy of an agent that is built as the learner's.
    action_seed: seed of the actions, an unsigned integer of 64 bits.
    shard: number of the shard.
  """

  make_environment: Callable[[], vector_environment.VectorPyEnvironment]
  make_policy: Callable[['Specs', int], tf_policy.TFPolicy]
  action_seed: int
  shard: int = 0


class Rollout(NamedTuple):
  """Rows that a collector has collected.

  Attributes:
    trajectory: arrays [B, T+1, ...]: rows as TF-Agents' drivers make them. T+1
      rows make T transitions, so the last row of a rollout is the first one of
      the next.
    num_old_rows: how many of the first rows the rollout before had, too: 1, or
      0 in the first rollout after a reset.
    episodes: the episodes that ended.
  """

  trajectory: trajectory_lib.Trajectory
  num_old_rows: int
  episodes: Sequence[episode_log.Episode]

  @property
  def is_new(self) -> np.ndarray:
    """Whether the rollout before did not have the row, booleans [B, T+1]."""
    is_new = np.ones(self.trajectory.step_type.shape, bool)
    is_new[:, : self.num_old_rows] = False
    return is_new

  @property
  def num_env_steps(self) -> int:
    """Environment steps in the new rows; a reset does not count."""
    step_type = self.trajectory.step_type[:, self.num_old_rows :]
    return int(np.sum(step_type != ts.StepType.LAST))


class Specs(NamedTuple):
  """Specs of an environment.

  Attributes:
    time_step: `TimeStep` of tensor specs, without batch.
    action: nest of tensor specs, without batch.
  """

  time_step: ts.TimeStep
  action: types.NestedTensorSpec


class Collector(abc.ABC):
  """Collects the experience of one shard."""

  @property
  @abc.abstractmethod
  def specs(self) -> Specs:
    """The `Specs` of the environments."""

  @property
  @abc.abstractmethod
  def num_environments(self) -> int:
    """B, the environments of this shard."""

  @abc.abstractmethod
  def reset(self) -> None:
    """Starts new episodes; the next rollout has no old row."""

  @abc.abstractmethod
  def collect(
      self,
      variables: list[np.ndarray] | None,
      num_steps: int,
      is_uniform: bool = False,
  ) -> Rollout:
    """Collects a rollout by the policy with these variables.

    Args:
      variables: values of `policy.variables()`, in its order; None where they
        are those of the call before.
      num_steps: T.
      is_uniform: whether to take uniformly random actions instead, of each part
        of a composed policy (`random_policies.uniform`).

    Returns:
      A `Rollout` of [B, T+1] rows.

    Raises:
      EnvironmentFailure: if an environment fails.
    """

  @abc.abstractmethod
  def visits(self) -> dict[str, Any] | None:
    """Returns counts of the visited states; None if none are counted."""

  @abc.abstractmethod
  def get_state(self) -> dict[str, Any]:
    """Returns the collector's state, of plain arrays."""

  @abc.abstractmethod
  def set_state(self, state: dict[str, Any]) -> bool:
    """Restores what `get_state` returned.

    Returns:
      Whether the episodes in progress continue. If the environments cannot be
      put back, new episodes begin.
    """

  @abc.abstractmethod
  def close(self) -> None:
    """Closes the environments."""

  def environments(self) -> Sequence[vector_environment.VectorPyEnvironment]:
    """Returns the environments in this process, for a watchdog."""
    return ()
