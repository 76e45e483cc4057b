# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times collecting with workers on Ray against a process an environment.

    python -m benchmarks.worker_speed [--workers=1,2,4] [--step_ms=10]
        [--rllib_python=PATH]
    python -m benchmarks.worker_speed --gin_file=montezuma_revenge_cpu.gin
    python -m benchmarks.worker_speed --constants  # For cluster_plan.py.

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

import gin
import numpy as np
import tensorflow as tf

from benchmarks import rllib_speed
from rnd_agents.collecting import local
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import run as run_lib
from rnd_agents.workers import ray_cluster
from rnd_agents.workers import ray_workers

SlowSimulator = gin.configurable(rllib_speed.SlowSimulator)


def _parse(arguments, num_shards, vectorization):
  """Binds the settings of a run."""
  gin.clear_config()
  bindings = (
      f"load_environment.vectorization = '{vectorization}'",
      f"train/load_environment.vectorization = '{vectorization}'",
      f'train_eval.num_environments = {arguments.environments}',
      f'train_eval.num_shards = {num_shards}',
  )
  simulator = (
      'import benchmarks.worker_speed',
      'load_environment.env = @SlowSimulator',
      f'SlowSimulator.step_ms = {arguments.step_ms}',
  )
  gin_files.parse(
      [arguments.gin_file or 'mountain_car.gin'],
      bindings if arguments.gin_file else (*simulator, *bindings),
  )


def _seconds(arguments, make_shards, num_shards, vectorization):
  """Seconds of each rollout, after the first."""
  taken, _ = _measure(arguments, make_shards, num_shards, vectorization)
  return taken[1:]


def _measure(arguments, make_shards, num_shards, vectorization):
  """Seconds of each rollout; bytes of the variables and of a step."""
  _parse(arguments, num_shards, vectorization)
  with tempfile.TemporaryDirectory() as root_dir:
    config = experiment.Experiment(root_dir)
    seeds = run_lib.Seeds(0)
    shards = make_shards(config, seeds, experiment.recipes(config, seeds))
    try:
      agent = config.training.build_agent(
          shards.specs, config.num_environments
      )
      variables = local.as_numpy(list(agent.collect_policy.variables()))
      shards.reset()
      taken = []
      for _ in range(arguments.rounds + 1):
        began = time.monotonic()
        rollout = shards.collect(
            lambda _, v=variables: v, arguments.rollout_length
        )
        taken.append(time.monotonic() - began)
    finally:
      shards.close()
  rows = tf.nest.flatten(rollout.trajectory)
  return taken, (
      sum(array.nbytes for array in variables),
      sum(array.nbytes for array in rows) / rows[0].size,
  )


def _constants(arguments):
  """Prints what `cluster_plan.Work` asks for, medians in seconds and bytes."""
  local_way = experiment.local_shards, 1, 'sync'
  ray_way = (
      functools.partial(ray_workers.create_collectors, num_workers=1), 1, 'sync'
  )
  began = time.monotonic()
  for _ in range(100):
    time.sleep(arguments.step_ms / 1e3)
  print(f'wait_s          {(time.monotonic() - began) / 100:.5f}')

  def row_s(environments, way=local_way, rollout_length=64):
    """Of a step of so many environments that do not sleep."""
    fast = argparse.Namespace(
        step_ms=0,
        environments=environments,
        rollout_length=rollout_length,
        rounds=arguments.rounds,
        gin_file=None,
    )
    return statistics.median(_seconds(fast, *way)) / rollout_length

  few_s, many_s = row_s(4), row_s(16)
  step_s = (many_s - few_s) / 12
  print(f'step_cpu_s      {step_s:.6f}')
  print(f'batch_cpu_s     {few_s - 4 * step_s:.6f}')
  one_row = dict(environments=1, rollout_length=1)
  call_s = row_s(way=ray_way, **one_row) - row_s(**one_row)
  print(f'call_s          {call_s:.4f}')
  began = time.monotonic()
  taken, sizes = _measure(arguments, *ray_way)
  start_s = time.monotonic() - began - sum(taken[1:])
  print(f'start_s         {start_s:.1f} (with Ray itself)')
  print('variables_bytes {:.0f}\nrollout_bytes   {:.0f}'.format(*sizes))
  print(f'byte_s          {_byte_s():.2e}')


def _byte_s(num_bytes=2**25):
  """Of an answer of Ray's that has arrived, to read and copy it."""
  with tempfile.TemporaryDirectory() as root_dir:
    ray_cluster.connect(root_dir, 1, None)
    import ray  # pylint: disable=g-import-not-at-top

    try:
      answer = ray.remote(lambda size: np.ones(size, np.uint8))
      taken = []
      for size in (1, 1, *[num_bytes] * 9, *[1] * 9):
        arrived, _ = ray.wait([answer.remote(size)])
        began = time.monotonic()
        np.copy(ray.get(arrived[0]))
        taken.append(time.monotonic() - began)
    finally:
      ray.shutdown()
  return (
      statistics.median(taken[2:11]) - statistics.median(taken[11:])
  ) / num_bytes


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
  """Functions that return seconds of rollouts, by what the table calls them."""

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
  parser.add_argument('--constants', action='store_true')
  arguments = parser.parse_args()
  tf.get_logger().setLevel('ERROR')
  if arguments.constants:
    return _constants(arguments)
  steps = arguments.environments * arguments.rollout_length
  first = None
  print('| | env steps/s | ratio |\n|---|---|---|')
  for name, seconds in _ways(arguments).items():
    rate = steps / statistics.median(seconds())
    first = first or rate
    print(f'| {name} | {rate:.0f} | {rate / first:.2f} |', flush=True)


if __name__ == '__main__':
  main()
