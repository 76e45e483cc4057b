# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the best trajectories of an archive as demonstrations."""

from absl import logging
import numpy as np

from rnd_agents import tables
from rnd_agents.archive import returning
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.evaluation import demonstration_recorder
from rnd_agents.replay import demonstrations

_CSV_COLUMNS = ('seed', 'return', 'length_env_steps')


def write(path, environment, trajectories, actions, described):
  """Plays trajectories again and writes what they show.

  Args:
    path: The file; FILE.csv, a table of the episodes, is written beside it.
    environment: A `VectorPyEnvironment` of one.
    trajectories: Pairs of an episode seed and a `shortening.Trajectory`; an
      iterable.
    actions: `archive.returning.Actions` of the environment.
    described: The environment's settings, see `demonstrations.Record`.

  Returns:
    The number of demonstrations; with none there is no file.

  Raises:
    NotPutBack: If a trajectory has another score than it had.
  """
  spec = demonstrations.trajectory_spec(
      environment.observation_spec(), environment.action_spec()
  )
  rows = []
  with demonstrations.DemonstrationWriter(path, spec, described) as writer:
    for seed, trajectory in trajectories:
      played = demonstration_recorder.replay(
          environment,
          seed,
          gymnasium_spaces.from_zero(
              actions.space, actions.unpack(trajectory.actions)
          ),
      )
      _check(played, trajectory)
      writer.write(played.trajectory)
      rows.append((seed, played.return_, played.length_env_steps))
      # Taking out detours, of all worlds, can take as long as the exploration.
      logging.log_every_n_seconds(
          logging.INFO,
          '%d demonstrations; the last has return %g in %d steps',
          10,
          len(rows),
          played.return_,
          played.length_env_steps,
      )
  if rows:
    tables.write_csv(f'{path}.csv', _CSV_COLUMNS, rows)
  else:
    logging.warning(
        'No world has a trajectory to demonstrate: %s was not written.', path
    )
  return len(rows)


def _check(played, trajectory):
  """Raises NotPutBack if an episode is not what the trajectory says."""
  score, length = trajectory.scores[-1], trajectory.length
  # Not `played.return_`, which may be that of an inner RecordEpisodeStatistics.
  rewards = played.trajectory.reward.astype(np.float64)
  return_, rounded = rewards.sum(), 1e-6 * np.abs(rewards).sum()
  if played.length_env_steps == length and abs(return_ - score) <= rounded:
    return
  raise returning.NotPutBack(
      f'The episode of seed {played.seed} has return {return_:.6g} in'
      f' {played.length_env_steps} steps when it is played again, and had'
      f' {score:.6g} in {length}: the environment does not repeat its episodes'
      ' from their seeds and actions.'
  )
