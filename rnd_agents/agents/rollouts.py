# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Turns whole rollouts [B, T+1] into the rows that an update learns from."""

import dataclasses
import functools
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf
from tf_agents.agents.ppo import ppo_utils
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents.agents import return_streams as streams_lib
from rnd_agents.agents import rows as rows_lib
from rnd_agents.curiosity import transitions as transitions_lib
from rnd_agents.ops import rollout_parts
from rnd_agents.statistics import finite


def info_names(streams, name):
  """Names of the streams' 'return' or 'value_prediction' in the policy info.

  TF-Agents reads those of the first stream, without a prefix.

  Args:
    streams: `ReturnStream`s.
    name: 'return' or 'value_prediction'.

  Returns:
    A list of names.
  """
  return [name] + [f'{stream.name}_{name}' for stream in streams[1:]]


def computed_names(streams):
  """Names of the scalars that `preprocess` adds to the policy info."""
  return ['advantage', *info_names(streams, 'return'), 'valid_mask']


class Evaluated(NamedTuple):
  """What networks and curiosities make of a rollout; nothing has changed yet.

  Attributes:
    log_probability: of the actions when they were collected, [B, T+1]; 0 where
      no transition begins.
    transitions: the rollout's `Transitions` [B, T]. What `preprocess` returned
      has none, nor what is below.
    bonuses: raw bonuses [B, T] by curiosity.
    values: [B, T+1, N].
  """

  log_probability: tf.Tensor
  transitions: Optional[transitions_lib.Transitions]
  bonuses: dict
  values: tf.Tensor


@dataclasses.dataclass(eq=False)
class Rollouts:
  """Computes the streams of rollouts and updates the statistics behind them.

  Attributes:
    streams: `ReturnStream`s.
    rewards: Their `StreamRewards`.
    return_streams: Their `ReturnStreams`.
    policy: The `RNDPPOPolicy` that collects.
    action_spec: A nest of `BoundedTensorSpec`.
    action_distribution_spec: What the policy network returns.
    is_recurrent: Whether the networks have a memory.
  """

  streams: Any
  rewards: Any
  return_streams: Any
  policy: Any
  action_spec: Any
  action_distribution_spec: Any
  is_recurrent: Any

  def evaluate(self, experience, weights=None):
    """Evaluates a rollout, and refuses one that is not finite.

    Args:
      experience: A `Trajectory` [B, T+1], or parts [B, T] of what `preprocess`
        returned.
      weights: Weights of its rows or None.

    Returns:
      A tuple (`Evaluated`, a list for `tf.control_dependencies`).

    Raises:
      InvalidValue: If a number is not finite (`finite.require`).
    """
    info = experience.policy_info
    is_preprocessed = 'valid_mask' in info
    valid = begins_transition(experience)
    everywhere = valid if is_preprocessed else None
    transitions, bonuses, values = None, {}, ()
    with tf.control_dependencies(
        self._check_collected(experience, valid, weights, everywhere)
    ):
      log_probability = self._log_probability(experience, valid)
      if not is_preprocessed:
        transitions = transitions_lib.Transitions.of_trajectory(experience)
        bonuses = self.rewards.bonuses(transitions)
        values = self._values(experience)
    return Evaluated(log_probability, transitions, bonuses, values), [
        *finite.verify({'log probability of the action': log_probability}),
        *finite.verify({'value': values}),
        *finite.verify({'bonus': list(bonuses.values())}, mask=valid[:, :-1]),
    ]

  def _check_collected(self, experience, valid, weights, everywhere):
    """Refuses numbers that are not finite where they enter an update.

    Rewards, discounts, actions and their distributions enter where a transition
    begins, the others in all rows, or those that `everywhere` [B, T] names.
    """
    info = dict(experience.policy_info)
    # Minus infinity is the logit of an action that is not allowed.
    dist_params = {'dist_params': info.pop('dist_params')}
    if weights is not None:
      info['weights'] = weights
    largest = self.rewards.largest_reward
    return [
        *finite.verify(
            dict(observation=experience.observation, **info), mask=everywhere
        ),
        *finite.verify(
            dict(discount=experience.discount, action=experience.action),
            mask=valid,
        ),
        *finite.verify(
            dict(reward=experience.reward),
            mask=valid,
            largest=largest,
            advice=f' Rewards may be up to {largest:g} in size; more only with'
            ' normalize_rewards.',
        ),
        *finite.verify(dist_params, mask=valid, largest=np.inf),
    ]

  def rows(self, experience, evaluated, updates_statistics):
    """Computes streams and statistics of a rollout.

    The order is that of the authors of RND: bonus under the statistics of the
    collection; the return's statistics take it in before they divide it; then
    the observation statistics are updated, and the curiosity learns under the
    new ones.

    Args:
      experience: What `evaluate` takes.
      evaluated: What it returned.
      updates_statistics: Whether the rollout enters the statistics.

    Returns:
      A tuple (`Rows`, scalars by name).
    """
    curiosities = self.rewards.curiosities
    log_probability, transitions, bonuses, values = evaluated
    if transitions is None:  # The streams are there already.
      names = (
          info_names(self.streams, name)
          for name in ('return', 'value_prediction')
      )
      return rows_lib.Rows.of_preprocessed(
          experience, log_probability, *names
      ), {}
    if updates_statistics:
      self.rewards.update_return_statistics(experience, bonuses)
    rewards = self.rewards(experience, bonuses)
    streams = self.return_streams(
        experience, rewards, values, updates_statistics
    )
    statistics = self.rewards.statistics(experience, bonuses, rewards)
    if updates_statistics:
      for curiosity in curiosities:
        curiosity.update_statistics(transitions)
    rows = rows_lib.Rows.of_rollout(
        experience,
        log_probability,
        streams,
        [curiosity.constants(transitions) for curiosity in curiosities],
    )
    return rows, dict(streams.statistics, **statistics)

  def preprocess(self, experience):
    """Computes the streams for a `PPOLearner`; changes no variable.

    Args:
      experience: A `Trajectory` [B, T+1] with values in its policy info.

    Returns:
      The `Trajectory` with returns, advantages and next observations in its
      policy info. Its last row is padding, with a valid mask of 0.
    """
    check_num_rows(experience)
    info = experience.policy_info
    evaluated, refusals = self.evaluate(experience)
    _, transitions, bonuses, values = evaluated
    with tf.control_dependencies(refusals):
      streams = self.return_streams(
          experience, self.rewards(experience, bonuses), values
      )
    computed = (
        streams.advantages,
        *tf.unstack(streams.returns, axis=-1),
        tf.cast(transitions.valid, tf.float32),
    )
    of_transitions = dict(
        zip(computed_names(self.streams), computed, strict=True),
        next_observation=transitions.next_observation,
    )
    return experience.replace(
        policy_info=dict(
            info,
            **tf.nest.map_structure(rows_lib.add_empty_row, of_transitions),
        )
    )

  def _log_probability(self, experience, valid):
    """Log probability [B, T] of the actions under the collecting policy."""
    distributions = ppo_utils.distribution_from_spec(
        self.action_distribution_spec,
        experience.policy_info['dist_params'],
        legacy_distribution_network=self.policy.is_legacy,
    )
    log_probability = common.log_probability(
        distributions, experience.action, self.action_spec
    )
    return tf.where(valid, log_probability, 0.0)

  def _values(self, experience):
    """Values [B, T+1, N] of the observations, as recorded where they were."""
    info = experience.policy_info
    names = info_names(self.streams, 'value_prediction')
    if names[0] in info:
      return tf.stack([info[name] for name in names], axis=-1)
    values_of = self.policy.values
    if not self.is_recurrent:  # Or its memory would run B times over T steps.
      values_of = functools.partial(rollout_parts.by_environment, values_of)
    states = ()
    stored = info.get('network_state')
    if stored is not None:
      states = self.policy.unpack_state(
          tf.nest.map_structure(lambda x: x[:, 0], stored)
      )
    return values_of(experience.observation, experience.step_type, states)


def check_num_rows(experience):
  """Refuses rollouts without a transition, where their length is known."""
  num_rows = experience.discount.shape[1]
  if num_rows is not None and num_rows < 2:
    raise errors.InvalidValue(
        'A rollout needs at least 2 rows: T+1 rows make T transitions. For the'
        ' minibatches of a PPOLearner build the agent with'
        ' compute_value_and_advantage_in_train=False.'
    )


def begins_transition(experience):
  """Returns which rows [B, T+1] begin a transition; the last does not.

  Of what `preprocess` returned, parts of rollouts, the valid mask says so.
  """
  if 'valid_mask' in experience.policy_info:
    return experience.policy_info['valid_mask'] > 0
  return rows_lib.add_empty_row(streams_lib.valid_transitions(experience))
