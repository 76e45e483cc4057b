# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two levels: when goals are chosen, what each level learns from, and a run."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.networks import actor_distribution_rnn_network
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import agents
from rnd_agents import errors
from rnd_agents import hierarchy
from rnd_agents import networks
from rnd_agents.collecting import local
from tests.agents import agent_test_utils as utils
from tests.agents import slow_recurrent

_OBSERVATION = tf.TensorSpec([4], tf.float32)
_TIME_STEP = ts.time_step_spec(_OBSERVATION)
_ACTION = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)


class _Scripted(tf_policy.TFPolicy):
  """Returns the goals of a script, and counts the calls that needed one."""

  def __init__(self, time_step_spec, action_spec, choose):
    super().__init__(
        time_step_spec,
        action_spec,
        policy_state_spec=tf.TensorSpec([], tf.int32),
        info_spec=tf.TensorSpec([], tf.int32),
    )
    self._choose = choose

  def _action(self, time_step, policy_state, seed):
    return policy_step.PolicyStep(
        self._choose(time_step, policy_state), policy_state + 1, policy_state
    )

  def _distribution(self, time_step, policy_state):
    raise NotImplementedError


def _observations(states):
  return tf.one_hot(states, 4)


# A letter a row, and the state that it shows; four environments. The goal 3
# holds from the beginning of two of them; the last one loses it and comes back.
_ROWS = ('FMMMMMLFMM', 'FMMMMMMMMM', 'MMLFMMMMMM', 'FMMMMMMMMM')
_STATES = (
    [0, 1, 2, 3, 3, 1, 1, 0, 0, 0],
    [3] * 10,
    [2, 0, 1, 2, 3, 2, 2, 2, 0, 1],
    [3, 1, 3, 3, 3, 3, 3, 1, 0, 2],
)


@pytest.mark.parametrize('in_graph', [False, True], ids=['eager', 'graph'])
def test_a_goal_lasts_until_it_is_reached_or_old(in_graph):
  goals = hierarchy.EntryGoals(_OBSERVATION)
  # The goals of an episode: 3, 0, 1, 2, 3, ...
  upper = _Scripted(
      _TIME_STEP,
      goals.spec,
      lambda _, count: tf.cast((count + 3) % 4, tf.int64),
  )
  seen = []
  lower = _Scripted(
      ts.time_step_spec(goals.lower_observation_spec),
      _ACTION,
      lambda step, _: step.observation['goal'] % 3,
  )
  policy = hierarchy.TwoLevelPolicy(
      _TIME_STEP, _ACTION, upper, lower, goals, 3, collect=True
  )
  act = policy.action
  if in_graph:
    act = tf.function(act, autograph=False)
  state = policy.get_initial_state(4)
  step_types, _, _ = utils.step_type_rows(_ROWS)
  for t in range(10):
    step = act(
        ts.TimeStep(
            tf.constant(step_types[:, t]),
            tf.zeros([4]),
            tf.ones([4]),
            _observations([states[t] for states in _STATES]),
        ),
        state,
    )
    state = step.state
    seen.append(tf.nest.map_structure(lambda x: x.numpy(), step))
  for b, (row, states) in enumerate(zip(_ROWS, _STATES)):
    goal, age, count, num_steps, held = 0, 0, 0, 0, False
    for t, kind in enumerate(row):
      if kind == 'F':  # TF-Agents resets the states of policies.
        count = num_steps = 0
      chooses = kind != 'L' and (
          kind == 'F' or age >= 3 or (states[t] == goal and not held)
      )
      if chooses:
        goal, age, count = (count + 3) % 4, 0, count + 1
      age += 1
      held = states[t] == goal
      info = seen[t].info
      assert info['is_decision'][b] == chooses, (b, t)
      assert info['goal'][b] == goal
      assert seen[t].action[b] == goal % 3
      assert not chooses or info['upper'][b] == count - 1
      assert info['lower'][b] == num_steps
      num_steps += 1
  decided = np.stack([step.info['is_decision'] for step in seen], axis=1)
  np.testing.assert_array_equal(np.flatnonzero(decided[1]), [0, 3, 6, 9])
  np.testing.assert_array_equal(np.flatnonzero(decided[3]), [0, 2, 5, 7, 9])


class _Identity(tf_policy.TFPolicy):
  """Does what the goal says."""

  def _distribution(self, time_step, policy_state):
    raise NotImplementedError

  def _action(self, time_step, policy_state, seed):
    return policy_step.PolicyStep(time_step.observation['goal'])


class _ReplayAgent(tf_agent.TFAgent):
  """Has nothing to learn, and no method `check_rollout`."""

  optimizers = ()

  def __init__(self, time_step_spec, action_spec):
    policy = _Identity(time_step_spec, action_spec)
    super().__init__(time_step_spec, action_spec, policy, policy, None)

  def _train(self, experience, weights):
    return tf_agent.LossInfo(0.0, collections.namedtuple('Nothing', ())())


class _IdentityAgent(_ReplayAgent):
  """Has nothing to learn, from rollouts."""

  def check_rollout(self, num_environments, rollout_length):
    pass


class _ActionGoals(hierarchy.Goals):
  """A goal is an action, and is never reached."""

  def reached(self, observation, goal):
    return tf.zeros(tf.shape(goal), tf.bool)


@pytest.mark.parametrize(
    'core', [None, networks.GRUCore], ids=['no memory', 'memory']
)
def test_with_goals_of_one_step_the_upper_level_is_the_flat_agent(core):

  def build():
    memory = dict(sizes=dict(core=core(4)), unroll_length=3) if core else {}
    return utils.stir(
        utils.build_agent(normalize_rewards=True, discount_factor=0.9, **memory)
    )

  flat, upper = build(), build()
  utils.copy_variables(flat, upper)
  goals = _ActionGoals(utils.FLAT, utils.DISCRETE)
  agent = hierarchy.TwoLevelAgent(
      ts.time_step_spec(utils.FLAT),
      utils.DISCRETE,
      upper,
      _IdentityAgent(
          ts.time_step_spec(goals.lower_observation_spec), utils.DISCRETE
      ),
      goals,
      goal_length=1,
      discount_factor=0.9,
  )
  for seed in (1, 2):
    rollout = utils.rollout(flat, seed=seed)
    if core:
      rollout = slow_recurrent.with_states(rollout)
    both = rollout.replace(
        policy_info=dict(
            goal=rollout.action,
            is_decision=~rollout.is_boundary(),
            upper=rollout.policy_info,
            lower=(),
        )
    )
    expected, found = flat.train(rollout), agent.train(both)
    np.testing.assert_array_equal(found.extra.upper_loss, expected.loss)
  assert len(flat.variables) == len(upper.variables) > 10
  for a, b in zip(flat.variables, upper.variables, strict=True):
    np.testing.assert_array_equal(a, b, err_msg=a.name)


def test_a_level_with_a_replay_is_not_trained_on_rollouts():
  goals = _ActionGoals(utils.FLAT, utils.DISCRETE)
  lower = _ReplayAgent(
      ts.time_step_spec(goals.lower_observation_spec), utils.DISCRETE
  )
  agent = hierarchy.TwoLevelAgent(
      ts.time_step_spec(utils.FLAT), utils.DISCRETE, utils.build_agent(), lower,
      goals, goal_length=1, discount_factor=0.999,
  )
  with pytest.raises(errors.UserError, match='_ReplayAgent .*replay'):
    agent.train(utils.rollout(agent.upper))


def test_levels_below_are_evaluated_as_they_act_in_training():
  goals = _ActionGoals(utils.FLAT, utils.DISCRETE)
  spec = ts.time_step_spec(goals.lower_observation_spec)
  greedy = utils.build_agent(utils.FLAT)

  def build(lower):
    return hierarchy.TwoLevelAgent(
        ts.time_step_spec(utils.FLAT), utils.DISCRETE, greedy, lower,
        goals, goal_length=2, discount_factor=0.999,
    )  # fmt: skip

  def r2d3(**settings):
    return agents.R2D3Agent(
        spec,
        utils.DISCRETE,
        *networks.create_q_networks(spec.observation, utils.DISCRETE),
        optimizer=utils.adam(),
        collect_epsilon=tf.Variable([0.2, 0.7]),
        **settings,
    )

  step = ts.restart(utils.sample(utils.FLAT, [5], 0), batch_size=5)

  def acts(agent):
    """Returns goals [5] and probabilities of actions [5, A]."""
    result = agent.policy.distribution(step, agent.policy.get_initial_state(5))
    return result.state['goal'], result.action.probs_parameter()

  ppo = utils.build_agent(spec.observation)
  found, probabilities = acts(build(ppo))
  best = greedy.policy.action(step).action
  np.testing.assert_array_equal(found, best)
  observation = goals.observe(step.observation, best)
  expected = ppo.collect_policy.distribution(
      step._replace(observation=observation)
  ).action.probs_parameter()
  np.testing.assert_allclose(probabilities, expected, atol=1e-6)
  assert np.all(np.max(probabilities, axis=-1) < 0.99)
  # The mean of both epsilons: a third of it for each of three actions.
  found, probabilities = acts(build(r2d3()))
  np.testing.assert_array_equal(found, best)
  ordered = np.sort(probabilities, axis=-1)
  np.testing.assert_allclose(ordered, [[0.15, 0.15, 0.7]] * 5, atol=1e-6)
  _, chosen = acts(build(r2d3(eval_epsilon=0.03)))
  np.testing.assert_allclose(np.max(chosen, axis=-1), 0.98, atol=1e-6)
  # The middle one of three levels samples its goals.
  middle_goals = _ActionGoals(spec.observation, utils.DISCRETE)
  middle = utils.build_agent(spec.observation)
  two = hierarchy.TwoLevelAgent(
      spec, utils.DISCRETE, middle,
      utils.build_agent(middle_goals.lower_observation_spec),
      middle_goals, goal_length=2, discount_factor=0.999,
  )  # fmt: skip
  many = ts.restart(tf.zeros([200, 3]), batch_size=200)
  three = build(two)
  state = three.policy.action(many, three.policy.get_initial_state(200)).state
  assert len(np.unique(state['goal'])) == 1
  assert len(np.unique(state['lower']['goal'])) > 1


def test_an_evaluated_episode_does_not_depend_on_the_others():
  goals = _ActionGoals(utils.FLAT, utils.DISCRETE)
  agent = hierarchy.TwoLevelAgent(
      ts.time_step_spec(utils.FLAT), utils.DISCRETE, utils.build_agent(),
      utils.build_agent(goals.lower_observation_spec), goals, goal_length=9,
      discount_factor=0.999,
  )  # fmt: skip
  generator = tf.random.Generator.from_seed(3)
  policy = local.seeded_policy(agent.policy, generator)
  first = ts.restart(tf.zeros([2, 3]), batch_size=2)
  state = policy.action(first, policy.get_initial_state(2)).state
  before = generator.state.numpy()

  def act(step_type):
    generator.reset(before)
    step = first._replace(step_type=tf.constant([step_type, 1]))
    return policy.action(step, state).action[1], generator.state.numpy()

  # The second one keeps its goal; the first one does or needs another one.
  kept, chosen = act(1), act(0)
  assert not np.array_equal(kept[1], before)
  for a, b in zip(kept, chosen, strict=True):
    np.testing.assert_array_equal(a, b)


def test_three_levels_decide_at_their_own_times_and_all_learn():
  time_step_spec = ts.time_step_spec(utils.FLAT)
  top_goals = _ActionGoals(utils.FLAT, utils.DISCRETE)
  middle_spec = top_goals.lower_observation_spec
  middle_goals = _ActionGoals(middle_spec, utils.DISCRETE)
  levels = [
      utils.build_agent(spec)
      for spec in (utils.FLAT, middle_spec, middle_goals.lower_observation_spec)
  ]
  two = hierarchy.TwoLevelAgent(
      ts.time_step_spec(middle_spec), utils.DISCRETE, *levels[1:],
      middle_goals, goal_length=2, discount_factor=0.999,
  )
  three = hierarchy.TwoLevelAgent(
      time_step_spec, utils.DISCRETE, levels[0], two, top_goals, 6, 0.999
  )
  observations = utils.sample(utils.FLAT, [13, 2], 0)
  rows, state = [], three.collect_policy.get_initial_state(2)
  for t in range(13):
    kind = ts.StepType.FIRST if t == 0 else ts.StepType.MID
    step_type = tf.fill([2], kind)
    step = three.collect_policy.action(
        ts.TimeStep(step_type, tf.zeros(2), tf.ones(2), observations[t]), state
    )
    state = step.state
    assert np.all(step.info['is_decision'] == (t % 6 == 0))
    assert np.all(step.info['lower']['is_decision'] == (t % 2 == 0))
    following = tf.fill([2], ts.StepType.MID)
    rows.append(
        trajectory.Trajectory(
            step_type, observations[t], step.action, step.info, following,
            tf.ones(2), tf.ones(2),
        )
    )
  rollout = tf.nest.map_structure(lambda *x: tf.stack(x, axis=1), *rows)
  assert three.upper_experience(rollout)[0].reward.shape == (2, 3)
  before = [[v.numpy() for v in each.actor_net.variables] for each in levels]
  three.train(rollout)
  for each, was in zip(levels, before):
    pairs = zip(each.actor_net.variables, was, strict=True)
    assert any(np.any(now != then) for now, then in pairs)


def test_the_lower_level_is_paid_where_a_step_reaches_its_goal():
  goals = hierarchy.EntryGoals(_OBSERVATION)
  levels = [
      utils.build_agent(_OBSERVATION, goals.spec),
      utils.build_agent(goals.lower_observation_spec, utils.DISCRETE),
  ]
  agent = hierarchy.TwoLevelAgent(
      _TIME_STEP, utils.DISCRETE, *levels, goals, 5, 0.999
  )
  states, asked = [0, 2, 1, 3, 3, 1, 1], [2, 3, 3, 3, 3, 1, 1]
  step_type, next_step_type, _ = utils.step_type_rows(['FMMMLFM'])
  rollout = trajectory.Trajectory(
      step_type=step_type,
      observation=_observations([states]),
      action=tf.zeros([1, 7], tf.int64),
      policy_info=dict(goal=tf.constant([asked], tf.int64), lower='info'),
      next_step_type=next_step_type,
      reward=tf.ones([1, 7]),
      discount=tf.constant([[0.5, 0.6, 0.7, 0.8, 1.0, 0.9, 1.0]]),
  )
  found, is_complete = agent.lower_experience(rollout)
  np.testing.assert_array_equal(is_complete, [[True] * 6 + [False]])
  # Transitions 0 -> 2, 2 -> 1, 1 -> 3, 3 -> 3, (end), 1 -> 1.
  np.testing.assert_array_equal(found.reward[0, :6], [1, 0, 1, 0, 0, 0])
  np.testing.assert_allclose(found.discount[0, :6], [0, 0.6, 0, 0.8, 1.0, 0.9])
  np.testing.assert_array_equal(found.observation['goal'], [asked])
  np.testing.assert_array_equal(
      found.observation['observation'], rollout.observation
  )
  assert found.policy_info == 'info'


@pytest.mark.parametrize('in_graph', [False, True], ids=['eager', 'graph'])
def test_entries_of_a_grid_are_goals(in_graph):
  spec = tf.TensorSpec([3, 3, 2], tf.uint8)
  entries = ((0, 2, 1), (2, 1, 0), (1, 1, 1))
  goals = hierarchy.EntryGoals(spec, entries)
  assert goals.spec.maximum == 2
  grids = np.zeros([2, 4, 3, 3, 2], np.uint8)  # [B, T, ...]
  asked = np.random.RandomState(0).randint(0, 3, [2, 4])
  expected = np.array([[1, 0, 1, 0], [0, 0, 1, 1]])
  for b, t in np.ndindex(2, 4):
    for i, entry in enumerate(entries):
      grids[(b, t, *entry)] = (i == asked[b, t]) == expected[b, t]
  reached = goals.reached
  if in_graph:
    reached = tf.function(reached, autograph=False)
  np.testing.assert_array_equal(
      reached(tf.constant(grids), tf.constant(asked)), expected == 1
  )


def test_a_goal_may_need_several_entries():
  goals = hierarchy.EntryGoals(
      tf.TensorSpec([2, 2], tf.uint8), (((0, 0), (1, 1)), (0, 1))
  )
  grids = tf.constant(
      [[[1, 0], [0, 1]], [[1, 1], [0, 0]], [[0, 1], [0, 1]]], tf.uint8
  )
  reached = [goals.reached(grids, tf.fill([3], tf.constant(i, tf.int64)))
             for i in range(2)]
  np.testing.assert_array_equal(
      reached, [[True, False, False], [False, True, True]]
  )


@pytest.mark.parametrize(
    'entries',
    [
        (),
        ((0, 0),),
        ((0, 0, 2),),
        ((0, -1, 0),),
        (((0, 0, 1), (0, 0, 2)),),
        ((),),
    ],
)
def test_entries_that_are_not_there_are_refused(entries):
  with pytest.raises(errors.InvalidValue, match='indices'):
    hierarchy.EntryGoals(tf.TensorSpec([3, 3, 2], tf.uint8), entries)


def test_positions_are_reached_within_a_tolerance():
  goals = hierarchy.PositionGoals(
      _OBSERVATION, entries=(2, 0), low=(-1.0, 0.0), high=(1.0, 2.0),
      tolerance=(0.1, 0.5),
  )
  observation = tf.constant([[0.4, 9.0, -0.95, 9.0], [0.6, 9.0, -0.95, 9.0]])
  goal = tf.constant([[-1.0, 0.0], [-1.0, 0.0]])
  np.testing.assert_array_equal(goals.reached(observation, goal), [True, False])


@pytest.mark.parametrize(
    'change',
    [dict(low=(1.0,)), dict(tolerance=(-0.1,)), dict(high=(np.inf,))],
)
def test_positions_that_cannot_be_reached_are_refused(change):
  right = dict(entries=(0,), low=(0.0,), high=(1.0,), tolerance=(0.1,))
  hierarchy.PositionGoals(_OBSERVATION, **right)
  (name,) = change
  with pytest.raises(errors.InvalidValue, match=name):
    hierarchy.PositionGoals(_OBSERVATION, **right | change)


def test_a_dqn_chooses_goals():
  goals = hierarchy.EntryGoals(_OBSERVATION)
  upper = agents.CuriousAgent(
      agents.create_dqn_agent(
          ts.time_step_spec(_OBSERVATION), goals.spec, discount_factor=0.9
      )
  )
  settings = _levels(goals) | dict(upper=upper)
  specs = ts.time_step_spec(_OBSERVATION), utils.DISCRETE
  agent = hierarchy.TwoLevelAgent(
      *specs, goals=goals, **settings | dict(discount_factor=0.9)
  )
  assert agent.upper is upper
  with pytest.raises(errors.InvalidValue, match='0.8, got 0.9'):
    hierarchy.TwoLevelAgent(
        *specs, goals=goals, **settings | dict(discount_factor=0.8)
    )
  of_two = ts.time_step_spec(_OBSERVATION, tf.TensorSpec([2]))
  with pytest.raises(errors.InvalidValue, match='one reward a step, .*2'):
    hierarchy.TwoLevelAgent(of_two, utils.DISCRETE, goals=goals, **settings)


def test_positions_in_bytes():
  goals = hierarchy.PositionGoals(
      tf.TensorSpec([2], tf.uint8), entries=(1,), low=(0.0,), high=(255.0,),
      tolerance=(3.0,),
  )
  observation = tf.constant([[0, 7], [0, 9]], tf.uint8)
  reached = goals.reached(observation, tf.constant([[10.0], [5.0]]))
  np.testing.assert_array_equal(reached, [True, False])


def _networks_that_run_on():
  """Networks whose memory takes in the last observation of an episode."""
  spec = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 3, 'goal')
  nets = utils.small_networks(_OBSERVATION, spec)
  return nets._replace(
      actor_net=actor_distribution_rnn_network.ActorDistributionRnnNetwork(
          _OBSERVATION, spec, lstm_size=(4,)
      )
  )._asdict()


def _levels(goals, **more):
  lower = dict(observation_spec=goals.lower_observation_spec)
  upper = dict(observation_spec=_OBSERVATION, action_spec=goals.spec)
  return dict(
      upper=utils.build_agent(**{**upper, **more.get('upper', {})}),
      lower=utils.build_agent(**{**lower, **more.get('lower', {})}),
      goal_length=more.get('goal_length', 4),
      discount_factor=more.get('discount_factor', 0.999),
  )


@pytest.mark.parametrize(
    ('more', 'message'),
    [
        (dict(goal_length=0), 'TwoLevelAgent.goal_length'),
        (dict(discount_factor=0.9), '0.999'),
        (
            dict(upper=dict(action_spec=utils.DISCRETE)),
            'action spec of the upper',
        ),
        (
            dict(lower=dict(observation_spec=_OBSERVATION)),
            'observation spec of the lower',
        ),
    ],
)
def test_levels_that_do_not_fit_are_refused(more, message):
  goals = hierarchy.EntryGoals(_OBSERVATION)
  with pytest.raises(errors.UserError, match=message):
    hierarchy.TwoLevelAgent(
        _TIME_STEP, utils.DISCRETE, goals=goals, **_levels(goals, **more)
    )


def test_a_memory_that_padding_would_change_is_refused():
  goals = hierarchy.EntryGoals(_OBSERVATION)
  upper = dict(nets=_networks_that_run_on())

  def build(goal_length):
    return hierarchy.TwoLevelAgent(
        _TIME_STEP,
        utils.DISCRETE,
        goals=goals,
        **_levels(goals, upper=upper, goal_length=goal_length),
    )

  build(goal_length=1).check_rollout(num_environments=4, rollout_length=8)
  with pytest.raises(errors.InvalidValue, match='LAST'):
    build(goal_length=4).check_rollout(num_environments=4, rollout_length=8)
