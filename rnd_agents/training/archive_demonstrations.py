# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the best trajectories of an archive as demonstrations."""

from absl import logging
import numpy as np

from rnd_agents import tables
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.evaluation import demonstration_recorder
from rnd_agents.exploring import returning
from rnd_agents.replay import demonstrations

_CSV_COLUMNS = ('seed', 'return', 'length_env_steps')


def write(
    path, environment, archive, actions, world_seeds, min_score, described
):
  """Plays the best trajectory of each world and writes what it shows.

  Args:
    path: The file; FILE.csv, a table of the episodes, is written beside it.
    environment: A `VectorPyEnvironment` of one.
    archive: An `Archive`.
    actions: `exploring.actions.Actions` of the environment.
    world_seeds: Episode seed of each world.
    min_score: Trajectories of a lower score are left out.
    described: The environment's settings, see `demonstrations.Record`.

  Returns:
    The number of demonstrations; with none there is no file.

  Raises:
    NotPutBack: If a trajectory has another score than in the archive.
  """
  spec = demonstrations.trajectory_spec(
      environment.observation_spec(), environment.action_spec()
  )
  rows = []
  with demonstrations.DemonstrationWriter(path, spec, described) as writer:
    for world, seed in enumerate(world_seeds):
      cell = archive.best(world)
      if cell is None or archive.column('score')[cell] < min_score:
        continue
      data = archive.actions_to(int(archive.column('node')[cell]))
      played = demonstration_recorder.replay(
          environment,
          seed,
          gymnasium_spaces.from_zero(actions.space, actions.unpack(data)),
      )
      _check(played, archive, cell)
      writer.write(played.trajectory)
      rows.append((seed, played.return_, played.length_env_steps))
  if rows:
    tables.write_csv(f'{path}.csv', _CSV_COLUMNS, rows)
  else:
    logging.warning(
        'No world has a trajectory to demonstrate: %s was not written.', path
    )
  return len(rows)


def _check(played, archive, cell):
  """Raises NotPutBack if an episode is not what the archive says."""
  score = float(archive.column('score')[cell])
  length = int(archive.column('length')[cell])
  if played.length_env_steps == length and np.isclose(
      played.return_, score, rtol=1e-9, atol=1e-9
  ):
    return
  raise returning.NotPutBack(
      f'The episode of seed {played.seed} has return {played.return_:.6g} in'
      f' {played.length_env_steps} steps when it is played again, and'
      f' {score:.6g} in {length} in the archive: the environment does not'
      ' repeat its episodes from their seeds and actions.'
  )
