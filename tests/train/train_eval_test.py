# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary as a user runs it."""

import os

from tests.train import binaries


def test_smoke_from_another_directory(tmp_path):
  result = binaries.run(
      tmp_path,
      'train_eval',
      '--gin_file=cartpole',
      '--seed=3',
      '--gin_bindings=train_eval.num_env_steps = 3000',
      '--gin_param=train_eval.num_environments = 4',
  )
  assert result.returncode == 0, result.stderr
  root_dir = os.path.join('runs', 'cartpole', 'seed_3')
  assert f'tensorboard --logdir={root_dir}' in result.stdout
  assert 'Mean return of the last evaluation:' in result.stdout
  assert (tmp_path / root_dir / 'learning_curve.png').exists()
  with open(tmp_path / root_dir / 'operative_config.gin') as file:
    operative = file.read()
  assert 'train_eval.num_env_steps = 3000' in operative
  assert 'train_eval.num_environments = 4' in operative
  # What the run left can demonstrate.
  episodes = binaries.demonstrate(
      tmp_path / root_dir / 'policies' / 'policy', tmp_path / 'demos.tfrecord'
  )
  for episode in episodes:  # CartPole pays 1 a step.
    assert episode.reward[:-1].sum() == len(episode.step_type) - 1 > 5


def test_mistakes_end_with_one_sentence(tmp_path):
  for flags, message in (
      ((), '--gin_file is missing'),
      (('--gin_file=nope',), "No gin file 'nope'"),
      (
          ('--gin_file=cartpole', '--gin_bindings=train_eval.sead = 3'),
          "doesn't have a parameter named 'sead'",
      ),
  ):
    result = binaries.run(tmp_path, 'train_eval', *flags)
    assert result.returncode != 0
    assert message in result.stderr + result.stdout
    assert 'Traceback' not in result.stderr
