# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for check: each rule has an environment that breaks it."""

import copy
import functools
import inspect
import re
import subprocess
import sys
import warnings

from absl import app
from absl import flags
from absl import logging
import gin
import gymnasium
from gymnasium import spaces
from gymnasium.utils import env_checker
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.environments import check
from rnd_agents.environments import environment_rules
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from tests import masked_environments
from tests.environments import broken_environments as broken
from tests.train import binaries

_MODULE = 'tests.environments.broken_environments'
_TWO = 'Two instances, reset with seed 0'
_BATCH = 'Two instances in one batch: '

# (what makes it, the rule that it breaks, what is said of it, whether
# Gymnasium's check_env passes it in all versions). The rule is the only one but
# for 'gymnasium'.
TABLE = [
    ('TooManyActions', 'agent', '1,048,576 discrete values', True),
    ('NeedsAnArgument', 'adapter', "missing 1 required .*'size'", False),
    ('NotAnEnvironment', 'adapter', 'must return a gymnasium.Env', False),
    ('same_instance', 'adapter', 'same environment more than once', True),
    ('SpacesOfChance', 'adapter', 'spaces are not equivalent', True),
    ('TextOnly', 'adapter', "'observation' is text only", True),
    ('NoObservationSpace', 'adapter', 'not a gymnasium Space', False),
    ('SequenceAction', 'adapter', "'action' is a Sequence space", True),
    ('Float32Overflow', 'adapter', _BATCH + '.* is -inf at index', True),
    ('NaNObservation', 'adapter', _BATCH + ".*'observation' is nan", True),
    ('ArrayReward', 'adapter', 'the reward must be one number', True),
    ('InfiniteReward', 'adapter', _BATCH + ".*'reward' is inf", True),
    ('LateOutOfBounds', 'adapter', _BATCH + '.*Step 15: .* does not fit', True),
    ('Black', 'observation-changes', r'was \[0. 0. 0.\] in all 300', True),
    ('FarAway', 'observation-scale', 'reaches 100., .* as it is', True),
    ('MissingKey', 'gymnasium', 'Here: observation/.* is missing', False),
    ('Float64', 'gymnasium', 'observation.* is float64, not in', False),
    ('NoneTruncated', 'gymnasium', 'AssertionError', False),
    ('InfoIsNone', 'gymnasium', '`info` .* must be a .*dictionary', False),
    ('OwnGenerator', 'gymnasium', 'super.*reset.seed=seed', False),
    ('NoSeedArgument', 'raises',
     "^the reset of episode 0 .* unexpected keyword argument 'seed'", False),
    ('OldGym', 'raises', "unexpected keyword argument 'seed'", False),
    ('ObservationAlone', 'raises', 'too many values to unpack', False),
    ('FourValues', 'raises', '^step 1 .* not enough values to unpack', False),
    ('RefusesAnAction', 'raises',
     r'^step 1 of episode 0 .action 1. raised KeyError: 1 .broken_env', False),
    ('ClosesOnce', 'raises', "close raised AttributeError: 'ClosesOnce'", True),
    ('ClosesNever', 'raises', 'close raised OSError: no window .broken', True),
    ('ChangesTheAction', 'action-unchanged', '^step 1 of episode 0', True),
    ('ReusedBuffer', 'observation-copy',
     '^the observation of the reset .* has changed after step 1 of', False),
    (
        'BuffersInTurn',
        'observation-copy',
        'changed after step 3 of',
        not hasattr(env_checker, 'check_returned_data_not_reused'),  # 1.4
    ),
    ('NestedView', 'observation-copy', '^the observation of the', False),
    ('Endless', 'episode-end', 'has ended in 2000 random steps', True),
    ('LimitAsDeath', 'time-limit', 'All 5 .* 20 steps, terminated', True),
    ('OffersAMask', 'action-mask',
     "info 'legal_actions' looks like a mask of Discrete", True),
    ('TextWithTheTask', 'text', "the text 'task', such as '", True),
    ('LimitAsBoth', 'time-limit',
     '5 episodes of 5 ended both terminated and truncated', True),
    ('IgnoresTheSeed', 'seed-repeats', f'^{_TWO} and then', False),
    # 7 steps of the episode that was cut short, and 13.
    ('KeepsOldSteps', 'reset-clears',
     'up to 7 steps .* at step 13 truncated was False, and then True', True),
    ('ClearsAtTheEnd', 'reset-clears',
     'up to 7 steps .* at step 13 truncated was False, and then True', True),
    ('OldContacts', 'reset-clears', 'at step 0 observation was', True),
    ('NewGeneratorAtEachReset', 'seed-repeats', f'^{_TWO} and then', True),
    ('SeedsNumPy', 'shared-state', 'another .* stepped in turns', True),
    ('ClassState', 'shared-state', 'another .* stepped in turns', True),
]


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        (dict(at=np.zeros(2, np.float32), hand=(1, 0)), []),
        (dict(at=np.zeros(2), hand=(1, 0)), ['o/at is float64, not in Box']),
        (dict(at=np.zeros(3, np.float32), hand=(1, 0)), [r'of shape \(3,\)']),
        (dict(at=np.full(2, 7, np.float32), hand=(1, 0)), [r'\[7. 7.\], not']),
        (
            dict(hand=(1, 5), x=0),
            ['o/at is missing', "'x', which", 'o/hand/1 is int 5'],
        ),
        (dict(at=np.zeros(2, np.float32), hand=(1,)), ['1 parts, not 2']),
        ([], ['o is list']),
    ],
)
def test_misfits_name_entry_and_reason(value, expected):
  space = spaces.Dict(
      at=spaces.Box(-1, 1, (2,), np.float32),
      hand=spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]),
  )
  found = environment_rules.misfits(space, value, 'o')
  assert len(found) == len(expected)
  for sentence, pattern in zip(found, expected):
    assert re.search(pattern, sentence)


def test_keys_of_several_types():
  nest = {'a': np.float32([1, np.nan]), 3: ([1, 2], {2: 'x'})}
  assert environment_rules.equal(nest, copy.deepcopy(nest))
  for other in ({'a': nest['a']}, dict(nest, a=1.0), {**nest, 3: ([1, 3], {})}):
    assert not environment_rules.equal(nest, other)


def _examine(env_fn, tries_agent=False, **kwargs):
  return check.examine_environment(
      env_fn, max_steps=2000, tries_agent=tries_agent, **kwargs
  )


def _rules(report):
  return [found.rule for found in report.findings]


@pytest.mark.parametrize(
    'name, rule, message', [row[:3] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_each_is_caught_by_its_rule_only(name, rule, message):
  report = _examine(getattr(broken, name), tries_agent=rule == 'agent')
  found = {each.rule: each.what for each in report.findings}
  assert {*found, 'gymnasium'} == {rule, 'gymnasium'}
  assert re.search(message, found[rule], re.DOTALL), found[rule]


def test_the_table_has_every_rule_and_every_environment():
  assert {row[1] for row in TABLE} == set(environment_rules.RULES)
  classes = {
      name
      for name, value in vars(broken).items()
      if inspect.isclass(value) and value.__module__ == broken.__name__
  }
  assert classes - {row[0] for row in TABLE} == {'Sound'}


@pytest.mark.parametrize('name', [row[0] for row in TABLE if row[3]])
def test_what_gymnasiums_own_check_passes(name):
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    env_checker.check_env(getattr(broken, name)(), skip_render_check=True)


@pytest.mark.parametrize('env_fn, notes', [
    (broken.Sound, []),
    (functools.partial(gymnasium.make, 'Pendulum-v1'), []),
    (functools.partial(gymnasium.make, 'CartPole-v1', render_mode='rgb_array'),
     []),
    (functools.partial(gymnasium.make, 'rnd_agents/DeepSea-v0'),
     ['time-limit']),
    (functools.partial(gymnasium.make, 'rnd_agents/DeepSea-v0',
                       deterministic=False), ['time-limit']),
])
# Those of other families are in families_test.
def test_sound_environments(env_fn, notes):
  report = check.check_environment(
      env_fn, max_steps=1500, tries_agent=env_fn is broken.Sound
  )
  assert _rules(report) == notes
  assert all(found.level == 'note' for found in report.findings)


@pytest.mark.parametrize('space', [
    spaces.Discrete(2, start=-1), spaces.MultiDiscrete([2, 3], start=[3, 1])
])
def test_sound_actions_that_do_not_count_from_zero(space):
  class Counting(broken.Sound):
    action_space = space

    def step(self, action):
      assert self.action_space.contains(action)
      return super().step(np.sum(action - np.asarray(space.start)) % 2)

  assert not _examine(Counting).findings


@pytest.mark.parametrize('env_fn', [broken.LimitAsDeath, broken.LimitAsBoth])
def test_the_advice_on_a_disguised_time_limit_works(env_fn):
  env = loaders.load_environment(env_fn, max_episode_steps=broken.LIMIT - 1)
  env.reset()
  for _ in range(broken.LIMIT - 1):
    time_step = env.step(np.zeros(1, int))
  assert time_step.is_last() and time_step.discount == 1.0
  # And the wrong advice, that limit itself, does nothing.
  env = loaders.load_environment(env_fn, max_episode_steps=broken.LIMIT)
  env.reset()
  for _ in range(broken.LIMIT):
    time_step = env.step(np.zeros(1, int))
  assert time_step.is_last() and time_step.discount == 0.0


_LAMPS = masked_environments.Lamps


@pytest.mark.parametrize('kwargs', [
    dict(place='info'),
    dict(place='observation'),
    dict(action_space=spaces.MultiDiscrete([2, 3], start=[-1, 4])),
])
def test_actions_that_a_mask_allows(kwargs):
  report = _examine(
      functools.partial(_LAMPS, **kwargs),
      tries_agent=kwargs == dict(place='info'),
      action_mask_key='legal',
  )
  assert _rules(report) == ['time-limit'] and not report.left_out
  assert not any('mask' in line for line in report.observations)


def test_wrapped_environments_with_masks():
  report = _examine(
      lambda: gymnasium.wrappers.TimeLimit(_LAMPS('observation'), 4),
      action_mask_key='legal',
  )
  assert not report.findings
  assert {episode.length for episode in report.episodes} == {4}


def test_a_mask_that_gin_names():
  gin.parse_config('load_environment.action_mask_key = "legal"')
  assert _rules(_examine(_LAMPS)) == ['time-limit']


@pytest.mark.parametrize('kwargs, where', [
    (dict(place='info'), "info 'legal'"),
    (dict(place='observation'), "observation 'legal'"),
])
def test_a_mask_that_nothing_names(kwargs, where):
  report = _examine(functools.partial(_LAMPS, **kwargs))
  assert _rules(report)[-1] == 'action-mask'
  assert where in report.findings[-1].what
  assert 'load_environment.action_mask_key' in str(report)
  # What is no mask of these actions.
  report = _examine(
      functools.partial(_LAMPS, mask=np.ones(3, np.int8), **kwargs)
  )
  assert 'action-mask' not in _rules(report)


def test_a_name_that_is_no_mask():
  for key, words in ('lamp', 'neither of its observation'), (
      'rest', 'MultiDiscrete action'
  ):
    report = _examine(
        _LAMPS if key == 'lamp' else lambda: gymnasium.make('Pendulum-v1'),
        action_mask_key=key,
    )
    assert report.faults and words in str(report)


def test_the_error_lists_all_faults_with_their_fixes():
  with pytest.raises(check.EnvironmentCheckError) as caught:
    check.check_environment(broken.IgnoresTheSeed)
  assert [f.rule for f in caught.value.findings] == [
      'gymnasium', 'seed-repeats'
  ]
  lines = str(caught.value).split('\n')
  assert lines[0] == 'The environment has faults.'
  assert lines[1].startswith('fault [gymnasium] AssertionError: ')
  assert lines[2] == f'  fix: {environment_rules.RULES["gymnasium"][1]}'
  assert lines[3].startswith('fault [seed-repeats] Two instances, ')
  assert lines[5] == 'not checked: a batch (fix the faults first)'
  assert lines[6].startswith('2 faults, 0 warnings, 0 notes; 5 episodes of ')
  assert lines[7].startswith("observation 'observation': float32 [3], values ")
  assert len(lines) == 8


def test_accepted_rules_are_notes():
  report = check.check_environment(
      broken.KeepsOldSteps, accept=['reset-clears'], tries_agent=False
  )
  assert _rules(report) == ['reset-clears']
  assert str(report).startswith('note (accepted) [reset-clears] Reset with ')
  assert report.summary().startswith('0 faults, 0 warnings, 1 note;')
  with pytest.raises(check.EnvironmentCheckError):
    check.check_environment(broken.KeepsOldSteps, accept=['raises'])


def test_the_summary():
  # Twenty steps of reward 0, then termination, five times.
  assert _examine(broken.LimitAsDeath).summary() == (
      '0 faults, 0 warnings, 1 note; 5 episodes of 20 to 20 steps, 5 '
      'terminated and 0 truncated, returns 0 to 0; observes Box(-2.0, 2.0, '
      '(3,), float32), acts Discrete(2)'
  )
  report = _examine(broken.Endless)
  assert report.summary() == (
      '0 faults, 1 warning, 0 notes; no episode ended; observes '
      'Box(-2.0, 2.0, (3,), float32), acts Discrete(2)'
  )


def test_the_seed_decides_what_is_played():
  reports = [_examine(broken.Sound, seed=seed) for seed in (0, 0, 1)]
  assert reports[0].episodes == reports[1].episodes
  assert reports[0].episodes != reports[2].episodes
  assert [len(r.episodes) for r in reports] == [5, 5, 5]
  assert len(_examine(broken.Sound, num_episodes=3).episodes) == 3


def test_global_state_is_left_alone(recwarn):
  np.random.seed(3)
  expected = np.random.RandomState(3).rand()
  _examine(functools.partial(gymnasium.make, 'CartPole-v1'))
  assert np.random.rand() == expected
  assert not [w for w in recwarn if issubclass(w.category, UserWarning)]


@pytest.mark.parametrize('kwargs, message', [
    (dict(num_episodes=0), 'num_episodes .*got 0'),
    (dict(max_steps=0), 'max_steps .*got 0'),
    (dict(seed=-1), 'seed .*got -1'),
    (dict(accept=['sneezes']), r"Unknown rules: \['sneezes'\].*'gymn"),
])
def test_bad_arguments(kwargs, message):
  with pytest.raises(ValueError, match=message):
    check.check_environment(broken.Sound, **kwargs)


def test_an_instance_is_no_callable():
  (found,) = _examine(broken.Sound()).findings
  assert found.rule == 'adapter'
  assert 'not Sound. For an environment of your own: load_env' in found.what


def test_a_callable_that_can_be_called_twice_only():
  environments = [broken.Sound(), broken.Sound()]
  report = _examine(environments.pop)
  assert _rules(report) == ['adapter']
  assert 'IndexError: pop from empty list' in report.findings[0].what
  assert report.left_out == ['all that follows this (fix it first)']


def test_faults_inside_of_wrappers():
  stack = functools.partial(
      gymnasium.wrappers.FrameStackObservation, stack_size=3
  )
  env = stack(broken.ReusedBuffer())
  env.reset(seed=0)
  observation = env.step(1)[0]
  # The fault that it makes: a stack of one frame, no history.
  np.testing.assert_array_equal(observation[0], observation[2])

  report = _examine(lambda: stack(broken.ReusedBuffer()))
  assert [(f.rule, f.what) for f in report.findings] == [(
      'observation-copy',
      'Inside of the wrappers: the observation of the reset of episode 0 has '
      'changed after step 1 of episode 0.',
  )]
  assert not _examine(lambda: stack(broken.Sound())).findings


@pytest.mark.parametrize('wrapper', [
    gymnasium.wrappers.NormalizeObservation, gymnasium.wrappers.NormalizeReward
])
def test_statistics_over_episodes_cannot_be_replayed(wrapper):
  report = _examine(lambda: wrapper(broken.Sound()))
  assert _rules(report)[-1] == 'reset-clears'


def test_a_wrapped_environment_that_takes_no_seed():
  report = _examine(
      lambda: gymnasium.wrappers.TimeLimit(broken.NoSeedArgument(), 9)
  )
  assert _rules(report) == ['gymnasium', 'raises']
  assert "unexpected keyword argument 'seed'" in report.findings[1].what


def test_time_steps_that_do_not_fit_their_spec_are_caught(monkeypatch):
  step = vector_environment.VectorPyEnvironment._step

  def spoilt(self, action):
    time_step = step(self, action)
    return time_step._replace(observation=time_step.observation.astype(float))

  monkeypatch.setattr(vector_environment.VectorPyEnvironment, '_step', spoilt)
  (found,) = _examine(broken.Sound).findings
  assert found.rule == 'adapter' and 'Step 1: ' in found.what


def _main(*arguments):
  values = flags.FlagValues()
  check.define_flags(values)
  return check.main(values(['check', *arguments]), values)


def test_command_line(capsys):
  assert _main('CartPole-v1', '--episodes', '3', '--seed', '5') == 0
  out = capsys.readouterr().out.split('\n')
  assert out[0] == 'CartPole-v1'
  assert out[1].startswith('0 faults, 0 warnings, 0 notes; 3 episodes of ')

  assert _main(f'{_MODULE}:KeepsOldSteps') == 1
  out = capsys.readouterr().out
  assert '\nfault [reset-clears] Reset with seed 0 ' in out
  assert '\n  fix: Set what step changes in reset' in out
  assert '\n1 fault, 0 warnings, 0 notes; 5 episodes' in out
  assert _main(f'{_MODULE}:KeepsOldSteps', '--accept=reset-clears') == 0


def test_command_line_names_and_arguments(capsys):
  # A module that registers an id, and the constructor's arguments.
  assert _main(
      'rnd_agents.environments:rnd_agents/DeepSea-v0',
      '--env_kwargs={"size": 3, "unscaled_move_cost": 0}',
  ) == 0
  assert '5 episodes of 3 to 3 steps, 5 terminated' in capsys.readouterr().out
  # One step less than an episode takes.
  assert _main(f'{_MODULE}:LimitAsDeath', '--max_steps=19') == 0
  assert 'No episode has ended in 19 random' in capsys.readouterr().out


def test_command_line_checks_what_the_loader_makes(capsys):
  pytest.importorskip('minigrid')
  # Encoded as for training: 7 x 7 cells of 20 bits, and no text.
  assert _main('MiniGrid-Empty-5x5-v0', '--episodes=2') == 0
  assert '(7, 7, 20), uint8), ' in capsys.readouterr().out


@pytest.mark.parametrize('arguments, message', [
    (['CartPole-v9'], 'Similar ids: CartPole-v1'),
    (['no_such_module:Env'], "No module named 'no_such_module'"),
    (['CartPole-v1', '--episodes=0'], 'num_episodes'),
    (['CartPole-v1', '--env_kwargs={size: 3}'], 'env_kwargs'),
    (['CartPole-v1', '--env_kwargs=5'], 'env_kwargs: '),
    (['CartPole-v1', '--env_kwargs={"nope": 1}'],
     "CartPole-v1 does not take {'nope'"),
    ([], 'Name one environment'),
    (['CartPole-v1', 'MountainCar-v0'], 'Name one environment'),
])
def test_command_line_errors(arguments, message):
  with pytest.raises(app.UsageError) as caught:
    _main(*arguments)
  assert message in str(caught.value) and caught.value.exitcode == 2


def test_module_runs():
  ran = subprocess.run(
      [sys.executable, '-W', 'error::RuntimeWarning', '-m',
       'rnd_agents.environments.check', f'{_MODULE}:ArrayReward',
       '--episodes', '2'],
      capture_output=True, text=True, timeout=120,
  )
  assert ran.returncode == 1, ran.stderr
  expected = f'{_MODULE}:ArrayReward\nfault [adapter] {_BATCH}'
  assert expected in ran.stdout + ran.stderr


def test_help(tmp_path):
  ran = binaries.run(tmp_path, 'rnd_agents.environments.check', '--help')
  assert ran.returncode == 1  # As absl's --help ends everywhere.
  assert '--episodes: ' in ran.stdout


def test_importing_it_defines_no_flags():
  assert 'max_steps' not in flags.FLAGS and 'env_kwargs' not in flags.FLAGS


def test_program_leaves_out_remarks_on_the_saved_policy(monkeypatch):
  levels = []
  monkeypatch.setattr(
      check.programs,
      'run_program',
      lambda *_: levels.append((
          logging.get_verbosity(), tf.get_logger().level
      )),
  )
  before = logging.get_verbosity(), tf.get_logger().level
  check.run()
  logging.set_verbosity(before[0])
  tf.get_logger().setLevel(before[1])
  assert levels == [(logging.ERROR, 40)]
