# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which settings a resumed run may change."""

import gin
import pytest

from rnd_agents.training import configuration
from rnd_agents.training import experiment  # noqa: F401, for what gin knows.


@gin.configurable(module='rnd_agents.configuration_test')
def configured(number=1, sizes=(64, 64), text='a = b'):
  return number, sizes, text


def test_operative_settings_are_the_values_in_force_with_their_scopes():
  gin.parse_config(
      'configured.number = 2\nSIZE = 7\nx/configured.sizes = (%SIZE,)'
  )
  with gin.config_scope('x'):
    assert configured() == (2, (7,), 'a = b')
  found = configuration.operative(seed=3)
  assert found['--seed'] == '3'
  assert found['x/configured.number'] == '2'
  assert found['x/configured.sizes'] == '(%SIZE,)'
  assert found['SIZE'] == '7'
  assert found['x/configured.text'] == "'a = b'"


def test_a_long_value_stays_on_one_line():
  gin.parse_config(f'configured.sizes = {tuple(range(100))}')
  configured()
  assert configuration.operative()['configured.sizes'] == str(tuple(range(100)))


@gin.configurable(module='rnd_agents.configuration_test')
def with_more(number=1, **more):
  return number, more


@pytest.mark.parametrize(
    'name',
    [
        '--seed',
        'train_eval.num_environments',
        'train_eval.num_shards',
        'train_eval.warm_up_env_steps',
        'OnPolicyTraining.rollout_length',
        'ReplayTraining.unroll_length',
        'create_rnd_ppo_agent.agent_class',
        'linear_epsilon.num_env_steps',
        'create_networks.fc_layer_params',
        'create_networks.compute_dtype',
        'create_encoder.conv_activation',
        'key_observation_fn.key',
        'load_environment.env',
        'train/load_environment.env_kwargs',
        'RNDPPOAgent.normalize_rewards',
        'RNDPPOAgent.entropy_regularization',
        'PrioritizedReplay.priority_exponent',
        'DelayedReward.delay_env_steps',
        # What the environments of training are built with.
        'MyWrapper.size',
        'train/MyEnv.rows',
        'train/my_maps.MyEnv.load_size',
        # A user's own, though its name is that of a safe one.
        'train/MyWrapper.vectorization',
        'MyRewards.learning_rate',
    ],
)
def test_what_the_past_of_a_run_depends_on_stays(name):
  fatal, harmless, of_learning = configuration.changes({name: '1'}, {name: '2'})
  assert fatal == [f'{name} was 1 and is now 2']
  assert not harmless and not of_learning


@pytest.mark.parametrize(
    ('name', 'is_of_learning'),
    [
        ('train_eval.num_env_steps', False),
        ('train_eval.stop_at_success_rate', False),
        ('train_eval.stop_at_return', False),
        ('train_eval.record_video', False),
        ('train_eval.save_policies', False),
        ('train_eval.num_checkpoints', False),
        ('train_eval.checkpoint_interval_iterations', False),
        ('train_eval.environment_timeout_s', False),
        ('load_environment.info_keys', False),
        ('load_environment.vectorization', False),
        ('load_environment.step_timeout_s', False),
        ('train/load_environment.vectorization', False),
        ('train/rnd_agents.load_environment.step_timeout_s', False),
        ('train_eval.num_eval_episodes', True),
        ('train_eval.eval_interval_env_steps', True),
        ('create_dqn_agent.eval_epsilon', True),
        ('upper/R2D3Agent.eval_epsilon', True),
        ('eval/load_environment.env_kwargs', True),
        ('eval/MyWrapper.size', True),
        ('OnPolicyTraining.num_devices', True),
        ('create_rnd_ppo_agent.learning_rate', True),
        ('create_rnd_ppo_agent.rnd_learning_rate', True),
        ('create_r2d3_agent.learning_rate', True),
        ('RNDPPOAgent.gradient_clipping', True),
    ],
)
def test_a_short_list_may_change_and_is_named(name, is_of_learning):
  fatal, harmless, of_learning = configuration.changes({name: '1'}, {name: '2'})
  assert harmless == [f'{name} was 1 and is now 2']
  assert of_learning == harmless * is_of_learning
  assert not fatal


@pytest.mark.parametrize(
    'was, now, is_change',
    [
        ('[64, 32]', '(64, 32)', False),
        ('()', '[]', False),
        ("{'a': [1]}", "{'a': (1,)}", False),
        ('[64, 32]', '(32, 64)', True),
        ("'1'", '1', True),
        ("{'1': 2}", '{1: 2}', True),
        ('[True]', '[1]', True),
        ('[@a()]', '(@a(),)', True),  # Not worth a reader of references.
    ],
)
def test_lists_and_tuples_of_equal_items_agree(was, now, is_change):
  name = 'create_networks.fc_layer_params'
  fatal, *_ = configuration.changes({name: was}, {name: now})
  assert bool(fatal) == is_change


def test_what_only_one_version_of_the_software_knows_is_no_change():
  for name in ('configured.of_another_version', 'gone.number'):
    assert configuration.changes({name: '1'}, {}) == ([], [], [])
    assert configuration.changes({}, {name: '1'}) == ([], [], [])


@pytest.mark.parametrize('scope', ['', 'train/'])
def test_a_setting_that_a_new_version_brought_had_its_default(scope):
  name = f'{scope}configured.number'
  called = {f'{scope}configured.sizes': '()'}
  assert configuration.changes(called, called | {name: '1'}) == ([], [], [])
  text = {f'{scope}configured.text': "'a = b'"}
  assert configuration.changes(called, called | text)[0] == []
  assert configuration.changes(called, called | {name: '2'}) == (
      [f'{name} was 1 and is now 2'], [], []
  )
  assert configuration.changes(called | {name: '2'}, called) == (
      [f'{name} was 2 and is now 1'], [], []
  )


@pytest.mark.parametrize('called', ['', 'train/'])
def test_settings_of_what_one_run_has_not_called(called):
  # Such as of a recorder that a harmless switch turned off.
  old = {'eval/configured.sizes': '()'}
  new = {f'{called}configured.number': '2', f'{called}configured.sizes': '()'}
  assert configuration.changes(old, old | new) == ([], [], [])
  assert configuration.changes(old | new, old) == ([], [], [])


@pytest.mark.parametrize('scope', ['', 'train/'])
def test_an_argument_that_gin_knows_only_where_it_is_bound(scope):
  name = f'{scope}with_more.rate'
  assert configuration.changes({}, {name: '1'}) == (
      [f'{name} was not set and is now 1'], [], []
  )
  assert configuration.changes({name: '1'}, {}) == (
      [f'{name} was 1 and is now not set'], [], []
  )


def _operative(*bindings):
  gin.clear_config()
  gin.parse_config(bindings)
  with gin.config_scope('train'):
    configured()
  return configuration.operative()


def test_macros_count_as_what_they_stand_for_and_where():
  size = 'train/configured.sizes = (%size, {"a": %SIDES})'
  old = _operative(size, 'size = %SIDES', 'SIDES = 7', 'TEXT = "b"')
  assert old['train/configured.sizes'] == "(%size, {'a': %SIDES})"
  none = ([], [], [])
  same = _operative(size, 'size = 7', 'SIDES = 7')
  assert configuration.changes(old, same) == none
  same = _operative('train/configured.sizes = (7, {"a": 7})')
  assert configuration.changes(old, same) == none
  other = _operative(size, 'size = 8', 'SIDES = 7')
  sentence = "train/configured.sizes was (7, {'a': 7}) and is now (8, {'a': 7})"
  assert configuration.changes(old, other) == ([sentence], [], [])
  # Not in texts.
  text = {'SIZE': '7', 'a.b': "('%SIZE', \"it's %SIZE\", %SIZE)"}
  sentence = "a.b was ('%SIZE', \"it's %SIZE\", 7) and is now 0"
  assert configuration.changes(text, {'a.b': '0'}) == ([sentence], [], [])


def test_a_macro_of_what_may_change_may_change():
  name = 'create_rnd_ppo_agent.learning_rate'
  old, new = {name: '%LR', 'LR': '0.1'}, {name: '%LR', 'LR': '0.2'}
  sentences = [f'{name} was 0.1 and is now 0.2']
  assert configuration.changes(old, new) == ([], sentences, sentences)


def test_each_change_is_named_and_what_stayed_is_not():
  same = {'A_SIZE': '3'}
  old = {'--seed': '1', 'OnPolicyTraining.rollout_length': '8', **same}
  new = {'--seed': '2', 'OnPolicyTraining.rollout_length': '9', **same}
  sentences = [
      '--seed was 1 and is now 2',
      'OnPolicyTraining.rollout_length was 8 and is now 9',
  ]
  assert configuration.changes(old, new) == (sentences, [], [])


def test_own_settings_leave_out_those_of_other_packages():
  found = configuration.own({
      'train_eval.num_env_steps': '1',
      'eval/load_environment.env': "'a'",
      'create_networks.fc_layer_params': '(4,)',
      'RNDPPOAgent.num_epochs': '4',
      'NovelD.alpha': '0.5',
      'upper/with_more.number': '2',
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
      'NovelD.alpha',
      'upper/with_more.number',
      'DEEP_SEA_SIZE',
  ]
