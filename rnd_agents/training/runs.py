# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run: its parts, its seeds, and how it is saved, resumed and stopped."""

import abc
from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import json
import os
import re
import signal
import socket
import threading
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.collecting import collector as collector_lib
from rnd_agents.environments import episode_log
from rnd_agents.environments import failures
from rnd_agents.evaluation import best_policy as best_policy_lib
from rnd_agents.evaluation import evaluator
from rnd_agents.statistics import finite
from rnd_agents.training import checkpoints as snapshots
from rnd_agents.training import configuration
from rnd_agents.training import loops
from rnd_agents.training import metrics_log
from rnd_agents.training import run_directory

if TYPE_CHECKING:
  from rnd_agents.training import experiment


class Seeds:
  """The seeds of a run.

  Attributes:
    seed: The seed from which the others are drawn.
    networks: TensorFlow's global seed.
    first_eval_episode: Seed of the first episode of each evaluation; the next
      episodes have the next numbers.
    loop: A `numpy.random.SeedSequence` for the learner's random numbers.
  """

  def __init__(self, seed: int):
    self.seed = seed
    sequence = np.random.SeedSequence(seed)
    # With room for seed + i below 2**31.
    self.networks, self._environments, self.first_eval_episode = (
        int(word) % 2**30 for word in sequence.generate_state(3)
    )
    self.loop = sequence.spawn(1)[0]

  def of_shard(self, index: int) -> tuple[int, int]:
    """Returns (seed of the environments, seed of the actions) of a shard."""
    if index == 0:
      actions = self.loop.generate_state(1, np.uint64)[0]
      return self._environments, int(actions)
    sequence = np.random.SeedSequence(self.seed, spawn_key=(1, index))
    actions = sequence.generate_state(1, np.uint64)[0]
    environments = sequence.generate_state(3)[2]
    return int(environments) % 2**30, int(actions)


class Outcome(NamedTuple):
  """Outcome of a run.

  Attributes:
    finished: False if a signal stopped it; the same command continues it.
    eval_return: mean return of the last evaluation; None before the first.
    best_eval_return: mean return of the best one; None if no policy is saved.
    env_steps: environment steps, random ones included.
    wall_time_s: seconds of the loop with its callbacks, without the start-up.
    picture: path of the learning curve; None if it could not be drawn.
  """

  finished: bool
  eval_return: float | None
  best_eval_return: float | None
  env_steps: int
  wall_time_s: float
  picture: str | None


# Seconds that an iteration may still take after a SIGTERM. Schedulers kill what
# has not ended after 10 to 30.
_PATIENCE_S = 5.0
_END = b'\0'  # The number of no signal.
# Version of the state in checkpoints; no other version can be resumed.
STATE_VERSION = 14


@dataclasses.dataclass
class BaseRun(abc.ABC):
  """A run of any kind: its folder, its checkpoints, and how it ends.

  Attributes:
    config: The settings, `root_dir`, `seed` and `num_env_steps` among them.
    counters: Counts iterations, steps and episodes.
    checkpoints: The run's checkpoints, once they are built.
    log: Log of metrics, once the run has started.
    record: Content of `run.json`.
    callbacks: The run's callbacks, in their order.
    stopped_by: Name of the signal that stopped the run, or None.
    save_time_s: Seconds that the last checkpoint took; 0 once an iteration has
      counted them.
  """

  config: Any
  _: dataclasses.KW_ONLY
  counters: loops.Counters = dataclasses.field(default_factory=loops.Counters)
  checkpoints: snapshots.Checkpoints = dataclasses.field(init=False)
  log: metrics_log.MetricsLog = dataclasses.field(init=False)
  record: str = dataclasses.field(init=False)
  callbacks: Sequence[Any] = ()
  stopped_by: str | None = None
  save_time_s: float = 0.0
  _is_amid_iteration: bool = dataclasses.field(init=False, default=False)
  # When `count_time` was called last; None before `iterate`.
  _counted_s: float | None = dataclasses.field(init=False, default=None)

  @abc.abstractmethod
  def get_state(self) -> dict[str, Any]:
    """Returns what a checkpoint keeps besides variables, as plain data."""

  @abc.abstractmethod
  def set_state(self, state: dict[str, Any]) -> None:
    """Restores what `get_state` returned."""

  @property
  def root_dir(self) -> str:
    """The run's folder."""
    return self.config.root_dir

  def path(self, *names: str) -> str:
    """Returns the path of a file of the run."""
    return os.path.join(self.root_dir, *names)

  def stop(self, signal_name: str) -> None:
    """Stops the run after this iteration."""
    self.stopped_by = signal_name

  def end(self, signal_name: str) -> None:
    """Ends the process if that loses only a part of one iteration.

    Another thread than that of the run calls it.
    """
    iteration = self.counters.iteration
    is_saved = self.checkpoints.iterations()[-1:] == [iteration]
    if self._is_amid_iteration and is_saved:
      self.checkpoints.wait()
      logging.info(
          '%s: ending before the end of the iteration. The same command'
          ' continues from iteration %d, which is saved.',
          signal_name,
          iteration,
      )
      self.write_status('stopped', signal_name)
      os._exit(1)

  @property
  def is_done(self) -> bool:
    """Whether all environment steps are done."""
    return self.counters.env_steps >= self.config.num_env_steps

  def counts(self) -> dict[str, int]:
    """Returns the counters of a row of metrics, by name."""
    return dict(
        iteration=self.counters.iteration, env_steps=self.counters.env_steps
    )

  def count_time(self) -> None:
    """Counts the seconds since the last call; `iterate` begins the clock."""
    if self._counted_s is not None:
      now_s = time.monotonic()
      self.counters.add(wall_time_s=now_s - self._counted_s)
      self._counted_s = now_s

  def write_status(self, state: str, message: str = '', **facts: Any) -> None:
    """Writes `status.json`; arguments as for `run_directory.write_status`."""
    run_directory.write_status(
        self.root_dir,
        state,
        message=message,
        env_steps=self.counters.env_steps,
        num_env_steps=self.config.num_env_steps,
        iteration=self.counters.iteration,
        **facts,
    )

  def save(self) -> None:
    """Writes a checkpoint."""
    self.count_time()
    self.checkpoints.save(
        self.counters.iteration,
        lambda: dict(
            version=STATE_VERSION,
            record=self.record,
            rows=self.log.save(),
            callbacks=[callback.get_state() for callback in self.callbacks],
            **self.get_state(),
        ),
    )

  def restore(self, snapshot: snapshots.Snapshot) -> None:
    """Continues from a snapshot.

    Raises:
      SetupError: If it is of another agent, or of other callbacks.
    """
    states = snapshot.state['callbacks']
    missing = len(states) - len(self.callbacks)
    if missing:  # The settings do not record those that a program passes.
      raise errors.SetupError(
          f'The run in {self.root_dir} began with {abs(missing)}'
          f' {"more" if missing > 0 else "fewer"} callbacks: give it those that'
          ' it began with, in their order, or choose another --root_dir.'
      )
    self.checkpoints.restore(snapshot)
    if min(self.counts().values()) < 0:  # It would hardly ever reach its end.
      raise errors.SetupError(
          f'The checkpoint {snapshot.folder} counts less than 0 steps. Bring'
          ' back a copy, or choose another --root_dir.'
      )
    self.set_state(snapshot.state)
    for callback, state in zip(self.callbacks, states, strict=True):
      callback.set_state(state)

  def resume_or_record(
      self, settings: dict[str, str], **facts: Any
  ) -> dict[str, int] | None:
    """Resumes from a checkpoint if there is one, and records the settings.

    Args:
      settings: The settings in force, from `configuration.operative`.
      **facts: More entries for `run.json`.

    Returns:
      The rows of metrics that the checkpoint counts on, for `MetricsLog`; None
      for a new run.

    Raises:
      SetupError: If settings were changed that cannot be, or in vain, or if the
        checkpoint is of another version.
      RunError: If the settings cannot be written.
    """
    snapshot = self.checkpoints.find()
    has_rows = metrics_log.has_rows(self.root_dir)
    if snapshot is None and has_rows:
      raise errors.SetupError(
          f'{self.root_dir} holds results and no checkpoint to continue from.'
          ' Move them away, or choose another --root_dir.'
      )
    harmless: Sequence[str] = ()
    record = rows = None
    if snapshot is not None:
      if snapshot.state.get('version') != STATE_VERSION:
        raise errors.SetupError(
            f'The checkpoint {snapshot.folder} is of another version of'
            ' rnd_agents. Continue with that version, or choose another'
            ' --root_dir.'
        )
      record = snapshot.state['record']
      fatal, harmless, of_learning = configuration.changes(
          json.loads(record)['settings'], settings
      )
      if fatal:
        self._forget_untrained(snapshot, fatal, has_rows)
        snapshot, harmless = None, ()
    if snapshot is not None:
      rows = snapshot.state['rows']
      self.restore(snapshot)
      if of_learning and self.is_done:
        raise errors.SetupError(
            'The run is finished; these changes would have no effect:'
            f' {"; ".join(of_learning)}. Choose another --root_dir, or raise'
            ' num_env_steps.'
        )
      for change in harmless:
        logging.warning('Continuing with a change: %s.', change)
      logging.info('Resuming at %d environment steps.', self.counters.env_steps)
    with self.raising_run_errors():
      self.record = run_directory.record_run(
          self.root_dir,
          settings,
          harmless,
          record,
          seed=self.config.seed,
          env_steps=self.counters.env_steps,
          **facts,
      )
    return rows

  def _forget_untrained(
      self, snapshot: snapshots.Snapshot, fatal: list[str], has_rows: bool
  ) -> None:
    """Removes the checkpoints of a run that has not begun to learn."""
    loop = snapshot.state.get('loop')  # A learner of one's own may have any.
    pretrained = isinstance(loop, dict) and loop.get('pretraining_steps', 0)
    if snapshot.iteration or pretrained or has_rows:
      raise errors.SetupError(
          f'The run in {self.root_dir} cannot continue with other settings:'
          f' {"; ".join(fatal)}. Set them back, or choose another --root_dir.'
      )
    logging.warning(
        'Nothing was trained yet. The run starts again with other settings:'
        ' %s.',
        '; '.join(fatal),
    )
    self.checkpoints.forget_after(-1)

  def iterate(
      self,
      iterations: Iterator[Any],
      prepare: Callable[[], None] = lambda: None,
  ) -> None:
    """Passes iterations to the callbacks until the run is done or stopped.

    The last iteration is on the disk afterwards.

    Args:
      iterations: What the callbacks get, one after the other.
      prepare: Called after the callbacks' `begin`, before the first iteration.
    """
    self._counted_s = time.monotonic()
    with contextlib.ExitStack() as stack:
      for callback in self.callbacks:
        stack.callback(callback.end, self)
        callback.begin(self)
      prepare()
      while not self.is_done and not self.stopped_by:
        self._is_amid_iteration = True
        iteration = next(iterations, None)
        self._is_amid_iteration = False
        if iteration is None:
          break
        for callback in self.callbacks:
          callback.after_iteration(self, iteration)
      if self.checkpoints.iterations()[-1] != self.counters.iteration:
        self.save()  # A signal came after the callback that saves, perhaps.
      self.checkpoints.wait()

  @contextlib.contextmanager
  def final_status(self) -> Iterator[None]:
    """Writes to `status.json` how the block ended; see `raising_run_errors`."""
    try:
      with self.raising_run_errors(), raising_out_of_memory():
        yield
        name = self.stopped_by
        self.write_status('stopped' if name else 'finished', name or '')
    except BaseException as error:
      with contextlib.suppress(OSError, errors.UserError):
        self.write_status('failed', f'{type(error).__name__}: {error}')
      raise

  @contextlib.contextmanager
  def raising_run_errors(self) -> Iterator[None]:
    """Turns failures of environments and of the disk into `RunError`s."""
    try:
      yield
    except (failures.EnvironmentFailure, evaluator.EndlessEpisode) as error:
      raise errors.RunError(f'{error}\n{self.checkpoints.kept()}') from error
    except (OSError, tf.errors.OpError, errors.RunError) as error:
      # A checkpoint may have made the folder again, without a run's first file,
      # or not have found it, which is a `RunError` already.
      missing = (FileNotFoundError, tf.errors.NotFoundError)
      if (
          isinstance(error.__cause__ or error, missing)
          and self.path('') in str(error)
          and not os.path.exists(self.path(run_files.RECORD_FILE))
      ):
        raise errors.RunError(
            f'The folder {self.root_dir} of the run was deleted, and with it'
            ' what the run had saved. Delete what is left of it; the same'
            ' command then starts again.'
        ) from error
      if isinstance(error, errors.RunError) or not snapshots.is_of_disk(error):
        raise
      raise errors.RunError(
          f'A file of {self.root_dir} could not be written:'
          f' {snapshots.error_text(error)} {self.checkpoints.kept()} Make room;'
          ' the same command then continues.'
      ) from error


@dataclasses.dataclass
class Run(BaseRun):
  """A run that trains an agent, as its callbacks see it.

  Attributes:
    seeds: The seeds.
    agent: The agent that learns.
    collector: Collects with all environments.
    evaluator: Plays the evaluations.
    loop: Collects and trains, once it is built.
    best_policy: Keeps the policy that evaluated best; None if no policies are
      saved.
    success_rate: Success rate of the last evaluation; None if unknown.
    return_mean: Mean return of the last evaluation; None if there was none.
    workers: Facts of each collecting worker in the last iteration.
  """

  config: 'experiment.Experiment'
  seeds: Seeds
  agent: tf_agent.TFAgent
  collector: collector_lib.Shards
  evaluator: evaluator.Evaluator
  loop: loops.Loop = dataclasses.field(init=False)
  best_policy: best_policy_lib.BestPolicy | None = None
  success_rate: float | None = None
  return_mean: float | None = None
  workers: Sequence[dict[str, float]] = ()

  @property
  def name(self) -> str:
    """Name of the environment."""
    return self.evaluator.environment.name

  @property
  def is_done(self) -> bool:
    """Whether all steps are done, or an evaluation was good enough."""
    return super().is_done or any(
        value is not None and least is not None and value >= least
        for value, least in (
            (self.success_rate, self.config.stop_at_success_rate),
            (self.return_mean, self.config.stop_at_return),
        )
    )

  def counts(self) -> dict[str, int]:
    """Returns the counters of a row of metrics, by name."""
    return dict(
        super().counts(),
        train_steps=int(self.agent.train_step_counter.numpy()),
        total_episodes=self.counters.episodes,
    )

  def summarize(
      self, phase: str, episodes: Sequence[episode_log.Episode]
  ) -> dict[str, float]:
    """Returns metrics of episodes of a phase, by name."""
    has_told_success = self.log.last(phase, 'success_rate') is not None
    return evaluator.summarize_episodes(episodes, has_told_success)

  def write_status(self, state: str, message: str = '', **facts: Any) -> None:
    """Writes `status.json`, with the workers' facts if there are any."""
    if self.workers:
      facts['workers'] = self.workers
    super().write_status(state, message, **facts)

  def get_state(self) -> dict[str, Any]:
    """Returns the success rate, and the states of collectors and loop."""
    return dict(
        success_rate=self.success_rate,
        collector=self.collector.get_state(),
        loop=self.loop.get_state(),
    )

  def set_state(self, state: dict[str, Any]) -> None:
    """Restores what `get_state` returned."""
    self.success_rate = state['success_rate']
    continues_episodes = self.collector.set_state(state['collector'])
    self.loop.set_state(state['loop'], continues_episodes)

  def restore(self, snapshot: snapshots.Snapshot) -> None:
    """Continues from a snapshot, with the learning rates of the settings."""
    rates = _learning_rates(self.agent)
    super().restore(snapshot)
    if self.config.stop_at_return is not None:
      self.return_mean = metrics_log.last_saved(
          self.root_dir, snapshot.state['rows']['rows'], 'eval', 'return_mean'
      )
    for optimizer, rate in rates:
      optimizer.learning_rate = rate

  @contextlib.contextmanager
  def raising_run_errors(self) -> Iterator[None]:
    """Turns failures of environments, numbers and disk into `RunError`s."""
    try:
      with super().raising_run_errors():
        yield
    except FloatingPointError as error:
      raise self._not_finite(error) from error
    except tf.errors.OpError as error:
      refusal = finite.refusal_message(error)
      if not refusal:
        raise
      raise self._not_finite(refusal) from error

  def _not_finite(self, reason: Any) -> errors.Diverged:
    """Returns the error of a run whose numbers are not finite."""
    reason = str(reason).rstrip('.')
    return errors.Diverged(
        f'In iteration {self.counters.iteration + 1}, at'
        f' {self.counters.env_steps} environment steps, {reason}.'
        f' {self.checkpoints.kept()} {self.config.training.remedy}, and give'
        ' the same command to continue from there.'
    )


@contextlib.contextmanager
def raising_out_of_memory() -> Iterator[None]:
  """Raises a RunError that names large settings where memory is short."""
  try:
    yield
  except (MemoryError, tf.errors.ResourceExhaustedError, ValueError) as error:
    # TensorFlow has one error for memory and disk.
    if snapshots.is_of_disk(error) or (
        isinstance(error, ValueError) and not failures.is_of_memory(error)
    ):
      raise
    wanted = re.search(r'shape ?[(\[][\d, ]+[)\]]', str(error))
    raise errors.RunError(
        'The memory does not suffice'
        + (f' for an array of {wanted[0]}' if wanted else '')
        + '. The largest numbers of the configuration are those of'
        f' {configuration.largest()}: lower what needs the memory.'
    ) from error


def _learning_rates(
    agent: tf_agent.TFAgent
) -> list[tuple[tf.keras.optimizers.Optimizer, float]]:
  """Returns pairs (optimizer, learning rate) where the rate is constant."""
  rates = [
      (optimizer, optimizer.get_config()['learning_rate'])
      for optimizer in agent.optimizers
  ]
  return [pair for pair in rates if not isinstance(pair[1], dict)]


# What SIGTERM did before each block of `stopping_on_signals` that lasts.
_before_blocks: list[Any] = []


def _let_go_of_signals() -> None:
  """Lets SIGTERM end a process that was forked, and the run not hear of it.

  An environment may end its own simulator so. The first Ctrl-C, which a
  terminal sends to all processes, still spares it: the run needs it to save.
  """
  if _before_blocks:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, _before_blocks[0])
    _before_blocks.clear()


os.register_at_fork(after_in_child=_let_go_of_signals)


@contextlib.contextmanager
def stopping_on_signals(
    stop: Callable[[str], Any], end: Callable[[str], Any] = lambda name: None
) -> Iterator[None]:
  """Calls a function on Ctrl-C and SIGTERM; a second signal acts as usual.

  Python calls it only between two operations, and an update may be one of
  minutes. So a thread answers at once, with a log line.

  Args:
    stop: Function of the name of the signal.
    end: Function of the name that the thread calls from `_PATIENCE_S` seconds
      after a SIGTERM on, as long as the block lasts.
  """
  usual: dict[int, Any] = {}

  def handle(number: int, _: Any) -> None:
    signal.signal(number, usual[number])
    stop(signal.Signals(number).name)

  ours, pythons = socket.socketpair()
  pythons.setblocking(False)
  thread = threading.Thread(target=_answer, args=(ours, end), daemon=True)
  wakeup_fd = None
  try:
    wakeup_fd = signal.set_wakeup_fd(pythons.fileno())
    for number in (signal.SIGINT, signal.SIGTERM):
      usual[number] = signal.signal(number, handle)
    _before_blocks.append(usual[signal.SIGTERM])
  except ValueError:
    pass  # Not the main thread: whoever runs this handles signals.
  thread.start()
  try:
    yield
  finally:
    if usual and _before_blocks:  # Not in a process that was forked.
      _before_blocks.pop()
    for restored, handler in usual.items():
      signal.signal(restored, handler)
    if wakeup_fd is not None:
      signal.set_wakeup_fd(wakeup_fd)
    pythons.send(_END)  # A process that was forked may keep it open.
    thread.join()
    pythons.close()
    ours.close()


def _answer(signals: socket.socket, end: Callable[[str], Any]) -> None:
  """Logs signals that arrive.

  Args:
    signals: Yields a byte for each signal, its number, and `_END` at the end.
    end: As for `stopping_on_signals`.
  """
  name = ''
  while True:
    try:
      number = signals.recv(1)
    except TimeoutError:
      end(name)
      continue
    if number == _END:
      return
    if number[0] in (signal.SIGINT, signal.SIGTERM):
      name = signal.Signals(number[0]).name
      logging.info('%s: saving after this iteration.', name)
    if name == 'SIGTERM':
      signals.settimeout(_PATIENCE_S)
