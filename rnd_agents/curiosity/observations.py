# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Selects, whitens and clips observations for curiosities."""

from collections.abc import Callable

import gin
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.networks import encoders
from rnd_agents.ops import rollout_parts
from rnd_agents.statistics import running_statistics

# Selects from a nest of tensors [outer..., *shape] what a curiosity sees.
ObservationFn = Callable[[types.NestedTensor], types.NestedTensor]


def observation_spec(
    environment_observation_spec: types.NestedTensorSpec,
    observation_fn: ObservationFn | None = None,
) -> types.NestedTensorSpec:
  """Returns the specs of a curiosity's input, for building its networks.

  Args:
    environment_observation_spec: A nest of tensor specs.
    observation_fn: Function that selects the input, from a nest of tensors
      [outer..., *shape] to another. Discrete entries are one-hot, [outer...,
      depth], so that their numbers do not count as sizes; all others are as the
      environment gives them. None for the whole observation.

  Returns:
    A nest of float32 specs.

  Raises:
    InvalidValue: If the function does not fit the observations.
  """
  specs = tensor_spec.from_spec(environment_observation_spec)
  if observation_fn is None:
    return encoders.float_spec(specs)
  example = tf.nest.map_structure(
      lambda spec: encoders.encode_discrete(
          tf.zeros([1, 1] + spec.shape.as_list(), spec.dtype), spec
      ),
      specs,
  )
  try:
    seen = observation_fn(example)
  # A function for other observations may raise anything.
  except Exception as error:
    shapes = tf.nest.map_structure(lambda x: x.shape[2:].as_list(), example)
    name = getattr(observation_fn, '__name__', observation_fn)
    raise errors.InvalidValue(
        f'observation_fn {name} fails on observations of shapes {shapes}:'
        f' {type(error).__name__}: {error}'
    ) from error
  return tf.nest.map_structure(
      lambda x: tf.TensorSpec(x.shape[2:], tf.float32), seen
  )


@gin.configurable(module='rnd_agents')
def key_observation_fn(key: str) -> ObservationFn:
  """Returns an `observation_fn` that selects one entry of a dict."""
  return lambda observation: observation[key]


@gin.configurable(module='rnd_agents', denylist=['observation'])
def newest_frame_observation_fn(observation: tf.Tensor) -> tf.Tensor:
  """Selects the last channel of stacked frames; an `observation_fn`."""
  return observation[..., -1:]


class SeenObservations(tf.Module):
  """Selects a curiosity's input from observations, whitens and clips it.

  As in Burda et al., 2018, section 2.4, for RND: by running moments.
  """

  def __init__(
      self,
      environment_observation_spec: types.NestedTensorSpec,
      observation_fn: ObservationFn | None = None,
      clip_value: float | None = 5.0,
      name: str = 'SeenObservations',
  ):
    """Creates the running moments.

    Args:
      environment_observation_spec: A nest of tensor specs: raw observations.
      observation_fn: Selects the input; see `observation_spec`.
      clip_value: Bound on whitened observations, in standard deviations; None
        for no clipping.
      name: Name of the module.

    Raises:
      InvalidType: If the bound is not a number.
      InvalidValue: If it is not above 0, or the function does not fit.
    """
    super().__init__(name=name)
    ranges.check(
        dict(observation_clip_value=ranges.ABOVE_0.or_none()),
        dict(observation_clip_value=clip_value),
    )
    self._environment_spec = tensor_spec.from_spec(environment_observation_spec)
    self._observation_fn = observation_fn
    self._clip_value = clip_value
    self.spec = observation_spec(environment_observation_spec, observation_fn)
    self.moments = [
        running_statistics.RunningMoments(spec.shape, 'rnd_observation')
        for spec in tf.nest.flatten(self.spec)
    ]

  def select(self, observations: types.NestedTensor) -> types.NestedTensor:
    """Selects the input from raw observations, as float32, not whitened.

    Args:
      observations: A nest of tensors [outer..., *shape].

    Returns:
      A nest of float32 tensors [outer..., ...].
    """
    seen = tf.nest.map_structure(
        encoders.encode_discrete, observations, self._environment_spec
    )
    if self._observation_fn is not None:
      seen = self._observation_fn(seen)
    return tf.nest.map_structure(lambda x: tf.cast(x, tf.float32), seen)

  def whiten(self, observations: types.NestedTensor) -> types.NestedTensor:
    """Returns network inputs: observations selected, whitened and clipped."""
    flat = tf.nest.flatten(self.select(observations))
    return tf.nest.pack_sequence_as(
        self.spec,
        [
            leaf_moments.whiten(leaf, self._clip_value)
            for leaf_moments, leaf in zip(self.moments, flat, strict=True)
        ],
    )

  def update(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds raw observations [outer..., *shape] to the moments."""
    flat = tf.nest.flatten(self.select(observations))
    for leaf_moments, leaf in zip(self.moments, flat, strict=True):
      leaf_moments.update(leaf, mask)

  def in_parts(
      self,
      function: Callable[[types.NestedTensor], tf.Tensor],
      observations: types.NestedTensor,
  ) -> tf.Tensor:
    """Applies a function to observations, in parts of a large rollout."""
    leaf = tf.nest.flatten(observations)[0]
    spec = tf.nest.flatten(self._environment_spec)[0]
    if len(leaf.shape) - len(spec.shape) < 2:  # A minibatch.
      return function(observations)
    return rollout_parts.by_environment(function, observations)
