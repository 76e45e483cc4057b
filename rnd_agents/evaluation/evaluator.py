# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""One episode from each of a fixed list of seeds, many at once."""

import functools

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

# An environment without a time limit must not hang an evaluation.
_MAX_EPISODE_STEPS = 200_000


@functools.lru_cache(maxsize=4)
def graph_action(policy):
  """The policy's action as a graph; traced once, whoever asks for it."""
  return common.function(policy.action)


class EndlessEpisode(RuntimeError):
  """An evaluation that does not come to its end."""


class Evaluator:
  """Plays the same episodes again and again, so that curves are comparable."""

  def __init__(self, environment, policy, seeds):
    """Creates the evaluator.

    Args:
      environment: A `VectorPyEnvironment`. With fewer environments than seeds
        the episodes are played in rounds.
      policy: A `TFPolicy`, or what `tf.saved_model.load` returns for one.
      seeds: One episode begins from each; at least one.

    Raises:
      ValueError: If there are no seeds.
    """
    self._environment = environment
    self._policy = policy
    self._seeds = list(seeds)
    if not self._seeds:
      raise ValueError('An evaluation needs at least one seed.')
    self._action = graph_action(policy)

  @property
  def environment(self):
    """The environment that the episodes are played in."""
    return self._environment

  def run(self):
    """Plays one episode from each seed.

    Returns:
      A list of `Episode`, in the order of the seeds, each with its seed and
      its actions.

    Raises:
      EndlessEpisode: If an episode does not end.
    """
    size = self._environment.batch_size
    episodes = []
    for start in range(0, len(self._seeds), size):
      episodes += self._play(self._seeds[start : start + size])
    return episodes

  def _play(self, seeds):
    """One round: environment i plays the episode of `seeds[i]`."""
    environment = self._environment
    # Environments to spare play along and do not count.
    spare = environment.batch_size - len(seeds)
    time_step = environment.reset_with_seeds(seeds + spare * seeds[-1:])
    environment.pop_episodes()
    state = self._policy.get_initial_state(environment.batch_size)
    episodes, actions = {}, []
    for _ in range(_MAX_EPISODE_STEPS):
      step = self._action(_as_tensors(time_step), state)
      state = step.state
      actions.append(tf.nest.map_structure(np.asarray, step.action))
      time_step = environment.step(actions[-1])
      if np.any(time_step.step_type == ts.StepType.LAST):
        for episode in environment.pop_episodes():
          # Those that finish early go on with unseeded episodes: only the
          # first one counts.
          episodes.setdefault(episode.environment_index, episode)
        if all(i in episodes for i in range(len(seeds))):
          return [
              episodes[i]._replace(
                  seed=seed,
                  actions=_first(actions, i, episodes[i].length_env_steps),
              )
              for i, seed in enumerate(seeds)
          ]
    ended = sum(i in episodes for i in range(len(seeds)))
    raise EndlessEpisode(
        f'After {_MAX_EPISODE_STEPS} steps only {ended} of {len(seeds)}'
        ' evaluation episodes have ended. Set'
        ' eval/load_environment.max_episode_steps.'
    )


def _first(actions, index, count):
  """The first `count` actions of environment `index`."""
  return tf.nest.map_structure(
      lambda *steps: np.stack([step[index] for step in steps]),
      *actions[:count],
  )


def _as_tensors(time_step):
  return tf.nest.map_structure(tf.convert_to_tensor, time_step)


def best_episode(episodes):
  """The episode of the highest return; of equals the first.

  Args:
    episodes: A list of `Episode`, at least one.
  """
  return max(episodes, key=lambda episode: episode.return_)


def summarize(episodes, has_told_success=False):
  """Statistics of episodes, by metric name.

  Args:
    episodes: A list of `Episode`, at least one.
    has_told_success: Whether earlier ones had a `success_rate`. Then these have
      one, too: the environment can tell, and has nothing to tell but failures.

  Returns:
    A dict: `episodes`, `return_mean`, `return_min`, `return_max`,
    `length_mean`, `terminated_rate` (share that ended by itself and not by a
    time limit) and, where an episode tells of it, `success_rate` (an episode
    that does not is none), `rooms_visited_mean` and `rooms_visited_max`.
  """
  returns = np.array([episode.return_ for episode in episodes])
  metrics = dict(
      episodes=len(episodes),
      return_mean=float(returns.mean()),
      return_min=float(returns.min()),
      return_max=float(returns.max()),
      length_mean=float(np.mean([e.length_env_steps for e in episodes])),
      terminated_rate=float(np.mean([e.terminated for e in episodes])),
  )
  tells_now = any(episode.success is not None for episode in episodes)
  if tells_now or has_told_success:
    # An environment that tells of successes only has not told of failures.
    successes = [bool(episode.success) for episode in episodes]
    metrics['success_rate'] = float(np.mean(successes))
  rooms = [e.rooms_visited for e in episodes if e.rooms_visited is not None]
  if rooms:
    metrics['rooms_visited_mean'] = float(np.mean(rooms))
    metrics['rooms_visited_max'] = max(rooms)
  return metrics
