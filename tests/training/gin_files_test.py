# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of finding and reading gin files."""

import logging
import os

import gin
import pytest

from rnd_agents import curiosity
from rnd_agents import errors
from rnd_agents.archive import exploration  # noqa: F401  Registers names.
from rnd_agents.environments import wrappers
from rnd_agents.training import experiment  # noqa: F401
from rnd_agents.training import gin_files
from rnd_agents.training import off_policy  # noqa: F401
from rnd_agents.training import two_level  # noqa: F401
from tests import tiny_runs


def test_bare_name_is_found_among_the_shipped_files(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  with open(gin_files.find('mountain_car'), encoding='utf-8') as file:
    assert "load_environment.env = 'MountainCar-v0'" in file.read()


def test_every_shipped_file_names_what_there_is():
  folder = os.path.dirname(gin_files.find('mountain_car'))
  names = sorted(name for name in os.listdir(folder) if name.endswith('.gin'))
  assert len(names) > 40
  for name in names:
    gin.clear_config()
    gin_files.parse([name])


def _bound(*names):
  return [gin.query_parameter(name) for name in names]


def test_a_second_experiment_has_none_of_the_first_ones_bindings():
  names = ('load_environment.env', 'RNDPPOAgent.num_epochs')
  gin_files.parse(['cartpole'])
  expected = gin.config_str()
  first = ["load_environment.env = 'A'", 'RNDPPOAgent.gradient_clipping = 3.0']
  gin_files.parse(['default'], first)
  # A run that a notebook begins between two others.
  with gin_files.parsed(['cartpole'], ['RNDPPOAgent.num_epochs = 99']):
    assert _bound(*names) == ['CartPole-v1', 99]
    assert 'gradient_clipping' not in gin.config_str()
  assert _bound('load_environment.env') == ['A']
  assert 'gradient_clipping = 3.0' in gin.config_str()
  # One that fails leaves nothing.
  with pytest.raises(errors.GinError):
    gin_files.parse([], [*first, 'no_such.name = 1'])
  gin_files.parse(['cartpole'])
  assert gin.config_str() == expected


@gin.configurable(module='gin_files_test')
def _own_reward(reward):
  return reward


def test_values_by_name_are_as_bindings():
  values = {
      'RNDPPOAgent.num_epochs': 2,
      'create_rnd_ppo_agent.curiosity_fn': curiosity.create_e3b,
      'train/load_environment.reward_fn': _own_reward,
      'create_networks.fc_layer_params': (8,),
      'load_environment.wrappers': [wrappers.NoopReset],
      'load_environment.env_kwargs': {'size': 5},
      'load_environment.env': "it's",
      'RNDPPOAgent.target_kl': None,
  }
  gin_files.parse([], values)
  by_values = gin.config_str()
  gin_files.parse([], [
      'RNDPPOAgent.num_epochs = 2',
      'create_rnd_ppo_agent.curiosity_fn = @create_e3b',
      'train/load_environment.reward_fn = @_own_reward',
      'create_networks.fc_layer_params = (8,)',
      'load_environment.wrappers = [@NoopReset]',
      "load_environment.env_kwargs = {'size': 5}",
      'load_environment.env = "it\'s"',
      'RNDPPOAgent.target_kl = None',
  ])
  assert by_values == gin.config_str()
  with pytest.raises(errors.GinError, match='decorate it'):
    gin_files.parse([], {'load_environment.reward_fn': abs})
  with pytest.raises(errors.GinError, match='num_epochs must be a number'):
    gin_files.parse([], {'RNDPPOAgent.num_epochs': object()})


_CELL = '''
import gymnasium
import gin
@gin.configurable(module='a_notebook')
class MyEnv(gymnasium.Env):
  def __init__(self, length=%d):
    self.length = length
'''


def test_a_cell_that_runs_again_defines_its_configurables_again():
  cells = dict(__name__='a_notebook')
  for length in (1, 2):
    exec(_CELL % length, cells)
    gin_files.parse([], ['load_environment.env = @MyEnv'])  # Locks gin.
    env = gin.query_parameter('load_environment.env')
    assert env.scoped_configurable_fn().length == length
  with pytest.raises(ValueError, match='already exists'):
    exec(_CELL % 3, dict(__name__='another_module'))


def test_path_wins_over_a_shipped_file(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'mountain_car.gin').write_text('train_eval.num_shards = 3\n')
  gin_files.parse(['mountain_car.gin'])
  assert gin.query_parameter('train_eval.num_shards') == 3


def test_a_path_that_is_wrong_is_not_the_shipped_file_of_its_name(tmp_path):
  with pytest.raises(FileNotFoundError, match='Did you mean cartpole.gin'):
    gin_files.find(os.fspath(tmp_path / 'cartpole.gin'))


def test_missing_file_names_close_ones():
  with pytest.raises(FileNotFoundError, match='Did you mean mountain_car.gin'):
    gin_files.find('moutain_car.gin')


def test_bindings_win_over_files_and_later_files_over_earlier(tmp_path):
  path = tmp_path / 'mine.gin'
  path.write_text('RNDPPOAgent.num_epochs = 5\ntrain_eval.num_shards = 1\n')
  gin_files.parse(['cartpole', str(path)], ['train_eval.num_shards = 2'])
  assert gin.query_parameter('RNDPPOAgent.num_epochs') == 5
  assert gin.query_parameter('train_eval.num_shards') == 2
  # Untouched ones stay.
  assert gin.query_parameter('load_environment.env') == 'CartPole-v1'


def test_include_in_a_file_of_the_users_finds_shipped_ones(tmp_path):
  path = tmp_path / 'mine.gin'
  path.write_text("include 'deep_sea.gin'\nDEEP_SEA_SIZE = 7\n")
  gin_files.parse([str(path)])
  env_kwargs = gin.query_parameter('load_environment.env_kwargs')
  assert gin.query_parameter('%DEEP_SEA_SIZE') == 7
  assert 'size' in env_kwargs


def test_an_include_that_is_missing_is_one_sentence(tmp_path, caplog):
  path = tmp_path / 'mine.gin'
  path.write_text("include 'no_such.gin'\n")
  with caplog.at_level(logging.INFO):
    with pytest.raises(errors.GinError, match='open file: no_such.gin'):
      gin_files.parse([str(path)])
    assert 'no_such.gin' not in caplog.text
    with pytest.raises(OSError):  # The user's own call.
      gin.parse_config_file('no_such.gin')
  assert caplog.messages[0] == 'Path not found: no_such.gin'


def test_arguments_of_a_program_are_bound_for_a_block():
  gin_files.parse([], ['train_eval.num_shards = 3', 'explore.num_worlds = 2'])
  before, thing = gin.config_str(), object()
  given = dict(num_shards=4, stop_at_return=None, callbacks=[thing], nope=5)
  with gin_files.binding('train_eval', given) as others:
    assert others == dict(callbacks=[thing], nope=5)
    assert gin.query_parameter('train_eval.num_shards') == 4
    assert gin.query_parameter('train_eval.stop_at_return') is None
    assert gin.query_parameter('explore.num_worlds') == 2
  assert gin.config_str() == before and gin.config_is_locked()


@pytest.mark.parametrize(
    'texts',
    [
        ["include 'a.gin'"],
        ["include 'b.gin'", "include 'a.gin'"],
        ["include 'b.gin'", "include 'c.gin'", "include 'b.gin'"],
    ],
)
def test_files_that_include_each_other(tmp_path, texts):
  for name, text in zip('abc', texts):
    (tmp_path / f'{name}.gin').write_text(f'{text}\n')
  with pytest.raises(errors.GinError, match='gin includes /.*gin: ') as caught:
    gin_files.parse([str(tmp_path / 'a.gin')])
  assert '\n' not in str(caught.value) and len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    ('bindings', 'words'),
    [
        (
            ['OpenGoals.goals_fn = @OpenGoals'],
            'OpenGoals.goals_fn .*: @OpenGoals calls @OpenGoals',
        ),
        (
            ['create_lpm.error_fn = %MINE', 'MINE = @create_lpm'],
            'create_lpm.error_fn .*: @create_lpm calls @create_lpm',
        ),
        (
            [
                'create_sum.curiosity_fns = [@create_rnd, @create_product]',
                'create_product.curiosity_fns = (@rnd_agents.create_sum,)',
            ],
            '@create_(sum|product) calls @create_(sum|product) calls @create_',
        ),
        # In its scope, what has none is in force.
        (
            ['TwoLevelTraining.upper = @upper/TwoLevelTraining()'],
            'TwoLevelTraining.upper .*upper/TwoLevelTraining calls @upper/Two',
        ),
        # A reference without a scope stays in the present one.
        (
            [
                'a/create_product.curiosity_fns = [@create_sum]',
                'create_sum.curiosity_fns = [@a/create_product]',
            ],
            '@a/create_product calls @a/create_sum calls @a/create_product',
        ),
    ],
)
def test_functions_that_call_themselves(bindings, words):
  with pytest.raises(errors.GinError, match=words):
    gin_files.parse([], bindings)


def test_functions_that_call_themselves_in_another_scope():
  gin_files.parse([], [
      'TwoLevelTraining.upper = @upper/TwoLevelTraining()',
      'upper/TwoLevelTraining.upper = @OnPolicyTraining()',
      'create_sum.curiosity_fns = [@create_rnd, @b/create_product]',
      'create_product.curiosity_fns = [@create_sum]',
      'b/create_product.curiosity_fns = [@create_counts]',
  ])
  (inner,) = gin.query_parameter('b/create_product.curiosity_fns')
  assert inner.selector.endswith('create_counts')


def test_an_include_is_looked_up_beside_its_file(tmp_path):
  for name in 'ab':
    (tmp_path / name).mkdir()
    number = dict(a=1, b=2)[name]
    (tmp_path / name / 'base.gin').write_text(
        f'train_eval.num_shards = {number}\n'
    )
    (tmp_path / name / 'mine.gin').write_text("include 'base.gin'\n")
  files = [str(tmp_path / name / 'mine.gin') for name in 'ab']
  gin_files.parse(files)
  assert gin.query_parameter('train_eval.num_shards') == 2
  gin.clear_config()
  gin_files.parse(files[::-1])
  assert gin.query_parameter('train_eval.num_shards') == 1


def test_a_file_may_be_included_twice(tmp_path):
  (tmp_path / 'c.gin').write_text('train_eval.num_shards = 3\n')
  for name in 'ab':
    (tmp_path / f'{name}.gin').write_text("include 'c.gin'\n")
  (tmp_path / 'd.gin').write_text("include 'a.gin'\ninclude 'b.gin'\n")
  paths = gin_files.parse([str(tmp_path / 'd.gin')])
  assert [os.path.basename(path) for path in paths] == [
      'd.gin', 'a.gin', 'c.gin', 'b.gin'
  ]


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'train_eval.num_shards = 1  # \xe9t\xe9\n', 'UTF-8.*byte 29'),
        (b'train_eval.num_shards = 1\nA = (1,\n', 'bracket.*after line 1'),
        (b"A = 1\nB = 2\nC = '''1\n", 'quotation mark.*after line 2'),
        (b'train_eval.num_shards = 1 2\n', 'Expected newline.*Line 1'),
        (b'train_eval.seed = 1\nA = create_rnd\n', 'write @create_rnd.*Line 2'),
        (b'A = @create_rdn\n', 'Did you mean create_rnd'),
        (b'A = ' + 5_000 * b'[' + 5_000 * b']', 'nested too deeply'),
        (b'A = {[]: 3}\n', 'key of a dict.*after line 0'),
        (b'A = ' + 330 * b'[' + 330 * b']', 'nested too deeply'),
    ],
)
@pytest.mark.parametrize('is_included', [False, True])
def test_a_file_that_cannot_be_read_is_named(
    tmp_path, content, words, is_included
):
  (tmp_path / 'wrong.gin').write_bytes(content)
  (tmp_path / 'mine.gin').write_text("include 'wrong.gin'\n")
  name = 'mine.gin' if is_included else 'wrong.gin'
  with pytest.raises(errors.GinError, match=f'wrong.gin.*{words}') as caught:
    gin_files.parse([str(tmp_path / name)])
  assert '\n' not in str(caught.value) and len(str(caught.value)) < 1_000


def test_a_folder_that_a_file_includes_is_named(tmp_path):
  file = tmp_path / 'mine.gin'
  file.write_text("include 'parts'\n")
  (tmp_path / 'parts').mkdir()
  words = f"{file} includes 'parts', which is a folder: name a gin file"
  with pytest.raises(errors.GinError, match=words):
    gin_files.parse([str(file)])


_UNUSED = 'has no effect'


def _prepare(root_dir, files, *bindings):
  no_random_steps = 'train_eval.warm_up_env_steps = 0'
  tiny_runs.prepare(root_dir, 128, no_random_steps, *bindings, files=files)


def test_what_an_included_file_binds_may_be_replaced(tmp_path, caplog):
  (tmp_path / 'base.gin').write_text(
      'create_networks.core = @LSTMCore()\nLSTMCore.units = 7\n'
  )
  derived = tmp_path / 'derived.gin'
  derived.write_text("include 'base.gin'\ncreate_networks.core = None\n")
  files = [str(derived)]
  with caplog.at_level('INFO', 'absl'):
    _prepare(tmp_path / 'run', files)
  assert 'without effect in this run: LSTMCore.units.' in caplog.text
  assert tiny_runs.iterations(tmp_path / 'run') == (0, -1)
  # Also on the command line, or by a file after it.
  files = [str(tmp_path / 'base.gin')]
  replaced = 'create_networks.core = None'
  _prepare(tmp_path / 'c', files, replaced)
  (tmp_path / 'later.gin').write_text(f'{replaced}\n')
  _prepare(tmp_path / 'd', [*files, str(tmp_path / 'later.gin')])
  # Not where the file itself, or the command line, binds it.
  files = [str(derived)]
  with pytest.raises(errors.UserError, match=f'LSTMCore.units {_UNUSED}'):
    _prepare(tmp_path / 'b', files, 'LSTMCore.units = 8')
  derived.write_text(derived.read_text() + 'LSTMCore.units = 9\n')
  with pytest.raises(errors.UserError, match=f'LSTMCore.units {_UNUSED}'):
    _prepare(tmp_path / 'b', files)
