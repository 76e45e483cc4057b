# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rewards of return streams, and the statistics that scale them."""

import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents.agents import return_streams
from rnd_agents.statistics import running_statistics


class StreamRewards(tf.Module):
  """Rewards of all streams of an agent, from a rollout and its bonuses."""

  def __init__(
      self,
      streams,
      normalize_rewards=False,
      least_reward_deviation=0.0,
      reward_norm_clipping=10.0,
      name='StreamRewards',
  ):
    """Creates the statistics.

    Args:
      streams: `ReturnStream`s.
      normalize_rewards: Whether a stream's reward from the environment is
        divided by the running standard deviation of its discounted return.
      least_reward_deviation: What the divisor is at least.
      reward_norm_clipping: Bound on what that gives; 0 for none.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._streams = tuple(streams)
    self._clipping = reward_norm_clipping
    self.curiosities = curiosities([s for s in self._streams if s.is_on])
    self.scalers = [
        running_statistics.ReturnScaler(
            stream.discount_factor, least_deviation=least_reward_deviation
        )
        if normalize_rewards and _environment_terms(stream)
        else None
        for stream in self._streams
    ]
    # Intrinsic return of the episodes so far, of each stream with a curiosity.
    self.episode_sums = [
        None
        if stream.curiosity is None
        else running_statistics.RunningSums('episode_bonuses')
        for stream in self._streams
    ]

  @property
  def largest_reward(self):
    """The largest reward that training can take, in size.

    The square of its return, on the scale of the value losses, is finite.
    """
    unscaled = [
        stream
        for stream, scaler in zip(self._streams, self.scalers, strict=True)
        if scaler is None and _environment_terms(stream)
    ]
    return 1e15 if unscaled else 1e30

  def bonuses(self, transitions):
    """Returns the raw bonus of `Transitions` [B, T] by curiosity."""
    return {
        curiosity: curiosity.bonus(transitions)
        for curiosity in self.curiosities
    }

  def update_return_statistics(self, experience, bonuses):
    """Takes a rollout into the statistics that divide its rewards.

    Args:
      experience: A `Trajectory` [B, T+1].
      bonuses: Raw bonuses [B, T] by curiosity.
    """
    valid = return_streams.valid_transitions(experience)
    for curiosity, bonus in bonuses.items():
      curiosity.update_return_statistics(bonus, valid)
    self.update_scalers(
        experience.reward[:, :-1], valid, _ends_and_starts(experience)
    )

  def update_scalers(self, rewards, valid, starts=None):
    """Takes the environment's rewards [B, T] or [B, T, R] into their scalers.

    Args:
      rewards: A float tensor.
      valid: As for `ReturnScaler.update`.
      starts: See there.
    """
    for stream, scaler in zip(self._streams, self.scalers, strict=True):
      if scaler is not None:
        scaler.update(_from_environment(stream, rewards), valid, starts)

  def __call__(self, experience, bonuses):
    """Rewards of each stream under the statistics of now.

    Args:
      experience: A `Trajectory` [B, T+1].
      bonuses: Raw bonuses [B, T] by curiosity.

    Returns:
      A list of float tensors [B, T], one a stream; None for one that is off.
    """
    valid = return_streams.valid_transitions(experience)
    environment_rewards = tf.cast(experience.reward[:, :-1], tf.float32)
    rewards = []
    for stream, scaler in zip(self._streams, self.scalers, strict=True):
      if not stream.is_on:
        rewards.append(None)
        continue
      terms = []
      if _environment_terms(stream):
        reward = _from_environment(stream, environment_rewards)
        if scaler is not None:
          reward = scaler.scale(reward)
          if self._clipping:
            reward = tf.clip_by_value(reward, -self._clipping, self._clipping)
        terms.append(reward)
      if stream.curiosity is not None:
        bonus = stream.normalized_bonus(bonuses[stream.curiosity])
        terms.append(_times(_bonus_weight(stream), tf.where(valid, bonus, 0.0)))
      rewards.append(terms[0] if len(terms) == 1 else tf.add_n(terms))
    return rewards

  def statistics(self, experience, bonuses, rewards):
    """Numbers about the bonuses of a rollout, by name; 0 for streams off.

    Takes the rollout into the sums over episodes.

    Args:
      experience: A `Trajectory` [B, T+1].
      bonuses: Raw bonuses [B, T] by curiosity.
      rewards: What calling this gives.

    Returns:
      Scalars by name.
    """
    valid = return_streams.valid_transitions(experience)
    ends = valid & tf.equal(
        experience.next_step_type[:, :-1], ts.StepType.LAST
    )
    num_ends = tf.reduce_sum(tf.cast(ends, tf.float32))
    curious = [s.name for s in self._streams if s.curiosity is not None]
    statistics = {}
    for stream, reward, sums in zip(
        self._streams, rewards, self.episode_sums, strict=True
    ):
      if stream.curiosity is None or not stream.is_on:
        continue
      bonus = bonuses[stream.curiosity]
      names = return_streams.bonus_names(stream.name, curious)
      kept = tf.boolean_mask(bonus, valid)
      for name, reduce in zip(
          names,
          (tf.reduce_mean, tf.math.reduce_std, tf.reduce_max),
          strict=True,
      ):
        statistics[name] = reduce(kept)
      statistics[f'{stream.name}_reward_max'] = tf.reduce_max(
          tf.boolean_mask(reward, valid)
      )
      clipped = stream.normalized_bonus(bonus)
      is_clipped = tf.not_equal(
          clipped, stream.curiosity.normalize_bonus(bonus)
      )
      statistics[f'{stream.name}_reward_clipped'] = tf.reduce_mean(
          tf.cast(tf.boolean_mask(is_clipped, valid), tf.float32)
      )
      episode_returns = sums.add(
          clipped,
          1.0,
          valid,
          _ends_and_starts(experience),
      )
      statistics[f'{stream.name}_episode_return_mean'] = (
          tf.math.divide_no_nan(
              tf.reduce_sum(tf.where(ends, episode_returns, 0.0)), num_ends
          )
      )
      statistics['num_ended_episodes'] = num_ends
    return statistics


def curiosities(streams):
  """Returns the curiosities of streams, each once."""
  found = []
  for stream in streams:
    if stream.curiosity is not None and stream.curiosity not in found:
      found.append(stream.curiosity)
  return found


def refuse_episodic(curiosities_):
  """Refuses curiosities that a `PPOLearner`'s parts of rollouts cannot feed."""
  for curiosity in curiosities_:
    if tf.nest.flatten(curiosity.episodic_spec):
      raise errors.InvalidValue(
          f'{type(curiosity).__name__} pays by the episode so far, which a'
          ' PPOLearner does not hand over: build the agent with'
          ' compute_value_and_advantage_in_train=True and call agent.train on'
          ' whole rollouts.'
      )


def _environment_terms(stream):
  return [
      (weight, source)
      for weight, source in stream.terms
      if source is None or source is not stream.curiosity
  ]


def _bonus_weight(stream):
  (weight,) = [
      weight for weight, source in stream.terms if source is stream.curiosity
  ]
  return weight


def _from_environment(stream, rewards):
  """What a stream takes of the environment's rewards [B, T] or [B, T, R]."""
  terms = [
      _times(weight, rewards if entry is None else rewards[..., entry])
      for weight, entry in _environment_terms(stream)
  ]
  return terms[0] if len(terms) == 1 else tf.add_n(terms)


def _times(weight, rewards):
  return rewards if weight == 1.0 else weight * rewards


def _ends_and_starts(experience):
  """Where sums over episodes start again, booleans [B, T].

  At ends, too: of rollouts that share no row, as a driver and an emptied
  replay buffer make them, the last row may be the FIRST one of an episode,
  whose transition is in none of them.
  """
  return tf.not_equal(
      experience.step_type[:, :-1], ts.StepType.MID
  ) & ~return_streams.is_padding(experience)
