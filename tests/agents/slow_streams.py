# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Returns and statistics of RND-PPO as obvious loops, to compare with."""

import dataclasses
import typing

import numpy as np

FIRST, LAST = 0, 2


class Stream(typing.NamedTuple):
  """A return stream; its source is 'reward', 'bonus' or an entry."""

  name: str
  discount_factor: float
  coefficient: float
  ends_with_episode: bool
  source: typing.Any


@dataclasses.dataclass
class Settings:
  """What both sides are told."""

  discount_factor: float = 0.999
  intrinsic_discount_factor: float = 0.99
  lambda_value: float = 0.95
  extrinsic_advantage_coefficient: float = 2.0
  intrinsic_advantage_coefficient: float = 1.0
  episodic_intrinsic_stream: bool = False
  bootstrap_at_time_limit: bool = True
  intrinsic_reward_clip: float | None = None
  intrinsic_termination_discount: float = 1.0
  normalize_advantages: bool = False
  advantage_scale_decay: float = 0.0
  normalize_observations: bool = False
  normalize_rewards: bool = False
  least_reward_deviation: float = 0.0
  reward_norm_clipping: float = 10.0
  observation_clip_value: float | None = 5.0
  predictor_proportion: float = 0.25
  num_epochs: int = 2
  num_minibatches: int = 3
  target_kl: float | None = None
  importance_ratio_clipping: float = 0.1
  dual_clip: float | None = None
  entropy_regularization: float = 0.001
  value_pred_loss_coef: float = 0.5
  value_clipping: float = 0.0
  gradient_clipping: float = 0.0
  log_prob_clipping: float = 0.0
  policy_l2_reg: float = 0.0
  value_function_l2_reg: float = 0.0
  shared_vars_l2_reg: float = 0.0
  use_gae: bool = True
  use_td_lambda_return: bool = True
  initial_adaptive_kl_beta: float = 0.0
  kl_cutoff_factor: float = 0.0
  kl_cutoff_coef: float = 1000.0
  adaptive_kl_target: float = 0.01
  adaptive_kl_tolerance: float = 0.3

  def streams(self):
    """The streams in the order of the value heads."""
    return (
        Stream(
            'extrinsic',
            self.discount_factor,
            self.extrinsic_advantage_coefficient,
            True,
            'reward',
        ),
        Stream(
            'intrinsic',
            self.intrinsic_discount_factor,
            self.intrinsic_advantage_coefficient,
            self.episodic_intrinsic_stream,
            'bonus',
        ),
    )


class ThreeStreams(Settings):
  """Of a reward of two entries and a bonus, no stream like another."""

  def streams(self):
    return (
        Stream('fuel', 0.9, 0.7, False, 1),
        Stream('intrinsic', 0.99, 1.0, True, 'bonus'),
        Stream('goal', 0.95, 1.5, True, 0),
    )


def monte_carlo(settings, stream, rewards, values, step_types, discounts):
  """One environment's discounted returns; the last value ends a cut one."""
  gamma, returns = stream.discount_factor, np.zeros(len(rewards))
  following = values[len(rewards)]
  for t in reversed(range(len(rewards))):
    if step_types[t] == LAST:
      if not stream.ends_with_episode:
        returns[t] = following
        continue
      returns[t] = values[t]
    else:
      died = discounts[t] == 0
      if not stream.ends_with_episode:
        left = settings.intrinsic_termination_discount if died else 1.0
      elif step_types[t + 1] == LAST:
        left = float(not died and settings.bootstrap_at_time_limit)
        following = values[t + 1]
      else:
        left = float(not died)
      returns[t] = rewards[t] + gamma * left * following
    following = returns[t]
  return returns


class Samples:
  """Moments of everything ever seen, by keeping all of it.

  The prior of mean 0 and variance 1 weighs as much as 1e-4 samples.
  """

  def __init__(self):
    self._kept = []

  def __len__(self):
    return len(self._kept)

  def add(self, values):
    self._kept.extend(np.asarray(values, np.float64))

  def moments(self):
    if not self._kept:
      return 0.0, 1.0
    kept = np.array(self._kept)
    count = 1e-4 + len(kept)
    mean = kept.sum(0) / count
    square = (1e-4 + np.square(kept).sum(0)) / count
    return mean, square - mean**2

  def whiten(self, values, clip):
    mean, variance = self.moments()
    values = (np.asarray(values, np.float64) - mean) / np.sqrt(variance)
    return values if clip is None else np.clip(values, -clip, clip)


def gae(settings, stream, rewards, values, step_types, discounts):
  """One environment's advantages in a stream."""
  of_stream = dataclasses.replace(
      settings,
      discount_factor=stream.discount_factor,
      intrinsic_discount_factor=stream.discount_factor,
      episodic_intrinsic_stream=False,
  )
  fn = gae_extrinsic if stream.ends_with_episode else gae_intrinsic
  return fn(of_stream, rewards, values, step_types, discounts)


def gae_extrinsic(settings, rewards, values, step_types, discounts):
  """One environment: every episode's part on its own."""
  gamma, lambda_ = settings.discount_factor, settings.lambda_value
  advantages = np.zeros(len(rewards))
  carried = 0.0
  for t in reversed(range(len(rewards))):
    if step_types[t] == LAST:
      carried = 0.0
      continue
    ends = step_types[t + 1] == LAST
    died = ends and (discounts[t] == 0 or not settings.bootstrap_at_time_limit)
    future = 0.0 if died else values[t + 1]
    if ends:
      carried = 0.0
    delta = rewards[t] + gamma * future - values[t]
    carried = delta + gamma * lambda_ * carried
    advantages[t] = carried
  return advantages


def gae_intrinsic(settings, rewards, values, step_types, discounts):
  """One environment: the boundary rows deleted, then one endless episode."""
  if settings.episodic_intrinsic_stream:
    episodic = dataclasses.replace(
        settings, discount_factor=settings.intrinsic_discount_factor
    )
    return gae_extrinsic(episodic, rewards, values, step_types, discounts)
  gamma, lambda_ = settings.intrinsic_discount_factor, settings.lambda_value
  steps = [t for t in range(len(rewards)) if step_types[t] != LAST]
  advantages = np.zeros(len(rewards))
  carried, future = 0.0, values[len(rewards)]
  for t in reversed(steps):
    died = discounts[t] == 0  # Also where a life is lost within an episode.
    left = settings.intrinsic_termination_discount if died else 1.0
    delta = rewards[t] + gamma * left * future - values[t]
    carried = delta + gamma * left * lambda_ * carried
    advantages[t] = carried
    future = values[t]
  return advantages
