# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a policy on the same episodes each time."""

import numpy as np

from rnd_agents import errors
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import episode_player

EndlessEpisode = episode_player.EndlessEpisode


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
    self._actor = actors.PolicyActor(policy)
    self._seeds = list(seeds)
    if not self._seeds:
      raise errors.InvalidValue('An evaluation needs at least one seed.')

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
    return [
        played.episode
        for played in episode_player.play(
            self._environment, self._actor, self._seeds
        )
    ]


def best_episode(episodes):
  """Returns the episode of the highest return; of equals the first.

  Args:
    episodes: A list of `Episode`, at least one.
  """
  return max(episodes, key=lambda episode: episode.return_)


def summarize(episodes, has_told_success=False):
  """Returns statistics of episodes, by metric name.

  Args:
    episodes: A list of `Episode`, at least one.
    has_told_success: Whether earlier ones had a `success_rate`. Then these have
      one, too: the environment reports success, and there was none.

  Returns:
    A dict: `episodes`, `return_mean`, `return_min`, `return_max`,
    `length_mean`, `terminated_rate` (share that ended by itself and not by a
    time limit) and, where an episode reports it, `success_rate` (an episode
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
    # Some environments report successes only.
    successes = [bool(episode.success) for episode in episodes]
    metrics['success_rate'] = float(np.mean(successes))
  rooms = [e.rooms_visited for e in episodes if e.rooms_visited is not None]
  if rooms:
    metrics['rooms_visited_mean'] = float(np.mean(rooms))
    metrics['rooms_visited_max'] = max(rooms)
  return metrics
