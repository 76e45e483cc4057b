# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times whole runs of SAC beside Stable-Baselines3 and SBX, in turns.

    python -m benchmarks.sac_rivals --rival_python=PYTHON

Batches of 256, 256-256 units, one environment: `gin_configs/sac.gin`, without a
bonus, with an update after each step, and with fifty updates after each fifty
steps. Ours run as `train_eval` does, with checkpoints, logs and evaluations;
rivals do nothing of the kind. Steps/s are counted from step `_FIRST` on, when
all has been compiled. Make the rivals' Python with

    python3.11 -m venv rivals
    rivals/bin/pip install torch==2.13.0 stable-baselines3==2.9.2 \\
      sbx-rl==0.28.0 'gymnasium[mujoco]'
"""

import functools
import os
import subprocess

from absl import app
from absl import flags

from benchmarks import gin_runs
from benchmarks import paired
from benchmarks import tables

_INTERVAL = 200  # Steps of an iteration, and between the rivals' times.
_FIRST = 600
_HERE = os.path.dirname(os.path.abspath(__file__))

_RIVAL_PYTHON = flags.DEFINE_string(
    'rival_python', None, 'A Python with Stable-Baselines3 and SBX.',
    required=True,
)
_ENVS = flags.DEFINE_list('envs', ['Pendulum-v1', 'HalfCheetah-v5'], 'Ids.')
_PERIODS = flags.DEFINE_list('periods', ['1', '50'], 'Steps between updates.')
_NUM_ROUNDS = flags.DEFINE_integer('num_rounds', 3, 'Rounds.')
_NUM_STEPS = flags.DEFINE_integer('num_steps', 3000, 'Steps of each run.')


def _ours(env_id, period):
  """Makes a run; returns its steps/s."""
  rows = gin_runs.timings(
      'sac.gin',
      [
          f"load_environment.env = '{env_id}'",
          f'train_eval.num_env_steps = {_NUM_STEPS.value}',
          f'ReplayTraining.collect_length = {period}',
      ],
  )
  found = [
      (row.env_steps, row.values['wall_time_s'])
      for row in rows
      if row.env_steps >= _FIRST
  ]
  (first, begun_s), (last, ended_s) = found[0], found[-1]
  return (last - first) / (ended_s - begun_s)


def _rival(library, env_id, period):
  """Makes a run of a rival likewise."""
  output = subprocess.run(
      [
          _RIVAL_PYTHON.value,
          os.path.join(_HERE, 'rival_sac.py'),
          library,
          env_id,
          str(_NUM_STEPS.value),
          period,
          '0',  # The seed.
          '0',  # No episodes.
      ],
      check=True,
      capture_output=True,
      text=True,
  ).stdout
  times = [float(line) for line in output.split()]
  first = _FIRST // _INTERVAL - 1
  return (len(times) - 1 - first) * _INTERVAL / (times[-1] - times[first])


def main(argv):
  del argv
  print(paired.machine(), flush=True)
  load = paired.ForeignLoad()
  contenders = {
      'ours': _ours,
      'sb3': functools.partial(_rival, 'sb3'),
      'sbx': functools.partial(_rival, 'sbx'),
  }
  rows = []
  for env_id in _ENVS.value:
    for period in _PERIODS.value:
      speeds = {name: [] for name in contenders}
      for _ in range(_NUM_ROUNDS.value):
        for name, run in contenders.items():
          speed = run(env_id, period)
          speeds[name].append(speed)
          print(f'{env_id}, {period}, {name}: {speed:.1f}', flush=True)
      for name, its in speeds.items():
        rows.append((
            env_id,
            period,
            name,
            paired.span(its),
            paired.span([a / b for a, b in zip(speeds['ours'], its)]),
        ))
  print(f'{_NUM_ROUNDS.value} rounds, foreign load {load}\n')
  tables.print_table(
      ('environment', 'period', 'contender', 'steps/s', 'ours over it'), rows
  )


if __name__ == '__main__':
  app.run(main)
