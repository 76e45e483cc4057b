# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""One archive exploration: from its settings to the files that it leaves."""

import contextlib
import dataclasses
import os
import time
from typing import Callable, NamedTuple, Optional, Sequence

from absl import logging
import gin
from gymnasium import vector
import numpy as np
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import files
from rnd_agents import ranges
from rnd_agents import run_files
from rnd_agents.archive import archive as archive_lib
from rnd_agents.archive import archive_demonstrations
from rnd_agents.archive import archive_log
from rnd_agents.archive import cells
from rnd_agents.archive import explorer as explorer_lib
from rnd_agents.archive import returning
from rnd_agents.archive import shortening
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import loaders
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import saved_policy
from rnd_agents.plotting import heat_maps
from rnd_agents.plotting import learning_curves
from rnd_agents.training import checkpoints
from rnd_agents.training import configuration
from rnd_agents.training import gin_files
from rnd_agents.training import metrics_log
from rnd_agents.training import run as run_lib
from rnd_agents.training import run_directory

ARCHIVE_FILE = 'archive.npz'
DEMONSTRATIONS_FILE = 'demonstrations.tfrecord'
PICTURE_FILE = 'archive.png'
MAP_FILE = 'archive_map.png'
_SECONDS_BETWEEN_REPORTS = 10.0
_RANGES = dict(
    num_env_steps=ranges.ABOVE_0,
    num_worlds=ranges.COUNT,
    num_environments=ranges.COUNT,
    max_cells=ranges.ABOVE_0,
    log_interval_env_steps=ranges.ABOVE_0,
    snapshot_memory_mb=ranges.AT_LEAST_0,
    save_interval_s=ranges.AT_LEAST_0,
    shortening_env_steps=ranges.COUNT_OR_0,
)


class Result(NamedTuple):
  """What an exploration came to.

  Attributes:
    finished: False where a signal stopped it; the same command goes on.
    env_steps: steps of exploration.
    num_cells: in the archive.
    best_score: of the best trajectory of all worlds, or None.
    best_length: its steps, or None.
    num_demonstrations: in the file.
    demonstrations: path of the file, or None.
    picture: path.
  """

  finished: bool
  env_steps: int
  num_cells: int
  best_score: Optional[float]
  best_length: Optional[int]
  num_demonstrations: int
  demonstrations: Optional[str]
  picture: str


@gin.configurable('explore', module='rnd_agents', denylist=['root_dir', 'seed'])
@dataclasses.dataclass(frozen=True)
class Exploration:
  """The settings of an archive exploration; gin knows them as `explore`.

  The environment is that of `train/load_environment`, with vectorization
  'sync'.

  Attributes:
    root_dir: Where the files go; an exploration found there is resumed.
    seed: Decides the worlds, the choice of cells and the actions.
    num_env_steps: Steps of exploration in all; those that put environments
      back do not count.
    num_worlds: Episode seeds, each with cells of its own.
    world_seeds: The episode seeds; None draws them from `seed`.
    num_environments: Environments that explore side by side.
    steps_per_visit: Steps from each chosen cell.
    repeat_probability: That a random action repeats the one before.
    key_fn: Which states share a cell, see `archive.cells`.
    novelty_fn: Function of (time step spec, action spec) that returns the
      novelty of the explorer, such as `CuriosityNovelty`; None for none.
    policy_dir: SavedModel of a policy that explores; None for random actions.
    act_probability: That a step takes the policy's action, not a random one.
    target_score: A world whose best trajectory has that score is explored no
      more, and the exploration ends with the last one; the first
      `num_environments` of the others are explored. None: all, without an end.
    counts_unfinished: Whether the best trajectory of a world may be one whose
      episode has not ended. As a demonstration it then ends like an episode at
      its time limit.
    min_demonstration_score: Worlds below it give no demonstration; None for
      `target_score`, or no limit.
    shortening_env_steps: Steps to take detours out of the trajectory of each
      demonstration, see `archive.shortening`.
    max_cells: New cells beyond that are not taken in, but where the episode of
      a world ends.
    snapshot_memory_mb: Memory for snapshots of environments, in 10^6 bytes; 0
      puts environments back by seeds and actions alone.
    log_interval_env_steps: Environment steps between rows of metrics.csv.
    save_interval_s: Seconds between saves; a kill loses at most that much.
  """

  root_dir: str
  seed: int = 0
  num_env_steps: int = 1_000_000
  num_worlds: int = 1
  world_seeds: Optional[Sequence[int]] = None
  num_environments: int = 8
  steps_per_visit: int = 100
  repeat_probability: float = 0.0
  key_fn: Callable = cells.coarse_observation
  novelty_fn: Optional[Callable] = None
  policy_dir: Optional[str] = None
  act_probability: float = 1.0
  target_score: Optional[float] = None
  counts_unfinished: bool = False
  min_demonstration_score: Optional[float] = None
  shortening_env_steps: int = 60_000
  max_cells: int = 500_000
  snapshot_memory_mb: float = 500.0
  log_interval_env_steps: int = 10_000
  save_interval_s: float = 60.0

  def check(self):
    """Refuses settings that cannot run.

    Raises:
      UserError: If there are any.
    """
    ranges.check(_RANGES, vars(self), 'explore.')
    ranges.check(dict(seed=ranges.COUNT_OR_0), vars(self))
    seeds = self.world_seeds
    if seeds is not None and len(seeds) != self.num_worlds:
      raise errors.InvalidValue(
          f'explore.world_seeds holds {len(seeds)} seeds, for'
          f' explore.num_worlds = {self.num_worlds}.'
      )
    if self.policy_dir is None and self.act_probability != 1.0:
      raise errors.InvalidValue(
          'explore.act_probability has no effect without explore.policy_dir.'
      )
    configuration.check_scopes(used=('train',))

  def seeds_of_worlds(self):
    """The episode seeds, a list."""
    if self.world_seeds is not None:
      return [episode_seeds.checked_seed(seed) for seed in self.world_seeds]
    stream = episode_seeds.new_stream(run_lib.Seeds(self.seed).of_shard(0)[0])
    return [stream.seed_of(0, 1, world) for world in range(self.num_worlds)]

  def path(self, name):
    """Path of a file of the exploration."""
    return os.path.join(self.root_dir, name)


def explore(root_dir, **more):
  """Explores as gin and the arguments say; returns a `Result`.

  Args:
    root_dir: Where the files go.
    **more: Attributes of `Exploration`, which win over gin.

  Raises:
    UserError: If the settings cannot run, or it had to stop.
  """
  return run(Exploration(root_dir, **more))


def run(config):
  """Explores, saves and writes demonstrations; goes on with what it finds.

  Args:
    config: An `Exploration`.

  Returns:
    A `Result`.

  Raises:
    SetupError: If the settings cannot run.
    RunError: If a file could not be written.
    UserError: If the environment or the key function failed.
  """
  config.check()
  with contextlib.ExitStack() as stack:
    stack.enter_context(run_directory.locked(config.root_dir))
    environment = _load(config.num_environments)
    stack.callback(environment.close)
    explorer = build_explorer(config, environment)
    in_force = configuration.operative(seed=config.seed)
    gin_files.check_used()
    changes = _restore(config, explorer, in_force)
    run_directory.record_run(
        config.root_dir,
        in_force,
        changes,
        seed=config.seed,
        env_steps=explorer.env_steps,
        world_seeds=config.seeds_of_worlds(),
    )
    stopped_by = []
    stack.enter_context(_status(config, explorer, stopped_by))
    stack.enter_context(checkpoints.disk_errors(config.root_dir))
    with run_lib.stopping_on_signals(stopped_by.append):
      _watch(config, explorer, stopped_by)
    return _finish(config, explorer, not stopped_by)


def _load(num_environments):
  """Loads the environments of training."""
  with gin.config_scope('train'):
    environment = loaders.load_environment(
        num_environments=num_environments, seed=None
    )
  if not isinstance(environment.gymnasium_vector_env, vector.SyncVectorEnv):
    environment.close()
    raise errors.SetupError(
        'Archive exploration puts back single environments of this process:'
        " set train/load_environment.vectorization = 'sync'."
    )
  return environment


def build_explorer(config, environment):
  """Builds the explorer of an `Exploration`, with an empty archive.

  Args:
    config: An `Exploration`.
    environment: A `VectorPyEnvironment` of single environments.

  Raises:
    UserError: If the environment cannot be put back, or no key is found.
  """
  # Not the wrapper that keeps the actions of a whole episode.
  envs = [env.env for env in environment.gymnasium_vector_env.envs]
  archive = archive_lib.Archive(config.max_cells, config.counts_unfinished)
  returner = returning.Returner(
      envs,
      config.seeds_of_worlds(),
      archive,
      config.key_fn,
      config.snapshot_memory_mb,
  )
  returner.check(np.random.default_rng(config.seed))
  returner.key(0, returner.reset(0, 0))
  act = novelty = None
  if config.policy_dir is not None:
    policy = saved_policy.SavedPolicy(config.policy_dir)
    policy.check_fits(environment)
    act = actors.ObservationActor(actors.PolicyActor(policy))
  if config.novelty_fn is not None:
    tf.keras.utils.set_random_seed(run_lib.Seeds(config.seed).networks)
    novelty = config.novelty_fn(
        environment.time_step_spec(), environment.action_spec()
    )
  return explorer_lib.Explorer(
      envs,
      returner,
      archive,
      seed=config.seed,
      num_worlds=config.num_worlds,
      steps_per_visit=config.steps_per_visit,
      repeat_probability=config.repeat_probability,
      target_score=config.target_score,
      act=act,
      act_probability=config.act_probability,
      novelty=novelty,
  )


def _restore(config, explorer, in_force):
  """Goes on from a saved archive, or begins; returns changes of settings."""
  path = config.path(ARCHIVE_FILE)
  if not os.path.isfile(path):
    if metrics_log.has_rows(config.root_dir):
      raise errors.SetupError(
          f'{config.root_dir} holds results and no {ARCHIVE_FILE} to go on'
          ' from. Move them away, or choose another --root_dir.'
      )
    explorer.begin()
    return []
  before = run_files.read_run_record(config.root_dir).get('settings', {})
  fatal, harmless, _ = configuration.changes(before, in_force)
  if fatal:
    raise errors.SetupError(
        f'The exploration in {config.root_dir} cannot go on with other'
        f' settings: {"; ".join(fatal)}. Set them back, or choose another'
        ' --root_dir.'
    )
  try:
    with np.load(path) as state:
      explorer.set_state(dict(state))
  except Exception as error:  # Whatever NumPy says of a damaged file.
    raise errors.SetupError(
        f'{path} is damaged, or of another version ({error}). Bring back a'
        ' copy, or choose another --root_dir.'
    ) from error
  logging.info('Resuming at %d environment steps.', explorer.env_steps)
  return harmless


def _watch(config, explorer, stopped_by):
  """Iterates until all is done, or `stopped_by` is not empty; logs, saves."""
  if not explorer.iteration:
    save(config, explorer)  # Rows without an archive could not go on.
  log = archive_log.ArchiveLog(config.root_dir, explorer, config.target_score)
  saved_s = reported_s = time.monotonic()
  interval = config.log_interval_env_steps
  logged = explorer.env_steps // interval
  iterations = explorer.iterations()
  while explorer.env_steps < config.num_env_steps and not stopped_by:
    if next(iterations, None) is None:
      break  # All worlds are solved.
    now = time.monotonic()
    if explorer.env_steps // interval > logged:
      logged = explorer.env_steps // interval
      log.write()
    if now - reported_s > _SECONDS_BETWEEN_REPORTS:
      reported_s = now
      logging.info(log.line(config.num_env_steps))
    if now - saved_s >= config.save_interval_s:
      save(config, explorer)
      saved_s = time.monotonic()
  if not stopped_by:
    log.write()
  logging.info(log.line(config.num_env_steps))
  save(config, explorer)


def save(config, explorer):
  """Writes the archive; the one before stays if the disk does not take it."""
  with files.replacing(config.path(ARCHIVE_FILE), 'wb') as file:
    np.savez_compressed(file, **explorer.get_state())


def _finish(config, explorer, finished):
  """Writes the demonstrations, draws, and returns the result."""
  archive = explorer.archive
  path, written = config.path(DEMONSTRATIONS_FILE), 0
  if finished:
    written = _write_demonstrations(config, explorer, path)
  picture = config.path(PICTURE_FILE)
  learning_curves.plot_archive(config.root_dir, picture)
  image = heat_maps.archive_image(archive.keys, archive.column('visits'))
  if image is not None:
    heat_maps.save_image(image, config.path(MAP_FILE))
  score, length = archive.best_of_all()
  return Result(
      finished,
      explorer.env_steps,
      len(archive),
      score,
      length,
      written,
      path if written else None,
      picture,
  )


def _write_demonstrations(config, explorer, path):
  """Writes the best trajectories, shortened; returns their number."""
  least = config.min_demonstration_score
  if least is None:
    least = config.target_score
  archive, seeds = explorer.archive, config.seeds_of_worlds()

  def trajectories():
    for world, seed in enumerate(seeds):
      cell = archive.best(world)
      if cell is None:
        continue
      if least is None or archive.column('score')[cell] >= least:
        yield seed, shortening.best_trajectory(
            explorer.returner, archive, world, config.shortening_env_steps
        )

  environment = _load(1)
  try:
    return archive_demonstrations.write(
        path,
        environment,
        trajectories(),
        explorer.returner.actions,
        configuration.of_environment('train'),
    )
  finally:
    environment.close()


def _status(config, explorer, stopped_by):
  """Says in `status.json` that it runs, and then what became of it."""

  def write(state, message=''):
    run_directory.write_status(
        config.root_dir,
        state,
        message=message,
        env_steps=explorer.env_steps,
        num_env_steps=config.num_env_steps,
    )

  write('running')
  return run_directory.final_status(
      config.root_dir, write, lambda: ''.join(stopped_by)
  )
