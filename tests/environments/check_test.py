# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for check: each rule has an environment that breaks it."""

import functools
import inspect
import re
import subprocess
import sys
import warnings

import gymnasium
from gymnasium import spaces
from gymnasium import vector
from gymnasium.utils import env_checker
import numpy as np
import pytest
from tf_agents.environments import utils

from rnd_agents.environments import check
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from rnd_agents.environments.checks import rules
from tests.environments import broken_environments as broken

_MODULE = 'tests.environments.broken_environments'
_EACH_STEP = '(88 times in all.)'
_EACH_OBSERVATION = '(93 times in all.)'
# The others' checkers: they pass where the table says so.
GX, TFA = 'gymnasium', 'tf_agents'

# (what makes it, {rule: what}, which other checkers do not see it). In what is
# expected, # stands for a number.
TABLE = [
    ('NeedsAnArgument', {
        'constructor': 'The callable raised TypeError: NeedsAnArgument.'
                       "__init__() missing 1 required positional argument: "
                       "'size' (check.py:#).",
    }, ()),
    ('NotAnEnvironment', {
        'environment-type': 'The callable returned a NotAnEnvironment.',
    }, ()),
    ('same_instance', {
        'fresh-instance': 'Two calls returned the same environment.',
    }, ()),
    ('SpacesOfChance', {
        'equal-spaces': 'observation_space of one instance is Box(-#, 2.0, '
                        '(3,), float32), and of the next Box(-#, 2.0, (3,), '
                        'float32).',
    }, (GX,)),
    ('TextOnly', {
        'observation-space': "observation_space: 'observation' is text only, "
                             'which a TF-Agents spec cannot hold; add a '
                             'wrapper that encodes it as an array.',
    }, (GX,)),
    ('NoObservationSpace', {
        'observation-space': 'observation_space is None, no gymnasium Space.',
    }, ()),
    ('SequenceAction', {
        'action-space': "action_space: 'action' is a Sequence space, which is "
                        'no array of fixed shape. Supported are Box, Discrete, '
                        'MultiDiscrete, MultiBinary, and Dict and Tuple of '
                        'these; add a wrapper that converts it.',
    }, (GX,)),
    ('UnboundedAction', {
        'action-bounds': 'action is Box(-inf, inf, (1,), float32).',
    }, (GX, TFA)),
    ('NoSeedArgument', {
        'reset-arguments': 'the reset of episode 0: NoSeedArgument.reset() got '
                           "an unexpected keyword argument 'seed'. "
                           '(5 times in all.)',
    }, ()),
    ('OldGym', {
        'reset-arguments': 'the reset of episode 0: OldGym.reset() got an '
                           "unexpected keyword argument 'seed'.",
        'reset-returns': 'the reset of episode 0 returned the observation '
                         'alone.',
        'step-returns': 'step 1 of episode 0 returned 4 values, not 5.',
    }, ()),
    ('ObservationAlone', {
        'reset-returns': 'the reset of episode 0 returned the observation '
                         'alone. (5 times in all.)',
    }, ()),
    ('FourValues', {
        'step-returns': 'step 1 of episode 0 returned 4 values, not 5.',
    }, ()),
    ('RefusesAnAction', {
        'raises': 'step 1 of episode 0 (action 1) raised KeyError: 1 '
                  '(broken_environments.py:#).',
    }, ()),
    ('ChangesTheAction', {
        'action-unchanged': 'step 1 of episode 0: action was [ # #], and is '
                            '[ # #]. (# times in all.)',
    }, (GX, TFA)),
    ('ClosesOnce', {
        'close': "close() called twice raised AttributeError: 'ClosesOnce' "
                 "object has no attribute 'window' (broken_environments.py:#)."
                 ' (# times in all.)',
    }, (GX, TFA)),
    ('ClosesNever', {
        'close': 'close() called once raised OSError: no window '
                 '(broken_environments.py:#). (3 times in all.)',
    }, (GX, TFA)),
    ('ListObservation', {
        'observation-structure': 'the reset of episode 0: observation is a '
                                 f'list, no NumPy array. {_EACH_OBSERVATION}',
    }, (GX, TFA)),
    ('MissingKey', {
        'observation-structure': 'the reset of episode 0: observation has the '
                                 "keys ['place'], and its space ['door', "
                                 f"'place']. {_EACH_OBSERVATION}",
    }, ()),
    ('Float64', {
        'observation-dtype': 'the reset of episode 0: observation has dtype '
                             'float64, and its space float32. '
                             f'{_EACH_OBSERVATION}',
    }, (TFA,)),
    ('NestedFloat64', {
        'observation-dtype': 'the reset of episode 0: observation/more/0 has '
                             'dtype float64, and its space float32. '
                             f'{_EACH_OBSERVATION}',
    }, (TFA,)),
    ('WrongShape', {
        'observation-shape': 'the reset of episode 0: observation has shape '
                             '(2,), and its space (3,). '
                             f'{_EACH_OBSERVATION}',
    }, ()),
    # 15 / 20 + 5; steps 15 to 19 and the last, of five episodes.
    ('LateOutOfBounds', {
        'observation-bounds': 'step 15 of episode 0: observation is 5.75 at '
                              'index (1,), outside of [-2.0, 2.0]. '
                              '(30 times in all.)',
    }, (GX,)),
    ('DiscreteOutOfBounds', {
        'observation-bounds': 'step 10 of episode 0: observation is 10, and '
                              'its space goes from 0 to 9. (# times in all.)',
    }, (GX,)),
    ('NaNObservation', {
        'observation-finite': 'step 3 of episode 0: observation is nan at '
                              'index (2,). (5 times in all.)',
    }, (GX,)),
    ('Float32Overflow', {
        'observation-finite': 'step 2 of episode 0: observation is #e+38 at '
                              'index (0,). (# times in all.)',
    }, (GX,)),
    ('PlanesAsPixels', {
        'byte-range': 'observation/grid was never more than 1.',
    }, (GX, TFA)),
    ('ReusedBuffer', {
        'observation-copy': 'observation as the reset of episode 0 returned it '
                            'has changed after step 1 of episode 0.',
    }, (TFA,)),  # Gymnasium sees it from 1.4 on.
    ('BuffersInTurn', {
        'observation-copy': 'observation as the reset of episode 0 returned it '
                            'has changed after step 3 of episode 0.',
    }, (GX, TFA)),
    ('NestedView', {
        'observation-copy': 'observation/state as the reset of episode 0 '
                            'returned it has changed after step 1 of episode '
                            '0.',
    }, (TFA,)),
    ('SharedConstant', {
        'observation-shared': 'observation/map as the reset of episode 0 and '
                              'step 1 of episode 0 returned it lies in the '
                              'same memory.',
    }, (TFA,)),
    ('ArrayReward', {
        'reward-type': 'step 1 of episode 0: the reward is an array of shape '
                       f'(1,), no number. {_EACH_STEP}',
    }, (GX, TFA)),
    ('InfiniteReward', {
        'reward-finite': 'step 2 of episode 0: the reward is inf. '
                         '(5 times in all.)',
    }, (GX,)),
    ('ArrayTerminated', {
        'end-type': 'step 1 of episode 0: terminated is an array of shape '
                    f'(1,), no bool. {_EACH_STEP}',
    }, (GX, TFA)),
    ('NoneTruncated', {
        'end-type': 'step 1 of episode 0: truncated is None, no bool. '
                    f'{_EACH_STEP}',
    }, (TFA,)),
    ('InfoIsNone', {
        'info-type': 'step 1 of episode 0: info is None, not a dict. '
                     f'{_EACH_STEP}',
    }, ()),
    ('WrongReturn', {
        'return-in-info': 'step 18 of episode 0: info["episode"]["r"] is #, '
                          'and the return #. (5 times in all.)',
    }, (GX, TFA)),
    ('Endless', {
        'episode-end': 'No episode has ended in 2000 random steps.',
    }, (GX,)),  # And TF-Agents' never comes back.
    ('LimitAsDeath', {
        'time-limit': 'All 5 episodes ended after 20 steps, terminated.',
    }, (GX, TFA)),
    ('IgnoresTheSeed', {
        'seed-repeats': 'Two instances, both reset with seed 0 and given the '
                        'same actions: at the reset observation was # at index '
                        '(0,), and then #.',
    }, (TFA,)),
    # The episode before had 18 steps, so that this one has 2 left of 20.
    ('KeepsOldSteps', {
        'reset-clears': 'reset(seed=0) after a whole episode, and the same '
                        'actions: at step 2 truncated was False, and then '
                        'True.',
    }, (GX, TFA)),
    # 7 steps of the one that was cut short, and 13.
    ('ClearsAtTheEnd', {
        'reset-clears': 'reset(seed=0) after an episode that was cut short, '
                        'and the same actions: at step 13 truncated was False, '
                        'and then True.',
    }, (GX, TFA)),
    ('OldContacts', {
        'reset-clears': 'An episode after that of seed 0, in two instances '
                        'that had played other episodes before: at the reset '
                        'observation was # at index (0,), and then #.',
    }, (GX, TFA)),
    ('RepeatsTheFirstEpisode', {
        'stream-varies': 'After reset(seed=0), 8 times reset() gave the same '
                         'episode again.',
    }, (GX, TFA)),
    ('NewGeneratorAtEachReset', {
        'stream-repeats': 'Two instances, both reset with seed 0 and then '
                          'without: at the reset observation was # at index '
                          '(0,), and then #.',
    }, (GX, TFA)),
    ('NoRandomness', {
        'seeds-equal': 'The seeds 0 to 8 gave one and the same episode for the '
                       'same actions.',
    }, (GX, TFA)),
    ('LastBits', {
        'rounding': 'Two instances, both reset with seed 0 and given the same '
                    'actions: at the reset observation was # at index (0,), '
                    'and then #.',
    }, (GX, TFA)),
    ('DrawsFromNumPy', {
        'global-random': 'step 1 of episode 0 drew from the global np.random, '
                         f'or seeded it. {_EACH_STEP}',
    }, (GX, TFA)),
    ('SeedsNumPy', {
        'global-random': 'the reset of episode 0 drew from the global '
                         'np.random, or seeded it. (89 times in all.)',
    }, (GX, TFA)),
    ('DrawsFromPython', {
        'global-random': 'The constructor drew from the global random, or '
                         'seeded it.',
    }, (GX, TFA)),
    ('ClassState', {
        'shared-state': 'The same episode, while another instance was stepped '
                        'in turns: at step 1 observation was # at index (0,), '
                        'and then #.',
    }, (GX, TFA)),
    ('RaggedInfo', {
        'adapter': '2 instances in one batch raised ValueError: could not '
                   'broadcast input array from shape (#,) into shape (#,) '
                   '(vector_env.py:#).',
    }, (GX,)),
    ('not_picklable', {
        'picklable': "The callable: TypeError: cannot pickle '_thread.lock' "
                     'object.',
    }, (GX, TFA)),
    ('FloatFrame', {
        'render': 'render returned float64 [4, 6, 3].',
    }, (GX, TFA)),
    ('RenderFails', {
        'render': 'render raised NotImplementedError: no pictures '
                  '(broken_environments.py:#).',
    }, (GX, TFA)),
    ('OwnGenerator', {
        'gymnasium': 'AssertionError: Expects the random number generator to '
                     'have been generated given a seed was passed to reset. '
                     'Most likely the environment reset function does not call '
                     '`super().reset(seed=seed)`. (env_checker.py:#)',
    }, (TFA,)),
]


def _maker(name):
  made = getattr(broken, name)
  return made() if name == 'not_picklable' else made


def _examine(env_fn, **kwargs):
  return check.examine_environment(env_fn, max_steps=2000, **kwargs)


def _rules(report):
  return [found.rule for found in report.findings]


@pytest.mark.parametrize(
    'name, expected', [row[:2] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_each_is_caught_by_its_rule_only(name, expected):
  report = _examine(_maker(name))
  found = {finding.rule: finding.what for finding in report.findings}
  assert list(found) == list(expected)
  assert len(report.findings) == len(expected)
  for rule, what in expected.items():
    pattern = re.escape(what).replace(r'\#', r'-?[\d.e-]+')
    assert re.fullmatch(pattern, found[rule]), found[rule]


def test_the_table_has_every_rule_and_every_environment():
  assert {rule for _, rule, _ in TABLE for rule in rule} == set(rules.RULES)
  classes = {
      name
      for name, value in vars(broken).items()
      if inspect.isclass(value) and value.__module__ == broken.__name__
  }
  assert classes - {name for name, _, _ in TABLE} == {'Sound'}


def test_the_number_of_observations_in_the_table():
  env = broken.Sound()
  actions = spaces.Discrete(2, seed=0)
  observations = steps = 0
  for episode in range(5):
    env.reset(seed=None if episode else 0)
    observations += 1
    ended = False
    while not ended:
      _, _, terminated, truncated, _ = env.step(actions.sample())
      ended = terminated or truncated
      steps += 1
      observations += 1
  assert f'({steps} times in all.)' == _EACH_STEP
  assert f'({observations} times in all.)' == _EACH_OBSERVATION


@pytest.mark.parametrize(
    'name', [name for name, _, missed_by in TABLE if GX in missed_by]
)
def test_what_gymnasiums_own_checker_passes(name):
  env = _maker(name)()
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    env_checker.check_env(env, skip_render_check=True)


@pytest.mark.parametrize(
    'name', [name for name, _, missed_by in TABLE if TFA in missed_by]
)
def test_what_tf_agents_validator_passes(name):
  vector_env = vector.SyncVectorEnv([_maker(name)] * 2)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    utils.validate_py_environment(
        vector_environment.VectorPyEnvironment(vector_env, seed=0), episodes=5
    )


def _minigrid():
  pytest.importorskip('minigrid')
  from minigrid import wrappers

  return wrappers.ImgObsWrapper(gymnasium.make('MiniGrid-Empty-5x5-v0'))


def _lunar_lander():
  pytest.importorskip('Box2D')
  return gymnasium.make('LunarLander-v3')


@pytest.mark.parametrize('env_fn, notes', [
    (broken.Sound, []),
    (functools.partial(gymnasium.make, 'CartPole-v1'), []),
    (functools.partial(gymnasium.make, 'MountainCar-v0'), []),
    (functools.partial(gymnasium.make, 'Pendulum-v1'), []),
    (functools.partial(gymnasium.make, 'FrozenLake-v1'), []),
    (functools.partial(gymnasium.make, 'Blackjack-v1'), []),
    (functools.partial(gymnasium.make, 'rnd_agents/DeepSea-v0'),
     ['time-limit', 'seeds-equal']),
    (functools.partial(gymnasium.make, 'rnd_agents/DeepSea-v0',
                       deterministic=False), ['time-limit']),
    (_minigrid, ['byte-range', 'seeds-equal']),
    (_lunar_lander, []),
])
def test_sound_environments(env_fn, notes):
  report = check.check_environment(env_fn, max_steps=1500)
  assert _rules(report) == notes
  assert all(found.level == 'note' for found in report.findings)


class _ThreeFaults(broken.IgnoresTheSeed):

  def observation(self):
    return super().observation().astype(np.float64)

  def reward(self):
    return np.array([0.5])


def test_the_error_lists_all_faults_with_reason_and_mend():
  with pytest.raises(check.EnvironmentCheckError) as caught:
    check.check_environment(_ThreeFaults)
  found = caught.value.findings
  assert [f.rule for f in found] == [
      'observation-dtype', 'reward-type', 'seed-repeats'
  ]
  lines = str(caught.value).split('\n')
  assert lines[0] == 'The environment has faults.'
  assert lines[1].startswith(
      'fault [observation-dtype] the reset of episode 0: observation has dtype '
      'float64, and its space float32. ('
  )
  assert lines[2:4] == [
      "  why:  The batch is made with the space's dtype: values are cast "
      'without a word, and fractions or large numbers change.',
      '  mend: Return np.asarray(observation, self.observation_space.dtype), '
      'or declare the dtype that you return.',
  ]
  assert lines[4].startswith('fault [reward-type] step 1 of episode 0: ')
  assert lines[7].startswith('fault [seed-repeats] Two instances, ')
  assert lines[10] == (
      "not checked: the time steps of VectorPyEnvironment, and Gymnasium's own "
      'checks (mend the faults first)'
  )
  assert lines[11].startswith('3 faults, 0 warnings, 0 notes; 5 episodes of ')
  assert len(lines) == 12


def test_every_rule_says_what_why_and_the_mend():
  for name, rule in rules.RULES.items():
    assert rule.level in ('fault', 'warning', 'note'), name
    # Whole sentences; the demand completes "the environment ...".
    assert rule.why[-1] == '.' and rule.mend[-1] == '.', name
    assert rule.demand[-1] != '.', name


def test_faults_come_before_notes():

  class Both(broken.NoRandomness):

    def reward(self):
      return 0.0

    def step(self, action):
      return super().step(action)[:1] + (True, False, self.steps >= 20, {})

  report = _examine(Both)
  assert [found.level for found in report.findings] == ['fault', 'note']
  assert _rules(report) == ['reward-type', 'seeds-equal']


def test_accepted_rules_are_notes():
  report = check.check_environment(broken.Float64, accept=['observation-dtype'])
  assert _rules(report) == ['observation-dtype']
  assert str(report).startswith('note (accepted) [observation-dtype] the reset')
  assert report.summary().startswith('0 faults, 0 warnings, 1 note;')
  with pytest.raises(check.EnvironmentCheckError):
    check.check_environment(broken.Float64, accept=['reward-type'])


def test_the_summary():
  # Twenty steps of reward 0, then termination, five times.
  assert _examine(broken.LimitAsDeath).summary() == (
      '0 faults, 0 warnings, 1 note; 5 episodes of 20 to 20 steps, 5 '
      'terminated and 0 truncated, returns 0 to 0; observes Box(-2.0, 2.0, '
      '(3,), float32), acts Discrete(2)'
  )
  assert _examine(broken.Endless).summary() == (
      '0 faults, 1 warning, 0 notes; no episode ended; observes '
      'Box(-2.0, 2.0, (3,), float32), acts Discrete(2)'
  )


def test_the_seed_decides_what_is_played():
  reports = [_examine(broken.Sound, seed=seed) for seed in (0, 0, 1)]
  assert reports[0].episodes == reports[1].episodes
  assert reports[0].episodes != reports[2].episodes
  assert [len(r.episodes) for r in reports] == [5, 5, 5]
  assert len(_examine(broken.Sound, num_episodes=3).episodes) == 3


def test_the_global_generator_is_left_alone():
  np.random.seed(3)
  expected = np.random.RandomState(3).rand()
  _examine(broken.Sound)
  assert np.random.rand() == expected


@pytest.mark.parametrize('kwargs, message', [
    (dict(num_episodes=0), 'num_episodes must be at least 1, not 0'),
    (dict(max_steps=0), 'max_steps must be at least 1, not 0'),
    (dict(seed=-1), 'seed must be at least 0, not -1'),
    (dict(accept=['sneezes']), r"No rules: \['sneezes'\]. The rules: \['con"),
])
def test_bad_arguments(kwargs, message):
  with pytest.raises(ValueError, match=message):
    check.check_environment(broken.Sound, **kwargs)


def test_an_instance_is_no_callable():
  with pytest.raises(TypeError, match='not Sound. Write lambda: MyEnv()'):
    check.check_environment(broken.Sound())


def test_old_gym_is_recognised():
  gym = pytest.importorskip('gym')
  report = _examine(functools.partial(gym.make, 'CartPole-v1'))
  assert [f.what for f in report.findings] == [
      'The callable returned an old Gym CartPoleEnv.'
  ]


class _Halved(gymnasium.RewardWrapper):

  def reward(self, reward):
    return 0.5 * reward


def test_statistics_inside_of_a_reward_wrapper_are_right():
  record = gymnasium.wrappers.RecordEpisodeStatistics
  assert not _examine(lambda: _Halved(record(broken.Sound()))).findings
  assert not _examine(lambda: record(_Halved(broken.Sound()))).findings
  # The wrong return is not excused by a wrapper inside.
  report = _examine(lambda: _Halved(broken.WrongReturn()))
  assert _rules(report) == []  # Rewards are changed outside of the sum.
  report = _examine(
      lambda: gymnasium.wrappers.TimeLimit(broken.WrongReturn(), 9)
  )
  assert _rules(report) == ['return-in-info']


class _Shaped(gymnasium.Wrapper):

  def step(self, action):
    observation, reward, *rest = super().step(action)
    return observation, reward - 1.0, *rest


class _SameAction(gymnasium.ActionWrapper):

  def action(self, action):
    return action


def test_statistics_inside_of_a_step_of_its_own_are_right():
  record = gymnasium.wrappers.RecordEpisodeStatistics
  assert not _examine(lambda: _Shaped(record(broken.Sound()))).findings
  # Wrong ones are, where nothing outside of them changes a reward.
  for wrong in (
      lambda: _SameAction(_OneTooMuch(broken.Sound())),
      lambda: _OneTooMuch(_Shaped(broken.Sound())),
  ):
    assert _rules(_examine(wrong)) == ['return-in-info']


class _OneTooMuch(gymnasium.wrappers.RecordEpisodeStatistics):

  def step(self, action):
    result = super().step(action)
    if 'episode' in result[4]:
      result[4]['episode']['r'] += 1
    return result


def test_statistics_outside_of_a_reward_wrapper_are_checked():
  report = _examine(lambda: _OneTooMuch(_Halved(broken.Sound())))
  assert _rules(report) == ['return-in-info']


def test_gymnasiums_own_warnings_are_not_shown(recwarn):
  _examine(functools.partial(gymnasium.make, 'CartPole-v1'))
  assert not [w for w in recwarn if issubclass(w.category, UserWarning)]


def test_buffers_are_seen_through_a_frame_stack():
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
      'observation as the reset of ReusedBuffer inside of the wrappers '
      'returned it has changed after step 1 of ReusedBuffer inside of the '
      'wrappers.',
  )]
  assert not _examine(lambda: stack(broken.Sound())).findings


@pytest.mark.parametrize('wrapper', [
    gymnasium.wrappers.NormalizeObservation,
    gymnasium.wrappers.NormalizeReward,
])
def test_statistics_over_episodes_cannot_be_replayed(wrapper):
  report = _examine(lambda: wrapper(broken.Sound()))
  assert _rules(report) == ['reset-clears']


@pytest.mark.parametrize('backend, rules_broken, left_out', [
    (None, [], ['render (MuJoCo has no screen; MUJOCO_GL=egl gives it one)']),
    ('egl', ['render'], []),
])
def test_mujoco_does_not_render_without_a_screen(
    monkeypatch, backend, rules_broken, left_out
):

  class Hopper(broken.RenderFails):
    pass

  Hopper.__module__ = 'gymnasium.envs.mujoco.hopper_v5'
  monkeypatch.delenv('DISPLAY', raising=False)
  monkeypatch.delenv('MUJOCO_GL', raising=False)
  if backend:
    monkeypatch.setenv('MUJOCO_GL', backend)
  report = _examine(Hopper)
  assert _rules(report) == rules_broken
  assert report.left_out == left_out


def test_a_callable_without_a_render_mode():
  report = _examine(lambda: broken.RenderFails())
  assert not report.findings
  assert report.left_out == ['render (the callable takes no render_mode)']
  assert str(report).startswith(
      'not checked: render (the callable takes no render_mode)\n0 faults'
  )
  # Made to render, it is looked at.
  report = _examine(lambda: broken.FloatFrame(render_mode='rgb_array'))
  assert _rules(report) == ['render']


def test_a_wrapped_environment_that_takes_no_seed():
  limited = functools.partial(
      gymnasium.wrappers.TimeLimit, max_episode_steps=9
  )
  report = _examine(lambda: limited(broken.NoSeedArgument()))
  assert _rules(report) == ['reset-arguments']


def _discount_of_truncation(time_step):
  last = time_step.is_last()
  return time_step._replace(
      discount=np.where(last, np.float32(0), time_step.discount)
  )


def _reward_at_first(time_step):
  first = np.float32(time_step.is_first())
  return time_step._replace(reward=time_step.reward + first)


def _swapped(time_step):
  return time_step._replace(observation=time_step.observation[::-1].copy())


def _float64(time_step):
  return time_step._replace(observation=time_step.observation.astype(float))


def _mid_for_last(time_step):
  return time_step._replace(step_type=np.minimum(time_step.step_type, 1))


@pytest.mark.parametrize('spoil, what', [
    (_discount_of_truncation, r'Step 20, .*: discount is 0.0, .* be 1.0'),
    (_reward_at_first, 'Step 1?[0-9], .*: reward is 1.0, and should be 0.0'),
    (_swapped, 'Step [01], instance 0: observation is not what the env'),
    (_float64, 'does not fit its spec'),
    (_mid_for_last, r'Step \d+, .*: step_type is 1, and should be 2'),
])
def test_a_spoilt_adapter_is_caught(monkeypatch, spoil, what):
  for name in ('_step', '_reset'):
    method = getattr(vector_environment.VectorPyEnvironment, name)
    monkeypatch.setattr(
        vector_environment.VectorPyEnvironment,
        name,
        lambda *args, method=method: spoil(method(*args)),
    )
  report = _examine(broken.Sound)
  assert _rules(report) == ['adapter']
  assert re.search(what, report.findings[0].what), report.findings[0].what


def test_wrong_episodes_of_the_adapter_are_caught(monkeypatch):
  pop = vector_environment.VectorPyEnvironment.pop_episodes
  monkeypatch.setattr(
      vector_environment.VectorPyEnvironment,
      'pop_episodes',
      lambda self: [e._replace(return_=e.return_ + 1) for e in pop(self)],
  )
  report = _examine(broken.Sound)
  assert set(_rules(report)) == {'adapter'}
  assert report.findings[0].what.startswith('pop_episodes gave Episode(')


def test_command_line(capsys):
  assert check.main(['CartPole-v1', '--episodes', '3', '--seed', '5']) == 0
  out = capsys.readouterr().out.split('\n')
  assert out[0] == 'CartPole-v1'
  assert out[1].startswith('0 faults, 0 warnings, 0 notes; 3 episodes of ')
  assert out[1].endswith('observes Box(-inf, inf, (4,), float32), acts '
                         'Discrete(2)')

  assert check.main([f'{_MODULE}:Float64']) == 1
  out = capsys.readouterr().out
  assert '\nfault [observation-dtype] the reset of episode 0: ' in out
  assert '\n  why:  The batch is made' in out
  assert '\n  mend: Return np.asarray(' in out
  assert '\n1 fault, 0 warnings, 0 notes; 5 episodes' in out

  accepted = ['--accept', 'observation-dtype']
  assert check.main([f'{_MODULE}:Float64', *accepted]) == 0


def test_command_line_names_and_arguments(capsys):
  # A module that registers an id, and the constructor's arguments.
  assert check.main([
      'rnd_agents.environments:rnd_agents/DeepSea-v0',
      '--env_kwargs={"size": 3, "unscaled_move_cost": 0}',
  ]) == 0
  assert '5 episodes of 3 to 3 steps, 5 terminated' in capsys.readouterr().out
  # One step less than an episode takes.
  assert check.main([f'{_MODULE}:LimitAsDeath', '--max_steps=19']) == 0
  assert 'No episode has ended in 19 random' in capsys.readouterr().out


def test_command_line_checks_what_the_loader_makes(capsys):
  pytest.importorskip('minigrid')
  # Encoded as for training: 7 x 7 cells of 20 bits, and no text.
  assert check.main(['MiniGrid-Empty-5x5-v0', '--episodes=2']) == 0
  assert re.search(
      r'observes Box\(0, \d+, \(7, 7, 20\), uint8\), ', capsys.readouterr().out
  )


def test_command_line_finds_spaces_that_the_loader_refuses(capsys):
  gymnasium.register('TextOnly-v0', entry_point=broken.TextOnly)
  try:
    assert check.main(['TextOnly-v0']) == 1
  finally:
    del gymnasium.registry['TextOnly-v0']
  assert 'fault [observation-space] ' in capsys.readouterr().out


def test_what_cannot_be_pickled_can_be_forked():
  (finding,) = _examine(broken.not_picklable()).findings
  assert finding.rule == 'picklable' and 'Spawned' in finding.why
  env = loaders.load_environment(
      broken.not_picklable(), 2, vectorization='async'
  )
  assert env.reset().is_first().all()
  env.close()


@pytest.mark.parametrize('arguments, message', [
    (['CartPole-v9'], 'Close to it: CartPole-v1'),
    (['no_such_module:Env'], "No module named 'no_such_module'"),
    (['CartPole-v1', '--episodes=0'], 'num_episodes must be at least 1'),
    (['CartPole-v1', '--env_kwargs={size: 3}'], 'env_kwargs'),
    (['CartPole-v1', '--env_kwargs=5'], 'env_kwargs: must be a JSON object'),
    (['CartPole-v1', '--env_kwargs={"nope": 1}'],
     "CartPole-v1 did not take {'nope': 1}: "),
])
def test_command_line_errors(capsys, arguments, message):
  with pytest.raises(SystemExit) as caught:
    check.main(arguments)
  assert caught.value.code == 2
  assert message in capsys.readouterr().err


def test_module_runs():
  ran = subprocess.run(
      [sys.executable, '-W', 'error::RuntimeWarning', '-m',
       'rnd_agents.environments.check', f'{_MODULE}:ArrayReward'],
      capture_output=True, text=True, timeout=120,
  )
  assert ran.returncode == 1, ran.stderr
  assert ran.stdout.startswith(f'{_MODULE}:ArrayReward\nfault [reward-type] ')
