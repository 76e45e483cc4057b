# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures the share of a run's time that checkpoints, logs and pictures take.

    python -m benchmarks.watching_cost --gin_file=mountain_car.gin

Runs the experiment once and times each part inside it: most machines are too
noisy to measure a few percent between two runs. The share is of the loop's
time, without start-up; the final learning curve, drawn after the loop, counts
as well.
"""

import functools
import tempfile
import time

from absl import app
from absl import flags
import gin

from rnd_agents.collecting import local
from rnd_agents.evaluation import visits
from rnd_agents.plotting import learning_curves
from rnd_agents.training import checkpoints
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import metrics_log
from rnd_agents.training import pictures

_GIN_FILE = flags.DEFINE_string('gin_file', 'mountain_car.gin', 'Experiment.')
_GIN_BINDINGS = flags.DEFINE_multi_string('gin_bindings', [], 'More of gin.')

# Name of a part -> (owner, name) of the function to time; none calls another.
_PARTS = {
    'state of the episodes': (local.LocalCollector, 'get_state'),
    'checkpoint': (checkpoints.Checkpoints, 'save'),
    'metrics.csv and TensorBoard': (metrics_log.MetricsLog, 'write'),
    'counting visits': (visits.VisitCounts, 'observe'),
    'learning curve': (learning_curves, 'plot_run'),
    'heat map': (pictures, '_draw_visits'),
    'video': (pictures.Pictures, '_record'),
}


def _timed(function, seconds):
  """The function; appends to `seconds` how long each call took."""

  @functools.wraps(function)
  def wrapped(*args, **kwargs):
    start = time.perf_counter()
    try:
      return function(*args, **kwargs)
    finally:
      seconds.append(time.perf_counter() - start)

  return wrapped


def main(argv):
  """Runs the experiment and prints the table."""
  del argv
  gin_files.parse([_GIN_FILE.value], _GIN_BINDINGS.value)
  seconds = {name: [] for name in _PARTS}
  for name, (owner, function) in _PARTS.items():
    setattr(owner, function, _timed(getattr(owner, function), seconds[name]))
  with tempfile.TemporaryDirectory() as root_dir:
    result = experiment.train_eval(root_dir)
  print(gin.query_parameter('load_environment.env'))
  print(f'loop: {result.wall_time_s:.1f} s, {result.env_steps:,} env steps')
  total = 0.0
  for name, values in seconds.items():
    total += sum(values)
    print(
        f'{name:28} {len(values):6} calls {sum(values):7.3f} s'
        f' {100 * sum(values) / result.wall_time_s:6.2f} %'
    )
  print(f'{"all":28} {"":12} {total:7.3f} s'
        f' {100 * total / result.wall_time_s:6.2f} %')


if __name__ == '__main__':
  app.run(main)
