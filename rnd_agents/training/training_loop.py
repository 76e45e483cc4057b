# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collects, trains, evaluates and saves, so that any of it can be broken off.

All that decides how a run goes on lies in its checkpoint: variables, generators
of random numbers, the episodes in progress, what the policy remembers of them,
and the row that the last rollout shares with the next. A run that was killed
and resumed is the run that was not, wherever the environments can be put back
(`VectorPyEnvironment.get_state`).
"""

import contextlib
import os
import time
from typing import NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.metrics import tf_metrics
from tf_agents.policies import random_tf_policy
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.utils import common

from rnd_agents.environments import errors as environment_errors
from rnd_agents.evaluation import evaluator
from rnd_agents.training import checkpoints
from rnd_agents.training import errors
from rnd_agents.training import metrics_log
from rnd_agents.training import progress
from rnd_agents.training import seeded_policy
from rnd_agents.training import stop_signals

_SECONDS_BETWEEN_REPORTS = 10.0


class Schedule(NamedTuple):
  """When a run does what; `trainer.train_eval` explains the fields."""

  num_env_steps: int
  warm_up_env_steps: int
  eval_interval_env_steps: int
  checkpoint_interval_iterations: int
  stop_at_success_rate: Optional[float]


class TrainingLoop:
  """The state of a run and the steps of its loop."""

  def __init__(
      self,
      root_dir,
      agent,
      tf_env,
      evaluator_,
      rollout_length,
      seeds,
      num_checkpoints=3,
      watcher=None,
  ):
    """Builds the loop; nothing runs and nothing is written yet.

    Args:
      root_dir: The run's folder.
      agent: An `RNDPPOAgent`.
      tf_env: A `TFPyEnvironment` of a `VectorPyEnvironment`.
      evaluator_: An `Evaluator` of the agent's policy.
      rollout_length: Steps of each environment between two updates.
      seeds: A `numpy.random.SeedSequence` that nothing else draws from.
      num_checkpoints: Checkpoints that stay.
      watcher: A `watching.Watcher`, or None.
    """
    self._watcher = watcher
    self._agent = agent
    self._env = tf_env
    self._evaluator = evaluator_
    self._rollout_length = rollout_length
    self._seeds = seeds
    self._root_dir = root_dir
    self._log = None
    self._resumed = False
    self._stopped_by = None  # The name of the signal, once there was one.
    self._warned_of_episodes = False
    # Of the rollout before, NumPy.
    self._last_row = None
    self._policy_state = _as_numpy(
        agent.collect_policy.get_initial_state(tf_env.batch_size)
    )
    self._iteration = tf.Variable(0, dtype=tf.int64, name='iteration')
    self._episodes = tf.Variable(0, dtype=tf.int64, name='episodes')
    self._wall_time_s = tf.Variable(0.0, dtype=tf.float64, name='wall_time_s')
    self._env_steps = tf_metrics.EnvironmentSteps(dtype=tf.int64)
    generator = tf.random.Generator.from_seed(
        int(seeds.generate_state(1, np.uint64)[0] >> np.uint64(1))
    )
    self.checkpoints = checkpoints.Checkpoints(
        os.path.join(root_dir, 'checkpoints'),
        max_to_keep=num_checkpoints,
        agent=agent,
        collecting=generator,
        iteration=self._iteration,
        episodes=self._episodes,
        env_steps=self._env_steps,
        wall_time_s=self._wall_time_s,
    )
    # T transitions need T+1 rows. The buffer is a ring of just that size, so
    # the last row of a rollout is the first one of the next, and no transition
    # is lost between two updates.
    self._buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
        agent.collect_data_spec,
        batch_size=tf_env.batch_size,
        max_length=rollout_length + 1,
    )
    self._collect = common.function(
        dynamic_step_driver.DynamicStepDriver(
            tf_env,
            seeded_policy.SeededPolicy(agent.collect_policy, generator),
            observers=[self._buffer.add_batch, self._env_steps],
            # Out of reach: `run` is told how many rows to make, so that every
            # rollout has the same shape however its episodes end.
            num_steps=tf_env.batch_size * (rollout_length + 2),
        ).run
    )
    self._floating_variables = {
        f'{group} {v.name}': v
        for group, variables in (
            ('policy or value', agent.collect_policy.variables()),
            ('RND', agent.curiosity.variables),
        )
        for v in variables
        if v.dtype.is_floating
    }
    self._train = common.function(self._train_on_buffer)

  # ---------------------------------------------------------------------------
  # Where the run stands.

  @property
  def iteration(self):
    return int(self._iteration.numpy())

  @property
  def env_steps(self):
    return int(self._env_steps.result().numpy())

  @property
  def wall_time_s(self):
    return float(self._wall_time_s.numpy())

  @property
  def stopped_by(self):
    """The name of the signal that stopped the run, or None."""
    return self._stopped_by

  @property
  def log(self):
    """The `MetricsLog`, once the run has started."""
    return self._log

  # ---------------------------------------------------------------------------
  # Saving and going on.

  def restore(self, snapshot):
    """Goes on from a `checkpoints.Snapshot`.

    Raises:
      SetupError: If it is of another agent.
    """
    self.checkpoints.restore(snapshot)
    self._resumed = True
    state = snapshot.state
    if self._watcher is not None and state['watcher'] is not None:
      self._watcher.restore(state['watcher'])
    try:
      if state['environment'] is None:
        raise environment_errors.StateNotRestored('It was not saved.')
      self._env.pyenv.set_state(state['environment'])
      self._last_row = state['last_row']
      self._policy_state = state.get('policy_state', self._policy_state)
    except (
        NotImplementedError,
        environment_errors.StateNotRestored,
        environment_errors.EnvironmentFailure,
    ) as error:
      self._env.pyenv.failure = None
      # Other episodes than those already played.
      seed = np.random.SeedSequence(
          (*self._seeds.generate_state(1), self.iteration)
      )
      self._env.pyenv.seed(int(seed.generate_state(1)[0]) % 2**30)
      logging.warning(
          'The episodes in progress cannot go on; new ones begin. %s', error
      )
    if self._last_row is not None:
      self._buffer.add_batch(_as_tensors(self._last_row))
    logging.info('Resuming at %d environment steps.', self.env_steps)

  def _save(self):
    start = time.monotonic()
    self.checkpoints.save(
        self.iteration,
        dict(
            environment=self._environment_state(),
            last_row=self._last_row,
            policy_state=self._policy_state,
            watcher=None if self._watcher is None else self._watcher.state(),
        ),
    )
    return time.monotonic() - start

  def _environment_state(self):
    try:
      return self._env.pyenv.get_state()
    except NotImplementedError as error:
      if not self._warned_of_episodes:
        self._warned_of_episodes = True
        logging.info('A resumed run will begin new episodes: %s', error)
      return None

  # ---------------------------------------------------------------------------
  # The loop.

  def run(
      self,
      schedule,
      on_start=lambda log: None,
      on_progress=lambda: None,
  ):
    """Runs to the end, or to a signal.

    Args:
      schedule: A `Schedule`.
      on_start: Called with the `MetricsLog` where the run is a new one.
      on_progress: Called every few seconds.

    Raises:
      RunError: If it has to stop.
    """
    with stop_signals.calling(self._stop):
      self._log = metrics_log.MetricsLog(
          self._root_dir, self.iteration if self._resumed else None
      )
      if not self._resumed:
        on_start(self._log)
        self._warm_up(schedule.warm_up_env_steps)
        self._save()
      bar = progress.Progress(schedule.num_env_steps, self.env_steps)
      try:
        self._repeat(schedule, bar, on_progress)
        self.checkpoints.wait()
      finally:
        bar.close()
    if self._stopped_by:
      logging.info(
          'Stopped by %s at %d environment steps.',
          self._stopped_by,
          self.env_steps,
      )

  def _repeat(self, schedule, bar, on_progress):
    """Iterations until the run is done or stopped."""
    interval = schedule.eval_interval_env_steps
    next_eval = _next_multiple(self.env_steps, interval)
    save_time_s = 0.0
    reported = time.monotonic()
    done = self.env_steps >= schedule.num_env_steps or self._solved(schedule)
    while not done and not self._stopped_by:
      metrics = self._iterate(save_time_s)
      done = self.env_steps >= schedule.num_env_steps
      if self.env_steps >= next_eval or done:
        next_eval = _next_multiple(self.env_steps, interval)
        start = time.monotonic()
        episodes = self._evaluate()
        done = done or self._solved(schedule)
        # Who stops a run may have little time until it is killed.
        if self._watcher is not None and not self._stopped_by:
          self._watcher.after_evaluation(
              self._log, self.env_steps, self.wall_time_s, episodes, done
          )
        self._wall_time_s.assign_add(time.monotonic() - start)
      bar.update(
          self.env_steps,
          train=metrics.get('return_mean'),
          eval=self._log.last('eval', 'return_mean'),
          bonus=metrics['bonus_mean'],
      )
      save_time_s = 0.0
      due = self.iteration % schedule.checkpoint_interval_iterations == 0
      if due or done or self._stopped_by:
        save_time_s = self._save()
      if time.monotonic() - reported > _SECONDS_BETWEEN_REPORTS:
        reported = time.monotonic()
        on_progress()

  def _solved(self, schedule):
    """Whether the last evaluation, of an earlier start maybe, was the end."""
    rate = self._log.last('eval', 'success_rate')
    limit = schedule.stop_at_success_rate
    return rate is not None and limit is not None and rate >= limit

  def _stop(self, signal_name):
    self._stopped_by = signal_name

  def _warm_up(self, num_env_steps):
    """Random steps that seed the observation statistics (section 2.4)."""
    if num_env_steps:
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
      with self._environment_errors():
        common.function(driver.run)()
    # The episodes that the random policy began are not the agent's.
    with self._environment_errors():
      self._env.reset()
    self._env.pyenv.pop_episodes()

  def _train_on_buffer(self):
    """One update, in a graph.

    Returns:
      A tuple (loss info, whether each of the floating variables is finite, the
      last row of the rollout).
    """
    experience = self._buffer.gather_all()
    loss_info = self._agent.train(experience)
    finite = [
        tf.reduce_all(tf.math.is_finite(variable))
        for variable in self._floating_variables.values()
    ]
    last_row = tf.nest.map_structure(lambda x: x[:, -1], experience)
    return loss_info, tf.stack(finite), last_row

  def _iterate(self, save_time_s):
    """One rollout and one update; returns and logs its metrics."""
    start = time.monotonic()
    steps_before = self.env_steps
    rows = self._rollout_length + (self._last_row is None)
    with self._environment_errors():
      _, policy_state = self._collect(
          policy_state=_as_tensors(self._policy_state),
          maximum_iterations=tf.constant(rows),
      )
    collected = time.monotonic()
    loss_info, finite, last_row = self._train()
    self._iteration.assign_add(1)
    metrics = {
        name: float(value.numpy())
        for name, value in loss_info.extra._asdict().items()
    }
    metrics['loss'] = float(loss_info.loss.numpy())
    self._check_finite(metrics, finite.numpy())
    self._last_row = _as_numpy(last_row)
    self._policy_state = _as_numpy(policy_state)
    end = time.monotonic()
    steps = self.env_steps - steps_before
    self._wall_time_s.assign_add(end - start + save_time_s)
    episodes = self._env.pyenv.pop_episodes()
    if episodes:
      self._episodes.assign_add(len(episodes))
      metrics.update(evaluator.summarize(episodes))
    self._log.write(
        'train',
        self._counters(),
        metrics,
        dict(
            wall_time_s=self.wall_time_s,
            collect_time_s=collected - start,
            train_time_s=end - collected,
            save_time_s=save_time_s,
            env_steps_per_s=steps / (end - start + save_time_s),
            collect_env_steps_per_s=steps / (collected - start),
            train_env_steps_per_s=steps / (end - collected),
        ),
    )
    return metrics

  def _check_finite(self, metrics, finite):
    """Raises RunError where a loss, a statistic or a variable is not finite."""
    bad = [
        f'{name} became {value}'
        for name, value in metrics.items()
        if not np.isfinite(value)
    ]
    bad += [
        f'the {name} is not finite'
        for name, good in zip(self._floating_variables, finite, strict=True)
        if not good
    ]
    if not bad:
      return
    more = f' (and {len(bad) - 1} more)' if len(bad) > 1 else ''
    raise errors.RunError(
        f'In iteration {self.iteration}, at {self.env_steps} environment steps,'
        f' {bad[0]}{more}. {self.checkpoints.kept()} Lower'
        ' train_eval.learning_rate, or set RNDPPOAgent.gradient_clipping, and'
        ' give the same command to go on from there.'
    )

  def _evaluate(self):
    start = time.monotonic()
    with self._environment_errors():
      episodes = self._evaluator.run()
    metrics = evaluator.summarize(episodes)
    rooms = [n for n in self._evaluator.rooms_visited if n is not None]
    if rooms:
      metrics['rooms_visited_mean'] = float(np.mean(rooms))
      metrics['rooms_visited_max'] = max(rooms)
    eval_time_s = time.monotonic() - start
    self._log.write(
        'eval',
        self._counters(),
        metrics,
        dict(
            wall_time_s=self.wall_time_s + eval_time_s, eval_time_s=eval_time_s
        ),
    )
    return episodes

  def _counters(self):
    return dict(
        iteration=self.iteration,
        env_steps=self.env_steps,
        train_steps=int(self._agent.train_step_counter.numpy()),
        total_episodes=int(self._episodes.numpy()),
    )

  @contextlib.contextmanager
  def _environment_errors(self):
    """Makes a `RunError` of what an environment raises."""
    try:
      yield
    except Exception as error:
      for environment in (self._env.pyenv, self._evaluator.environment):
        if environment.failure is not None:
          raise errors.RunError(
              f'{environment.failure}\n{self.checkpoints.kept()}'
          ) from error
      if isinstance(
          error,
          (environment_errors.EnvironmentFailure, evaluator.EndlessEpisode),
      ):
        raise errors.RunError(f'{error}\n{self.checkpoints.kept()}') from error
      raise


def _as_numpy(nest):
  return tf.nest.map_structure(lambda x: x.numpy(), nest)


def _as_tensors(nest):
  return tf.nest.map_structure(tf.convert_to_tensor, nest)


def _next_multiple(value, interval):
  """Smallest multiple of `interval` above `value`."""
  return (value // interval + 1) * interval
