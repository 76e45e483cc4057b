# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""One run of RND-PPO, from gin bindings to files."""

from typing import NamedTuple, Optional

import gin
import numpy as np
import tensorflow as tf

from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.networks import factory
from rnd_agents.training import argument_checks
from rnd_agents.training import errors
from rnd_agents.training import rollout_loop
from rnd_agents.training import run

Result = run.Result
SetupError = errors.SetupError
RunError = errors.RunError


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
    num_eval_episodes: Episodes an evaluation, on seeds that stay; greedy ones
      unless `RNDPPOAgent.greedy_eval` is False.
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
  arguments = run.Arguments.of(locals())

  def check():
    argument_checks.check_positive(
        'train_eval',
        rollout_length=rollout_length,
        learning_rate=learning_rate,
        **argument_checks.without_none(rnd_learning_rate=rnd_learning_rate),
    )
    _check_agent_class(agent_class)

  def build(parts):
    optimizers = _create_optimizers(learning_rate, rnd_learning_rate)
    agent = _create_agent(
        agent_class, parts.environment, optimizers, rnd_observation_fn
    )
    _check_rollout(agent, num_environments, rollout_length)
    loop = rollout_loop.RolloutLoop(
        parts.root_dir,
        agent,
        parts.environment,
        seeds=parts.seeds,
        rollout_length=rollout_length,
        **parts.loop_settings(agent.policy),
    )
    rates = [(optimizers.optimizer, learning_rate)]
    if optimizers.rnd_optimizer is not None:
      rates.append((optimizers.rnd_optimizer, rnd_learning_rate))
    return run.Built(agent, loop, rates)

  return run.execute('train_eval', arguments, check, build)


def _check_agent_class(agent_class):
  if not (
      isinstance(agent_class, type)
      and issubclass(agent_class, rnd_ppo_agent.RNDPPOAgent)
  ):
    raise TypeError(
        'train_eval.agent_class must be RNDPPOAgent or a subclass, such as'
        f' @RNDPPOAgent, not {agent_class!r}.'
    )


def _create_optimizers(learning_rate, rnd_learning_rate):
  def adam(rate):
    return tf.keras.optimizers.Adam(rate, epsilon=1e-8)

  return Optimizers(
      adam(learning_rate),
      None if rnd_learning_rate is None else adam(rnd_learning_rate),
  )


def _create_agent(agent_class, environment, optimizers, rnd_observation_fn):
  """Builds networks and agent for an environment."""
  time_step_spec, action_spec = run.tensor_specs(environment)
  observation_spec = time_step_spec.observation
  networks = factory.create_networks(
      observation_spec,
      action_spec,
      random_network_distillation.observation_spec(
          observation_spec, rnd_observation_fn
      ),
  )
  agent = agent_class(
      time_step_spec,
      action_spec,
      rnd_observation_fn=rnd_observation_fn,
      train_step_counter=tf.Variable(0, dtype=tf.int64, name='train_step'),
      **optimizers._asdict(),
      **networks._asdict(),
  )
  agent.initialize()
  return agent


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
  if agent.sequences is not None:
    _check_sequences(agent, num_environments, rollout_length, rollout)


def _check_sequences(agent, num_environments, rollout_length, rollout):
  """Refuses chunks that are too few, and a burn-in that never happens."""
  chunks = agent.sequences.cut(rollout_length)
  # A single step may be a boundary, and then no sample.
  num_steps = np.sum(chunks.weights.numpy() > 0, axis=1)
  num_samples = num_environments * int(np.sum(num_steps > 1))
  if num_samples < agent.num_minibatches and agent.sequences.unroll_length != 1:
    raise ValueError(
        f'{rollout} are cut into {num_samples} chunks of two steps or more, too'
        f' few for RNDPPOAgent.num_minibatches = {agent.num_minibatches}: lower'
        ' that, or RNDPPOAgent.unroll_length.'
    )
  burn_in_length = agent.sequences.burn_in_length
  if burn_in_length and not np.any(chunks.has_burn_in):
    raise ValueError(
        f'RNDPPOAgent.burn_in_length = {burn_in_length} is longer than what'
        f' comes before the last chunk of {rollout_length} steps: no chunk'
        ' would have a burn-in. Lower it, or RNDPPOAgent.unroll_length.'
    )
