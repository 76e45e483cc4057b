# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Novelty of an archive's cells by a curiosity such as RND."""

from collections.abc import Callable

import gin
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import curiosity
from rnd_agents import ranges
from rnd_agents.agents import optimizers
from rnd_agents.curiosity import curiosity as curiosity_lib


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
class CuriosityNovelty:
  """Returns a curiosity's raw bonus of observations, then learns from them.

    explore.novelty_fn = @CuriosityNovelty

  The curiosity must judge observations by themselves, as RND does.
  """

  def __init__(
      self,
      time_step_spec: ts.TimeStep,
      action_spec: types.NestedSpec,
      curiosity_fn: Callable[
          ..., curiosity_lib.Curiosity
      ] = curiosity.create_rnd,
      learning_rate: float = 1e-4,
  ):
    """Creates the curiosity.

    Args:
      time_step_spec: A `TimeStep` spec of one environment.
      action_spec: Nest of specs.
      curiosity_fn: Function of the two that returns a `Curiosity`.
      learning_rate: Learning rate of Adam, which takes one step a call.

    Raises:
      InvalidValue: If the curiosity judges more than observations, or the
        learning rate is not above 0.
    """
    ranges.check_learning_rates(
        'CuriosityNovelty.', learning_rate=learning_rate
    )
    specs = tensor_spec.from_spec((time_step_spec, action_spec))
    self._curiosity = curiosity_lib.from_function(
        'CuriosityNovelty.curiosity_fn', curiosity_fn, *specs
    )
    self._optimizer = optimizers.Adam(learning_rate)
    optimizers.build(self._optimizer, self._curiosity.trainable_variables)
    batch = tf.nest.map_structure(
        lambda spec: tf.TensorSpec([None, *spec.shape], spec.dtype),
        specs[0].observation,
    )
    self._judge = tf.function(self._bonus_and_step, input_signature=[batch])
    try:
      self._judge.get_concrete_function()
    except Exception as error:  # Whatever a missing part of them raises.
      raise curiosity_lib.judges_more_than_observations(
          'CuriosityNovelty.curiosity_fn', self._curiosity
      ) from error

  def __call__(self, observations: types.NestedArray) -> np.ndarray:
    """Returns the bonus of observations [n, ...], float32 [n]."""
    return self._judge(observations).numpy()

  def get_state(self) -> list[np.ndarray]:
    """Returns networks, statistics, optimizer and generators as arrays."""
    return [variable.numpy() for variable in self._variables()]

  def set_state(self, state: list[np.ndarray]) -> None:
    """Restores the state of `get_state`."""
    for variable, value in zip(self._variables(), state, strict=True):
      variable.assign(value)

  def _variables(self) -> list[tf.Variable]:
    found = [*self._curiosity.variables, *self._optimizer.variables]
    # A `tf.Module` does not list the variables of its random generators.
    known = {variable.ref() for variable in found}
    below = tf.train.TrackableView(self._curiosity).descendants()
    return found + [
        each
        for each in below
        if isinstance(each, tf.Variable) and each.ref() not in known
    ]

  def _bonus_and_step(self, observations: types.NestedTensor) -> tf.Tensor:
    number = tf.shape(tf.nest.flatten(observations)[0])[0]
    transitions = curiosity.Transitions(
        next_observation=observations, valid=tf.ones([number], tf.bool)
    )
    self._curiosity.update_statistics(transitions)
    bonus = self._curiosity.bonus(transitions)
    variables = self._curiosity.trainable_variables
    with tf.control_dependencies([bonus]), tf.GradientTape() as tape:
      loss = self._curiosity.loss(transitions)
    gradients = tape.gradient(loss, variables)
    optimizers.apply(self._optimizer, gradients, variables)
    return bonus
