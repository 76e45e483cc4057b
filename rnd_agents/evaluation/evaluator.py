# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""One episode from each of a fixed list of seeds, all at once."""

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

# An environment without a time limit must not hang an evaluation.
_MAX_EPISODE_STEPS = 200_000


class Evaluator:
  """Plays the same episodes again and again, so that curves are comparable."""

  def __init__(self, environment, policy, seeds):
    """Creates the evaluator.

    Args:
      environment: A `VectorPyEnvironment` with as many environments as seeds.
      policy: A `TFPolicy`.
      seeds: Environment i starts from `seeds[i]`.
    """
    self._environment = environment
    self._policy = policy
    self._seeds = list(seeds)
    self._action = common.function(policy.action)

  def run(self):
    """Plays one episode in each environment.

    Returns:
      A list of `Episode`, by environment index.

    Raises:
      RuntimeError: If an episode does not end.
    """
    environment = self._environment
    time_step = environment.reset_with_seeds(self._seeds)
    environment.pop_episodes()
    state = self._policy.get_initial_state(environment.batch_size)
    episodes = {}
    for _ in range(_MAX_EPISODE_STEPS):
      step = self._action(_as_tensors(time_step), state)
      state = step.state
      time_step = environment.step(step.action)
      if np.any(time_step.step_type == ts.StepType.LAST):
        for episode in environment.pop_episodes():
          # Those that finish early go on with unseeded episodes: only the
          # first one counts.
          episodes.setdefault(episode.environment_index, episode)
        if len(episodes) == len(self._seeds):
          return [episodes[i] for i in range(len(self._seeds))]
    raise RuntimeError(
        f'After {_MAX_EPISODE_STEPS} steps only {len(episodes)} of'
        f' {len(self._seeds)} evaluation episodes have ended. Set'
        ' load_environment.max_episode_steps.'
    )


def _as_tensors(time_step):
  return tf.nest.map_structure(tf.convert_to_tensor, time_step)


def summarize(episodes):
  """Statistics of episodes, by metric name.

  Args:
    episodes: A list of `Episode`, at least one.

  Returns:
    A dict: `episodes`, `return_mean`, `return_min`, `return_max`,
    `length_mean`, `terminated_rate` (share that ended by itself and not by a
    time limit) and, where the environment tells, `success_rate`.
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
  successes = [e.success for e in episodes if e.success is not None]
  if successes:
    metrics['success_rate'] = float(np.mean(successes))
  return metrics
