# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Return streams: from a rollout, its bonuses and values to advantages."""

from collections.abc import Sequence
import dataclasses
import numbers
from typing import Any

import gin
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.ops import discounting
from rnd_agents.ops import losses
from rnd_agents.statistics import running_statistics

_RANGES = dict(
    discount_factor=ranges.WITHIN_0_AND_1.or_schedule(),
    advantage_coefficient=ranges.FINITE.or_schedule(),
    bonus_clip=ranges.ABOVE_0.or_none().or_schedule(),
    termination_discount=ranges.WITHIN_0_AND_1,
)
# Raw bonuses [B, T] by curiosity.
Bonuses = dict[curiosity_lib.Curiosity, tf.Tensor]
# The environment's reward (None), an entry of it, or a bonus.
_Source = int | curiosity_lib.Curiosity | None


@gin.configurable(module='rnd_agents')
@dataclasses.dataclass(frozen=True, eq=False)
class ReturnStream:
  """A reward with its return, its value head and its share of the advantage.

  Attributes:
    name: Prefix of the stream's metrics, such as `extrinsic_return_mean`.
    discount_factor: gamma, between 0 and 1.
    advantage_coefficient: Factor of the stream's advantage in the sum of all. A
      stream of a curiosity with a coefficient of 0 is off: no bonus is
      computed, and neither curiosity nor value head learn.
    ends_with_episode: Whether the return ends with the episode.
    reward: Reward that the stream sums: None for the environment's reward, an
      integer i for entry i of a vector of rewards, a `Curiosity` for its
      normalized bonus, or a list of pairs (weight, one of these) for their
      weighted sum, with one curiosity at most.
    bonus_clip: Bound on the size of the curiosity's normalized bonus; None for
      none.
    termination_discount: Factor of the value after a termination, in a return
      that continues; 1 for no cost.
  """

  name: str
  discount_factor: float
  advantage_coefficient: float = 1.0
  ends_with_episode: bool = True
  reward: _Source | Sequence[tuple[float, _Source]] = None
  bonus_clip: float | None = None
  termination_discount: float = 1.0

  def __post_init__(self) -> None:
    if not (isinstance(self.name, str) and self.name.isidentifier()):
      raise errors.InvalidValue(
          'ReturnStream.name must be a word that can stand in the name of a'
          f' metric, got {self.name!r}.'
      )
    ranges.check(_RANGES, vars(self), 'ReturnStream.')
    ranges.check_flags(
        'ReturnStream.', ends_with_episode=self.ends_with_episode
    )
    pairs: Sequence[Any] = self.terms or [self.reward]
    for pair in pairs:
      is_pair = isinstance(pair, (list, tuple)) and len(pair) == 2
      source = pair[1] if is_pair else pair
      if not is_pair or not (
          source is None
          or isinstance(source, curiosity_lib.Curiosity)
          or (
              isinstance(source, numbers.Integral)
              and not isinstance(source, bool)
              and int(source) >= 0
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
  def terms(self) -> tuple[tuple[float, _Source], ...]:
    """Pairs (weight, source) of the reward."""
    if isinstance(self.reward, Sequence):
      return tuple(self.reward)
    return ((1.0, self.reward),)

  @property
  def _curiosities(self) -> list[curiosity_lib.Curiosity]:
    return [
        source
        for _, source in self.terms
        if isinstance(source, curiosity_lib.Curiosity)
    ]

  @property
  def curiosity(self) -> curiosity_lib.Curiosity | None:
    """The `Curiosity` that pays in the stream, or None."""
    return self._curiosities[0] if self._curiosities else None

  @property
  def environment_terms(self) -> list[tuple[float, int | None]]:
    """Pairs (weight, entry of the environment's reward)."""
    return [
        (weight, source)
        for weight, source in self.terms
        if not isinstance(source, curiosity_lib.Curiosity)
    ]

  @property
  def bonus_weight(self) -> float:
    """Weight of the curiosity's bonus in the reward."""
    (weight,) = [
        weight for weight, source in self.terms if source is self.curiosity
    ]
    return weight

  def clip(self, bonus: tf.Tensor) -> tf.Tensor:
    """Returns the curiosity's normalized bonus, clipped."""
    if self.bonus_clip is None:
      return bonus
    return tf.clip_by_value(bonus, -self.bonus_clip, self.bonus_clip)

  @property
  def is_on(self) -> bool:
    """Whether the stream is computed and learned."""
    if self.curiosity is None or tf.is_tensor(self.advantage_coefficient):
      return True
    return self.advantage_coefficient != 0


@gin.configurable(module='rnd_agents', denylist=['curiosity'])
def one_value_head(
    curiosity: curiosity_lib.Curiosity | None,
    discount_factor: float = 0.999,
    advantage_coefficient: float = 2.0,
    bonus_weight: float = 0.5,
) -> list[ReturnStream]:
  """Returns one episodic stream of reward and bonus, summed.

  Bind it to `RNDPPOAgent.streams`, with `create_networks.num_values = 1`: the
  usual shortcut, which the authors of RND compare with their two heads.

  Args:
    curiosity: The agent's.
    discount_factor: Discount of the sum.
    advantage_coefficient: Factor of its advantage.
    bonus_weight: Weight of the normalized bonus in the sum; higher explores
      more.
  """
  if curiosity is None:  # It would stand for the reward, a second time.
    raise errors.InvalidValue(
        'one_value_head sums reward and bonus, and the agent has no curiosity:'
        ' give it one, or leave streams out.'
    )
  reward = [(1.0, None), (bonus_weight, curiosity)]
  return [
      ReturnStream(
          'extrinsic', discount_factor, advantage_coefficient, reward=reward
      )
  ]


class ReturnStreams(tf.Module):
  """The return streams of an agent (Burda et al., 2018, section 2.3).

  Computes rewards, advantages and returns of a rollout for each stream. Its
  variables are the statistics that scale rewards and advantages.
  """

  def __init__(
      self,
      streams: Sequence[ReturnStream],
      scalers: Sequence[running_statistics.ReturnScaler | None],
      reward_clip: types.Float,
      lambda_value: types.Float,
      bootstrap_at_time_limit: bool,
      advantage_normalizer: (
          running_statistics.AdvantageNormalizer | None
      ) = None,
      return_lambda: types.Float | None = None,
      name: str = 'ReturnStreams',
  ):
    """Creates the sums of each episode's bonuses.

    Args:
      streams: The streams, in the order of the value heads.
      scalers: Divides the environment's reward in each stream; None leaves it.
      reward_clip: Bound on a reward that was divided; 0 for no bound.
      lambda_value: lambda of GAE.
      bootstrap_at_time_limit: Whether a return that ends with the episode
        bootstraps where a time limit cut it.
      advantage_normalizer: Normalizes the combined advantages; None for none.
      return_lambda: lambda of the returns, which are the values' targets; None
        for that of GAE.
      name: Name of the module.
    """
    super().__init__(name=name)
    self.streams = tuple(streams)
    # Of the streams that are on, each once.
    self.curiosities = curiosities([s for s in self.streams if s.is_on])
    self.scalers = list(scalers)
    self.advantage_normalizer = advantage_normalizer
    # Intrinsic return of the episodes so far, of each stream with a curiosity.
    self.episode_sums = [
        running_statistics.RunningSums('episode_bonuses')
        if stream.curiosity is not None
        else None
        for stream in self.streams
    ]
    self._reward_clip = reward_clip
    self._lambda = lambda_value
    self._return_lambda = return_lambda
    self._bootstrap_at_time_limit = bootstrap_at_time_limit

  @property
  def largest_reward(self) -> float:
    """The largest size of rewards that training can take.

    The square of its return, on the scale of the value losses, is finite.
    """
    unscaled = [
        stream
        for stream, scaler in zip(self.streams, self.scalers, strict=True)
        if scaler is None and stream.environment_terms
    ]
    return 1e15 if unscaled else 1e30

  # ---------------------------------------------------------------------------
  # Rewards.

  def bonuses(self, transitions: curiosity_lib.Transitions) -> Bonuses:
    """Returns the raw bonuses of transitions [B, T]."""
    return {
        curiosity: curiosity.bonus(transitions)
        for curiosity in self.curiosities
    }

  def update_return_statistics(
      self, experience: trajectory.Trajectory, bonuses: Bonuses
  ) -> None:
    """Updates the statistics that divide rewards and bonuses by a rollout.

    Args:
      experience: A `Trajectory` [B, T+1].
      bonuses: Raw bonuses [B, T] by curiosity.
    """
    valid = valid_transitions(experience)
    for curiosity, bonus in bonuses.items():
      curiosity.update_return_statistics(bonus, valid)
    self.update_scalers(
        experience.reward[:, :-1], valid, _ends_and_starts(experience)
    )

  def update_scalers(
      self,
      rewards: tf.Tensor,
      valid: tf.Tensor,
      starts: tf.Tensor | None = None,
  ) -> None:
    """Updates the statistics that divide the environment's rewards.

    Args:
      rewards: Floats [B, T], or [B, T, R] for a vector of rewards.
      valid: As for `ReturnScaler.update`.
      starts: As for `ReturnScaler.update`.
    """
    for stream, scaler in zip(self.streams, self.scalers, strict=True):
      if scaler is not None:
        scaler.update(_from_environment(stream, rewards), valid, starts)

  def rewards(
      self, experience: trajectory.Trajectory, bonuses: Bonuses
  ) -> list[tf.Tensor | None]:
    """Returns the rewards of each stream under the present statistics.

    Args:
      experience: A `Trajectory` [B, T+1].
      bonuses: Raw bonuses [B, T] by curiosity.

    Returns:
      A list of float tensors [B, T], one for each stream; None for a stream
      that is off.
    """
    valid = valid_transitions(experience)
    environment_rewards = tf.cast(experience.reward[:, :-1], tf.float32)
    rewards: list[tf.Tensor | None] = []
    for stream, scaler in zip(self.streams, self.scalers, strict=True):
      if not stream.is_on:
        rewards.append(None)
        continue
      terms = []
      if stream.environment_terms:
        reward = _from_environment(stream, environment_rewards)
        if scaler is not None:
          reward = scaler.scale(reward)
          if self._reward_clip:
            reward = tf.clip_by_value(
                reward, -self._reward_clip, self._reward_clip
            )
        terms.append(reward)
      curiosity = stream.curiosity
      if curiosity is not None:
        bonus = stream.clip(curiosity.normalize_bonus(bonuses[curiosity]))
        terms.append(_times(stream.bonus_weight, tf.where(valid, bonus, 0.0)))
      rewards.append(terms[0] if len(terms) == 1 else tf.add_n(terms))
    return rewards

  # ---------------------------------------------------------------------------
  # Advantages and returns.

  def advantages(
      self,
      experience: trajectory.Trajectory,
      rewards: Sequence[tf.Tensor | None],
      values: tf.Tensor,
      updates_statistics: bool = False,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Computes the combined advantages, and the returns of each stream.

    Args:
      experience: A `Trajectory` [B, T+1].
      rewards: Rewards [B, T] of each stream's transitions; None for a stream
        that is off.
      values: Values of every row, float [B, T+1, N].
      updates_statistics: Whether the advantages' divisor is updated.

    Returns:
      A tuple (advantages [B, T]; returns [B, T, N], the targets of the value
      heads).
    """
    old_values = values[:, :-1]

    def all_advantages(lambda_value: types.Float) -> list[tf.Tensor]:
      return [
          tf.zeros_like(old_values[..., head])
          if reward is None
          else self._advantages_of(
              stream, experience, reward, values[..., head], lambda_value
          )
          for head, (stream, reward) in enumerate(
              zip(self.streams, rewards, strict=True)
          )
      ]

    of_streams = of_returns = all_advantages(self._lambda)
    if self._return_lambda is not None:
      of_returns = all_advantages(self._return_lambda)
    combined = losses.combine_advantages(
        of_streams, [stream.advantage_coefficient for stream in self.streams]
    )
    if self.advantage_normalizer is not None:
      combined = self.advantage_normalizer(
          combined, valid_transitions(experience), updates_statistics
      )
    return combined, tf.stack(of_returns, axis=-1) + old_values

  def _advantages_of(
      self,
      stream: ReturnStream,
      experience: trajectory.Trajectory,
      rewards: tf.Tensor,
      values: tf.Tensor,
      lambda_value: types.Float,
  ) -> tf.Tensor:
    """Returns a stream's GAE [B, T] of rewards [B, T] and values [B, T+1]."""
    is_boundary = ~valid_transitions(experience)
    rewards = tf.where(is_boundary, 0.0, rewards)
    if stream.ends_with_episode:
      weights = discounting.episodic_weights(
          stream.discount_factor,
          lambda_value,
          experience.discount[:, :-1],
          tf.equal(experience.next_step_type[:, :-1], ts.StepType.LAST),
          is_boundary,
          self._bootstrap_at_time_limit,
      )
    else:
      values = discounting.bridge_boundary_values(values, is_boundary)
      weights = discounting.continuing_weights(
          stream.discount_factor,
          lambda_value,
          is_boundary,
          experience.discount[:, :-1],
          stream.termination_discount,
      )
    return discounting.generalized_advantage_estimation(
        rewards, values[:, :-1], values[:, -1], *weights
    )

  # ---------------------------------------------------------------------------
  # Metrics.

  def statistics(
      self,
      experience: trajectory.Trajectory,
      bonuses: Bonuses,
      rewards: Sequence[tf.Tensor | None],
      returns: tf.Tensor,
      values: tf.Tensor,
  ) -> dict[str, tf.Tensor]:
    """Returns metrics of a rollout by name, and updates the episodes' sums.

    Args:
      experience: A `Trajectory` [B, T+1].
      bonuses: Raw bonuses [B, T] by curiosity.
      rewards: Rewards of each stream, from `rewards`.
      returns: Returns [B, T, N].
      values: Values of every row, float [B, T+1, N].

    Returns:
      Scalars; those of streams that are off are missing.
    """
    valid = valid_transitions(experience)
    values = values[:, :-1]
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
    statistics.update(self._bonus_statistics(experience, bonuses, rewards))
    return statistics

  def _bonus_statistics(
      self,
      experience: trajectory.Trajectory,
      bonuses: Bonuses,
      rewards: Sequence[tf.Tensor | None],
  ) -> dict[str, tf.Tensor]:
    valid = valid_transitions(experience)
    ends = valid & tf.equal(experience.next_step_type[:, :-1], ts.StepType.LAST)
    num_ends = tf.reduce_sum(tf.cast(ends, tf.float32))
    curious = [s.name for s in self.streams if s.curiosity is not None]
    statistics = {}
    for stream, reward, sums in zip(
        self.streams, rewards, self.episode_sums, strict=True
    ):
      curiosity = stream.curiosity
      if curiosity is None or sums is None or not stream.is_on:
        continue
      bonus = bonuses[curiosity]
      kept = tf.boolean_mask(bonus, valid)
      for name, reduce in zip(
          _bonus_names(stream.name, curious),
          (tf.reduce_mean, tf.math.reduce_std, tf.reduce_max),
          strict=True,
      ):
        statistics[name] = reduce(kept)
      statistics[f'{stream.name}_reward_max'] = tf.reduce_max(
          tf.boolean_mask(reward, valid)
      )
      clipped = stream.clip(curiosity.normalize_bonus(bonus))
      is_clipped = tf.not_equal(clipped, curiosity.normalize_bonus(bonus))
      statistics[f'{stream.name}_reward_clipped'] = tf.reduce_mean(
          tf.cast(tf.boolean_mask(is_clipped, valid), tf.float32)
      )
      episode_returns = sums.add(
          clipped, 1.0, valid, _ends_and_starts(experience)
      )
      statistics[f'{stream.name}_episode_return_mean'] = (
          tf.math.divide_no_nan(
              tf.reduce_sum(tf.where(ends, episode_returns, 0.0)), num_ends
          )
      )
      statistics['num_ended_episodes'] = num_ends
    return statistics


def statistics_names(
    names: Sequence[str], curious: Sequence[str]
) -> tuple[str, ...]:
  """Returns the names of `ReturnStreams.statistics`, in the order of metrics.

  Args:
    names: Names of the streams.
    curious: Names of the streams with a curiosity.
  """
  of_bonuses = [
      statistic
      for name in curious
      for statistic in (
          *_bonus_names(name, curious),
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


def _bonus_names(name: str, curious: Sequence[str]) -> list[str]:
  """Returns the names of mean, deviation and maximum of a stream's raw bonus.

  The name of the stream is part of them if several streams have a curiosity.
  """
  prefix = '' if len(curious) == 1 else f'{name}_'
  return [f'{prefix}bonus_{each}' for each in ('mean', 'std', 'max')]


def curiosities(
    streams: Sequence[ReturnStream],
) -> list[curiosity_lib.Curiosity]:
  """Returns the curiosities of streams, each once."""
  found: list[curiosity_lib.Curiosity] = []
  for stream in streams:
    if stream.curiosity is not None and stream.curiosity not in found:
      found.append(stream.curiosity)
  return found


def valid_transitions(experience: trajectory.Trajectory) -> tf.Tensor:
  """Returns which rows [B, T] but the last begin a transition."""
  return tf.not_equal(experience.step_type[:, :-1], ts.StepType.LAST)


def is_padding(experience: trajectory.Trajectory) -> tf.Tensor:
  """Returns which rows [B, T] but the last are padding.

  They are LAST, and no episode begins after them (`hierarchy.Decisions`).
  """
  next_is_first = tf.equal(experience.step_type[:, 1:], ts.StepType.FIRST)
  return ~valid_transitions(experience) & ~next_is_first


def _ends_and_starts(experience: trajectory.Trajectory) -> tf.Tensor:
  """Returns where sums over episodes start again, booleans [B, T].

  They start again at ends, too: if rollouts share no row, as those of a driver
  with an emptied replay buffer, the last row may be the FIRST one of an episode
  whose transition is in none of them.
  """
  return tf.not_equal(
      experience.step_type[:, :-1], ts.StepType.MID
  ) & ~is_padding(experience)


def _from_environment(stream: ReturnStream, rewards: tf.Tensor) -> tf.Tensor:
  """Returns a stream's rewards [B, T] from those of the environment."""
  terms = [
      _times(weight, rewards if entry is None else rewards[..., entry])
      for weight, entry in stream.environment_terms
  ]
  return terms[0] if len(terms) == 1 else tf.add_n(terms)


def _times(weight: float, rewards: tf.Tensor) -> tf.Tensor:
  return rewards if weight == 1.0 else weight * rewards
