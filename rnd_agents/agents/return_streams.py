# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Return streams: from the rewards and values of a rollout to advantages."""

import dataclasses
import numbers
from typing import Any, NamedTuple, Optional

import gin
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.ops import gae
from rnd_agents.ops import losses

_RANGES = dict(
    discount_factor=ranges.WITHIN_0_AND_1.or_schedule(),
    advantage_coefficient=ranges.FINITE.or_schedule(),
    bonus_clip=ranges.ABOVE_0.or_none().or_schedule(),
    termination_discount=ranges.WITHIN_0_AND_1,
)


@gin.configurable(module='rnd_agents')
@dataclasses.dataclass(frozen=True, eq=False)
class ReturnStream:
  """A reward with its return, its value head and its share of the advantage.

  Attributes:
    name: Of the stream's statistics, such as `extrinsic_return_mean`.
    discount_factor: gamma, between 0 and 1.
    advantage_coefficient: Factor of the stream's advantage in the sum of all. A
      stream of a curiosity with a coefficient of 0 is off: no bonus is
      computed, and neither curiosity nor value head learn.
    ends_with_episode: Whether the return ends with the episode.
    reward: What the stream sums: None for the environment's reward, an integer
      i for entry i of a vector of rewards, a `Curiosity` for its normalized
      bonus, or a list of pairs (weight, one of these) for their weighted sum,
      with one curiosity at most.
    bonus_clip: Bound on the size of the curiosity's normalized bonus; None for
      none.
    termination_discount: What a termination leaves of the value behind it, in
      a return that goes on; 1 for all of it.
  """

  name: str
  discount_factor: float
  advantage_coefficient: float = 1.0
  ends_with_episode: bool = True
  reward: Any = None
  bonus_clip: Optional[float] = None
  termination_discount: float = 1.0

  def __post_init__(self):
    if not (isinstance(self.name, str) and self.name.isidentifier()):
      raise errors.InvalidValue(
          'ReturnStream.name must be a word that can stand in the name of a'
          f' metric, got {self.name!r}.'
      )
    ranges.check(_RANGES, vars(self), 'ReturnStream.')
    for pair in self.terms or [self.reward]:
      is_pair = isinstance(pair, (list, tuple)) and len(pair) == 2
      source = pair[1] if is_pair else pair
      if not is_pair or not (
          source is None
          or isinstance(source, curiosity_lib.Curiosity)
          or (
              isinstance(source, numbers.Integral)
              and not isinstance(source, bool)
              and source >= 0
          )
      ):
        raise errors.InvalidType(
            'ReturnStream.reward must be None, the index of a reward, a'
            ' Curiosity, or a list of pairs (weight, one of these), got'
            f' {source!r}.'
        )
    if len(self._curiosities) > 1:
      raise errors.InvalidValue(
          'ReturnStream.reward may have one curiosity: give each a stream of'
          ' its own.'
      )
    if self.bonus_clip is not None and not self._curiosities:
      raise errors.InvalidValue(
          f'ReturnStream.bonus_clip has no effect: no curiosity pays in'
          f' {self.name}. Leave it out; reward_fn changes rewards of the'
          ' environment.'
      )
    if self.ends_with_episode and self.termination_discount != 1:
      raise errors.InvalidValue(
          'ReturnStream.termination_discount has no effect: the return'
          f' {self.name} ends with the episode. Leave one of them out.'
      )

  @property
  def terms(self):
    """Pairs (weight, source) of the reward."""
    if isinstance(self.reward, (list, tuple)):
      return tuple(self.reward)
    return ((1.0, self.reward),)

  @property
  def _curiosities(self):
    return [
        source
        for _, source in self.terms
        if isinstance(source, curiosity_lib.Curiosity)
    ]

  @property
  def curiosity(self):
    """The `Curiosity` that pays in the stream, or None."""
    return self._curiosities[0] if self._curiosities else None

  def normalized_bonus(self, bonus):
    """Returns the curiosity's bonus, normalized and clipped."""
    bonus = self.curiosity.normalize_bonus(bonus)
    if self.bonus_clip is None:
      return bonus
    return tf.clip_by_value(bonus, -self.bonus_clip, self.bonus_clip)

  @property
  def is_on(self):
    """Whether the stream is computed and learned."""
    if self.curiosity is None or tf.is_tensor(self.advantage_coefficient):
      return True
    return self.advantage_coefficient != 0


class Streams(NamedTuple):
  """Computed streams of a rollout.

  Attributes:
    advantages: combined advantages [B, T].
    returns: targets of the value heads [B, T, N].
    values: outputs of the value heads [B, T, N].
    statistics: scalars by name.
  """

  advantages: tf.Tensor
  returns: tf.Tensor
  values: tf.Tensor
  statistics: dict


@dataclasses.dataclass(eq=False)
class ReturnStreams:
  """Advantages and returns of all streams (Burda et al., 2018, section 2.3).

  Attributes:
    streams: `ReturnStream`s.
    lambda_value: lambda of GAE.
    bootstrap_at_time_limit: As for `RNDPPOAgent`.
    advantage_normalizer: A `statistics.AdvantageNormalizer`; None leaves the
      advantages as they are.
  """

  streams: Any
  lambda_value: Any
  bootstrap_at_time_limit: Any = True
  advantage_normalizer: Any = None

  def __call__(self, experience, rewards, values, updates_statistics=False):
    """Computes all streams.

    Args:
      experience: A `Trajectory` [B, T+1].
      rewards: Rewards [B, T] of each stream's transitions; None of one that is
        off.
      values: Values of every row, float [B, T+1, N].
      updates_statistics: Whether the rollout enters the advantages' divisor.

    Returns:
      `Streams`.
    """
    valid = valid_transitions(experience)
    old_values = values[:, :-1]
    advantages = [
        tf.zeros_like(old_values[..., head])
        if reward is None
        else self._advantages(stream, experience, reward, values[..., head])
        for head, (stream, reward) in enumerate(
            zip(self.streams, rewards, strict=True)
        )
    ]
    combined = losses.combine_advantages(
        advantages, [stream.advantage_coefficient for stream in self.streams]
    )
    if self.advantage_normalizer is not None:
      combined = self.advantage_normalizer(combined, valid, updates_statistics)
    returns = tf.stack(advantages, axis=-1) + old_values
    return Streams(
        combined,
        returns,
        old_values,
        self._statistics(rewards, returns, old_values, valid),
    )

  def _advantages(self, stream, experience, rewards, values):
    """GAE [B, T] of one stream from rewards [B, T] and values [B, T+1]."""
    is_boundary = ~valid_transitions(experience)
    rewards = tf.where(is_boundary, 0.0, rewards)
    if stream.ends_with_episode:
      weights = gae.episodic_weights(
          stream.discount_factor,
          self.lambda_value,
          experience.discount[:, :-1],
          tf.equal(experience.next_step_type[:, :-1], ts.StepType.LAST),
          is_boundary,
          self.bootstrap_at_time_limit,
      )
    else:
      values = gae.bridge_boundary_values(values, is_boundary)
      weights = gae.continuing_weights(
          stream.discount_factor,
          self.lambda_value,
          is_boundary,
          experience.discount[:, :-1],
          stream.termination_discount,
      )
    return gae.generalized_advantage_estimation(
        rewards, values[:, :-1], values[:, -1], *weights
    )

  def _statistics(self, rewards, returns, values, valid):
    statistics = {}
    for head, (stream, reward) in enumerate(
        zip(self.streams, rewards, strict=True)
    ):
      if reward is not None:
        statistics[f'{stream.name}_reward_mean'] = tf.reduce_mean(
            tf.boolean_mask(reward, valid)
        )
      statistics[f'{stream.name}_return_mean'] = tf.reduce_mean(
          tf.boolean_mask(returns[..., head], valid)
      )
      statistics[f'{stream.name}_explained_variance'] = (
          losses.explained_variance(
              values[..., head], returns[..., head], valid
          )
      )
    return statistics


def valid_transitions(experience):
  """Returns which rows [B, T] but the last begin a transition."""
  return tf.not_equal(experience.step_type[:, :-1], ts.StepType.LAST)


def is_padding(experience):
  """Returns which rows [B, T] but the last are `hierarchy.Decisions`' padding.

  They are LAST, and no episode begins behind them.
  """
  next_is_first = tf.equal(experience.step_type[:, 1:], ts.StepType.FIRST)
  return ~valid_transitions(experience) & ~next_is_first


def statistics_names(names, curious):
  """Names of the numbers that streams leave behind of a rollout, in order.

  Args:
    names: Of the streams.
    curious: Of those with a curiosity.

  Returns:
    A tuple of names.
  """
  of_bonuses = [
      statistic
      for name in curious
      for statistic in (
          *bonus_names(name, curious),
          f'{name}_reward_max',
          f'{name}_reward_clipped',
          f'{name}_episode_return_mean',
      )
  ]
  if curious:
    of_bonuses.append('num_ended_episodes')
  return (
      *of_bonuses,
      *(f'{name}_reward_mean' for name in names),
      *(f'{name}_return_mean' for name in names),
      *(f'{name}_explained_variance' for name in names),
  )


def bonus_names(name, curious):
  """Names of mean, deviation and maximum of the raw bonus of a stream.

  Args:
    name: Of the stream.
    curious: Names of all streams with a curiosity; that of a single one is not
      part of the names.

  Returns:
    Three names.
  """
  prefix = '' if len(curious) == 1 else f'{name}_'
  return [f'{prefix}bonus_{what}' for what in ('mean', 'std', 'max')]
