# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learns from replayed sequences, demonstrations among them.

A checkpoint holds the replay with its demonstrations and priorities, the parts
of episodes that are not cut yet and every random generator, so that a resumed
run continues as if it had not stopped.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import functools
from typing import Any

from absl import logging
import gin
import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import trajectory as trajectory_lib
from tf_agents.typing import types
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents import graph_calls
from rnd_agents import ranges
from rnd_agents.agents import agent_factory
from rnd_agents.agents import replay_agent
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.environments import failures
from rnd_agents.interchange import minari_data
from rnd_agents.ops import q_learning
from rnd_agents.replay import demonstrations as demonstration_files
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequence_table
from rnd_agents.replay import sequences
from rnd_agents.training import checkpoints
from rnd_agents.training import configuration
from rnd_agents.training import loops
from rnd_agents.training import runs
from rnd_agents.training import training

_NAME = 'ReplayTraining'
# Metrics that need a batch with demonstrations.
_OF_DEMONSTRATIONS = ('margin_loss', 'demonstration_agreement')
# A metric that needs a batch with other sequences.
_AGE = 'data_age_train_steps'
_EPSILONS = dict.fromkeys(('base', 'first', 'last'), ranges.WITHIN_0_AND_1)
_EPSILONS['exponent'] = ranges.AT_LEAST_0


@gin.configurable(
    module='rnd_agents', denylist=['env_steps', 'num_environments']
)
def ladder_epsilon(
    env_steps: int,
    num_environments: int,
    base: float = 0.4,
    exponent: float = 7.0,
) -> np.ndarray:
  """Returns a fixed epsilon an environment, from `base` to nearly 0 (Ape-X).

  Environment i of N has `base ** (1 + exponent * i / (N - 1))`.
  """
  ranges.check(
      _EPSILONS, dict(base=base, exponent=exponent), 'ladder_epsilon.'
  )
  return q_learning.epsilon_ladder(num_environments, base, exponent)


@gin.configurable(
    module='rnd_agents', denylist=['env_steps', 'num_environments']
)
def linear_epsilon(
    env_steps: int,
    num_environments: int,
    first: float = 1.0,
    last: float = 0.05,
    num_env_steps: float = 10_000,
) -> np.ndarray:
  """Returns epsilons that fall linearly from `first` to `last`.

  They reach it after `num_env_steps`.
  """
  ranges.check(_EPSILONS, dict(first=first, last=last), 'linear_epsilon.')
  ranges.check_above_0('linear_epsilon.', num_env_steps=num_env_steps)
  share = min(env_steps / num_env_steps, 1.0)
  epsilon = first + share * (last - first)
  return np.full([num_environments], epsilon, np.float32)


@gin.configurable(
    module='rnd_agents', denylist=['env_steps', 'num_environments']
)
def exponential_epsilon(
    env_steps: int,
    num_environments: int,
    first: float = 0.95,
    last: float = 0.05,
    decay_env_steps: float = 100_000,
) -> np.ndarray:
  """Returns `last + (first - last) exp(-env_steps / decay_env_steps)`.

  As DI-engine does.
  """
  ranges.check(_EPSILONS, dict(first=first, last=last), 'exponential_epsilon.')
  ranges.check_above_0(
      'exponential_epsilon.', decay_env_steps=decay_env_steps
  )
  epsilon = last + (first - last) * np.exp(-env_steps / decay_env_steps)
  return np.full([num_environments], epsilon, np.float32)


def check_epsilon_fn(
    epsilon_fn: Callable[[int, int], np.ndarray],
    num_env_steps: int,
    num_environments: int,
) -> None:
  """Raises an error unless a schedule of epsilon returns probabilities.

  Args:
    epsilon_fn: `ladder_epsilon`, `linear_epsilon`, `exponential_epsilon` or a
      user's own: function of the environment steps so far and the number of
      environments to a float32 array of one epsilon for each environment.
    num_env_steps: Environment steps of the whole run; the schedule is called
      for its beginning and its end.
    num_environments: B.

  Raises:
    InvalidType: If it is not a function.
    InvalidValue: If it does not return probabilities.
  """
  if not callable(epsilon_fn):
    raise errors.InvalidType(
        'ReplayTraining.epsilon_fn must be a function, such as'
        f' @ladder_epsilon or @linear_epsilon, not {epsilon_fn!r}.'
    )
  for env_steps in (0, num_env_steps):
    epsilon = np.asarray(epsilon_fn(env_steps, num_environments))
    if epsilon.shape != (num_environments,):
      raise errors.InvalidValue(
          'ReplayTraining.epsilon_fn must return one epsilon for each of the'
          f' {num_environments} environments, got shape {list(epsilon.shape)}.'
      )
    if not np.all((epsilon >= 0.0) & (epsilon <= 1.0)):
      raise errors.InvalidValue(
          'Each epsilon must be between 0 and 1; at'
          f' {env_steps} environment steps ReplayTraining.epsilon_fn gave'
          f' {epsilon.tolist()}.'
      )


@gin.configurable(module='rnd_agents')
@dataclasses.dataclass(frozen=True)
class ReplayTraining(training.Training):
  """Trains an agent on sequences from a prioritised replay.

  Attributes:
    unroll_length: Trained steps of a sequence.
    burn_in_length: Frames before them that only warm the states.
    window_period: Steps from one sequence of an episode to the next; None for
      `unroll_length`, less for sequences that overlap.
    window_remainder: Treatment of the end of an episode: 'pad', 'fill', 'drop'
      or 'shift' (`replay.sequences`).
    batch_size: Sequences of an update.
    rollout_length: Steps of each environment in an iteration, after which a
      row of metrics is written.
    collect_length: Steps of each environment between updates, with one policy.
      Workers need many, because each collection is a message to all of them.
    env_steps_per_update: Environment steps, all environments together, for
      each update.
    importance_exponent: beta of the importance weights, from 0 to 1.
    importance_anneal_train_steps: Updates in which beta rises linearly from
      there to 1; None for a constant one.
    epsilon_fn: Schedule of the probability of random actions: `ladder_epsilon`,
      `linear_epsilon`, `exponential_epsilon`, or a function like them.
    demonstrations: Path of a file of `train.collect_demos` or `train.explore`,
      `minari:NAME` of a data set of Minari, or a list of them; None for none.
    allowed_demonstration_differences: Names of settings of the environment,
      such as 'load_environment.wrappers', that may differ from those of the
      demonstrations.
    demonstration_ratio: rho: probability that an element of a batch is a
      demonstration.
    num_pretraining_steps: Updates on demonstrations before the first
      environment step.
    pretraining_eval_interval_train_steps: Number of these updates between
      evaluations, each of which ends the run if
      `train_eval.stop_at_success_rate` or `stop_at_return` is reached; None for
      no evaluation before the first environment step.
    replaces_damaged_replay: Whether a resumed run whose replay has lost files
      continues with an empty one, into which demonstrations are read again.
    create_agent: Function of (time step spec, action spec, burn_in_length,
      collect_epsilon) that returns the agent: `create_r2d3_agent`,
      `create_curious_agent` for SAC, TD3 and DQN, or one like them.
  """

  unroll_length: int = 40
  burn_in_length: int = 0
  window_period: int | None = None
  window_remainder: str = 'pad'
  batch_size: int = 32
  rollout_length: int = 64
  collect_length: int = 1
  env_steps_per_update: float = 4
  importance_exponent: float = 0.6
  importance_anneal_train_steps: int | None = None
  epsilon_fn: Callable[[int, int], np.ndarray] = ladder_epsilon
  demonstrations: str | Sequence[str] | None = None
  allowed_demonstration_differences: Sequence[str] = ()
  demonstration_ratio: float = 0.0
  num_pretraining_steps: int = 0
  pretraining_eval_interval_train_steps: int | None = None
  replaces_damaged_replay: bool = False
  create_agent: Callable = agent_factory.create_r2d3_agent

  remedy = (
      'Lower the learning rate (create_r2d3_agent.learning_rate, or that of'
      ' another ReplayTraining.create_agent), or set its gradient_clipping'
  )
  is_off_policy = True

  @property
  def uses_demonstrations(self) -> bool:
    return self.demonstrations is not None

  @property
  def window(self) -> sequences.SequenceSettings:
    """How episodes are cut into sequences."""
    return sequences.SequenceSettings(
        self.unroll_length,
        self.burn_in_length,
        self.window_period,
        self.window_remainder,
    )

  def check(self, num_env_steps: int, num_environments: int) -> None:
    ranges.check_above_0(
        f'{_NAME}.',
        batch_size=self.batch_size,
        rollout_length=self.rollout_length,
        collect_length=self.collect_length,
        env_steps_per_update=self.env_steps_per_update,
        importance_anneal_train_steps=self.importance_anneal_train_steps,
        pretraining_eval_interval_train_steps=(
            self.pretraining_eval_interval_train_steps
        ),
    )
    ranges.check(
        dict(
            importance_exponent=ranges.WITHIN_0_AND_1,
            demonstration_ratio=ranges.WITHIN_0_AND_1,
            num_pretraining_steps=ranges.COUNT_OR_0,
        ),
        vars(self),
        f'{_NAME}.',
    )
    if self.rollout_length % self.collect_length:
      raise errors.InvalidValue(
          f'{_NAME}.rollout_length must be a multiple of collect_length, got'
          f' {self.rollout_length} and {self.collect_length}.'
      )
    self.window.check(
        _NAME, period='window_period', remainder='window_remainder'
    )
    check_epsilon_fn(self.epsilon_fn, num_env_steps, num_environments)
    self._check_demonstrations()

  def _check_demonstrations(self) -> None:
    """Refuses shares of missing demonstrations, and unused demonstrations."""
    uses_them = self.demonstration_ratio or self.num_pretraining_steps
    if not self.demonstrations and uses_them:
      raise errors.InvalidValue(
          f'{_NAME}.demonstrations is missing, for'
          f' {_NAME}.demonstration_ratio={self.demonstration_ratio} and'
          f' {_NAME}.num_pretraining_steps={self.num_pretraining_steps}: python'
          ' -m train.collect_demos, or train.explore, makes such a file.'
      )
    if self.demonstrations and not uses_them:
      raise errors.InvalidValue(
          f'{_NAME}.demonstrations would never be used: set'
          f' {_NAME}.demonstration_ratio, or leave them out.'
      )

  def build_agent(
      self, specs: collector.Specs, num_environments: int
  ) -> replay_agent.ReplayAgent:
    agent = self.create_agent(
        specs.time_step,
        specs.action,
        burn_in_length=self.burn_in_length,
        collect_epsilon=tf.Variable(
            np.ones([num_environments], np.float32), name='epsilon'
        ),
    )
    if agent.curiosity is not None and self.num_pretraining_steps:
      raise errors.InvalidValue(
          'A curiosity needs observations of the agent, which has none before'
          f' its first step: {_NAME}.num_pretraining_steps must be 0, got'
          f' {self.num_pretraining_steps}.'
      )
    return agent

  def acting_policy(
      self, agent: replay_agent.ReplayAgent
  ) -> tf_policy.TFPolicy:
    return agent.sampled_policy

  def whitened_observations(
      self, agent: replay_agent.ReplayAgent
  ) -> Sequence[bool]:
    normalizer = agent.observation_normalizer
    return () if normalizer is None else normalizer.whitened

  def build_learner(
      self, run: runs.Run, agent: replay_agent.ReplayAgent, name: str = ''
  ) -> 'ReplayLearner':
    seed = int(run.seeds.loop.generate_state(2, np.uint64)[1])
    return ReplayLearner(
        agent,
        run.config.num_environments,
        self,
        prioritized_replay.PrioritizedReplay(
            self.sequence_spec(agent), seed=[seed, *name.encode()]
        ),
        functools.partial(self.read_demonstrations, run.collector.specs),
        run.checkpoints.parts(f'replay{name}'),
    )

  def sequence_spec(
      self, agent: replay_agent.ReplayAgent
  ) -> episode_cutter.Sequence:
    """Returns the spec of the sequences that an agent learns from."""
    return episode_cutter.sequence_spec(
        agent.collect_data_spec,
        self.window,
        agent.collect_policy.policy_state_spec,
        agent.curiosity.episodic_spec if agent.curiosity is not None else (),
    )

  def read_demonstrations(
      self, specs: collector.Specs, checks_environment: bool = True
  ) -> list[trajectory_lib.Trajectory]:
    """Returns the episodes of the files.

    Args:
      specs: Specs that they must fit.
      checks_environment: Whether they must be of the environment that gin
        describes.
    """
    paths = self.demonstrations or ()
    episodes: list[trajectory_lib.Trajectory] = []
    try:
      for path in [paths] if isinstance(paths, str) else paths:
        read: Any = demonstration_files.read_episodes
        if path.startswith(minari_data.MINARI_PREFIX):
          read = minari_data.read_data_set
        episodes += read(
            path,
            demonstration_files.trajectory_spec(
                specs.time_step.observation, specs.action
            ),
            check_environment=functools.partial(self._check_environment, path)
            if checks_environment
            else None,
        )
    except demonstration_files.DemonstrationError as error:
      raise demonstration_files.DemonstrationError(
          f'{_NAME}.demonstrations: {error}'
      ) from error
    return episodes

  def _check_environment(self, path: str, theirs: dict[str, str]) -> None:
    """Refuses demonstrations of an environment with other settings."""
    ours = configuration.of_environment()
    allowed = self.allowed_demonstration_differences
    unknown = set(allowed) - ours.keys() - theirs.keys()
    if unknown:
      raise errors.InvalidValue(
          f'{_NAME}.allowed_demonstration_differences has the unknown names'
          f' {", ".join(sorted(unknown))}: settings of the environment are'
          f' {", ".join(sorted(ours))}.'
      )
    try:
      differences, _, _ = configuration.changes(*(
          {name: value for name, value in each.items() if name not in allowed}
          for each in (theirs, ours)
      ))
    except errors.GinError as error:
      raise demonstration_files.DemonstrationError(
          f'The record of {path} has settings that cannot be read: {error}'
      ) from error
    if differences:
      names = [sentence.partition(' ')[0] for sentence in differences]
      raise demonstration_files.DemonstrationError(
          f'{path} is of another environment:'
          f' {"; ".join(differences)}. Collect with --gin_file of this run, or'
          ' allow it:'
          f' {_NAME}.allowed_demonstration_differences = {[*allowed, *names]}.'
      )


class ReplayLearner(loops.Learner):
  """Adds rollouts to a replay, and makes the updates that are due."""

  def __init__(
      self,
      agent: replay_agent.ReplayAgent,
      num_environments: int,
      config: ReplayTraining,
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
    self._infos: list[dict[str, float]] = []  # Metrics of each update.
    self._epsilon: tf.Variable | None = agent.collect_epsilon
    self._floating_variables = loops.floating_variables(agent)
    self._cutter = episode_cutter.EpisodeCutter(
        config.window,
        lambda found: replay.add(found, train_step=self._train_steps()),
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
    self._add_demonstrations(self._read_demonstrations())

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
      if self._agent.observation_normalizer is not None:
        self._agent.observation_normalizer.update(
            local.as_tensors(episode.observation)
        )
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
    return self._agent.train_step_counter.numpy()

  def _update(self, demonstration_ratio: float) -> dict[str, float]:
    """Takes one optimizer step; returns its metrics."""
    batch = self._replay.sample(
        self._config.batch_size, demonstration_ratio
    )
    ages = self._train_steps() - batch.train_steps
    losses, new_priorities = self._train(
        batch.sequences, batch.probabilities, batch.table_sizes
    )
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
  ) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Returns scalars of the loss as one tensor, and the new priorities."""
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
    self._updates_due = state['updates_due']
    self._pretraining_steps = state['pretraining_steps']
    if continues_episodes:
      self._cutter.set_state(state['cutter'])


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
