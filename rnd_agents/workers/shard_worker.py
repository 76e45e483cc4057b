# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What runs in a worker: the collectors of shards, which it may lose."""

import platform
import time
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Tuple

import gin
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import version
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.workers import packed_frames

# Name of a method of a `Collector`, and its arguments.
Call = Tuple[str, Tuple[Any, ...]]


class Setup(NamedTuple):
  """What a worker needs to know of a run; it can be pickled.

  Attributes:
    gin_config: the run's bindings, as `gin.config_str` writes them.
    seed: TensorFlow's global seed.
    recipes: the `collector.Recipe`s of all shards.
    optimizer_options: how TensorFlow rewrites graphs in the learner, on which
      the last bits of what it computes depend.
  """

  gin_config: str
  seed: int
  recipes: Sequence[Any]
  optimizer_options: Mapping[str, Any]

  @classmethod
  def of_run(cls, seed, recipes):
    """That of a run in this process."""
    return cls(
        gin.config_str(),
        seed,
        recipes,
        tf.config.optimizer.get_experimental_options(),
    )


class Origin(NamedTuple):
  """Where a collector can be built again that a worker has lost.

  Attributes:
    state: of `Collector.get_state`; None for a collector that is new.
  """

  state: Optional[dict]


class Task(NamedTuple):
  """A call of the collector of a shard.

  Attributes:
    shard: which shard.
    num_calls: calls of this collector before this one.
    call: `Call`.
    origin: `Origin`; None where the worker is believed to hold the collector.
  """

  shard: int
  num_calls: int
  call: Call
  origin: Optional[Origin] = None


class Reply(NamedTuple):
  """What came of a `Task`.

  Attributes:
    result: what the method returned.
    state: the collector's afterwards; None where the call had no result.
    is_missing: the worker does not hold the collector and got no origin, so
      nothing has happened.
    began_anew: the episodes in progress could not go on in this worker.
    error: the `UserError` that the call ended in.
    time_s: seconds that the worker took.
  """

  result: Any = None
  state: Optional[dict] = None
  is_missing: bool = False
  began_anew: bool = False
  error: Optional[errors.UserError] = None
  time_s: float = 0.0


def packed(reply):
  """The reply as it travels: frames once, the last row not in the state too."""
  if not isinstance(reply.result, collector.Rollout):
    return reply
  result = _with_observations(reply.result, packed_frames.packed)
  state = reply.state and dict(reply.state, last_row=None)
  return reply._replace(result=result, state=state)


def unpacked(reply):
  """What was packed."""
  if not isinstance(reply.result, collector.Rollout):
    return reply
  result = _with_observations(reply.result, packed_frames.unpacked)
  state = reply.state
  if state is not None:
    last_row = tf.nest.map_structure(
        lambda x: x[:, -1].copy(), result.trajectory
    )
    state = dict(state, last_row=last_row)
  return reply._replace(result=result, state=state)


def _with_observations(rollout, function):
  rows = rollout.trajectory
  return rollout._replace(
      trajectory=rows._replace(
          observation=tf.nest.map_structure(function, rows.observation)
      )
  )


def versions():
  """Returns what must be equal in learner and workers, by name."""
  return dict(
      rnd_agents=version.__version__,
      Python='.'.join(platform.python_version_tuple()[:2]),
      TensorFlow=tf.__version__,
  )


def configure(setup):
  """Gives a process that is new the configuration of a run.

  Args:
    setup: A `Setup`.
  """
  tf.config.optimizer.set_experimental_options(setup.optimizer_options)
  gin.parse_config(setup.gin_config)
  tf.keras.utils.set_random_seed(setup.seed)


class ShardWorker:
  """Holds collectors between calls, to save building them again."""

  def __init__(self, recipes):
    """Builds a worker; its process is configured.

    Args:
      recipes: As in `Setup`.
    """
    self._recipes = recipes
    self._held = {}  # Shard -> (collector, number of calls).

  def run(self, task):
    """Carries out a `Task`; returns a `Reply`, `packed`."""
    began = time.monotonic()
    reply = packed(self._run(task))
    return reply._replace(time_s=time.monotonic() - began)

  def _run(self, task):
    held, num_calls = self._held.get(task.shard, (None, None))
    began_anew = False
    if held is None or num_calls != task.num_calls:
      if task.origin is None:
        return Reply(is_missing=True)
      try:
        held, began_anew = self._build(task.shard, task.origin)
      except errors.UserError as error:
        return Reply(error=error)
    self._held.pop(task.shard, None)  # Until the call has succeeded.
    name, arguments = task.call
    try:
      result = getattr(held, name)(*arguments)
      state = held.get_state()
    except errors.UserError as error:
      return Reply(error=error)
    self._held[task.shard] = held, task.num_calls + 1
    return Reply(result, state, began_anew=began_anew)

  def _build(self, shard, origin):
    """Builds a collector and brings it to where it was lost."""
    old, _ = self._held.pop(shard, (None, None))
    if old is not None:
      old.close()
    built = local.LocalCollector(self._recipes[shard])
    goes_on = origin.state is None or built.set_state(origin.state)
    if not goes_on:
      built.reset()
    return built, not goes_on
