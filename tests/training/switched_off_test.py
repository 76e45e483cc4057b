# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings that another one turns off are refused where they are given."""

import importlib
import inspect
import pkgutil
import typing

import gin
import pytest
from tf_agents.trajectories import time_step as ts

from rnd_agents import curiosity as curiosity_package
from rnd_agents import errors
from rnd_agents import switched_off
from rnd_agents.collecting import collector
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from tests import tiny_runs
from tests.agents import agent_test_utils

_DQN = (
    'train_eval.training = @ReplayTraining()',
    'ReplayTraining.create_agent = @create_curious_agent',
    'create_curious_agent.agent_fn = @create_dqn_agent',
)
_SAC = (*_DQN[:2], 'create_curious_agent.agent_fn = @create_sac_agent')
_R2D3 = ('train_eval.training = @ReplayTraining()',)
_DEMOS = (
    "ReplayTraining.demonstrations = 'demos'",
    'ReplayTraining.demonstration_ratio = 0.5',
)
_MEMORY = ('create_q_networks.core = @LSTMCore()', 'LSTMCore.units = 3')
_TWO_LEVELS = (
    'train_eval.training = @TwoLevelTraining()',
    'TwoLevelTraining.upper = @upper/OnPolicyTraining()',
    'TwoLevelTraining.lower = @lower/ReplayTraining()',
    'upper/OnPolicyTraining.rollout_length = 64',
    'upper/RNDPPOAgent.discount_factor = 0.99',
)
_NO_BONUS = 'RNDPPOAgent.intrinsic_advantage_coefficient = 0'


def _build(files, *bindings):
  """Does what a run does until it knows which settings have an effect."""
  gin.clear_config()
  gin_files.parse(files, bindings)
  config = experiment.Experiment('folder')
  is_sac = any('create_sac_agent' in each for each in bindings)
  action = agent_test_utils.BOX if is_sac else agent_test_utils.DISCRETE
  specs = collector.Specs(ts.time_step_spec(agent_test_utils.FLAT), action)
  config.training.check(10_000, 2)
  agent = config.training.build_agent(specs, 2)
  gin_files.check_used(config.training.idle_settings(agent))


# (Settings with which the last one has no effect, that setting, its remedy,
# a setting that gives it an effect.)
_TABLE = [
    (_SAC, 'ReplayTraining.epsilon_fn = @linear_epsilon',
     'take create_r2d3_agent or create_dqn_agent', None),
    (_SAC, 'ladder_epsilon.base = 0.3',
     'take create_r2d3_agent or create_dqn_agent', None),
    (_SAC, 'CuriousAgent.bonus_weight = 0.5',
     'set create_curious_agent.curiosity_fn',
     'create_curious_agent.curiosity_fn = @create_rnd'),
    (_DQN, "CuriousAgent.predictor_learns_from = 'collected'",
     'set create_curious_agent.curiosity_fn',
     'create_curious_agent.curiosity_fn = @create_rnd'),
    (_SAC, 'create_curious_agent.rnd_learning_rate = 3e-06',
     'set create_curious_agent.curiosity_fn',
     'create_curious_agent.curiosity_fn = @create_rnd'),
    ((*_DQN, 'create_curious_agent.curiosity_fn = @create_counts'),
     "CuriousAgent.predictor_learns_from = 'collected'",
     'take one such as create_rnd',
     'create_curious_agent.curiosity_fn = @create_rnd'),
    ((*_SAC, 'create_curious_agent.curiosity_fn = @create_counts'),
     'create_curious_agent.rnd_learning_rate = 3e-06',
     'take one such as create_rnd',
     'create_curious_agent.curiosity_fn = @create_rnd'),
    (_DQN, 'CuriousAgent.discount_factor = 0.9',
     'set CuriousAgent.n_step above 1, or the discount factor of the agent'
     ' inside', 'CuriousAgent.n_step = 2'),
    (_DQN, 'create_dqn_agent.optimism_exponent = 1.0',
     'set create_dqn_agent.optimism', 'create_dqn_agent.optimism = 0.1'),
    (_R2D3, 'R2D3Agent.bonus_weight = 0.5',
     'set create_r2d3_agent.curiosity_fn',
     'create_r2d3_agent.curiosity_fn = @create_rnd'),
    (_R2D3, 'create_r2d3_agent.rnd_learning_rate = 3e-06',
     'set create_r2d3_agent.curiosity_fn',
     'create_r2d3_agent.curiosity_fn = @create_rnd'),
    ((*_R2D3, 'create_r2d3_agent.curiosity_fn = @create_counts'),
     'create_r2d3_agent.rnd_learning_rate = 3e-06',
     'take one such as create_rnd',
     'create_r2d3_agent.curiosity_fn = @create_rnd'),
    ((*_R2D3, *_DEMOS), 'R2D3Agent.margin = 0.1',
     'set R2D3Agent.margin_weight', 'R2D3Agent.margin_weight = 1.0'),
    ((*_R2D3, *_DEMOS), 'R2D3Agent.margin_anneal_train_steps = 9',
     'set R2D3Agent.margin_weight', 'R2D3Agent.margin_weight = 1.0'),
    (_R2D3, 'R2D3Agent.margin_weight = 1.0',
     'set ReplayTraining.demonstrations', '\n'.join(_DEMOS)),
    (_R2D3, "R2D3Agent.recurrent_state_init = 'zero'",
     'set create_q_networks.core', '\n'.join(_MEMORY)),
    (_R2D3, 'ReplayTraining.burn_in_length = 3',
     'set create_q_networks.core', '\n'.join(_MEMORY)),
    (_R2D3, "ReplayTraining.allowed_demonstration_differences = ['a']",
     'set ReplayTraining.demonstrations', '\n'.join(_DEMOS)),
    (_R2D3, 'ReplayTraining.pretraining_eval_interval_train_steps = 9',
     'set ReplayTraining.num_pretraining_steps',
     '\n'.join((*_DEMOS, 'ReplayTraining.num_pretraining_steps = 9'))),
    (('create_rnd_ppo_agent.curiosity_fn = @create_counts',),
     'create_rnd_ppo_agent.rnd_learning_rate = 3e-06',
     'take one such as create_rnd',
     'create_rnd_ppo_agent.curiosity_fn = @create_rnd'),
    (('create_rnd_ppo_agent.curiosity_fn = @create_counts',),
     'RNDPPOAgent.predictor_proportion = 0.5',
     'take one such as create_rnd',
     'create_networks.num_values = 3\n'
     'create_rnd_ppo_agent.curiosity_fn = (@create_counts, @create_rnd)'),
    ((), 'RNDPPOAgent.reward_norm_clipping = 1.0',
     'set RNDPPOAgent.normalize_rewards = True',
     'RNDPPOAgent.normalize_rewards = True'),
    (_TWO_LEVELS, 'lower/R2D3Agent.bonus_weight = 0.5',
     'set lower/create_r2d3_agent.curiosity_fn',
     'lower/create_r2d3_agent.curiosity_fn = @create_rnd'),
]  # yapf: disable


@pytest.mark.parametrize(('settings', 'setting', 'remedy', 'on'), _TABLE)
def test_a_setting_that_is_turned_off(settings, setting, remedy, on):
  with pytest.raises(errors.GinError) as caught:
    _build([], *settings, setting)
  said = str(caught.value)
  assert said.startswith(f'{setting} has no effect without ')
  assert said.endswith(f'{remedy}, or leave it out.')
  assert '\n' not in said
  if on is not None:
    _build([], *settings, setting, on)


@pytest.mark.parametrize(
    ('settings', 'default'),
    [
        (_SAC, 'ReplayTraining.epsilon_fn = @ladder_epsilon'),
        (_SAC, 'CuriousAgent.bonus_weight = 1.0'),
        (_R2D3, 'ReplayTraining.burn_in_length = 0'),
        (_R2D3, 'ReplayTraining.allowed_demonstration_differences = []'),
        ((_NO_BONUS,), 'create_rnd_ppo_agent.curiosity_fn = None'),
    ],
)
def test_defaults_may_be_written(settings, default):
  _build([], *settings, default)


def test_who_turns_a_part_off_later_need_not_take_out_its_settings(tmp_path):
  base = tmp_path / 'base.gin'
  base.write_text('\n'.join((
      *_R2D3, *_DEMOS, 'R2D3Agent.margin_weight = 1.0', 'R2D3Agent.margin = 0.1'
  )))  # yapf: disable
  off = 'R2D3Agent.margin_weight = 0.0'
  later = tmp_path / 'later.gin'
  later.write_text(f"include '{base}'\n{off}\n")
  _build([base], off)
  _build([later])
  later.write_text(f'{off}\n')
  _build([base, later])
  # At once: a loop over weights has that of 0, too.
  _build([base], 'R2D3Agent.margin = 0.2', off)
  later.write_text(f"include '{base}'\nR2D3Agent.margin = 0.2\n{off}\n")
  _build([later])
  # But not who gives them afterwards.
  with pytest.raises(errors.GinError, match='R2D3Agent.margin = 0.3 has no'):
    _build([base, later], 'R2D3Agent.margin = 0.3')


def test_a_macro_turns_a_part_off_as_its_value_does(tmp_path):
  base = tmp_path / 'base.gin'
  base.write_text('\n'.join((
      *_R2D3, *_DEMOS, 'OUTER = %MARGIN', 'MARGIN = 1.0',
      'R2D3Agent.margin_weight = %OUTER',
  )))  # yapf: disable
  setting = 'R2D3Agent.margin = 0.2'
  later = tmp_path / 'later.gin'
  later.write_text(f'{setting}\n')
  for macro in ('OUTER', 'MARGIN'):
    off = f'{macro} = 0.0'
    _build([base], setting, off)  # At once, as in a loop over weights.
    _build([base, later], off)
    later.write_text(f'{off}\n')
    with pytest.raises(errors.GinError, match=f'{setting} has no effect'):
      _build([base, later], setting)
    later.write_text(f'{setting}\n')


@pytest.mark.parametrize(
    ('settings', 'off'),
    [
        # Another agent, within the one that gets a bonus.
        (
            (*_DQN, 'ReplayTraining.epsilon_fn = @linear_epsilon',
             'linear_epsilon.num_env_steps = 9'),
            _SAC[2],
        ),
        # Counts in place of the networks of a curiosity.
        (
            (*_DQN, 'create_curious_agent.curiosity_fn = @create_novel_d',
             'create_curious_agent.rnd_learning_rate = 3e-06'),
            'create_novel_d.novelty_fn = @create_counts',
        ),
        # Both levels, of which one has a setting of its own.
        (
            (*_TWO_LEVELS, 'create_r2d3_agent.curiosity_fn = @create_rnd',
             'lower/R2D3Agent.bonus_weight = 0.5'),
            'create_r2d3_agent.curiosity_fn = None',
        ),
    ],
)  # yapf: disable
def test_a_part_may_be_turned_off_in_more_than_one_way(
    tmp_path, settings, off
):
  file = tmp_path / 'mine.gin'
  file.write_text('\n'.join(settings))
  _build([file])
  _build([file], off)
  if off.endswith('None'):  # At once, as in a loop over curiosities.
    _build([file], off, settings[-1])
    return
  name = settings[-1].partition(' =')[0]
  with pytest.raises(errors.GinError, match=f'{name} = .* has no effect'):
    _build([file], off, settings[-1])


def test_a_file_that_others_include_may_have_what_some_of_them_use(
    tmp_path, caplog
):
  (tmp_path / 'base.gin').write_text('R2D3Agent.margin = 0.1\n')
  file = tmp_path / 'mine.gin'
  file.write_text("include 'base.gin'\n")
  with caplog.at_level('INFO', 'absl'):
    _build([file], *_R2D3)
  assert 'without effect in this run: R2D3Agent.margin.' in caplog.text
  with pytest.raises(errors.GinError, match='R2D3Agent.margin = 0.1 has no'):
    _build([tmp_path / 'base.gin'], *_R2D3)


@pytest.mark.parametrize(
    'setting',
    [
        'create_rnd_ppo_agent.curiosity_fn = @create_e3b',
        'RNDPPOAgent.intrinsic_reward_clip = 3.0',
    ],
)
def test_a_curiosity_for_a_file_without_a_bonus_is_refused(setting):
  with pytest.raises(errors.GinError) as caught:
    _build(['minigrid_ppo'], setting)
  assert str(caught.value) == (
      f'{setting} has no effect without a bonus: set'
      ' RNDPPOAgent.intrinsic_advantage_coefficient above 0, or leave it out.'
  )
  _build(
      ['minigrid_ppo'],
      setting,
      'RNDPPOAgent.intrinsic_advantage_coefficient = 0.5',
  )
  # Each shipped file that turns something off passes; so does a curiosity that
  # is turned off beside its learning rate.
  for name, agent in (
      ('deep_sea_dqn', 'create_curious_agent'),
      ('deep_sea_r2d2_rnd', 'create_r2d3_agent'),
  ):
    _build([name], f'{agent}.curiosity_fn = None')
  for name in ('deep_sea_dqn_alone', 'cartpole_ppo', 'deep_sea_r2d2_rnd'):
    _build([name])


def test_what_a_run_has_recorded_makes_that_run_again(tmp_path):
  base = tmp_path / 'base.gin'
  base.write_text('create_rnd_ppo_agent.curiosity_fn = @create_novel_d\n')
  off = 'RNDPPOAgent.intrinsic_advantage_coefficient = 0.0'
  tiny_runs.prepare(tmp_path / 'run', 128, off, files=[str(base)])
  assert tiny_runs.iterations(tmp_path / 'run') == (0, -1)
  recorded = tmp_path / 'run' / 'operative_config.gin'
  assert 'curiosity_fn = @create_novel_d' in recorded.read_text()
  again = tmp_path / 'again'
  tiny_runs.prepare(again, 128, files=[str(recorded)], settings=())
  assert (again / 'operative_config.gin').read_text() == recorded.read_text()


def test_before_the_run_leaves_a_file(tmp_path):
  base = tmp_path / 'base.gin'
  base.write_text(_NO_BONUS + '\n')
  setting = 'create_rnd_ppo_agent.curiosity_fn = @create_rnd'
  with pytest.raises(errors.GinError, match=f'{setting} has no effect'):
    tiny_runs.train(
        tmp_path / 'run',
        128,
        setting,
        files=[str(base)],
        settings=tiny_runs.SETTINGS,
    )
  assert not (tmp_path / 'run' / 'run.json').exists()


def _takes_curiosities(parameter):
  kinds = parameter.annotation, *typing.get_args(parameter.annotation)
  return curiosity_lib.CuriosityFn in kinds


def test_a_curiosity_made_of_others_can_be_what_turns_training_off():
  taken = {
      f'{name}.{parameter.name}'
      for _, module, _ in pkgutil.iter_modules(curiosity_package.__path__)
      for name, value in vars(
          importlib.import_module(f'rnd_agents.curiosity.{module}')
      ).items()
      if name.startswith('create_')
      for parameter in inspect.signature(value).parameters.values()
      if _takes_curiosities(parameter)
  }

  idle = switched_off.without_training('create_curious_agent', 'lr')['lr']

  assert taken == set(idle.switches[1:])
