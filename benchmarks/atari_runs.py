# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs of a few updates in processes of their own: for `atari_speed`."""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from benchmarks import atari_rivals
from benchmarks import paired
from rnd_agents import run_files

RIVALS = os.path.abspath(atari_rivals.__file__)
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Run(NamedTuple):
  """Outcome of a process that trained.

  Attributes:
    seconds: time of each update after the first, which traces.
    steps: agent steps of an update.
    parts: by name, seconds of each update.
    peak_gib: peak of the resident memory.
    foreign_load: while it ran, start included.
    versions: versions of its libraries, if it reports them.
  """

  seconds: list[float]
  steps: float
  parts: dict
  peak_gib: float
  foreign_load: str
  versions: str = ''

  def steps_per_s(self):
    return self.steps / statistics.median(self.seconds)


def wait(process, log, until=None):
  """Waits for a process to end; returns the peak of its memory in GiB.

  Args:
    process: A `subprocess.Popen`.
    log: The file with its output.
    until: Polled; once it is true, the process is asked to end.
  """
  asked = until is None
  try:
    while True:
      pid, status, usage = os.wait4(process.pid, os.WNOHANG)
      if pid:
        process.returncode = os.waitstatus_to_exitcode(status)
        break
      if not asked and until():
        process.send_signal(signal.SIGTERM)
        asked = True
      time.sleep(0.2)
  finally:
    if process.returncode is None:
      process.kill()
      process.wait()
  if process.returncode and not (asked and until is not None):
    log.seek(0)
    sys.exit(log.read()[-3000:])
  return usage.ru_maxrss / 2**20


def run_ours(gin_file, bindings, num_updates):
  """Runs `train.train_eval` for some iterations.

  Args:
    gin_file: Its gin file.
    bindings: Lines of gin. They must not let it evaluate, nor end.
    num_updates: Iterations that count.

  Returns:
    A `Run`.
  """
  load = paired.ForeignLoad()
  num_rows = num_updates + 1
  with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile(
      'w+'
  ) as log:
    root_dir = os.path.join(folder, 'run')
    process = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'train.train_eval',
            f'--gin_file={gin_file}',
            f'--root_dir={root_dir}',
            *(f'--gin_bindings={line}' for line in bindings),
        ],
        cwd=_ROOT,
        stdout=log,
        stderr=log,
    )

    def rows():
      if not os.path.exists(
          os.path.join(root_dir, run_files.TIMINGS_FILE)
      ):
        return []
      return run_files.read_rows(root_dir, run_files.TIMINGS_FILE)

    peak_gib = wait(process, log, lambda: len(rows()) >= num_rows)
    log.seek(0)
    done = rows()[:num_rows]
    if len(done) < num_rows:
      sys.exit(log.read()[-3000:])
  clock = [row.values['wall_time_s'] for row in done]
  seconds = [b - a for a, b in zip(clock, clock[1:])]
  steps = (done[-1].env_steps - done[0].env_steps) / len(seconds)
  parts = {
      name: [row.values[f'{column}_time_s'] for row in done[1:]]
      for name, column in (
          ('collecting', 'collect'),
          ('training', 'train'),
          ('saving', 'save'),
      )
  }
  return Run(seconds, steps, parts, peak_gib, str(load))


def run_cleanrl(python, script, num_envs, rollout_length, num_updates):
  """Runs CleanRL's script for some updates.

  Args:
    python: A Python that can run it.
    script: Path of ppo_rnd_envpool.py.
    num_envs: Environments.
    rollout_length: Steps of each environment.
    num_updates: Updates that count.

  Returns:
    A `Run`.
  """
  load = paired.ForeignLoad()
  steps = num_envs * rollout_length
  with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile(
      'w+'
  ) as log:
    out = os.path.join(folder, 'updates.json')
    process = subprocess.Popen(
        [
            python,
            RIVALS,
            os.path.abspath(script),
            out,
            '--no-cuda',
            f'--num-envs={num_envs}',
            f'--num-steps={rollout_length}',
            '--num-iterations-obs-norm-init=1',
            f'--total-timesteps={(num_updates + 1) * steps}',
        ],
        cwd=folder,  # The script writes to a folder `runs`.
        stdout=log,
        stderr=log,
    )
    peak_gib = wait(process, log)
    with open(out, encoding='utf-8') as file:
      result = json.load(file)
  updates = result['updates'][1:]
  return Run(
      [sum(update.values()) for update in updates],
      steps,
      {name: [u[name] for u in updates] for name in atari_rivals.Phases.NAMES},
      peak_gib,
      str(load),
      result['versions'],
  )
