# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Running statistics as modules, which checkpoints of their owner save."""

from collections.abc import Sequence

import tensorflow as tf
from tf_agents.typing import types

from rnd_agents import observations as observations_lib
from rnd_agents.ops import discounting
from rnd_agents.ops import losses
from rnd_agents.ops import moments
from rnd_agents.ops import rollout_parts

# A fresh statistic weighs as much as this many samples of N(0, 1): the first
# real sample replaces it (Burda et al.'s code).
_INITIAL_COUNT = 1e-4


class RunningMoments(tf.Module):
  """Mean and population variance of everything seen so far, in float64."""

  def __init__(
      self,
      shape: types.Shape,
      name: str = 'RunningMoments',
      horizon: float | None = None,
      initial_count: float = _INITIAL_COUNT,
  ):
    """Creates the statistics.

    Args:
      shape: Shape of one sample.
      name: Name of the module.
      horizon: Largest weight of all earlier samples together, in samples. A
        smaller one forgets old samples sooner; None forgets nothing.
      initial_count: Weight of the first mean, 0, and variance, 1, in samples;
        above 0.
    """
    super().__init__(name=name)
    self._horizon = horizon

    def variable(
        value: float, variable_shape: types.Shape, variable_name: str
    ) -> tf.Variable:
      return tf.Variable(
          tf.fill(variable_shape, tf.constant(value, tf.float64)),
          trainable=False,
          name=variable_name,
      )

    self.mean = variable(0.0, shape, 'mean')
    self.variance = variable(1.0, shape, 'variance')
    self.count = variable(initial_count, [], 'count')

  def update(self, values: tf.Tensor, mask: tf.Tensor | None = None) -> None:
    """Adds new samples.

    Args:
      values: A float tensor [outer..., *shape].
      mask: Booleans [outer...]: False samples are ignored; None for none.
    """
    values = tf.convert_to_tensor(values)  # NumPy arrays lack `rank`.
    if mask is not None:
      mask = tf.convert_to_tensor(mask)
    num_outer_dims = values.shape.rank - self.mean.shape.rank
    if self._horizon is not None:
      self.count.assign(tf.minimum(self.count, float(self._horizon)))
    if num_outer_dims > 1 and rollout_parts.is_large(self.mean.shape):
      if mask is None:
        mask = tf.ones(tf.shape(values)[:num_outer_dims], tf.bool)
      # In float64 all frames of a rollout at once would be gigabytes.
      values, mask = rollout_parts.split((values, mask))
      _, *merged = tf.while_loop(
          lambda i, *_: i < tf.shape(values)[0],
          lambda i, *so_far: (
              i + 1,
              *_take_in(so_far, values[i], mask[i], num_outer_dims),
          ),
          (0, *(tf.convert_to_tensor(v) for v in self._variables())),
          parallel_iterations=1,
      )
    else:
      merged = _take_in(self._variables(), values, mask, num_outer_dims)
    for variable, value in zip(self._variables(), merged, strict=True):
      variable.assign(value)

  def _variables(self) -> tuple[tf.Variable, tf.Variable, tf.Variable]:
    return self.mean, self.variance, self.count

  def whiten(self, values: tf.Tensor, clip_value: float | None) -> tf.Tensor:
    """Returns `clip((x - mean) / std, -clip_value, clip_value)`."""
    return moments.whiten_and_clip(values, self.mean, self.variance, clip_value)


def _take_in(
    so_far: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    values: tf.Tensor,
    mask: tf.Tensor | None,
    num_outer_dims: int,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
  """Returns (mean, variance, count) with more values added."""
  return moments.merge_moments(
      *so_far,
      *moments.batch_moments(tf.cast(values, tf.float64), mask, num_outer_dims),
  )


def initial_count(is_integer: bool) -> float:
  """Returns the `initial_count` of `RunningMoments` of observations."""
  # 0 would weigh too much beside a clock of 1e9 seconds.
  return 1e-30 if is_integer else _INITIAL_COUNT


class ObservationNormalizer(tf.Module):
  """Whitens the numbers among a nest of observations.

  Has the methods of TF-Agents' `TensorNormalizer` that policies use. Unlike
  that one it starts at variance 1, adds no epsilon of 1e-3 (which would hide
  MountainCar's velocities), keeps float64 statistics and leaves pictures, masks
  and categories alone.
  """

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      clip_value: float | None = 5.0,
      whitened: Sequence[bool] | None = None,
      name: str = 'Normalizer',
  ):
    """Creates the normalizer.

    Args:
      observation_spec: A nest of tensor specs.
      clip_value: Bound on the whitened values, in standard deviations.
      whitened: Which leaves are whitened, flat
        (`observations.whitened_leaves`); None for those of floating numbers.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._clip_value = clip_value
    self._spec = observation_spec
    specs = tf.nest.flatten(observation_spec)
    if whitened is None:
      whitened = [spec.dtype.is_floating for spec in specs]
    self.whitened = list(whitened)
    self._flat_moments = [
        RunningMoments(
            spec.shape, initial_count=initial_count(not spec.dtype.is_floating)
        )
        if is_whitened
        else None
        for spec, is_whitened in zip(specs, whitened, strict=True)
    ]

  @property
  def spec(self) -> types.NestedTensorSpec:
    """Specs of the observations as they are."""
    return self._spec

  @property
  def normalized_spec(self) -> types.NestedTensorSpec:
    """Specs of what `normalize` returns."""
    flat = [
        leaf
        if own is None
        else tf.TensorSpec(
            leaf.shape,
            leaf.dtype if leaf.dtype.is_floating else tf.float32,
            leaf.name,
        )
        for own, leaf in zip(
            self._flat_moments, tf.nest.flatten(self._spec), strict=True
        )
    ]
    return tf.nest.pack_sequence_as(self._spec, flat)

  def normalize(self, observations: types.NestedTensor) -> types.NestedTensor:
    """Whitens a nest of tensors [outer..., *spec.shape]; to floats."""

    def whiten(own: RunningMoments, leaf: tf.Tensor) -> tf.Tensor:
      if tf.as_dtype(leaf.dtype).is_floating:
        return own.whiten(leaf, self._clip_value)
      leaf = tf.cast(leaf, tf.float64)  # Clocks need more than 24 bits.
      return tf.cast(own.whiten(leaf, self._clip_value), tf.float32)

    flat = [
        leaf if own is None else whiten(own, leaf)
        for own, leaf in zip(
            self._flat_moments, tf.nest.flatten(observations), strict=True
        )
    ]
    return tf.nest.pack_sequence_as(self._spec, flat)

  def update(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds observations [outer..., *spec.shape] that the mask keeps."""
    for own, leaf in zip(
        self._flat_moments, tf.nest.flatten(observations), strict=True
    ):
      if own is not None:
        own.update(leaf, mask)


def create_observation_normalizer(
    observation_spec: types.NestedTensorSpec,
    input_spec: types.NestedTensorSpec,
    normalize_observations: bool,
) -> ObservationNormalizer | None:
  """Returns an agent's normalizer; None if nothing is whitened.

  Args:
    observation_spec: A nest of tensor specs.
    input_spec: The network's `input_tensor_spec`.
    normalize_observations: As for `observations.whitened_leaves`.
  """
  whitened = observations_lib.whitened_leaves(
      observation_spec, input_spec, normalize_observations
  )
  if not (normalize_observations or any(whitened)):
    return None
  return ObservationNormalizer(observation_spec, whitened=whitened)


class EnvironmentRows(tf.Module):
  """Keeps a row for each environment of a batch from call to call.

  The number of environments is that of the last call. When it changes, all rows
  are zero again.
  """

  def __init__(
      self, spec: types.NestedTensorSpec, name: str = 'EnvironmentRows'
  ):
    """Creates an empty memory.

    Args:
      spec: A nest of tensor specs of one environment's row; None stands for a
        dimension that may grow.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._spec = spec
    self._flat = [
        tf.Variable(
            _zeros(leaf, 0),
            shape=[None, *leaf.shape],
            trainable=False,
            validate_shape=False,
            name='rows',
        )
        for leaf in tf.nest.flatten(spec)
    ]
    # Not tf.shape(rows)[0]: TensorFlow 2.15's graph optimiser takes an equal
    # size for granted where the result is assigned back to the variable.
    self._num_rows = tf.Variable(0, trainable=False, name='num_rows')

  def are_for(self, batch_size: types.Int) -> tf.Tensor:
    """Returns whether the rows belong to a batch of this size, boolean []."""
    return tf.equal(self._num_rows, batch_size)

  def read(self, batch_size: types.Int) -> types.NestedTensor:
    """Returns the rows, a nest [B, ...]; zeros if the batch size is new."""
    rows = tf.cond(
        self.are_for(batch_size),
        lambda: [variable.read_value() for variable in self._flat],
        lambda: [
            _zeros(leaf, batch_size) for leaf in tf.nest.flatten(self._spec)
        ],
    )
    return tf.nest.pack_sequence_as(self._spec, rows)

  def assign(self, rows: types.NestedTensor) -> None:
    """Stores new rows, a nest [B, ...], after they were computed."""
    flat = tf.nest.flatten(rows)
    with tf.control_dependencies(flat):
      for variable, value in zip(self._flat, flat, strict=True):
        variable.assign(value)
      self._num_rows.assign(tf.shape(flat[0])[0])


def _zeros(spec: tf.TensorSpec, batch_size: types.Int) -> tf.Tensor:
  return tf.zeros([batch_size, *(size or 0 for size in spec.shape)], spec.dtype)


class RunningSums(tf.Module):
  """Discounted sums of each environment, continued from rollout to rollout."""

  def __init__(self, name: str = 'RunningSums'):
    """Creates the sums.

    Args:
      name: Name of the module.
    """
    super().__init__(name=name)
    self._sums = EnvironmentRows(tf.TensorSpec([]))

  def add(
      self,
      rewards: tf.Tensor,
      discount_factor: types.Float,
      valid: tf.Tensor,
      starts: tf.Tensor | None = None,
  ) -> tf.Tensor:
    """Adds rewards to the sums.

    Args:
      rewards: A float tensor [B, T]; row b of every call belongs to environment
        b. Another B than before starts all sums at 0.
      discount_factor: Discount of the sums.
      valid: Booleans [B, T]; False rows are ignored.
      starts: Booleans [B, T]: rows with the first reward of an episode, where
        the sum starts at 0. If such a row is not valid, the sum starts after
        it. None for a stream that never ends.

    Returns:
      The sums after each reward, [B, T].
    """
    rewards = tf.cast(rewards, tf.float32)
    sums = self._sums.read(tf.shape(rewards)[0])
    discounts = discount_factor
    if starts is not None:
      discounts = tf.where(starts, 0.0, discounts)
      rewards = tf.where(valid, rewards, 0.0)
      valid = tf.logical_or(valid, starts)
    filtered, last = discounting.discounted_return_filter(
        rewards, discounts, sums, valid
    )
    self._sums.assign(last)
    return filtered


class ReturnScaler(tf.Module):
  """Divides rewards by the running standard deviation of their returns.

  The returns are sums discounted forwards in time, one for each environment,
  continued from rollout to rollout (Burda et al., 2018, section 2.4).
  """

  def __init__(
      self,
      discount_factor: types.Float,
      name: str = 'ReturnScaler',
      horizon: float | None = None,
      least_share: float = 0.0,
      least_deviation: float = 0.0,
  ):
    """Creates the scaler.

    Args:
      discount_factor: Discount of the returns.
      name: Name of the module.
      horizon: As for `RunningMoments`, in returns.
      least_share: Lower bound on the divisor, as a share of the largest
        deviation so far.
      least_deviation: Lower bound on the divisor.
    """
    super().__init__(name=name)
    self._discount_factor = discount_factor
    self._least_share = least_share
    self._least_deviation = least_deviation
    self.moments = RunningMoments([], 'return_moments', horizon)
    self._largest_variance = None
    if least_share:
      self._largest_variance = tf.Variable(
          0.0, trainable=False, dtype=tf.float64, name='largest_variance'
      )
    self._sums = RunningSums('return_sums')

  def update(
      self,
      rewards: tf.Tensor,
      valid: tf.Tensor,
      starts: tf.Tensor | None = None,
  ) -> None:
    """Adds rewards to the sums, and the sums to the statistics.

    Args:
      rewards: As for `RunningSums.add`.
      valid: As for `RunningSums.add`.
      starts: As for `RunningSums.add`.
    """
    sums = self._sums.add(rewards, self._discount_factor, valid, starts)
    self.moments.update(sums, valid)
    if self._largest_variance is not None:
      self._largest_variance.assign(
          tf.maximum(self._largest_variance, self._spread())
      )

  def _spread(self) -> tf.Tensor:
    """Returns the variance of the returns; the square of a single one."""
    variance, mean = self.moments.variance, self.moments.mean
    return tf.where(
        self.moments.count < 2.0, variance + tf.square(mean), variance
    )

  def scale(self, rewards: tf.Tensor) -> tf.Tensor:
    """Divides rewards by the standard deviation; no centering, no clipping."""
    spread = self._spread()
    if self._largest_variance is not None:
      spread = tf.maximum(spread, self._least_share**2 * self._largest_variance)
    if self._least_deviation:
      spread = tf.maximum(
          spread, tf.constant(self._least_deviation**2, spread.dtype)
      )
    return rewards / tf.cast(tf.sqrt(spread), rewards.dtype)


class AdvantageNormalizer(tf.Module):
  """Normalizes advantages by a standard deviation that falls slowly."""

  def __init__(self, decay: float = 0.0, name: str = 'AdvantageNormalizer'):
    """Creates the normalizer.

    Args:
      decay: Lower bound on the divisor, as a share of the last one, between 0
        and 1. At 0 each rollout is divided by its own deviation.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._decay = decay
    self.variance = tf.Variable(0.0, trainable=False, name='advantage_variance')

  def __call__(
      self, advantages: tf.Tensor, mask: tf.Tensor, updates_statistics: bool
  ) -> tf.Tensor:
    """Normalizes the advantages of a rollout.

    Args:
      advantages: A float tensor [B, T].
      mask: Booleans [B, T]: which of them count.
      updates_statistics: Whether to store the divisor for the next call.

    Returns:
      A float tensor [B, T] of mean 0, and of variance 1 where the divisor is
      the rollout's own deviation; 0 where the mask is False.
    """
    normalized, variance = losses.normalize_advantages(
        advantages,
        mask,
        least_variance=tf.square(self._decay) * self.variance,
    )
    if updates_statistics:
      self.variance.assign(variance)
    return normalized
