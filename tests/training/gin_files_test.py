# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of finding and reading gin files."""

import gin
import pytest

from rnd_agents.training import gin_files
from rnd_agents.training import trainer  # noqa: F401  Registers configurables.


def test_bare_name_is_found_among_the_shipped_files(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  with open(gin_files.find('mountain_car'), encoding='utf-8') as file:
    assert "load_environment.env = 'MountainCar-v0'" in file.read()


def test_path_wins_over_a_shipped_file(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'mountain_car.gin').write_text('train_eval.seed = 3\n')
  gin_files.parse(['mountain_car.gin'])
  assert gin.query_parameter('train_eval.seed') == 3


def test_missing_file_names_close_ones():
  with pytest.raises(FileNotFoundError, match='Did you mean mountain_car.gin'):
    gin_files.find('moutain_car.gin')


@pytest.mark.parametrize(
    'binding, message',
    [
        ('RNDPPOAgnt.num_epochs = 3', 'RNDPPOAgnt.*Did you mean RNDPPOAgent'),
        ('train_eval.learn_rate = 3', "doesn't have a parameter.*learn_rate"),
        ('train_eval.seed = = 3', 'does not fit'),
    ],
)
def test_wrong_binding_is_explained_on_one_line(binding, message):
  with pytest.raises(gin_files.GinError, match=message) as caught:
    gin_files.parse(['cartpole'], [binding])
  assert '\n' not in str(caught.value)


def test_bindings_win_over_files_and_later_files_over_earlier(tmp_path):
  path = tmp_path / 'mine.gin'
  path.write_text('create_rnd_ppo_agent.learning_rate = 0.5\ntrain_eval.seed = 1\n')
  gin_files.parse(['cartpole', str(path)], ['train_eval.seed = 2'])
  assert gin.query_parameter('create_rnd_ppo_agent.learning_rate') == 0.5
  assert gin.query_parameter('train_eval.seed') == 2
  # Untouched ones stay.
  assert gin.query_parameter('load_environment.env') == 'CartPole-v1'


def test_include_in_a_file_of_the_users_finds_shipped_ones(tmp_path):
  path = tmp_path / 'mine.gin'
  path.write_text("include 'deep_sea.gin'\nDEEP_SEA_SIZE = 7\n")
  gin_files.parse([str(path)])
  env_kwargs = gin.query_parameter('load_environment.env_kwargs')
  assert gin.query_parameter('%DEEP_SEA_SIZE') == 7
  assert 'size' in env_kwargs
