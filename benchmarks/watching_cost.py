# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures the share of a run's time that checkpoints, logs and pictures take.

    python -m benchmarks.watching_cost --gin_file=mountain_car.gin

Runs the experiment once and times each part inside it: most machines are too
noisy to measure a few percent between two runs. The share is of the loop's
time, without start-up; the final learning curve, drawn after the loop, counts
as well. Wall time is what a user waits on a machine of his own; on a busy one
the share of CPU time, of all threads and of FFmpeg, varies less. The import of
matplotlib, in a thread beside the training, is not in the sum, nor is what the
thread does that hands rows over to trackers; its CPU time is its own.
"""

import functools
import tempfile
import time

from absl import flags
import gin
import numpy as np

from benchmarks import paired
from benchmarks import programs
from rnd_agents.collecting import local
from rnd_agents.evaluation import visits
from rnd_agents.plotting import drawing
from rnd_agents.plotting import learning_curves
from rnd_agents.tracking import hand_over
from rnd_agents.training import checkpoints
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import metrics_log
from rnd_agents.training import pictures
from rnd_agents.training import runs

_GIN_FILE = flags.DEFINE_string('gin_file', 'mountain_car.gin', 'Experiment.')
_GIN_BINDINGS = flags.DEFINE_multi_string('gin_bindings', [], 'More of gin.')

# Name of a part -> (owner, name) of the function to time; none calls another.
_PARTS = {
    'state of the episodes': (local.LocalCollector, 'get_state'),
    'checkpoint': (checkpoints.Checkpoints, 'save'),
    'rows of checkpoints': (metrics_log.MetricsLog, 'save'),
    'metrics.csv and TensorBoard': (metrics_log.MetricsLog, 'write'),
    'counting visits': (visits.VisitCounts, 'observe'),
    'learning curve': (learning_curves, 'plot_run'),
    'heat map': (pictures, '_draw_visits'),
    'video': (pictures.Pictures, '_record'),
}
_BESIDE = {
    'import of matplotlib (beside)': (drawing, 'import_matplotlib'),
    'rows for trackers (beside)': (hand_over.HandOver, '_work'),
}


def _timed(function, seconds, cpu_s):
  """The function; appends to `seconds` wall and CPU time of each call."""

  @functools.wraps(function)
  def wrapped(*args, **kwargs):
    start, start_cpu = time.perf_counter(), cpu_s()
    try:
      return function(*args, **kwargs)
    finally:
      seconds.append((time.perf_counter() - start, cpu_s() - start_cpu))

  return wrapped


def _loop_cpu(iterate, seconds):
  """Returns `BaseRun.iterate` that appends its CPU time."""

  def wrapped(*args):
    start = paired.cpu_s()
    iterate(*args)
    seconds.append(paired.cpu_s() - start)

  return wrapped


def main(argv):
  """Runs the experiment and prints the table."""
  del argv
  gin_files.parse([_GIN_FILE.value], _GIN_BINDINGS.value)
  parts = {**_PARTS, **_BESIDE}
  seconds = {name: [] for name in parts}
  for name, (owner, function) in parts.items():
    cpu_s = time.thread_time if name in _BESIDE else paired.cpu_s
    timed = _timed(getattr(owner, function), seconds[name], cpu_s)
    setattr(owner, function, timed)
  loop_cpu_s = []
  runs.BaseRun.iterate = _loop_cpu(runs.BaseRun.iterate, loop_cpu_s)
  with tempfile.TemporaryDirectory() as root_dir:
    result = experiment.train_eval(root_dir)
  loop = np.array([result.wall_time_s, *loop_cpu_s])
  print(gin.query_parameter('load_environment.env'))
  print(f'loop: {loop[0]:.1f} s, CPU {loop[1]:.1f} s,'
        f' {result.env_steps:,} env steps')
  sums = {name: np.sum(values or [[0, 0]], axis=0)
          for name, values in seconds.items()}
  sums['all'] = sum(sums[name] for name in _PARTS)
  for name, (wall_s, cpu_s) in sums.items():
    wall, cpu = 100 * np.array([wall_s, cpu_s]) / loop
    print(f'{name:29} {len(seconds.get(name, ())):6} calls {wall_s:7.3f} s'
          f' {wall:6.2f} %, CPU {cpu_s:7.3f} s {cpu:6.2f} %')


if __name__ == '__main__':
  programs.run(main)
