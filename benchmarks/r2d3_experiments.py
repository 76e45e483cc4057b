# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the experiments behind the figures of docs/r2d3.md.

    python -m benchmarks.r2d3_experiments GROUP [--jobs=2]
        [--out=runs/experiments]

Collects missing demonstrations into runs/demos of the checkout, then runs as
benchmarks/experiments.py does. At the end it prints a Markdown table of the
finished runs: success rate in the last evaluation of each seed, or its return
where the environment reports no success, and when evaluations first reached 0.9
(Pong: 18).
"""

import os
import subprocess
import sys

import numpy as np

from benchmarks import experiments
from benchmarks import tables
from rnd_agents import run_files

_REPLAY = 'ReplayTraining'
# Success rate at which a task is solved, or return where none is reported.
_SOLVED = 0.9
_SOLVED_RETURNS = {'pong': 18.0}
_EXPERTS = 'rnd_agents.tasks.scripted_experts'

# Name of a file in runs/demos -> flags of train.collect_demos.
_DEMOS = {
    'cue_lock': ('--gin_file=cue_lock_r2d3.gin', '--expert', '--episodes=20'),
    'deep_sea': (
        '--gin_file=deep_sea.gin',
        f'--expert={_EXPERTS}:deep_sea',
        '--episodes=1',
    ),
    'door_key': (
        '--gin_file=door_key_r2d3.gin',
        '--expert',
        '--episodes=50',
    ),
    # Of a run of pong_ppo.gin, whose header tells how long.
    'pong': (
        '--policy_dir=runs/pong_ppo/seed_0/policies/policy',
        '--episodes=20',
        '--min_return=20',
    ),
}

_ZERO = ("R2D3Agent.recurrent_state_init = 'zero'",)
_NO_DEMOS = (
    f'{_REPLAY}.demonstrations = None',
    f'{_REPLAY}.demonstration_ratio = 0.0',
)
_TRACE_8 = (f'{_REPLAY}.unroll_length = 8', f'{_REPLAY}.burn_in_length = 4')


def _jobs(gin_file, settings, seeds=range(3)):
  """A run for each setting and seed: {label: bindings}."""
  return [
      experiments.Job(label, gin_file, seed, bindings)
      for label, bindings in settings.items()
      for seed in seeds
  ]


# Group -> (its demonstrations, its runs).
GROUPS = {
    'cue_lock': (
        ('cue_lock',),
        _jobs(
            'cue_lock_r2d3.gin',
            {
                'demonstrations': (),
                'no demonstrations': _NO_DEMOS,
                'no memory': ('create_q_networks.core = None',),
                'ratio 1, no margin': (
                    f'{_REPLAY}.demonstration_ratio = 1.0',
                    'R2D3Agent.margin_weight = 0.0',
                ),
            },
        ),
    ),
    'recall': (
        (),
        _jobs(
            'recall_r2d2.gin',
            {
                'stored': (),
                'zero': _ZERO,
                'stored, trace 8, burn-in 4': _TRACE_8,
                'zero, trace 8, burn-in 4': (*_ZERO, *_TRACE_8),
            },
        ),
    ),
    'deep_sea_demos': (
        ('deep_sea',),
        _jobs(
            'deep_sea_r2d3.gin',
            {'one demonstration': (), 'no demonstration': _NO_DEMOS},
        )
        + _jobs('deep_sea_r2d2_rnd.gin', {'bonus, no demonstration': ()}),
    ),
    'door_key': (
        ('door_key',),
        _jobs(
            'door_key_r2d3.gin',
            {'margin 0.05': ()},
        )
        + _jobs(
            'door_key_r2d3.gin',
            {
                'margin 0.8': ('R2D3Agent.margin = 0.8',),
                'no demonstrations': _NO_DEMOS,
            },
            range(1),
        ),
    ),
    'pong': (
        ('pong',),
        _jobs(
            'pong_r2d3.gin',
            {
                'ratio 0': _NO_DEMOS,
                'ratio 1/16': (),
                'ratio 1/4': (f'{_REPLAY}.demonstration_ratio = 0.25',),
            },
            range(1),
        ),
    ),
}


def collect(name):
  """Records a file of `_DEMOS` if it is missing."""
  path = os.path.join('runs', 'demos', f'{name}.tfrecord')
  if os.path.exists(os.path.join(experiments.ROOT, path)):
    return
  subprocess.run(
      [
          sys.executable,
          '-m',
          'train.collect_demos',
          *_DEMOS[name],
          f'--out={path}',
      ],
      cwd=experiments.ROOT,
      check=True,
  )


def report(out, group):
  """Prints results of the greedy policy in a group's finished runs."""
  rows = []
  for job in GROUPS[group][1]:
    folder = experiments.root_dir(out, group, job)
    if not experiments.is_finished(folder):
      continue
    metrics = run_files.read_rows(folder)
    # MiniGrid reports no success; the return of a solved task is nearly 1.
    for name in ('success_rate', 'return_mean'):
      steps, results = run_files.series(metrics, 'eval', name)
      if len(results):
        break
    solved = _SOLVED_RETURNS.get(group, _SOLVED)
    reached = np.flatnonzero(np.asarray(results) >= solved)
    first = f'{steps[reached[0]] / 1000:.1f}' if len(reached) else 'never'
    rows.append((
        job.label,
        job.seed,
        f'{results[-1]:.2f}',
        first,
        f'{run_files.wall_time_s(folder):.0f}',
    ))
  print(f'\n{group}\n')
  tables.print_table(
      ('setting', 'seed', 'result', 'from (k steps)', 's'), rows
  )


def main():
  """Runs the groups of the command line."""
  arguments = experiments.parse(__doc__, GROUPS)
  for group in arguments.groups:
    for name in GROUPS[group][0]:
      collect(name)
  status = experiments.run(
      {group: GROUPS[group][1] for group in arguments.groups}, arguments
  )
  for group in arguments.groups:
    report(os.path.join(experiments.ROOT, arguments.out), group)
  sys.exit(status)


if __name__ == '__main__':
  main()
