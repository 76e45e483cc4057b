# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes run folders with a metrics.csv of given numbers."""

import csv
import os

COLUMNS = (
    'phase', 'iteration', 'env_steps', 'train_steps', 'wall_time_s',
    'episodes', 'return_mean', 'return_min', 'return_max', 'success_rate',
    'bonus_mean', 'policy_loss', 'git_sha')


def write(root_dir, rows, columns=COLUMNS):
  """Writes dicts as rows, missing cells empty; returns the folder's name."""
  os.makedirs(root_dir, exist_ok=True)
  path = os.path.join(root_dir, 'metrics.csv')
  with open(path, 'w', encoding='utf-8', newline='') as file:
    writer = csv.DictWriter(file, columns, restval='')
    writer.writeheader()
    writer.writerows(rows)
  return str(root_dir)


def evaluations(root_dir, env_steps, returns, metric='return_mean'):
  """A run with evaluations of one metric only."""
  return write(root_dir, [
      {'phase': 'eval', 'iteration': i, 'env_steps': x, metric: y}
      for i, (x, y) in enumerate(zip(env_steps, returns))])
