# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""An agent of two levels, each with an agent of its own time resolution."""

import collections

import gin
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.hierarchy import decisions
from rnd_agents.hierarchy import goals as goals_lib
from rnd_agents.hierarchy import two_level_policy


class TwoLevelAgent(tf_agent.TFAgent):
  """Chooses goals by one agent and reaches them by another.

  Both learn from the same rollouts [B, T+1], without gradients between them.
  The lower one sees observation and goal at every step, is paid by the goals,
  and for it a goal that was reached ends the discounted sum; one that was given
  up goes on with the next goal. The upper one learns from `Decisions`, paid by
  the environment. The lower one may be another `TwoLevelAgent`.
  """

  def __init__(
      self,
      time_step_spec,
      action_spec,
      upper,
      lower,
      goals,
      goal_length,
      discount_factor,
  ):
    """Creates the agent.

    Args:
      time_step_spec: A `TimeStep` spec of the environment.
      action_spec: Of the environment.
      upper: An on-policy agent without memory, such as `RNDPPOAgent`, with
        `goals.spec` for an action spec.
      lower: An on-policy agent on `goals.lower_observation_spec`.
      goals: `Goals`.
      goal_length: K, steps after which another goal is chosen at the latest.
      discount_factor: gamma of a step in the upper level's sums; the upper
        agent's own must be the same.

    Raises:
      UserError: If the levels do not fit each other.
    """
    self._upper, self._lower, self._goals = upper, lower, goals
    self._goal_length = goal_length
    ranges.check_above_0('TwoLevelAgent.', goal_length=goal_length)
    _check_levels(time_step_spec, action_spec, upper, lower, goals)
    streams = getattr(upper, 'streams', ())
    if streams and streams[0].discount_factor != discount_factor:
      raise errors.InvalidValue(
          'The upper level must discount a step as its sums do: its'
          f' discount_factor is {streams[0].discount_factor}, and that of'
          f' TwoLevelAgent {discount_factor}.'
      )

    def build(name_, collect):
      return two_level_policy.TwoLevelPolicy(
          time_step_spec,
          action_spec,
          getattr(upper, name_),
          getattr(lower, name_),
          goals,
          goal_length,
          collect,
      )

    self._decisions = decisions.Decisions(
        upper.collect_data_spec, discount_factor
    )
    super().__init__(
        time_step_spec,
        action_spec,
        build('policy', False),
        build('collect_policy', True),
        train_sequence_length=None,
        train_step_counter=tf.Variable(0, dtype=tf.int64, name='train_step'),
    )

  @property
  def curiosity(self):
    """None: each level has its own, with the agent of the level."""

  @property
  def optimizers(self):
    """Those of both levels."""
    return [*self._upper.optimizers, *self._lower.optimizers]

  def check_rollout(self, num_environments, rollout_length):
    """Refuses rollouts that a level cannot take; see `RNDPPOAgent`."""
    self._lower.check_rollout(num_environments, rollout_length)
    if rollout_length < self._goal_length:
      raise errors.InvalidValue(
          f'A rollout of {rollout_length} steps may have no decision, for a'
          f' goal may take {self._goal_length}: raise OnPolicyTraining.'
          'rollout_length, or lower create_two_level_agent.goal_length.'
      )
    # Goals may be shorter, which makes more of them.
    self._upper.check_rollout(
        num_environments, rollout_length // self._goal_length
    )

  def update_observation_statistics(self, observations):
    """Takes raw observations [B, ...] into the statistics of both levels.

    Those of the lower level see them with goals drawn uniformly.
    """
    self._upper.update_observation_statistics(observations)
    batch = tf.shape(tf.nest.flatten(observations)[0])[:1]
    goal = tensor_spec.sample_spec_nest(self._goals.spec, outer_dims=batch)
    self._lower.update_observation_statistics(
        self._goals.observe(observations, goal)
    )

  def _initialize(self):
    self._upper.initialize()
    self._lower.initialize()

  def _train(self, experience, weights):
    if weights is not None:
      raise errors.InvalidValue('TwoLevelAgent takes no weights.')
    lower = self._lower.train(self.lower_experience(experience))
    upper = self._upper.train(self.upper_experience(experience))
    self.train_step_counter.assign(
        self._upper.train_step_counter + self._lower.train_step_counter
    )
    extra = {}
    for level, info in (('upper', upper), ('lower', lower)):
      extra[f'{level}_loss'] = info.loss
      extra.update(
          (f'{level}_{name}', value)
          for name, value in info.extra._asdict().items()
      )
    info_type = collections.namedtuple('TwoLevelLossInfo', extra)
    return tf_agent.LossInfo(upper.loss + lower.loss, info_type(**extra))

  def lower_experience(self, experience):
    """Returns what the lower level learns from.

    Args:
      experience: A `Trajectory` [B, T+1].

    Returns:
      A `Trajectory` [B, T+1]: observations with goals, rewards of `goals`, and
      a discount of 0 where the goal was reached.
    """
    info = experience.policy_info
    arrived = tf.nest.map_structure(
        lambda x: tf.concat([x[:, 1:], x[:, -1:]], axis=1),
        experience.observation,
    )
    reached = self._goals.reached(arrived, info['goal'])
    # From the end of an episode to the next one leads no step.
    reached &= ~experience.is_boundary()
    return experience.replace(
        observation=self._goals.observe(experience.observation, info['goal']),
        policy_info=info['lower'],
        reward=self._goals.reward(reached, experience.reward),
        discount=tf.where(reached, 0.0, experience.discount),
    )

  def upper_experience(self, experience):
    """Returns what the upper level learns from: see `Decisions`.

    Keeps the decisions that are open at the end of the rollout.

    Args:
      experience: A `Trajectory` [B, T+1].

    Returns:
      A `Trajectory` [B, N+1] of decisions.
    """
    info = experience.policy_info
    return self._decisions(
        experience.replace(action=info['goal'], policy_info=info['upper']),
        info['is_decision'],
    )


def _check_levels(time_step_spec, action_spec, upper, lower, goals):
  """Refuses levels that do not fit each other."""
  expected = (
      ('upper', upper, time_step_spec.observation, goals.spec),
      ('lower', lower, goals.lower_observation_spec, action_spec),
  )
  for name, agent, observation, action in expected:
    if not hasattr(agent, 'check_rollout'):
      raise errors.InvalidValue(
          f'{type(agent).__name__} cannot be the {name} level: it does not'
          ' learn from rollouts, as RNDPPOAgent does.'
      )
    specs = dict(
        observation=(agent.time_step_spec.observation, observation),
        action=(agent.action_spec, action),
    )
    for what, (its, needed) in specs.items():
      if tf.nest.flatten(its) != tf.nest.flatten(needed):
        raise errors.InvalidValue(
            f'The {what} spec of the {name} level is {its}, and must be'
            f' {needed}.'
        )
  if upper.collect_policy.policy_state_spec:
    raise errors.InvalidValue(
        'The upper level must have no memory: its decisions come at other steps'
        ' in each environment. Leave out the core of its networks.'
    )


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_two_level_agent(
    time_step_spec,
    action_spec,
    goals_fn=goals_lib.EntryGoals,
    create_upper=gin.REQUIRED,
    create_lower=gin.REQUIRED,
    goal_length=16,
    discount_factor=0.99,
):
  """Builds a `TwoLevelAgent`.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.
    goals_fn: Function from an observation spec to `Goals`.
    create_upper: Function from (time step spec, spec of a goal) to the upper
      agent, such as `@upper/create_rnd_ppo_agent`.
    create_lower: Function from (time step spec with the goal, action spec) to
      the lower agent, such as `@lower/create_rnd_ppo_agent`.
    goal_length: Steps after which another goal is chosen at the latest.
    discount_factor: gamma of a step, the same as
      `upper/RNDPPOAgent.discount_factor`.

  Returns:
    The agent, initialized.

  Raises:
    UserError: If the levels do not fit each other.
  """
  goals = goals_fn(time_step_spec.observation)
  lower_spec = ts.time_step_spec(goals.lower_observation_spec)
  agent = TwoLevelAgent(
      time_step_spec,
      action_spec,
      create_upper(time_step_spec, goals.spec),
      create_lower(lower_spec, action_spec),
      goals,
      goal_length,
      discount_factor,
  )
  agent.initialize()
  return agent
