# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary of R2D3 as a user runs it."""

import os

import numpy as np
import pytest

from tests.train import binaries


def test_smoke_from_another_directory(tmp_path):
  pytest.importorskip('reverb')
  result = binaries.run(
      tmp_path,
      'train_eval_r2d3',
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
  assert not {'bonus_mean', 'rnd_loss', 'margin_loss'} & set(columns)
  # What the run left can demonstrate, and say what it remembered.
  episodes = binaries.demonstrate(
      tmp_path / root_dir / 'policies' / 'policy',
      tmp_path / 'demos.tfrecord',
      '--keep_network_state',
  )
  for episode in episodes:
    states = episode.policy_info['network_state']
    assert all(np.abs(part[1:]).max() > 0 for part in states)


def test_files_of_the_other_binary_are_named(tmp_path):
  for binary, gin_file, other in (
      ('train_eval_r2d3', 'cartpole', 'train_eval'),
      ('train_eval', 'recall_r2d2', 'train_eval_r2d3'),
  ):
    result = binaries.run(tmp_path, binary, f'--gin_file={gin_file}')
    assert result.returncode != 0
    expected = f'an experiment of {other}. Run it with python -m train.{other}.'
    assert expected in result.stderr
    assert 'Traceback' not in result.stderr
    assert not os.listdir(tmp_path)
