# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings of training from replayed sequences, demonstrations among them."""

from collections.abc import Callable, Sequence
import dataclasses
import functools
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import trajectory as trajectory_lib

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents import switched_off
from rnd_agents.agents import agent_factory
from rnd_agents.agents import replay_agent
from rnd_agents.collecting import collector
from rnd_agents.interchange import minari_data
from rnd_agents.replay import demonstrations as demonstration_files
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequences
from rnd_agents.training import configuration
from rnd_agents.training import epsilons
from rnd_agents.training import replay_learner
from rnd_agents.training import runs
from rnd_agents.training import training

_NAME = 'ReplayTraining'
_RANGES = dict(
    batch_size=ranges.COUNT,
    rollout_length=ranges.COUNT,
    collect_length=ranges.COUNT,
    env_steps_per_update=ranges.Range(
        lambda x: x >= 0.001,
        'at least 0.001, which is 1,000 updates for each environment step',
    ),
    importance_exponent=ranges.WITHIN_0_AND_1,
    importance_anneal_train_steps=ranges.COUNT.or_none(),
    demonstration_ratio=ranges.WITHIN_0_AND_1,
    num_pretraining_steps=ranges.COUNT_OR_0,
    pretraining_eval_interval_train_steps=ranges.COUNT.or_none(),
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
  epsilon_fn: Callable[[int, int], np.ndarray] = epsilons.ladder_epsilon
  demonstrations: str | Sequence[str] | None = None
  allowed_demonstration_differences: Sequence[str] = ()
  demonstration_ratio: float = 0.0
  num_pretraining_steps: int = 0
  pretraining_eval_interval_train_steps: int | None = None
  replaces_damaged_replay: bool = False
  create_agent: Callable[..., replay_agent.ReplayAgent] = (
      agent_factory.create_r2d3_agent
  )

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
    ranges.check(_RANGES, vars(self), f'{_NAME}.')
    ranges.check_flags(
        f'{_NAME}.', replaces_damaged_replay=self.replaces_damaged_replay
    )
    training.check_create_agent(_NAME, self.create_agent)
    training.check_rollout_length(_NAME, self.rollout_length, num_env_steps)
    training.check_length(
        f'{_NAME}.env_steps_per_update',
        self.env_steps_per_update,
        num_env_steps,
        'the run would end before its first update',
    )
    if self.rollout_length % self.collect_length:
      raise errors.InvalidValue(
          f'{_NAME}.rollout_length must be a multiple of collect_length, got'
          f' {self.rollout_length} and {self.collect_length}.'
      )
    self.window.check(
        _NAME, period='window_period', remainder='window_remainder'
    )
    epsilons.check_epsilon_fn(
        self.epsilon_fn, num_env_steps, num_environments
    )
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
    return self.create_agent(
        specs.time_step,
        specs.action,
        burn_in_length=self.burn_in_length,
        collect_epsilon=tf.Variable(
            np.ones([num_environments], np.float32), name='epsilon'
        ),
    )

  def idle_settings(
      self, agent: replay_agent.ReplayAgent
  ) -> switched_off.Settings:
    without = switched_off.without
    idle = agent.idle_settings()
    if agent.collect_epsilon is None:
      idle |= without(
          f'{_NAME}.create_agent',
          'an agent that takes random actions',
          f'{_NAME}.epsilon_fn',
          *epsilons.NAMES,
          remedy='take create_r2d3_agent or create_dqn_agent',
          also=('create_curious_agent.agent_fn',),
      )
    if not self.uses_demonstrations:
      idle |= without(
          f'{_NAME}.demonstrations',
          'demonstrations',
          f'{_NAME}.allowed_demonstration_differences',
          'R2D3Agent.margin_weight',
      )
    if not self.num_pretraining_steps:
      idle |= without(
          f'{_NAME}.num_pretraining_steps',
          'pretraining',
          f'{_NAME}.pretraining_eval_interval_train_steps',
      )
    return idle

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
  ) -> replay_learner.ReplayLearner:
    seed = int(run.seeds.loop.generate_state(2, np.uint64)[1])
    return replay_learner.ReplayLearner(
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
    """Returns the spec of the sequences that an agent learns from.

    Raises:
      InvalidValue: If the agent cannot learn from sequences of this length, or
        from demonstrations before its first step.
    """
    agent.check_unroll_length(self.unroll_length)
    if agent.curiosity is not None and self.num_pretraining_steps:
      raise errors.InvalidValue(
          'A curiosity needs observations of the agent, which has none before'
          f' its first step: {_NAME}.num_pretraining_steps must be 0, got'
          f' {self.num_pretraining_steps}.'
      )
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
