# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""ETD: how many steps an observation is from all of its episode, as learned."""

from collections.abc import Sequence

import gin
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import ranges
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import episodic_memory
from rnd_agents.networks import encoders
from rnd_agents.networks import factory
from rnd_agents.networks import keras_layers
from rnd_agents.networks import rnd_network
from rnd_agents.ops import losses


@gin.configurable(
    module='rnd_agents', denylist=['environment_observation_spec', 'name']
)
class TemporalDistance(episodic_memory.EpisodicBonus):
  """Pays the episodic temporal distance (ETD; Jiang et al., 2025).

      min_i d(f(s_i), f(s')),   d(x, y) = max_j ReLU(x1_j - y1_j) + |x2 - y2|

  over the observations s_i of the episode so far (arXiv 2501.15418), where x1
  and x2 are the halves of the features x. The quasimetric d is learned by
  contrast: exp(c(y) - d(x, y)) is large for an observation and a later one of
  its episode, k steps on with k drawn from a geometric distribution, and small
  for those of other pairs. It tells near from far where no two observations are
  equal: pictures, noise.
  """

  def __init__(
      self,
      environment_observation_spec: types.NestedTensorSpec,
      num_features: int = 64,
      fc_layer_params: Sequence[int] = (128,),
      conv_layers: keras_layers.ConvLayers | None = None,
      pair_discount_factor: float = 0.99,
      num_pairs: int = 256,
      max_rows: int = 1_000,
      observation_fn: curiosity.ObservationFn | None = None,
      discount_factor: types.Float = 0.99,
      scale_horizon_env_steps: float | None = None,
      least_scale_share: float = 0.0,
      name: str = 'TemporalDistance',
  ):
    """Creates the networks of f and c, and an empty memory.

    Args:
      environment_observation_spec: A nest of tensor specs: raw observations.
      num_features: Number of features of f, even.
      fc_layer_params: Units of the hidden layers of f.
      conv_layers: Convolutions of f as (filters, kernel size, stride); None
        chooses them by the image's size.
      pair_discount_factor: k has a probability proportional to its k-th power,
        among the steps that are left of the episode in the rollout.
      num_pairs: N, pairs of a minibatch that are contrasted with each other, in
        [N, N, num_features / 2] numbers.
      max_rows: Newest observations of an episode that are remembered. They take
        4 (num_features + 1) bytes each in each environment.
      observation_fn: Selects the input; see `curiosity.observation_spec`.
      discount_factor: As for `Curiosity`.
      scale_horizon_env_steps: As for `Curiosity`.
      least_scale_share: As for `Curiosity`.
      name: Name of the module.
    """
    super().__init__(
        discount_factor, name, scale_horizon_env_steps, least_scale_share
    )
    even = ranges.Range(lambda x: x >= 2 and x % 2 == 0, 'an even integer')
    # Beyond, float32 has no digits left for 1 - x^k.
    inside = ranges.Range(lambda x: 0 < x <= 0.9999, 'above 0, up to 0.9999')
    ranges.check(
        dict(
            num_features=even,
            pair_discount_factor=inside,
            num_pairs=ranges.COUNT,
            max_rows=ranges.COUNT,
        ),
        dict(
            num_features=num_features,
            pair_discount_factor=pair_discount_factor,
            num_pairs=num_pairs,
            max_rows=max_rows,
        ),
        f'{name}.',
    )
    factory.check_units(name, fc_layer_params=fc_layer_params)
    self._seen = curiosity.SeenObservations(
        environment_observation_spec, observation_fn
    )
    factory.check_convolutions(name, self._seen.spec, conv_layers=conv_layers)
    self._network = rnd_network.RNDNetwork(
        self._seen.spec,
        fc_layer_params,
        int(num_features),
        conv_layers,
        name='Features',
    )
    self._potential = encoders.dense_layers((), 1, gain=0.01)  # c.
    self._potential.build([None, int(num_features)])
    self._pair_discount = pair_discount_factor
    self._num_pairs = int(num_pairs)
    self._memory = episodic_memory.NearestNeighbors(
        lambda x: tf.stop_gradient(self._seen.in_parts(self._features, x)),
        int(num_features),
        num_neighbors=1,
        max_rows=int(max_rows),
        distance_fn=_distances_by_environment,
        name=name,
    )
    # Its state is part of a checkpoint.
    self._generator = tf.random.Generator.from_seed(
        tf.random.uniform([], maxval=tf.int64.max, dtype=tf.int64)
    )

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of f and c."""
    return [
        *self._network.trainable_variables,
        *self._potential.trainable_weights,
    ]

  def _features(self, observations: types.NestedTensor) -> tf.Tensor:
    """Returns f of raw observations, float32 [outer..., F]."""
    return self._network(self._seen.whiten(observations), training=True)[0]

  def episodic(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns the bonus of transitions, from the memory of the episodes."""
    distances = self._memory.values(transitions)[..., 0]
    return tf.where(tf.math.is_finite(distances), distances, 0.0)

  @property
  def learns_from_sequences(self) -> bool:
    """True: from pairs of observations some steps apart."""
    return True

  def constants(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns a later observation of the episode for each transition.

    Of rollouts. Transitions without their order have their next observation.
    """
    if not transitions.is_rollout:
      return transitions.next_observation
    valid = transitions.valid
    if valid is None:
      valid = tf.ones_like(transitions.is_first)
    num_left = num_steps_left(valid, transitions.is_first)
    draws = self._generator.uniform(tf.shape(num_left))
    steps = truncated_geometric(draws, num_left, self._pair_discount)
    places = tf.range(tf.shape(steps)[1]) + steps
    return tf.nest.map_structure(
        lambda x: tf.gather(x, places, batch_dims=1), transitions.rows()
    )

  def loss(
      self,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the symmetric contrastive loss of at most N of the valid pairs.

    They are spread evenly over the rows, because those of a replay are one
    sequence after the other. The loss is 0 without a valid pair.
    """
    transitions.require_whole(self.name)
    if constants is None:
      constants = self.constants(transitions)
    is_first: tf.Tensor = transitions.is_first
    if weights is None:
      weights = tf.ones(tf.shape(is_first))
    weights = tf.cast(weights, tf.float32)
    is_used = weights > 0
    if transitions.valid is not None:
      is_used &= transitions.valid
    rows = _spread(tf.where(is_used)[:, 0], self._num_pairs)
    before, after = tf.nest.map_structure(
        lambda x: tf.gather(x, rows), (transitions.observation, constants)
    )
    x, y = self._features(before), self._features(after)
    # [N of y, N of x].
    logits = self._potential(y) - distances(x, y)
    labels = tf.range(tf.shape(logits)[0])
    errors = tf.add_n([
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels, each)
        for each in (logits, tf.transpose(logits))
    ])
    return losses.predictor_loss(
        errors, tf.gather(is_used, rows), tf.gather(weights, rows)
    )

  def update_observation_statistics(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds raw observations [outer..., *shape] to the whitening."""
    self._seen.update(observations, mask)


def _spread(rows: tf.Tensor, num_rows: int) -> tf.Tensor:
  """Returns at most `num_rows` of rows [R], int64; row 0 if there is none."""
  size = tf.size(rows, tf.int64)
  number = tf.minimum(size, num_rows)
  chosen = tf.gather(
      rows, tf.range(number) * size // tf.maximum(number, 1)
  )
  # A batch without a row has no loss, and no class to choose from.
  return tf.pad(chosen, [[0, tf.cast(tf.equal(size, 0), tf.int32)]])


def distances(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
  """Returns the quasimetric d(x_n, y_r) of features [N, F], [R, F] as [R, N].

  (The metric residual network of Liu et al., 2023, arXiv 2208.08133.)
  """
  x1, x2 = tf.split(x[tf.newaxis], 2, axis=-1)
  y1, y2 = tf.split(y[:, tf.newaxis], 2, axis=-1)
  squares = tf.reduce_sum(tf.math.squared_difference(x2, y2), axis=-1)
  # The root of 0 has no gradient.
  return tf.reduce_max(tf.nn.relu(x1 - y1), axis=-1) + tf.sqrt(
      tf.maximum(squares, 1e-12)
  )


def _distances_by_environment(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
  """Returns d of features [B, N, F] and [B, R, F] as [B, R, N]."""
  # At once they would be B times as much memory.
  return tf.map_fn(
      lambda one: distances(*one),
      (x, y),
      parallel_iterations=1,
      fn_output_signature=tf.float32,
  )


def num_steps_left(valid: tf.Tensor, is_first: tf.Tensor) -> tf.Tensor:
  """Returns how many transitions are left of the episode from each one on.

  Args:
    valid: Booleans [B, T].
    is_first: Booleans [B, T]: whether an episode begins with the transition,
      which may follow the last one of another.

  Returns:
    int32 [B, T], 0 where a transition is not valid.
  """
  steps = tf.range(tf.shape(valid)[1])
  ends = tf.where(valid, tf.shape(valid)[1], steps)
  is_last = tf.pad(is_first[:, 1:], [[0, 0], [0, 1]])
  ends = tf.where(is_last, tf.minimum(ends, steps + 1), ends)
  later = tf.where(
      steps[tf.newaxis] >= steps[:, tf.newaxis],
      ends[:, tf.newaxis],
      tf.shape(valid)[1],
  )
  return tf.reduce_min(later, axis=-1) - steps


def truncated_geometric(
    draws: tf.Tensor, maximum: tf.Tensor, factor: float
) -> tf.Tensor:
  """Returns k in 1 ... n with a probability proportional to factor^k.

      k = ceil(log(1 - u (1 - factor^n)) / log factor)

  Args:
    draws: u, floats in [0, 1).
    maximum: n, integers; where it is 0, so is k.
    factor: Between 0 and 1.
  """
  most = tf.cast(maximum, tf.float32)
  share = 1.0 - tf.pow(factor, most)
  steps = tf.math.ceil(tf.math.log1p(-draws * share) / np.log(factor))
  return tf.cast(
      tf.clip_by_value(steps, tf.minimum(most, 1.0), most), tf.int32
  )


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_etd(
    time_step_spec: ts.TimeStep, action_spec: types.NestedTensorSpec
) -> TemporalDistance:
  """Builds `TemporalDistance`; gin binds its other arguments."""
  del action_spec
  return TemporalDistance(time_step_spec.observation)
