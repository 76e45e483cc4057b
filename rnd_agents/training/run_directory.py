# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: who may write to it, how it was made, how it stands."""

import contextlib
import datetime
import errno
import fcntl
import importlib.metadata
import json
import os
import platform
import socket
import subprocess
import sys

from absl import logging
import gin

from rnd_agents import files
from rnd_agents.training import errors

RECORD_FILE = 'run.json'
STATUS_FILE = 'status.json'
CONFIG_FILE = 'operative_config.gin'
_LOCK_FILE = '.lock'
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


_held = set()  # File descriptors of the locks of this process.


def _let_go():
  for descriptor in _held:
    with contextlib.suppress(OSError):
      os.close(descriptor)
  _held.clear()


os.register_at_fork(after_in_child=_let_go)


@contextlib.contextmanager
def locked(root_dir):
  """Creates the folder and keeps other processes out of it.

  The operating system gives the lock back when the process ends, however it
  does.

  Args:
    root_dir: The run's folder.

  Raises:
    SetupError: If the folder cannot be written, or another process is at it.
  """
  path = os.path.join(root_dir, _LOCK_FILE)
  try:
    os.makedirs(root_dir, exist_ok=True)
    # Not truncated: it says who has the lock.
    file = open(path, 'a+', encoding='utf-8')
  except OSError as error:
    raise errors.SetupError(
        f'--root_dir={root_dir} cannot be written: {error.strerror}. Choose'
        ' another folder.'
    ) from error
  with file:
    # A lock belongs to the open file, which worker processes would inherit and
    # keep when this process is killed.
    _held.add(file.fileno())
    try:
      _lock(file, root_dir)
      yield
    finally:
      _held.discard(file.fileno())
      # Not left to the closing: a worker may just have been forked.
      with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_UN)


def _lock(file, root_dir):
  """Locks the open file and writes down who has it."""
  try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except OSError as error:
    if error.errno in (errno.EAGAIN, errno.EACCES):
      file.seek(0)
      owner = file.read().strip() or 'another process'
      raise errors.SetupError(
          f'--root_dir={root_dir} is in use by {owner}. Wait for it, stop it,'
          ' or choose another folder.'
      ) from error
    logging.warning(
        '%s cannot be locked (%s): see to it that no other process trains'
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


def read_record(root_dir):
  """The record of the run in a folder, a dict; empty where there is none."""
  return _read_json(os.path.join(root_dir, RECORD_FILE))


def record_run(root_dir, settings, changes=(), **facts):
  """Writes `run.json` and `operative_config.gin`: how to get this run again.

  Where there is a record already, the run is resumed: what is written is of
  this start, `starts` keeps the ones before it.

  Args:
    root_dir: The run's folder.
    settings: What `settings.operative` returned.
    changes: Sentences on the settings that are others than before.
    **facts: More entries for `run.json`.
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
      starts=[*read_record(root_dir).get('starts', ()), start],
      python=platform.python_version(),
      machine=platform.platform(),
      processor=processor(),
      cpus=os.cpu_count(),
      commit=start['commit'],
      packages={name: _package_version(name) for name in _RECORDED_PACKAGES},
  )
  with files.replacing(os.path.join(root_dir, RECORD_FILE)) as file:
    json.dump(record, file, indent=2)
  with files.replacing(os.path.join(root_dir, CONFIG_FILE)) as file:
    file.write(gin.operative_config_str())


def read_status(root_dir):
  """How the run in a folder stands, a dict; empty where there is none."""
  return _read_json(os.path.join(root_dir, STATUS_FILE))


def write_status(root_dir, state, **facts):
  """Writes `status.json`.

  Args:
    root_dir: The run's folder.
    state: 'running' (written as the run goes on; one that was killed stays
      so), 'finished', 'stopped' (by a signal; the same command goes on) or
      'failed'.
    **facts: More entries.
  """
  with files.replacing(os.path.join(root_dir, STATUS_FILE)) as file:
    json.dump(dict(state=state, time=_now(), **facts), file, indent=2)


def _read_json(path):
  try:
    with open(path, encoding='utf-8') as file:
      return json.load(file)
  except (FileNotFoundError, ValueError):
    return {}


def _now():
  return datetime.datetime.now(datetime.timezone.utc).isoformat(
      timespec='seconds'
  )


def _package_version(name):
  try:
    return importlib.metadata.version(name)
  except importlib.metadata.PackageNotFoundError:
    return None  # Run from a checkout that is not installed.


def processor():
  """The CPU's name, or None."""
  try:
    with open('/proc/cpuinfo', encoding='utf-8') as file:
      for line in file:
        if line.startswith('model name'):
          return line.partition(':')[2].strip()
  except OSError:
    pass
  return platform.processor() or None


def _commit():
  """The commit of the checkout that the package runs from, or None."""
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
