# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""NovelD: what is more novel than where the agent came from."""

import gin
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import combinations
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import episodic_memory
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.curiosity import transitions as transitions_lib


@gin.configurable(module='rnd_agents', denylist=['novelty', 'name'])
class NovelD(curiosity.Curiosity):
  """The difference of novelty at first visits (Zhang et al., 2021, eq. 4).

      max(b(s') - alpha b(s), 0) where s' is new in its episode, else 0

  of transitions (s, s'), where b is another curiosity's bonus, RND's in the
  paper. It is paid where the known ends, and once an episode.
  """

  def __init__(
      self,
      novelty,
      alpha=0.5,
      key_fn=None,
      first_visits_only=True,
      discount_factor=0.99,
      scale_horizon_env_steps=None,
      least_scale_share=0.0,
      name='NovelD',
  ):
    """Creates the module.

    Args:
      novelty: A `Curiosity` that judges next observations alone, such as RND.
      alpha: How much of the novelty of the place before is taken off.
      key_fn: Function from a nest of raw observations [outer..., ...] to a nest
        [outer..., ...]: observations of one key are the same place. None for
        the whole observation.
      first_visits_only: Whether later visits in an episode earn nothing.
      discount_factor: As for `Curiosity`, like those below.
      scale_horizon_env_steps: See there.
      least_scale_share: See there.
      name: Name of the module.

    Raises:
      ValueError: If alpha is out of range, or the novelty has an episode or is
        a `Sum`.
    """
    super().__init__(
        discount_factor, name, scale_horizon_env_steps, least_scale_share
    )
    ranges.check(
        dict(alpha=ranges.WITHIN_0_AND_1), dict(alpha=alpha), f'{name}.'
    )
    if tf.nest.flatten(novelty.episodic_spec):
      raise errors.InvalidValue(
          f'{name}.novelty must judge observations alone, as RND does;'
          f' {type(novelty).__name__} pays by the episode so far.'
      )
    combinations.refuse_sum(name, novelty)
    self.novelty = novelty
    self._alpha = alpha
    self._visits = None
    if first_visits_only:
      self._visits = episodic_memory.FirstVisits(key_fn, name=name)

  @property
  def trainable_variables(self):
    """The novelty's."""
    return self.novelty.trainable_variables

  @property
  def episodic_spec(self):
    """1 for a first visit, 0 for another."""
    return () if self._visits is None else tf.TensorSpec([], tf.float32)

  def episodic(self, transitions):
    """As for `Curiosity`."""
    return () if self._visits is None else self._visits.values(transitions)

  def bonus(self, transitions, constants=None):
    """As for `Curiosity`."""
    difference = tf.maximum(self._differences(transitions, constants), 0.0)
    if self._visits is None:
      return difference
    return self.episodic_part(transitions) * difference

  def _differences(self, transitions, constants):
    """b(s') - alpha b(s)."""
    if not self._alpha:
      return self.novelty.bonus(transitions, constants)
    transitions.require_whole(self.name)
    if transitions.is_rollout:  # Each of T + 1 observations is judged once.
      rows = transitions_lib.Transitions(transitions.rows())
      bonus = self.novelty.bonus(rows)
      return bonus[:, 1:] - self._alpha * bonus[:, :-1]
    before = transitions_lib.Transitions(transitions.observation)
    return self.novelty.bonus(transitions, constants) - (
        self._alpha * self.novelty.bonus(before)
    )

  def constants(self, transitions):
    """As for `Curiosity`: the novelty's."""
    return self.novelty.constants(transitions)

  def loss(self, transitions, weights=None, constants=None):
    """As for `Curiosity`: the novelty's."""
    return self.novelty.loss(transitions, weights, constants)

  def update_statistics(self, transitions):
    """As for `Curiosity`; the memory of the episodes goes on, too."""
    if self._visits is not None:
      self._visits.update(transitions)
    self.novelty.update_statistics(transitions)

  def update_observation_statistics(self, observations, mask=None):
    """As for `Curiosity`: the novelty's."""
    self.novelty.update_observation_statistics(observations, mask)


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_novel_d(
    time_step_spec,
    action_spec,
    novelty_fn=random_network_distillation.create_rnd,
):
  """Builds `NovelD`, whose arguments gin binds by its name.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.
    novelty_fn: Function from the two to the `Curiosity` whose bonus it takes.

  Returns:
    A `NovelD`.

  Raises:
    TypeError: If `novelty_fn` is no such function.
  """
  novelty = curiosity.build(
      'create_novel_d.novelty_fn', novelty_fn, time_step_spec, action_spec
  )
  return NovelD(novelty)
