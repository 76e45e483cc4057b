# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A worker's side: holds collectors of shards and calls their methods."""

from collections.abc import Callable, Mapping, Sequence
import platform
import time
from typing import Any, NamedTuple

import gin
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import frame_stacks
from rnd_agents import version
from rnd_agents.collecting import collector
from rnd_agents.collecting import local

# Name of a method of a `Collector`, and its arguments.
Call = tuple[str, tuple[Any, ...]]


class Setup(NamedTuple):
  """A run's settings that a worker needs; they can be pickled.

  Attributes:
    gin_config: the run's bindings, as `gin.config_str` writes them.
    seed: TensorFlow's global seed.
    recipes: recipes of the collectors of all shards.
    optimizer_options: how TensorFlow rewrites graphs in the learner, on which
      the last bits of its results depend.
  """

  gin_config: str
  seed: int
  recipes: Sequence[collector.Recipe]
  optimizer_options: Mapping[str, Any]

  @classmethod
  def of_run(cls, seed: int, recipes: Sequence[collector.Recipe]) -> 'Setup':
    """Returns the setup of the run in this process."""
    return cls(
        gin.config_str(),
        seed,
        recipes,
        tf.config.optimizer.get_experimental_options(),
    )


class Task(NamedTuple):
  """A call of a method of a shard's collector.

  Attributes:
    shard: number of the shard.
    num_calls: number of calls of this collector before this one.
    call: the method's name and its arguments.
    origin: state from which a worker that has lost the collector rebuilds it,
      {} for a new one; None if the worker is expected to hold it.
  """

  shard: int
  num_calls: int
  call: Call
  origin: dict[str, Any] | None = None


class Reply(NamedTuple):
  """Outcome of a `Task`.

  Attributes:
    result: result of the method.
    state: state of the collector after the call; {} if there was none.
    is_missing: whether the worker does not hold the collector and got no
      origin, so that nothing has happened.
    has_new_episodes: whether new episodes began because those in progress could
      not be restored.
    error: the error that the call ended in.
    time_s: seconds that the worker took.
  """

  result: Any = None
  state: dict[str, Any] = {}
  is_missing: bool = False
  has_new_episodes: bool = False
  error: errors.UserError | None = None
  time_s: float = 0.0


def _pack(reply: Reply) -> Reply:
  """Returns a reply to send: frames once, the last row not in the state too."""
  if not isinstance(reply.result, collector.Rollout):
    return reply
  result = _with_observations(reply.result, frame_stacks.pack)
  return reply._replace(result=result, state=dict(reply.state, last_row=None))


def unpack_reply(reply: Reply) -> Reply:
  """Returns the reply that a worker has packed to send it."""
  if not isinstance(reply.result, collector.Rollout):
    return reply
  result = _with_observations(reply.result, frame_stacks.unpack)
  last_row = tf.nest.map_structure(
      lambda x: x[:, -1].copy(), result.trajectory
  )
  state = dict(reply.state, last_row=last_row)
  return reply._replace(result=result, state=state)


def _with_observations(
    rollout: collector.Rollout, function: Callable[[Any], Any]
) -> collector.Rollout:
  rows = rollout.trajectory
  return rollout._replace(
      trajectory=rows._replace(
          observation=tf.nest.map_structure(function, rows.observation)
      )
  )


def versions() -> dict[str, str]:
  """Returns versions that must be equal in learner and workers, by name."""
  return dict(
      rnd_agents=version.__version__,
      Python='.'.join(platform.python_version_tuple()[:2]),
      TensorFlow=tf.__version__,
  )


def configure(setup: Setup) -> None:
  """Configures a new process for a run."""
  tf.config.optimizer.set_experimental_options(setup.optimizer_options)
  gin.parse_config(setup.gin_config)
  tf.keras.utils.set_random_seed(setup.seed)


class ShardWorker:
  """Holds collectors between calls, to save building them again."""

  def __init__(self, recipes: Sequence[collector.Recipe]):
    """Builds a worker in a process that is configured."""
    self._recipes = recipes
    # Of each shard: its collector and the number of calls.
    self._held: dict[int, tuple[local.LocalCollector, int]] = {}

  def run(self, task: Task) -> Reply:
    """Calls the method of a task; returns the reply, packed to be sent."""
    began = time.monotonic()
    try:
      reply = _pack(self._run(task))
    except errors.UserError as error:
      reply = Reply(error=error)
    return reply._replace(time_s=time.monotonic() - began)

  def _run(self, task: Task) -> Reply:
    # Not held until the call has succeeded.
    held, num_calls = self._held.pop(task.shard, (None, None))
    if held is not None and num_calls != task.num_calls:
      held.close()
      held = None
    has_new_episodes = False
    if held is None:
      if task.origin is None:
        return Reply(is_missing=True)
      held = local.LocalCollector(self._recipes[task.shard])
      has_new_episodes = bool(task.origin) and not held.set_state(task.origin)
      if has_new_episodes:
        held.reset()
    name, arguments = task.call
    result = getattr(held, name)(*arguments)
    state = held.get_state()
    self._held[task.shard] = held, task.num_calls + 1
    return Reply(result, state, has_new_episodes=has_new_episodes)
