# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains an agent with a replay on what simulators report.

    training = off_policy.ReplayTraining(env_steps_per_update=4, batch_size=32)
    agent = agent_factory.create_r2d3_agent(
        time_step_spec, action_spec, collect_epsilon=tf.Variable(1.0)
    )
    train = replay_trainer.ReplayTrainer(agent, training, num_environments=24)
    with policy_server.serve_policy(agent, 24, 16, train) as server:
      ...

`off_policy_factory.create_curious_agent` builds DQN, SAC and TD3.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents.agents import replay_agent
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.replay import prioritized_replay
from rnd_agents.serving import policy_server
from rnd_agents.training import checkpoints
from rnd_agents.training import off_policy
from rnd_agents.training import replay_learner


class ReplayTrainer(policy_server.TrainerOfEach):
  """A `train` of `serve_policy`: stores rollouts, and makes due updates.

  Attributes:
    num_env_steps: Environment steps that were stored.
  """

  def __init__(
      self,
      agent: replay_agent.ReplayAgent,
      training: off_policy.ReplayTraining,
      num_environments: int,
      replay_fn: Callable[
          ..., prioritized_replay.PrioritizedReplay
      ] = prioritized_replay.PrioritizedReplay,
      seed: types.Seed | None = None,
  ):
    """Builds the replay, and reads demonstrations and learns from them alone.

    Args:
      agent: An agent such as `create_r2d3_agent` or `create_curious_agent`
        build. An epsilon of its collect policy is one variable [], which
        follows the mean of `training.epsilon_fn`.
      training: How it is trained. Its `create_agent` and lengths of collection
        are not used: a `rollout_length` is that of `serve_policy`.
      num_environments: B of `serve_policy`.
      replay_fn: Function of a spec and `seed` that returns an empty replay.
      seed: Seed of the replay's draws, or None.

    Raises:
      UserError: If the settings do not fit.
    """
    training.check(1, num_environments)
    epsilon = agent.collect_epsilon
    if epsilon is not None and not (
        isinstance(epsilon, tf.Variable) and epsilon.shape.rank == 0
    ):
      raise errors.InvalidValue(
          'Simulators ask in batches of any size: build the agent with'
          ' collect_epsilon=tf.Variable(1.0), one epsilon for all.'
      )
    self.num_env_steps = 0
    self._training = training
    self._epsilon = epsilon
    self._num_environments = num_environments
    self._last_rows: dict[int, trajectory.Trajectory] = {}  # By place.
    self._learner = replay_learner.ReplayLearner(
        agent,
        num_environments,
        training,
        replay_fn(training.sequence_spec(agent), seed=seed),
        lambda: training.read_demonstrations(
            collector.Specs(agent.time_step_spec, agent.action_spec),
            checks_environment=False,
        ),
        checkpoints.Parts(''),  # It is never saved.
    )
    self._learner.begin()
    for _ in self._learner.pretrain():
      pass
    self._explore()

  def _explore(self) -> None:
    if self._epsilon is not None:
      self._epsilon.assign(
          np.mean(
              self._training.epsilon_fn(
                  self.num_env_steps, self._num_environments
              )
          )
      )

  def __call__(self, rollout: trajectory.Trajectory, place: int) -> None:
    """Stores the new rows of a rollout [1, T+1], and makes the due updates."""
    if place >= self._num_environments:
      raise errors.InvalidValue(
          f'ReplayTrainer has num_environments = {self._num_environments}, and'
          ' serve_policy has more: give both the same number.'
      )
    rows = local.as_numpy(rollout)
    here = np.arange(self._num_environments) == place
    is_new = np.tile(here[:, np.newaxis], rows.step_type.shape)
    last = self._last_rows.get(place)
    if last is not None:
      is_new[place, 0] = not _are_equal(_row(rows, 0), last)
      if is_new[place, 0] and last.step_type != ts.StepType.LAST:
        self._learner.begin_episodes(here)  # Another simulator begins.
    self._last_rows[place] = _row(rows, -1)
    self._learner.add(
        tf.nest.map_structure(
            lambda x: np.broadcast_to(x, [len(here), *x.shape[1:]]), rows
        ),
        is_new,
    )
    num_steps = int(np.sum(is_new & (rows.step_type != ts.StepType.LAST)))
    self.num_env_steps += num_steps
    self._learner.train(num_steps)
    self._explore()

  def metrics(self) -> dict[str, float]:
    """Returns the metrics of the updates since the last call, by name."""
    return self._learner.metrics()


def _row(rows: trajectory.Trajectory, t: int) -> trajectory.Trajectory:
  return tf.nest.map_structure(lambda x: x[0, t].copy(), rows)


def _are_equal(
    row: trajectory.Trajectory, other: trajectory.Trajectory
) -> bool:
  return all(map(np.array_equal, tf.nest.flatten(row), tf.nest.flatten(other)))
