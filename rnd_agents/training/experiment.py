# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""One run, top to bottom: from its settings to the files that it leaves."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import functools
import json
from typing import Any
import warnings

from absl import logging
import gin
import numpy as np
import tensorflow as tf
from tf_agents.policies import policy_saver
from tf_agents.policies import tf_policy

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import files
from rnd_agents import observations
from rnd_agents import ranges
from rnd_agents import run_files
from rnd_agents import spec_differences
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from rnd_agents.environments import watchdog
from rnd_agents.evaluation import best_policy
from rnd_agents.evaluation import evaluator
from rnd_agents.networks import precision
from rnd_agents.tracking import loggers as loggers_lib
from rnd_agents.training import callbacks as callbacks_lib
from rnd_agents.training import checkpoints
from rnd_agents.training import configuration
from rnd_agents.training import gin_files
from rnd_agents.training import metrics_log
from rnd_agents.training import on_policy
from rnd_agents.training import pictures
from rnd_agents.training import run_directory
from rnd_agents.training import runs
from rnd_agents.training import training as training_lib

_RANGES = dict(
    num_env_steps=ranges.COUNT,
    num_environments=ranges.COUNT,
    num_shards=ranges.COUNT,
    warm_up_env_steps=ranges.COUNT_OR_0,
    num_eval_episodes=ranges.COUNT,
    eval_interval_env_steps=ranges.COUNT,
    checkpoint_interval_iterations=ranges.COUNT,
    num_checkpoints=ranges.COUNT,
    environment_timeout_s=ranges.ABOVE_0.or_none(),
    stop_at_success_rate=ranges.WITHIN_0_AND_1.or_none(),
    stop_at_return=ranges.FINITE.or_none(),
)


@gin.configurable(
    'train_eval', module='rnd_agents', denylist=['root_dir', 'seed']
)
@dataclasses.dataclass(frozen=True)
class Experiment:
  """The settings of a run; gin knows them as `train_eval`.

  Environments, networks, agents and ways of training have gin bindings of their
  own: `load_environment`, also in the scopes `train/` and `eval/`,
  `create_networks`, `RNDPPOAgent`, `OnPolicyTraining` ...

  Attributes:
    root_dir: Where the run leaves its files; a run found there is resumed.
    seed: Decides environments, networks, policy and shuffling.
    training: How an agent is built and trained: `OnPolicyTraining`,
      `ReplayTraining`, `TwoLevelTraining`, or another `training.Training`.
    num_env_steps: Environment steps of the whole run, all environments
      together, the random ones included.
    num_environments: Environments stepped side by side.
    num_shards: Parts of the batch of environments, each with seeds of its own.
    max_lag_rounds: 0: environments wait while the agent learns. 1: workers
      collect the next rollouts meanwhile, with the policy from before.
    warm_up_env_steps: Uniformly random steps, all environments together, before
      the first update; of two levels, goals are uniformly random, too. A run
      that has not so many steps takes a tenth of it, and says so.
    num_eval_episodes: Episodes an evaluation, on seeds that stay; greedy ones
      unless `RNDPPOAgent.greedy_eval` is False, or `R2D3Agent.eval_epsilon` or
      `create_dqn_agent.eval_epsilon` is above 0. Levels below others act as in
      training.
    eval_interval_env_steps: Environment steps between evaluations.
    checkpoint_interval_iterations: Iterations between checkpoints; a kill
      loses at most that many.
    num_checkpoints: Number of checkpoints that are kept.
    stop_at_success_rate: An evaluation's success rate that ends the run early.
    stop_at_return: An evaluation's mean return that ends the run early, such as
      20 in Pong; without `stop_at_success_rate`.
    environment_timeout_s: Seconds after which a constructor, a `render`, a
      `close`, or a step or reset of all environments ends the process with a
      message; None to wait for any time.
      With workers, seconds for a call of a worker: a whole rollout of a shard.
    record_video: Whether to record the best episode of an evaluation.
    save_policies: Whether to save the policies at the end: the last one, and
      the one of the best evaluation.
    callbacks: Further callbacks, called in their order after the evaluation and
      before the checkpoint of an iteration.
    loggers: Where numbers, settings and pictures go besides the CSV files, such
      as `TensorBoardLogger`, `WandbLogger` and `MLflowLogger`.
  """

  root_dir: str
  seed: int = 0
  training: training_lib.Training = dataclasses.field(
      default_factory=on_policy.OnPolicyTraining
  )
  num_env_steps: int = 500_000
  num_environments: int = 32
  num_shards: int = 1
  max_lag_rounds: int = 0
  warm_up_env_steps: int = 4_096
  num_eval_episodes: int = 20
  eval_interval_env_steps: int = 25_000
  checkpoint_interval_iterations: int = 1
  num_checkpoints: int = 3
  stop_at_success_rate: float | None = None
  stop_at_return: float | None = None
  environment_timeout_s: float | None = 600.0
  record_video: bool = True
  save_policies: bool = True
  callbacks: Sequence[callbacks_lib.Callback] = ()
  loggers: Sequence[loggers_lib.Logger] = dataclasses.field(
      default_factory=lambda: [loggers_lib.TensorBoardLogger()]
  )

  def check(self) -> None:
    """Raises a UserError if settings cannot run or have no effect."""
    name = 'train_eval'
    ranges.check(_RANGES, vars(self), f'{name}.')
    ranges.check(dict(seed=ranges.COUNT_OR_0), vars(self))
    ranges.check_flags(
        f'{name}.',
        record_video=self.record_video,
        save_policies=self.save_policies,
    )
    if self.num_environments % self.num_shards:
      raise errors.InvalidValue(
          f'{name}.num_environments must be a multiple of num_shards, got'
          f' {self.num_environments} and {self.num_shards}.'
      )
    if self.num_environments > self.num_env_steps:
      raise errors.InvalidValue(
          f'{name}.num_environments must be at most num_env_steps ='
          f' {self.num_env_steps}, got {self.num_environments}.'
      )
    if self.max_lag_rounds not in (0, 1):
      raise errors.InvalidValue(
          f'{name}.max_lag_rounds must be 0 or 1, got {self.max_lag_rounds}.'
      )
    if None not in (self.stop_at_success_rate, self.stop_at_return):
      raise errors.InvalidValue(
          f'{name}.stop_at_success_rate = {self.stop_at_success_rate} and'
          f' stop_at_return = {self.stop_at_return} do not say which of them'
          ' ends the run: set one of them to None.'
      )
    if not isinstance(self.callbacks, Sequence):
      raise errors.InvalidType(
          f'{name}.callbacks must be a list, got {self.callbacks!r}.'
      )
    for callback in self.callbacks:
      if not isinstance(callback, callbacks_lib.Callback):
        raise errors.InvalidType(
            f'{name}.callbacks must be callbacks.Callback, got {callback!r}.'
        )
    loggers_lib.check_loggers(f'{name}.loggers', self.loggers)
    training_lib.check_training(f'{name}.training', self.training)
    configuration.check_scopes()
    self.training.check(self.num_env_steps, self.num_environments)
    if self.random_env_steps < self.warm_up_env_steps:
      logging.warning(
          '%s.num_env_steps is %d, not more than its %d random steps'
          ' (%s.warm_up_env_steps): this run takes %d random steps.',
          name,
          self.num_env_steps,
          self.warm_up_env_steps,
          name,
          self.random_env_steps,
      )

  @property
  def random_env_steps(self) -> int:
    """`warm_up_env_steps`; about a tenth of a run that has not so many."""
    if self._most_random_env_steps(self.warm_up_env_steps) < self.num_env_steps:
      return self.warm_up_env_steps
    rows = max(self.num_env_steps // 10 // self.num_environments, 1)
    steps = rows * self.num_environments
    is_short = self._most_random_env_steps(steps) < self.num_env_steps
    return steps if is_short else 0

  def _most_random_env_steps(self, steps: int) -> int:
    """Returns how many random steps `Loop.prepare` takes at most, for `steps`.

    All environments step at once, so that the last steps may exceed it.
    """
    if self.training.is_off_policy and steps:
      # Collections are whole, and have fewer steps where episodes end.
      return steps - 1 + self.num_environments * self.training.collect_length
    return -(-steps // self.num_environments) * self.num_environments


# Function of (config, seeds, recipes of the shards) that makes the collectors.
MakeShards = Callable[
    ['Experiment', runs.Seeds, list[collector.Recipe]], collector.Shards
]


def train_eval(
    root_dir: str, make_shards: MakeShards | None = None, **more: Any
) -> runs.Outcome:
  """Trains as gin and the arguments say; returns the result.

  Args:
    root_dir: The run's folder.
    make_shards: As for `run`.
    **more: Attributes of `Experiment`, which win over gin.

  Raises:
    UserError: If the settings cannot run, or the run had to stop.
  """
  with gin_files.binding('train_eval', more) as others:
    return run(Experiment(root_dir, **others), make_shards)


def train_files(
    root_dir: str,
    files: Sequence[str],
    bindings: gin_files.Bindings = (),
    **more: Any,
) -> runs.Outcome:
  """Trains as gin files say, for programs and notebooks that run several.

  Gin's bindings from before are neither used nor changed.

  Args:
    root_dir: The run's folder.
    files: Gin files: paths, or names of those that come with the package.
    bindings: Gin bindings, or values by name, as for `gin_files.parse`.
    **more: Arguments of `train_eval`.

  Raises:
    UserError: If the settings cannot run, or the run had to stop.
  """
  with gin_files.parsed(files, bindings):
    return train_eval(root_dir, **more)


def local_shards(
    config: Experiment, seeds: runs.Seeds, shard_recipes: list[collector.Recipe]
) -> collector.Shards:
  """Makes the collectors of all shards in this process; a `MakeShards`."""
  return collector.Shards(
      [local.LocalCollector(each) for each in shard_recipes],
      config.max_lag_rounds,
  )


def run(
    config: Experiment, make_shards: MakeShards | None = None
) -> runs.Outcome:
  """Trains, evaluates and saves; continues a run that lies in the folder.

  Args:
    config: The settings.
    make_shards: Makes the collectors, such as
      `workers.ray_workers.create_collectors`; None for `local_shards`. No
      number that a run learns depends on it, and a resumed run may have
      another.

  Raises:
    SetupError: If the settings cannot run, before the first step.
    RunError: If the run had to stop: an environment failed, a number was not
      finite, the disk was full.
  """
  precision.check_globals()
  config.check()
  with contextlib.ExitStack() as stack:
    stack.enter_context(run_directory.locked(config.root_dir))
    stack.enter_context(runs.raising_out_of_memory())
    facts: dict[str, Callable[[], int]] = {}
    stack.enter_context(_watchdog(config, facts))
    seeds = runs.Seeds(config.seed)
    tf.keras.utils.set_random_seed(seeds.networks)

    collectors = (make_shards or local_shards)(
        config, seeds, recipes(config, seeds)
    )
    stack.callback(collectors.close)
    eval_environment = _load(
        'eval', config.num_eval_episodes, None, config.num_environments
    )
    stack.callback(local.close, eval_environment)
    _check_alike(collectors, eval_environment)

    agent = config.training.build_agent(
        collectors.specs, config.num_environments
    )
    _log_observations(
        config.training.whitened_observations(agent), eval_environment
    )
    weights = [v for v in agent.policy.variables() if v.trainable]
    logging.info(
        'The networks of the policy have %s weights.',
        f'{sum(v.shape.num_elements() for v in weights):,}',
    )
    run = runs.Run(
        config,
        seeds,
        agent,
        collectors,
        _create_evaluator(
            eval_environment, agent.policy, seeds.first_eval_episode
        ),
    )
    run.checkpoints = checkpoints.Checkpoints(
        run.path('checkpoints'),
        max_to_keep=config.num_checkpoints,
        agent=agent,
        counters=run.counters,
    )
    if config.save_policies:
      run.best_policy = best_policy.BestPolicy(
          agent.policy, run.path('checkpoints', 'best_policy')
      )
    run.loop = config.training.build_loop(run)
    stack.callback(run.loop.close)
    run.callbacks = callbacks_lib.create_callbacks(run)

    settings = configuration.operative(seed=config.seed)
    gin_files.check_used(config.training.idle_settings(agent))
    rows = run.resume_or_record(
        settings,
        # The value of compute_dtype = 'auto', if that is set.
        auto_compute_dtype=precision.layer_policy(precision.AUTO).compute_dtype,
    )
    stack.enter_context(run.final_status())
    facts['env_steps'] = lambda: run.counters.env_steps
    with runs.stopping_on_signals(run.stop, run.end):
      run.log = metrics_log.MetricsLog(
          config.root_dir,
          rows,
          loggers=config.loggers,
          settings=configuration.own(settings),
          seed=config.seed,
      )
      stack.enter_context(run.log)
      if rows is None:
        run.loop.begin()
        run.save()
      run.iterate(run.loop.iterations(), lambda: _prepare(run))
    outcome = _finish(run)
  return outcome


def recipes(config: Experiment, seeds: runs.Seeds) -> list[collector.Recipe]:
  """Returns the recipes of the collectors of all shards."""
  return [recipe(config, seeds, index) for index in range(config.num_shards)]


def recipe(
    config: Experiment, seeds: runs.Seeds, index: int
) -> collector.Recipe:
  """Returns the recipe of the collector of a shard."""
  environment_seed, action_seed = seeds.of_shard(index)
  num_environments = config.num_environments // config.num_shards
  return collector.Recipe(
      functools.partial(
          _load,
          'train',
          num_environments,
          environment_seed,
          index * num_environments,
          config.num_environments,
      ),
      functools.partial(_collect_policy, config.training),
      action_seed,
      index,
  )


def _collect_policy(
    training: training_lib.Training,
    specs: collector.Specs,
    num_environments: int,
) -> tf_policy.TFPolicy:
  """Returns the collect policy of an agent like the learner's."""
  return training.build_twin(specs, num_environments).collect_policy


def _create_evaluator(
    environment: vector_environment.VectorPyEnvironment,
    policy: tf_policy.TFPolicy,
    first_seed: int,
) -> evaluator.Evaluator:
  """Creates an `Evaluator` that draws the same numbers in each evaluation.

  Args:
    environment: A `VectorPyEnvironment`; it plays one episode each.
    policy: The agent's.
    first_seed: Seed of the first episode, and of the actions.
  """
  generator = tf.random.Generator.from_seed(first_seed)
  return evaluator.Evaluator(
      environment,
      local.seeded_policy(policy, generator),
      range(first_seed, first_seed + environment.batch_size),
      generator,
  )


def _load(
    scope: str,
    num_environments: int,
    seed: int | None,
    first_place: int,
    num_places: int | None = None,
) -> vector_environment.VectorPyEnvironment:
  """Loads environments with gin's bindings of a scope."""
  with gin.config_scope(scope):
    # Passing the seed, gin does not record one, which would have no effect.
    return loaders.load_environment(
        num_environments=num_environments,
        seed=seed,
        first_place=first_place,
        num_places=num_places,
    )


def _check_alike(
    collectors: collector.Shards,
    eval_environment: vector_environment.VectorPyEnvironment,
) -> None:
  """Raises SetupError if evaluations have other specs than the training."""
  train, evaluation = collectors.specs, local.specs_of(eval_environment)
  faults = spec_differences.differences(
      evaluation.time_step.observation,
      train.time_step.observation,
      'observation',
  ) + spec_differences.differences(evaluation.action, train.action, 'action')
  if faults:
    raise errors.SetupError(
        'The evaluation environment is not like the one for training: its'
        f' {"; its ".join(faults)}. Change the bindings of'
        ' eval/load_environment.'
    )
  eval_environment.reset_with_seeds([0] * eval_environment.batch_size)


def _log_observations(
    whitened: Sequence[bool] | None,
    environment: vector_environment.VectorPyEnvironment,
) -> None:
  """Logs what networks see of each observation, and what out of scale."""
  spec, first = map(
      action_masks.without_mask,
      (
          environment.observation_spec(),
          environment.current_time_step().observation,
      ),
  )
  for line in observations.describe_observations(spec, whitened):
    logging.info(line)
  largest = [
      np.max(np.abs(leaf), initial=0.0) for leaf in tf.nest.flatten(first)
  ]
  for line in observations.out_of_scale(spec, largest, whitened):
    logging.warning(
        '%s: scale it in a wrapper, or set normalize_observations = True of'
        ' RNDPPOAgent, R2D3Agent or create_curious_agent.',
        line,
    )


def _prepare(run: runs.Run) -> None:
  """Pretrains and takes the random steps, unless the run stops before."""
  is_new = False
  # Done by an evaluation that the last start has cut off, or stopped amid it.
  if run.is_done or run.stopped_by:
    return
  for is_evaluation_due in run.loop.prepare():
    is_new = True
    for callback in run.callbacks:
      callback.after_preparation(run, is_evaluation_due)
    if run.stopped_by or (is_evaluation_due and run.is_done):
      break
  if is_new:
    run.save()


def _finish(run: runs.Run) -> runs.Outcome:
  """Saves the policies and draws the learning curve."""
  if run.stopped_by:
    logging.info(
        'Stopped by %s at %d environment steps.',
        run.stopped_by,
        run.counters.env_steps,
    )
  if run.best_policy is not None:
    _save_policies(run, run.best_policy)
  picture = pictures.draw_curve(run)
  run.log.close('stopped' if run.stopped_by else 'finished')
  return runs.Outcome(
      run.stopped_by is None,
      run.log.last('eval', 'return_mean'),
      None if run.best_policy is None else run.best_policy.return_mean,
      run.counters.env_steps,
      run.counters.wall_time_s,
      picture,
  )


def _save_policies(run: runs.Run, best: best_policy.BestPolicy) -> None:
  """Writes a SavedModel of each policy into the run's folder."""

  def save(saver: policy_saver.PolicySaver, name: str) -> None:
    with files.replacing_folder(run.path('policies', name)) as folder:
      saver.save(folder)

  with _quiet_saving():
    saver = policy_saver.PolicySaver(run.agent.policy, batch_size=None)
    save(saver, 'policy')
    with best.in_place() as is_found:
      if is_found:
        save(saver, 'best_policy')
    acting = run.config.training.acting_policy(run.agent)
    save(policy_saver.PolicySaver(acting, batch_size=None), 'collect_policy')
  renamed = _renamed_keys(run.evaluator.environment)
  if renamed:
    with files.replacing(run.path(run_files.RENAMED_KEYS_FILE)) as file:
      json.dump(renamed, file, indent=2)


def _renamed_keys(
    environment: vector_environment.VectorPyEnvironment,
) -> dict[str, str]:
  """Returns the environment's keys that specs call by another name."""
  env = environment.gymnasium_vector_env
  renamed = gymnasium_spaces.renamed_keys(
      env.single_observation_space, 'observation'
  ) | gymnasium_spaces.renamed_keys(env.single_action_space, 'action')
  return {name: str(key) for name, key in renamed.items()}


@contextlib.contextmanager
def _quiet_saving() -> Iterator[None]:
  """Keeps TensorFlow's remarks on each SavedModel off the closing lines."""
  verbosity = logging.get_verbosity()
  logging.set_verbosity(logging.ERROR)
  try:
    with warnings.catch_warnings():
      warnings.simplefilter('ignore', UserWarning)
      yield
  finally:
    logging.set_verbosity(verbosity)


def _watchdog(
    config: Experiment, facts: dict[str, Callable[[], int]]
) -> watchdog.Watchdog:
  """A `Watchdog` that leaves its message in `status.json`.

  Args:
    config: The settings.
    facts: Functions that give more entries of `status.json`.
  """

  def on_hang(message: str, doing: str) -> None:
    if doing != 'close':  # Then the status says already how the run ended.
      more = {name: fact() for name, fact in facts.items()}
      run_directory.write_status(
          config.root_dir, 'failed', message=message, **more
      )

  return watchdog.Watchdog(config.environment_timeout_s, on_hang)
