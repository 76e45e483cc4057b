# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Callbacks of a run: each does one thing after an iteration.

`experiment.run` calls them in the order in which `create_callbacks` lists them.
"""

import sys
import time
from typing import Any

from absl import logging
import tqdm

from rnd_agents.evaluation import best_policy
from rnd_agents.training import loops
from rnd_agents.training import pictures
from rnd_agents.training import runs

_SECONDS_BETWEEN_REPORTS = 10.0


class Callback:
  """Watches a run; a subclass overrides some of the methods."""

  def begin(self, run: runs.Run) -> None:
    """Called once, before the first iteration and after resuming."""

  def after_preparation(self, run: runs.Run, is_evaluation_due: bool) -> None:
    """Called during pretraining and random steps, after each piece of them.

    Args:
      run: The run.
      is_evaluation_due: Whether the policy should be evaluated now.
    """

  def after_iteration(self, run: runs.Run, iteration: loops.Iteration) -> None:
    """Called after each iteration."""

  def end(self, run: runs.Run) -> None:
    """Called once, also if the run has failed."""

  def get_state(self) -> Any:
    """Returns the state for a checkpoint, picklable."""

  def set_state(self, state: Any) -> None:
    """Restores a state of `get_state`."""


def create_callbacks(run: runs.Run) -> list[Callback]:
  """Returns the callbacks of a run, in their order."""
  return [
      CheckFinite(),
      Log(),
      Evaluate(pictures.Pictures(run), run.best_policy),
      Progress(),
      *run.config.callbacks,
      Checkpoint(run.config.checkpoint_interval_iterations),
      Status(),
  ]


class CheckFinite(Callback):
  """Raises FloatingPointError if a loss or a variable is not finite."""

  def after_iteration(self, run: runs.Run, iteration: loops.Iteration) -> None:
    loops.raise_if_not_finite(iteration.metrics, iteration.finite)


class Log(Callback):
  """Counts the iteration and writes a row of metrics."""

  def after_iteration(self, run: runs.Run, iteration: loops.Iteration) -> None:
    run.counters.add(iterations=1, episodes=len(iteration.episodes))
    run.count_time()
    if iteration.episodes:
      iteration.metrics.update(run.summarize('train', iteration.episodes))
    run.workers = run.collector.report()
    timings, steps = iteration.timings, iteration.num_env_steps
    time_s = timings['collect_time_s'] + timings['train_time_s']
    run.log.write(
        'train',
        run.counts(),
        iteration.metrics,
        dict(
            wall_time_s=run.counters.wall_time_s,
            save_time_s=run.save_time_s,
            env_steps_per_s=steps / (time_s + run.save_time_s),
            collect_env_steps_per_s=steps / timings['collect_time_s'],
            train_env_steps_per_s=steps / timings['train_time_s'],
            **timings,
            **{
                f'worker_{i}_{name}': value
                for i, worker in enumerate(run.workers)
                for name, value in worker.items()
            },
        ),
    )
    run.save_time_s = 0.0


class Evaluate(Callback):
  """Plays evaluation episodes at multiples of the interval and at the end."""

  def __init__(
      self, pictures_: pictures.Pictures, best: best_policy.BestPolicy | None
  ):
    """Creates the callback.

    Args:
      pictures_: Drawn after evaluations.
      best: Keeps the policy that evaluated best, or None.
    """
    self._pictures = pictures_
    self._best = best
    # Environment steps when an evaluation was due last.
    self._due_env_steps = 0
    # Whether a signal has postponed an evaluation that was due, or cut it off.
    self._is_owed = False

  def begin(self, run: runs.Run) -> None:
    if self._is_owed and not run.stopped_by:
      self._evaluate(run)
      run.save()  # With its row.

  def after_preparation(self, run: runs.Run, is_evaluation_due: bool) -> None:
    if is_evaluation_due:
      self._evaluate(run)

  def after_iteration(self, run: runs.Run, iteration: loops.Iteration) -> None:
    env_steps = run.counters.env_steps
    interval = run.config.eval_interval_env_steps
    next_env_steps = (self._due_env_steps // interval + 1) * interval
    if env_steps < min(next_env_steps, run.config.num_env_steps):
      return
    self._due_env_steps = env_steps
    self._evaluate(run)

  def _evaluate(self, run: runs.Run) -> None:
    """Plays the episodes, writes their row and draws."""
    begun = time.monotonic()
    episodes = run.evaluator.run(lambda: run.stopped_by is not None)
    # A scheduler may kill the process soon after SIGTERM: the next start
    # evaluates instead, and draws, which takes longer than the last step.
    self._is_owed = run.stopped_by is not None
    if self._is_owed:
      return
    eval_time_s = time.monotonic() - begun
    run.count_time()
    run.log.write(
        'eval',
        run.counts(),
        run.summarize('eval', episodes),
        dict(
            wall_time_s=run.counters.wall_time_s, eval_time_s=eval_time_s
        ),
    )
    run.success_rate = run.log.last('eval', 'success_rate')
    run.return_mean = run.log.last('eval', 'return_mean')
    if self._best is not None:
      self._best.after_evaluation(run.return_mean)
    self._pictures.after_evaluation(run, episodes)

  def get_state(self) -> Any:
    return dict(
        due_env_steps=self._due_env_steps,
        is_owed=self._is_owed,
        best_return_mean=self._best and self._best.return_mean,
        pictures=self._pictures.get_state(),
    )

  def set_state(self, state: Any) -> None:
    self._due_env_steps = state['due_env_steps']
    self._is_owed = state['is_owed']
    if self._best is not None:
      self._best.return_mean = state['best_return_mean']
    self._pictures.set_state(state['pictures'])


class Progress(Callback):
  """Shows environment steps, their rate and the last returns.

  A bar on a terminal, log lines elsewhere.
  """

  def __init__(self) -> None:
    self._reported_s = time.monotonic()
    # Counted from the first iteration on; before it, TensorFlow traces.
    self._start: tuple[float, int] | None = None
    self._notes: dict[str, float] = {}
    self._bar: tqdm.tqdm | None = None

  def begin(self, run: runs.Run) -> None:
    if sys.stderr and sys.stderr.isatty():
      self._bar = tqdm.tqdm(
          total=run.config.num_env_steps,
          initial=run.counters.env_steps,
          unit=' steps',
          unit_scale=True,
          dynamic_ncols=True,
          smoothing=0.05,
      )

  def after_iteration(self, run: runs.Run, iteration: loops.Iteration) -> None:
    notes = dict(
        train=iteration.metrics.get('return_mean'),
        eval=run.log.last('eval', 'return_mean'),
        bonus=iteration.metrics.get('bonus_mean'),
    )
    # The last value of each stays.
    self._notes.update((k, v) for k, v in notes.items() if v is not None)
    text = ', '.join(f'{k} {v:.4g}' for k, v in self._notes.items())
    env_steps, total = run.counters.env_steps, run.config.num_env_steps
    if self._bar is not None:
      self._bar.set_postfix_str(text, refresh=False)
      self._bar.update(min(env_steps, total) - self._bar.n)
      return
    now = time.monotonic()
    if self._start is None:
      self._start = (now, env_steps)
      return
    if now - self._reported_s < _SECONDS_BETWEEN_REPORTS:
      return
    self._reported_s = now
    start, done = self._start
    rate = (env_steps - done) / max(now - start, 1e-9)
    logging.info(
        '%d of %d steps (%d %%), %d steps/s, %d s left: %s',
        env_steps,
        total,
        min(100, 100 * env_steps // total),
        rate,
        max(total - env_steps, 0) / max(rate, 1e-9),
        text,
    )

  def end(self, run: runs.Run) -> None:
    if self._bar is not None:
      self._bar.close()  # It stays on the screen.


class Checkpoint(Callback):
  """Writes checkpoints at an interval, and at the end."""

  # During pretraining and random steps.
  SECONDS_BETWEEN_SAVES = 60.0

  def __init__(
      self,
      interval_iterations: int | None = None,
      interval_s: float = SECONDS_BETWEEN_SAVES,
  ):
    """Creates the callback.

    Args:
      interval_iterations: Number of iterations between checkpoints; None for
        `interval_s`.
      interval_s: Seconds between checkpoints.
    """
    self._interval = interval_iterations
    self._interval_s = interval_s
    self._next_s = time.monotonic() + interval_s

  def after_preparation(
      self, run: runs.BaseRun, is_evaluation_due: bool
  ) -> None:
    """Saves once a minute, in at most a twentieth of the time."""
    start = time.monotonic()
    if start > self._next_s:
      run.save()
      end = time.monotonic()
      self._next_s = end + max(self._interval_s, 20 * (end - start))

  def after_iteration(
      self, run: runs.BaseRun, iteration: loops.Iteration
  ) -> None:
    start = time.monotonic()
    if self._interval is None:
      is_due = start >= self._next_s
    else:
      is_due = run.counters.iteration % self._interval == 0
    if is_due or run.is_done or run.stopped_by:
      run.save()
      end = time.monotonic()
      run.save_time_s = end - start
      self._next_s = end + self._interval_s


class Status(Callback):
  """Keeps `status.json` up to date."""

  def __init__(self) -> None:
    self._reported_s = time.monotonic()

  def begin(self, run: runs.BaseRun) -> None:
    run.write_status('running')

  def after_preparation(
      self, run: runs.BaseRun, is_evaluation_due: bool
  ) -> None:
    self._report(run, f'{run.counters.env_steps} steps before the first update')

  def after_iteration(
      self, run: runs.BaseRun, iteration: loops.Iteration
  ) -> None:
    self._report(run)

  def _report(self, run: runs.BaseRun, message: str = '') -> None:
    if time.monotonic() - self._reported_s < _SECONDS_BETWEEN_REPORTS:
      return
    self._reported_s = time.monotonic()
    if message:
      logging.info(message)
    run.write_status('running')
