# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which settings a resumed run may change."""

import gin
import pytest

from rnd_agents.training import settings


@gin.configurable(module='rnd_agents.settings_test')
def configured(number=1, sizes=(64, 64), text='a = b'):
  return number, sizes, text


def test_operative_settings_are_the_values_in_force_with_their_scopes():
  gin.clear_config()
  gin.parse_config(
      'configured.number = 2\nSIZE = 7\nx/configured.sizes = (%SIZE,)'
  )
  with gin.config_scope('x'):
    assert configured() == (2, (7,), 'a = b')
  found = settings.operative(seed=3)
  assert found['--seed'] == '3'
  assert found['x/configured.number'] == '2'
  assert found['x/configured.sizes'] == '(%SIZE,)'
  assert found['SIZE'] == '7'
  assert found['x/configured.text'] == "'a = b'"


def test_a_long_value_stays_on_one_line():
  gin.clear_config()
  gin.parse_config(f'configured.sizes = {tuple(range(100))}')
  configured()
  assert settings.operative()['configured.sizes'] == str(tuple(range(100)))


@pytest.mark.parametrize(
    'name',
    [
        '--seed',
        'train_eval.num_environments',
        'train_eval.rollout_length',
        'train_eval.agent_class',
        'create_networks.fc_layer_params',
        'create_atari_networks.num_actions',
        'load_environment.env',
        'train/load_environment.env_kwargs',
        'RNDPPOAgent.normalize_rewards',
        'DelayedReward.delay_env_steps',
        # What the environments of training are built with.
        'train/MyEnv.rows',
        'train/my_maps.MyEnv.load_size',
    ],
)
def test_what_the_past_of_a_run_depends_on_stays(name):
  fatal, harmless = settings.changes({name: '1'}, {name: '2'})
  assert fatal == [f'{name} was 1 and is now 2']
  assert not harmless


@pytest.mark.parametrize(
    'name',
    [
        'train_eval.num_env_steps',
        'train_eval.learning_rate',
        'train_eval.num_eval_episodes',
        'eval/load_environment.env_kwargs',
        'load_environment.vectorization',
        'load_environment.step_timeout_s',
        'train/load_environment.vectorization',
        'train/rnd_agents.load_environment.step_timeout_s',
        'eval/load_environment.max_episode_steps',
        'train_eval.environment_timeout_s',
        'create_networks.compute_dtype',
        'create_q_networks.compute_dtype',
        'RNDPPOAgent.gradient_clipping',
        'RNDPPOAgent.entropy_regularization',
    ],
)
def test_the_rest_may_change_and_is_named(name):
  fatal, harmless = settings.changes({name: '1'}, {name: '2'})
  assert harmless == [f'{name} was 1 and is now 2']
  assert not fatal


def _operative(*bindings):
  gin.clear_config()
  gin.parse_config(bindings)
  with gin.config_scope('train'):
    configured()
  return settings.operative()


def test_macros_count_as_what_they_stand_for_and_where():
  size = 'train/configured.sizes = (%size, {"a": %SIDES})'
  old = _operative(size, 'size = %SIDES', 'SIDES = 7', 'TEXT = "b"')
  assert old['train/configured.sizes'] == "(%size, {'a': %SIDES})"
  assert settings.changes(old, _operative(size, 'size = 7', 'SIDES = 7')) == (
      [],
      [],
  )
  assert settings.changes(
      old, _operative('train/configured.sizes = (7, {"a": 7})')
  ) == ([], [])
  assert settings.changes(old, _operative(size, 'size = 8', 'SIDES = 7')) == (
      [
          "train/configured.sizes was (7, {'a': 7}) and is now (8, {'a': 7})",
      ],
      [],
  )
  # Not in texts.
  text = {'SIZE': '7', 'a.b': "('%SIZE', \"it's %SIZE\", %SIZE)"}
  assert settings.changes(text, {'a.b': '0'}) == (
      [],
      ["a.b was ('%SIZE', \"it's %SIZE\", 7) and is now 0"],
  )


def test_a_macro_of_what_may_change_may_change():
  old = {'train_eval.learning_rate': '%LR', 'LR': '0.1'}
  new = {'train_eval.learning_rate': '%LR', 'LR': '0.2'}
  assert settings.changes(old, new) == (
      [],
      ['train_eval.learning_rate was 0.1 and is now 0.2'],
  )


def test_each_change_is_named_and_what_stayed_is_not():
  same = {'A_SIZE': '3'}
  old = {'--seed': '1', 'train_eval.rollout_length': '8', 'b': '1', **same}
  new = {'--seed': '2', 'train_eval.rollout_length': '9', 'c': '1', **same}
  assert settings.changes(old, new) == (
      [
          '--seed was 1 and is now 2',
          'train_eval.rollout_length was 8 and is now 9',
      ],
      [],
  )


def test_own_settings_leave_out_those_of_other_packages():
  found = settings.own({
      'train_eval.num_env_steps': '1',
      'eval/load_environment.env': "'a'",
      'create_networks.fc_layer_params': '(4,)',
      'RNDPPOAgent.num_epochs': '4',
      'DEEP_SEA_SIZE': '3',
      'EncodingNetwork.batch_squash': 'True',
      'tf_agents.EnvironmentSteps.name': "'x'",
      '--seed': '1',
  })
  assert list(found) == [
      'train_eval.num_env_steps',
      'eval/load_environment.env',
      'create_networks.fc_layer_params',
      'RNDPPOAgent.num_epochs',
      'DEEP_SEA_SIZE',
  ]
