# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs in which each level is trained in its own way."""

import dataclasses
import shutil
from unittest import mock

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import errors
from rnd_agents import hierarchy
from rnd_agents.collecting import collector
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import sequences
from rnd_agents.training import two_level
from tests import tiny_runs

_GAMMA = 0.99
_NUM_ENVIRONMENTS = 4
_FIRST, _LAST = ts.StepType.FIRST, ts.StepType.LAST


@gin.configurable(module='two_level_training_test')
class InnerGoals(hierarchy.Goals):
  """Entries of what the level above sees, for a level between two others."""

  def __init__(self, observation_spec):
    num_entries = observation_spec['observation'].shape[0]
    super().__init__(
        observation_spec,
        tensor_spec.BoundedTensorSpec([], tf.int64, 0, num_entries - 1, 'goal'),
    )

  def reached(self, observation, goal):
    vector = observation['observation']
    return tf.gather(vector, goal, batch_dims=goal.shape.rank) > 0.5


# PPO over two levels with replays, the lowest with a memory, that act with the
# policy from before. Each shard and each memory takes seconds.
_THREE = (
    *tiny_runs.LEVELS,
    'train_eval.max_lag_rounds = 1',
    'TwoLevelTraining.upper = @upper/OnPolicyTraining()',
    'TwoLevelTraining.lower = @lower/TwoLevelTraining()',
    'TwoLevelTraining.goal_length = 8',
    'upper/OnPolicyTraining.rollout_length = 16',
    'lower/TwoLevelTraining.upper = @lower/upper/ReplayTraining()',
    'lower/TwoLevelTraining.lower = @lower/lower/ReplayTraining()',
    'lower/TwoLevelTraining.goals_fn = @InnerGoals',
    'lower/TwoLevelTraining.goal_length = 3',
    'lower/TwoLevelTraining.hindsight_copies = 1',
    'ReplayTraining.rollout_length = 8',
    'ReplayTraining.collect_length = 2',
    'ReplayTraining.env_steps_per_update = 16',
    'lower/lower/create_q_networks.core = @LSTMCore()',
    'lower/lower/ReplayTraining.burn_in_length = 1',
    'LSTMCore.units = 5',
)


def _run(root_dir, num_env_steps, *bindings, settings):
  return tiny_runs.train(root_dir, num_env_steps, *bindings, settings=settings)


@dataclasses.dataclass
class _Records:
  """What a run collected and what its buffers got."""

  folder: str
  rollouts: list = dataclasses.field(default_factory=list)
  cutters: list = dataclasses.field(default_factory=list)
  joined: list = dataclasses.field(default_factory=list)
  num_tables: int = 0
  num_kept_tables: int = 0


def _recorded(folder, settings):
  records = _Records(folder)
  collect, cut = collector.Shards.collect, episode_cutter.EpisodeCutter.__call__
  build, join = episode_cutter.EpisodeCutter.__init__, two_level._joined

  def collecting(*args):
    rollout = collect(*args)
    records.rollouts.append(rollout)
    return rollout

  def building(cutter, *args, **more):
    build(cutter, *args, **more)
    cutter.added, cutter.known = [], []  # A list of rows for each environment.
    if not cutter._is_demonstration:
      records.cutters.append(cutter)

  def cutting(cutter, rows, episodic, mask):
    cutter.added = cutter.added or [[] for _ in mask]
    cutter.known = cutter.known or [[] for _ in mask]
    for b, t in np.argwhere(mask):
      row, known = tf.nest.map_structure(
          lambda x, b=b, t=t: x[b, t], (rows, episodic)
      )
      cutter.added[b].append(row)
      cutter.known[b].append(known)
    cut(cutter, rows, episodic, mask)

  def joining(parts):
    joined = join(parts)
    if len(parts) > 1:
      records.joined.append(joined)
    return joined

  with pytest.MonkeyPatch.context() as context:
    context.setattr(collector.Shards, 'collect', collecting)
    context.setattr(episode_cutter.EpisodeCutter, '__init__', building)
    context.setattr(episode_cutter.EpisodeCutter, '__call__', cutting)
    context.setattr(two_level, '_joined', joining)
    with tiny_runs.replay_tables() as tables:
      _run(folder, 400, settings=settings)
      records.num_tables = len(tables)
      records.num_kept_tables = sum(table() is not None for table in tables)
  return records


@pytest.fixture(name='off_on', scope='module')
def _off_on(tmp_path_factory):
  return _recorded(tmp_path_factory.mktemp('off_on'), tiny_runs.TWO_LEVELS)


@pytest.fixture(name='three', scope='module')
def _three(tmp_path_factory):
  return _recorded(tmp_path_factory.mktemp('three'), _THREE)


def test_each_level_frees_its_replay_when_the_run_ends(three):
  assert (three.num_tables, three.num_kept_tables) == (4, 0)


def _streams(records):
  """The rows that each environment collected, before and after the warm-up.

  Returns:
    For each environment two lists of rows, between which episodes were broken
    off.
  """
  streams = [[] for _ in range(_NUM_ENVIRONMENTS)]
  for rollout in records.rollouts:
    rows = rollout.trajectory
    for b, parts in enumerate(streams):
      if not rollout.num_old_rows:
        parts.append([])
      for t in range(rollout.num_old_rows, rows.step_type.shape[1]):
        parts[-1].append(
            tf.nest.map_structure(lambda x, t=t, b=b: x[b, t], rows)
        )
  assert all(len(parts) == 2 for parts in streams)
  return streams


def _vector(row):
  """The observation of the environment."""
  found = row.observation
  while isinstance(found, dict):
    found = found['observation']
  return found


def _lower(rows):
  """What the lower level learns from; the last row is not complete."""
  found = []
  for row, following in zip(rows, rows[1:] + rows[-1:]):
    goal = row.policy_info['goal']
    held, holds = (_vector(x)[goal] > 0.5 for x in (row, following))
    reached = bool(holds and not held) and row.step_type != _LAST
    found.append(
        row.replace(
            observation=dict(observation=row.observation, goal=goal),
            policy_info=row.policy_info['lower'],
            reward=float(reached),
            discount=0.0 if reached else row.discount,
        )
    )
  return found


def _upper(rows):
  """(complete decisions and ends, steps of each and of the open one)."""
  found, lengths, weights = [], [], []
  for row in rows:
    info = row.policy_info
    if info['is_decision'] or row.step_type == _LAST:
      found.append(
          row.replace(
              action=info['goal'],
              policy_info=info['upper'],
              reward=0.0,
              discount=1.0,
          )
      )
      lengths.append(0)
      weights.append(1.0)
    found[-1] = found[-1].replace(
        reward=found[-1].reward + weights[-1] * row.reward,
        discount=found[-1].discount * (_GAMMA if lengths[-1] else 1)
        * row.discount,
    )
    # Ends where the level above has reached its goal.
    weights[-1] *= _GAMMA * row.discount
    lengths[-1] += 1
  return [
      row.replace(next_step_type=following.step_type)
      for row, following in zip(found, found[1:])
  ], lengths


def _assert_added(added_rows, expected):
  """Compares the rows that a replay got with those of a loop."""
  assert len(expected) == _NUM_ENVIRONMENTS
  for added, rows in zip(added_rows, expected, strict=True):
    assert len(added) == len(rows) > 10
    for found, row in zip(added, rows):
      if row.step_type == _LAST:  # No step begins there.
        row = row.replace(reward=found.reward, discount=found.discount)
      tf.nest.map_structure(
          lambda x, y: np.testing.assert_allclose(x, y, atol=1e-6), found, row
      )


def _assert_remembers(cutter):
  states = [
      np.abs(row.policy_info['network_state'][0]).max()
      for added in cutter.added
      for row in added
      if row.step_type == ts.StepType.MID
  ]
  assert len(states) > 10 and min(states) > 0


def test_the_upper_replay_gets_each_decision_once(off_on):
  decided = [[_upper(rows) for rows in parts] for parts in _streams(off_on)]
  of_each = [sum((rows for rows, _ in parts), []) for parts in decided]
  _assert_added(off_on.cutters[0].added, of_each)
  _assert_remembers(off_on.cutters[0])
  rows = sum(of_each, [])
  lengths = sum((ages[:-1] for parts in decided for _, ages in parts), [])
  # Goals of all lengths, and of each length some that an episode's end cut.
  assert {1, 2, 7} <= set(lengths) and max(lengths) == 7
  assert {
      length
      for row, length in zip(rows, lengths)
      if row.next_step_type == _LAST and row.step_type != _LAST
  } > {1, 2}
  counts = [len(rows) for rows in of_each]
  assert len(set(counts)) > 1  # In unequal numbers.


def test_first_visits_are_those_of_the_episode_at_decisions(off_on):
  (cutter,) = off_on.cutters
  values = set()
  for rows, known in zip(cutter.added, cutter.known, strict=True):
    for row, value in zip(rows, known, strict=True):
      place = _vector(row).tobytes()
      if row.step_type == _FIRST:  # No transition leads there.
        seen = set()
      else:
        assert value == (place not in seen)
        values.add(float(value))
      seen.add(place)
  assert values == {0.0, 1.0}


def test_the_lower_rollouts_are_joined_from_what_was_collected(off_on):
  streams = [rows for _, rows in _streams(off_on)]
  assert len(streams[0]) == 8 * len(off_on.joined) + 1
  for i, found in enumerate(off_on.joined):
    part = slice(8 * i, 8 * i + 9)
    expected = [
        tf.nest.map_structure(lambda *x: np.stack(x), *rows[part])
        for rows in streams
    ]
    tf.nest.map_structure(
        lambda x, *y: np.testing.assert_array_equal(x, np.stack(y)),
        found,
        *expected,
    )


def test_the_levels_of_a_level_get_what_is_theirs(three):
  lower = [[_lower(rows) for rows in parts] for parts in _streams(three)]
  middle = [sum((_upper(rows)[0] for rows in parts), []) for parts in lower]
  _assert_added(three.cutters[0].added, middle)
  own = three.cutters[1].added[:_NUM_ENVIRONMENTS]
  _assert_added(
      own, [sum((_lower(rows)[:-1] for rows in parts), []) for parts in lower]
  )
  _assert_remembers(three.cutters[1])
  assert any(row.reward > 0 for rows in middle for row in rows)


def test_copies_in_hindsight_are_paid_for_their_own_goals(three):
  copies = three.cutters[1].added[_NUM_ENVIRONMENTS:]
  expected = []
  for parts, added in zip(_streams(three), copies, strict=True):
    expected.append([])
    for rows in map(_lower, parts):
      number = len(expected[-1])
      goals = [
          copy.observation['goal']
          for copy in added[number : number + len(rows) - 1]
      ]
      expected[-1] += _lower([
          row.replace(policy_info=dict(row.policy_info, goal=goal))
          for row, goal in zip(rows, goals + goals[-1:], strict=True)
      ])[:-1]
  _assert_added(copies, expected)
  # Some that the policy never asked for at that step, and reached.
  own = sum(three.cutters[1].added[:_NUM_ENVIRONMENTS], [])
  is_new = [copy.reward > row.reward for copy, row in zip(sum(copies, []), own)]
  assert sum(is_new) > 3


def test_a_run_goes_on_in_the_middle_of_goals(three, tmp_path):
  whole = three.folder
  parts = tmp_path / 'parts'
  shutil.copytree(whole, parts)
  for path in parts.glob('checkpoints/iteration_*'):
    if int(path.name[-8:]) > 3:  # As if it had been killed then.
      shutil.rmtree(path)
  assert tiny_runs.iterations(parts)[0] == 3
  _run(parts, 400, settings=_THREE)
  rows = tiny_runs.rows(whole, 'train')
  assert tiny_runs.rows(parts, 'train') == rows
  tiny_runs.assert_same_variables(parts, whole)
  _, variables = tiny_runs.checkpoint(whole)
  assert any('hindsight' in name for name in variables)
  assert len(rows) >= 6


@pytest.mark.parametrize('length', [1, 2, 9])
def test_an_agent_that_waits_for_the_end_of_its_game_ends_once(length):
  step_type = np.array(
      [[0, 1, 1, 1, 1, 1, 2, 0, 1, 2], [0, 1, 2, 2, 2, 2, 2, 0, 1, 2]], np.int32
  )
  shape = step_type.shape
  ones, number = np.ones(shape, np.float32), np.arange(shape[1])
  rows = trajectory.Trajectory(
      step_type=step_type,
      observation=np.broadcast_to(number, shape),
      action=np.zeros(shape, np.int64),
      policy_info=(),
      next_step_type=np.roll(step_type, -1, axis=1),
      reward=ones,
      discount=ones,
  )
  added = []
  cutter = episode_cutter.EpisodeCutter(
      sequences.SequenceSettings(2), lambda found: added.append(found)
  )
  learner = mock.Mock()
  learner.add = lambda rows, is_new: cutter(rows, (), is_new)

  def view(rows):
    # As of `lower_experience`: the last row comes again.
    is_last_column = tf.range(length + 1) == length
    return rows, tf.repeat(~is_last_column[tf.newaxis], 2, axis=0)

  level = two_level._Level(learner, view, length)
  for start in range(0, shape[1] - length, length):
    if start == 4:  # A checkpoint while an agent waits.
      has_ended = level.has_ended
      np.testing.assert_array_equal(has_ended, [False, True])
      level = two_level._Level(learner, view, length)
      level.has_ended = has_ended
    level.add(
        tf.nest.map_structure(
            lambda x, first=start: x[:, first : first + length + 1], rows
        )
    )
    level.train(2 * length)
  first_frames = [
      first for each in added for first in each.trajectory.observation[:, 0]
  ]
  assert sorted(first_frames) == [0, 0, 2, 4]


def test_episodes_that_were_lost_begin_again_in_copies_too():
  step_type = np.array([[0, 1, 1], [0, 1, 1]], np.int32)
  zeros = np.zeros(step_type.shape, np.float32)
  rows = trajectory.Trajectory(step_type, zeros, zeros, (), zeros, zeros, zeros)
  learner = mock.Mock()

  def view(rows):  # With a copy of each row, as in hindsight.
    copied = tf.nest.map_structure(lambda x: tf.concat([x, x], 0), rows)
    return copied, tf.ones([4, 3], tf.bool)

  level = two_level._Level(learner, view, 1)
  lost = np.array([True, False])
  level.begin_episodes(lost)
  assert not learner.begin_episodes.called
  level.warm_up(rows)
  level.begin_episodes(lost)
  (found,) = learner.begin_episodes.call_args.args
  np.testing.assert_array_equal(found, [True, False, True, False])


def test_episodes_that_are_lost_before_a_level_learns_are_cut_off():
  def rows(step_type, numbers):
    step_type = np.array(step_type, np.int32)
    observation = np.array(numbers, np.float32)
    ones = np.ones_like(observation)
    following = np.roll(step_type, -1, axis=1)
    return trajectory.Trajectory(
        step_type, observation, ones, (), following, ones, ones
    )

  added = []
  cutter = episode_cutter.EpisodeCutter(
      sequences.SequenceSettings(2), added.append
  )
  learner = mock.Mock()
  learner.begin_episodes = cutter.reset
  learner.add = lambda rows, is_new: cutter(rows, (), is_new)

  def view(rows):
    is_complete = tf.range(5) < 4
    return rows, tf.repeat(is_complete[tf.newaxis], 2, axis=0)

  level = two_level._Level(learner, view, 4)
  # Steps of one episode each, collected one or two at a time. After three of
  # them those of the first environment are lost.
  level.add(rows([[0, 1, 1], [0, 1, 1]], [[0, 1, 2], [50, 51, 52]]))
  level.train(4)
  collected = rows([[1, 1], [1, 1]], [[2, 3], [52, 53]])
  level.add(collected)
  level.train(2)
  level.begin_episodes(np.array([True, False]))
  level.add(rows([[0, 1], [1, 1]], [[10, 11], [53, 54]]))
  level.train(2)
  level.add(rows([[1, 2, 0], [1, 1, 1]], [[11, 12, 20], [54, 55, 56]]))
  level.train(4)
  assert np.all(collected.step_type == 1)  # Other levels have it, too.
  level.add(rows([[0, 1, 1], [1, 1, 1]], [[20, 21, 22], [56, 57, 58]]))
  level.train(4)
  found = {
      tuple(frames.tolist()): (begin.tolist(), end.tolist())
      for each in added
      for frames, begin, end in zip(
          each.trajectory.observation,
          each.trajectory.step_type,
          each.trajectory.next_step_type,
      )
  }
  # Both whole steps that were lost, and the ends of both episodes.
  assert found[0, 1, 2] == ([0, 1, 2], [1, 2, 0])
  assert found[10, 11, 12] == ([0, 1, 2], [1, 2, 0])
  assert found[50, 51, 52] == ([0, 1, 1], [1, 1, 1])
  assert found[52, 53, 54] == ([1, 1, 1], [1, 1, 1])


def test_each_level_has_its_own_period(off_on, three):
  rows = tiny_runs.rows(off_on.folder, 'train')
  assert all(float(row['lower_update_size']) > 0 for row in rows)
  assert any(float(row['upper_bonus_mean']) > 0 for row in rows)
  epsilons = [float(row['upper_epsilon_mean']) for row in rows]
  assert epsilons == sorted(epsilons, reverse=True)
  steps = [int(row['env_steps']) for row in rows]
  assert epsilons[0] > 0.7 and epsilons[-1] == pytest.approx(0.05)
  # PPO: two rollouts an iteration, two minibatches. R2D3: one of 12 steps.
  found = [int(row['train_steps']) for row in rows]
  for i in range(1, len(rows)):
    new = (steps[i] - steps[0]) / 12
    assert abs(found[i] - found[0] - 4 * i - new) <= 1
  rows = tiny_runs.rows(three.folder, 'train')
  names = {name for name in rows[0] if name.endswith('_loss')}
  assert {'upper_loss', 'lower_upper_loss', 'lower_lower_loss'} <= names


def test_the_rate_of_goals_that_were_reached_is_a_metric(off_on):
  (*_, row) = tiny_runs.rows(off_on.folder, 'train')
  # The last iteration has four rounds of four steps.
  chosen, reached = 0, 0
  for rollout in off_on.rollouts[-4:]:
    rows = rollout.trajectory
    for b in range(_NUM_ENVIRONMENTS):
      of_environment = [
          tf.nest.map_structure(lambda x, t=t, b=b: x[b, t], rows)
          for t in range(rows.step_type.shape[1])
      ]
      chosen += sum(x.policy_info['is_decision'] for x in of_environment[:-1])
      reached += sum(x.reward for x in _lower(of_environment)[:-1])
  assert 0 < reached < chosen
  assert float(row['goals_reached_rate']) == pytest.approx(reached / chosen)


@pytest.mark.parametrize(
    ('bindings', 'message'),
    [
        (['TwoLevelTraining.goal_length = 0'], 'goal_length .*integer'),
        (
            ['TwoLevelTraining.lower = @OnPolicyTraining'],
            'TwoLevelTraining.lower .*Training',
        ),
        (
            ['lower/OnPolicyTraining.rollout_length = 6'],
            '6 of the lower level .*4.* 16',
        ),
        (
            [
                "upper/ReplayTraining.demonstrations = 'file'",
                'upper/ReplayTraining.demonstration_ratio = 0.5',
            ],
            'upper level: .*demonstrations .*None',
        ),
        (
            ['upper/create_r2d3_agent.learning_rate = -1.0'],
            'upper level: .*learning_rate .*above 0',
        ),
        (
            ['TwoLevelTraining.hindsight_copies = -1'],
            'hindsight_copies .*got -1',
        ),
        (['TwoLevelTraining.hindsight_copies = 1'], 'hindsight_copies needs'),
        (
            [
                'TwoLevelTraining.hindsight_copies = 1',
                'TwoLevelTraining.lower = @lower/ReplayTraining()',
                'lower/ReplayTraining.rollout_length = 8',
                'lower/ReplayTraining.collect_length = 4',
                'lower/ReplayTraining.create_agent = @create_curious_agent',
                'create_curious_agent.agent_fn = @create_dqn_agent',
                'create_dqn_agent.optimism = 1.0',
            ],
            'create_dqn_agent.optimism.* copies',
        ),
        (
            ['upper/R2D3Agent.discount_factor = 0.9'],
            'discount_factor',
        ),
    ],
)
def test_what_cannot_run_says_so_before_the_first_step(
    bindings, message, tmp_path
):
  with pytest.raises(errors.UserError, match=message):
    _run(tmp_path, 400, *bindings, settings=tiny_runs.TWO_LEVELS)


@pytest.mark.parametrize(
    ('binding', 'message'),
    [
        ('TwoLevelTraining.goal_length = 17', 'rollout_length = 16 .*17 steps'),
        (
            'lower/lower/create_r2d3_agent.curiosity_fn = @create_rnd',
            'lower level: .*curiosity',
        ),
        (
            'lower/lower/R2D3Agent.n_step = 0',
            'lower level: In the lower level: .*n_step',
        ),
    ],
)
def test_what_three_levels_cannot_run_is_refused(binding, message, tmp_path):
  with pytest.raises(errors.UserError, match=message):
    _run(tmp_path, 400, binding, settings=_THREE)
