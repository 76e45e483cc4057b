# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""An agent of two levels, each an agent with its own time resolution."""

import collections

import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.policies import greedy_policy
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents import rollout_agent
from rnd_agents.hierarchy import decisions
from rnd_agents.hierarchy import goals as goals_lib
from rnd_agents.hierarchy import hindsight as hindsight_lib
from rnd_agents.hierarchy import two_level_policy


class TwoLevelAgent(tf_agent.TFAgent):
  """Chooses goals by one agent and reaches them by another.

  Both learn from the same rollouts [B, T+1], without gradients between them.
  `train` trains two on-policy levels; otherwise each level is trained in its
  own way, on `upper_experience` and `lower_experience`
  (`training.TwoLevelTraining`). The lower level sees observation and goal at
  every step and is rewarded by the goals. Its return ends with a goal that is
  reached; after one that is given up it continues with the next goal. The upper
  level learns from `Decisions` and is rewarded by the environment. The lower
  level may be another `TwoLevelAgent`.
  """

  def __init__(
      self,
      time_step_spec: ts.TimeStep,
      action_spec: types.NestedTensorSpec,
      upper: tf_agent.TFAgent,
      lower: tf_agent.TFAgent,
      goals: goals_lib.Goals,
      goal_length: int,
      discount_factor: float,
      hindsight: hindsight_lib.HindsightGoals | None = None,
  ):
    """Creates the agent.

    Args:
      time_step_spec: A `TimeStep` spec of the environment.
      action_spec: Action spec of the environment.
      upper: An agent such as `RNDPPOAgent` or `R2D3Agent`, with `goals.spec`
        for an action spec. A recurrent one remembers its decisions only.
      lower: An agent on `goals.lower_observation_spec`.
      goals: The goals.
      goal_length: K, number of steps after which another goal is chosen at the
        latest.
      discount_factor: gamma of a step in the upper level's sums; the upper
        agent's own must be the same.
      hindsight: Adds copies with other goals, for a lower level that learns
        from a replay; None for no copies.

    Raises:
      UserError: If the levels do not fit each other.
    """
    self._upper, self._lower, self._goals = upper, lower, goals
    self._goal_length = goal_length
    self._hindsight = hindsight
    ranges.check_above_0('TwoLevelAgent.', goal_length=goal_length)
    _check_levels(time_step_spec, action_spec, upper, lower, goals)
    if upper.discount_factor != discount_factor:
      raise errors.InvalidValue(
          'The discount_factor of the upper level must be that of'
          f' TwoLevelAgent, {discount_factor}, got {upper.discount_factor}.'
      )
    self._discount_factor = discount_factor

    def build(
        upper_policy: tf_policy.TFPolicy,
        lower_policy: tf_policy.TFPolicy,
        collect: bool,
    ) -> tf_policy.TFPolicy:
      return two_level_policy.TwoLevelPolicy(
          time_step_spec,
          action_spec,
          upper_policy,
          lower_policy,
          goals,
          goal_length,
          collect,
      )

    acting = _acting(upper), _acting(lower)
    self._sampled_policy = build(*acting, collect=False)
    self._decisions = decisions.Decisions(
        upper.collect_data_spec, discount_factor
    )
    super().__init__(
        time_step_spec,
        action_spec,
        build(upper.policy, _acting(lower), collect=False),
        build(upper.collect_policy, lower.collect_policy, collect=True),
        train_sequence_length=None,
        train_step_counter=upper.train_step_counter,
    )

  @property
  def upper(self) -> tf_agent.TFAgent:
    """The agent that chooses goals."""
    return self._upper

  @property
  def lower(self) -> tf_agent.TFAgent:
    """The agent that reaches the goals."""
    return self._lower

  @property
  def sampled_policy(self) -> tf_policy.TFPolicy:
    """Both levels as they act in training; nothing is recorded."""
    return self._sampled_policy

  @property
  def discount_factor(self) -> float:
    """Gamma of a step in the sums of the upper level."""
    return self._discount_factor

  @property
  def train_step_counter(self) -> tf.Tensor:
    """Train steps of both levels together."""
    return self._upper.train_step_counter + self._lower.train_step_counter

  @property
  def curiosity(self) -> None:
    """None, because each level has a curiosity of its own."""

  @property
  def optimizers(self) -> list[tf.keras.optimizers.Optimizer]:
    """The optimizers of both levels."""
    return [*self._upper.optimizers, *self._lower.optimizers]

  def _initialize(self) -> None:
    self._upper.initialize()
    self._lower.initialize()

  def check_rollout(self, num_environments: int, rollout_length: int) -> None:
    """Raises InvalidValue unless `train` can learn from such rollouts.

    Levels that learn from a replay are not checked.

    Args:
      num_environments: B.
      rollout_length: T.
    """
    if isinstance(self._lower, rollout_agent.RolloutAgent):
      self._lower.check_rollout(num_environments, rollout_length)
    self.check_upper_rollout(num_environments, rollout_length)

  def check_upper_rollout(
      self, num_environments: int, rollout_length: int
  ) -> None:
    """Raises InvalidValue unless the upper level can learn from rollouts.

    A level that learns from a replay is not checked.

    Args:
      num_environments: B.
      rollout_length: T.
    """
    upper = self._upper
    if not isinstance(upper, rollout_agent.RolloutAgent):
      return
    if rollout_length < self._goal_length:
      raise errors.InvalidValue(
          f'With rollout_length = {rollout_length} a rollout may be without a'
          ' decision of the upper level, because a goal may take'
          f' {self._goal_length} steps: raise rollout_length, or lower'
          ' goal_length.'
      )
    # Goals may be shorter, which makes more decisions.
    num_decisions = rollout_length // self._goal_length
    upper.check_rollout(num_environments, num_decisions)
    if self._goal_length > 1:
      _check_memory(self._upper.collect_policy)

  @tf.autograph.experimental.do_not_convert
  def _train(
      self, experience: trajectory.Trajectory, weights: types.Tensor | None
  ) -> tf_agent.LossInfo:
    if weights is not None:
      raise errors.InvalidValue('TwoLevelAgent takes no weights.')
    for level in (self._upper, self._lower):
      if not isinstance(level, rollout_agent.RolloutAgent):
        raise errors.InvalidValue(
            f'{type(level).__name__} learns from a replay: train each level'
            ' separately, as TwoLevelTraining does.'
        )
    lower = self._lower.train(self.lower_experience(experience)[0])
    upper = self._upper.train(self.upper_experience(experience)[0])
    extra = {}
    for level, info in (('upper', upper), ('lower', lower)):
      extra[f'{level}_loss'] = info.loss
      extra.update(
          (f'{level}_{name}', value)
          for name, value in info.extra._asdict().items()
      )
    info = collections.namedtuple('TwoLevelLossInfo', extra)(**extra)
    return tf_agent.LossInfo(upper.loss + lower.loss, info)

  def lower_experience(
      self, experience: trajectory.Trajectory
  ) -> tuple[trajectory.Trajectory, tf.Tensor]:
    """Returns the lower level's rows of a rollout.

    Args:
      experience: A `Trajectory` [B, T+1].

    Returns:
      A tuple of a `Trajectory` [B, T+1], with goals in its observations,
      rewards of `goals`, and a discount of 0 where the step reached the goal,
      which was not fulfilled before; and booleans [B, T+1]: which rows are
      complete, each in one rollout. With `hindsight` the copies follow, as rows
      of further environments.
    """
    if self._hindsight is not None:
      experience = self._hindsight(experience)
    info = experience.policy_info
    reached = self._goals.reached_by_step(experience, info['goal'])
    rows = experience.replace(
        observation=self._goals.observe(experience.observation, info['goal']),
        policy_info=info['lower'],
        reward=self._goals.reward(reached, experience.reward),
        discount=tf.where(reached, 0.0, experience.discount),
    )
    # The next rollout shows whether the last step has reached the goal.
    return rows, decisions.without_last(tf.ones_like(reached))

  def count_goals(self, experience: trajectory.Trajectory) -> list[tf.Tensor]:
    """Returns how many goals were chosen in a rollout, and how many reached.

    Args:
      experience: A `Trajectory` [B, T+1]. Its last row, the first one of the
        next rollout, does not count.
    """
    info = experience.policy_info
    reached = self._goals.reached_by_step(experience, info['goal'])
    return [
        tf.math.count_nonzero(found[:, :-1], dtype=tf.int32)
        for found in (info['is_decision'], reached)
    ]

  def upper_experience(
      self, experience: trajectory.Trajectory
  ) -> tuple[trajectory.Trajectory, tf.Tensor]:
    """Returns the upper level's rows of a rollout, its decisions.

    Keeps the decisions that are open at the end of the rollout.

    Args:
      experience: A `Trajectory` [B, T+1].

    Returns:
      A tuple of a `Trajectory` [B, N+1] of decisions and booleans [B, N+1]:
      which of them are complete (`Decisions`).
    """
    info = experience.policy_info
    return self._decisions(
        experience.replace(
            observation=self._goals.observe_above(experience.observation),
            action=info['goal'],
            policy_info=info['upper'],
        ),
        info['is_decision'],
    )


def _acting(level: tf_agent.TFAgent) -> tf_policy.TFPolicy:
  """Returns the policy of a level below others in evaluations.

  The levels above have learned what their goals lead to where this one acts as
  in training: its best actions alone would be another environment for them.
  """
  by_default = greedy_policy.GreedyPolicy, two_level_policy.TwoLevelPolicy
  if isinstance(level.policy, by_default):
    return getattr(level, 'sampled_policy', level.collect_policy)
  return level.policy


def _check_levels(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    upper: tf_agent.TFAgent,
    lower: tf_agent.TFAgent,
    goals: goals_lib.Goals,
) -> None:
  """Raises InvalidValue if the levels do not fit each other."""
  if time_step_spec.reward.shape.rank:
    raise errors.InvalidValue(
        'TwoLevelAgent sums one reward a step, and they are a vector'
        f' {time_step_spec.reward.shape}: let load_environment.reward_fn return'
        ' one.'
    )
  expected = (
      ('upper', upper, goals.upper_observation_spec, goals.spec),
      ('lower', lower, goals.lower_observation_spec, action_spec),
  )
  for name, agent, observation, action in expected:
    specs = dict(
        observation=(agent.time_step_spec.observation, observation),
        action=(agent.action_spec, action),
    )
    for part, (found, needed) in specs.items():
      if tf.nest.flatten(found) != tf.nest.flatten(needed):
        raise errors.InvalidValue(
            f'The {part} spec of the {name} level is {found}, and must be'
            f' {needed}.'
        )


def _check_memory(policy: tf_policy.TFPolicy) -> None:
  """Raises InvalidValue if padding of decisions would change a memory."""
  if not tf.nest.flatten(policy.policy_state_spec):
    return
  time_step, state = tf.nest.map_structure(
      lambda leaf: tf.ones([1, *leaf.shape], leaf.dtype),
      (policy.time_step_spec, policy.policy_state_spec),
  )
  last = time_step._replace(step_type=tf.fill([1], ts.StepType.LAST))
  new_state = policy.distribution(last, state).state
  for old, new in zip(tf.nest.flatten(state), tf.nest.flatten(new_state)):
    if np.any(old != new):
      raise errors.InvalidValue(
          'The memory of an upper level that learns from rollouts must not'
          ' change at a step of type LAST: take a RecurrentCore, such as'
          ' networks.LSTMCore or networks.GRUCore.'
      )
