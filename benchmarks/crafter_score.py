# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints the score of Crafter, and what it consists of, for training runs.

    python -m benchmarks.crafter_score runs/crafter/seed_* [--num_env_steps=...]

Source: Hafner, 2022 (arXiv 2109.06780), section 3.3: with s_i, the share in
percent of the training episodes in which achievement i was unlocked, the score
is exp(mean_i log(1 + s_i)) - 1. Its budget is a million steps.
"""

import math
import os

from absl import app
from absl import flags

from benchmarks import programs
from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents import tables

_PREFIX = 'info_achievements_'


def success_rates(rows, num_env_steps):
  """Returns {achievement: share of the training episodes that unlocked it}.

  Args:
    rows: Rows of `run_files.read_rows`.
    num_env_steps: Rows after so many environment steps do not count.
  """
  totals, num_episodes = {}, 0.0
  for row in rows:
    num = row.values.get('episodes', 0)
    if row.phase != run_files.TRAIN or row.env_steps > num_env_steps or not num:
      continue
    num_episodes += num
    for name, value in row.values.items():
      if name.startswith(_PREFIX):
        name = name.removeprefix(_PREFIX).removesuffix('_mean')
        totals[name] = totals.get(name, 0.0) + num * value
  return {name: total / num_episodes for name, total in totals.items()}


def score(rates):
  """Returns Crafter's score in percent of a dict of shares from 0 to 1."""
  logs = [math.log1p(100 * rate) for rate in rates.values()]
  return math.expm1(sum(logs) / len(logs))


def main(argv):
  if len(argv) < 2:
    raise app.UsageError('Give the folders of runs of crafter.gin.')
  columns = {}
  for root_dir in argv[1:]:
    rates = success_rates(
        run_files.read_rows(root_dir), flags.FLAGS.num_env_steps
    )
    if not rates:
      raise errors.InvalidValue(
          f'{root_dir} has no achievements of training episodes: set'
          " load_environment.info_keys = ('achievements',)."
      )
    columns[os.path.basename(os.path.normpath(root_dir))] = rates
  rows = [('', *columns)]
  for name in sorted(set().union(*columns.values())):
    rows.append(
        (name, *(f'{100 * c.get(name, 0.0):.2f}' for c in columns.values()))
    )
  rows.append(('score', *(f'{score(c):.2f}' for c in columns.values())))
  print(tables.aligned(rows, num_left=1))


if __name__ == '__main__':
  flags.DEFINE_integer(
      'num_env_steps', 1_000_000, 'Episodes that end later do not count.'
  )
  programs.run(main)
