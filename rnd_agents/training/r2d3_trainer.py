# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""One run of R2D3, from gin bindings and demonstrations to files."""

import gin
import numpy as np
import tensorflow as tf

from rnd_agents.agents import r2d3_agent
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.networks import factory
from rnd_agents.networks import q_network
from rnd_agents.replay import demonstrations as demonstration_files
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequences
from rnd_agents.training import argument_checks
from rnd_agents.training import epsilons
from rnd_agents.training import errors
from rnd_agents.training import replay_loop
from rnd_agents.training import run

Result = run.Result
SetupError = errors.SetupError
RunError = errors.RunError


@gin.configurable(module='rnd_agents')
def train_eval_r2d3(
    root_dir,
    seed=0,
    num_env_steps=100_000,
    num_environments=8,
    warm_up_env_steps=1_000,
    unroll_length=40,
    burn_in_length=0,
    window_period=None,
    window_remainder='pad',
    batch_size=32,
    rollout_length=64,
    env_steps_per_update=4,
    learning_rate=1e-3,
    adam_epsilon=1e-3,
    weight_decay=None,
    importance_exponent=0.6,
    importance_anneal_train_steps=None,
    epsilon_fn=epsilons.ladder_epsilon,
    demonstrations=None,
    demonstration_ratio=0.0,
    num_pretraining_steps=0,
    explores_with_rnd=False,
    rnd_learning_rate=1e-4,
    rnd_observation_fn=None,
    num_eval_episodes=20,
    eval_interval_env_steps=5_000,
    checkpoint_interval_iterations=20,
    num_checkpoints=3,
    stop_at_success_rate=None,
    environment_timeout_s=600.0,
    record_video=True,
):
  """Trains an `R2D3Agent` and evaluates it as it learns.

  Environment, networks, agent and replay have gin bindings of their own:
  `load_environment`, `create_q_networks`, `create_rnd_networks`, `R2D3Agent`
  and `PrioritizedReplay`.

  Args:
    root_dir: Where the run leaves its files; a run found there is resumed.
    seed: Decides environments, networks and actions. Reverb draws batches by
      itself: runs of one seed resemble each other, no more.
    num_env_steps: Environment steps of the whole run, all environments
      together, the random ones included.
    num_environments: Environments stepped side by side.
    warm_up_env_steps: Uniformly random steps before the first update.
    unroll_length: Trained steps of a sequence.
    burn_in_length: Frames before them that only warm the states.
    window_period: Steps from one sequence of an episode to the next; None for
      `unroll_length`, less for sequences that overlap.
    window_remainder: What becomes of the end of an episode: 'pad', 'drop' or
      'shift' (`replay.sequences`).
    batch_size: Sequences of an update.
    rollout_length: Steps of each environment in an iteration, after which a
      row of metrics is written.
    env_steps_per_update: Environment steps, all environments together, for
      each update.
    learning_rate: Of Adam.
    adam_epsilon: Of Adam.
    weight_decay: Decoupled (AdamW); None for none.
    importance_exponent: beta of the importance weights, from 0 to 1.
    importance_anneal_train_steps: Updates in which beta rises linearly from
      there to 1; None for a constant one.
    epsilon_fn: Of `epsilons`: how often the agent acts at random.
    demonstrations: Path of a file of `collect_demos`; None for none.
    demonstration_ratio: rho: probability that an element of a batch is a
      demonstration.
    num_pretraining_steps: Updates on demonstrations before the first
      environment step.
    explores_with_rnd: Whether RND's bonus is added to the rewards.
    rnd_learning_rate: Of the predictor's Adam.
    rnd_observation_fn: Of what the observation RND sees; None for all of it.
    num_eval_episodes: As for `train_eval`, like all below.
    eval_interval_env_steps: See there.
    checkpoint_interval_iterations: See there; the replay is part of it.
    num_checkpoints: See there.
    stop_at_success_rate: See there.
    environment_timeout_s: See there.
    record_video: See there.

  Returns:
    A `run.Result`.

  Raises:
    SetupError: If the settings cannot run; before the first step.
    RunError: If the run had to stop.
  """
  arguments = run.Arguments.of(locals())
  window = sequences.SequenceSettings(
      unroll_length, burn_in_length, window_period, window_remainder
  )
  rnd_rate = rnd_learning_rate if explores_with_rnd else None

  def check():
    argument_checks.check_positive(
        'train_eval_r2d3',
        batch_size=batch_size,
        rollout_length=rollout_length,
        env_steps_per_update=env_steps_per_update,
        learning_rate=learning_rate,
        adam_epsilon=adam_epsilon,
        **argument_checks.without_none(
            rnd_learning_rate=rnd_rate,
            importance_anneal_train_steps=importance_anneal_train_steps,
        ),
    )
    if not 0.0 <= importance_exponent <= 1.0:
      raise ValueError(
          'train_eval_r2d3.importance_exponent must be between 0 and 1, got'
          f' {importance_exponent}.'
      )
    if weight_decay is not None and not weight_decay >= 0.0:
      raise ValueError(
          'train_eval_r2d3.weight_decay must be None or at least 0, got'
          f' {weight_decay}.'
      )
    window.check(
        'train_eval_r2d3', period='window_period', remainder='window_remainder'
    )
    epsilons.check(epsilon_fn, num_env_steps, num_environments)
    argument_checks.check_unbound(
        'R2D3Agent.burn_in_length', 'train_eval_r2d3.burn_in_length'
    )
    argument_checks.check_unbound(
        'R2D3Agent.collect_epsilon', 'train_eval_r2d3.epsilon_fn'
    )
    argument_checks.check_unbound('PrioritizedReplay.seed', 'the flag --seed')
    _check_demonstrations(
        demonstrations, demonstration_ratio, num_pretraining_steps
    )
    if explores_with_rnd and num_pretraining_steps:
      raise ValueError(
          'train_eval_r2d3.explores_with_rnd pays by what the agent has seen,'
          ' which is nothing before its first step: num_pretraining_steps must'
          f' be 0, got {num_pretraining_steps}.'
      )

  def build(parts):
    epsilon = tf.Variable(
        np.ones([num_environments], np.float32), name='epsilon'
    )
    optimizer = _create_optimizer(learning_rate, adam_epsilon, weight_decay)
    rnd_optimizer = None
    if explores_with_rnd:
      rnd_optimizer = tf.keras.optimizers.Adam(rnd_learning_rate, epsilon=1e-8)
    agent = _create_agent(
        parts.environment,
        optimizer,
        rnd_optimizer,
        rnd_observation_fn,
        burn_in_length,
        epsilon,
    )
    spec = sequences.sequence_spec(
        agent.collect_data_spec, window, agent.collect_policy.policy_state_spec
    )

    def create_replay(replay_seed, folder, restore_from):
      return prioritized_replay.PrioritizedReplay(
          spec,
          seed=int(replay_seed),
          checkpoint_dir=folder,
          restore_from=restore_from,
      )

    loop = replay_loop.ReplayLoop(
        parts.root_dir,
        agent,
        parts.environment,
        seeds=parts.seeds,
        replay_settings=replay_loop.ReplaySettings(
            window=window,
            batch_size=batch_size,
            rollout_length=rollout_length,
            env_steps_per_update=env_steps_per_update,
            demonstration_ratio=demonstration_ratio,
            importance_exponent=importance_exponent,
            importance_anneal_train_steps=importance_anneal_train_steps,
            num_pretraining_steps=num_pretraining_steps,
        ),
        create_replay=create_replay,
        read_demonstrations=lambda: _read_demonstrations(
            demonstrations, parts.environment
        ),
        epsilon=epsilon,
        epsilon_fn=epsilon_fn,
        **parts.loop_settings(agent.policy),
    )
    rates = [(optimizer, learning_rate)]
    if rnd_optimizer is not None:
      rates.append((rnd_optimizer, rnd_learning_rate))
    return run.Built(agent, loop, rates)

  return run.execute('train_eval_r2d3', arguments, check, build)


def _check_demonstrations(path, ratio, num_pretraining_steps):
  """Refuses shares of demonstrations that are not there, and unused ones."""
  if not 0.0 <= ratio <= 1.0:
    raise ValueError(
        'train_eval_r2d3.demonstration_ratio must be between 0 and 1, got'
        f' {ratio}.'
    )
  if num_pretraining_steps < 0:
    raise ValueError(
        'train_eval_r2d3.num_pretraining_steps must be at least 0, got'
        f' {num_pretraining_steps}.'
    )
  if path is None and (ratio or num_pretraining_steps):
    raise ValueError(
        'train_eval_r2d3.demonstrations is missing, for a demonstration_ratio'
        f' of {ratio} and {num_pretraining_steps} num_pretraining_steps: python'
        ' -m train.collect_demos makes such a file.'
    )
  if path is not None and not ratio and not num_pretraining_steps:
    raise ValueError(
        'train_eval_r2d3.demonstrations would never be used: set'
        ' demonstration_ratio, or leave them out.'
    )


def _read_demonstrations(path, environment):
  """Episodes of a file, checked against the environment."""
  if path is None:
    return []
  time_step_spec, action_spec = run.tensor_specs(environment)
  return demonstration_files.read(
      path,
      demonstration_files.trajectory_spec(
          time_step_spec.observation, action_spec
      ),
  )


def _create_optimizer(learning_rate, epsilon, weight_decay):
  if weight_decay is None:
    return tf.keras.optimizers.Adam(learning_rate, epsilon=epsilon)
  return tf.keras.optimizers.AdamW(
      learning_rate, weight_decay=weight_decay, epsilon=epsilon
  )


def _create_agent(
    environment,
    optimizer,
    rnd_optimizer,
    rnd_observation_fn,
    burn_in_length,
    epsilon,
):
  """Builds networks and agent for an environment."""
  time_step_spec, action_spec = run.tensor_specs(environment)
  observation_spec = time_step_spec.observation
  curiosity = None
  if rnd_optimizer is not None:
    curiosity = random_network_distillation.RandomNetworkDistillation(
        observation_spec,
        *factory.create_rnd_networks(
            random_network_distillation.observation_spec(
                observation_spec, rnd_observation_fn
            )
        ),
        observation_fn=rnd_observation_fn,
    )
  agent = r2d3_agent.R2D3Agent(
      time_step_spec,
      action_spec,
      **q_network.create_q_networks(observation_spec, action_spec)._asdict(),
      optimizer=optimizer,
      burn_in_length=burn_in_length,
      collect_epsilon=epsilon,
      curiosity=curiosity,
      rnd_optimizer=rnd_optimizer,
      train_step_counter=tf.Variable(0, dtype=tf.int64, name='train_step'),
  )
  agent.initialize()
  return agent
