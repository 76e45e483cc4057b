# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary as a user runs it; `sweep_test.py` has RND-PPO."""

import os
import subprocess
import sys

import numpy as np

from tests import source_tree
from tests import tiny_runs
from tests.train import binaries


def test_r2d2_from_another_directory(tmp_path):
  result = binaries.run(
      tmp_path,
      'train.train_eval',
      '--gin_file=recall_r2d2',
      '--gin_bindings=train_eval.num_env_steps = 1100',
      '--gin_bindings=train_eval.record_video = False',
  )
  assert result.returncode == 0, result.stderr
  root_dir = os.path.join('runs', 'recall_r2d2', 'seed_0')
  assert f'tensorboard --logdir={root_dir}' in result.stdout
  with open(tmp_path / root_dir / 'metrics.csv', encoding='utf-8') as file:
    columns = file.readline().strip().split(',')
  assert 'td_loss' in columns
  # There are neither a curiosity nor demonstrations to tell of.
  assert not {
      'bonus_mean', 'rnd_loss', 'margin_loss', 'demonstration_rate'
  } & set(columns)
  # What the run left can demonstrate, and say what it remembered.
  episodes = binaries.demonstrate(
      tmp_path / root_dir / 'policies' / 'policy',
      tmp_path / 'demos.tfrecord',
      '--keep_network_state',
  )
  for episode in episodes:
    states = episode.policy_info['network_state']
    assert all(np.abs(part[1:]).max() > 0 for part in states)


def test_tensorboard_is_named_where_it_has_something_to_show(tmp_path):
  (tmp_path / 'tiny.gin').write_text(
      '\n'.join(['import tests.tiny_runs', *tiny_runs.COUNTING_SETTINGS])
  )
  result = binaries.run(
      tmp_path,
      'train.train_eval',
      '--gin_file=tiny.gin',
      '--gin_bindings=train_eval.num_env_steps = 100',
      '--gin_bindings=train_eval.loggers = []',
  )
  assert result.returncode == 0, result.stderr
  assert 'Learning curve: runs/tiny/seed_0/learning_curve.png' in result.stdout
  assert 'tensorboard' not in result.stdout.lower()


def test_closed_and_full_streams_end_no_run(tmp_path):
  gin_file = tmp_path / 'tiny.gin'
  settings = 'import tests.tiny_runs', *tiny_runs.COUNTING_SETTINGS
  length = 'train_eval.num_env_steps = 100'
  gin_file.write_text('\n'.join([*settings, length]))
  command = f'{sys.executable} -m train.train_eval --gin_file=tiny.gin'
  result = subprocess.run(
      ['sh', '-c', f'exec {command} <&- >/dev/full 2>&-'],
      cwd=tmp_path,
      env=dict(os.environ, PYTHONPATH=str(source_tree.ROOT)),
      check=False,
      timeout=300,
  )
  assert result.returncode == 0
  assert (tmp_path / 'runs/tiny/seed_0/learning_curve.png').exists()


# `bad_inputs_test.py` has the others.
def test_a_missing_flag_ends_with_one_sentence(tmp_path):
  result = binaries.run(tmp_path, 'train.train_eval')
  assert result.returncode != 0
  assert '--gin_file is missing' in result.stderr + result.stdout
  assert 'Traceback' not in result.stderr
