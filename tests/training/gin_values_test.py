# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Values of gin are compared with the annotations of the parameters."""

import collections.abc
from collections.abc import Callable, Sequence
import re
import typing
from typing import Any, Literal, Optional, Union

import gin
import pytest

from rnd_agents import errors
from rnd_agents.training import configuration
from rnd_agents.training import gin_files
from rnd_agents.training import gin_values
from rnd_agents.training import on_policy
from tests import gin_parameters

_FOUND = gin_parameters.configurables('rnd_agents')
_CALLED = gin_values.Reference('OnPolicyTraining', True)
_FUNCTION = gin_values.Reference('ladder_epsilon', False)
_CLASS = gin_values.Reference('OnPolicyTraining', False)
# Values that no parameter of a type can have, as gin writes them.
_WRONG = {
    bool: ('1', "'yes'", 'None', '()', '@ladder_epsilon', '@LSTMCore()'),
    int: ('1.5', "'1'", 'True', '(1,)', '{}', '@ladder_epsilon', '1e400'),
    float: ("'1'", 'True', '(1,)', '{}', '@ladder_epsilon', '@LSTMCore()'),
    str: ('1', 'True', '(1,)', '{}'),
    dict: ('1', "'1'", '(1,)', 'True'),
    tuple: ('1', "'1'", '{}', '@ladder_epsilon', '@LSTMCore()'),
    list: ('1', "'1'", '{}', '@ladder_epsilon', '@LSTMCore()'),
    collections.abc.Sequence: ('1', "'1'", '{}', '@LSTMCore()'),
    collections.abc.Callable: ('1', "'1'", 'True', '{}', '()'),
    gin_values.Reference: ('1', "'1'", 'True', '(1,)', '{}'),
    gin_values.CalledReference: ('1', "'1'", 'True', '{}', '@ladder_epsilon'),
}
# Those that no object of another class is.
_NO_OBJECTS = ('1', "'1'", 'True', '{}')


def _kinds(annotation):
  """The types of an annotation."""
  arguments = typing.get_args(annotation)
  if typing.get_origin(annotation) in gin_values._UNIONS:
    return {kind for each in arguments for kind in _kinds(each)}
  return {typing.get_origin(annotation) or annotation}


def _parameters():
  """Yields (selector, name of a parameter, wrong values) of the package."""
  for selector, function in _FOUND.items():
    for name, parameter in configuration.parameters_of(function).items():
      kinds = _kinds(gin_values.annotation_of(parameter))
      wrong = [set(_WRONG.get(kind, _NO_OBJECTS)) for kind in kinds]
      if Any not in kinds:
        yield selector, name, set.intersection(*wrong)


def test_every_parameter_refuses_wrong_values_by_name():
  accepted, num_parameters = [], 0
  for selector, name, values in _parameters():
    num_parameters += 1
    assert values, f'{selector}.{name}'
    for value in values:
      gin.clear_config()
      try:
        gin_files.parse([], [f'{selector}.{name} = {value}'])
      except errors.GinError as error:
        assert f'{selector.rpartition(".")[2]}.{name}' in str(error)
      else:
        accepted.append(f'{selector}.{name} = {value}')
  assert not accepted
  assert num_parameters > 350


def test_defaults_fit_their_annotations():
  for selector, function in _FOUND.items():
    for name, parameter in configuration.parameters_of(function).items():
      default = parameter.default
      if default is None or isinstance(default, (bool, int, float, str, tuple)):
        annotation = gin_values.annotation_of(parameter)
        assert gin_values.fits(default, annotation), f'{selector}.{name}'


@pytest.mark.parametrize(
    'binding',
    [
        # Its default is 4.
        'ReplayTraining.env_steps_per_update = 0.5',
        'ReplayTraining.env_steps_per_update = 8',
        "ReplayTraining.demonstrations = 'a'",
        "ReplayTraining.demonstrations = ['a', 'b']",
        'ReplayTraining.demonstrations = None',
        'train_eval.environment_timeout_s = None',
        'train_eval.training = @ReplayTraining()',
        'load_environment.env = @Recall',
        "load_environment.env_kwargs = {'a': @Recall}",
        'load_environment.reward_fn = @sign_of_reward',
        'load_environment.seeding = @stream()',
        'create_networks.core = @LSTMCore()',
        'create_rnd_ppo_agent.learning_rate = @ladder_epsilon',
        'create_rnd_ppo_agent.curiosity_fn = [@create_rnd, @create_icm]',
        'SIZE = 3\ntrain_eval.num_shards = %SIZE',
    ],
)
def test_right_values(binding):
  gin_files.parse([], [binding])


@pytest.mark.parametrize(
    ('binding', 'words'),
    [
        (
            'create_rnd_ppo_agent.learning_rate = @PolynomialDecay',
            r'{} must be a number .* Write @PolynomialDecay\(\)\.',
        ),
        (
            'train_eval.loggers = [@TensorBoardLogger, @WandbLogger()]',
            r'{} must be a list .* Write'
            r' \[@TensorBoardLogger\(\), @WandbLogger\(\)\]\.',
        ),
        (
            'create_curious_agent.agent_fn = @create_rnd',
            r'{} must be a function \(@name\) that returns a TFAgent or None,'
            ' not @create_rnd.',
        ),
        (
            'ReplayTraining.create_agent = @create_sac_agent',
            r'{} must be a function \(@name\) that returns a ReplayAgent, not'
            ' @create_sac_agent.',
        ),
        (
            'create_rnd_ppo_agent.learning_rate = @PolynomialDecay()',
            r'{} calls @PolynomialDecay\(\) without its initial_learning_rate'
            ' and decay_steps. Bind PolynomialDecay.initial_learning_rate.',
        ),
        (
            'create_rnd_ppo_agent.learning_rate = @PolynomialDecay()\n'
            'PolynomialDecay.initial_learning_rate = 1e-3',
            r'{} calls @PolynomialDecay\(\) without its decay_steps. Bind',
        ),
        (
            'CuriousAgent.bonus_weight = @PolynomialDecay',
            '{} calls @PolynomialDecay with 1 of its 2 required arguments',
        ),
        ('RNDPPOAgent.discount_factor = @linear_epsilon', '{} must be a numb'),
    ],
)
def test_schedules_that_are_not_made_are_refused(binding, words):
  words = words.format(re.escape(binding.partition(' ')[0]))
  with pytest.raises(errors.GinError, match=words):
    gin_files.parse([], [binding])


@pytest.mark.parametrize(
    ('annotation', 'right', 'wrong'),
    [
        (Any, [1, None, 'a', _FUNCTION], []),
        ('a text', [1, None], []),
        (int, [1], [True, 1.0, None, 'a', _FUNCTION]),
        (float, [1, 1.5], [True, None, 'a', _FUNCTION]),
        (bool, [True], [1, None]),
        (Optional[int], [1, None], [1.5]),  # noqa: UP045
        (Union[str, Sequence[str], None], ['a', ['a'], (), None], [1, [1]]),  # noqa: UP007 (users write both)
        (int | None, [1, None], ['a']),
        (Literal['a', 1], ['a', 1], ['b', True, None]),
        (Sequence[float], [(), [1], (1.5,)], ['a', ('a',), {}, _CALLED]),
        (list[int], [[1], (1,)], [1, ['a']]),
        (tuple[int, str], [(1, 'a')], [(1,), ('a', 1), (1, 'a', 1)]),
        (tuple[int, ...], [(), (1, 2)], [('a',)]),
        (dict[str, int], [{}, {'a': 1}], [{'a': 'b'}, {1: 1}, 3]),
        (Callable[[int], int], [_FUNCTION, _CLASS], [1, 'a', None]),
        (type[on_policy.OnPolicyTraining], [_CLASS], [1, _CALLED, _FUNCTION]),
        (type[int], [], [_CLASS]),
        (type, [_CLASS], [1, 'a']),
        (on_policy.OnPolicyTraining, [_CALLED], [_CLASS, _FUNCTION, 1, None]),
        (Sequence[on_policy.OnPolicyTraining], [[_CALLED]], [[_CLASS], [1]]),
        (gin_parameters.ast.AST, [], [_CALLED, 3]),
    ],
)
def test_fits(annotation, right, wrong):
  for value in right:
    assert gin_values.fits(value, annotation), value
  for value in wrong:
    assert not gin_values.fits(value, annotation), value
    assert gin_values.describe(annotation)


def test_a_list_of_other_items_is_told_which_it_takes():
  for binding, items in {
      'create_networks.fc_layer_params = (64.5,)': 'of integers',
      "PositionGoals.low = ('a',)": 'of numbers',
  }.items():
    with pytest.raises(errors.GinError, match=f'must be a list {items}'):
      gin_files.parse([], [binding])


# The programs' name of what a dataclass holds: TF-Agents' examples have it.
_OTHER_NAMES = {'train_eval': 'Experiment', 'explore': 'Exploration'}


def test_names_in_gin_are_those_in_python():
  names = {
      selector.rpartition('.')[2]: function.__name__
      for selector, function in _FOUND.items()
  }
  assert len(names) > 50
  different = {n: names[n] for n in names if n != names[n]}
  assert different == _OTHER_NAMES
