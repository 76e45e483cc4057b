# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times collecting with workers on Ray against a process an environment.

    python -m benchmarks.worker_speed [--workers=1,2,4] [--step_ms=10]
        [--rllib_python=PATH]
    python -m benchmarks.worker_speed --gin_file=montezuma_revenge_cpu.gin

A simulator that sleeps stands for one that is slow, so that cores do not limit
it; --gin_file takes the environment of a gin file in its place. One way after
the other collects the same rollouts; the first of each, which starts processes
and traces graphs, is not counted. With a Python that has `ray[rllib]` and
PyTorch, RLlib collects as many steps with as many workers after each of ours.
"""

import argparse
import functools
import os
import statistics
import subprocess
import tempfile
import time

from benchmarks import gin_runs
from benchmarks import rllib_speed

# isort: split
import gin
import tensorflow as tf

from rnd_agents.training import experiment
from rnd_agents.workers import ray_workers

SlowSimulator = gin.configurable(rllib_speed.SlowSimulator)


def _seconds(arguments, make_shards, num_shards, vectorization):
  """Seconds of each rollout, after the first."""
  bindings = [
      f"load_environment.vectorization = '{vectorization}'",
      f"train/load_environment.vectorization = '{vectorization}'",
      f'train_eval.num_environments = {arguments.environments}',
      f'train_eval.num_shards = {num_shards}',
  ]
  if not arguments.gin_file:
    bindings += [
        'import benchmarks.worker_speed',
        'load_environment.env = @SlowSimulator',
        f'SlowSimulator.step_ms = {arguments.step_ms}',
    ]
  with tempfile.TemporaryDirectory() as root_dir:
    built = gin_runs.build(
        arguments.gin_file or 'mountain_car.gin',
        bindings,
        make_shards,
        root_dir,
    )
    try:
      built.shards.reset()
      taken = []
      for _ in range(arguments.rounds + 1):
        began = time.monotonic()
        built.collect(arguments.rollout_length)
        taken.append(time.monotonic() - began)
    finally:
      built.shards.close()
  return taken[1:]


def _rllib_seconds(arguments, num_workers):
  """As `_seconds`, by RLlib in a Python of its own."""
  found = subprocess.run(
      [
          arguments.rllib_python,
          rllib_speed.__file__,
          str(num_workers),
          str(arguments.environments),
          str(arguments.rollout_length),
          str(arguments.rounds + 1),
          str(arguments.step_ms),
      ],
      stdout=subprocess.PIPE,
      text=True,
      check=True,
      env={  # A cluster of its own.
          name: value
          for name, value in os.environ.items()
          if not name.startswith('RAY_')
      },
  )
  return [float(word) for word in found.stdout.split()[-arguments.rounds :]]


def _ways(arguments):
  """Functions that return seconds of rollouts, {row of the table: function}."""

  def ours(*way):
    return functools.partial(_seconds, arguments, *way)

  ways = {'one process': ours(experiment.local_shards, 1, 'sync')}
  ways['a process an environment'] = ours(experiment.local_shards, 1, 'async')
  for num_workers in map(int, arguments.workers.split(',')):
    make_shards = functools.partial(
        ray_workers.create_collectors, num_workers=num_workers
    )
    ways[f'{num_workers} workers'] = ours(make_shards, num_workers, 'sync')
    if arguments.rllib_python:
      ways[f'RLlib, {num_workers} workers'] = functools.partial(
          _rllib_seconds, arguments, num_workers
      )
  return ways


def main():
  """Prints a table."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('--workers', default='1,2,4')
  parser.add_argument('--step_ms', type=float, default=10)
  parser.add_argument('--gin_file')
  parser.add_argument('--environments', type=int, default=16)
  parser.add_argument('--rollout_length', type=int, default=32)
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--rllib_python')
  arguments = parser.parse_args()
  tf.get_logger().setLevel('ERROR')
  steps = arguments.environments * arguments.rollout_length
  first = None
  print('| | env steps/s | ratio |\n|---|---|---|')
  for name, seconds in _ways(arguments).items():
    rate = steps / statistics.median(seconds())
    first = first or rate
    print(f'| {name} | {rate:.0f} | {rate / first:.2f} |', flush=True)


if __name__ == '__main__':
  main()
