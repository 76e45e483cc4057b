# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures whether a long run stays flat: memory, files, threads, saving.

    python -m benchmarks.long_runs --case=ppo --num_env_steps=1_000_000

Runs one way of training and prints, twenty times: resident memory after a
collection of garbage, open files, threads, and seconds and bytes of a
checkpoint. The last line has the growth of memory from the second half of the
run to its last row but one, in MB for each million environment steps: the first
half fills replay and caches, the end evaluates, which adds some MB once.
"""

import ctypes
import gc
import os
import pathlib
import tempfile
import time

from absl import flags
import numpy as np

from benchmarks import programs
from rnd_agents.training import callbacks
from rnd_agents.training import experiment
from rnd_agents.training import gin_files

# Name -> (gin file, bindings).
_CASES = {
    'ppo': ('mountain_car.gin', ()),
    'recurrent_ppo': ('cartpole_masked.gin', ()),
    'novel_d': ('default.gin', ('load_environment.env = "MountainCar-v0"',)),
    'r2d3': (
        'deep_sea_r2d2_rnd.gin', ('PrioritizedReplay.max_sequences = 1_000',)
    ),
    'two_level': ('four_rooms_two_level.gin', ()),
    # One episode without an end in each environment.
    'long_episodes': (
        'mountain_car.gin',
        (
            'load_environment.env = "Pendulum-v1"',
            'load_environment.max_episode_steps = 1_000_000_000',
            'eval/load_environment.max_episode_steps = 200',
        ),
    ),
}
_CASE = flags.DEFINE_enum('case', 'ppo', sorted(_CASES), 'Way of training.')
_NUM_ENV_STEPS = flags.DEFINE_integer(
    'num_env_steps', 1_000_000, 'Length of the run.'
)
_NUM_ROWS = 20


class _Row:
  """Resident memory in MB, open files, threads."""

  def __init__(self):
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # Returns free pages to the system.
    pages = int(pathlib.Path('/proc/self/statm').read_text().split()[1])
    self.memory_mb = pages * os.sysconf('SC_PAGE_SIZE') / 1e6
    self.num_files = len(os.listdir('/proc/self/fd'))
    self.num_threads = len(os.listdir('/proc/self/task'))


class _Watch(callbacks.Callback):
  """Prints rows at equal distances."""

  def __init__(self):
    self.rows = []

  def after_iteration(self, run, iteration):
    env_steps = run.counters.env_steps
    due = len(self.rows) + 1
    if env_steps < due * _NUM_ENV_STEPS.value / _NUM_ROWS:
      return
    start = time.perf_counter()
    run.save()
    save_s = time.perf_counter() - start
    newest = max(
        pathlib.Path(run.root_dir).glob('checkpoints/*/'), key=os.path.getmtime
    )
    size = sum(file.stat().st_size for file in newest.rglob('*'))
    row = _Row()
    self.rows.append((env_steps, row.memory_mb))
    print(
        f'{env_steps:11,} steps {row.memory_mb:8.1f} MB'
        f' {row.num_files:4} files {row.num_threads:4} threads,'
        f' checkpoint {save_s:6.3f} s {size / 1e6:8.2f} MB',
        flush=True,
    )


def main(argv):
  """Runs the case and prints its rows."""
  del argv
  gin_file, bindings = _CASES[_CASE.value]
  gin_files.parse(
      [gin_file],
      [
          *bindings,
          f'train_eval.num_env_steps = {_NUM_ENV_STEPS.value}',
          f'train_eval.eval_interval_env_steps = {_NUM_ENV_STEPS.value}',
          'train_eval.record_video = False',
      ],
  )
  watch = _Watch()
  with tempfile.TemporaryDirectory() as root_dir:
    experiment.train_eval(root_dir, seed=0, callbacks=[watch])
  second = np.array(watch.rows[len(watch.rows) // 2 : -1])
  slope = np.polyfit(second[:, 0] / 1e6, second[:, 1], 1)[0]
  print(f'{_CASE.value}: {slope:+.1f} MB a million environment steps')


if __name__ == '__main__':
  programs.run(main)
