# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: its lock, its record and its status."""

from collections.abc import Iterator, Sequence
import contextlib
import datetime
import errno
import fcntl
import importlib.metadata
import json
import os
import platform
import re
import socket
import subprocess
import sys
import time
from typing import Any, TextIO

from absl import logging
import gin

from rnd_agents import errors
from rnd_agents import files
from rnd_agents import run_files
from rnd_agents.networks import precision

# What gin writes of a configurable of which nothing can be said, such as each
# spec of TF-Agents.
_WITHOUT_PARAMETERS = re.compile(
    r'^# Parameters for .*:\n# =+\n# None\.\n+', re.MULTILINE
)
_LOCK_FILE = '.lock'
# A run that was stopped saves its policies first, which takes some seconds.
_LOCK_WAIT_S = 20.0
_EARLIER_FOLDER = 'earlier'  # Of runs that were set aside.
_RECORDED_PACKAGES = (
    'rnd_agents',
    'tensorflow',
    'tensorflow-probability',
    'tf-agents',
    'gymnasium',
    'numpy',
    'ale-py',
    'minigrid',
    'mujoco',
    'box2d',
)

_held: set[int] = set()  # File descriptors of the locks of this process.


def _close_locks() -> None:
  for descriptor in _held:
    with contextlib.suppress(OSError):
      os.close(descriptor)
  _held.clear()


os.register_at_fork(after_in_child=_close_locks)


@contextlib.contextmanager
def locked(root_dir: str) -> Iterator[None]:
  """Creates the folder and locks it against other processes.

  The operating system releases the lock when the process ends, also by a kill.

  Args:
    root_dir: The run's folder.

  Raises:
    SetupError: If the folder cannot be written, or read again, or another
      process uses it for the next 20 seconds, too.
  """
  path = os.path.join(root_dir, _LOCK_FILE)
  if set(path) & set('[]\\'):
    raise errors.SetupError(
        f'--root_dir={root_dir} has a bracket or a backslash, which TensorFlow'
        ' takes for a pattern when it reads checkpoints. Choose another folder.'
    )
  try:
    os.makedirs(root_dir, exist_ok=True)
    # Not truncated: it names the process that holds the lock.
    file = open(path, 'a+', encoding='utf-8')
  except OSError as error:
    raise errors.SetupError(
        f'--root_dir={root_dir} cannot be written: {error.strerror}. Choose'
        ' another folder.'
    ) from error
  with file:
    # A lock belongs to the open file. Worker processes inherit that, and would
    # hold the lock after this process is killed.
    _held.add(file.fileno())
    try:
      _lock(file, root_dir)
      yield
    finally:
      _held.discard(file.fileno())
      # Closing is not enough: a worker that was just forked has the file open.
      with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_UN)


def set_aside(root_dir: str) -> None:
  """Moves what a run's folder holds into `earlier/N` inside it, for a new run.

  Plots and tables leave these out.

  Args:
    root_dir: The run's folder; it may be missing.

  Raises:
    SetupError: If it is the folder of something else, or cannot be written, or
      another process uses it.
  """
  with locked(root_dir):
    stays = {_LOCK_FILE, _EARLIER_FOLDER}
    # A kill in between leaves no run that looks whole.
    names = set(os.listdir(root_dir)) - stays
    if not names:
      return
    of_runs = {run_files.RECORD_FILE, run_files.STATUS_FILE}
    if not of_runs & names:
      raise errors.SetupError(
          f'--root_dir={root_dir} is not the folder of a run: --fresh would'
          ' move all that it holds. Choose another folder.'
      )
    number = 1
    while os.path.lexists(
        path := os.path.join(root_dir, _EARLIER_FOLDER, str(number))
    ):
      number += 1
    try:
      os.makedirs(path)
      # Last what says that it is a run, should this be killed.
      for name in sorted(names, key=lambda name: (name in of_runs, name)):
        os.rename(os.path.join(root_dir, name), os.path.join(path, name))
    except OSError as error:
      raise errors.SetupError(
          f'The earlier run in --root_dir={root_dir} cannot be set aside:'
          f' {error.strerror}. Choose another folder.'
      ) from error
    logging.info('The earlier run is in %s.', path)


def _lock(file: TextIO, root_dir: str) -> None:
  """Locks the open file and writes the name of this process to it."""
  try:
    _wait_for_lock(file, root_dir)
  except OSError as error:
    logging.warning(
        '%s cannot be locked (%s): make sure that no other process trains'
        ' there.',
        root_dir,
        error.strerror,
    )
  try:
    file.truncate(0)
    file.write(f'process {os.getpid()} on {socket.gethostname()}')
    file.flush()
  except OSError as error:
    raise errors.SetupError(
        f'--root_dir={root_dir} cannot be written: {error.strerror}. Make room,'
        ' or choose another folder.'
    ) from error


def _wait_for_lock(file: TextIO, root_dir: str) -> None:
  """Locks the open file, once a process that is ending has released it."""
  deadline_s = None
  while True:
    try:
      fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
      return
    except OSError as error:
      if error.errno not in (errno.EAGAIN, errno.EACCES):
        raise
      file.seek(0)
      owner = file.read().strip() or 'another process'
      if deadline_s is None:
        deadline_s = time.monotonic() + _LOCK_WAIT_S
        logging.info(
            '%s is in use by %s: waiting up to %.0f s for it to end.',
            root_dir,
            owner,
            _LOCK_WAIT_S,
        )
      elif time.monotonic() > deadline_s:
        raise errors.SetupError(
            f'--root_dir={root_dir} is in use by {owner}. Wait for it, stop it,'
            ' or choose another folder.'
        ) from error
    time.sleep(0.1)


def record_run(
    root_dir: str,
    settings: dict[str, str],
    changes: Sequence[str] = (),
    saved: str | None = None,
    **facts: Any,
) -> str:
  """Writes `run.json` and `operative_config.gin`, which reproduce the run.

  In a resumed run both describe the newest start; `starts` in `run.json` lists
  all of them.

  Args:
    root_dir: The run's folder.
    settings: From `configuration.operative`.
    changes: Sentences, one for each setting that differs from the last start.
    saved: Content of `run.json` that the checkpoint holds, if there is one.
    **facts: More entries for `run.json`.

  Returns:
    The content of `run.json`, for checkpoints.
  """
  start = dict(
      time=_now(),
      command=[sys.executable] + sys.argv,
      commit=_commit(),
      changes=list(changes),
      env_steps=facts.get('env_steps', 0),
  )
  record = dict(
      facts,
      settings=settings,
      command=start['command'],
      starts=[*_starts(root_dir, saved), start],
      python=platform.python_version(),
      machine=platform.platform(),
      processor=processor(),
      cpus=os.cpu_count(),
      # Decides the last digits, and the speed of convolutions.
      tf_enable_onednn_opts=os.environ.get('TF_ENABLE_ONEDNN_OPTS'),
      commit=start['commit'],
      packages={name: _package_version(name) for name in _RECORDED_PACKAGES},
  )
  with files.replacing(os.path.join(root_dir, run_files.RECORD_FILE)) as file:
    file.write(text := json.dumps(record, indent=2))
  with files.replacing(os.path.join(root_dir, run_files.CONFIG_FILE)) as file:
    file.write(_WITHOUT_PARAMETERS.sub('', gin.operative_config_str()))
  return text


def _starts(root_dir: str, saved: str | None) -> list[dict[str, Any]]:
  """Returns the starts so far, from `run.json` unless it was changed."""
  record = run_files.read_run_record(root_dir)
  starts = record.get('starts')
  starts = starts if isinstance(starts, list) else []
  known = None if saved is None else json.loads(saved)
  if known is None or record == known:
    return starts
  known = known['starts']
  # There may be starts that were killed before their first checkpoint.
  if len(starts) > len(known) and starts[: len(known)] == known:
    return starts
  logging.warning(
      '%s has changed since it was written, or is missing: it is written again'
      ' from the checkpoint.',
      os.path.join(root_dir, run_files.RECORD_FILE),
  )
  return known


def write_status(root_dir: str, state: str, **facts: Any) -> None:
  """Writes `status.json`.

  Args:
    root_dir: The run's folder.
    state: 'running' (also after a kill), 'finished', 'stopped' (by a signal;
      the same command resumes) or 'failed'.
    **facts: More entries.
  """
  with files.replacing(os.path.join(root_dir, run_files.STATUS_FILE)) as file:
    json.dump(dict(state=state, time=_now(), **facts), file, indent=2)


def _now() -> str:
  return datetime.datetime.now(datetime.timezone.utc).isoformat(
      timespec='seconds'
  )


def _package_version(name: str) -> str | None:
  try:
    return importlib.metadata.version(name)
  except importlib.metadata.PackageNotFoundError:
    return None  # A checkout that is not installed.


def processor() -> str | None:
  """Returns the name of the CPU, or None."""
  return precision.cpu_info('model name') or platform.processor() or None


def _commit() -> str | None:
  """Returns the commit of the checkout that this file is in, or None."""
  try:
    result = subprocess.run(
        ['git', 'rev-parse', 'HEAD'],
        cwd=os.path.dirname(os.path.abspath(__file__)),
        capture_output=True,
        text=True,
        check=False,
    )
  except OSError:
    return None  # No git here.
  return result.stdout.strip() or None
