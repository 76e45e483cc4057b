# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The runs of a sweep: which there are, and what their folders tell of them."""

import collections
import json
import os
from typing import List, NamedTuple, Sequence, Tuple

from rnd_agents import run_files

LOG_FILE = 'sweep.log'
_TAIL_LINES = 6


class SweepError(ValueError):
  """A command line that cannot be run."""


class Job(NamedTuple):
  """One run.

  Attributes:
    name: what to call it.
    root_dir: its folder.
    flags: of train_eval.
    gin_files: paths of the files that the run depends on.
  """

  name: str
  root_dir: str
  flags: Tuple[str, ...]
  gin_files: Tuple[str, ...] = ()


class Outcome(NamedTuple):
  """What became of a job.

  Attributes:
    job: the `Job`.
    state: 'finished', 'failed', 'stopped' or 'waiting'.
    message: why it failed.
  """

  job: Job
  state: str
  message: str = ''


def parse_seeds(text: str) -> List[int]:
  """'0-3,7' -> [0, 1, 2, 3, 7], each once, in the order they are named."""
  seeds = {}
  for part in text.split(','):
    first, dash, last = part.strip().partition('-')
    if not first.isdecimal() or (dash and not last.isdecimal()):
      raise SweepError(
          f"--seeds={text}: {part.strip()!r} is no seed and no range; write"
          " '0-9', '0,3,5' or '0-3,7'."
      )
    last = int(last) if dash else int(first)
    if last < int(first):
      raise SweepError(f'--seeds={text}: {part.strip()} runs backwards.')
    seeds.update(dict.fromkeys(range(int(first), last + 1)))
  return list(seeds)


def make_jobs(
    gin_files: Sequence[str],
    seeds: Sequence[int],
    root_dir: str,
    bindings: Sequence[str] = (),
    paths: Sequence[Sequence[str]] = (),
) -> List[Job]:
  """The runs of a sweep: the first seed of every gin file comes first.

  Args:
    gin_files: As train_eval takes them.
    seeds: Seeds.
    root_dir: Folder of all the runs.
    bindings: Gin bindings for all of them.
    paths: For each of the gin files, it and those that it includes, as far as
      that is known.

  Returns:
    A list of `Job`.

  Raises:
    SweepError: If two gin files would share a folder.
  """
  names = [os.path.splitext(os.path.basename(file))[0] for file in gin_files]
  twice = [name for name, n in collections.Counter(names).items() if n > 1]
  if twice:
    raise SweepError(
        f'Two of the gin files are named {twice[0]}, and would share the folder'
        f' {os.path.join(root_dir, twice[0])}: rename one.'
    )
  jobs = []
  for seed in seeds:
    for i, (name, file) in enumerate(zip(names, gin_files, strict=True)):
      folder = os.path.join(root_dir, name, f'seed_{seed}')
      flags = (
          f'--gin_file={file}',
          f'--root_dir={folder}',
          f'--seed={seed}',
          *(f'--gin_bindings={binding}' for binding in bindings),
      )
      read = tuple(paths[i]) if paths else ()
      jobs.append(Job(f'{name} seed {seed}', folder, flags, read))
  return jobs


def read_status(root_dir: str, since_s: float = 0.0) -> dict:
  """The `status.json` of a run; empty where there is none.

  Args:
    root_dir: The run's folder.
    since_s: One that was written before this time is an earlier start's, and
      counts as none.
  """
  path = os.path.join(root_dir, 'status.json')
  try:
    if os.path.getmtime(path) < since_s:
      return {}
  except OSError:
    return {}
  return _read_json(path)


def is_finished(job: Job) -> bool:
  """Whether a run is done and was started with the very same settings.

  If not, train_eval decides: it goes on, or says what cannot be changed.
  """
  if read_status(job.root_dir).get('state') != 'finished':
    return False
  command = _read_json(os.path.join(job.root_dir, 'run.json')).get('command')
  if list(command or ())[2:] != list(job.flags):
    return False
  end = os.path.getmtime(os.path.join(job.root_dir, 'status.json'))
  return all(os.path.getmtime(path) <= end for path in job.gin_files)


def _read_json(path):
  try:
    with open(path, encoding='utf-8') as file:
      content = json.load(file)
  except (OSError, ValueError):
    return {}
  return content if isinstance(content, dict) else {}


def tail(path, start):
  """The last lines of a file, of what was written from `start` on."""
  try:
    with open(path, 'rb') as file:
      size = file.seek(0, os.SEEK_END)
      file.seek(max(start, size - 10_000))
      lines = file.read().decode(errors='replace').splitlines()
  except OSError as error:  # The run's folder is gone; other runs go on.
    return [f'It cannot be read: {error.strerror}.']
  return [line for line in lines if line.strip()][-_TAIL_LINES:]


def percent(job):
  """How far a run is, as its metrics say; they grow with each iteration."""
  total = read_status(job.root_dir).get('num_env_steps')
  try:
    with open(
        os.path.join(job.root_dir, run_files.METRICS_FILE), 'rb'
    ) as file:
      columns = file.readline().decode().strip().split(',')
      size = file.seek(0, os.SEEK_END)
      file.seek(max(0, size - 4_000))
      last = file.read().decode(errors='replace').splitlines()[-1].split(',')
    return f'{100 * int(last[columns.index("env_steps")]) // total} %'
  except (OSError, ValueError, IndexError, TypeError):
    return 'starting'


def result(job):
  """', return -103.2 at 500,000 steps', as far as there is any."""
  try:
    steps, returns = run_files.read_metrics(
        job.root_dir, run_files.EVAL, 'return_mean'
    )
  except (OSError, ValueError):
    return ''
  return f', return {returns[-1]:.6g} at {steps[-1]:,} steps'


def report(outcomes: Sequence[Outcome]) -> str:
  """A table of the runs that failed or stopped; empty if there are none."""
  lines = [('run', 'state', 'log')]
  for job, state, _ in outcomes:
    if state in ('failed', 'stopped'):
      lines.append((
          job.name,
          state.upper() if state == 'failed' else state,
          os.path.join(job.root_dir, LOG_FILE),
      ))
  if len(lines) == 1:
    return ''
  widths = [max(map(len, column)) for column in zip(*lines)]
  return '\n'.join(
      '  '.join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
      for line in lines
  )
