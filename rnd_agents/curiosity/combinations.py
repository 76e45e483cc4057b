# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Curiosities made of others: their product, their sum, a bounded factor."""

import gin
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import curiosity
from rnd_agents.statistics import running_statistics


class Combination(curiosity.Curiosity):
  """The base class of curiosities that combine the bonuses of others."""

  def __init__(self, parts, *args, **kwargs):
    """Takes `Curiosity`s; the other arguments are those of `Curiosity`."""
    super().__init__(*args, **kwargs)
    self.parts = list(parts)
    for part in self.parts:
      if not isinstance(part, curiosity.Curiosity):
        raise errors.InvalidType(
            f'{self.name} combines Curiositys, got {type(part).__name__}.'
        )
      refuse_sum(self.name, part)

  @property
  def trainable_variables(self):
    """Those of all parts."""
    return [v for part in self.parts for v in part.trainable_variables]

  @property
  def episodic_spec(self):
    """A tuple of the parts' specs."""
    return tuple(part.episodic_spec for part in self.parts)

  def episodic(self, transitions):
    """As for `Curiosity`: a tuple of the parts'."""
    return tuple(part.episodic(transitions) for part in self.parts)

  def constants(self, transitions):
    """As for `Curiosity`: a tuple of the parts'."""
    return tuple(part.constants(transitions) for part in self.parts)

  def _each(self, transitions, constants):
    """(part, its transitions, its constants) of each part."""
    for i, part in enumerate(self.parts):
      own = transitions
      if transitions.episodic is not None:
        own = transitions._replace(episodic=transitions.episodic[i])
      yield part, own, None if constants is None else constants[i]

  def _bonuses(self, transitions, constants):
    """The parts' raw bonuses, a list of tensors [outer...]."""
    return [
        part.bonus(*own) for part, *own in self._each(transitions, constants)
    ]

  def loss(self, transitions, weights=None, constants=None):
    """As for `Curiosity`: the sum of the parts'."""
    return tf.add_n([
        part.loss(own, weights, own_constants)
        for part, own, own_constants in self._each(transitions, constants)
    ])

  def update_statistics(self, transitions):
    """As for `Curiosity`, of all parts."""
    for part, own, _ in self._each(transitions, None):
      part.update_statistics(own)

  def update_observation_statistics(self, observations, mask=None):
    """As for `Curiosity`, of all parts."""
    for part in self.parts:
      part.update_observation_statistics(observations, mask)


@gin.configurable(module='rnd_agents', denylist=['parts', 'name'])
class Product(Combination):
  """The product of the raw bonuses of curiosities.

  Of a novelty over the lifetime and one within the episode, such as RND and
  E3B, it serves both where episodes share much and where they share little
  (Henaff et al., 2023, arXiv 2306.03236).
  """

  def __init__(
      self,
      parts,
      discount_factor=0.99,
      scale_horizon_env_steps=None,
      least_scale_share=0.0,
      name='Product',
  ):
    """Creates the module.

    Args:
      parts: `Curiosity`s.
      discount_factor: As for `Curiosity`, like those below.
      scale_horizon_env_steps: See there.
      least_scale_share: See there.
      name: Name of the module.
    """
    super().__init__(
        parts,
        discount_factor,
        name,
        scale_horizon_env_steps,
        least_scale_share,
    )

  def bonus(self, transitions, constants=None):
    """As for `Curiosity`."""
    bonus, *others = self._bonuses(transitions, constants)
    for other in others:
      bonus *= other
    return bonus


@gin.configurable(module='rnd_agents', denylist=['parts', 'name'])
class Sum(Combination):
  """The weighted sum of curiosities, each over the scale of its own return.

  Its raw bonus has an axis more, [outer..., N], one entry a part.
  """

  def __init__(self, parts, weights=None, name='Sum'):
    """Creates the module.

    Args:
      parts: N `Curiosity`s.
      weights: A factor of each one's normalized bonus; None for 1.
      name: Name of the module.

    Raises:
      ValueError: If there are not as many weights as parts.
    """
    super().__init__(parts, name=name)
    self._weights = [1.0] * len(self.parts) if weights is None else weights
    if not isinstance(self._weights, (list, tuple)) or (
        len(self._weights) != len(self.parts)
    ):
      raise errors.InvalidValue(
          f'{name}.weights must be {len(self.parts)} numbers, one a curiosity,'
          f' got {weights}.'
      )

  def bonus(self, transitions, constants=None):
    """As for `Curiosity`, [outer..., N]."""
    return tf.stack(self._bonuses(transitions, constants), axis=-1)

  def update_return_statistics(self, bonus, valid=None):
    """As for `Curiosity`, of bonuses [B, T, N]."""
    for i, part in enumerate(self.parts):
      part.update_return_statistics(bonus[..., i], valid)

  def normalize_bonus(self, bonus):
    """As for `Curiosity`, [outer...] of bonuses [outer..., N]."""
    return tf.add_n([
        weight * part.normalize_bonus(bonus[..., i])
        for i, (weight, part) in enumerate(
            zip(self._weights, self.parts, strict=True)
        )
    ])


@gin.configurable(module='rnd_agents', denylist=['part', 'name'])
class BoundedFactor(Combination):
  """A curiosity's bonus as a factor between 1 and a bound (NGU's modulator).

      clip(1 + (b - mean) / deviation, 1, bound)

  with the running mean and deviation of its bonus b (Badia et al., 2020, arXiv
  2002.06038, section 2). In a `Product` it raises another bonus where the
  lifetime has shown little of the kind, and never lowers it.
  """

  def __init__(self, part, bound=5.0, name='BoundedFactor'):
    """Creates the module.

    Args:
      part: A `Curiosity`.
      bound: The largest factor, above 1.
      name: Name of the module.

    Raises:
      ValueError: If the bound is out of range.
    """
    super().__init__([part], name=name)
    ranges.check(
        dict(bound=ranges.Range(lambda x: x > 1, 'above 1')),
        dict(bound=bound),
        f'{name}.',
    )
    self._bound = bound
    self._moments = running_statistics.RunningMoments([], 'bonus_moments')

  def bonus(self, transitions, constants=None):
    """As for `Curiosity`: the factor."""
    (bonus,) = self._bonuses(transitions, constants)
    whitened = self._moments.whiten(bonus, clip_value=None)
    return tf.clip_by_value(1.0 + whitened, 1.0, self._bound)

  def update_statistics(self, transitions):
    """As for `Curiosity`; the moments take the bonus in."""
    (bonus,) = self._bonuses(transitions, None)
    self._moments.update(bonus, transitions.valid)
    super().update_statistics(transitions)


def refuse_sum(owner, part):
  """Refuses a `Sum` where one raw bonus is needed, and not one for each part.

  Args:
    owner: Who needs it, in the message.
    part: A `Curiosity`.

  Raises:
    ValueError: If it is a `Sum`.
  """
  if isinstance(part, Sum):
    raise errors.InvalidValue(
        f'{owner} needs one bonus, and a Sum has one for each of its parts: put'
        ' the Sum outside, such as Sum([Product([a, c]), Product([b, c])]).'
    )


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_product(time_step_spec, action_spec, curiosity_fns=()):
  """Builds the `Product` of curiosities, whose settings gin binds by its name.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.
    curiosity_fns: Functions from the two to a `Curiosity` each, such as
      `(@create_rnd, @create_e3b)`.

  Returns:
    A `Product`.

  Raises:
    TypeError: If they are something else.
  """
  specs = time_step_spec, action_spec
  return Product(_build('create_product', curiosity_fns, specs))


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_sum(time_step_spec, action_spec, curiosity_fns=()):
  """Builds the `Sum` of curiosities, whose weights gin binds by its name.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.
    curiosity_fns: As for `create_product`.

  Returns:
    A `Sum`.

  Raises:
    TypeError: If they are something else.
  """
  specs = time_step_spec, action_spec
  return Sum(_build('create_sum', curiosity_fns, specs))


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_bounded_factor(time_step_spec, action_spec, curiosity_fn=None):
  """Builds a `BoundedFactor`, for a `create_product`.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.
    curiosity_fn: Function from the two to the `Curiosity`.

  Returns:
    A `BoundedFactor`.

  Raises:
    TypeError: If it is something else.
  """
  return BoundedFactor(
      curiosity.build(
          'create_bounded_factor.curiosity_fn',
          curiosity_fn,
          time_step_spec,
          action_spec,
      )
  )


def _build(owner, curiosity_fns, specs):
  """Calls functions that build curiosities; refuses what are none."""
  if not isinstance(curiosity_fns, (list, tuple)) or not curiosity_fns:
    raise errors.InvalidType(
        f'{owner}.curiosity_fns must be a list of functions, such as'
        f' (@create_rnd, @create_e3b), got {curiosity_fns!r}.'
    )
  return [
      curiosity.build(f'{owner}.curiosity_fns', fn, *specs)
      for fn in curiosity_fns
  ]
