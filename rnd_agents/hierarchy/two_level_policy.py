# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A policy that chooses goals, over one that acts towards them."""

from collections.abc import Callable

import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents.collecting import collector
from rnd_agents.hierarchy import goals as goals_lib


class TwoLevelPolicy(collector.ComposedPolicy):
  """Chooses a goal at some steps, and acts towards it at every step.

  A goal is chosen where an episode begins, and where the last one was reached
  by a step, was given up or is `goal_length` steps old; each environment of a
  batch chooses separately. A goal that holds when it is chosen counts as
  reached only after it was lost, so that choosing it does not lead to a
  decision at every step. The state of the policy has the goal, its age and
  whether it held before the step. With `collect` the policy info is a dict:
  `goal`, `is_decision`, and the policy infos of both levels, `upper` (0 where
  no environment chooses) and `lower`.
  """

  def __init__(
      self,
      time_step_spec: ts.TimeStep,
      action_spec: types.NestedTensorSpec,
      upper: tf_policy.TFPolicy,
      lower: tf_policy.TFPolicy,
      goals: goals_lib.Goals,
      goal_length: int,
      collect: bool = False,
  ):
    """Creates the policy.

    Args:
      time_step_spec: A `TimeStep` spec of the environment.
      action_spec: Action spec of the environment.
      upper: A policy with goals for actions.
      lower: A policy on `goals.lower_observation_spec`.
      goals: The goals.
      goal_length: Number of steps after which another goal is chosen.
      collect: Whether to record goals and both levels' policy infos.
    """
    self._upper, self._lower = upper, lower
    self._goals = goals
    self._goal_length = goal_length
    self._collects = collect
    info_spec = dict(
        goal=goals.spec,
        is_decision=tf.TensorSpec([], tf.bool),
        upper=upper.info_spec,
        lower=lower.info_spec,
    )
    super().__init__(
        time_step_spec,
        action_spec,
        policy_state_spec=dict(
            goal=goals.spec,
            age_env_steps=tf.TensorSpec([], tf.int32),
            held=tf.TensorSpec([], tf.bool),
            upper=upper.policy_state_spec,
            lower=lower.policy_state_spec,
        ),
        info_spec=info_spec if collect else (),
        clip=False,
        name='TwoLevelPolicy',
    )

  def map_parts(
      self, function: Callable[[tf_policy.TFPolicy], tf_policy.TFPolicy]
  ) -> 'TwoLevelPolicy':
    return TwoLevelPolicy(
        self.time_step_spec,
        self.action_spec,
        function(self._upper),
        function(self._lower),
        self._goals,
        self._goal_length,
        self._collects,
    )

  def _get_initial_state(self, batch_size: types.Int) -> types.NestedTensor:
    return dict(
        goal=tensor_spec.zero_spec_nest(self._goals.spec, [batch_size]),
        age_env_steps=tf.zeros([batch_size], tf.int32),
        held=tf.zeros([batch_size], tf.bool),
        upper=self._upper.get_initial_state(batch_size),
        lower=self._lower.get_initial_state(batch_size),
    )

  @tf.autograph.experimental.do_not_convert
  def _action(
      self,
      time_step: ts.TimeStep,
      policy_state: types.NestedTensor,
      seed: types.Seed | None,
  ) -> policy_step.PolicyStep:
    return self._step(
        time_step, policy_state, lambda *args: self._lower.action(*args, seed)
    )

  @tf.autograph.experimental.do_not_convert
  def _distribution(
      self, time_step: ts.TimeStep, policy_state: types.NestedTensor
  ) -> policy_step.PolicyStep:
    return self._step(time_step, policy_state, self._lower.distribution)

  def _step(
      self,
      time_step: ts.TimeStep,
      state: types.NestedTensor,
      act: Callable[..., policy_step.PolicyStep],
  ) -> policy_step.PolicyStep:
    observation = time_step.observation
    # Nobody acts on the last step of an episode.
    is_decision = ~time_step.is_last() & (
        time_step.is_first()
        | (state['age_env_steps'] >= self._goal_length)
        | (self._goals.reached(observation, state['goal']) & ~state['held'])
        | self._goals.given_up(observation, state['goal'])
    )
    chosen = self._choose(time_step, state['upper'], is_decision)

    def where_decided(new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
      shape = [-1] + [1] * (new.shape.rank - 1)
      return tf.where(tf.reshape(is_decision, shape), new, old)

    goal = tf.nest.map_structure(where_decided, chosen.action, state['goal'])
    acted = act(
        time_step._replace(observation=self._goals.observe(observation, goal)),
        state['lower'],
    )
    info = dict(
        goal=goal,
        is_decision=is_decision,
        upper=chosen.info,
        lower=acted.info,
    )
    return policy_step.PolicyStep(
        acted.action,
        dict(
            goal=goal,
            age_env_steps=tf.where(is_decision, 1, state['age_env_steps'] + 1),
            held=self._goals.reached(observation, goal),
            upper=tf.nest.map_structure(
                where_decided, chosen.state, state['upper']
            ),
            lower=acted.state,
        ),
        info if self._collects else (),
    )

  def _choose(
      self,
      time_step: ts.TimeStep,
      upper_state: types.NestedTensor,
      is_decision: tf.Tensor,
  ) -> policy_step.PolicyStep:
    """Returns a step of the upper level; 0 if no environment needs one.

    In evaluations it is computed each time: the random numbers of an episode
    would else depend on when the other environments, whose episodes may be over
    and go their own ways, need a decision.
    """
    time_step = time_step._replace(
        observation=self._goals.observe_above(time_step.observation)
    )
    if not self._collects:
      return self._upper.action(time_step, upper_state)
    batch_size = tf.shape(is_decision)

    def nothing() -> policy_step.PolicyStep:
      return policy_step.PolicyStep(
          tensor_spec.zero_spec_nest(self._upper.action_spec, batch_size),
          upper_state,
          tensor_spec.zero_spec_nest(self._upper.info_spec, batch_size),
      )

    return tf.cond(
        tf.reduce_any(is_decision),
        lambda: self._upper.action(time_step, upper_state),
        nothing,
    )
