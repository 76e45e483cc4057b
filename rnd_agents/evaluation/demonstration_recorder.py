# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records whole episodes, from known seeds, as demonstrations."""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents.environments import episode_log
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import evaluator


class Demonstration(NamedTuple):
  """One recorded episode.

  Attributes:
    seed: Of the episode.
    return_: Sum of the rewards as the environment gave them; those of the
      trajectory are the agent's, see `load_environment.reward_fn`.
    length_env_steps: T.
    success: True, False, or None where it is not known.
    trajectory: A `Trajectory` of arrays [T + 1, ...], from the FIRST to the
      LAST frame; the action of the last is the allowed one nearest to 0.
  """

  seed: int
  return_: float
  length_env_steps: int
  success: Any
  trajectory: Any


def record(
    environment, actor, seeds, keep_network_state=False, should_stop=None
):
  """Records one episode from each seed, as `evaluator.play` plays them.

  Args:
    environment: A `VectorPyEnvironment`.
    actor: Chooses the actions, see `actors`.
    seeds: A sequence of seeds.
    keep_network_state: Whether the policy info is a dict with `network_state`,
      the actor's state before each frame as a flat tuple, and not ().
    should_stop: Optional function that is called before each step; True ends
      everything, after the episodes that are complete.

  Yields:
    A `Demonstration` each, in the order of the seeds. Of a round that ends with
    an error, the episodes that are complete come before the error.

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


def replay(environment, seed, actions):
  """Records the episode of a seed and its actions.

  Where the actions end before the episode does, the last frame is that of a
  time limit: it ends the demonstration, and its discount is 1.

  Args:
    environment: A `VectorPyEnvironment` of one environment.
    seed: Of the episode.
    actions: Nest of arrays [T, ...], at least one, as the action spec has them.

  Returns:
    A `Demonstration`, shorter than T if the episode ends earlier.
  """
  steps = list(evaluator.replay(environment, seed, actions))
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


def _demonstration(played, action_spec):
  """Returns a `PlayedEpisode` as a `Demonstration`."""
  episode = played.episode
  return Demonstration(
      episode.seed,
      episode.return_,
      episode.length_env_steps,
      episode.success,
      _trajectory(played, action_spec),
  )


def _trajectory(played, action_spec):
  """Returns the frames of an episode, as TF-Agents' drivers have them."""

  def with_boundary(action, spec):
    # A policy may sample beyond the bounds; the environment clips as well.
    action = np.concatenate([action, np.zeros([1, *spec.shape], action.dtype)])
    if action.dtype.kind == 'f':
      action = np.clip(action, spec.minimum, spec.maximum)
    action[-1] = np.clip(action[-1], spec.minimum, spec.maximum)
    return action.astype(spec.dtype, copy=False)

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
