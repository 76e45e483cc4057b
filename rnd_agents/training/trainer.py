# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""One run of RND-PPO, from gin bindings to files."""

import contextlib
import os
from typing import NamedTuple, Optional
import warnings

from absl import logging
import gin
import numpy as np
import tensorflow as tf
from tf_agents.environments import tf_py_environment
from tf_agents.policies import policy_saver

from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.environments import errors as environment_errors
from rnd_agents.environments import loaders
from rnd_agents.evaluation import evaluator
from rnd_agents.networks import factory
from rnd_agents.plotting import learning_curves
from rnd_agents.training import errors
from rnd_agents.training import gin_files
from rnd_agents.training import metrics_log
from rnd_agents.training import run_directory
from rnd_agents.training import settings
from rnd_agents.training import training_loop
from rnd_agents.training import watchdog
from rnd_agents.training import watching

SetupError = errors.SetupError
RunError = errors.RunError


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


class Optimizers(NamedTuple):
  """The arguments of `RNDPPOAgent` with these names."""

  optimizer: tf.keras.optimizers.Optimizer
  rnd_optimizer: Optional[tf.keras.optimizers.Optimizer]


@gin.configurable(module='rnd_agents')
def train_eval(
    root_dir,
    seed=0,
    num_env_steps=500_000,
    num_environments=32,
    rollout_length=128,
    warm_up_env_steps=4_096,
    learning_rate=3e-4,
    rnd_learning_rate=None,
    rnd_observation_fn=None,
    agent_class=rnd_ppo_agent.RNDPPOAgent,
    num_eval_episodes=20,
    eval_interval_env_steps=25_000,
    checkpoint_interval_iterations=1,
    num_checkpoints=3,
    stop_at_success_rate=None,
    environment_timeout_s=600.0,
    record_video=True,
):
  """Trains an `RNDPPOAgent` and evaluates it as it learns.

  Environment, networks and agent have gin bindings of their own:
  `load_environment`, also in the scopes `train/` and `eval/`,
  `create_networks` and `RNDPPOAgent`.

  Args:
    root_dir: Where the run leaves its files; a run found there is resumed.
    seed: Decides environments, networks, policy and shuffling.
    num_env_steps: Environment steps of the whole run, all environments
      together, the random ones included.
    num_environments: Environments stepped side by side.
    rollout_length: Steps of each environment between two updates.
    warm_up_env_steps: Uniformly random steps, all environments together, that
      seed the observation statistics.
    learning_rate: Of Adam, for policy and values.
    rnd_learning_rate: Of an Adam of its own for the predictor; None trains
      everything with one.
    rnd_observation_fn: Of what the observation RND sees; None for all of it.
    agent_class: `RNDPPOAgent` or a subclass.
    num_eval_episodes: Greedy episodes an evaluation, on seeds that stay.
    eval_interval_env_steps: Environment steps between evaluations.
    checkpoint_interval_iterations: Iterations between checkpoints; a kill
      loses at most that many.
    num_checkpoints: The last so many stay.
    stop_at_success_rate: An evaluation's success rate that ends the run early.
    environment_timeout_s: Seconds that a step or reset of all environments may
      take before the process ends with a message; None for any time.
    record_video: Whether to film the best episode of an evaluation.

  Returns:
    A `Result`.

  Raises:
    SetupError: If the settings cannot run; before the first step.
    RunError: If the run had to stop: an environment failed, a number was not
      finite, the disk was full.
  """
  with contextlib.ExitStack() as stack:
    with _setup_errors():
      _check_positive(
          num_env_steps=num_env_steps,
          num_environments=num_environments,
          rollout_length=rollout_length,
          num_eval_episodes=num_eval_episodes,
          eval_interval_env_steps=eval_interval_env_steps,
          checkpoint_interval_iterations=checkpoint_interval_iterations,
          num_checkpoints=num_checkpoints,
          learning_rate=learning_rate,
          **_without_none(
              rnd_learning_rate=rnd_learning_rate,
              environment_timeout_s=environment_timeout_s,
          ),
      )
      _check_settings(seed, num_env_steps, warm_up_env_steps, agent_class)
      stack.enter_context(run_directory.locked(root_dir))
      sequence = np.random.SeedSequence(seed)
      seeds = [_small(s) for s in sequence.generate_state(3)]
      tf.keras.utils.set_random_seed(seeds[0])
      with gin.config_scope('train'):
        train_env = loaders.load_environment(
            num_environments=num_environments, seed=seeds[1]
        )
      stack.callback(_close, train_env)
      with gin.config_scope('eval'):
        eval_env = loaders.load_environment(num_environments=num_eval_episodes)
      stack.callback(_close, eval_env)
      _check_alike(train_env, eval_env)
      tf_env = tf_py_environment.TFPyEnvironment(train_env)
      optimizers = _create_optimizers(learning_rate, rnd_learning_rate)
      agent = _create_agent(
          agent_class, tf_env, optimizers, rnd_observation_fn
      )
      _check_rollout(agent, num_environments, rollout_length)
      loop = training_loop.TrainingLoop(
          root_dir,
          agent,
          tf_env,
          evaluator.Evaluator(
              eval_env,
              agent.policy,
              [seeds[2] + i for i in range(num_eval_episodes)],
          ),
          rollout_length,
          sequence.spawn(1)[0],
          num_checkpoints,
          watching.Watcher(
              root_dir, train_env, agent.policy, record_video=record_video
          ),
      )
      in_force = settings.operative(seed=seed)
      _resume_or_record(root_dir, loop, in_force, seed)
      # The settings win over the rates in a checkpoint.
      optimizers.optimizer.learning_rate = learning_rate
      if optimizers.rnd_optimizer is not None:
        optimizers.rnd_optimizer.learning_rate = rnd_learning_rate
    on_progress = stack.enter_context(_status(root_dir, loop, num_env_steps))
    stack.enter_context(
        watchdog.Watchdog(
            [train_env, eval_env],
            environment_timeout_s,
            on_hang=lambda message: run_directory.write_status(
                root_dir, 'failed', message=message, env_steps=loop.env_steps
            ),
        )
    )
    loop.run(
        training_loop.Schedule(
            num_env_steps,
            warm_up_env_steps,
            eval_interval_env_steps,
            checkpoint_interval_iterations,
            stop_at_success_rate,
        ),
        on_start=lambda log: log.write_settings(settings.own(in_force), seed),
        on_progress=on_progress,
    )
    return _finish(root_dir, loop, agent, train_env.name)


def _resume_or_record(root_dir, loop, now, seed):
  """Goes on from a checkpoint if there is one, and writes down the settings.

  Raises:
    SetupError: If settings were changed that cannot be.
  """
  harmless = []
  snapshot = loop.checkpoints.find()
  if snapshot is None and metrics_log.has_rows(root_dir):
    raise errors.SetupError(
        f'{root_dir} holds results and no checkpoint to go on from. Move them'
        ' away, or choose another --root_dir.'
    )
  if snapshot is not None:
    before = run_directory.read_record(root_dir).get('settings', {})
    fatal, harmless = settings.changes(before, now)
    if fatal:
      raise errors.SetupError(
          f'The run in {root_dir} cannot go on with other settings:'
          f' {"; ".join(fatal)}. Set them back, or choose another --root_dir.'
      )
    for change in harmless:
      logging.warning('Going on with a change: %s.', change)
    loop.restore(snapshot)
  run_directory.record_run(
      root_dir, now, harmless, seed=seed, env_steps=loop.env_steps
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
    if isinstance(error, OSError):
      raise errors.RunError(
          f'A file of {root_dir} could not be written: {error.strerror}.'
          f' {loop.checkpoints.kept()} Make room, and the same command goes on.'
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
      tf.errors.OpError,
      environment_errors.EnvironmentFailure,
  ) as error:
    raise errors.SetupError(gin_files.explain_missing(error)) from error


def _close(environment):
  """Closes an environment; one that is broken does not hide why."""
  try:
    environment.close()
  except Exception as error:  # pylint: disable=broad-exception-caught
    logging.warning('%s did not close: %s', environment.name, error)


def _small(seed):
  """A seed with room for seed + i below 2**31."""
  return int(seed) % 2**30


def _check_settings(seed, num_env_steps, warm_up_env_steps, agent_class):
  """Refuses arguments of `train_eval` that cannot run or have no effect."""
  if seed < 0:
    raise ValueError(f'The seed must not be negative, got {seed}.')
  if not 0 <= warm_up_env_steps < num_env_steps:
    raise ValueError(
        'train_eval.warm_up_env_steps must be at least 0 and less than'
        f' num_env_steps, which include it: got {warm_up_env_steps} and'
        f' {num_env_steps}.'
    )
  if not (
      isinstance(agent_class, type)
      and issubclass(agent_class, rnd_ppo_agent.RNDPPOAgent)
  ):
    raise TypeError(
        'train_eval.agent_class must be RNDPPOAgent or a subclass, such as'
        f' @RNDPPOAgent, not {agent_class!r}.'
    )
  _check_unbound('train_eval.seed', 'the flag --seed')
  for scope in ('', 'train/', 'eval/'):
    _check_unbound(f'{scope}load_environment.seed', 'the flag --seed')
    _check_unbound(
        f'{scope}load_environment.num_environments',
        'train_eval.num_environments and num_eval_episodes',
    )


def _check_unbound(name, instead):
  """Refuses a binding that the arguments of a call would hide."""
  try:
    gin.query_parameter(name)
  except ValueError:
    return
  raise ValueError(f'{name} has no effect: use {instead}.')


def _without_none(**values):
  return {k: v for k, v in values.items() if v is not None}


def _check_positive(**values):
  for name, value in values.items():
    # The rest are schedules of TensorFlow.
    if isinstance(value, (int, float, type(None))) and not (value or 0) > 0:
      raise ValueError(f'train_eval.{name} must be above 0, got {value}.')


def _create_optimizers(learning_rate, rnd_learning_rate):
  def adam(rate):
    return tf.keras.optimizers.Adam(rate, epsilon=1e-8)

  return Optimizers(
      adam(learning_rate),
      None if rnd_learning_rate is None else adam(rnd_learning_rate),
  )


def _create_agent(agent_class, tf_env, optimizers, rnd_observation_fn):
  """Builds networks and agent for an environment."""
  observation_spec = tf_env.observation_spec()
  networks = factory.create_networks(
      observation_spec,
      tf_env.action_spec(),
      random_network_distillation.observation_spec(
          observation_spec, rnd_observation_fn
      ),
  )
  agent = agent_class(
      tf_env.time_step_spec(),
      tf_env.action_spec(),
      rnd_observation_fn=rnd_observation_fn,
      train_step_counter=tf.Variable(0, dtype=tf.int64, name='train_step'),
      **optimizers._asdict(),
      **networks._asdict(),
  )
  agent.initialize()
  return agent


def _check_alike(train_env, eval_env):
  """Refuses an evaluation environment that would fail hours later."""
  for what in ('observation_spec', 'action_spec'):
    train, evaluation = (getattr(e, what)() for e in (train_env, eval_env))
    if train != evaluation:
      raise ValueError(
          f'The evaluation environment has another {what} than the one for'
          f' training: {evaluation}, and not {train}. See to the bindings of'
          ' eval/load_environment.'
      )
  eval_env.reset_with_seeds([0] * eval_env.batch_size)


def _check_rollout(agent, num_environments, rollout_length):
  """Refuses an agent that cannot train on the rollouts of the loop."""
  if not agent.trains_on_rollouts:
    raise ValueError(
        'train_eval trains on whole rollouts: leave'
        ' RNDPPOAgent.compute_value_and_advantage_in_train at True.'
    )
  rollout = 'train_eval.num_environments * rollout_length'
  # Every second transition may be a boundary between episodes, and no sample.
  if num_environments * rollout_length < 2 * agent.num_minibatches:
    raise ValueError(
        f'{rollout} are {num_environments * rollout_length} transitions, too'
        f' few for RNDPPOAgent.num_minibatches = {agent.num_minibatches}: at'
        ' least two a minibatch are needed.'
    )
  num_samples = agent.num_samples(num_environments, rollout_length)
  if num_samples < agent.num_minibatches:
    raise ValueError(
        f'{rollout} are cut into {num_samples} chunks, too few for'
        f' RNDPPOAgent.num_minibatches = {agent.num_minibatches}: lower that,'
        ' or RNDPPOAgent.unroll_length.'
    )


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
