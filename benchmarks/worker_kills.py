# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kills processes of a run with workers at random moments; compares the run.

    python -m benchmarks.worker_kills [--victim=worker] [--kills=20]

A victim is a worker, the learner, or one of Ray's own processes on this machine
(the raylet, its agent, the head of the cluster), whose end the learner does not
survive. A run whose learner has ended is started again with the same command.
At the end metrics.csv is compared with that of the same run in one process.
Each kill of the learner prints what it held at that moment (resident memory,
open files, threads) and the files of its folder: none grows with the kills.
"""

import argparse
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks import network_faults

_PATTERNS = dict(
    worker='ray::Worker',
    raylet='raylet/raylet',
    agent='ray::RuntimeEnvAgent',
    gcs='gcs/gcs_server',
)


def _command(arguments, root_dir, *more):
  bindings = ('train_eval.num_shards = 4', *arguments.gin_bindings)
  return [
      sys.executable,
      '-m',
      'train.train_eval',
      f'--gin_file={arguments.gin_file}',
      f'--root_dir={root_dir}',
      *(f'--gin_bindings={binding}' for binding in bindings),
      *more,
  ]


def _descendants(pid):
  """Processes that a process has started, and those that they have."""
  found = subprocess.run(
      ['ps', '-e', '-o', 'pid=,ppid=,args='],
      capture_output=True,
      text=True,
      check=True,
  )
  rows = [line.split(None, 2) for line in found.stdout.splitlines()]
  children = {pid}
  while True:
    more = {int(row[0]) for row in rows if int(row[1]) in children} - children
    if not more:
      break
    children |= more
  return [(int(row[0]), row[2]) for row in rows if int(row[0]) in children]


def _victims(arguments, learner):
  if arguments.victim == 'learner':
    return [learner.pid]
  pattern = _PATTERNS[arguments.victim]
  return [pid for pid, args in _descendants(learner.pid) if pattern in args]


def _held(pid, root_dir):
  """What a process holds and its run's folder, as text."""
  process = pathlib.Path('/proc', str(pid))
  pages = int((process / 'statm').read_text().split()[1])
  files = [path for path in pathlib.Path(root_dir).rglob('*') if path.is_file()]
  return (
      f'{pages * os.sysconf("SC_PAGE_SIZE") / 1e6:.0f} MB,'
      f' {len(os.listdir(process / "fd"))} open files,'
      f' {len(os.listdir(process / "task"))} threads, {len(files)} files in the'
      f' folder with {sum(path.stat().st_size for path in files) / 1e6:.1f} MB'
  )


def _run_under_fire(arguments, root_dir, log):
  """Runs until the end; returns (starts, seconds that each kill cost)."""
  starts, held_up_s = 0, []
  killed_s, wanted = None, 1  # When, and the rows that are to be there first.
  while True:
    starts += 1
    was_hit = False  # A learner may outlive the raylet for a while.
    learner = subprocess.Popen(
        _command(arguments, root_dir, f'--workers={arguments.workers}'),
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    while learner.poll() is None:
      time.sleep(0.02)
      if network_faults.num_rows(root_dir) < wanted:
        continue
      if killed_s is not None:
        held_up_s.append(time.monotonic() - killed_s)
        print(f'kill {len(held_up_s)}: {held_up_s[-1]:.1f} s', flush=True)
        killed_s = None
        wanted += random.randrange(arguments.rows_between_kills)
        continue
      time.sleep(random.uniform(0.0, 0.5))
      victims = _victims(arguments, learner)
      if victims and len(held_up_s) < arguments.kills:
        if arguments.victim == 'learner':
          print(_held(learner.pid, root_dir), flush=True)
        os.kill(random.choice(victims), signal.SIGKILL)
        killed_s = time.monotonic()
        wanted = network_faults.num_rows(root_dir) + 1
        was_hit = True
    if learner.returncode == 0:
      return starts, held_up_s
    if not was_hit:
      sys.exit(f'The learner ended with {learner.returncode}.')


def main():
  """Prints what happened."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
      '--victim', default='worker', choices=[*_PATTERNS, 'learner']
  )
  parser.add_argument('--kills', type=int, default=20)
  parser.add_argument('--workers', type=int, default=2)
  parser.add_argument('--rows_between_kills', type=int, default=3)
  parser.add_argument('--gin_file', default='deep_sea.gin')
  parser.add_argument('--gin_bindings', action='append', default=[])
  arguments = parser.parse_args()
  with tempfile.TemporaryDirectory() as folder:
    here, there = (os.path.join(folder, name) for name in ('here', 'there'))
    with open(os.path.join(folder, 'log'), 'w', encoding='utf-8') as log:
      subprocess.run(
          _command(arguments, here), stdout=log, stderr=log, check=True
      )
      starts, held_up_s = _run_under_fire(arguments, there, log)
    files = [os.path.join(each, 'metrics.csv') for each in (here, there)]
    contents = [open(path, 'rb').read() for path in files]
    print(
        f'{arguments.victim}: {len(held_up_s)} kills, {starts} starts of the'
        f' learner, median {statistics.median(held_up_s):.1f} s until the next'
        f' row; {network_faults.num_rows(there)} rows,'
        f' {"equal" if contents[0] == contents[1] else "DIFFERENT"} files'
    )


if __name__ == '__main__':
  main()
