# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains two levels from the same rollouts, each in its own way."""

import dataclasses
from typing import Any, Callable

import gin
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents import hierarchy
from rnd_agents import ranges
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.hierarchy import decisions
from rnd_agents.training import loops
from rnd_agents.training import training


@gin.configurable(module='rnd_agents')
@dataclasses.dataclass(frozen=True)
class TwoLevelTraining(training.Training):
  """Trains an agent that chooses goals, and one that reaches them.

  Each has a way of training of its own: rollouts or a replay, a period, a
  curiosity or none. What is bound in gin's scopes `upper/` and `lower/` is for
  one of them. Lengths and periods are in environment steps for both; the
  sequences of the upper level's replay are of decisions.

  Attributes:
    upper: How the agent that chooses goals is trained, such as
      `@upper/OnPolicyTraining()` or `@upper/ReplayTraining()`.
    lower: How the one that reaches them is; `@lower/TwoLevelTraining()` makes a
      third level.
    goals_fn: Function from an observation spec to `hierarchy.Goals`.
    goal_length: Steps after which another goal is chosen at the latest.
    discount_factor: gamma of a step in the rewards of the upper level, and the
      same as that of its agent.
    hindsight_copies: Copies of each step that a lower level with a replay
      stores besides, with goals that the steps around it reached
      (`hierarchy.HindsightGoals`).
  """

  upper: Any = None
  lower: Any = None
  goals_fn: Callable = hierarchy.EntryGoals
  goal_length: int = 16
  discount_factor: float = 0.99
  hindsight_copies: int = 0

  @property
  def REMEDY(self):  # noqa: N802
    """What to do about numbers that are not finite."""
    return (
        f'{self.lower.REMEDY}, of the lower level; or, of the upper one:'
        f' {self.upper.REMEDY}'
    )

  @property
  def rollout_length(self):
    """Steps of each environment in an iteration: each level learns in it."""
    return max(each.rollout_length for each in (self.upper, self.lower))

  @property
  def collect_length(self):
    """Steps of each environment between updates of either level."""
    return min(each.collect_length for each in (self.upper, self.lower))

  @property
  def is_off_policy(self):
    return all(level.is_off_policy for level in self._levels.values())

  @property
  def _levels(self):
    return dict(upper=self.upper, lower=self.lower)

  def _map(self, function):
    """`function(name, training)` of each level, in its scope, by name."""
    found = {}
    for name, level in self._levels.items():
      try:
        with gin.config_scope(name):
          found[name] = function(name, level)
      except errors.UserError as error:
        raise errors.SetupError(
            f'In the {name} level: {errors.message_of(error)}'
        ) from error
    return found

  def check(self, num_env_steps, num_environments):
    ranges.check(
        dict(goal_length=ranges.COUNT, hindsight_copies=ranges.COUNT_OR_0),
        vars(self),
        'TwoLevelTraining.',
    )

    for name, level in self._levels.items():
      training.check_training(f'TwoLevelTraining.{name}', level)

    def check(_, level):
      level.check(num_env_steps, num_environments)
      if level.uses_demonstrations:
        raise errors.InvalidValue(
            'ReplayTraining.demonstrations must be None: demonstrations tell no'
            ' goals.'
        )

    self._map(check)
    self._check_lengths('upper', self.upper)
    self._check_lengths('lower', self.lower)
    self._check_hindsight()

  def _check_lengths(self, name, level):
    """Refuses a level whose updates do not fall on ends of iterations."""
    shortest, longest = self.collect_length, self.rollout_length
    for length in (level.rollout_length, level.collect_length):
      if longest % length or length % shortest:
        raise errors.InvalidValue(
            'Of rollout_length and collect_length of both levels each must be a'
            f' multiple of the shorter ones: {length} of the {name} level does'
            f' not fit to {shortest}, the shortest, and {longest}, the longest.'
        )

  def _check_hindsight(self):
    """Refuses copies for a lower level that could not learn from them."""
    can_learn = self.lower.is_off_policy and not isinstance(
        self.lower, TwoLevelTraining
    )
    if self.hindsight_copies and not can_learn:
      raise errors.InvalidValue(
          'TwoLevelTraining.hindsight_copies needs a lower level that learns'
          ' from other goals than those it acted for: set'
          ' TwoLevelTraining.lower = @lower/ReplayTraining(), or hindsight'
          '_copies = 0.'
      )

  def _specs(self, specs):
    """The goals, and the `collector.Specs` of each level by its name."""
    goals = self.goals_fn(specs.time_step.observation)
    return goals, dict(
        upper=collector.Specs(specs.time_step, goals.spec),
        lower=collector.Specs(
            ts.time_step_spec(goals.lower_observation_spec), specs.action
        ),
    )

  def build_agent(self, specs, num_environments):
    goals, level_specs = self._specs(specs)
    agents = self._map(
        lambda name, level: level.build_agent(
            level_specs[name], num_environments
        )
    )
    hindsight = None
    if self.hindsight_copies:
      if agents['lower'].curiosity is not None:
        raise errors.InvalidValue(
            'A curiosity would see each step of the lower level again in each'
            ' of its TwoLevelTraining.hindsight_copies: leave out either'
            ' create_r2d3_agent.curiosity_fn of that level, or the copies.'
        )
      hindsight = hierarchy.HindsightGoals(goals, self.hindsight_copies)
    agent = self._agent(specs, goals, agents, hindsight)
    agent.check_upper_rollout(num_environments, self.upper.rollout_length)
    return agent

  def build_twin(self, specs, num_environments):
    goals, level_specs = self._specs(specs)
    agents = self._map(
        lambda name, level: level.build_twin(
            level_specs[name], num_environments
        )
    )
    return self._agent(specs, goals, agents)

  def _agent(self, specs, goals, agents, hindsight=None):
    return hierarchy.TwoLevelAgent(
        *specs,
        goals=goals,
        goal_length=self.goal_length,
        discount_factor=self.discount_factor,
        hindsight=hindsight,
        **agents,
    )

  def build_learner(self, run, agent, view=None, level=''):
    views = dict(upper=agent.upper_experience, lower=agent.lower_experience)

    def of_level(own):
      if view is None:
        return own
      return lambda experience: own(view(experience)[0])

    agents = dict(upper=agent.upper, lower=agent.lower)

    def build(name, level_training):
      return level_training.build_learner(
          run,
          agents[name],
          of_level(views[name]),
          f'{level}_{name}',
      )

    return TwoLevelLearner(self._map(build), agent, view)


class TwoLevelLearner(loops.Learner):
  """The learners of both levels; names begin with the level's."""

  def __init__(self, learners, agent, view=None):
    """Takes over the learners.

    Args:
      learners: `loops.Learner` by the name of the level.
      agent: The `TwoLevelAgent`.
      view: As for `on_policy.OnPolicyLearner`.
    """
    self._learners = learners
    view = view or (
        lambda rows: (rows, decisions.without_last(~rows.is_boundary()))
    )
    self._count_goals = common.function(
        lambda experience: agent.count_goals(*view(experience))
    )
    # Since the last row of metrics.
    self._num_chosen, self._num_reached = 0, 0

  @property
  def policy_version(self):
    """How often the policy of either has changed."""
    return sum(each.policy_version for each in self._learners.values())

  @property
  def environment_variables(self):
    """Those of both."""
    return [
        variable
        for each in self._learners.values()
        for variable in each.environment_variables
    ]

  def begin(self):
    for each in self._learners.values():
      each.begin()

  def pretrain(self):
    for each in self._learners.values():
      yield from each.pretrain()

  def explore(self, env_steps):
    for name, each in self._learners.items():
      with gin.config_scope(name):
        each.explore(env_steps)

  def warm_up(self, rollout):
    for each in self._learners.values():
      each.warm_up(rollout)

  def begin_episodes(self):
    for each in self._learners.values():
      each.begin_episodes()

  def add(self, rollout):
    # Once for both levels.
    rollout = rollout._replace(trajectory=local.as_tensors(rollout.trajectory))
    chosen, reached = self._count_goals(rollout.trajectory)
    self._num_chosen += int(chosen)
    self._num_reached += int(reached)
    for each in self._learners.values():
      each.add(rollout)

  def train(self, num_env_steps):
    for each in self._learners.values():
      each.train(num_env_steps)

  def metrics(self):
    rate = self._num_reached / max(self._num_chosen, 1)
    self._num_chosen, self._num_reached = 0, 0
    return dict(goals_reached_rate=rate) | {
        f'{name}_{metric}': value
        for name, each in self._learners.items()
        for metric, value in each.metrics().items()
    }

  def finite(self):
    return {
        f'{name} {variable}': value
        for name, each in self._learners.items()
        for variable, value in each.finite().items()
    }

  def get_state(self):
    return {name: each.get_state() for name, each in self._learners.items()}

  def set_state(self, state, episodes_go_on):
    for name, each in self._learners.items():
      each.set_state(state[name], episodes_go_on)
