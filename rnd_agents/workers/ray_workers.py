# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workers as actors of Ray, on this machine or on a cluster."""

from collections.abc import Iterator, Sequence
import contextlib
import copy
import dataclasses
import threading
import time
from typing import Any, Protocol

from absl import logging
import numpy as np
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.workers import ray_cluster
from rnd_agents.workers import remote_collector
from rnd_agents.workers import shard_worker

# Interval of log lines while the learner waits for a worker.
_REMARK_INTERVAL_S = 10.0
_START_TIMEOUT_S = 120.0
_MAX_STARTS = 3
# Time for calls in progress to end once their workers are killed.
_CLOSE_TIMEOUT_S = 20.0


class _Settings(Protocol):
  """Settings of a run that workers need, such as `experiment.Experiment`."""

  @property
  def root_dir(self) -> str: ...

  @property
  def environment_timeout_s(self) -> float | None: ...

  @property
  def max_lag_rounds(self) -> int: ...


class _Seeds(Protocol):
  networks: int


def create_collectors(
    config: _Settings,
    seeds: _Seeds,
    recipes: Sequence[collector.Recipe],
    num_workers: int,
    address: str | None = None,
) -> remote_collector.RemoteShards:
  """Starts workers and makes the collectors of a run's shards.

  Args:
    config: The run's settings.
    seeds: The run's seeds.
    recipes: Recipes of the shards' collectors.
    num_workers: Number of processes, at most one a shard.
    address: 'HOST:PORT' of a Ray cluster that exists; None for one on this
      machine, which ends with the run.

  Raises:
    SetupError: If the workers cannot be started as asked.
  """
  if not 1 <= num_workers <= len(recipes):
    raise errors.SetupError(
        f'--workers={num_workers} must be from 1 to train_eval.num_shards ='
        f' {len(recipes)}: each worker collects for at least one shard. A new'
        f' run may set --gin_bindings="train_eval.num_shards = {num_workers}".'
    )
  # Also checks, before any process starts, that environments can be made, and
  # tells gin which of its bindings they use.
  probe = local.LocalCollector(recipes[0])
  specs, num_environments = probe.specs, probe.num_environments
  probe.close()
  ray_cluster.connect(config.root_dir, num_workers, address)
  workers = RayWorkers(
      shard_worker.Setup.of_run(seeds.networks, recipes),
      num_workers,
      config.environment_timeout_s,
  )
  try:
    workers.check_versions()
    collectors = [
        remote_collector.RemoteCollector(
            recipe, specs, num_environments, workers
        )
        for recipe in recipes
    ]
  except BaseException:
    workers.close()
    raise
  return remote_collector.RemoteShards(
      collectors, workers, config.max_lag_rounds
  )


class Worker:
  """A `ShardWorker` in a process of Ray; `ps` lists it as ray::Worker."""

  def __init__(self, setup: shard_worker.Setup):
    shard_worker.configure(setup)
    self._worker = shard_worker.ShardWorker(setup.recipes)

  def versions(self) -> dict[str, str]:
    return shard_worker.versions()

  def run(self, task: shard_worker.Task) -> shard_worker.Reply:
    import ray  # pylint: disable=g-import-not-at-top

    name, arguments = task.call
    # Ray's arguments are read-only; environments write into their state.
    arguments = tuple(
        ray.get(argument)
        if isinstance(argument, ray.ObjectRef)
        else copy.deepcopy(argument)
        for argument in arguments
    )
    origin = copy.deepcopy(task.origin)
    return self._worker.run(
        task._replace(call=(name, arguments), origin=origin)
    )


@dataclasses.dataclass
class _Facts:
  """A worker's work since the last report, and all of its restarts."""

  env_steps: int = 0
  time_s: float = 0.0
  num_bytes: int = 0
  restarts: int = 0

  def add(self, reply: shard_worker.Reply) -> None:
    if isinstance(reply.result, collector.Rollout):
      rows = reply.result.trajectory
      self.env_steps += reply.result.num_env_steps
      self.num_bytes += sum(leaf.nbytes for leaf in tf.nest.flatten(rows))
      self.time_s += reply.time_s

  def report(self) -> dict[str, float]:
    facts = dict(
        restarts=self.restarts,
        env_steps_per_s=self.env_steps / max(self.time_s, 1e-9),
        bytes=self.num_bytes,
    )
    self.env_steps, self.time_s, self.num_bytes = 0, 0.0, 0
    return facts


class RayWorkers(remote_collector.Workers):
  """Keeps a number of actors alive; shard i goes to worker i mod N."""

  def __init__(
      self,
      setup: shard_worker.Setup,
      num_workers: int,
      timeout_s: float | None,
  ):
    """Starts the actors.

    Args:
      setup: `shard_worker.Setup`.
      num_workers: N.
      timeout_s: Seconds after which a call's worker is replaced; None to wait
        for any time.
    """
    import ray  # pylint: disable=g-import-not-at-top

    self._ray = ray
    self._node_id = ray.get_runtime_context().get_node_id()
    self._timeout_s = timeout_s
    self._setup = ray.put(setup)
    self._actor_class = ray.remote(Worker).options(
        num_cpus=1,
        scheduling_strategy='SPREAD',
        runtime_env=dict(env_vars=ray_cluster.environment()),
    )
    self._lock = threading.Condition()
    self._actors = [self._start() for _ in range(num_workers)]
    self._num_uses = 0  # Of Ray, in progress.
    self._is_closed = False
    self._facts = [_Facts() for _ in range(num_workers)]

  def _start(self) -> Any:
    return self._actor_class.remote(self._setup)

  def check_versions(self) -> None:
    """Refuses workers with other versions than the learner's.

    Raises:
      SetupError: If there are some, or if no worker starts.
    """
    ours = shard_worker.versions()
    for index in range(len(self._actors)):
      theirs = self._versions(index)
      for name, version in ours.items():
        if theirs.get(name) != version:
          raise errors.SetupError(
              f'Worker {index} has {name} {theirs.get(name)}, the learner'
              f' {version}: install the same version on every machine.'
          )

  def _versions(self, index: int) -> dict[str, str]:
    """Returns the versions of a worker, once it has started."""
    reason = ''
    for _ in range(_MAX_STARTS):
      try:
        return self._ask(index, _START_TIMEOUT_S, 'to start', 'versions')
      except remote_collector.WorkerLost as lost:
        reason = str(lost)
      except self._ray.exceptions.RayError as error:
        reason = ray_cluster.first_line(error)
        break
    raise errors.SetupError(
        f'Worker {index} could not start: {reason} The cluster needs a free CPU'
        ' for each worker, and the package on each machine.'
    )

  def share(self, variables: list[np.ndarray]) -> Any:
    with self._use():
      return self._ray.put(variables)

  def run(self, task: shard_worker.Task) -> shard_worker.Reply:
    index = task.shard % len(self._actors)
    reply = self._ask(
        index, self._timeout_s, f'with shard {task.shard}', 'run', task
    )
    with self._lock:
      self._facts[index].add(reply)
    return reply

  def report(self) -> list[dict[str, float]]:
    with self._lock:
      return [facts.report() for facts in self._facts]

  def _ask(
      self,
      index: int,
      timeout_s: float | None,
      purpose: str,
      method: str,
      *arguments: Any,
  ) -> Any:
    """Returns a worker's answer.

    Args:
      index: Number of the worker.
      timeout_s: Seconds to wait; None for any time.
      purpose: Reason for waiting, for the log.
      method: Name of the actor's method.
      *arguments: Its arguments.

    Raises:
      WorkerLost: If there is none; another worker takes its place.
      RunError: If Ray has ended on this machine, or the workers are closed.
    """
    with self._use():
      with self._lock:
        actor = self._actors[index]
      answer = getattr(actor, method).remote(*arguments)
      began = time.monotonic()
      while not self._ray.wait([answer], timeout=_REMARK_INTERVAL_S)[0]:
        waited_s = time.monotonic() - began
        self._require_own_node()
        if timeout_s is not None and waited_s > timeout_s:
          self._replace(index, actor)
          raise remote_collector.WorkerLost(
              f'Worker {index} gave no answer for {waited_s:.0f} s.'
          )
        logging.info(
            'Waiting for worker %d %s since %.0f s.', index, purpose, waited_s
        )
      try:
        return self._ray.get(answer)
      except self._ray.exceptions.RayError as error:
        reason = error
        if isinstance(error, self._ray.exceptions.RayTaskError):
          reason = error.cause
          # A bug in the worker keeps its traceback. Ray puts a plain RayError
          # in the place of exceptions that cannot be pickled.
          plain = self._ray.exceptions.RayError
          if type(reason) is plain or not isinstance(reason, plain):
            raise
        # All else is Ray's: it also ends workers where memory is short, for
        # example.
        self._replace(index, actor)
        raise remote_collector.WorkerLost(
            f'Worker {index} died ({ray_cluster.first_line(reason)}).'
        ) from error

  def _require_own_node(self) -> None:
    """Raises RunError if this machine has left the cluster.

    Ray mostly ends the learner then, but not while it only waits, and a worker
    that cannot be started gives no answer.
    """
    if not any(
        node['NodeID'] == self._node_id and node['Alive']
        for node in self._ray.nodes()
    ):
      raise errors.RunError(
          "Ray's processes on the learner's machine have ended (see dmesg for"
          ' the kernel, which kills processes when memory is short). The same'
          ' command starts them again and continues from the last checkpoint.'
      )

  def _replace(self, index: int, lost: Any) -> None:
    """Starts an actor in the place of a lost one, unless another thread did."""
    with self._lock:
      self._require_open()
      if self._actors[index] is lost:
        self._ray.kill(lost)
        self._actors[index] = self._start()
        self._facts[index].restarts += 1

  @contextlib.contextmanager
  def _use(self) -> Iterator[None]:
    """Lets Ray be shut down only after what is done within.

    A thread that asks something of Ray while it is shut down leaves a client of
    a cluster that has ended, which ends this process some seconds later.

    Raises:
      RunError: If the workers are closed.
    """
    with self._lock:
      self._require_open()
      self._num_uses += 1
    try:
      yield
    finally:
      with self._lock:
        self._num_uses -= 1
        self._lock.notify_all()

  def _require_open(self) -> None:
    if self._is_closed:
      raise errors.RunError('The workers are closed.')

  def close(self) -> None:
    with self._lock:
      self._is_closed = True
      if self._num_uses:  # A round ahead.
        for actor in self._actors:
          self._ray.kill(actor)
      self._lock.wait_for(lambda: not self._num_uses, _CLOSE_TIMEOUT_S)
    self._ray.shutdown()
