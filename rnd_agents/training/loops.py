# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What on-policy and off-policy loops have in common.

A loop is a way of learning: it collects and trains, one iteration after the
other, and hands each to the run as an `Iteration`. Everything else (logs,
checkpoints, evaluations, pictures) is a callback of the run.
"""

import abc
from typing import Any, NamedTuple, Sequence

import numpy as np
import tensorflow as tf


class Iteration(NamedTuple):
  """What one iteration brought.

  Attributes:
    metrics: floats by name.
    finite: by the name of each floating variable of the agent whether all of
      it is finite.
    episodes: the `Episode`s that ended.
    num_env_steps: environment steps, of all environments together.
    timings: seconds by name; `collect_time_s` and `train_time_s` are there.
  """

  metrics: dict
  finite: dict
  episodes: Sequence[Any]
  num_env_steps: int
  timings: dict


class Prepared(NamedTuple):
  """What may be done after a piece of what comes before the first iteration.

  Attributes:
    can_save: whether a checkpoint may be taken now.
    is_evaluation_due: whether the loop asks for an evaluation.
  """

  can_save: bool = True
  is_evaluation_due: bool = False


class Counters(tf.Module):
  """How far a run is: variables that its checkpoints hold."""

  def __init__(self):
    super().__init__(name='counters')
    self._iteration = tf.Variable(0, dtype=tf.int64, name='iteration')
    self._env_steps = tf.Variable(0, dtype=tf.int64, name='env_steps')
    self._episodes = tf.Variable(0, dtype=tf.int64, name='episodes')
    self._wall_time_s = tf.Variable(0.0, dtype=tf.float64, name='wall_time_s')

  @property
  def iteration(self):
    """Iterations of training."""
    return int(self._iteration.numpy())

  @property
  def env_steps(self):
    """Environment steps, of all environments together."""
    return int(self._env_steps.numpy())

  @property
  def episodes(self):
    """Episodes that ended."""
    return int(self._episodes.numpy())

  @property
  def wall_time_s(self):
    """Seconds of training and evaluation, start-up apart."""
    return float(self._wall_time_s.numpy())

  def add(self, iterations=0, env_steps=0, episodes=0, wall_time_s=0.0):
    """Adds to the counters."""
    self._iteration.assign_add(iterations)
    self._env_steps.assign_add(env_steps)
    self._episodes.assign_add(episodes)
    self._wall_time_s.assign_add(wall_time_s)


class Loop(abc.ABC):
  """A way of learning, with what it has to save."""

  def begin(self):  # noqa: B027
    """Makes what only a new run needs, before its first checkpoint.

    Raises:
      UserError: If something is missing or does not fit.
    """

  @abc.abstractmethod
  def prepare(self):
    """Does what comes before the first iteration, in small pieces.

    A generator. Called again by a run that was stopped in between.

    Yields:
      A `Prepared` after each piece.
    """

  @abc.abstractmethod
  def iterations(self):
    """Collects and trains; a generator of `Iteration` without an end."""

  @abc.abstractmethod
  def get_state(self):
    """What a checkpoint keeps besides variables, picklable."""

  @abc.abstractmethod
  def set_state(self, state, episodes_go_on):
    """Goes on from `get_state()`.

    Args:
      state: What it returned.
      episodes_go_on: Whether the episodes in progress do, too.
    """


def floating_variables(agent):
  """Floating variables of policy, values and curiosity, by name."""
  groups = {'policy or value': agent.collect_policy.variables()}
  if agent.curiosity is not None:
    groups['curiosity'] = agent.curiosity.variables
  return {
      f'{group} {variable.name}': variable
      for group, variables in groups.items()
      for variable in variables
      if variable.dtype.is_floating
  }


def are_finite(variables):
  """Whether each of the variables is finite, booleans [n]."""
  return tf.stack(
      [tf.reduce_all(tf.math.is_finite(variable)) for variable in variables]
  )


def check_finite(metrics, finite):
  """Raises FloatingPointError where a number is not finite.

  Args:
    metrics: Numbers by name.
    finite: By the name of each floating variable whether it is finite.
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
