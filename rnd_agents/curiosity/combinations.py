# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Combines curiosities: their product, their sum, a bounded factor."""

from collections.abc import Iterator, Sequence
from typing import Any

import gin
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import curiosity
from rnd_agents.statistics import running_statistics


class Combination(curiosity.Curiosity):
  """The base class of curiosities that combine the bonuses of others."""

  def __init__(
      self, parts: Sequence[curiosity.Curiosity], *args: Any, **kwargs: Any
  ):
    """Creates the module.

    Args:
      parts: `Curiosity`s to combine.
      *args: Arguments of `Curiosity`.
      **kwargs: Arguments of `Curiosity`.
    """
    super().__init__(*args, **kwargs)
    self.parts = list(parts)
    for part in self.parts:
      if not isinstance(part, curiosity.Curiosity):
        raise errors.InvalidType(
            f'{self.name} combines curiosities, got {type(part).__name__}.'
        )
      refuse_sum(self.name, part)

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of all parts."""
    return [v for part in self.parts for v in part.trainable_variables]

  @property
  def episodic_spec(self) -> types.NestedTensorSpec:
    """Tuple of the parts' specs."""
    return tuple(part.episodic_spec for part in self.parts)

  def episodic(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns a tuple with `episodic` of each part."""
    return tuple(part.episodic(transitions) for part in self.parts)

  @property
  def learns_from_sequences(self) -> bool:
    """Whether one of the parts does."""
    return any(part.learns_from_sequences for part in self.parts)

  def constants(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns a tuple with `constants` of each part."""
    return tuple(part.constants(transitions) for part in self.parts)

  def _each(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None,
  ) -> Iterator[tuple[curiosity.Curiosity, curiosity.Transitions, Any]]:
    """Yields each part with its transitions and its constants."""
    episodic = transitions.episodic
    if not tf.nest.flatten(self.episodic_spec):
      episodic = None  # What is there is of a curiosity around this one.
    for i, part in enumerate(self.parts):
      own = transitions._replace(
          episodic=None if episodic is None else episodic[i]
      )
      yield part, own, None if constants is None else constants[i]

  def _bonuses(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None,
  ) -> list[tf.Tensor]:
    """Returns the raw bonuses of the parts, a list of tensors [outer...]."""
    return [
        part.bonus(*own) for part, *own in self._each(transitions, constants)
    ]

  def loss(
      self,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the sum of the losses of the parts."""
    return tf.add_n([
        part.loss(own, weights, own_constants)
        for part, own, own_constants in self._each(transitions, constants)
    ])

  def update_statistics(self, transitions: curiosity.Transitions) -> None:
    """Updates the statistics of all parts."""
    for part, own, _ in self._each(transitions, None):
      part.update_statistics(own)

  def update_observation_statistics(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Updates the observation statistics of all parts."""
    for part in self.parts:
      part.update_observation_statistics(observations, mask)


@gin.configurable(module='rnd_agents', denylist=['parts', 'name'])
class Product(Combination):
  """Pays the product of the raw bonuses of curiosities.

  The product of a novelty over the lifetime and one within the episode, such as
  RND and E3B, is useful both where episodes have much in common and where they
  have little (Henaff et al., 2023, arXiv 2306.03236).
  """

  def __init__(
      self,
      parts: Sequence[curiosity.Curiosity],
      discount_factor: types.Float = 0.99,
      scale_horizon_env_steps: float | None = None,
      least_scale_share: float = 0.0,
      name: str = 'Product',
  ):
    """Creates the module.

    Args:
      parts: `Curiosity`s.
      discount_factor: As for `Curiosity`.
      scale_horizon_env_steps: As for `Curiosity`.
      least_scale_share: As for `Curiosity`.
      name: Name of the module.
    """
    super().__init__(
        parts,
        discount_factor,
        name,
        scale_horizon_env_steps,
        least_scale_share,
    )

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the product of the raw bonuses of the parts."""
    bonus, *others = self._bonuses(transitions, constants)
    for other in others:
      bonus *= other
    return bonus


@gin.configurable(module='rnd_agents', denylist=['parts', 'name'])
class Sum(Combination):
  """Pays the weighted sum of curiosities, each scaled by its own return.

  Its raw bonus has one more axis: [outer..., N], an entry for each part.
  """

  def __init__(
      self,
      parts: Sequence[curiosity.Curiosity],
      weights: Sequence[float] | None = None,
      name: str = 'Sum',
  ):
    """Creates the module.

    Args:
      parts: N `Curiosity`s.
      weights: Factor of each part's normalized bonus; None for 1.
      name: Name of the module.
    """
    super().__init__(parts, name=name)
    self._weights = [1.0] * len(self.parts) if weights is None else weights
    if not isinstance(self._weights, (list, tuple)) or (
        len(self._weights) != len(self.parts)
    ):
      raise errors.InvalidValue(
          f'{name}.weights must be {len(self.parts)} numbers, one for each'
          f' part, got {weights}.'
      )

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the raw bonuses of the parts, [outer..., N]."""
    return tf.stack(self._bonuses(transitions, constants), axis=-1)

  def update_return_statistics(
      self, bonus: tf.Tensor, valid: tf.Tensor | None = None
  ) -> None:
    """Updates the return statistics of the parts; `bonus` is [B, T, N]."""
    for i, part in enumerate(self.parts):
      part.update_return_statistics(bonus[..., i], valid)

  def normalize_bonus(self, bonus: tf.Tensor) -> tf.Tensor:
    """Returns the weighted sum [outer...] of bonuses [outer..., N]."""
    return tf.add_n([
        weight * part.normalize_bonus(bonus[..., i])
        for i, (weight, part) in enumerate(
            zip(self._weights, self.parts, strict=True)
        )
    ])


@gin.configurable(module='rnd_agents', denylist=['part', 'name'])
class BoundedFactor(Combination):
  """Turns a bonus into a factor between 1 and a bound (NGU's modulator).

      clip(1 + (b - mean) / deviation, 1, bound)

  with the running mean and deviation of its bonus b (Badia et al., 2020, arXiv
  2002.06038, section 2). In a `Product` it raises another bonus for
  observations that are new in the lifetime, and never lowers it.
  """

  def __init__(
      self,
      part: curiosity.Curiosity,
      bound: float = 5.0,
      name: str = 'BoundedFactor',
  ):
    """Creates the module.

    Args:
      part: A `Curiosity`.
      bound: The largest factor, above 1.
      name: Name of the module.
    """
    super().__init__([part], name=name)
    ranges.check(
        dict(bound=ranges.Range(lambda x: x > 1, 'above 1')),
        dict(bound=bound),
        f'{name}.',
    )
    self._bound = bound
    self._moments = running_statistics.RunningMoments([], 'bonus_moments')

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the factor."""
    (bonus,) = self._bonuses(transitions, constants)
    whitened = self._moments.whiten(bonus, clip_value=None)
    return tf.clip_by_value(1.0 + whitened, 1.0, self._bound)

  def update_statistics(self, transitions: curiosity.Transitions) -> None:
    """Updates the moments of the bonus and the statistics of the part."""
    (bonus,) = self._bonuses(transitions, None)
    self._moments.update(bonus, transitions.valid)
    super().update_statistics(transitions)


def refuse_sum(owner: str, part: curiosity.Curiosity) -> None:
  """Raises InvalidValue for a `Sum`, which has one raw bonus for each part."""
  if isinstance(part, Sum):
    raise errors.InvalidValue(
        f'{owner} needs one bonus, and a Sum has one for each of its parts: put'
        ' the Sum outside, such as Sum([Product([a, c]), Product([b, c])]).'
    )


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_product(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    curiosity_fns: Sequence[curiosity.CuriosityFn] = (),
) -> Product:
  """Builds the `Product` of what `curiosity_fns` build.

  Such as (@create_rnd, @create_e3b).
  """
  specs = time_step_spec, action_spec
  return Product(_build('create_product', curiosity_fns, specs))


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_sum(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    curiosity_fns: Sequence[curiosity.CuriosityFn] = (),
) -> Sum:
  """Builds the `Sum` of what `curiosity_fns` build.

  Such as (@create_rnd, @create_e3b).
  """
  specs = time_step_spec, action_spec
  return Sum(_build('create_sum', curiosity_fns, specs))


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_bounded_factor(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    curiosity_fn: curiosity.CuriosityFn | None = None,
) -> BoundedFactor:
  """Builds a `BoundedFactor` of what `curiosity_fn` builds.

  For a `create_product`.
  """
  return BoundedFactor(
      curiosity.from_function(
          'create_bounded_factor.curiosity_fn',
          curiosity_fn,
          time_step_spec,
          action_spec,
      )
  )


def _build(
    owner: str,
    curiosity_fns: Sequence[curiosity.CuriosityFn],
    specs: tuple[ts.TimeStep, types.NestedTensorSpec],
) -> list[curiosity.Curiosity]:
  """Returns the curiosities that functions build; checks the functions."""
  if not isinstance(curiosity_fns, (list, tuple)) or not curiosity_fns:
    raise errors.InvalidType(
        f'{owner}.curiosity_fns must be a list of functions, such as'
        f' (@create_rnd, @create_e3b), got {curiosity_fns!r}.'
    )
  return [
      curiosity.from_function(f'{owner}.curiosity_fns', fn, *specs)
      for fn in curiosity_fns
  ]
