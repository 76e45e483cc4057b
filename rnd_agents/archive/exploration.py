# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""One archive exploration: from its settings to the files that it leaves."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
from typing import Any, NamedTuple

from absl import logging
import gin
from gymnasium import vector
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents import tables
from rnd_agents.archive import archive as archive_lib
from rnd_agents.archive import cells
from rnd_agents.archive import explorer as explorer_lib
from rnd_agents.archive import returning
from rnd_agents.archive import shortening
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import loaders
from rnd_agents.environments import parallel_agents
from rnd_agents.environments import vector_environment
from rnd_agents.environments import wrappers
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import demonstration_recorder
from rnd_agents.evaluation import saved_policy
from rnd_agents.plotting import heat_maps
from rnd_agents.plotting import learning_curves
from rnd_agents.replay import demonstrations
from rnd_agents.training import callbacks
from rnd_agents.training import checkpoints
from rnd_agents.training import configuration
from rnd_agents.training import gin_files
from rnd_agents.training import metrics_log
from rnd_agents.training import run_directory
from rnd_agents.training import runs

DEMONSTRATIONS_FILE = 'demonstrations.tfrecord'
_COLUMNS = ('frames', 'cells', 'best_score', 'best_length', 'solved_worlds')
_RANGES = dict(
    num_env_steps=ranges.ABOVE_0,
    num_worlds=ranges.COUNT,
    num_environments=ranges.COUNT,
    max_cells=ranges.ABOVE_0,
    log_interval_env_steps=ranges.ABOVE_0,
    snapshot_memory_mb=ranges.AT_LEAST_0,
    save_interval_s=ranges.AT_LEAST_0,
    shortening_env_steps=ranges.COUNT_OR_0,
    steps_per_visit=ranges.COUNT,
    repeat_probability=ranges.WITHIN_0_AND_1,
    act_probability=ranges.WITHIN_0_AND_1,
)


class Result(NamedTuple):
  """Outcome of an exploration.

  Attributes:
    finished: False if a signal stopped it; the same command continues it.
    env_steps: Steps of exploration.
    num_cells: Number of cells in the archive.
    best_score: Score of the best trajectory of all worlds, or None.
    best_length: Steps of that trajectory, or None.
    num_demonstrations: Number of demonstrations in the file.
    demonstrations: Path of the file, or None.
    picture: Path of the picture.
  """

  finished: bool
  env_steps: int
  num_cells: int
  best_score: float | None
  best_length: int | None
  num_demonstrations: int
  demonstrations: str | None
  picture: str


@gin.configurable('explore', module='rnd_agents', denylist=['root_dir', 'seed'])
@dataclasses.dataclass(frozen=True)
class Exploration:
  """The settings of an archive exploration; gin knows them as `explore`.

  The environment is that of `train/load_environment`, with vectorization
  'sync'.

  Attributes:
    root_dir: Folder for the files; an exploration found there is resumed.
    seed: Decides the worlds, the choice of cells and the actions.
    num_env_steps: Steps of exploration, all environments together, rounded up
      to whole iterations; those that put environments back do not count.
    num_worlds: Episode seeds, each with cells of its own.
    world_seeds: The episode seeds; None draws them from `seed`.
    num_environments: Environments that explore side by side.
    steps_per_visit: Steps from each chosen cell.
    repeat_probability: Probability that a random action repeats the one
      before.
    key_fn: Key function: which states share a cell, see `archive.cells`.
    novelty_fn: Function of (time step spec, action spec) that returns the
      novelty of the explorer, such as `CuriosityNovelty`; None: 1 everywhere.
    policy_dir: SavedModel of a policy that explores; None for random actions.
    act_probability: Probability that a step takes the policy's action, not a
      random one.
    target_score: A world whose best trajectory has that score is not explored
      any more, and the exploration ends with the last one; the first
      `num_environments` of the others are explored. None explores all worlds,
      without an end.
    counts_unfinished: Whether the best trajectory of a world may be one whose
      episode has not ended. As a demonstration it then ends like an episode at
      its time limit.
    min_demonstration_score: Worlds below it give no demonstration; None for
      `target_score`; without both, worlds in which no reward was found.
    shortening_env_steps: Steps to take detours out of the trajectory of each
      demonstration, see `archive.shortening`.
    max_cells: Most cells that are kept, apart from the end of each world's
      episode.
    snapshot_memory_mb: Memory for snapshots of environments, in 10^6 bytes; 0
      puts environments back by seeds and actions alone.
    log_interval_env_steps: Environment steps between rows of metrics.csv.
    save_interval_s: Seconds between saves; a kill loses at most that much.
  """

  root_dir: str
  seed: int = 0
  num_env_steps: int = 1_000_000
  num_worlds: int = 1
  world_seeds: Sequence[int] | None = None
  num_environments: int = 8
  steps_per_visit: int = 100
  repeat_probability: float = 0.0
  key_fn: returning.KeyFn = cells.coarse_observation
  novelty_fn: (
      Callable[[ts.TimeStep, types.NestedSpec], explorer_lib.NoveltyFn] | None
  ) = None
  policy_dir: str | None = None
  act_probability: float = 1.0
  target_score: float | None = None
  counts_unfinished: bool = False
  min_demonstration_score: float | None = None
  shortening_env_steps: int = 60_000
  max_cells: int = 500_000
  snapshot_memory_mb: float = 500.0
  log_interval_env_steps: int = 10_000
  save_interval_s: float = 60.0

  def check(self) -> None:
    """Raises a UserError if settings cannot run."""
    ranges.check(_RANGES, vars(self), 'explore.')
    ranges.check(dict(seed=ranges.COUNT_OR_0), vars(self))
    ranges.check_flags('explore.', counts_unfinished=self.counts_unfinished)
    if self.num_worlds > self.max_cells:
      raise errors.InvalidValue(
          f'explore.num_worlds must be at most explore.max_cells ='
          f' {self.max_cells}, got {self.num_worlds}: each world begins with a'
          ' cell.'
      )
    if self.num_environments > self.num_env_steps:
      raise errors.InvalidValue(
          'explore.num_environments must be at most explore.num_env_steps ='
          f' {self.num_env_steps}, got {self.num_environments}.'
      )
    seeds = self.world_seeds
    if seeds is not None and len(seeds) != self.num_worlds:
      raise errors.InvalidValue(
          f'explore.world_seeds holds {len(seeds)} seeds, for'
          f' explore.num_worlds = {self.num_worlds}.'
      )
    if seeds is not None and min(seeds) < 0:
      raise errors.InvalidValue(
          'explore.world_seeds must be integers from 0, got'
          f' {list(seeds)}.'
      )
    if seeds is not None and len(set(seeds)) < len(seeds):
      raise errors.InvalidValue(
          f'explore.world_seeds = {list(seeds)} names a world twice: give each'
          ' seed once.'
      )
    if self.policy_dir is None and self.act_probability != 1.0:
      raise errors.InvalidValue(
          'explore.act_probability has no effect without explore.policy_dir.'
      )
    configuration.check_scopes(used=('train',))

  def seeds_of_worlds(self) -> list[int]:
    """Returns the episode seed of each world."""
    if self.world_seeds is not None:
      return [episode_seeds.checked_seed(seed) for seed in self.world_seeds]
    stream = episode_seeds.new_stream(runs.Seeds(self.seed).of_shard(0)[0])
    return [stream.seed_of(0, 1, world) for world in range(self.num_worlds)]


@dataclasses.dataclass
class ExplorationRun(runs.BaseRun):
  """A run that fills an archive, as its callbacks see it.

  Attributes:
    explorer: The `explorer.Explorer`.
  """

  config: Exploration
  explorer: explorer_lib.Explorer

  def get_state(self) -> dict[str, Any]:
    """Returns the explorer's state and the steps that it has replayed."""
    return dict(
        explorer=self.explorer.get_state(),
        replayed_env_steps=self.explorer.returner.replayed_env_steps,
    )

  def set_state(self, state: dict[str, Any]) -> None:
    """Restores what `get_state` returned."""
    self.explorer.set_state(state['explorer'])
    self.explorer.returner.replayed_env_steps = state['replayed_env_steps']

  def iterations(self) -> Iterator[int]:
    """Yields the steps of each iteration; counts them, and writes rows."""
    interval = self.config.log_interval_env_steps
    for num_env_steps in self.explorer.iterations():
      num_intervals = self.counters.env_steps // interval
      self.counters.add(iterations=1, env_steps=num_env_steps)
      self.count_time()
      if self.counters.env_steps // interval > num_intervals:
        self.write_row()
      yield num_env_steps

  def write_row(self) -> None:
    """Writes a row of metrics, unless the last one has these steps."""
    env_steps = self.counters.env_steps
    if self.log.last('train', 'env_steps') == env_steps:
      return
    env, archive = self.explorer.env, self.explorer.archive
    target = self.config.target_score
    solved = archive.solved_worlds(-np.inf if target is None else target)
    metrics: dict[str, float] = dict(
        frames=int(env_steps * wrappers.frames_of_step(env)),
        cells=len(archive),
        solved_worlds=int(solved.sum()),
    )
    score, length = archive.best_of_all()
    if score is not None and length is not None:
      metrics.update(best_score=score, best_length=length)
    timings: dict[str, float] = dict(
        wall_time_s=self.counters.wall_time_s,
        replayed_env_steps=self.explorer.returner.replayed_env_steps,
    )
    self.log.write('train', self.counts(), metrics, timings)
    logging.log_every_n_seconds(logging.INFO, self.progress(), 10)

  def progress(self) -> str:
    """Returns the progress as a line of text."""
    archive = self.explorer.archive
    score, length = archive.best_of_all()
    best = 'none' if score is None else f'{score:.6g} in {length} steps'
    full = ' (full: explore.max_cells)' if archive.is_full else ''
    return (
        f'{self.counters.env_steps:,} of {self.config.num_env_steps:,}'
        f' environment steps, {len(archive):,} cells{full}, best {best}'
    )


def explore(root_dir: str, **more: Any) -> Result:
  """Explores as gin and the arguments say; returns the result.

  Args:
    root_dir: Folder for the files.
    **more: Attributes of `Exploration`, which win over gin.

  Raises:
    UserError: If the settings cannot run, or the exploration had to stop.
  """
  with gin_files.binding('explore', more) as others:
    return run(Exploration(root_dir, **others))


def run(config: Exploration) -> Result:
  """Explores, saves and writes demonstrations; continues what it finds.

  Args:
    config: The settings.

  Raises:
    SetupError: If the settings cannot run.
    RunError: If an environment failed, or a file could not be written.
    UserError: If the key function failed, or an episode does not repeat.
  """
  config.check()
  with contextlib.ExitStack() as stack:
    stack.enter_context(run_directory.locked(config.root_dir))
    stack.enter_context(runs.raising_out_of_memory())
    environment = _load(config.num_environments)
    stack.callback(environment.close)
    run = ExplorationRun(config, _build_explorer(config, environment))
    run.checkpoints = checkpoints.Checkpoints(
        run.path('checkpoints'),
        max_to_keep=1,
        packs=True,
        counters=run.counters,
    )
    run.callbacks = (
        callbacks.Checkpoint(interval_s=config.save_interval_s),
        callbacks.Status(),
    )
    settings = configuration.operative(seed=config.seed)
    gin_files.check_used()
    rows = run.resume_or_record(settings, world_seeds=config.seeds_of_worlds())
    stack.enter_context(run.final_status())
    with runs.stopping_on_signals(run.stop, run.end):
      run.log = metrics_log.MetricsLog(config.root_dir, rows, _COLUMNS)
      stack.enter_context(run.log)
      if rows is None:
        run.explorer.begin()
        run.save()
      run.iterate(run.iterations())
    result = _finish(run)
  return result


def _load(
    num_environments: int, first_place: int = 0
) -> vector_environment.VectorPyEnvironment:
  """Loads the environments of training, at places from `first_place` on."""
  with gin.config_scope('train'):
    environment = loaders.load_environment(
        num_environments=num_environments, seed=None, first_place=first_place
    )
  reason = _refusal(environment)
  if reason is not None:
    environment.close()
    raise errors.SetupError(f'Archive exploration {reason}')
  return environment


def _refusal(
    environment: vector_environment.VectorPyEnvironment,
) -> str | None:
  """Returns why environments cannot be explored, and what to do, or None."""
  envs = environment.gymnasium_vector_env
  if action_masks.split_mask(environment.observation_spec())[1] is not None:
    return (
        'takes no action masks: leave out load_environment.action_mask_key.'
    )
  if environment.reward_spec().shape:
    return (
        'takes one reward a step, and load_environment.reward_fn returns'
        f' {environment.reward_spec().shape[0]}: leave it out.'
    )
  if isinstance(envs, parallel_agents.AgentsVectorEnv):
    return (
        'puts back single environments, and a game of several agents is none:'
        ' leave out load_environment.num_agents.'
    )
  if not isinstance(envs, vector.SyncVectorEnv):
    return (
        'puts back single environments of this process: set'
        " train/load_environment.vectorization = 'sync'."
    )
  return None


def _build_explorer(
    config: Exploration, environment: vector_environment.VectorPyEnvironment
) -> explorer_lib.Explorer:
  """Builds an explorer with an empty archive."""
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
    try:
      policy = saved_policy.SavedPolicy(config.policy_dir)
      policy.check_fits(environment)
    except saved_policy.SavedPolicyError as error:
      raise errors.SetupError(f'explore.policy_dir: {error}') from error
    act = actors.ObservationActor(actors.PolicyActor(policy))
  if config.novelty_fn is not None:
    tf.keras.utils.set_random_seed(runs.Seeds(config.seed).networks)
    novelty = config.novelty_fn(
        environment.time_step_spec(), environment.action_spec()
    )
    if not callable(novelty):
      raise errors.InvalidType(
          'explore.novelty_fn must return a function of observations, such as'
          f' CuriosityNovelty does, not {type(novelty).__name__}.'
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


def _finish(run: ExplorationRun) -> Result:
  """Writes the last row and the demonstrations, draws; returns a `Result`."""
  logging.info(run.progress())
  num_demonstrations = 0
  if not run.stopped_by:
    run.write_row()
    num_demonstrations = _write_demonstrations(run)
  run.log.close()
  archive = run.explorer.archive
  picture = run.path('archive.png')
  learning_curves.plot_archive(run.root_dir, picture)
  image = heat_maps.archive_image(archive.keys, archive.column('visits'))
  if image is not None:
    heat_maps.save_image(image, run.path('archive_map.png'))
  return Result(
      not run.stopped_by,
      run.counters.env_steps,
      len(archive),
      *archive.best_of_all(),
      num_demonstrations,
      run.path(DEMONSTRATIONS_FILE) if num_demonstrations else None,
      picture,
  )


def _write_demonstrations(run: ExplorationRun) -> int:
  """Plays the best trajectories again and records them; returns their number.

  Beside the file comes FILE.csv, a table of the episodes.
  """
  path, archive = run.path(DEMONSTRATIONS_FILE), run.explorer.archive
  actions = run.explorer.returner.actions
  rows = []
  # The explorer's environments are still open: a place of its own.
  first_place = run.config.num_environments
  with contextlib.closing(_load(1, first_place)) as environment:
    spec = demonstrations.trajectory_spec(
        environment.observation_spec(), environment.action_spec()
    )
    settings = configuration.of_environment('train')
    with demonstrations.DemonstrationWriter(path, spec, settings) as writer:
      for seed, trajectory in _best_trajectories(run):
        played = demonstration_recorder.replay(
            environment,
            seed,
            gymnasium_spaces.from_zero(
                actions.space, actions.unpack(trajectory.actions)
            ),
        )
        _check_return(environment, played, trajectory)
        writer.write(played.trajectory)
        rows.append((seed, played.return_, played.length_env_steps))
        # Taking out the detours of all worlds can take as long as exploring.
        logging.log_every_n_seconds(
            logging.INFO,
            '%d demonstrations; the last has return %g in %d steps',
            10,
            len(rows),
            played.return_,
            played.length_env_steps,
        )
  if rows:
    columns = ('seed', 'return', 'length_env_steps')
    tables.write_csv(f'{path}.csv', columns, rows)
  else:
    logging.warning(
        'No world has a trajectory to demonstrate: %s was not written.%s',
        path,
        '' if np.any(archive.column('score')) else ' No reward was found.',
    )
  return len(rows)


def _best_trajectories(
    run: ExplorationRun,
) -> Iterator[tuple[int, shortening.Trajectory]]:
  """Yields (episode seed, `shortening.Trajectory`) of each demonstration.

  The best trajectories of all worlds are played again, so that no score is
  reported that its actions do not reach.
  """
  config, archive = run.config, run.explorer.archive
  least = config.min_demonstration_score
  if least is None:
    least = config.target_score
  for world, seed in enumerate(config.seeds_of_worlds()):
    cell = archive.best(world)
    if cell is None:
      continue
    scores = archive.column('score')
    if least is None:  # A world without any reward has nothing to show.
      is_shown = bool(np.any(scores[archive.column('world') == world]))
    else:
      is_shown = bool(scores[cell] >= least)
    trajectory = shortening.best_trajectory(
        run.explorer.returner,
        archive,
        world,
        config.shortening_env_steps if is_shown else 0,
    )
    if is_shown:
      yield seed, trajectory


def _check_return(
    environment: vector_environment.VectorPyEnvironment,
    played: demonstration_recorder.Demonstration,
    trajectory: shortening.Trajectory,
) -> None:
  """Raises NotPutBack if an episode is not what the trajectory says."""
  length = trajectory.length
  # Scores are sums of the environment's own rewards, without `reward_fn`.
  paid = environment.paid(np.diff(trajectory.scores)).sum()
  # Not `played.return_`, which may be that of an inner RecordEpisodeStatistics.
  rewards = played.trajectory.reward.astype(np.float64)
  return_, rounded = rewards.sum(), 1e-6 * np.abs(rewards).sum()
  if played.length_env_steps == length and abs(return_ - paid) <= rounded:
    return
  raise returning.NotPutBack(
      f'The episode of seed {played.seed} has return {return_:.6g} in'
      f' {played.length_env_steps} steps when it is played again, and had'
      f' {paid:.6g} in {length}: the environment does not repeat its episodes'
      ' from their seeds and actions.'
  )
