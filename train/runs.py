# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The runs of a sweep: seeds, command lines, and whether they are finished."""

import collections
import os
import re
from typing import List, Mapping, NamedTuple, Sequence, Tuple

from rnd_agents import errors
from rnd_agents import run_files

_TAIL_LINES = 6


class SweepError(errors.InvalidValue):
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

  @property
  def log(self) -> str:
    """Path of the file with the output of the run."""
    return os.path.join(self.root_dir, 'sweep.log')


def parse_seeds(text: str) -> List[int]:
  """'0-3,7' -> [0, 1, 2, 3, 7], each once, in the order they are named."""
  seeds = {}
  for part in text.split(','):
    match = re.fullmatch(r'(\d+)(?:-(\d+))?', part.strip())
    if not match or int(match[1]) > int(match[2] or match[1]):
      raise SweepError(
          f"--seeds={text}: {part.strip()!r} is no seed and no range; write"
          " '0-9', '0,3,5' or '0-3,7'."
      )
    part = range(int(match[1]), int(match[2] or match[1]) + 1)
    seeds.update(dict.fromkeys(part))
  return list(seeds)


def make_jobs(
    gin_files: Mapping[str, Sequence[str]],
    seeds: Sequence[int],
    root_dir: str,
    bindings: Sequence[str] = (),
) -> List[Job]:
  """Makes the jobs of a sweep; the first seed of every gin file comes first.

  Args:
    gin_files: The paths that each gin file reads: its own, and those of the
      files that it includes.
    seeds: Seeds.
    root_dir: Folder of all the runs.
    bindings: Gin bindings for all of them.

  Returns:
    A list of `Job`.

  Raises:
    SweepError: If two gin files would share a folder.
  """
  names = {f: os.path.splitext(os.path.basename(f))[0] for f in gin_files}
  name, number = collections.Counter(names.values()).most_common(1)[0]
  if number > 1:
    raise SweepError(
        f'Two of the gin files are named {name}, and would share the folder'
        f' {os.path.join(root_dir, name)}: rename one.'
    )
  jobs = []
  for seed in seeds:
    for file, name in names.items():
      folder = os.path.join(root_dir, name, f'seed_{seed}')
      flags = (
          f'--gin_file={file}',
          f'--root_dir={folder}',
          f'--seed={seed}',
          *(f'--gin_bindings={binding}' for binding in bindings),
      )
      jobs.append(
          Job(f'{name} seed {seed}', folder, flags, tuple(gin_files[file]))
      )
  return jobs


def is_finished(job: Job) -> bool:
  """Returns whether a run is finished with the same flags and gin files.

  If it is not, train_eval resumes it, or says which setting cannot change.
  """
  if run_files.read_status(job.root_dir).get('state') != 'finished':
    return False
  command = run_files.read_record(job.root_dir).get('command')
  if list(command or ())[2:] != list(job.flags):
    return False
  end_s = os.path.getmtime(os.path.join(job.root_dir, run_files.STATUS_FILE))
  return all(os.path.getmtime(path) <= end_s for path in job.gin_files)


def tail(path: str, start: int) -> List[str]:
  """Returns the last lines of a file, none from before the byte `start`."""
  try:
    with open(path, 'rb') as file:
      size = file.seek(0, os.SEEK_END)
      file.seek(max(start, size - 10_000))
      lines = file.read().decode(errors='replace').splitlines()
  except OSError as error:  # The folder of the run was deleted.
    return [f'It cannot be read: {error.strerror}.']
  return [line for line in lines if line.strip()][-_TAIL_LINES:]
