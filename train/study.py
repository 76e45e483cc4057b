# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A study of Optuna whose trials are runs of train_eval, which may be killed.

A killed study equals one that was not killed:

* A trial is stored with all its values or not at all. The seed of its sampler
  is made of its number, so that no sampler has a state to lose.
* A process locks the folder of its trial. The system releases the lock when it
  ends, not while it is suspended: what runs unlocked is continued.
* Evaluations are reported in their order, each once, and each decides whether
  the trial is pruned: nothing depends on when files are read.
"""

import ast
from collections.abc import Iterator, Sequence
import contextlib
import json
import operator
import os
from typing import Any
import zlib

from rnd_agents import errors
from rnd_agents import files
from rnd_agents import run_files
from train import run_processes
from train import sweep
from train import trials

_PATIENCE_S = 60.0  # With another process that writes to SQLite.


def import_optuna() -> Any:
  """Returns Optuna, which logs warnings only; raises MissingPackage."""
  try:
    import optuna
  except ImportError as error:
    raise errors.MissingPackage(
        'train.tune needs Optuna: pip install "rnd_agents[tune]", with Python'
        ' 3.11 or later.'
    ) from error
  optuna.logging.set_verbosity(optuna.logging.WARNING)
  return optuna


@contextlib.contextmanager
def _using_database(*also: type[Exception]) -> Iterator[None]:
  """Turns errors of the database into one sentence, without its address.

  Args:
    *also: More types of such errors.

  Raises:
    SetupError: In their place.
  """
  optuna = import_optuna()
  from sqlalchemy import exc

  try:
    yield
  except errors.UserError:
    raise
  except (exc.SQLAlchemyError, optuna.exceptions.OptunaError, *also) as error:
    reason = str(error).partition('\n')[0]
    raise errors.SetupError(
        f'The database of the study cannot be used: {reason} With a database'
        ' that can be, the same command continues the study.') from error


def distributions(space: trials.Space) -> dict[str, Any]:
  """Returns the space as Optuna's distributions."""
  of = import_optuna().distributions
  found = {}
  for name, (kind, arguments) in space.items():
    is_real = kind.endswith('uniform')
    make = of.FloatDistribution if is_real else of.IntDistribution
    try:
      if kind == 'choice':  # Its values are texts: storages hold no tuples.
        found[name] = of.CategoricalDistribution(arguments)
      else:
        if len(arguments) != 2:
          raise ValueError('it needs a low and a high end')
        low, high = map(ast.literal_eval, arguments)
        if not is_real:  # Optuna would round.
          low, high = operator.index(low), operator.index(high)
        found[name] = make(low, high, log=kind.startswith('log'))
    except (TypeError, ValueError, SyntaxError) as error:
      raise errors.InvalidValue(
          f'{name} = {kind}({", ".join(arguments)}): {error}') from error
  return found


class Study:
  """Runs trials of a study, beside other processes that do."""

  def __init__(
      self,
      search: trials.Search,
      root_dir: str,
      url: str | None,
      paths: Sequence[str],
      schedule: trials.Schedule,
      runner: run_processes.Runner,
  ):
    """Opens the study, or creates it; refuses one of another search.

    Args:
      search: What it tries.
      root_dir: Folder of the study.
      url: URL of a database; None for SQLite in the folder.
      paths: Paths of all gin files that are read.
      schedule: When runs evaluate and end.
      runner: Runs the seeds of a trial.
    """
    self._optuna = import_optuna()
    self._search, self._root_dir = search, root_dir
    self._paths, self._schedule, self._runner = paths, schedule, runner
    self._distributions = distributions(search.space)
    self._failed: dict[int, list[run_processes.Job]] = {}  # By trial.
    self._has_warned = False
    folder = os.path.abspath(root_dir)
    self._name = os.path.basename(folder)
    pruner = self._optuna.pruners.MedianPruner(
        n_warmup_steps=search.prune_after_env_steps)
    settings = json.loads(json.dumps(dict(
        search._asdict(), space=list(search.space.items()))))
    # Optuna raises the latter two for a driver and for an old database.
    with run_processes.lock_folder(root_dir), _using_database(
        ImportError, RuntimeError):
      storages = self._optuna.storages
      self._storage = storages.get_storage(url or storages.RDBStorage(
          f'sqlite:///{folder}/study.db',
          engine_kwargs=dict(connect_args=dict(timeout=_PATIENCE_S))))
      self._study = self._optuna.create_study(
          study_name=self._name, storage=self._storage, direction='maximize',
          load_if_exists=True, pruner=pruner)
      if not self._study.user_attrs and not self._study.trials:
        self._study.set_user_attr('search', settings)
      known = self._study.user_attrs.get('search', {})
    for key, value in settings.items():
      if known.get(key) != value or self._study.direction.name != 'MAXIMIZE':
        raise errors.InvalidValue(
            f'The study {self._name} was begun with {key} = {known.get(key)},'
            f' not {value}: choose another --root_dir.')

  def run(self, num_trials: int) -> int:
    """Runs trials until the study has `num_trials`; returns an exit status."""
    print(f'{self._name}: {len(self._study.trials)} of {num_trials} trials,'
          f' runs {self._runner.description}.', flush=True)
    with _using_database():
      while self._runner.stopped_by is None:
        with contextlib.ExitStack() as stack:
          number = self._claim(num_trials, stack)
          if number is None:
            break
          self._run(number)
        self._write_best()
    for jobs in self._failed.values():
      sweep.print_unfinished(jobs, ['failed'] * len(jobs))
    if self._runner.stopped_by is not None:
      print('The same command continues the study.')
      return self._runner.stopped_by[1]
    return 1 if self._failed else 0

  def _claim(self, num_trials: int, stack: contextlib.ExitStack) -> int | None:
    """Locks a trial until `stack` closes; returns its number, if any."""
    states = self._optuna.trial.TrialState
    with run_processes.lock_folder(self._root_dir):
      known = self._study.get_trials()
      for each in known:
        if each.state == states.RUNNING and each.number not in self._failed:
          with contextlib.suppress(BlockingIOError):
            stack.enter_context(run_processes.lock_folder(
                self._folder(each.number), waits=False))
            return each.number
      if len(known) >= num_trials:
        return None
      number = len(known)
      seed = zlib.crc32(f'{self._search.sampler_seed} {number}'.encode())
      # Drawn in a copy, so that the storage gets all values at once.
      copy = self._optuna.create_study(
          direction='maximize',
          sampler=self._optuna.samplers.TPESampler(seed=seed))
      copy.add_trials(known)
      params = copy.ask(self._distributions).params
      stack.enter_context(run_processes.lock_folder(self._folder(number)))
      self._study.add_trial(self._optuna.trial.create_trial(
          state=states.RUNNING, params=params,
          distributions=self._distributions))
      return number

  def _folder(self, number: int) -> str:
    return os.path.join(self._root_dir, f'trial_{number:04d}')

  def _run(self, number: int) -> None:
    """Runs a trial to its end, if nothing fails or stops it."""
    search, pruned = self._search, self._optuna.trial.TrialState.PRUNED
    trial = self._optuna.trial.Trial(
        self._study,
        self._storage.get_trial_id_from_study_id_trial_number(
            self._storage.get_study_id_from_name(self._name), number))
    known = self._study.get_trials()[number]
    values = trials.bindings_of(known.params)
    folders = [
        os.path.join(self._folder(number), f'seed_{x}')
        for x in search.seeds]
    jobs = [
        run_processes.make_job(
            f'trial {number} seed {x}', folder, search.gin_files, x,
            [*search.gin_bindings, *values], self._paths)
        for x, folder in zip(search.seeds, folders)]
    reported = next_step = -1 if known.last_step is None else known.last_step
    value, end = None, ''

    def watch() -> bool:
      """Reports new evaluations; returns whether the trial ends early."""
      nonlocal reported, next_step, value, end
      points, has_diverged = trials.read_points(
          folders, search.metric, self._schedule)
      for point in points:
        if point.env_steps < next_step:
          continue
        if point.env_steps > reported:  # Else before a kill.
          trial.report(point.value, point.env_steps)
          reported = point.env_steps
        next_step = point.env_steps + 1
        if point.is_last:
          value = point.value
        elif trial.should_prune():
          end = 'pruned'
          return True
      if not points:
        self._warn_of_metric(folders[0])
      end = 'diverged' if has_diverged else ''
      return has_diverged

    if not watch():
      waiting = [job for job in jobs if not (
          job.is_finished() or trials.has_diverged(job.root_dir))]
      states = self._runner.run(waiting, watch)
      failed = [
          job for job, state in zip(waiting, states) if state == 'failed'
          and not trials.has_diverged(job.root_dir)]
      if not end and (failed or self._runner.stopped_by is not None):
        self._failed[number] = failed
        return
    if value is None and not end:
      if not any(map(trials.has_diverged, folders)):  # No such metric.
        run_files.read_metrics(folders[0], run_files.EVAL, search.metric)
      end = 'diverged'
    if end:  # For the sampler a pruned trial is worse than any complete one.
      trial.set_user_attr('end', end)
      self._study.tell(number, state=pruned)
    else:
      self._study.tell(number, value)
    outcome = end or f'{search.metric} {value:.6g}'
    if not end and not any(
        run_files.has_metric(folder, run_files.EVAL, search.metric)
        for folder in folders):
      outcome += (
          f' (no run has reported {search.metric}: check that the environment'
          ' gives is_success)')
    print(f'Trial {number}, {", ".join(values)}: {outcome}', flush=True)

  def _warn_of_metric(self, root_dir: str) -> None:
    """Warns once if a run has evaluations without the metric.

    It may be misspelled. Or only later evaluations have it, so that this is not
    an error before the end of a trial.
    """
    metric = self._search.metric
    if self._has_warned or metric == trials.SUCCESS_RATE:
      return
    with contextlib.suppress(errors.UserError):  # A run that just begins.
      run_files.read_metrics(root_dir, run_files.EVAL, 'return_mean')
      try:
        run_files.read_metrics(root_dir, run_files.EVAL, metric)
      except errors.InvalidValue as error:
        self._has_warned = True
        print(f'Warning: {error} If the name is wrong, stop the study, and'
              ' start one with another --metric and --root_dir.', flush=True)

  def _write_best(self) -> None:
    """Writes best.gin, for train_eval and sweeps."""
    try:
      best = self._study.best_trial
    except ValueError:  # There is none yet.
      return
    search = self._search
    names = [
        os.path.abspath(name) if os.path.isfile(name)
        else f'{name.removesuffix(".gin")}.gin'  # One of the package.
        for name in search.gin_files]
    lines = [
        f'# Trial {best.number}: {search.metric} {best.value:.6g}.',
        *(f'include {name!r}' for name in names),
        *search.gin_bindings, *trials.bindings_of(best.params)]
    with run_processes.lock_folder(self._root_dir), files.replacing(
        os.path.join(self._root_dir, 'best.gin')) as file:
      file.write('\n'.join(lines) + '\n')
