# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collect, train, evaluate: one run of RND-PPO from gin bindings to files."""

import contextlib
import os
import signal
import time
from typing import NamedTuple, Optional
import warnings

from absl import logging
import gin
import numpy as np
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.metrics import tf_metrics
from tf_agents.policies import policy_saver
from tf_agents.policies import random_tf_policy
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.utils import common

from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.environments import loaders
from rnd_agents.evaluation import evaluator
from rnd_agents.networks import factory
from rnd_agents.plotting import learning_curves
from rnd_agents.training import progress
from rnd_agents.training import run_directory


class SetupError(ValueError):
  """Settings that cannot run, found before the first step."""


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
    checkpoint_interval_env_steps=100_000,
    stop_at_success_rate=None,
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
    checkpoint_interval_env_steps: Environment steps between checkpoints.
    stop_at_success_rate: An evaluation's success rate that ends the run early.

  Returns:
    A `Result`.

  Raises:
    SetupError: If the settings cannot run; before the first step.
  """
  with _setup_errors():
    _check_positive(
        num_env_steps=num_env_steps,
        num_environments=num_environments,
        rollout_length=rollout_length,
        num_eval_episodes=num_eval_episodes,
        eval_interval_env_steps=eval_interval_env_steps,
        checkpoint_interval_env_steps=checkpoint_interval_env_steps,
        learning_rate=learning_rate,
    )
    run_directory.check_writable(root_dir)
    seeds = [_small(s) for s in np.random.SeedSequence(seed).generate_state(3)]
    tf.keras.utils.set_random_seed(seeds[0])
    with gin.config_scope('train'):
      train_env = tf_py_environment.TFPyEnvironment(
          loaders.load_environment(
              num_environments=num_environments, seed=seeds[1]
          )
      )
    with gin.config_scope('eval'):
      eval_env = loaders.load_environment(num_environments=num_eval_episodes)
    agent = _create_agent(
        agent_class,
        train_env,
        learning_rate,
        rnd_learning_rate,
        rnd_observation_fn,
    )
    eval_seeds = [seeds[2] + i for i in range(num_eval_episodes)]
    run = _Run(
        root_dir,
        agent,
        train_env,
        evaluator.Evaluator(eval_env, agent.policy, eval_seeds),
        rollout_length,
        seed,
    )
    run_directory.record_run(root_dir, seed=seed)
  try:
    return run.loop(
        num_env_steps,
        warm_up_env_steps,
        eval_interval_env_steps,
        checkpoint_interval_env_steps,
        stop_at_success_rate,
    )
  finally:
    train_env.close()
    eval_env.close()


@contextlib.contextmanager
def _setup_errors():
  """Turns what may go wrong before the first step into `SetupError`."""
  try:
    yield
  except (
      AttributeError,
      ImportError,
      OSError,
      TypeError,
      ValueError,
      tf.errors.OpError,
  ) as error:
    raise SetupError(str(error)) from error


@contextlib.contextmanager
def _stop_signals(stop):
  """Calls `stop` at SIGINT and SIGTERM; a second one acts as usual."""
  signals = (signal.SIGINT, signal.SIGTERM)
  usual = {}

  def handle(number, frame):
    del frame
    signal.signal(number, usual[number])
    stop(signal.Signals(number).name)

  try:
    for number in signals:
      usual[number] = signal.signal(number, handle)
  except ValueError:
    pass  # Not the main thread: whoever runs this handles signals.
  try:
    yield
  finally:
    for number, handler in usual.items():
      signal.signal(number, handler)


def _small(seed):
  """A seed with room for seed + i below 2**31."""
  return int(seed) % 2**30


def _check_positive(**values):
  for name, value in values.items():
    if value <= 0:
      raise ValueError(f'train_eval.{name} must be above 0, got {value}.')


def _create_agent(
    agent_class, tf_env, learning_rate, rnd_learning_rate, rnd_observation_fn
):
  """Builds networks, optimizers and agent for an environment."""
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
      optimizer=tf.keras.optimizers.Adam(learning_rate, epsilon=1e-8),
      rnd_optimizer=(
          None
          if rnd_learning_rate is None
          else tf.keras.optimizers.Adam(rnd_learning_rate, epsilon=1e-8)
      ),
      rnd_observation_fn=rnd_observation_fn,
      train_step_counter=tf.Variable(0, dtype=tf.int64, name='train_step'),
      **networks._asdict(),
  )
  agent.initialize()
  return agent


class _Run:
  """The state of a run and the steps of its loop."""

  def __init__(self, root_dir, agent, tf_env, evaluator_, rollout_length, seed):
    self._root_dir = root_dir
    self._agent = agent
    self._env = tf_env
    self._evaluator = evaluator_
    self._rollout_length = rollout_length
    self._stopped = None  # The name of the signal, once there was one.
    self._iteration = tf.Variable(0, dtype=tf.int64, name='iteration')
    self._wall_time_s = tf.Variable(0.0, dtype=tf.float64, name='wall_time_s')
    self._env_steps = tf_metrics.EnvironmentSteps(dtype=tf.int64)
    self._checkpointer = common.Checkpointer(
        os.path.join(root_dir, 'checkpoints'),
        max_to_keep=3,
        agent=agent,
        iteration=self._iteration,
        env_steps=self._env_steps,
        wall_time_s=self._wall_time_s,
    )
    resumed = self._checkpointer.checkpoint_exists
    self._checkpointer.initialize_or_restore()
    if resumed:
      logging.info(
          'Resuming %s at %d environment steps.', root_dir, self.env_steps
      )
      # Other random numbers and episodes than the ones already played.
      again = np.random.SeedSequence((seed, self.iteration)).generate_state(2)
      tf.keras.utils.set_random_seed(int(again[0]))
      tf_env.pyenv.seed(_small(again[1]))
    self._log = run_directory.MetricsLog(
        root_dir, self.iteration if resumed else None
    )
    # T transitions need T+1 rows. The buffer is a ring of just that size, so
    # the last row of a rollout is the first one of the next, and no transition
    # is lost between two updates.
    self._buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
        agent.collect_data_spec,
        batch_size=tf_env.batch_size,
        max_length=rollout_length + 1,
    )
    self._rows_to_collect = rollout_length + 1
    self._driver = dynamic_step_driver.DynamicStepDriver(
        tf_env,
        agent.collect_policy,
        observers=[self._buffer.add_batch, self._env_steps],
        # Out of reach: `run` is told how many rows to make, so that every
        # rollout has the same shape however its episodes end.
        num_steps=tf_env.batch_size * (rollout_length + 2),
    )
    self._collect = common.function(self._driver.run)
    self._train = common.function(
        lambda: agent.train(self._buffer.gather_all())
    )

  @property
  def iteration(self):
    return int(self._iteration.numpy())

  @property
  def env_steps(self):
    return int(self._env_steps.result().numpy())

  def loop(
      self,
      num_env_steps,
      warm_up_env_steps,
      eval_interval_env_steps,
      checkpoint_interval_env_steps,
      stop_at_success_rate,
  ):
    """Runs to the end, or to a signal, and returns the `Result`."""
    bar = progress.Progress(num_env_steps, self.env_steps)
    if self.iteration == 0 and warm_up_env_steps:
      self._warm_up(warm_up_env_steps)
    next_eval = _next_multiple(self.env_steps, eval_interval_env_steps)
    next_save = _next_multiple(self.env_steps, checkpoint_interval_env_steps)
    with _stop_signals(self._stop):
      while self.env_steps < num_env_steps and not self._stopped:
        metrics = self._iterate()
        done = self.env_steps >= num_env_steps
        if self.env_steps >= next_eval or done:
          next_eval = _next_multiple(self.env_steps, eval_interval_env_steps)
          success_rate = self._evaluate().get('success_rate', 0.0)
          if (
              stop_at_success_rate is not None
              and success_rate >= stop_at_success_rate
          ):
            done = True
        bar.update(
            self.env_steps,
            train=metrics.get('return_mean'),
            eval=self._log.last('eval', 'return_mean'),
            bonus=metrics['bonus_mean'],
        )
        if self.env_steps >= next_save or done or self._stopped:
          next_save = _next_multiple(
              self.env_steps, checkpoint_interval_env_steps
          )
          self._checkpointer.save(self.iteration)
        if done:
          break
    bar.close()
    if self._stopped:
      logging.info(
          'Stopped by %s at %d environment steps. The same command goes on.',
          self._stopped,
          self.env_steps,
      )
    return self._finish()

  def _stop(self, signal_name):
    self._stopped = signal_name

  def _warm_up(self, num_env_steps):
    """Random steps that seed the observation statistics (section 2.4)."""
    driver = dynamic_step_driver.DynamicStepDriver(
        self._env,
        random_tf_policy.RandomTFPolicy(
            self._env.time_step_spec(), self._env.action_spec()
        ),
        observers=[
            lambda row: self._agent.update_observation_statistics(
                row.observation
            ),
            self._env_steps,
        ],
        num_steps=num_env_steps,
    )
    common.function(driver.run)()
    # The episodes that the random policy began are not the agent's.
    self._env.reset()
    self._env.pyenv.pop_episodes()

  def _iterate(self):
    """One rollout and one update; returns and logs its metrics."""
    start = time.monotonic()
    steps_before = self.env_steps
    self._collect(maximum_iterations=tf.constant(self._rows_to_collect))
    self._rows_to_collect = self._rollout_length
    collected = time.monotonic()
    loss_info = self._train()
    metrics = {
        name: float(value.numpy())
        for name, value in loss_info.extra._asdict().items()
    }
    metrics['loss'] = float(loss_info.loss.numpy())
    if not np.isfinite(metrics['loss']):
      raise FloatingPointError(
          f'The loss became {metrics["loss"]} in iteration {self.iteration}.'
          f' The last good checkpoint is in {self._root_dir}/checkpoints.'
          ' Lower train_eval.learning_rate, or set'
          ' RNDPPOAgent.gradient_clipping.'
      )
    end = time.monotonic()
    metrics.update(
        collect_time_s=collected - start,
        train_time_s=end - collected,
        env_steps_per_s=(self.env_steps - steps_before) / (end - start),
    )
    episodes = self._env.pyenv.pop_episodes()
    if episodes:
      metrics.update(evaluator.summarize(episodes))
    self._iteration.assign_add(1)
    self._wall_time_s.assign_add(end - start)
    self._log.write('train', self._counters(), metrics)
    return metrics

  def _evaluate(self):
    start = time.monotonic()
    metrics = evaluator.summarize(self._evaluator.run())
    self._wall_time_s.assign_add(time.monotonic() - start)
    self._log.write('eval', self._counters(), metrics)
    return metrics

  def _counters(self):
    return dict(
        iteration=self.iteration,
        env_steps=self.env_steps,
        train_steps=int(self._agent.train_step_counter.numpy()),
        wall_time_s=round(float(self._wall_time_s.numpy()), 3),
    )

  def _finish(self):
    """Policies, picture and the closing words."""
    with _quiet_saving():
      for name, policy in (
          ('policy', self._agent.policy),
          ('collect_policy', self._agent.collect_policy),
      ):
        policy_saver.PolicySaver(policy, batch_size=None).save(
            os.path.join(self._root_dir, 'policies', name)
        )
    picture = os.path.join(self._root_dir, 'learning_curve.png')
    learning_curves.plot_run(
        self._root_dir, picture, title=self._env.pyenv.name
    )
    self._log.close()
    return Result(
        not self._stopped,
        self._log.last('eval', 'return_mean'),
        self.env_steps,
        float(self._wall_time_s.numpy()),
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


def _next_multiple(value, interval):
  """Smallest multiple of `interval` above `value`."""
  return (value // interval + 1) * interval
