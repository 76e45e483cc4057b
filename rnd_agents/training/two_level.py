# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains two levels from the same rollouts, each in its own way.

Each learner gets the rollouts of its level, of decisions or with goals, and is
independent of the other level.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory as trajectory_lib
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import graph_calls
from rnd_agents import hierarchy
from rnd_agents import ranges
from rnd_agents import switched_off
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.training import loops
from rnd_agents.training import runs
from rnd_agents.training import training


@gin.configurable(module='rnd_agents')
@dataclasses.dataclass(frozen=True)
class TwoLevelTraining(training.Training):
  """Trains an agent that chooses goals, and one that reaches them.

  Each level has its own way of training: rollouts or a replay, a period, a
  curiosity or none. Bindings in gin's scopes `upper/` and `lower/` are for one
  level. Lengths and periods are in environment steps for both levels; the
  sequences of the upper level's replay are in decisions.

  Attributes:
    upper: How the agent that chooses goals is trained, such as
      `@upper/OnPolicyTraining()` or `@upper/ReplayTraining()`.
    lower: How the agent that reaches them is trained;
      `@lower/TwoLevelTraining()` makes a third level.
    goals_fn: Function from an observation spec to `hierarchy.Goals`.
    goal_length: Number of steps after which another goal is chosen at the
      latest.
    discount_factor: gamma of a step in the rewards of the upper level; the
      agent of that level must have the same.
    hindsight_copies: Number of copies of each step that a lower level with a
      replay stores in addition, with goals that the steps around it reached
      (`hierarchy.HindsightGoals`). More copies teach more about rare goals, and
      take more memory and time.
  """

  upper: training.Training | None = None
  lower: training.Training | None = None
  goals_fn: Callable[[types.NestedTensorSpec], hierarchy.Goals] = (
      hierarchy.EntryGoals
  )
  goal_length: int = 16
  discount_factor: float = 0.99
  hindsight_copies: int = 0

  @property
  def remedy(self) -> str:
    return (
        f'{self._levels["lower"].remedy}, of the lower level; or, of the upper'
        f' one: {self._levels["upper"].remedy}'
    )

  @property
  def rollout_length(self) -> int:
    return max(each.rollout_length for each in self._levels.values())

  @property
  def collect_length(self) -> int:
    return min(each.collect_length for each in self._levels.values())

  @property
  def is_off_policy(self) -> bool:
    return all(level.is_off_policy for level in self._levels.values())

  @property
  def _levels(self) -> dict[str, training.Training]:
    levels = dict(upper=self.upper, lower=self.lower)
    return {name: level for name, level in levels.items() if level is not None}

  def _map(
      self, function: Callable[[str, training.Training], Any]
  ) -> dict[str, Any]:
    """Returns `function(name, training)` of each level, in its gin scope."""
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

  def check(self, num_env_steps: int, num_environments: int) -> None:
    ranges.check(
        dict(goal_length=ranges.COUNT, hindsight_copies=ranges.COUNT_OR_0),
        vars(self),
        'TwoLevelTraining.',
    )

    training.check_training('TwoLevelTraining.upper', self.upper)
    training.check_training('TwoLevelTraining.lower', self.lower)
    if isinstance(self.upper, TwoLevelTraining):
      raise errors.InvalidValue(
          'TwoLevelTraining.upper must be one level: for three levels set'
          ' TwoLevelTraining.lower = @lower/TwoLevelTraining().'
      )

    def check(name: str, level: training.Training) -> None:
      level.check(num_env_steps, num_environments)
      if level.uses_demonstrations:
        raise errors.InvalidValue(
            'ReplayTraining.demonstrations must be None, because demonstrations'
            ' have no goals.'
        )
      self._check_lengths(name, level)

    self._map(check)
    self._check_hindsight()

  def _check_lengths(self, name: str, level: training.Training) -> None:
    """Raises InvalidValue if updates do not fall on ends of iterations."""
    shortest, longest = self.collect_length, self.rollout_length
    for length in (level.rollout_length, level.collect_length):
      if longest % length or length % shortest:
        raise errors.InvalidValue(
            'Each rollout_length and collect_length of both levels must be a'
            f' multiple of the shorter ones: {length} of the {name} level does'
            f' not suit {shortest}, the shortest, and {longest}, the longest.'
        )

  def _check_hindsight(self) -> None:
    """Raises InvalidValue if the lower level cannot learn from copies."""
    lower = self._levels['lower']
    can_learn = lower.is_off_policy and not isinstance(lower, TwoLevelTraining)
    if self.hindsight_copies and not can_learn:
      raise errors.InvalidValue(
          'TwoLevelTraining.hindsight_copies needs a lower level that learns'
          ' from actions for other goals: set'
          ' TwoLevelTraining.lower = @lower/ReplayTraining(), or hindsight'
          '_copies = 0.'
      )

  def _specs(
      self, specs: collector.Specs
  ) -> tuple[hierarchy.Goals, dict[str, collector.Specs]]:
    """Returns the goals, and the specs of each level by its name."""
    if action_masks.split_mask(specs.time_step.observation)[1] is not None:
      raise errors.InvalidValue(
          'TwoLevelTraining takes no action masks: leave out'
          ' load_environment.action_mask_key, or train one level.'
      )
    goals = self.goals_fn(specs.time_step.observation)
    return goals, dict(
        upper=collector.Specs(
            specs.time_step._replace(observation=goals.upper_observation_spec),
            goals.spec,
        ),
        lower=collector.Specs(
            ts.time_step_spec(goals.lower_observation_spec), specs.action
        ),
    )

  def build_agent(
      self, specs: collector.Specs, num_environments: int
  ) -> hierarchy.TwoLevelAgent:
    goals, level_specs = self._specs(specs)
    agents = self._map(
        lambda name, level: level.build_agent(
            level_specs[name], num_environments
        )
    )
    hindsight = None
    if self.hindsight_copies:
      if agents['lower'].counts_steps:
        raise errors.InvalidValue(
            'A curiosity, and optimism by counts, would count each step of the'
            ' lower level again in each of its TwoLevelTraining.hindsight'
            '_copies: leave out either the curiosity_fn, or'
            ' create_dqn_agent.optimism, of that level, or the copies.'
        )
      hindsight = hierarchy.HindsightGoals(goals, self.hindsight_copies)
    agent = self._agent(specs, goals, agents, hindsight)
    agent.check_upper_rollout(
        num_environments, self._levels['upper'].rollout_length
    )
    return agent

  def build_twin(
      self, specs: collector.Specs, num_environments: int
  ) -> hierarchy.TwoLevelAgent:
    goals, level_specs = self._specs(specs)
    agents = self._map(
        lambda name, level: level.build_twin(
            level_specs[name], num_environments
        )
    )
    return self._agent(specs, goals, agents)

  def _agent(
      self,
      specs: collector.Specs,
      goals: hierarchy.Goals,
      agents: dict[str, tf_agent.TFAgent],
      hindsight: hierarchy.HindsightGoals | None = None,
  ) -> hierarchy.TwoLevelAgent:
    return hierarchy.TwoLevelAgent(
        specs.time_step,
        specs.action,
        goals=goals,
        goal_length=self.goal_length,
        discount_factor=self.discount_factor,
        hindsight=hindsight,
        **agents,
    )

  def idle_settings(
      self, agent: hierarchy.TwoLevelAgent
  ) -> switched_off.Settings:
    agents = dict(upper=agent.upper, lower=agent.lower)
    return {
        setting: idle
        for name, level in self._levels.items()
        for setting, idle in switched_off.in_scope(
            name, level.idle_settings(agents[name])
        ).items()
    }

  def acting_policy(
      self, agent: hierarchy.TwoLevelAgent
  ) -> tf_policy.TFPolicy:
    return agent.sampled_policy

  def build_learner(
      self, run: runs.Run, agent: hierarchy.TwoLevelAgent, name: str = ''
  ) -> 'TwoLevelLearner':
    agents = dict(upper=agent.upper, lower=agent.lower)
    views = dict(upper=agent.upper_experience, lower=agent.lower_experience)
    levels = self._map(
        lambda key, level: _Level(
            level.build_learner(run, agents[key], f'{name}_{key}'),
            views[key],
            level.collect_length,
        )
    )
    return TwoLevelLearner(levels, agent)


class _Level:
  """Passes the rollouts of a level to its learner."""

  def __init__(
      self,
      learner: loops.Learner,
      view: Callable[
          [trajectory_lib.Trajectory],
          tuple[trajectory_lib.Trajectory, tf.Tensor],
      ],
      collect_length: int,
  ):
    """Takes over the learner.

    Args:
      learner: Trains the level.
      view: Function from a collected rollout [B, T+1] to the arguments of
        `Learner.add`.
      collect_length: Environment steps of each environment between updates.
    """
    self.learner = learner
    self._view = graph_calls.GraphCall(view)
    self._collect_length = collect_length
    # Rollouts since the last update, and their environment steps.
    self._parts: list[trajectory_lib.Trajectory] = []
    self._num_env_steps = 0
    # Whether the newest row of each environment is LAST, [B]; None before it.
    self.has_ended: np.ndarray | None = None

  def warm_up(self, trajectory: trajectory_lib.Trajectory) -> None:
    """Passes a rollout of random steps to the learner."""
    self.learner.warm_up(*self._viewed(trajectory))

  def begin_episodes(self, environments: np.ndarray | slice) -> None:
    """As `Learner.begin_episodes`; of copies in hindsight, too."""
    if isinstance(environments, np.ndarray):
      if self._parts:  # Their rows come before those of the new episodes.
        self._parts[-1] = _cut_off(self._parts[-1], environments)
        return
      if self.has_ended is None:
        return  # The learner has no rows yet.
      environments = np.resize(environments, len(self.has_ended))
    self.learner.begin_episodes(environments)

  def add(self, trajectory: trajectory_lib.Trajectory) -> None:
    """Keeps a rollout, which begins where the one before ended."""
    self._parts.append(trajectory)

  def train(self, num_env_steps: int) -> None:
    """Passes the rollouts on if they are long enough, and trains."""
    self._num_env_steps += num_env_steps
    num_steps = sum(part.step_type.shape[1] - 1 for part in self._parts)
    if num_steps < self._collect_length:
      return
    self.learner.add(*self._viewed(_joined(self._parts)))
    self.learner.train(self._num_env_steps)
    self._parts, self._num_env_steps = [], 0

  def _viewed(
      self, trajectory: trajectory_lib.Trajectory
  ) -> tuple[trajectory_lib.Trajectory, np.ndarray]:
    rows, is_complete = local.as_numpy(self._view(trajectory))
    is_last = rows.step_type == ts.StepType.LAST
    return rows, self._without_waiting(is_last, is_complete)

  def _without_waiting(
      self, is_last: np.ndarray, is_complete: np.ndarray
  ) -> np.ndarray:
    """Leaves out further LAST rows of agents that wait for their game's end.

    Args:
      is_last: Booleans [B, N].
      is_complete: Booleans [B, N]: which are rows.

    Returns:
      Booleans [B, N].
    """
    has_ended = self.has_ended
    if has_ended is None:
      has_ended = np.zeros(len(is_last), np.bool_)
    is_new = is_complete.copy()
    for t in range(is_last.shape[1]):
      is_new[:, t] &= ~(is_last[:, t] & has_ended)
      has_ended = np.where(is_complete[:, t], is_last[:, t], has_ended)
    self.has_ended = has_ended
    return is_new


def _joined(
    parts: Sequence[trajectory_lib.Trajectory]
) -> trajectory_lib.Trajectory:
  """Joins rollouts [B, T+1]: each begins with the last row before it."""
  if len(parts) == 1:
    return parts[0]
  begins = [
      tf.nest.map_structure(lambda x: x[:, :-1], part) for part in parts[:-1]
  ]
  joined = tf.nest.map_structure(
      lambda *each: np.concatenate(each, axis=1), *begins, parts[-1]
  )
  # Of rows before an episode that was cut off.
  joined.next_step_type[:, :-1] = joined.step_type[:, 1:]
  return joined


def _cut_off(
    rows: trajectory_lib.Trajectory, environments: np.ndarray
) -> trajectory_lib.Trajectory:
  """Ends episodes as a time limit does, in the last row that `_joined` takes.

  Args:
    rows: A `Trajectory` [B, T+1] that another one follows.
    environments: Booleans [B]: whose episodes end.
  """
  step_type = rows.step_type.copy()
  step_type[environments, -2] = ts.StepType.LAST
  return rows.replace(step_type=step_type)


class TwoLevelLearner(loops.Learner):
  """Trains both levels; prefixes names of metrics with that of the level."""

  def __init__(self, levels: dict[str, _Level], agent: hierarchy.TwoLevelAgent):
    """Takes over the learners.

    Args:
      levels: The levels by name.
      agent: The agent of both levels.
    """
    self._levels = levels
    self._learners = {name: level.learner for name, level in levels.items()}
    self._count_goals = graph_calls.GraphCall(agent.count_goals)
    # Since the last row of metrics.
    self._num_chosen, self._num_reached = 0, 0

  @property
  def policy_version(self) -> int:
    """How often the policy of either level has changed."""
    return sum(each.policy_version for each in self._learners.values())

  @property
  def environment_variables(self) -> list[tf.Variable]:
    """Per-environment variables of both levels."""
    return [
        variable
        for each in self._learners.values()
        for variable in each.environment_variables
    ]

  def begin(self) -> None:
    for each in self._learners.values():
      each.begin()

  def pretrain(self) -> Iterator[bool]:
    for each in self._learners.values():
      yield from each.pretrain()

  def explore(self, env_steps: int) -> None:
    for name, each in self._learners.items():
      with gin.config_scope(name):
        each.explore(env_steps)

  def begin_episodes(
      self, environments: np.ndarray | slice = slice(None)
  ) -> None:
    for each in self._levels.values():
      each.begin_episodes(environments)

  def warm_up(
      self, trajectory: trajectory_lib.Trajectory, is_new: np.ndarray
  ) -> None:
    for each in self._levels.values():
      each.warm_up(trajectory)

  def add(
      self, trajectory: trajectory_lib.Trajectory, is_new: np.ndarray
  ) -> None:
    chosen, reached = self._count_goals(trajectory)
    self._num_chosen += int(chosen)
    self._num_reached += int(reached)
    for each in self._levels.values():
      each.add(trajectory)

  def train(self, num_env_steps: int) -> None:
    for each in self._levels.values():
      each.train(num_env_steps)

  def metrics(self) -> dict[str, float]:
    rate = self._num_reached / max(self._num_chosen, 1)
    self._num_chosen, self._num_reached = 0, 0
    return dict(goals_reached_rate=rate) | {
        f'{name}_{metric}': value
        for name, each in self._learners.items()
        for metric, value in each.metrics().items()
    }

  def finite(self) -> dict[str, bool]:
    return {
        f'{name} {variable}': value
        for name, each in self._learners.items()
        for variable, value in each.finite().items()
    }

  def get_state(self) -> dict[str, Any]:
    return {
        **{name: each.get_state() for name, each in self._learners.items()},
        'has_ended': {
            name: each.has_ended for name, each in self._levels.items()
        },
    }

  def set_state(self, state: Any, continues_episodes: bool) -> None:
    for name, each in self._learners.items():
      each.set_state(state[name], continues_episodes)
    for name, has_ended in state.get('has_ended', {}).items():
      self._levels[name].has_ended = has_ended

  def close(self) -> None:
    for each in self._learners.values():
      each.close()
