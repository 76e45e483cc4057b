# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Acts for simulators that call the agent, and trains it on their reports.

    with policy_server.serve_policy(agent, 24, rollout_length=128) as server:
      ...  # Start a thread for each simulator, with a session of its own:

      with server.session() as session:
        action = session.action(ts.restart(observation))
        action = session.action(ts.transition(observation, reward))
        session.action(ts.termination(observation, reward))  # Or ts.truncation.

`ts` is `tf_agents.trajectories.time_step`.
"""

import abc
from collections.abc import Callable, Iterable, Iterator
import contextlib
import threading
from typing import Any, Optional

import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.policies import tf_policy
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents import rollout_agent
from rnd_agents.serving import batched_policy

_LEARNS_IN = ('thread', 'session', 'call')


class TrainerOfEach(abc.ABC):
  """A `train` of `serve_policy` that takes rollouts of each simulator alone.

  For agents with a replay: nothing is lost where simulators differ in speed.
  """

  @abc.abstractmethod
  def __call__(self, rollout: trajectory.Trajectory, place: int) -> None:
    """Trains on a rollout.

    Args:
      rollout: A `Trajectory` of tensors [1, T+1, ...].
      place: Its place, below B.
    """


Train = Callable[[trajectory.Trajectory], Any] | TrainerOfEach


@contextlib.contextmanager
def serve_policy(
    agent: tf_agent.TFAgent,
    num_environments: int,
    rollout_length: int,
    train: Train | None = None,
    learns_in: str = 'thread',
) -> Iterator['PolicyServer']:
  """Serves an agent's `collect_policy`, and trains the agent.

  The reported time steps become rollouts like those of a `Collector`: B places
  of T+1 rows, each with consecutive episodes. The first row of a place is the
  last one of the rollout before, or begins an episode. The agent can train as
  soon as all B places have T+1 rows.

  A simulator that is two rollouts ahead waits while the agent trains. It never
  waits for other simulators: if they are behind, it gets actions without being
  recorded until its next episode, and so do sessions beyond B open ones.

  Args:
    agent: A `TFAgent`.
    num_environments: B, the simulators that are recorded.
    rollout_length: T.
    train: Function of a rollout, a `Trajectory` of tensors [B, T+1, ...]; None
      for `agent.train`. Or a `TrainerOfEach`, which trains on the rollout of
      each place as soon as that has T+1 rows: agents with a replay need one, a
      `replay_trainer.ReplayTrainer`.
    learns_in: 'thread': in a thread of its own, beside the simulators.
      'session': in the thread of the simulator whose report completes a
      rollout, before it is answered. 'call': only in calls of
      `PolicyServer.learn`; a simulator that is two rollouts ahead does not wait
      for one, and is recorded again from its next episode.

  Yields:
    A `PolicyServer`.

  Raises:
    UserError: If the agent cannot learn from such rollouts, or if training
      fails; `Session.action` raises it, too.
  """
  sizes = dict(num_environments=num_environments, rollout_length=rollout_length)
  ranges.check(dict.fromkeys(sizes, ranges.COUNT), sizes, 'serve_policy.')
  if learns_in not in _LEARNS_IN:
    raise errors.InvalidValue(
        f'serve_policy.learns_in must be one of {", ".join(_LEARNS_IN)}, got'
        f' {learns_in!r}.'
    )
  if train is None:
    _check_agent(agent, **sizes)
    train = common.function(agent.train)
  server = PolicyServer(
      agent.collect_policy, train, **sizes, learns_in=learns_in
  )
  thread = threading.Thread(target=server.run, daemon=True)
  if learns_in == 'thread':
    thread.start()
  try:
    yield server
  finally:
    server.close()
    if thread.ident is not None:
      thread.join()
  server.raise_failure()


def _check_agent(
    agent: tf_agent.TFAgent, num_environments: int, rollout_length: int
) -> None:
  """Refuses an agent that cannot learn from the rollouts."""
  num_rows = agent.train_sequence_length
  if num_rows not in (None, rollout_length + 1):
    raise errors.InvalidValue(
        f'{type(agent).__name__} learns from sequences of {num_rows} rows: set'
        f' serve_policy.rollout_length = {num_rows - 1}, or give it a `train`'
        ' that adds the rollouts to a replay.'
    )
  if isinstance(agent, rollout_agent.RolloutAgent):
    agent.check_rollout(num_environments, rollout_length)


class PolicyServer:
  """Acts for simulators in sessions; `serve_policy` yields one.

  Attributes:
    policy: The policy, for actions without a report.
    num_env_steps: Number of environment steps that were reported.
    num_rollouts: Number of rollouts that the agent has trained on.
  """

  def __init__(
      self,
      policy: tf_policy.TFPolicy,
      train: Train,
      num_environments: int,
      rollout_length: int,
      learns_in: str = 'thread',
  ):
    """Creates the server; arguments as for `serve_policy`."""
    self.policy = batched_policy.BatchedPolicy(policy)
    self.num_env_steps = 0
    self.num_rollouts = 0
    self._train = train
    self._learns_in = learns_in
    self._places = [_Place(rollout_length + 1) for _ in range(num_environments)]
    self._changed = threading.Condition()  # Guards the next attributes.
    self._is_training = False
    self._is_closed = False
    self._failure: Exception | None = None

  def session(self) -> 'Session':
    """Returns a new session, for one simulator in one thread."""
    return Session(self)

  def run(self) -> None:
    """Trains on each complete rollout, until `close` or a failure."""
    with contextlib.suppress(errors.RunError):  # Sessions raise it.
      while True:
        with self._changed:
          self._changed.wait_for(lambda: self._is_complete() or self._is_closed)
        if not self.learn():
          return

  def learn(self) -> bool:
    """Trains on the rollout that waits; returns whether there is one.

    Raises:
      RunError: If training fails, or has failed.
    """
    with self._changed:
      self._changed.wait_for(lambda: not self._is_training)
      self.raise_failure()
      if not self._is_complete():
        return False
      self._is_training = True
      rollouts = {
          i: _stacked(place.take())
          for i, place in enumerate(self._places)
          if place.rollout is not None
      }
      self._changed.notify_all()  # Simulators that wait have room again.
    try:
      if isinstance(self._train, TrainerOfEach):
        for i, rollout in rollouts.items():
          self._train(_stacked([rollout], tf.constant), i)
          self.num_rollouts += 1
      else:
        self._train(_stacked(rollouts.values(), tf.constant))
        self.num_rollouts += 1
    except Exception as error:  # pylint: disable=broad-exception-caught
      self._failure = error
      self.close()
    finally:
      with self._changed:
        self._is_training = False
        self._changed.notify_all()
    self.raise_failure()
    return True

  def _is_complete(self) -> bool:
    needs = any if isinstance(self._train, TrainerOfEach) else all
    return needs(place.rollout is not None for place in self._places)

  def close(self) -> None:
    """Ends `run`, after a rollout that is complete, and all answers."""
    with self._changed:
      self._is_closed = True
      self._changed.notify_all()

  def raise_failure(self) -> None:
    """Raises a `RunError` if training has failed."""
    if self._failure is not None:
      raise errors.RunError(
          'The training behind serve_policy has failed:'
          f' {errors.message_of(self._failure)}'
      ) from self._failure

  def place(self) -> Optional['_Place']:
    """Returns the free place with the fewest rows; None if all are taken."""
    with self._changed:
      free = [place for place in self._places if place.is_free]
      place = min(free, key=lambda place: place.num_rows, default=None)
      if place is not None:
        place.is_free = False
      return place

  def arrive(self, place: Optional['_Place'], time_step: ts.TimeStep) -> bool:
    """Receives a time step, which completes the row of the one before.

    Args:
      place: Place of the session, or None.
      time_step: A `TimeStep` of arrays.

    Returns:
      Whether the time step is recorded.
    """

    def may_continue() -> bool:
      is_busy = self._is_training or (
          self._is_complete() and self._learns_in != 'call'
      )
      return self._is_closed or not (is_busy and place and place.is_full)

    with self._changed:
      self._changed.wait_for(may_continue)
      self.raise_failure()
      if self._is_closed:
        raise errors.InvalidValue(
            'The `with` block of serve_policy has ended: stop the simulators'
            ' before its end.'
        )
      self.num_env_steps += not time_step.is_first()
      is_recorded = place is not None and place.arrive(time_step)
      is_complete = self._is_complete()
      if is_complete:
        self._changed.notify_all()
    if is_complete and self._learns_in == 'session':
      self.learn()
    return is_recorded

  def leave(self, place: '_Place', in_episode: bool) -> None:
    """Frees a place; drops its incomplete rollout if an episode is cut off."""
    with self._changed:
      if in_episode:
        place.clear()
      place.is_free = True


class _Place:
  """Entry b of the rollouts: rows of consecutive episodes.

  Attributes:
    is_free: Whether no session has it.
    rollout: T+1 rows that wait for the training, or None.
    latest: Time step and policy step of the next row; None if the next row
      begins an episode.
  """

  def __init__(self, num_rollout_rows: int):
    self._num_rollout_rows = num_rollout_rows
    self.is_free = True
    self.rollout: list[trajectory.Trajectory] | None = None
    self.clear()

  def clear(self) -> None:
    """Drops the rows of the rollout that is not complete."""
    self._rows: list[trajectory.Trajectory] = []
    self.latest: tuple[ts.TimeStep, policy_step.PolicyStep] | None = None

  @property
  def num_rows(self) -> int:
    return len(self._rows) + len(self.rollout or ())

  @property
  def is_full(self) -> bool:
    """Whether there is no room for the next row."""
    is_next = self.latest is not None
    return is_next and self.num_rows == 2 * self._num_rollout_rows - 1

  def arrive(self, time_step: ts.TimeStep) -> bool:
    """Completes a row; returns whether the time step begins the next one."""
    if self.latest is None:
      return bool(time_step.is_first())
    self._rows.append(trajectory.from_transition(*self.latest, time_step))
    self.latest = None
    if len(self._rows) == self._num_rollout_rows:
      if self.rollout is not None:
        self.clear()
        return bool(time_step.is_first())
      self.rollout, self._rows = self._rows, self._rows[-1:]
    return True

  def take(self) -> list[trajectory.Trajectory]:
    rollout, self.rollout = self.rollout or [], None
    return rollout


class Session:
  """Asks for actions of one simulator, and reports its time steps.

  Use it as a context manager, or `close` it.
  """

  def __init__(self, server: PolicyServer):
    """Creates a session, for `PolicyServer.session`."""
    self._server = server
    self._place: _Place | None = None  # None if the server records nothing.
    # The policy's state; None between episodes.
    self._state: types.NestedArray | None = None

  def __enter__(self) -> 'Session':
    return self

  def __exit__(self, *unused: Any) -> None:
    self.close()

  def __del__(self) -> None:  # A thread that died has not closed it.
    self.close()

  def close(self) -> None:
    """Ends the session; the incomplete rollout of an episode is dropped."""
    place, in_episode = self._place, self._state is not None
    self._place = self._state = None
    if place is not None:
      self._server.leave(place, in_episode)

  def action(self, time_step: ts.TimeStep) -> types.NestedArray:
    """Reports a time step, and returns the next action.

    Args:
      time_step: Time step of one environment, made by `ts.restart`,
        `ts.transition`, `ts.termination` or `ts.truncation`.

    Returns:
      A nest of arrays; ignore it after the end of the episode.

    Raises:
      UserError: If the time step does not fit, or training has failed.
    """
    policy = self._server.policy
    time_step = batched_policy.as_arrays(
        time_step, policy.time_step_spec, 'time_step'
    )
    if time_step.step_type not in (
        ts.StepType.FIRST, ts.StepType.MID, ts.StepType.LAST
    ) or not 0.0 <= time_step.discount <= 1.0:
      raise errors.InvalidValue(
          f'time_step has step_type {time_step.step_type}, of 0 to 2, and'
          f' discount {time_step.discount}, of 0 to 1: make it with ts.restart,'
          ' ts.transition, ts.termination or ts.truncation.'
      )
    if time_step.is_first() == (self._state is not None):
      raise errors.InvalidValue(
          'Begin an episode with ts.restart, and end the one before with'
          ' ts.termination or ts.truncation.'
      )
    try:
      if time_step.is_first():
        self._state = policy.get_initial_state()
        self._place = self._place or self._server.place()
      is_recorded = self._server.arrive(self._place, time_step)
      step = policy.answer(time_step, self._state)
    except BaseException:  # No episode continues without one of its rows.
      self.close()
      raise
    if is_recorded and self._place is not None:
      self._place.latest = time_step, step
    self._state = None if time_step.is_last() else step.state
    return step.action


def _stacked(
    nests: Iterable[types.NestedArray],
    convert: Callable[[np.ndarray], types.TensorOrArray] = np.asarray,
) -> types.NestedTensorOrArray:
  """Returns nests of arrays as one of [N, ...]."""
  return tf.nest.map_structure(lambda *x: convert(np.stack(x)), *nests)
