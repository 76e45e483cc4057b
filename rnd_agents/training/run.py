# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run: its parts, its seeds, and how it is saved, resumed and stopped."""

import contextlib
import dataclasses
import os
import signal
from typing import (
  Any,
  Callable,
  Dict,
  Iterator,
  NamedTuple,
  Optional,
  Sequence,
  Tuple,
  TYPE_CHECKING,
)

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.collecting import shards
from rnd_agents.environments import failures
from rnd_agents.evaluation import evaluator
from rnd_agents.networks import precision
from rnd_agents.statistics import finite
from rnd_agents.training import checkpoints as snapshots
from rnd_agents.training import configuration
from rnd_agents.training import loops
from rnd_agents.training import metrics_log
from rnd_agents.training import run_directory

if TYPE_CHECKING:
  from rnd_agents.training import callbacks as callbacks_lib
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

  def of_shard(self, index: int) -> Tuple[int, int]:
    """Returns (seed of the environments, seed of the actions) of a shard."""
    if index == 0:
      actions = self.loop.generate_state(1, np.uint64)[0]
      return self._environments, int(actions)
    sequence = np.random.SeedSequence(self.seed, spawn_key=(1, index))
    actions = sequence.generate_state(1, np.uint64)[0]
    environments = sequence.generate_state(3)[2]
    return int(environments) % 2**30, int(actions)


class Result(NamedTuple):
  """Outcome of a run.

  Attributes:
    finished: False if a signal stopped it; the same command continues it.
    eval_return: mean return of the last evaluation; None before the first.
    env_steps: environment steps, random ones included.
    wall_time_s: seconds of the loop, without the start-up.
    picture: path of the learning curve; None if it could not be drawn.
  """

  finished: bool
  eval_return: Optional[float]
  env_steps: int
  wall_time_s: float
  picture: Optional[str]


# Version of what checkpoints hold besides variables; no other can be resumed.
STATE_VERSION = 10


@dataclasses.dataclass
class Run:
  """A run as its callbacks see it.

  Attributes:
    config: The `experiment.Experiment`.
    seeds: The seeds.
    agent: The agent that learns.
    collector: Collects with all environments.
    evaluator: Plays the evaluations.
    counters: The `loops.Counters`.
    loop: The `loops.Loop`.
    checkpoints: The `Checkpoints` of the run.
    log: The `metrics_log.MetricsLog`, once the run has started.
    callbacks: The `callbacks.Callback`s of the run, in their order.
    stopped_by: Name of the signal that stopped the run, or None.
    save_time_s: Seconds that the last checkpoint took; 0 once an iteration has
      counted them.
    workers: Facts of each collecting worker in the last iteration.
  """

  config: 'experiment.Experiment'
  seeds: Seeds
  agent: tf_agent.TFAgent
  collector: shards.Shards
  evaluator: evaluator.Evaluator
  counters: loops.Counters = dataclasses.field(default_factory=loops.Counters)
  loop: Optional[loops.Loop] = None
  checkpoints: Optional[snapshots.Checkpoints] = None
  log: Optional[metrics_log.MetricsLog] = None
  callbacks: Sequence['callbacks_lib.Callback'] = ()
  stopped_by: Optional[str] = None
  save_time_s: float = 0.0
  workers: Sequence[Dict[str, float]] = ()

  @property
  def root_dir(self) -> str:
    """The run's folder."""
    return self.config.root_dir

  @property
  def name(self) -> str:
    """Name of the environment."""
    return self.evaluator.environment.name

  def path(self, *names: str) -> str:
    """Returns the path of a file of the run."""
    return os.path.join(self.root_dir, *names)

  def stop(self, signal_name: str) -> None:
    """Stops the run after this iteration."""
    self.stopped_by = signal_name

  @property
  def is_done(self) -> bool:
    """Whether all steps are done, or the success rate is reached."""
    if self.counters.env_steps >= self.config.num_env_steps:
      return True
    least = self.config.stop_at_success_rate
    if least is None:
      return False
    if self.log is None:
      rate = metrics_log.last_success_rate(
          self.root_dir, self.counters.iteration
      )
    else:
      rate = self.log.last('eval', 'success_rate')
    return rate is not None and rate >= least

  def counts(self) -> Dict[str, int]:
    """Returns the counters of a row of metrics, by name."""
    return dict(
        iteration=self.counters.iteration,
        env_steps=self.counters.env_steps,
        train_steps=int(self.agent.train_step_counter.numpy()),
        total_episodes=self.counters.episodes,
    )

  def summarize(self, phase: str, episodes: Sequence[Any]) -> Dict[str, float]:
    """Returns metrics of episodes of a phase, by name."""
    has_told_success = self.log.last(phase, 'success_rate') is not None
    return evaluator.summarize_episodes(episodes, has_told_success)

  def write_status(self, state: str, message: str = '') -> None:
    """Writes `status.json`; `state` as for `run_directory.write_status`."""
    run_directory.write_status(
        self.root_dir,
        state,
        message=message,
        env_steps=self.counters.env_steps,
        num_env_steps=self.config.num_env_steps,
        iteration=self.counters.iteration,
        **(dict(workers=self.workers) if self.workers else {}),
    )

  def save(self) -> None:
    """Writes a checkpoint."""
    self.checkpoints.save(
        self.counters.iteration,
        dict(
            version=STATE_VERSION,
            collector=self.collector.get_state(),
            loop=self.loop.get_state(),
            callbacks=[callback.get_state() for callback in self.callbacks],
        ),
    )

  def restore(self, snapshot: snapshots.Snapshot) -> None:
    """Continues from a snapshot.

    Raises:
      SetupError: If it is of another agent, or of another version.
    """
    rates = _learning_rates(self.agent)
    self.checkpoints.restore(snapshot)
    # Those of the settings win over those of the checkpoint.
    for optimizer, rate in rates:
      optimizer.learning_rate = rate
    episodes_go_on = self.collector.set_state(snapshot.state['collector'])
    self.loop.set_state(snapshot.state['loop'], episodes_go_on)
    for callback, state in zip(
        self.callbacks, snapshot.state['callbacks'], strict=True
    ):
      callback.set_state(state)

  @contextlib.contextmanager
  def raising_run_errors(self) -> Iterator[None]:
    """Turns failures of environments, numbers and disk into `RunError`s."""
    try:
      with snapshots.disk_errors(self.root_dir, self.checkpoints.kept):
        yield
    except FloatingPointError as error:
      raise self._not_finite(error) from error
    except (
        failures.EnvironmentFailure,
        evaluator.EndlessEpisode,
    ) as error:
      raise errors.RunError(f'{error}\n{self.checkpoints.kept()}') from error
    except tf.errors.OpError as error:
      refusal = finite.refusal_message(error)
      if not refusal:
        raise
      raise self._not_finite(refusal) from error

  def _not_finite(self, reason: Any) -> errors.RunError:
    """Returns the error of a run whose numbers are not finite."""
    reason = str(reason).rstrip('.')
    return errors.RunError(
        f'In iteration {self.counters.iteration + 1}, at'
        f' {self.counters.env_steps} environment steps, {reason}.'
        f' {self.checkpoints.kept()} {self.config.training.REMEDY}, and give'
        ' the same command to continue from there.'
    )


def _learning_rates(agent):
  """Returns pairs (optimizer, learning rate) where the rate is constant."""
  rates = [
      (optimizer, optimizer.get_config()['learning_rate'])
      for optimizer in agent.optimizers
  ]
  return [pair for pair in rates if not isinstance(pair[1], dict)]


def resume_or_record(
    run: Run, settings: Dict[str, str]
) -> Optional[snapshots.Snapshot]:
  """Resumes from a checkpoint if there is one, and records the settings.

  Args:
    run: The run.
    settings: The settings in force, from `configuration.operative`.

  Returns:
    The `checkpoints.Snapshot` that the run continues from, or None.

  Raises:
    SetupError: If settings were changed that cannot be, or in vain.
  """
  snapshot = run.checkpoints.find()
  has_rows = metrics_log.has_rows(run.root_dir)
  if snapshot is None and has_rows:
    raise errors.SetupError(
        f'{run.root_dir} holds results and no checkpoint to continue from. Move'
        ' them away, or choose another --root_dir.'
    )
  harmless = []
  if snapshot is not None:
    before = run_files.read_run_record(run.root_dir).get('settings', {})
    fatal, harmless, of_learning = configuration.changes(before, settings)
    if fatal:
      _forget_untrained(run, snapshot, fatal, has_rows)
      snapshot, harmless = None, []
  if snapshot is not None:
    _restore(run, snapshot)
    if of_learning and run.is_done:
      raise errors.SetupError(
          'The run is finished; these changes would have no effect:'
          f' {"; ".join(of_learning)}. Choose another --root_dir, or raise'
          ' num_env_steps.'
      )
    for change in harmless:
      logging.warning('Continuing with a change: %s.', change)
    logging.info('Resuming at %d environment steps.', run.counters.env_steps)
  run_directory.record_run(
      run.root_dir,
      settings,
      harmless,
      seed=run.config.seed,
      env_steps=run.counters.env_steps,
      # What compute_dtype = 'auto' came to, where that was asked for.
      auto_compute_dtype=precision.layer_policy(precision.AUTO).compute_dtype,
  )
  return snapshot


def _restore(run, snapshot):
  if snapshot.state.get('version') != STATE_VERSION:
    raise errors.SetupError(
        f'The checkpoint {snapshot.folder} is of another version of'
        ' rnd_agents. Continue with that version, or choose another --root_dir.'
    )
  run.restore(snapshot)


def _forget_untrained(run, snapshot, fatal, has_rows):
  """Removes the checkpoints of a run that has not begun to learn."""
  pretraining_steps = snapshot.state.get('loop', {}).get('pretraining_steps', 0)
  if snapshot.iteration or pretraining_steps or has_rows:
    raise errors.SetupError(
        f'The run in {run.root_dir} cannot continue with other settings:'
        f' {"; ".join(fatal)}. Set them back, or choose another --root_dir.'
    )
  logging.warning(
      'Nothing was trained yet. The run starts again with other settings: %s.',
      '; '.join(fatal),
  )
  run.checkpoints.forget_after(-1)


@contextlib.contextmanager
def stopping_on_signals(stop: Callable[[str], Any]) -> Iterator[None]:
  """Calls a function on Ctrl-C and SIGTERM; a second signal acts as usual.

  Args:
    stop: Function of the name of the signal.
  """
  signals = (signal.SIGINT, signal.SIGTERM)
  usual = {}

  def handle(number, _):
    signal.signal(number, usual[number])
    name = signal.Signals(number).name
    logging.info('%s: saving after this iteration.', name)
    stop(name)

  try:
    for number in signals:
      usual[number] = signal.signal(number, handle)
  except ValueError:
    pass  # Not the main thread: whoever runs this handles signals.
  try:
    yield
  finally:
    for number, handler in usual.items():
      signal.signal(number, handler)
