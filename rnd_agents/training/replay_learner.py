# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The learner of `off_policy.ReplayTraining`.

A checkpoint holds the replay with its demonstrations and priorities, the parts
of episodes that are not cut yet and every random generator, so that a resumed
run is the run that would have been.
"""

import shutil

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents.collecting import local
from rnd_agents.ops import annealing
from rnd_agents.ops import priorities
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequence_table
from rnd_agents.training import loops

# Metrics that say nothing of a batch without demonstrations.
_OF_DEMONSTRATIONS = ('margin_loss', 'demonstration_agreement')
# Nor this one of a batch of demonstrations alone.
_AGE = 'data_age_train_steps'


class ReplayLearner(loops.Learner):
  """Adds what is collected to a replay, and makes the updates that are due."""

  def __init__(
      self,
      agent,
      num_environments,
      settings,
      replay,
      read_demonstrations,
      replay_dir,
      num_checkpoints,
      view=None,
  ):
    """Builds the learner; nothing runs and nothing is written yet.

    Args:
      agent: An off-policy agent, such as `R2D3Agent`, with an epsilon [B] that
        is a variable of its collect policy.
      num_environments: B.
      settings: An `off_policy.ReplayTraining`.
      replay: An empty `PrioritizedReplay`.
      read_demonstrations: Called by a new run, for a resumed one has them in
        its replay; returns a list of episodes, each a `Trajectory` of arrays
        [T+1, ...].
      replay_dir: Where the files of the replay lie.
      num_checkpoints: How many checkpoints of the run are kept, each with the
        files of its replay.
      view: As for `on_policy.OnPolicyLearner`.
    """
    self._agent = agent
    self._num_environments = num_environments
    self._settings = settings
    self._replay = replay
    self._read_demonstrations = read_demonstrations
    self._replay_dir = replay_dir
    self._num_checkpoints = num_checkpoints
    self._view = view
    self._saved_files = []  # Names of files, a list for each checkpoint.
    self._updates_due = 0.0
    self._pretraining_steps = 0  # Done so far.
    self._is_ready = False
    self._infos = []  # Metrics of each update.
    self._epsilon = agent.collect_policy.epsilon
    self._floating_variables = loops.floating_variables(agent)
    self._cutter = episode_cutter.EpisodeCutter(
        settings.window,
        lambda found: replay.add(found, train_step=self._train_steps()),
    )
    self._train = common.function(self._train_on_batch)
    self._watch = common.function(self._watch_in_graph)
    self._are_finite = common.function(
        lambda: loops.are_finite(self._floating_variables.values())
    )

  @property
  def environment_variables(self):
    """Epsilon, of each environment."""
    return [self._epsilon]

  # ---------------------------------------------------------------------------
  # Beginning.

  def begin(self):
    self._add_demonstrations(self._read_demonstrations())
    # What a run saved that was killed before its own first checkpoint.
    shutil.rmtree(self._replay_dir, ignore_errors=True)

  def pretrain(self):
    """Learns from demonstrations alone."""
    while self._pretraining_steps < self._settings.num_pretraining_steps:
      self._pretrain()
      yield self._is_evaluation_due()

  def _add_demonstrations(self, episodes):
    """Cuts the demonstrations as the agent's own episodes are cut."""
    cutter = episode_cutter.EpisodeCutter(
        self._settings.window,
        self._replay.add_demonstrations,
        is_demonstration=True,
    )
    spec = self._agent.collect_policy.policy_state_spec
    for episode in episodes:
      states = tuple(_stored_states(episode, spec))
      episode = episode.replace(policy_info=dict(network_state=states))
      episodic = ()
      if self._agent.curiosity is not None:
        episodic = self._agent.curiosity.episodic_of_rows(episode)
      cutter(
          *tf.nest.map_structure(
              lambda x: np.asarray(x)[np.newaxis], (episode, episodic)
          )
      )
      cutter.reset()
    needed = (
        self._settings.demonstration_ratio
        or self._settings.num_pretraining_steps
    )
    if needed and not self._replay.sizes()['demonstrations']:
      raise errors.SetupError(
          'None of the demonstrations has'
          f' {self._settings.window.unroll_length} steps, and'
          " ReplayTraining.window_remainder = 'drop' leaves out what is"
          " shorter: lower ReplayTraining.unroll_length, or take 'pad'."
      )

  def _pretrain(self):
    """An update on demonstrations before the first environment step."""
    num_steps = self._settings.num_pretraining_steps
    info = self._update(demonstration_ratio=1.0)
    self._pretraining_steps += 1
    done = self._pretraining_steps
    # What the next update would fail on must not be saved.
    self._check_finite(info)
    if done % max(num_steps // 20, 1) == 0 or done in (1, num_steps):
      logging.info(
          'Pretraining %d of %d: loss %.4f, agreement with the demonstrator'
          ' %.2f',
          done,
          num_steps,
          info['loss'],
          info.get('demonstration_agreement', np.nan),
      )

  def _is_evaluation_due(self):
    interval = self._settings.pretraining_eval_interval_train_steps
    return bool(interval) and self._pretraining_steps % interval == 0

  # ---------------------------------------------------------------------------
  # Learning.

  def explore(self, env_steps):
    epsilon = self._settings.epsilon_fn(env_steps, self._num_environments)
    if not np.array_equal(self._epsilon.numpy(), epsilon):
      self._epsilon.assign(epsilon)
      self.policy_version += 1

  def begin_episodes(self):
    self._cutter.reset()

  def add(self, rollout):
    rows, is_new, episodic = rollout.trajectory, rollout.is_new, ()
    if self._view is not None or self._agent.curiosity is not None:
      rows, is_new, episodic = local.as_numpy(
          self._watch(local.as_tensors(rows), tf.constant(is_new))
      )
    self._cutter(rows, episodic, is_new)

  def _watch_in_graph(self, rows, is_new):
    """Returns what the agent learns from, and has its curiosity see it.

    Args:
      rows: What was collected, a `Trajectory` [B, T+1].
      is_new: Booleans [B, T+1].

    Returns:
      A tuple (a `Trajectory` [B, N]; booleans [B, N]: which rows are there;
      what the curiosity knows of them, a nest [B, N, ...]).
    """
    if self._view is not None:
      rows, is_new = self._view(rows)
    curiosity = self._agent.curiosity
    if curiosity is None:
      return rows, is_new, ()
    columns = tf.where(tf.reduce_any(is_new, axis=0))[:, 0]
    rows, is_new = tf.nest.map_structure(
        lambda x: tf.gather(x, columns, axis=1), (rows, is_new)
    )

    def watch(t):
      row, mask = tf.nest.map_structure(lambda x: x[:, t], (rows, is_new))
      return self._agent.update_statistics(row, mask), mask

    # The mask comes back because there may be nothing else to return.
    types = tf.nest.map_structure(lambda x: x.dtype, curiosity.episodic_spec)
    episodic, _ = tf.map_fn(
        watch,
        tf.range(tf.size(columns)),
        parallel_iterations=1,
        fn_output_signature=(types, tf.bool),
    )
    return rows, is_new, tf.nest.map_structure(
        common.transpose_batch_time, episodic
    )

  def train(self, num_env_steps):
    self._updates_due += num_env_steps / self._settings.env_steps_per_update
    while self._updates_due >= 1.0 and self._has_enough():
      self._infos.append(self._update(self._settings.demonstration_ratio))
      self._updates_due -= 1.0

  def _has_enough(self):
    """Whether batches can be drawn; until then updates are not owed."""
    if not self._is_ready:  # Tables do not become shorter again.
      self._is_ready = self._replay.is_ready(self._settings.demonstration_ratio)
      if not self._is_ready:
        self._updates_due = 0.0
        logging.log_every_n_seconds(
            logging.INFO,
            'No update yet: %d sequences are fewer than'
            ' PrioritizedReplay.min_sequences.',
            10,
            self._replay.sizes()['agent'],
        )
    return self._is_ready

  def _train_steps(self):
    """Updates of the agent so far."""
    return self._agent.train_step_counter.numpy()

  def _update(self, demonstration_ratio):
    """One optimizer step; returns its metrics."""
    batch = self._replay.sample(
        self._settings.batch_size, demonstration_ratio
    )
    ages = self._train_steps() - batch.train_steps
    metrics, new_priorities = self._train(
        local.as_tensors(batch.sequences),
        tf.constant(batch.probabilities),
        tf.constant(batch.table_sizes),
    )
    self.policy_version += 1
    info = {name: float(value.numpy()) for name, value in metrics.items()}
    is_own = ~batch.sequences.is_demonstration
    info[_AGE] = float(np.sum(ages * is_own) / max(np.sum(is_own), 1))
    # Where the agent has not measured it.
    info.setdefault('demonstration_rate', float(np.mean(~is_own)))
    new_priorities = new_priorities.numpy()
    if not np.all(np.isfinite(new_priorities)):
      # Here and not after the iteration: the replay would refuse them.
      self._check_finite(info)
    self._replay.update_priorities(
        batch.keys, new_priorities, batch.sequences.is_demonstration
    )
    return info

  def _train_on_batch(self, batch, probabilities, table_sizes):
    loss_info = self._agent.train(
        batch.trajectory,
        weights=priorities.importance_weights(
            probabilities, table_sizes, self._importance_exponent()
        ),
        network_state=batch.network_state,
        is_demonstration=batch.is_demonstration,
    )
    metrics = dict(loss_info.extra._asdict(), loss=loss_info.loss)
    return metrics, metrics.pop('priorities')

  def _importance_exponent(self):
    """Beta of this update: rises linearly to 1 if it is annealed."""
    return annealing.linear(
        self._settings.importance_exponent,
        1.0,
        self._agent.train_step_counter,
        self._settings.importance_anneal_train_steps,
    )

  # ---------------------------------------------------------------------------
  # Metrics.

  def metrics(self):
    sizes = self._replay.sizes()
    metrics = _means(self._infos)
    self._infos = []
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
    return metrics

  def finite(self):
    return dict(
        zip(self._floating_variables, self._are_finite().numpy(), strict=True)
    )

  def _check_finite(self, info):
    loops.check_finite(info, self.finite())

  # ---------------------------------------------------------------------------
  # Saving and resuming.

  def get_state(self):
    # First, so that there is room for the new ones.
    kept = self._saved_files[-self._num_checkpoints :]
    prioritized_replay.prune(
        self._replay_dir, {name for names in kept for name in names}
    )
    replay = self._replay.save(self._replay_dir)
    self._saved_files = [*kept, prioritized_replay.file_names(replay)]
    return dict(
        replay=replay,
        saved_files=self._saved_files,
        cutter=self._cutter.get_state(),
        updates_due=self._updates_due,
        pretraining_steps=self._pretraining_steps,
    )

  def set_state(self, state, episodes_go_on):
    try:
      self._replay.restore(self._replay_dir, state['replay'])
    except sequence_table.DamagedReplayError as error:
      if not self._settings.replaces_damaged_replay:
        raise errors.SetupError(
            f'{error} Bring back a copy; or set ReplayTraining.replaces_damaged'
            '_replay = True to go on with an empty replay, into which'
            ' demonstrations are read again; or choose another --root_dir.'
        ) from error
      logging.warning('Going on with an empty replay: %s', error)
      self._add_demonstrations(self._read_demonstrations())
    self._saved_files = state['saved_files']
    self._updates_due = state['updates_due']
    self._pretraining_steps = state['pretraining_steps']
    if episodes_go_on:
      self._cutter.set_state(state['cutter'])


def _means(infos):
  """Means of each metric over the updates that have measured it."""
  means = {}
  for name in infos[0] if infos else ():
    measured = [info[name] for info in infos if _measures(info, name)]
    if measured:
      means[name] = float(np.mean(measured))
  return means


def _measures(info, name):
  """Whether an update has measured a metric."""
  if name == _AGE:
    return info['demonstration_rate'] < 1.0
  return name not in _OF_DEMONSTRATIONS or info['demonstration_rate'] > 0.0


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
