# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learns from replayed sequences, demonstrations among them: R2D3.

A checkpoint holds the replay with its demonstrations and priorities, too, and
the episodes as far as they are not cut yet. A resumed run goes on with all of
it; it is not the run that would have been, for Reverb's samplers take no seed.
"""

import os
import shutil
import time
from typing import Callable, NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.utils import common

from rnd_agents.agents import r2d3_agent
from rnd_agents.ops import priorities
from rnd_agents.replay import replay_checkpoints
from rnd_agents.replay import windows
from rnd_agents.training import errors
from rnd_agents.training import gin_files
from rnd_agents.training import training_loop

# Before the first iteration; afterwards iterations are counted.
_SECONDS_BETWEEN_SAVES = 60.0

# What is 0 in a batch without demonstrations, and says nothing then.
_OF_DEMONSTRATIONS = ('margin_loss', 'demonstration_agreement')


class ReplaySettings(NamedTuple):
  """How a loop replays; `r2d3_trainer.train_eval_r2d3` explains the fields."""

  window: windows.WindowSettings
  batch_size: int
  rollout_length: int
  env_steps_per_update: float
  demonstration_ratio: float
  importance_exponent: float
  importance_anneal_train_steps: Optional[int]
  num_pretraining_steps: int


class ReplayLoop(training_loop.TrainingLoop):
  """Steps all environments once, makes the updates that are due, and again."""

  REMEDY = (
      'Lower train_eval_r2d3.learning_rate, or set R2D3Agent.gradient_clipping'
  )

  def __init__(
      self,
      root_dir,
      agent,
      environment,
      evaluator_,
      seeds,
      replay_settings,
      create_replay: Callable,
      read_demonstrations: Callable,
      epsilon,
      epsilon_fn,
      **settings,
  ):
    """Builds the loop; nothing runs and nothing is written yet.

    Args:
      root_dir: The run's folder.
      agent: An `R2D3Agent`.
      environment: A `VectorPyEnvironment`.
      evaluator_: An `Evaluator` of the agent's policy.
      seeds: A `numpy.random.SeedSequence` that nothing else draws from.
      replay_settings: `ReplaySettings`.
      create_replay: Makes the `PrioritizedReplay`: a function of a seed, the
        folder for its checkpoints and which of them to restore, or None.
      read_demonstrations: Called by a new run, for a resumed one has them in
        its replay; returns a list of episodes, each a `Trajectory` of arrays
        [T+1, ...].
      epsilon: The variable [B] that the collect policy reads.
      epsilon_fn: Of `epsilons`: environment steps and B to [B].
      **settings: Of `TrainingLoop`.
    """
    self._settings = replay_settings
    self._create_replay = create_replay
    self._read_demonstrations = read_demonstrations
    self._demonstrations = []
    self._epsilon = epsilon
    self._epsilon_fn = epsilon_fn
    self._replay = None
    self._replay_seed, action_seed = seeds.generate_state(2, np.uint64)
    self._replay_dir = os.path.join(root_dir, 'checkpoints', 'replay')
    self._env_steps = tf.Variable(0, dtype=tf.int64, name='env_steps')
    self._updates_due = 0.0
    self._pretraining_steps = 0  # Done so far.
    self._next_save_s = time.monotonic() + _SECONDS_BETWEEN_SAVES
    self._time_step = None
    self._ready = False
    super().__init__(
        root_dir,
        agent,
        environment,
        evaluator_,
        seeds,
        action_seed,
        env_steps=self._env_steps,
        **settings,
    )
    self._policy_state = training_loop.as_numpy(
        agent.collect_policy.get_initial_state(environment.batch_size)
    )
    self._cutter = windows.BatchWindowCutter(
        environment.batch_size, replay_settings.window, self._add
    )
    self._act = common.function(self._collect_policy.action)
    self._train = common.function(self._train_on_batch)
    self._watch = common.function(agent.update_statistics)
    self._finite = common.function(self._are_finite)

  @property
  def env_steps(self):
    return int(self._env_steps.numpy())

  @property
  def replay(self):
    """The `PrioritizedReplay`, once the run has started."""
    return self._replay

  def close(self):
    """Stops the replay's server."""
    if self._replay is not None:
      self._replay.close()

  def load(self):
    self._demonstrations = self._read_demonstrations()

  def _add(self, sequence):
    self._replay.add(sequence)

  # ---------------------------------------------------------------------------
  # Saving and going on.

  def _own_state(self):
    return dict(
        replay=os.path.basename(self._replay.checkpoint()),
        policy_state=self._policy_state,
        cutter=self._cutter.get_state(),
        updates_due=self._updates_due,
        pretraining_steps=self._pretraining_steps,
    )

  def _restore_own_state(self, state, episodes_go_on):
    path = os.path.join(self._replay_dir, state['replay'])
    if not os.path.isdir(path):
      # The run was killed between the replay's checkpoint and its own.
      path = replay_checkpoints.newest(self._replay_dir)
      if path is None:
        raise errors.SetupError(
            f'{self._replay_dir} has no replay any more to go on with. Bring'
            ' back a copy, or choose another --root_dir.'
        )
      logging.info('The replay goes on from its newest checkpoint.')
    try:
      self._replay = self._create_replay(
          self._replay_seed, self._replay_dir, path
      )
    except RuntimeError as error:  # It is damaged.
      raise errors.SetupError(gin_files.explain_missing(error)) from error
    self._updates_due = state['updates_due']
    # Runs of older versions had all of it behind them.
    self._pretraining_steps = state.get(
        'pretraining_steps', self._settings.num_pretraining_steps
    )
    self._time_step = self._environment.reset()  # The one that was saved.
    if episodes_go_on:
      self._policy_state = state['policy_state']
      self._cutter.set_state(state['cutter'])

  # ---------------------------------------------------------------------------
  # Beginning.

  def _begin(self):
    # What a run saved that was killed before its own first checkpoint.
    shutil.rmtree(self._replay_dir, ignore_errors=True)
    try:
      self._replay = self._create_replay(
          self._replay_seed, self._replay_dir, None
      )
      self._add_demonstrations()
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
      raise errors.SetupError(gin_files.explain_missing(error)) from error
    self._time_step = self._environment.reset()

  def _prepare(self, schedule):
    if self.iteration:
      return
    pretraining = self._settings.num_pretraining_steps
    while self._pretraining_steps < pretraining and not self.stopped_by:
      self._pretrain()
      # What the next update would stumble over must not be saved.
      self._check_finite({}, self._finite().numpy())
      self._save_now_and_then()
    # At random, and not as a demonstrator would.
    epsilon = np.ones([self._environment.batch_size], np.float32)

    def step():
      self._step(epsilon)
      self._save_now_and_then()

    self._warm_up(schedule, step)
    self._environment.pop_episodes()
    if self.stopped_by:
      self._save()

  def _save_now_and_then(self):
    """Saves once a minute, and for a twentieth of the time at most."""
    start = time.monotonic()
    if start > self._next_save_s:
      self._save()
      end = time.monotonic()
      self._next_save_s = end + max(
          _SECONDS_BETWEEN_SAVES, 20 * (end - start)
      )

  def _add_demonstrations(self):
    """Cuts the demonstrations as the agent's own episodes are cut."""
    cutter = windows.WindowCutter(
        self._settings.window,
        self._replay.add_demonstration,
        is_demonstration=True,
    )
    spec = self._agent.collect_policy.policy_state_spec
    for episode in self._demonstrations:
      states = _stored_states(episode, spec)
      episode = episode.replace(policy_info=())
      for t in range(len(episode.step_type)):
        cutter.add(
            tf.nest.map_structure(lambda x, t=t: x[t], episode),
            tuple(part[t] for part in states),
        )
      cutter.reset()
    self._demonstrations = []  # The replay has them now.
    needed = (
        self._settings.demonstration_ratio
        or self._settings.num_pretraining_steps
    )
    if needed and not self._replay.sizes()['demonstrations']:
      raise ValueError(
          'None of the demonstrations has'
          f' {self._settings.window.unroll_length} steps, and'
          " train_eval_r2d3.window_remainder = 'drop' leaves out what is"
          " shorter: lower unroll_length, or take 'pad'."
      )

  def _pretrain(self):
    """An update on demonstrations before the first environment step."""
    num_steps = self._settings.num_pretraining_steps
    info = self._update(demonstration_ratio=1.0)
    self._pretraining_steps += 1
    done = self._pretraining_steps
    if done % max(num_steps // 20, 1) == 0 or done in (1, num_steps):
      logging.info(
          'Pretraining %d of %d: loss %.4f, agreement with the demonstrator'
          ' %.2f',
          done, num_steps, info['loss'], info['demonstration_agreement'],
      )

  # ---------------------------------------------------------------------------
  # Learning.

  def _learn(self):
    start = time.monotonic()
    train_time_s = 0.0
    infos = []
    batch_size = self._environment.batch_size
    for _ in range(self._settings.rollout_length):
      steps = self._step(self._epsilon_fn(self.env_steps, batch_size))
      self._updates_due += steps / self._settings.env_steps_per_update
      train_start = time.monotonic()
      while self._updates_due >= 1.0 and self._is_ready():
        infos.append(self._update(self._settings.demonstration_ratio))
        self._updates_due -= 1.0
      train_time_s += time.monotonic() - train_start
    sizes = self._replay.sizes()
    metrics = _means(infos)
    unmeasured = []
    if self._agent.curiosity is None:
      unmeasured += ['bonus_mean', 'rnd_loss']
    if not sizes['demonstrations']:
      unmeasured += ['demonstration_rate']
    for name in unmeasured:
      metrics.pop(name, None)
    metrics['replay_sequences'] = sizes['agent']
    if sizes['demonstrations']:
      metrics['demonstration_sequences'] = sizes['demonstrations']
    metrics['epsilon_mean'] = float(np.mean(self._epsilon.numpy()))
    total_s = time.monotonic() - start
    return training_loop.Learned(
        metrics,
        self._finite().numpy(),
        dict(
            collect_time_s=max(total_s - train_time_s, 1e-9),
            train_time_s=max(train_time_s, 1e-9),
        ),
    )

  def _is_ready(self):
    """Whether batches can be drawn; until then updates are not owed."""
    if not self._ready:  # Tables do not become shorter again.
      self._ready = self._replay.is_ready(self._settings.demonstration_ratio)
      if not self._ready:
        self._updates_due = 0.0
        logging.log_every_n_seconds(
            logging.INFO,
            'No update yet: %d sequences are fewer than'
            ' PrioritizedReplay.min_sequences.',
            10,
            self._replay.sizes()['agent'],
        )
    return self._ready

  def _step(self, epsilon):
    """One step of all environments; returns how many of them acted."""
    self._epsilon.assign(epsilon)
    time_step = self._time_step
    step = self._act(
        training_loop.as_tensors(time_step),
        training_loop.as_tensors(self._policy_state),
    )
    action = step.action.numpy()
    with self._environment_errors():
      self._time_step = self._environment.step(action)
    row = trajectory.from_transition(
        time_step, step._replace(action=action), self._time_step
    )
    row = tf.nest.map_structure(np.asarray, row)
    self._cutter(row)
    if self._agent.curiosity is not None:
      self._watch(training_loop.as_tensors(row))
    self._policy_state = training_loop.as_numpy(step.state)
    acted = int(np.sum(time_step.step_type != ts.StepType.LAST))
    self._env_steps.assign_add(acted)
    return acted

  def _update(self, demonstration_ratio):
    """One optimizer step; returns its metrics."""
    batch = self._replay.sample(
        self._settings.batch_size, demonstration_ratio
    )
    loss, metrics, new_priorities = self._train(
        training_loop.as_tensors(batch.sequences),
        tf.constant(batch.probabilities),
        tf.constant(batch.table_sizes),
    )
    info = dict(
        zip(r2d3_agent.METRICS, metrics.numpy(), strict=True),
        loss=float(loss.numpy()),
    )
    new_priorities = new_priorities.numpy()
    if not np.all(np.isfinite(new_priorities)):
      # Here and not after the iteration: the replay would refuse them.
      self._check_finite(info, self._finite().numpy())
    self._replay.update_priorities(
        batch.keys, new_priorities, batch.sequences.is_demonstration
    )
    return info

  def _train_on_batch(self, sequences, probabilities, table_sizes):
    loss_info = self._agent.train(
        sequences.trajectory,
        weights=priorities.importance_weights(
            probabilities, table_sizes, self._importance_exponent()
        ),
        network_state=sequences.network_state,
        is_demonstration=sequences.is_demonstration,
    )
    metrics = tf.stack(
        [getattr(loss_info.extra, name) for name in r2d3_agent.METRICS]
    )
    return loss_info.loss, metrics, loss_info.extra.priorities

  def _importance_exponent(self):
    """Beta of this update: rises linearly to 1 if it is annealed."""
    first = self._settings.importance_exponent
    num_steps = self._settings.importance_anneal_train_steps
    if num_steps is None:
      return first
    done = tf.cast(self._agent.train_step_counter, tf.float32) / num_steps
    return first + (1.0 - first) * tf.minimum(done, 1.0)


def _means(infos):
  """Means over updates; what is of demonstrations, over those that had any."""
  with_some = [info for info in infos if info['demonstration_rate']]
  means = {}
  for name in infos[0] if infos else ():
    counted = with_some if name in _OF_DEMONSTRATIONS else infos
    if counted:
      means[name] = float(np.mean([info[name] for info in counted]))
  return means


def _stored_states(episode, spec):
  """States of each frame, flat [T+1, ...]; zeros where none were stored.

  A demonstrator with a network of its own remembers what this one cannot read,
  so that only states of the same shapes are taken. Whether they are of the same
  network nobody can tell: the log says which it was.
  """
  flat_spec = tf.nest.flatten(spec)
  info = episode.policy_info
  stored = info.get('network_state', ()) if isinstance(info, dict) else ()
  stored = tf.nest.flatten(stored)
  shapes = [leaf.shape.as_list() for leaf in flat_spec]
  stored_shapes = [list(part.shape[1:]) for part in stored]
  if stored and stored_shapes == shapes:
    logging.log_first_n(
        logging.INFO,
        'The states that were recorded with the demonstrations are taken for'
        ' those of this network.',
        1,
    )
    return stored
  if stored:
    logging.log_first_n(
        logging.WARNING,
        'The states that were recorded with the demonstrations have shapes %s,'
        ' not %s: they begin from zero.',
        1,
        stored_shapes,
        shapes,
    )
  length = len(episode.step_type)
  return [
      np.zeros([length, *leaf.shape], leaf.dtype.as_numpy_dtype)
      for leaf in flat_spec
  ]
