# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What every run does around its loop, whatever it learns by."""

import contextlib
import os
from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple
import warnings

from absl import logging
import gin
import gymnasium
import numpy as np
import tensorflow as tf
from tf_agents.policies import policy_saver
from tf_agents.specs import tensor_spec

from rnd_agents.environments import errors as environment_errors
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from rnd_agents.evaluation import evaluator
from rnd_agents.networks import precision
from rnd_agents.plotting import learning_curves
from rnd_agents.training import argument_checks
from rnd_agents.training import checkpoints
from rnd_agents.training import errors
from rnd_agents.training import gin_files
from rnd_agents.training import metrics_log
from rnd_agents.training import run_directory
from rnd_agents.training import settings
from rnd_agents.training import training_loop
from rnd_agents.training import watchdog
from rnd_agents.training import watching


class Result(NamedTuple):
  """What a run came to.

  Attributes:
    finished: False where a signal stopped it; the same command goes on.
    eval_return: mean return of the last evaluation, None before the first.
    env_steps: environment steps, the random ones of the warm-up included.
    wall_time_s: seconds of the loop, start-up apart.
    picture: path of the learning curve.
  """

  finished: bool
  eval_return: Optional[float]
  env_steps: int
  wall_time_s: float
  picture: str


class Arguments(NamedTuple):
  """What all training functions take; `trainer.train_eval` explains them."""

  root_dir: str
  seed: int
  num_env_steps: int
  num_environments: int
  warm_up_env_steps: int
  num_eval_episodes: int
  eval_interval_env_steps: int
  checkpoint_interval_iterations: int
  num_checkpoints: int
  stop_at_success_rate: Optional[float]
  environment_timeout_s: Optional[float]
  record_video: bool

  @classmethod
  def of(cls, values):
    """Those among a training function's arguments by name."""
    return cls(**{name: values[name] for name in cls._fields})


class Parts(NamedTuple):
  """What a loop is built of.

  Attributes:
    root_dir: The run's folder.
    environment: The `VectorPyEnvironment` to learn in.
    seeds: A `numpy.random.SeedSequence` of the loop's own.
    loop_settings: Of a policy to evaluate, the arguments of `TrainingLoop`
      by name that no way of learning decides.
  """

  root_dir: str
  environment: vector_environment.VectorPyEnvironment
  seeds: np.random.SeedSequence
  loop_settings: Callable[[Any], dict]


class Built(NamedTuple):
  """What is to run.

  Attributes:
    agent: A `TFAgent`.
    loop: A `TrainingLoop`.
    learning_rates: Pairs of an optimizer and its rate, which wins over that in
      a checkpoint.
  """

  agent: Any
  loop: training_loop.TrainingLoop
  learning_rates: Sequence[Tuple[Any, Any]]


def execute(name, arguments, check, build):
  """Makes the environments, builds, runs and leaves everything in order.

  Args:
    name: gin's name of the training function.
    arguments: `Arguments`.
    check: Called first; raises what is wrong with the other arguments.
    build: A function of `Parts` that returns `Built`.

  Returns:
    A `Result`.

  Raises:
    SetupError: If the settings cannot run; before the first step.
    RunError: If the run had to stop: an environment failed, a number was not
      finite, the disk was full.
  """
  root_dir, seed = arguments.root_dir, arguments.seed
  with contextlib.ExitStack() as stack:
    with _setup_errors():
      argument_checks.check_all(name, arguments)
      check()
      stack.enter_context(run_directory.locked(root_dir))
      sequence = np.random.SeedSequence(seed)
      seeds = [_small(s) for s in sequence.generate_state(3)]
      tf.keras.utils.set_random_seed(seeds[0])
      with gin.config_scope('train'):
        train_env = loaders.load_environment(
            num_environments=arguments.num_environments, seed=seeds[1]
        )
      stack.callback(_close, train_env)
      with gin.config_scope('eval'):
        # The seed is named so that gin records none, which no run would take.
        eval_env = loaders.load_environment(
            num_environments=arguments.num_eval_episodes, seed=None
        )
      stack.callback(_close, eval_env)

      def loop_settings(policy):
        return dict(
            evaluator_=evaluator.Evaluator(
                eval_env,
                policy,
                [seeds[2] + i for i in range(arguments.num_eval_episodes)],
            ),
            num_checkpoints=arguments.num_checkpoints,
            watcher=watching.Watcher(
                root_dir,
                train_env,
                record_video=arguments.record_video,
            ),
        )

      watched = (
          root_dir, [train_env, eval_env], arguments.environment_timeout_s
      )
      # Not while a saved episode is played again, at once: that may take long.
      with _watchdog(*watched):
        argument_checks.check_alike(train_env, eval_env)
        agent, loop, learning_rates = build(
            Parts(root_dir, train_env, sequence.spawn(1)[0], loop_settings)
        )
      stack.callback(loop.close)
      in_force = settings.operative(seed=seed)
      schedule = training_loop.Schedule(
          arguments.num_env_steps,
          arguments.warm_up_env_steps,
          arguments.eval_interval_env_steps,
          arguments.checkpoint_interval_iterations,
          arguments.stop_at_success_rate,
      )
      _resume_or_record(root_dir, loop, in_force, seed, schedule)
      for optimizer, rate in learning_rates:
        optimizer.learning_rate = rate
    on_progress = stack.enter_context(
        _status(root_dir, loop, arguments.num_env_steps)
    )
    stack.enter_context(
        _watchdog(*watched, lambda: dict(env_steps=loop.env_steps))
    )
    loop.run(
        schedule,
        on_start=lambda log: log.write_settings(settings.own(in_force), seed),
        on_progress=on_progress,
    )
    return _finish(root_dir, loop, agent, train_env.name)


def _resume_or_record(root_dir, loop, now, seed, schedule):
  """Goes on from a checkpoint if there is one, and writes down the settings.

  Raises:
    SetupError: If settings were changed that cannot be, or in vain.
  """
  fatal, harmless = [], []
  snapshot = loop.checkpoints.find()
  has_rows = metrics_log.has_rows(root_dir)
  if snapshot is None and has_rows:
    raise errors.SetupError(
        f'{root_dir} holds results and no checkpoint to go on from. Move them'
        ' away, or choose another --root_dir.'
    )
  if snapshot is not None:
    before = run_directory.read_record(root_dir).get('settings', {})
    fatal, harmless = settings.changes(before, now)
  if fatal:
    pretraining_steps = snapshot.state.get('pretraining_steps', 0)
    if snapshot.iteration or pretraining_steps or has_rows:
      raise errors.SetupError(
          f'The run in {root_dir} cannot go on with other settings:'
          f' {"; ".join(fatal)}. Set them back, or choose another --root_dir.'
      )
    logging.warning(
        'Nothing was trained yet. The run begins anew with other settings: %s.',
        '; '.join(fatal),
    )
    loop.checkpoints.forget_after(-1)
    snapshot = None
  if snapshot is not None:
    loop.restore(snapshot)
    in_vain = settings.of_learning(harmless)
    if in_vain and loop.is_done(schedule):
      raise errors.SetupError(
          'The run is finished; these changes would have no effect:'
          f' {"; ".join(in_vain)}. Choose another --root_dir, or raise'
          ' num_env_steps.'
      )
    for change in harmless:
      logging.warning('Going on with a change: %s.', change)
  else:
    loop.load()
  run_directory.record_run(
      root_dir,
      now,
      harmless,
      seed=seed,
      env_steps=loop.env_steps,
      # What compute_dtype = 'auto' came to, where that was asked for.
      auto_compute_dtype=precision.layer_policy(precision.AUTO).compute_dtype,
  )


def _watchdog(root_dir, environments, limit_s, facts=dict):
  """A `Watchdog` that leaves its message in `status.json`."""
  return watchdog.Watchdog(
      environments,
      limit_s,
      on_hang=lambda message: run_directory.write_status(
          root_dir, 'failed', message=message, **facts()
      ),
  )


@contextlib.contextmanager
def _status(root_dir, loop, num_env_steps):
  """Keeps `status.json`: running, and in the end what became of it."""

  def write(state, message=''):
    run_directory.write_status(
        root_dir,
        state,
        message=message,
        env_steps=loop.env_steps,
        num_env_steps=num_env_steps,
        iteration=loop.iteration,
    )

  try:
    write('running')
    yield lambda: write('running')
    write('stopped' if loop.stopped_by else 'finished', loop.stopped_by or '')
  except BaseException as error:
    with contextlib.suppress(OSError):
      write('failed', f'{type(error).__name__}: {error}')
    if isinstance(error, OSError) or checkpoints.is_of_disk(error):
      raise errors.RunError(
          f'A file of {root_dir} could not be written:'
          f' {checkpoints.reason(error)} {loop.checkpoints.kept()} Make room,'
          ' and the same command goes on.'
      ) from error
    raise


@contextlib.contextmanager
def _setup_errors():
  """Turns what may go wrong before the first step into `SetupError`."""
  try:
    yield
  except errors.SetupError:
    raise
  except (
      AttributeError,
      ImportError,
      OSError,
      TypeError,
      ValueError,
      gymnasium.error.Error,
      tf.errors.OpError,
      environment_errors.EnvironmentFailure,
  ) as error:
    message = gin_files.explain_missing(error)
    missing = isinstance(error, gymnasium.error.DependencyNotInstalled)
    if missing and 'opencv' in message:
      message = environment_errors.message_of(error)
      message += '. Here: pip install "rnd_agents[atari]".'
    raise errors.SetupError(message) from error


def tensor_specs(environment):
  """`TimeStep` spec and action spec of a `PyEnvironment`, for agents."""
  return (
      tensor_spec.from_spec(environment.time_step_spec()),
      tensor_spec.from_spec(environment.action_spec()),
  )


def _close(environment):
  """Closes an environment; one that is broken does not hide why."""
  try:
    environment.close()
  except Exception as error:  # pylint: disable=broad-exception-caught
    logging.warning('%s did not close: %s', environment.name, error)


def _small(seed):
  """A seed with room for seed + i below 2**31."""
  return int(seed) % 2**30


def _finish(root_dir, loop, agent, title):
  """Policies and picture."""
  with _quiet_saving():
    for name, policy in (
        ('policy', agent.policy),
        ('collect_policy', agent.collect_policy),
    ):
      policy_saver.PolicySaver(policy, batch_size=None).save(
          os.path.join(root_dir, 'policies', name)
      )
  picture = os.path.join(root_dir, 'learning_curve.png')
  learning_curves.plot_run(root_dir, picture, title=title)
  loop.log.close()
  return Result(
      loop.stopped_by is None,
      loop.log.last('eval', 'return_mean'),
      loop.env_steps,
      loop.wall_time_s,
      picture,
  )


@contextlib.contextmanager
def _quiet_saving():
  """Keeps TensorFlow's remarks on each SavedModel off the closing lines."""
  verbosity = logging.get_verbosity()
  logging.set_verbosity(logging.ERROR)
  try:
    with warnings.catch_warnings():
      warnings.simplefilter('ignore', UserWarning)
      yield
  finally:
    logging.set_verbosity(verbosity)
