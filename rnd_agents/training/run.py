# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a run is made of, and what its callbacks see of it."""

import contextlib
import dataclasses
import os
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.environments import failures
from rnd_agents.evaluation import evaluator
from rnd_agents.statistics import finite
from rnd_agents.training import checkpoints as snapshots
from rnd_agents.training import loops
from rnd_agents.training import metrics_log


class Seeds:
  """The seeds of a run, drawn from one.

  Attributes:
    seed: The one that they are drawn from.
    networks: TensorFlow's global seed.
    first_eval_episode: Of the first episode of each evaluation; the others
      follow it.
    loop: A `numpy.random.SeedSequence` of the loop's own.
  """

  def __init__(self, seed):
    self.seed = seed
    sequence = np.random.SeedSequence(seed)
    # With room for seed + i below 2**31.
    self.networks, self._environments, self.first_eval_episode = (
        int(word) % 2**30 for word in sequence.generate_state(3)
    )
    self.loop = sequence.spawn(1)[0]

  def of_shard(self, index):
    """A tuple (seed of the environments, seed of the actions) of a shard."""
    if index == 0:
      actions = self.loop.generate_state(1, np.uint64)[0]
      return self._environments, int(actions)
    sequence = np.random.SeedSequence(self.seed, spawn_key=(1, index))
    actions = sequence.generate_state(1, np.uint64)[0]
    environments = sequence.generate_state(3)[2]
    return int(environments) % 2**30, int(actions)


class Result(NamedTuple):
  """What a run came to.

  Attributes:
    finished: False where a signal stopped it; the same command goes on.
    eval_return: mean return of the last evaluation, None before the first.
    env_steps: environment steps, the random ones of the warm-up included.
    wall_time_s: seconds of the loop, start-up apart.
    picture: path of the learning curve; None if it could not be drawn.
  """

  finished: bool
  eval_return: Optional[float]
  env_steps: int
  wall_time_s: float
  picture: Optional[str]


# Of what checkpoints hold besides variables; another one cannot be resumed.
STATE_VERSION = 9


@dataclasses.dataclass
class Run:
  """A run as its callbacks see it.

  Attributes:
    config: The `experiment.Experiment`.
    seeds: `Seeds`.
    agent: The agent that learns.
    collector: `collecting.shards.Shards`.
    evaluator: An `Evaluator` of the agent's policy, or a `RemoteEvaluator`.
    counters: `loops.Counters`.
    loop: The `loops.Loop`.
    checkpoints: The `Checkpoints` of the run.
    log: The `metrics_log.MetricsLog`, once the run has started.
    callbacks: What watches the run, in order.
    stopped_by: Name of the signal that stopped the run, or None.
    save_time_s: Seconds that the last checkpoint took, where no iteration has
      counted them yet.
    frozen_since_env_steps: When updates became a hundredth of the usual ones;
      None where they have not, or have recovered.
    workers: Facts of each collecting worker in the last iteration.
  """

  config: Any
  seeds: Seeds
  agent: Any
  collector: Any
  evaluator: Any
  counters: loops.Counters = dataclasses.field(default_factory=loops.Counters)
  loop: Optional[loops.Loop] = None
  checkpoints: Optional[snapshots.Checkpoints] = None
  log: Optional[metrics_log.MetricsLog] = None
  callbacks: Any = ()
  stopped_by: Optional[str] = None
  save_time_s: float = 0.0
  frozen_since_env_steps: Optional[int] = None
  workers: Any = ()

  @property
  def root_dir(self):
    """The run's folder."""
    return self.config.root_dir

  @property
  def name(self):
    """Name of the environment."""
    return self.evaluator.environment.name

  def path(self, *names):
    """Path of a file of the run."""
    return os.path.join(self.root_dir, *names)

  def stop(self, signal_name):
    """Asks the run to stop after this iteration."""
    self.stopped_by = signal_name

  @property
  def is_done(self):
    """Whether nothing is left to do, maybe since an earlier start."""
    if self.counters.env_steps >= self.config.num_env_steps:
      return True
    least = self.config.stop_at_success_rate
    if least is None:
      return False
    if self.log is None:
      rate = metrics_log.last_success_rate(
          self.root_dir, self.counters.iteration
      )
    else:
      rate = self.log.last('eval', 'success_rate')
    return rate is not None and rate >= least

  def counts(self):
    """The counters of a row of metrics, by name."""
    return dict(
        iteration=self.counters.iteration,
        env_steps=self.counters.env_steps,
        train_steps=int(self.agent.train_step_counter.numpy()),
        total_episodes=self.counters.episodes,
    )

  def summarize(self, phase, episodes):
    """Metrics of episodes of a phase, by name."""
    has_told_success = self.log.last(phase, 'success_rate') is not None
    return evaluator.summarize_episodes(episodes, has_told_success)

  def save(self):
    """Writes a checkpoint."""
    self.checkpoints.save(
        self.counters.iteration,
        dict(
            version=STATE_VERSION,
            collector=self.collector.get_state(),
            loop=self.loop.get_state(),
            callbacks=[callback.get_state() for callback in self.callbacks],
        ),
    )

  def restore(self, snapshot):
    """Goes on from a `checkpoints.Snapshot`.

    Raises:
      SetupError: If it is of another agent, or of another version.
    """
    rates = _learning_rates(self.agent)
    self.checkpoints.restore(snapshot)
    # Those of the settings win over those of the checkpoint.
    for optimizer, rate in rates:
      optimizer.learning_rate = rate
    episodes_go_on = self.collector.set_state(snapshot.state['collector'])
    self.loop.set_state(snapshot.state['loop'], episodes_go_on)
    for callback, state in zip(
        self.callbacks, snapshot.state['callbacks'], strict=True
    ):
      callback.set_state(state)

  @contextlib.contextmanager
  def errors(self):
    """Makes a `RunError` of what a run may end in; bugs stay as they are."""
    try:
      with snapshots.disk_errors(self.root_dir, self.checkpoints.kept):
        yield
    except FloatingPointError as error:
      raise self._not_finite(error) from error
    except (
        failures.EnvironmentFailure,
        evaluator.EndlessEpisode,
    ) as error:
      raise errors.RunError(f'{error}\n{self.checkpoints.kept()}') from error
    except tf.errors.OpError as error:
      refusal = finite.refusal_message(error)
      if not refusal:
        raise
      raise self._not_finite(refusal) from error

  def _not_finite(self, reason):
    """A `RunError` about numbers that are not finite."""
    reason = str(reason).rstrip('.')
    return errors.RunError(
        f'In iteration {self.counters.iteration + 1}, at'
        f' {self.counters.env_steps} environment steps, {reason}.'
        f' {self.checkpoints.kept()} {self.config.training.REMEDY}, and give'
        ' the same command to go on from there.'
    )


def _learning_rates(agent):
  """Pairs of an optimizer and its learning rate, where that is constant."""
  rates = [
      (optimizer, optimizer.get_config()['learning_rate'])
      for optimizer in agent.optimizers
  ]
  return [pair for pair in rates if not isinstance(pair[1], dict)]
