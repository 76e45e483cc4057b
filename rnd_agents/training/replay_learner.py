# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Adds rollouts to a replay, and makes the updates that are due.

A checkpoint holds the replay with its demonstrations and priorities, the parts
of episodes that are not cut yet and every random generator, so that a resumed
run continues as if it had not stopped.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TYPE_CHECKING

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import trajectory as trajectory_lib
from tf_agents.typing import types
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents import graph_calls
from rnd_agents.agents import replay_agent
from rnd_agents.collecting import local
from rnd_agents.environments import failures
from rnd_agents.ops import q_learning
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequence_table
from rnd_agents.training import checkpoints
from rnd_agents.training import loops

if TYPE_CHECKING:
  from rnd_agents.training import off_policy

# Metrics that need a batch with demonstrations.
_OF_DEMONSTRATIONS = ('margin_loss', 'demonstration_agreement')
# A metric that needs a batch with other sequences.
_AGE = 'data_age_train_steps'


class ReplayLearner(loops.Learner):
  """Adds rollouts to a replay, and makes the updates that are due."""

  def __init__(
      self,
      agent: replay_agent.ReplayAgent,
      num_environments: int,
      config: 'off_policy.ReplayTraining',
      replay: prioritized_replay.PrioritizedReplay,
      read_demonstrations: Callable[[], list[trajectory_lib.Trajectory]],
      parts: checkpoints.Parts,
  ):
    """Builds the learner; nothing runs and nothing is written yet.

    Args:
      agent: An agent such as `R2D3Agent`. An epsilon [B] of its collect policy
        must be a variable.
      num_environments: B.
      config: How the agent is trained.
      replay: An empty replay.
      read_demonstrations: Returns a list of episodes, each a `Trajectory` of
        arrays [T+1, ...]. A resumed run does not call it: its replay has them.
      parts: The replay's files.
    """
    self._agent = agent
    self._num_environments = num_environments
    self._config = config
    self._replay = replay
    self._read_demonstrations = read_demonstrations
    self._parts = parts
    self._updates_due = 0.0
    self._pretraining_steps = 0  # Done so far.
    self._is_ready = False
    self._num_train_steps: int | None = None  # None: ask the agent.
    self._infos: list[dict[str, float]] = []  # Metrics of each update.
    self._epsilon: tf.Variable | None = agent.collect_epsilon
    self._floating_variables = loops.floating_variables(agent)
    self._cutter = episode_cutter.EpisodeCutter(
        config.window,
        lambda found: self._replay.add(found, train_step=self._train_steps()),
    )
    self._train = graph_calls.GraphCall(self._train_on_batch)
    self._loss_names: tuple[str, ...] = ()
    self._watch = graph_calls.GraphCall(self._watch_in_graph)
    self._are_finite = graph_calls.GraphCall(
        lambda: loops.are_finite([*self._floating_variables.values()])
    )

  @property
  def environment_variables(self) -> list[tf.Variable]:
    """The epsilon of each environment, if the agent has one."""
    return [] if self._epsilon is None else [self._epsilon]

  # ---------------------------------------------------------------------------
  # Beginning.

  def begin(self) -> None:
    episodes = self._read_demonstrations()
    # Not in `_add_demonstrations`: the statistics of a resumed run have them.
    if self._agent.observation_normalizer is not None:
      for episode in episodes:
        self._agent.observation_normalizer.update(
            local.as_tensors(episode.observation)
        )
    self._add_demonstrations(episodes)

  def pretrain(self) -> Iterator[bool]:
    """Learns from demonstrations only."""
    while self._pretraining_steps < self._config.num_pretraining_steps:
      self._pretrain()
      yield self._is_evaluation_due()

  def _add_demonstrations(
      self, episodes: Sequence[trajectory_lib.Trajectory]
  ) -> None:
    """Cuts the demonstrations as the agent's own episodes are cut."""
    cutter = episode_cutter.EpisodeCutter(
        self._config.window,
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
        self._config.demonstration_ratio
        or self._config.num_pretraining_steps
    )
    if needed and not self._replay.sizes()['demonstrations']:
      raise errors.SetupError(
          'None of the demonstrations has'
          f' {self._config.window.unroll_length} steps, and'
          " ReplayTraining.window_remainder = 'drop' leaves out what is"
          " shorter: lower ReplayTraining.unroll_length, or take 'pad'."
      )

  def _pretrain(self) -> None:
    """Makes an update on demonstrations before the first environment step."""
    num_steps = self._config.num_pretraining_steps
    info = self._update(demonstration_ratio=1.0)
    self._pretraining_steps += 1
    done = self._pretraining_steps
    # Numbers on which the next update would fail must not be saved.
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

  def _is_evaluation_due(self) -> bool:
    interval = self._config.pretraining_eval_interval_train_steps
    return interval is not None and self._pretraining_steps % interval == 0

  # ---------------------------------------------------------------------------
  # Learning.

  def explore(self, env_steps: int) -> None:
    if self._epsilon is None:
      return
    epsilon = self._config.epsilon_fn(env_steps, self._num_environments)
    if not np.array_equal(self._epsilon.numpy(), epsilon):
      self._epsilon.assign(epsilon)
      self._policy_version += 1

  def begin_episodes(
      self, environments: np.ndarray | slice = slice(None)
  ) -> None:
    self._cutter.reset(environments)

  def add(
      self, trajectory: trajectory_lib.Trajectory, is_new: np.ndarray
  ) -> None:
    episodic = ()
    changes_policy = self._agent.acts_by_statistics
    if changes_policy:
      self._policy_version += 1
    if changes_policy or self._agent.curiosity is not None:
      trajectory, is_new, episodic = local.as_numpy(
          self._watch(trajectory, is_new)
      )
    self._cutter(trajectory, episodic, is_new)

  def _watch_in_graph(
      self, rows: trajectory_lib.Trajectory, is_new: tf.Tensor
  ) -> tuple[trajectory_lib.Trajectory, tf.Tensor, types.NestedTensor]:
    """Updates the agent's statistics with the new rows.

    Args:
      rows: A `Trajectory` [B, T+1].
      is_new: Booleans [B, T+1].

    Returns:
      A tuple (a `Trajectory` [B, N] with all new rows; booleans [B, N]: which
      of its rows are new; the curiosity's `episodic` of them, a nest
      [B, N, ...]).
    """
    columns = tf.where(tf.reduce_any(is_new, axis=0))[:, 0]
    rows, is_new = tf.nest.map_structure(
        lambda x: tf.gather(x, columns, axis=1), (rows, is_new)
    )

    def watch(t: tf.Tensor) -> tuple[types.NestedTensor, tf.Tensor]:
      row, mask = tf.nest.map_structure(lambda x: x[:, t], (rows, is_new))
      return self._agent.update_statistics(row, mask), mask

    # The mask is returned because there may be nothing else to return.
    curiosity = self._agent.curiosity
    dtypes = tf.nest.map_structure(
        lambda x: x.dtype, () if curiosity is None else curiosity.episodic_spec
    )
    episodic, _ = tf.map_fn(
        watch,
        tf.range(tf.size(columns)),
        parallel_iterations=1,
        fn_output_signature=(dtypes, tf.bool),
    )
    return rows, is_new, tf.nest.map_structure(
        common.transpose_batch_time, episodic
    )

  def train(self, num_env_steps: int) -> None:
    self._updates_due += num_env_steps / self._config.env_steps_per_update
    while self._updates_due >= 1.0 and self._has_enough():
      self._infos.append(self._update(self._config.demonstration_ratio))
      self._updates_due -= 1.0

  def _has_enough(self) -> bool:
    """Returns whether batches can be drawn; until then no updates are due."""
    if not self._is_ready:  # Tables do not become shorter again.
      self._is_ready = self._replay.is_ready(self._config.demonstration_ratio)
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

  def _train_steps(self) -> int:
    """Returns the number of the agent's updates so far."""
    if self._num_train_steps is None:
      self._num_train_steps = int(self._agent.train_step_counter.numpy())
    return self._num_train_steps

  def _update(self, demonstration_ratio: float) -> dict[str, float]:
    """Takes one optimizer step; returns its metrics."""
    batch = self._replay.sample(
        self._config.batch_size, demonstration_ratio
    )
    ages = self._train_steps() - batch.train_steps
    losses, new_priorities, num_train_steps = self._train(
        batch.sequences, batch.probabilities, batch.table_sizes
    )
    self._num_train_steps = int(num_train_steps.numpy())
    self._policy_version += 1
    info = dict(zip(self._loss_names, losses.numpy().tolist(), strict=True))
    is_own = ~batch.sequences.is_demonstration
    info[_AGE] = float(np.sum(ages * is_own) / max(np.sum(is_own), 1))
    # If the agent has not measured it.
    info.setdefault('demonstration_rate', float(np.mean(~is_own)))
    if new_priorities is None:
      return info
    new_priorities = new_priorities.numpy()
    if not np.all(np.isfinite(new_priorities)):
      # Not after the iteration, because the replay would refuse them.
      self._check_finite(info)
    self._replay.update_priorities(
        batch.keys, new_priorities, batch.sequences.is_demonstration
    )
    return info

  def _train_on_batch(
      self,
      batch: episode_cutter.Sequence,
      probabilities: tf.Tensor,
      table_sizes: tf.Tensor,
  ) -> tuple[tf.Tensor, tf.Tensor | None, tf.Tensor]:
    """Trains on a batch.

    Args:
      batch: Sequences [B].
      probabilities: Probability of each in its table, [B].
      table_sizes: Number of sequences in its table, [B].

    Returns:
      A tuple (scalars of the loss as one tensor, the new priorities [B] or
      None, the number of updates so far, which takes no call of its own here).
    """
    loss_info = self._agent.train(
        batch.trajectory,
        weights=q_learning.importance_weights(
            probabilities, table_sizes, self._importance_exponent()
        ),
        network_state=batch.network_state,
        is_demonstration=batch.is_demonstration,
    )
    losses = dict(loss_info.extra._asdict(), loss=loss_info.loss)
    new_priorities = losses.pop('priorities')
    # The losses of an agent inside of another come before the others.
    inside = losses.pop('agent', ())
    if inside:
      losses = {
          name: tf.reduce_mean(x)
          for name, x in inside._asdict().items()
          if tf.is_tensor(x)
      } | losses
    self._loss_names = tuple(losses)  # While the graph is traced.
    return (
        tf.stack([tf.cast(x, tf.float32) for x in losses.values()]),
        new_priorities,
        tf.identity(self._agent.train_step_counter),
    )

  def _importance_exponent(self) -> tf.Tensor:
    """Returns beta of this update, which rises linearly to 1 if annealed."""
    return q_learning.linear_schedule(
        self._config.importance_exponent,
        1.0,
        self._agent.train_step_counter,
        self._config.importance_anneal_train_steps,
    )

  # ---------------------------------------------------------------------------
  # Metrics.

  def metrics(self) -> dict[str, float]:
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
    if self._epsilon is not None:
      metrics['epsilon_mean'] = float(np.mean(self._epsilon.numpy()))
    return metrics

  def finite(self) -> dict[str, bool]:
    return dict(
        zip(self._floating_variables, self._are_finite().numpy(), strict=True)
    )

  def _check_finite(self, info: dict[str, float]) -> None:
    loops.raise_if_not_finite(info, self.finite())

  # ---------------------------------------------------------------------------
  # Saving and resuming.

  def get_state(self) -> dict[str, Any]:
    replay = self._replay.save(self._parts.folder)
    self._parts.needed = prioritized_replay.saved_files(replay)
    return dict(
        replay=replay,
        cutter=self._cutter.get_state(),
        updates_due=self._updates_due,
        pretraining_steps=self._pretraining_steps,
    )

  def set_state(self, state: Any, continues_episodes: bool) -> None:
    try:
      self._replay.restore(self._parts.folder, state['replay'])
    except sequence_table.DamagedReplayError as error:
      if not self._config.replaces_damaged_replay:
        raise errors.SetupError(
            f'{error} Restore a copy; or set ReplayTraining.replaces_damaged'
            '_replay = True to continue with an empty replay, into which'
            ' demonstrations are read again; or choose another --root_dir.'
        ) from error
      logging.warning('Continuing with an empty replay: %s', error)
      self._add_demonstrations(self._read_demonstrations())
    self._num_train_steps = None
    self._updates_due = state['updates_due']
    self._pretraining_steps = state['pretraining_steps']
    if continues_episodes:
      self._cutter.set_state(state['cutter'])

  def close(self) -> None:
    del self._replay


def _means(infos: Sequence[dict[str, float]]) -> dict[str, float]:
  """Returns means of each metric over the updates that have measured it."""
  means = {}
  for name in infos[0] if infos else ():
    measured = [info[name] for info in infos if _measures(info, name)]
    if measured:
      means[name] = float(np.mean(measured))
  return means


def _measures(info: dict[str, float], name: str) -> bool:
  """Returns whether an update has measured a metric."""
  if name == _AGE:
    return info['demonstration_rate'] < 1.0
  return name not in _OF_DEMONSTRATIONS or info['demonstration_rate'] > 0.0


def _stored_states(
    episode: trajectory_lib.Trajectory, spec: types.NestedTensorSpec
) -> list[np.ndarray]:
  """Returns states of each frame, flat [T+1, ...]; zeros if none were stored.

  States of another network are useless to this one, so only states of the same
  shapes are taken. They may still be of another network, so the log says
  whether they were taken.
  """
  flat_spec = tf.nest.flatten(spec)
  info = episode.policy_info
  stored = info.get('network_state', ()) if isinstance(info, dict) else ()
  stored = tf.nest.flatten(stored)
  shapes = [leaf.shape.as_list() for leaf in flat_spec]
  stored_shapes = [list(part.shape[1:]) for part in stored]
  if stored and stored_shapes == shapes:
    failures.say_once(
        logging.info,
        'taken states',
        'Taking the states that were recorded with the demonstrations for'
        ' states of this network.',
    )
    return stored
  if stored:
    failures.say_once(
        logging.warning,
        ('other states', str(stored_shapes), str(shapes)),
        'The states that were recorded with the demonstrations have shapes %s,'
        ' not %s: states of zeros are taken instead.',
        stored_shapes,
        shapes,
    )
  length = len(episode.step_type)
  return [
      np.zeros([length, *leaf.shape], leaf.dtype.as_numpy_dtype)
      for leaf in flat_spec
  ]
