# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learns, evaluates and saves, so that any of it can be broken off.

All that decides how a run goes on lies in its checkpoint: variables, the
episodes in progress, and what each way of learning adds.
"""

import abc
import contextlib
import os
import time
from typing import NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf

from rnd_agents.environments import errors as environment_errors
from rnd_agents.evaluation import evaluator
from rnd_agents.training import checkpoints
from rnd_agents.training import errors
from rnd_agents.training import metrics_log
from rnd_agents.training import progress
from rnd_agents.training import seeded_policy
from rnd_agents.training import stop_signals

_SECONDS_BETWEEN_REPORTS = 10.0


class Schedule(NamedTuple):
  """When a run does what; `trainer.train_eval` explains the fields."""

  num_env_steps: int
  warm_up_env_steps: int
  eval_interval_env_steps: int
  checkpoint_interval_iterations: int
  stop_at_success_rate: Optional[float]


class Learned(NamedTuple):
  """What one iteration brought.

  Attributes:
    metrics: floats by name.
    finite: whether each of the loop's floating variables is finite, [n].
    timings: seconds by name.
  """

  metrics: dict
  finite: np.ndarray
  timings: dict


class TrainingLoop(abc.ABC):
  """The state of a run and the steps of its loop.

  Subclasses know how to learn: they collect and train in `_learn`.
  """

  # What to do about numbers that are not finite.
  REMEDY = 'Lower the learning rate'

  def __init__(
      self,
      root_dir,
      agent,
      environment,
      evaluator_,
      seeds,
      action_seed,
      num_checkpoints=3,
      watcher=None,
      **tracked,
  ):
    """Builds the loop; nothing runs and nothing is written yet.

    Args:
      root_dir: The run's folder.
      agent: A `TFAgent`; its `curiosity` is a `RandomNetworkDistillation` or
        None.
      environment: A `VectorPyEnvironment`.
      evaluator_: An `Evaluator` of the agent's policy.
      seeds: A `numpy.random.SeedSequence` that nothing else draws from.
      action_seed: An unsigned integer of 64 bits that the actions of the
        collect policy are drawn from.
      num_checkpoints: Checkpoints that stay.
      watcher: A `watching.Watcher`, or None.
      **tracked: What else of TensorFlow's a checkpoint holds.
    """
    self._watcher = watcher
    self._agent = agent
    self._environment = environment
    self._evaluator = evaluator_
    self._seeds = seeds
    self._root_dir = root_dir
    generator = tf.random.Generator.from_seed(int(action_seed) >> 1)
    self._collect_policy = seeded_policy.SeededPolicy(
        agent.collect_policy, generator
    )
    self._floating_variables = _floating_variables(agent)
    self._log = None
    self._resumed = False
    self._on_progress = lambda: None
    self._stopped_by = None  # The name of the signal, once there was one.
    # Whether an evaluation is due that a signal came before.
    self._owes_evaluation = False
    self._warned_of_episodes = False
    self._iteration = tf.Variable(0, dtype=tf.int64, name='iteration')
    self._episodes = tf.Variable(0, dtype=tf.int64, name='episodes')
    self._wall_time_s = tf.Variable(0.0, dtype=tf.float64, name='wall_time_s')
    self.checkpoints = checkpoints.Checkpoints(
        os.path.join(root_dir, 'checkpoints'),
        max_to_keep=num_checkpoints,
        agent=agent,
        collecting=generator,
        iteration=self._iteration,
        episodes=self._episodes,
        wall_time_s=self._wall_time_s,
        **tracked,
    )

  # ---------------------------------------------------------------------------
  # What subclasses do.

  @property
  @abc.abstractmethod
  def env_steps(self):
    """Environment steps so far, of all environments together."""

  def load(self):  # noqa: B027
    """Reads the files that only a new run needs; before anything is written.

    Raises:
      OSError: If there are none.
      ValueError: If they do not fit.
    """

  @abc.abstractmethod
  def _begin(self):
    """What a new run does before its first iteration."""

  def _prepare(self, schedule):  # noqa: B027
    """What else comes before the first iteration.

    Long work, which ends early at a signal; called again in a run that goes on.
    """

  @abc.abstractmethod
  def _learn(self):
    """One iteration; returns `Learned`."""

  @abc.abstractmethod
  def _own_state(self):
    """What a checkpoint keeps besides variables, picklable, by name."""

  @abc.abstractmethod
  def _restore_own_state(self, state, episodes_go_on):
    """Goes on from `_own_state()`.

    Args:
      state: A dict with it.
      episodes_go_on: Whether the episodes in progress do, too.
    """

  def close(self):  # noqa: B027
    """Lets go of what the loop holds, where it holds anything."""

  # ---------------------------------------------------------------------------
  # Where the run stands.

  @property
  def iteration(self):
    return int(self._iteration.numpy())

  @property
  def wall_time_s(self):
    return float(self._wall_time_s.numpy())

  def is_done(self, schedule):
    """Whether nothing is left to do, maybe since an earlier start."""
    if self.env_steps >= schedule.num_env_steps:
      return True
    if schedule.stop_at_success_rate is None:
      return False
    rate = metrics_log.last_value(
        self._root_dir, 'eval', 'success_rate', self.iteration
    )
    return rate is not None and rate >= schedule.stop_at_success_rate

  @property
  def stopped_by(self):
    """The name of the signal that stopped the run, or None."""
    return self._stopped_by

  @property
  def log(self):
    """The `MetricsLog`, once the run has started."""
    return self._log

  # ---------------------------------------------------------------------------
  # Saving and going on.

  def restore(self, snapshot):
    """Goes on from a `checkpoints.Snapshot`.

    Raises:
      SetupError: If it is of another agent.
    """
    self.checkpoints.restore(snapshot)
    self._resumed = True
    state = snapshot.state
    # Not of older versions.
    self._owes_evaluation = state.get('owes_evaluation', False)
    if self._watcher is not None and state['watcher'] is not None:
      self._watcher.restore(state['watcher'])
    episodes_go_on = True
    try:
      if state['environment'] is None:
        raise environment_errors.StateNotRestored('It was not saved.')
      self._environment.set_state(state['environment'])
    except (
        NotImplementedError,
        environment_errors.StateNotRestored,
        environment_errors.EnvironmentFailure,
    ) as error:
      episodes_go_on = False
      self._environment.failure = None
      # Other episodes than those already played.
      seed = np.random.SeedSequence(
          (*self._seeds.generate_state(1), self.iteration, self.env_steps)
      )
      self._environment.seed(int(seed.generate_state(1)[0]) % 2**30)
      logging.warning(
          'The episodes in progress cannot go on; new ones begin. %s', error
      )
    self._restore_own_state(state, episodes_go_on)
    logging.info('Resuming at %d environment steps.', self.env_steps)

  def _save(self):
    start = time.monotonic()
    self.checkpoints.save(
        self.iteration,
        dict(
            environment=self._environment_state(),
            watcher=None if self._watcher is None else self._watcher.state(),
            owes_evaluation=self._owes_evaluation,
            **self._own_state(),
        ),
    )
    return time.monotonic() - start

  def _environment_state(self):
    try:
      return self._environment.get_state()
    except NotImplementedError as error:
      if not self._warned_of_episodes:
        self._warned_of_episodes = True
        logging.info('A resumed run will begin new episodes: %s', error)
      return None

  # ---------------------------------------------------------------------------
  # The loop.

  def run(
      self,
      schedule,
      on_start=lambda log: None,
      on_progress=lambda: None,
  ):
    """Runs to the end, or to a signal.

    Args:
      schedule: A `Schedule`.
      on_start: Called with the `MetricsLog` where the run is a new one.
      on_progress: Called every few seconds.

    Raises:
      RunError: If it has to stop.
    """
    self._on_progress = on_progress
    with stop_signals.calling(self._stop):
      self._log = metrics_log.MetricsLog(
          self._root_dir, self.iteration if self._resumed else None
      )
      if not self._resumed:
        on_start(self._log)
        with self._environment_errors():
          self._begin()
        self._save()
      with self._environment_errors():
        self._prepare(schedule)
      bar = progress.Progress(schedule.num_env_steps, self.env_steps)
      try:
        self._repeat(schedule, bar)
        self.checkpoints.wait()
      finally:
        bar.close()
    if self._stopped_by:
      logging.info(
          'Stopped by %s at %d environment steps.',
          self._stopped_by,
          self.env_steps,
      )

  def _warm_up(self, schedule, do):
    """Random steps until there are enough, or a signal; `do` makes a few."""
    total = schedule.warm_up_env_steps
    reported = time.monotonic()
    while self.env_steps < total and not self._stopped_by:
      do()
      if time.monotonic() - reported > _SECONDS_BETWEEN_REPORTS:
        reported = time.monotonic()
        logging.info('%d of %d random steps', self.env_steps, total)
        self._on_progress()

  def _repeat(self, schedule, bar):
    """Iterations until the run is done or stopped."""
    interval = schedule.eval_interval_env_steps
    next_eval = _next_multiple(self.env_steps, interval)
    save_time_s = 0.0
    reported = time.monotonic()
    if self._owes_evaluation and not self._stopped_by:
      # Unless an earlier start made it, and was killed before it saved.
      if self._log.last('eval', 'iteration') != self.iteration:
        self._evaluate(schedule)
      self._owes_evaluation = False
    done = self.is_done(schedule)
    while not done and not self._stopped_by:
      metrics = self._iterate(save_time_s)
      if self.env_steps >= min(next_eval, schedule.num_env_steps):
        next_eval = _next_multiple(self.env_steps, interval)
        # Who stops a run may have little time until it is killed: the next
        # start evaluates.
        self._owes_evaluation = bool(self._stopped_by)
        if not self._owes_evaluation:
          self._evaluate(schedule)
          done = self.is_done(schedule)
      bar.update(
          self.env_steps,
          train=metrics.get('return_mean'),
          eval=self._log.last('eval', 'return_mean'),
          bonus=metrics.get('bonus_mean'),
      )
      save_time_s = 0.0
      due = self.iteration % schedule.checkpoint_interval_iterations == 0
      if due or done or self._stopped_by:
        save_time_s = self._save()
      if time.monotonic() - reported > _SECONDS_BETWEEN_REPORTS:
        reported = time.monotonic()
        self._on_progress()

  def _show(self, episodes, done):
    """Shows an evaluation's episodes, where there is a watcher."""
    if self._watcher is None:
      return
    self._watcher.see(self.env_steps, episodes)
    # A signal may come during the evaluation, too.
    if not self._stopped_by:
      self._watcher.after_evaluation(
          self._log, self.env_steps, self.wall_time_s, episodes, done
      )

  def _stop(self, signal_name):
    self._stopped_by = signal_name

  def _iterate(self, save_time_s):
    """One iteration; returns and logs its metrics."""
    start = time.monotonic()
    steps_before = self.env_steps
    learned = self._learn()
    metrics = learned.metrics
    self._check_finite(metrics, learned.finite)
    self._iteration.assign_add(1)
    end = time.monotonic()
    steps = self.env_steps - steps_before
    self._wall_time_s.assign_add(end - start + save_time_s)
    episodes = self._environment.pop_episodes()
    if episodes:
      self._episodes.assign_add(len(episodes))
      metrics.update(self._summary('train', episodes))
    self._log.write(
        'train',
        self._counters(),
        metrics,
        dict(
            wall_time_s=self.wall_time_s,
            save_time_s=save_time_s,
            env_steps_per_s=steps / (end - start + save_time_s),
            collect_env_steps_per_s=steps / learned.timings['collect_time_s'],
            train_env_steps_per_s=steps / learned.timings['train_time_s'],
            **learned.timings,
        ),
    )
    return metrics

  def _are_finite(self):
    """Whether each of the floating variables is finite, booleans [n]."""
    return tf.stack([
        tf.reduce_all(tf.math.is_finite(variable))
        for variable in self._floating_variables.values()
    ])

  def _check_finite(self, metrics, finite):
    """Raises RunError where a loss, a statistic or a variable is not finite.

    Args:
      metrics: Numbers by name, of the iteration that is not counted yet.
      finite: Whether each of the floating variables is finite.
    """
    bad = [
        f'{name} became {value}'
        for name, value in metrics.items()
        if not np.isfinite(value)
    ]
    bad += [
        f'the {name} is not finite'
        for name, good in zip(self._floating_variables, finite, strict=True)
        if not good
    ]
    if not bad:
      return
    more = f' (and {len(bad) - 1} more)' if len(bad) > 1 else ''
    raise errors.RunError(
        f'In iteration {self.iteration + 1}, at {self.env_steps} environment'
        f' steps, {bad[0]}{more}. {self.checkpoints.kept()} {self.REMEDY},'
        ' and give the same command to go on from there.'
    )

  def _evaluate(self, schedule):
    """Plays, writes a row and shows."""
    start = time.monotonic()
    with self._environment_errors():
      episodes = self._evaluator.run()
    metrics = self._summary('eval', episodes)
    eval_time_s = time.monotonic() - start
    self._log.write(
        'eval',
        self._counters(),
        metrics,
        dict(
            wall_time_s=self.wall_time_s + eval_time_s, eval_time_s=eval_time_s
        ),
    )
    self._show(episodes, self.is_done(schedule))
    self._wall_time_s.assign_add(time.monotonic() - start)

  def _summary(self, phase, episodes):
    has_told_success = self._log.last(phase, 'success_rate') is not None
    return evaluator.summarize(episodes, has_told_success)

  def _counters(self):
    return dict(
        iteration=self.iteration,
        env_steps=self.env_steps,
        train_steps=int(self._agent.train_step_counter.numpy()),
        total_episodes=int(self._episodes.numpy()),
    )

  @contextlib.contextmanager
  def _environment_errors(self):
    """Makes a `RunError` of what an environment raises."""
    try:
      yield
    except Exception as error:
      for environment in (self._environment, self._evaluator.environment):
        if environment.failure is not None:
          raise errors.RunError(
              f'{environment.failure}\n{self.checkpoints.kept()}'
          ) from error
      if isinstance(
          error,
          (environment_errors.EnvironmentFailure, evaluator.EndlessEpisode),
      ):
        raise errors.RunError(f'{error}\n{self.checkpoints.kept()}') from error
      raise


def _floating_variables(agent):
  """Those of policy, values and RND by name."""
  groups = {'policy or value': agent.collect_policy.variables()}
  if agent.curiosity is not None:
    groups['RND'] = agent.curiosity.variables
  return {
      f'{group} {variable.name}': variable
      for group, variables in groups.items()
      for variable in variables
      if variable.dtype.is_floating
  }


def as_numpy(nest):
  """A nest of tensors as NumPy arrays."""
  return tf.nest.map_structure(lambda x: x.numpy(), nest)


def as_tensors(nest):
  """A nest of NumPy arrays as tensors."""
  return tf.nest.map_structure(tf.convert_to_tensor, nest)


def _next_multiple(value, interval):
  """Smallest multiple of `interval` above `value`."""
  return (value // interval + 1) * interval
