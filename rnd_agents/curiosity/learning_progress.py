# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""LPM: today's prediction error beside the one that was expected."""

from collections.abc import Sequence

import gin
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import combinations
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import inverse_model
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.networks import encoders
from rnd_agents.networks import factory
from rnd_agents.networks import rnd_network
from rnd_agents.ops import moments

_LEAST_ERROR = 1e-8


class _ErrorQueue(tf.Module):
  """The newest inputs of an expectation, and the logs of errors after them."""

  def __init__(self, size: int, num_inputs: int):
    super().__init__(name='error_queue')
    self._size = size
    self._inputs = tf.Variable(tf.zeros([size, num_inputs]), trainable=False)
    self._log_errors = tf.Variable(tf.zeros([size]), trainable=False)
    self.num_added = tf.Variable(0, trainable=False, dtype=tf.int64)
    # Its state is part of a checkpoint.
    self._generator = tf.random.Generator.from_seed(
        tf.random.uniform([], maxval=tf.int64.max, dtype=tf.int64)
    )

  def _num_filled(self) -> tf.Tensor:
    return tf.minimum(self.num_added, self._size)

  def add(self, inputs: tf.Tensor, log_errors: tf.Tensor) -> None:
    """Replaces the oldest entries by inputs [K, I] and errors [K]."""
    inputs, log_errors = inputs[-self._size :], log_errors[-self._size :]
    num_new = tf.shape(log_errors, tf.int64)[0]
    places = tf.math.floormod(self.num_added + tf.range(num_new), self._size)
    self._inputs.scatter_update(tf.IndexedSlices(inputs, places))
    self._log_errors.scatter_update(tf.IndexedSlices(log_errors, places))
    self.num_added.assign_add(num_new)

  def sample(self, num_samples: types.Int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns inputs [K, I] and whitened logs of errors [K], drawn evenly."""
    places = self._generator.uniform(
        [num_samples],
        maxval=tf.maximum(self._num_filled(), 1),
        dtype=tf.int64,
    )
    mean, deviation = self.log_moments()
    log_errors = tf.gather(self._log_errors, places)
    return tf.gather(self._inputs, places), (log_errors - mean) / deviation

  def log_moments(self) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns mean and standard deviation of the logs of errors."""
    is_filled = tf.range(self._size, dtype=tf.int64) < self._num_filled()
    mean, variance, _ = moments.batch_moments(self._log_errors, is_filled, 1)
    return mean, tf.sqrt(variance) + 1e-3


@gin.configurable(
    module='rnd_agents',
    denylist=['environment_observation_spec', 'action_spec', 'error', 'name'],
)
class LearningProgress(curiosity.Curiosity):
  """Pays for a prediction error that has fallen (LPM; arXiv 2509.25438).

      eta exp(h(s, a)) - e(s, a, s')   if `pays_progress`, else
      e(s, a, s') - eta exp(h(s, a))

  where e is another curiosity's bonus, an error of prediction, and h learns the
  logs of errors from a queue of earlier transitions, each from before e was
  trained on it. The bonus can be negative. Noise keeps its error, and progress
  pays at most 0 for it: the exponential of a mean of logs is at most the mean.
  The paper and one of its authors' programs (`improve.py`) pay the first line,
  the other (`lpm.py`, for Montezuma's Revenge) the second with eta = 0.1.
  """

  def __init__(
      self,
      environment_observation_spec: types.NestedTensorSpec,
      action_spec: types.NestedTensorSpec,
      error: curiosity.Curiosity,
      pays_progress: bool = True,
      eta: float = 1.0,
      queue_size: int = 10_000,
      fc_layer_params: Sequence[int] = (128,),
      num_features: int = 64,
      observation_fn: curiosity.ObservationFn | None = None,
      discount_factor: types.Float = 0.99,
      scale_horizon_env_steps: float | None = None,
      least_scale_share: float = 0.0,
      name: str = 'LearningProgress',
  ):
    """Creates an empty queue and the networks of h.

    h predicts whitened logs of errors, so that before it has learned anything
    it expects their mean. While the queue is empty it expects today's error.

    Args:
      environment_observation_spec: A nest of tensor specs: raw observations.
      action_spec: A nest of `BoundedTensorSpec`.
      error: A `Curiosity` whose bonus is an error of prediction without memory
        of the episode, such as RND or ICM.
      pays_progress: Whether a fall of the error is paid, or a rise.
      eta: Factor of the expected error, at least 0.
      queue_size: Number of transitions in the queue, from which h learns: the
        newest ones.
      fc_layer_params: Units of the hidden layers of h.
      num_features: Number of fixed random features of s, its input.
      observation_fn: Selects s; see `curiosity.observation_spec`.
      discount_factor: As for `Curiosity`.
      scale_horizon_env_steps: As for `Curiosity`.
      least_scale_share: As for `Curiosity`.
      name: Name of the module.
    """
    super().__init__(
        discount_factor, name, scale_horizon_env_steps, least_scale_share
    )
    ranges.check(
        dict(eta=ranges.AT_LEAST_0, queue_size=ranges.COUNT),
        dict(eta=eta, queue_size=queue_size),
        f'{name}.',
    )
    ranges.check_flags(f'{name}.', pays_progress=pays_progress)
    factory.check_units(
        name, fc_layer_params=fc_layer_params, num_features=(num_features,)
    )
    if tf.nest.flatten(error.episodic_spec):
      raise errors.InvalidValue(
          f'{name}.error must be an error of prediction, such as RND or ICM;'
          f' the bonus of {type(error).__name__} depends on the episode so far.'
      )
    combinations.refuse_sum(name, error)
    for part in getattr(error, 'parts', [error]):
      if not part.trainable_variables:
        raise errors.InvalidValue(
            f'{name}.error (create_lpm.error_fn) must be an error of'
            f' prediction, such as RND or ICM: {type(part).__name__} learns no'
            ' prediction.'
        )
    self.error = error
    self._sign = 1.0 if pays_progress else -1.0
    self._eta = eta
    self._action_spec = tensor_spec.from_spec(action_spec)
    self._seen = curiosity.SeenObservations(
        environment_observation_spec, observation_fn
    )
    self._features = rnd_network.RNDNetwork(
        self._seen.spec, (), num_features, trainable=False, name='Features'
    )
    example = tensor_spec.sample_spec_nest(self._action_spec, outer_dims=[1])
    num_inputs = num_features + int(
        inverse_model.encode_actions(example, self._action_spec).shape[-1]
    )
    self._layers = encoders.dense_layers(fc_layer_params, 1, gain=0.01)
    self._layers.build([None, num_inputs])
    self._queue = _ErrorQueue(int(queue_size), num_inputs)

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of the error's model and of h."""
    return [
        *self.error.trainable_variables,
        *self._layers.trainable_weights,
    ]

  def _inputs(self, transitions: curiosity.Transitions) -> tf.Tensor:
    """Returns the input of h, float32 [N, I] for N transitions."""
    features = self._seen.in_parts(
        lambda x: self._features(self._seen.whiten(x))[0],
        transitions.observation,
    )
    given = tf.stop_gradient(features), transitions.action
    if transitions.is_rollout:
      given = curiosity.merge_time(given)
    features, action = given
    return tf.concat(
        [features, inverse_model.encode_actions(action, self._action_spec)],
        axis=-1,
    )

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the difference of today's and the expected error."""
    transitions.require_whole(self.name)
    error = self.error.bonus(transitions, constants)
    mean, deviation = self._queue.log_moments()
    outputs = self._layers(self._inputs(transitions))
    expected = tf.exp(mean + deviation * tf.reshape(outputs, tf.shape(error)))
    expected = tf.where(self._queue.num_added > 0, expected, error)
    return tf.stop_gradient(self._sign * (self._eta * expected - error))

  def constants(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns the constants of the error."""
    return self.error.constants(transitions)

  def loss(
      self,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the loss of the error's model and the squared error of h.

    h learns from as many entries of the queue as there are transitions.
    """
    transitions.require_whole(self.name)
    inputs, wanted = self._queue.sample(tf.shape(transitions.is_first)[0])
    outputs = tf.squeeze(self._layers(inputs), axis=-1)
    own_loss = tf.reduce_mean(tf.math.squared_difference(outputs, wanted))
    return self.error.loss(transitions, weights, constants) + own_loss

  def update_statistics(self, transitions: curiosity.Transitions) -> None:
    """Adds transitions with their errors of today to the queue."""
    transitions.require_whole(self.name)
    log_errors = tf.math.log(
        tf.maximum(self.error.bonus(transitions), _LEAST_ERROR)
    )
    order = tf.reshape(tf.range(tf.size(log_errors)), tf.shape(log_errors))
    if transitions.valid is not None:
      order = tf.where(transitions.valid, order, -1)
    # In the order of time, over all environments: the newest are kept.
    order = tf.reshape(tf.transpose(order), [-1])
    order = tf.boolean_mask(order, order >= 0)
    self._queue.add(
        tf.gather(self._inputs(transitions), order),
        tf.gather(tf.reshape(log_errors, [-1]), order),
    )
    self._seen.update(transitions.next_observation, transitions.valid)
    self.error.update_statistics(transitions)

  def update_observation_statistics(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds observations to the whitening of h and of the error's model."""
    self._seen.update(observations, mask)
    self.error.update_observation_statistics(observations, mask)


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_lpm(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    error_fn: curiosity.CuriosityFn = random_network_distillation.create_rnd,
) -> LearningProgress:
  """Builds `LearningProgress` on what `error_fn` builds.

  Gin binds its other arguments.
  """
  error = curiosity.from_function(
      'create_lpm.error_fn', error_fn, time_step_spec, action_spec
  )
  return LearningProgress(time_step_spec.observation, action_spec, error)
