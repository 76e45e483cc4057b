# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records whole episodes, from known seeds, as demonstrations."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents.environments import episode_log
from rnd_agents.environments import vector_environment
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import evaluator


class Demonstration(NamedTuple):
  """One recorded episode.

  Attributes:
    seed: Seed of the episode.
    return_: Sum of the environment's own rewards; the trajectory has those of
      the agent, see `load_environment.reward_fn`.
    length_env_steps: T.
    success: Whether it was a success; None if that is not known.
    trajectory: A `Trajectory` of arrays [T + 1, ...], from the FIRST to the
      LAST frame; the action of the last is the allowed one nearest to 0.
  """

  seed: int | None
  return_: float
  length_env_steps: int
  success: Any
  trajectory: Any


def record(
    environment: vector_environment.VectorPyEnvironment,
    actor: actors.Actor,
    seeds: Sequence[int],
    keep_network_state: bool = False,
    should_stop: Callable[[], bool] | None = None,
) -> Iterator[Demonstration]:
  """Records one episode from each seed, as `evaluator.play` plays them.

  Args:
    environment: A `VectorPyEnvironment`.
    actor: Chooses the actions, see `actors`.
    seeds: A sequence of seeds.
    keep_network_state: Whether the policy info is a dict with `network_state`,
      the actor's state before each frame as a flat tuple; else it is ().
    should_stop: Optional function that is called before each step; if it
      returns True, recording ends after the complete episodes.

  Yields:
    `Demonstration`s in the order of the seeds. If a round ends with an error,
    its complete episodes are yielded before it is raised.

  Raises:
    ActorError: If the actor has no state to keep, or its actions do not fit.
    EndlessEpisode: If an episode does not end.
  """
  if keep_network_state and not actors.network_state_spec(actor):
    raise actors.ActorError(
        'There is no network state to keep: the actor has no memory.'
    )
  for played in evaluator.play(
      environment,
      actor,
      seeds,
      keep_time_steps=True,
      keep_network_states=keep_network_state,
      should_stop=should_stop,
  ):
    yield _demonstration(played, environment.action_spec())


def replay(
    environment: vector_environment.VectorPyEnvironment,
    seed: int,
    actions: types.NestedArray,
) -> Demonstration:
  """Records the episode of a seed and its actions.

  If the actions end before the episode, the last frame is LAST with discount 1,
  as at a time limit.

  Args:
    environment: A `VectorPyEnvironment` of one environment.
    seed: Seed of the episode.
    actions: Nest of arrays [T, ...] that fits the action spec; T is at least 1.

  Returns:
    A `Demonstration`, shorter than T if the episode ends earlier.
  """
  steps = list(evaluator.replay_steps(environment, seed, actions))
  length = len(steps) - 1
  last = steps[-1]
  if last.is_last()[0]:
    (episode,) = environment.pop_episodes()
  else:
    episode = episode_log.Episode(
        environment_index=0,
        return_=float(environment.running_returns()[0]),
        length_env_steps=length,
        terminated=False,
        success=None,
    )
    steps[-1] = last._replace(
        step_type=np.full([1], ts.StepType.LAST, np.int32)
    )
  actions = tf.nest.map_structure(lambda array: array[:length], actions)
  played = evaluator.PlayedEpisode(
      episode._replace(seed=seed, actions=actions),
      tf.nest.map_structure(lambda *parts: np.concatenate(parts), *steps),
      (),
  )
  return _demonstration(played, environment.action_spec())


def _demonstration(
    played: evaluator.PlayedEpisode, action_spec: types.NestedArraySpec
) -> Demonstration:
  """Returns a `PlayedEpisode` as a `Demonstration`."""
  episode = played.episode
  return Demonstration(
      episode.seed,
      episode.return_,
      episode.length_env_steps,
      episode.success,
      _trajectory(played, action_spec),
  )


def _trajectory(
    played: evaluator.PlayedEpisode, action_spec: types.NestedArraySpec
) -> trajectory.Trajectory:
  """Returns the frames of an episode as TF-Agents' drivers would."""
  steps = played.time_steps
  states = played.network_states
  return trajectory.Trajectory(
      step_type=steps.step_type,
      observation=steps.observation,
      action=tf.nest.map_structure(
          with_boundary, played.episode.actions, action_spec
      ),
      policy_info={'network_state': states} if states else (),
      next_step_type=np.append(steps.step_type[1:], ts.StepType.FIRST),
      reward=np.append(steps.reward[1:], np.float32(0.0)),
      discount=np.append(steps.discount[1:], np.float32(1.0)),
  )


def with_boundary(
    action: np.ndarray, spec: array_spec.BoundedArraySpec
) -> np.ndarray:
  """Returns actions [T, ...] and the allowed one nearest to 0, [T + 1, ...]."""
  # A policy may sample beyond the bounds; the environment clips as well.
  action = np.concatenate([action, np.zeros([1, *spec.shape], action.dtype)])
  if action.dtype.kind == 'f':
    action = np.clip(action, spec.minimum, spec.maximum)
  action[-1] = np.clip(action[-1], spec.minimum, spec.maximum)
  return action.astype(spec.dtype, copy=False)
