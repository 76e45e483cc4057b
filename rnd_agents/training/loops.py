# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The loop of a run, and the interface of the learners that it calls.

The loop collects rollouts, passes them to a `Learner`, and yields an
`Iteration` after the other. Everything else (logs, checkpoints, evaluations,
pictures) is a callback of the run.
"""

import abc
from collections.abc import Callable, Iterator, Sequence
import time
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.trajectories import trajectory as trajectory_lib

from rnd_agents import graph_calls
from rnd_agents.collecting import collector
from rnd_agents.environments import episode_log


class Iteration(NamedTuple):
  """Outcome of an iteration.

  Attributes:
    metrics: numbers by name.
    finite: whether each floating variable of the agent is finite, by its name.
    episodes: the episodes that ended.
    num_env_steps: environment steps, all environments together.
    timings: seconds by name: `collect_time_s`, of which the environments took
      `environment_time_s`, the driver with the policy `policy_time_s`, and the
      hand-over of variables and rows the rest; and `train_time_s`. Those of
      workers are sums over all of them.
  """

  metrics: dict[str, float]
  finite: dict[str, bool]
  episodes: Sequence[episode_log.Episode]
  num_env_steps: int
  timings: dict[str, float]


class Counters(tf.Module):
  """Progress of a run, in variables that its checkpoints hold."""

  def __init__(self) -> None:
    super().__init__(name='counters')
    self._iteration = tf.Variable(0, dtype=tf.int64, name='iteration')
    self._env_steps = tf.Variable(0, dtype=tf.int64, name='env_steps')
    self._episodes = tf.Variable(0, dtype=tf.int64, name='episodes')
    self._wall_time_s = tf.Variable(0.0, dtype=tf.float64, name='wall_time_s')

  @property
  def iteration(self) -> int:
    """Iterations of training."""
    return int(self._iteration.numpy())

  @property
  def env_steps(self) -> int:
    """Environment steps, of all environments together."""
    return int(self._env_steps.numpy())

  @property
  def episodes(self) -> int:
    """Episodes that ended."""
    return int(self._episodes.numpy())

  @property
  def wall_time_s(self) -> float:
    """Seconds of the loop with its callbacks, start-up apart."""
    return float(self._wall_time_s.numpy())

  def add(
      self,
      iterations: int = 0,
      env_steps: int = 0,
      episodes: int = 0,
      wall_time_s: float = 0.0,
  ) -> None:
    """Adds to the counters."""
    for variable, number in (
        (self._iteration, iterations),
        (self._env_steps, env_steps),
        (self._episodes, episodes),
        (self._wall_time_s, wall_time_s),
    ):
      if number:
        variable.assign_add(number)


class Learner(abc.ABC):
  """Trains an agent on the rollouts of a `Loop`, and saves its own state.

  A subclass increments `_policy_version` when the collect policy changes.
  """

  _policy_version: int = 0

  @property
  def policy_version(self) -> int:
    """Number of changes of the collect policy's variables."""
    return self._policy_version

  @property
  def environment_variables(self) -> Sequence[tf.Variable]:
    """Variables of the collect policy with an entry for each environment."""
    return ()

  def begin(self) -> None:  # noqa: B027
    """Prepares a new run, before its first checkpoint.

    Raises:
      UserError: If something is missing or does not fit.
    """

  def pretrain(self) -> Iterator[bool]:
    """Trains before the first environment step, a few updates at a time.

    Called again by a run that was stopped in between.

    Yields:
      Whether the policy should be evaluated now.
    """
    yield from ()

  def explore(self, env_steps: int) -> None:  # noqa: B027
    """Sets how much the collect policy explores.

    Args:
      env_steps: Environment steps of the run so far.
    """

  def warm_up(
      self, trajectory: trajectory_lib.Trajectory, is_new: np.ndarray
  ) -> None:
    """Receives random steps before the first update; arguments as `add`."""
    self.add(trajectory, is_new)

  def begin_episodes(  # noqa: B027
      self, environments: np.ndarray | slice = slice(None)
  ) -> None:
    """Called when environments have ended their episodes early.

    Args:
      environments: Booleans [B]: which ones; all by default.
    """

  @abc.abstractmethod
  def add(
      self, trajectory: trajectory_lib.Trajectory, is_new: np.ndarray
  ) -> None:
    """Receives a rollout, which begins where the one before ended.

    Args:
      trajectory: A `Trajectory` of arrays [B, T+1, ...].
      is_new: Booleans [B, T+1]: which rows are new and may be learned from.
    """

  @abc.abstractmethod
  def train(self, num_env_steps: int) -> None:
    """Makes the updates that are due.

    Args:
      num_env_steps: Environment steps since the last call.
    """

  @abc.abstractmethod
  def metrics(self) -> dict[str, float]:
    """Returns the metrics of the updates since the last call, by name."""

  @abc.abstractmethod
  def finite(self) -> dict[str, bool]:
    """Returns whether each floating variable is finite, by its name."""

  def get_state(self) -> Any:
    """Returns the state for a checkpoint besides variables, picklable."""
    return {}

  def set_state(  # noqa: B027
      self, state: Any, continues_episodes: bool
  ) -> None:
    """Restores a state.

    Args:
      state: Result of `get_state`.
      continues_episodes: Whether the environments continue the episodes in
        progress; if not, new ones begin.
    """

  def close(self) -> None:  # noqa: B027
    """Frees what takes much memory, such as a replay; the last call of a run.

    A learner and its compiled functions refer to each other, so that Python's
    garbage collection alone frees it, which may be long after the run.
    """


class Loop:
  """Collects and trains, one iteration after the other.

  A killed and resumed run computes the same numbers as one without a kill,
  wherever environments can be put back.
  """

  def __init__(
      self,
      agent: tf_agent.TFAgent,
      learner: Learner,
      shards: collector.Shards,
      counters: Counters,
      rollout_length: int,
      collect_length: int,
      warm_up_env_steps: int = 0,
      learns_from_warm_up: bool = True,
  ):
    """Builds the loop; nothing runs yet.

    Args:
      agent: The agent that learns.
      learner: Trains the agent.
      shards: Collects.
      counters: Counts the environment steps.
      rollout_length: Steps of each environment in an iteration.
      collect_length: Steps of each environment between two updates.
      warm_up_env_steps: Uniformly random steps, all environments together,
        before the first update.
      learns_from_warm_up: Whether updates may use the random steps. If not,
        new episodes begin after them.
    """
    self._learner = learner
    self._shards = shards
    self._counters = counters
    self._rollout_length = rollout_length
    self._collect_length = collect_length
    self._warm_up_env_steps = warm_up_env_steps
    self._learns_from_warm_up = learns_from_warm_up
    # Version of the policy that the collectors have.
    self._sent_version: int | None = None
    variables = agent.collect_policy.variables()
    self._is_of_environments = [
        any(variable is each for each in learner.environment_variables)
        for variable in variables
    ]
    # In one call, which takes a fraction of the time of one call a variable.
    self._read_variables = graph_calls.GraphCall(
        lambda: [variable.read_value() for variable in variables]
    )

  def begin(self) -> None:
    """Prepares a new run: `Learner.begin`, and the first episodes."""
    self._learner.begin()
    self._shards.reset()

  def prepare(self) -> Iterator[bool]:
    """Pretrains and takes the random steps, in small pieces.

    Called again by a run that was stopped in between.

    Yields:
      Whether the policy should be evaluated now. A checkpoint may be taken.
    """
    if self._counters.iteration:
      return
    yield from self._learner.pretrain()
    while self._counters.env_steps < self._warm_up_env_steps:
      self._warm_up()
      yield False

  def _warm_up(self) -> None:
    """Takes uniformly random steps, at most a rollout."""
    num_steps = self._collect_length
    if not self._learns_from_warm_up:
      missing = self._warm_up_env_steps - self._counters.env_steps
      # A row is a step of each environment, or less where episodes end. The
      # first rollout has a row more than steps.
      num_rows = -(-missing // self._shards.num_environments)
      is_first = self._counters.env_steps == 0
      num_steps = min(num_steps, max(num_rows - is_first, 1))
    rollout = self._collect(num_steps, is_uniform=True)
    self._learner.warm_up(rollout.trajectory, rollout.is_new)
    is_over = self._counters.env_steps >= self._warm_up_env_steps
    if is_over and not self._learns_from_warm_up:
      # A rollout begins with the last row of the one before. An on-policy
      # update would learn from its random action, and from an episode that
      # random actions began.
      self._shards.reset()
      self._learner.begin_episodes()

  def iterations(self) -> Iterator[Iteration]:
    """Collects and trains, without an end."""
    while True:
      start = time.monotonic()
      train_time_s, num_env_steps = 0.0, 0
      environment_time_s = policy_time_s = 0.0
      episodes: list[episode_log.Episode] = []
      for _ in range(self._rollout_length // self._collect_length):
        self._learner.explore(self._counters.env_steps)
        rollout = self._collect(self._collect_length)
        new_env_steps = rollout.num_env_steps
        num_env_steps += new_env_steps
        environment_time_s += rollout.environment_time_s
        policy_time_s += rollout.policy_time_s
        episodes += rollout.episodes
        self._learner.add(rollout.trajectory, rollout.is_new)
        del rollout  # To have one copy of Atari's frames, not two.
        train_start = time.monotonic()
        self._learner.train(new_env_steps)
        train_time_s += time.monotonic() - train_start
      total_s = time.monotonic() - start
      yield Iteration(
          self._learner.metrics(),
          self._learner.finite(),
          episodes,
          num_env_steps,
          dict(
              collect_time_s=max(total_s - train_time_s, 1e-9),
              environment_time_s=environment_time_s,
              policy_time_s=policy_time_s,
              train_time_s=max(train_time_s, 1e-9),
          ),
      )

  def _collect(
      self, num_steps: int, is_uniform: bool = False
  ) -> collector.Rollout:
    """Collects a rollout and counts its steps."""
    variables_of = None
    if self._sent_version != self._learner.policy_version:
      self._sent_version = self._learner.policy_version
      variables_of = self._values()
    rollout = self._shards.collect(variables_of, num_steps, is_uniform)
    self._counters.add(env_steps=rollout.num_env_steps)
    if rollout.has_new_episodes is not None:
      self._learner.begin_episodes(rollout.has_new_episodes)
    return rollout

  def _values(self) -> Callable[[slice], collector.Variables]:
    """Returns a function from a slice of the environments to variables."""
    values = self._read_variables()

    def of(part: slice) -> collector.Variables:
      return [
          value.numpy()[part] if is_of_environments else value
          for value, is_of_environments in zip(values, self._is_of_environments)
      ]

    return of

  def get_state(self) -> Any:
    """Returns the state for a checkpoint besides variables, picklable."""
    return self._learner.get_state()

  def set_state(self, state: Any, continues_episodes: bool) -> None:
    """Restores a state; as `Learner.set_state`."""
    self._learner.set_state(state, continues_episodes)

  def close(self) -> None:
    """Frees what takes much memory; the last call of a run."""
    self._learner.close()


def floating_variables(agent: tf_agent.TFAgent) -> dict[str, tf.Variable]:
  """Returns floating variables of policy, values and curiosity, by name."""
  groups = {'policy or value': agent.collect_policy.variables()}
  if agent.curiosity is not None:
    groups['curiosity'] = agent.curiosity.variables
  return {
      f'{group} {variable.name}': variable
      for group, variables in groups.items()
      for variable in variables
      if variable.dtype.is_floating
  }


def are_finite(variables: Sequence[tf.Variable]) -> tf.Tensor:
  """Returns whether each of the variables is finite, booleans [n]."""
  return tf.stack(
      [tf.reduce_all(tf.math.is_finite(variable)) for variable in variables]
  )


def raise_if_not_finite(
    metrics: dict[str, float], finite: dict[str, bool]
) -> None:
  """Raises FloatingPointError if a number is not finite.

  Args:
    metrics: Numbers by name.
    finite: Whether each floating variable is finite, by its name.
  """
  bad = [
      f'{name} became {value}'
      for name, value in metrics.items()
      if not np.isfinite(value)
  ]
  bad += [f'the {name} is not finite' for name in finite if not finite[name]]
  if bad:
    more = f' (and {len(bad) - 1} more)' if len(bad) > 1 else ''
    raise FloatingPointError(f'{bad[0]}{more}')
