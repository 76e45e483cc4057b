# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The interface of collectors, and shards: the collectors of a run.

A collector steps the environments of one shard: a fixed part of the batch of a
run, with its environments, the generator of its actions and the state of its
policy. It gets a recipe and lists of arrays and returns arrays, and shares no
object with whoever learns. So it may live in the learner's process, in another
one or on another machine: what it collects depends on its recipe and on the
arrays alone.

A shard is the unit of seeding, work and recovery: a run depends on the number
of its shards and not on where they run.
"""

import abc
from collections.abc import Callable, Sequence
import contextlib
import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory as trajectory_lib
from tf_agents.typing import types

from rnd_agents.environments import episode_log
from rnd_agents.environments import vector_environment

# Values of the policy's variables; in one process tensors, not copied.
Variables = Sequence[tf.Tensor | np.ndarray]


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
    environment_time_s: seconds in the steps of the environments.
    policy_time_s: seconds of the driver apart from that.
    has_new_episodes: booleans [B]: environments whose episodes in progress were
      lost: their first row is new, and begins an episode; None for none.
  """

  trajectory: trajectory_lib.Trajectory
  num_old_rows: int
  episodes: Sequence[episode_log.Episode]
  environment_time_s: float = 0.0
  policy_time_s: float = 0.0
  has_new_episodes: np.ndarray | None = None

  @property
  def is_new(self) -> np.ndarray:
    """Whether rows are new and not padding after an end, booleans [B, T+1]."""
    is_last = self.trajectory.step_type == ts.StepType.LAST
    is_new = np.ones(is_last.shape, bool)
    is_new[:, : self.num_old_rows] = False
    if self.has_new_episodes is not None:
      is_new[self.has_new_episodes, 0] = True
    is_new[:, 1:] &= ~(is_last[:, 1:] & is_last[:, :-1])
    return is_new

  @property
  def num_env_steps(self) -> int:
    """Environment steps in the new rows; a reset does not count."""
    step_type = self.trajectory.step_type[:, self.num_old_rows :]
    return int(np.sum(step_type != ts.StepType.LAST))


class ComposedPolicy(tf_policy.TFPolicy):
  """A policy that acts by other policies, its parts."""

  @abc.abstractmethod
  def map_parts(
      self, function: Callable[[tf_policy.TFPolicy], tf_policy.TFPolicy]
  ) -> tf_policy.TFPolicy:
    """Returns the policy with each part replaced by `function(part)`."""


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
      variables: Variables | None,
      num_steps: int,
      is_uniform: bool = False,
  ) -> Rollout:
    """Collects a rollout by the policy with these variables.

    Args:
      variables: values of `policy.variables()`, in its order; None where they
        are those of the call before.
      num_steps: T.
      is_uniform: whether to take uniformly random actions instead, of each part
        of a `ComposedPolicy`.

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


class Ahead(NamedTuple):
  """A rollout that is collected while the learner learns.

  Attributes:
    variables: values of the policy's variables, a list for each shard.
    num_steps: T.
    is_uniform: whether actions are uniformly random.
    finish: function that waits for the rollout and returns it.
  """

  variables: Sequence[Variables | None]
  num_steps: int
  is_uniform: bool
  finish: Callable[[], Rollout]


class Shards:
  """Collectors whose environments follow on each other in a batch."""

  def __init__(self, collectors: Sequence[Collector], max_lag_rounds: int = 0):
    """Takes over the collectors.

    Args:
      collectors: One a shard, at least one, of equal specs.
      max_lag_rounds: 0: `collect` acts with the variables that it is given. 1:
        it returns what was collected with those of the call before, and these
        are for the next round, which begins now, while the learner learns.
    """
    self._collectors = list(collectors)
    self._max_lag_rounds = max_lag_rounds
    # Those of the last call that gave some, for each shard.
    self._variables: Sequence[Variables | None] = []
    self._ahead: Ahead | None = None  # With a lag.
    stops = np.cumsum([each.num_environments for each in self._collectors])
    self._slices = [
        slice(int(stop) - each.num_environments, int(stop))
        for each, stop in zip(self._collectors, stops)
    ]

  @property
  def specs(self) -> Specs:
    """The specs of the environments."""
    return self._collectors[0].specs

  @property
  def num_environments(self) -> int:
    """B, of all shards together."""
    return self._slices[-1].stop

  def reset(self) -> None:
    """Starts new episodes."""
    ahead, self._ahead = self._ahead, None
    if ahead is not None:
      ahead.finish()
    self._map('reset')

  def _map(self, name: str, *arguments: Sequence[Any]) -> list[Any]:
    """Calls a method of each shard, one after the other, in this process.

    Args:
      name: Name of the method.
      *arguments: Its arguments, each a list with a value for each shard.

    Returns:
      A list of results.
    """
    return [
        getattr(each, name)(*its)
        for each, *its in zip(self._collectors, *arguments, strict=True)
    ]

  def collect(
      self,
      variables_of: Callable[[slice], Variables] | None,
      num_steps: int,
      is_uniform: bool = False,
  ) -> Rollout:
    """Collects a rollout of all environments, as `Collector.collect` does.

    Args:
      variables_of: Function of a slice of the batch that returns the values
        of the policy's variables for those environments; None where they are
        those of the call before.
      num_steps: T.
      is_uniform: Whether to take uniformly random actions instead.
    """
    variables = [variables_of and variables_of(part) for part in self._slices]
    if not self._max_lag_rounds:
      return self._collect(variables, num_steps, is_uniform)
    if variables_of is not None:  # Else a checkpoint needs the old values.
      self._variables = [
          each and [np.asarray(value) for value in each] for each in variables
      ]
    begin = functools.partial(
        self._collect_ahead, self._variables, num_steps, is_uniform
    )
    rollout = (self._ahead or begin()).finish()
    self._ahead = begin()
    return rollout

  def _collect(
      self,
      variables: Sequence[Variables | None],
      num_steps: int,
      is_uniform: bool,
  ) -> Rollout:
    of_each = [[x] * len(self._slices) for x in (num_steps, is_uniform)]
    return self._joined(self._map('collect', variables, *of_each))

  def _collect_ahead(
      self,
      variables: Sequence[Variables | None],
      num_steps: int,
      is_uniform: bool,
  ) -> Ahead:
    arguments = variables, num_steps, is_uniform
    work = functools.partial(self._collect, *arguments)
    return Ahead(*arguments, self._begin(work))

  def _begin(self, work: Callable[[], Rollout]) -> Callable[[], Rollout]:
    """Begins some work; returns a function that finishes it: here, does it."""
    return work

  def _joined(self, rollouts: Sequence[Rollout]) -> Rollout:
    if len(rollouts) == 1:
      return rollouts[0]
    episodes = [
        episode._replace(
            environment_index=part.start + episode.environment_index
        )
        for rollout, part in zip(rollouts, self._slices)
        for episode in rollout.episodes
    ]
    return Rollout(
        tf.nest.map_structure(
            lambda *parts: np.concatenate(parts),
            *[rollout.trajectory for rollout in rollouts],
        ),
        rollouts[0].num_old_rows,
        episodes,
        sum(rollout.environment_time_s for rollout in rollouts),
        sum(rollout.policy_time_s for rollout in rollouts),
        self._has_new_episodes(rollouts),
    )

  def _has_new_episodes(self, rollouts: Sequence[Rollout]) -> np.ndarray | None:
    """Returns `Rollout.has_new_episodes` of all shards."""
    has_new_episodes = np.zeros([self.num_environments], np.bool_)
    for rollout, part in zip(rollouts, self._slices):
      if rollout.has_new_episodes is not None:
        has_new_episodes[part] = rollout.has_new_episodes
    return has_new_episodes if has_new_episodes.any() else None

  def report(self) -> list[dict[str, float]]:
    """Returns facts of each worker since the last report, by name."""
    return []

  def visits(self) -> list[dict[str, Any]]:
    """Returns counts of visited states, one for each shard that counts."""
    return [counts for counts in self._map('visits') if counts is not None]

  def get_state(self) -> dict[str, Any]:
    """Returns states of all shards, and how a round ahead is collected."""
    ahead = self._ahead and self._ahead[:-1]
    return dict(shards=self._states(), ahead=ahead)

  def _states(self) -> list[dict[str, Any]]:
    """Returns the states of the shards, before a round ahead."""
    return self._map('get_state')

  def set_state(self, state: dict[str, Any]) -> bool:
    """Restores what `get_state` returned.

    Returns:
      Whether all episodes in progress continue. If some cannot, all shards
      start new ones.
    """
    continued = all(self._map('set_state', state['shards']))
    if not continued:
      self.reset()
    if state['ahead'] is not None:
      self._variables, *arguments = state['ahead'][:3]
      self._ahead = self._collect_ahead(self._variables, *arguments)
    return continued

  def close(self) -> None:
    """Closes all environments."""
    with contextlib.ExitStack() as stack:
      for each in self._collectors:
        stack.callback(each.close)
