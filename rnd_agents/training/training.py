# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The interface of ways of training, such as on rollouts or with a replay."""

import abc
from collections.abc import Sequence
from typing import Any

from tf_agents.agents import tf_agent
from tf_agents.policies import tf_policy

from rnd_agents import errors
from rnd_agents import switched_off
from rnd_agents.collecting import collector
from rnd_agents.training import loops
from rnd_agents.training import runs


class Training(abc.ABC):
  """Builds an agent and its learner; bound to `train_eval.training`.

  A subclass is a frozen dataclass that gin configures. It must be possible to
  pickle it: workers build twins of the agent.

  """

  @property
  def remedy(self) -> str:
    """Advice for a run whose numbers are not finite, without a period."""
    return 'Lower the learning rate'

  @property
  def is_off_policy(self) -> bool:
    """Whether the agent can learn from any policy's actions: the warm-up's."""
    return False

  @property
  def uses_demonstrations(self) -> bool:
    """Whether the agent learns from demonstrations."""
    return False

  @property
  @abc.abstractmethod
  def rollout_length(self) -> int:
    """Steps of each environment in an iteration."""

  @property
  def collect_length(self) -> int:
    """Steps of each environment that are collected with one policy.

    `rollout_length` is a multiple of it.
    """
    return self.rollout_length

  def check(  # noqa: B027
      self, num_env_steps: int, num_environments: int
  ) -> None:
    """Raises a UserError if settings cannot run or have no effect.

    Args:
      num_env_steps: Environment steps of the whole run.
      num_environments: B.
    """

  @abc.abstractmethod
  def build_agent(
      self, specs: collector.Specs, num_environments: int
  ) -> tf_agent.TFAgent:
    """Builds the agent of the learner.

    Args:
      specs: The environments' specs.
      num_environments: B.

    Raises:
      UserError: If the agent cannot be trained in this way.
    """

  def build_twin(
      self, specs: collector.Specs, num_environments: int
  ) -> tf_agent.TFAgent:
    """Builds an agent like the learner's, whose policy acts in a worker.

    Args:
      specs: The environments' specs.
      num_environments: The environments of the worker.
    """
    return self.build_agent(specs, num_environments)

  def acting_policy(self, agent: Any) -> tf_policy.TFPolicy:
    """Returns the collect policy for a batch of any size, to be saved."""
    return agent.collect_policy

  def idle_settings(self, agent: Any) -> switched_off.Settings:
    """Returns settings that cannot change a run with an agent.

    Those that a gin file gives nevertheless are refused.

    Args:
      agent: An agent of `build_agent`.
    """
    return {}

  def whitened_observations(self, agent: Any) -> Sequence[bool] | None:
    """Returns which observations an agent whitens, flat.

    Args:
      agent: An agent of `build_agent`.

    Returns:
      () for none; None if it is not known.
    """
    return None

  @abc.abstractmethod
  def build_learner(
      self, run: runs.Run, agent: Any, name: str = ''
  ) -> loops.Learner:
    """Builds the learner, which trains the agent.

    Args:
      run: The run.
      agent: An agent of `build_agent`.
      name: Distinguishes the files and the random numbers of several learners
        of a run; '' for the only one.
    """

  def build_loop(self, run: runs.Run) -> loops.Loop:
    """Builds the loop, which collects and trains."""
    return loops.Loop(
        run.agent,
        self.build_learner(run, run.agent),
        run.collector,
        run.counters,
        self.rollout_length,
        self.collect_length,
        run.config.random_env_steps,
        learns_from_warm_up=self.is_off_policy,
    )


# A trial may have fewer steps than a length of up to so many.
_LONG = 10_000


def check_rollout_length(
    name: str, rollout_length: int, num_env_steps: int
) -> None:
  """Raises InvalidValue if a run would hardly come to the end of a rollout.

  Args:
    name: Name of the class with the setting.
    rollout_length: Steps of each environment in an iteration.
    num_env_steps: Environment steps of the whole run.
  """
  check_length(
      f'{name}.rollout_length',
      rollout_length,
      num_env_steps,
      'the first iteration would be longer than the run',
  )


def check_length(
    name: str, length: float, num_env_steps: int, reason: str
) -> None:
  """Raises InvalidValue if something takes many more steps than the run has.

  Args:
    name: Name of the setting.
    length: Its value, in environment steps.
    num_env_steps: Environment steps of the whole run.
    reason: Why a run cannot have it, for the message.
  """
  if length > max(num_env_steps, _LONG):
    raise errors.InvalidValue(
        f'{name} must be at most train_eval.num_env_steps = {num_env_steps},'
        f' got {length}: {reason}.'
    )


def check_create_agent(name: str, value: Any) -> None:
  """Raises InvalidType unless `create_agent` of a `Training` is a function.

  Args:
    name: Name of the class.
    value: Value of its setting.
  """
  if not callable(value):
    raise errors.InvalidType(
        f'{name}.create_agent must be a function that returns the agent, such'
        f' as @create_rnd_ppo_agent, got {value!r}.'
    )


def check_training(name: str, value: Any) -> None:
  """Raises InvalidType unless a setting is a `Training`.

  Args:
    name: Name of the setting.
    value: Its value.
  """
  if not isinstance(value, Training):
    raise errors.InvalidType(
        f'{name} must be @OnPolicyTraining(), @ReplayTraining() or'
        f' @TwoLevelTraining(), with the brackets, not {value!r}.'
    )
