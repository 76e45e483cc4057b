# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""NovelD: the increase of novelty from one observation to the next."""

from collections.abc import Sequence

import gin
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import combinations
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import episodic_memory
from rnd_agents.curiosity import random_network_distillation


@gin.configurable(module='rnd_agents', denylist=['novelty', 'name'])
class NovelD(curiosity.Curiosity):
  """Pays the difference of novelty at first visits (Zhang et al., 2021, eq. 4).

      max(b(s') - alpha b(s), 0) where s' is new in its episode, else 0

  of transitions (s, s'), where b is another curiosity's bonus, RND's in the
  paper. It is paid at the frontier of the known states, once in an episode.
  """

  def __init__(
      self,
      novelty: curiosity.Curiosity,
      alpha: float = 0.5,
      key_fn: curiosity.ObservationFn | None = None,
      first_visits_only: bool = True,
      discount_factor: types.Float = 0.99,
      scale_horizon_env_steps: float | None = None,
      least_scale_share: float = 0.0,
      name: str = 'NovelD',
  ):
    """Creates the module.

    Args:
      novelty: A `Curiosity` whose bonus depends on next observations alone,
        such as RND.
      alpha: Weight of the novelty of the previous observation, which is
        subtracted; between 0 and 1.
      key_fn: Function from a nest of raw observations [outer..., ...] to a nest
        [outer..., ...]: observations with equal keys are the same place. None
        for the whole observation.
      first_visits_only: Whether later visits in an episode earn nothing.
      discount_factor: As for `Curiosity`.
      scale_horizon_env_steps: As for `Curiosity`.
      least_scale_share: As for `Curiosity`.
      name: Name of the module.
    """
    super().__init__(
        discount_factor, name, scale_horizon_env_steps, least_scale_share
    )
    ranges.check(
        dict(alpha=ranges.WITHIN_0_AND_1), dict(alpha=alpha), f'{name}.'
    )
    ranges.check_flags(f'{name}.', first_visits_only=first_visits_only)
    if tf.nest.flatten(novelty.episodic_spec):
      raise errors.InvalidValue(
          f'{name}.novelty must depend on observations alone, as RND does; the'
          f' bonus of {type(novelty).__name__} depends on the episode so far.'
      )
    combinations.refuse_sum(name, novelty)
    self.novelty = novelty
    self._alpha = alpha
    self._key_fn = key_fn
    self._visits = None
    if first_visits_only:
      self._visits = episodic_memory.FirstVisits(key_fn, name=name)

  def check_key_fn(
      self, environment_observation_spec: types.NestedTensorSpec
  ) -> None:
    """Raises InvalidValue if `key_fn` does not fit the observations."""
    curiosity.check_key_fn(
        f'{self.name}.key_fn', self._key_fn, environment_observation_spec
    )

  def check_novelty(
      self, environment_observation_spec: types.NestedTensorSpec
  ) -> None:
    """Raises InvalidValue if the novelty needs more than observations."""
    if not self._alpha:
      return
    batch = tf.nest.map_structure(
        lambda spec: tf.TensorSpec([None, *spec.shape], spec.dtype),
        tensor_spec.from_spec(
            action_masks.without_mask(environment_observation_spec)
        ),
    )

    @tf.function(input_signature=[batch], autograph=False)
    def judge(observations: types.NestedTensor) -> tf.Tensor:
      return self.novelty.bonus(curiosity.Transitions(observations))

    try:
      judge.get_concrete_function()
    except errors.InvalidValue as error:
      raise curiosity.judges_more_than_observations(
          'create_novel_d.novelty_fn', self.novelty
      ) from error

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of the novelty."""
    return self.novelty.trainable_variables

  @property
  def episodic_spec(self) -> types.NestedTensorSpec:
    """Spec of a number that is 1 for a first visit, else 0."""
    return () if self._visits is None else tf.TensorSpec([], tf.float32)

  def episodic(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns 1 for transitions to first visits, 0 for others."""
    return () if self._visits is None else self._visits.values(transitions)

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the positive differences of novelty at first visits."""
    difference = tf.maximum(self._differences(transitions, constants), 0.0)
    if self._visits is None:
      return difference
    return self.episodic_part(transitions) * difference

  def _differences(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None,
  ) -> tf.Tensor:
    """Returns b(s') - alpha b(s)."""
    if not self._alpha:
      return self.novelty.bonus(transitions, constants)
    transitions.require_whole(self.name)
    if transitions.is_rollout:  # b of each of T + 1 rows once.
      rows = curiosity.Transitions(transitions.rows())
      bonus = self.novelty.bonus(rows)
      return bonus[:, 1:] - self._alpha * bonus[:, :-1]
    before = curiosity.Transitions(transitions.observation)
    return self.novelty.bonus(transitions, constants) - (
        self._alpha * self.novelty.bonus(before)
    )

  def constants(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns the constants of the novelty."""
    return self.novelty.constants(transitions)

  def loss(
      self,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the loss of the novelty."""
    return self.novelty.loss(transitions, weights, constants)

  def update_statistics(self, transitions: curiosity.Transitions) -> None:
    """Adds transitions to the memory of the episodes and to the novelty."""
    if self._visits is not None:
      self._visits.update(transitions)
    self.novelty.update_statistics(transitions)

  def update_observation_statistics(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds observations to the statistics of the novelty."""
    self.novelty.update_observation_statistics(observations, mask)


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_novel_d(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    novelty_fn: curiosity.CuriosityFn = random_network_distillation.create_rnd,
) -> NovelD:
  """Builds `NovelD` on what `novelty_fn` builds.

  Gin binds its other arguments.
  """
  novelty = curiosity.from_function(
      'create_novel_d.novelty_fn', novelty_fn, time_step_spec, action_spec
  )
  novel_d = NovelD(novelty)
  novel_d.check_key_fn(time_step_spec.observation)
  novel_d.check_novelty(time_step_spec.observation)
  return novel_d
