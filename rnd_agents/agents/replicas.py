# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shares optimizer steps between the devices of a `tf.distribute.Strategy`.

Each replica takes an equal slice of a minibatch. A slice that is too short is
filled up with samples of weight 0, and the weights have mean 1 over all slices:
the mean over replicas of the means over slices is then the mean over the
minibatch, whatever masks leave of each slice, and a replica without a valid
sample adds 0.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf
from tf_agents.typing import types

from rnd_agents import errors


def mirrored(devices: Sequence[str]) -> tf.distribute.Strategy:
  """Returns a `MirroredStrategy` on devices, given by name.

  With the default, collective operations, a process can have no second strategy
  that differs in variables or in the number of devices: they fail.
  """
  return tf.distribute.MirroredStrategy(
      devices, tf.distribute.ReductionToOneDevice()
  )


def of_scope() -> tf.distribute.Strategy | None:
  """Returns the strategy of several replicas whose scope this is, or None."""
  strategy = tf.distribute.get_strategy()
  is_single = isinstance(strategy, tf.distribute.OneDeviceStrategy)
  return strategy if tf.distribute.has_strategy() and not is_single else None


def refuse(owner: str, more: str) -> None:
  """Refuses to build an object under a strategy of several replicas.

  Args:
    owner: Name of the object, for the message.
    more: Advice, at the end of the message.

  Raises:
    InvalidValue: If the strategy in scope has several replicas.
  """
  strategy = of_scope()
  if strategy is not None:
    raise errors.InvalidValue(
        f'{owner} does not run under {type(strategy).__name__}: {more}'
    )


class Replicas:
  """The replicas of the strategy in scope; one without a strategy."""

  def __init__(self) -> None:
    self._strategy = of_scope()

  def split(
      self, batch: types.NestedTensor, weights: tf.Tensor | None
  ) -> tuple[types.NestedTensor, tf.Tensor | None]:
    """Splits samples into a slice for each replica.

    Args:
      batch: A nest of tensors [n, ...] and None; () for no samples.
      weights: Floats [n, ...] of mean 1, or None for 1.

    Returns:
      A tuple (batch, weights) for `run`; unchanged for one replica.
    """
    if self._strategy is None:
      return batch, weights
    if weights is None:
      leaves = [x for x in tf.nest.flatten(batch) if x is not None]
      weights = tf.ones(tf.shape(leaves[0])[:1] if leaves else [1])
    num_samples = tf.shape(weights)[0]
    num_replicas = self._strategy.num_replicas_in_sync
    size = -(-num_samples // num_replicas)  # Rounded up.

    def slice_of(
        context: tf.distribute.ReplicaContext
    ) -> tuple[types.NestedTensor, tf.Tensor]:
      places = tf.range(size) + size * context.replica_id_in_sync_group

      def take(x: tf.Tensor | None) -> tf.Tensor | None:
        return None if x is None else tf.gather(x, places % num_samples)

      samples, factors = tf.nest.map_structure(take, (batch, weights))
      is_sample = tf.cast(places < num_samples, factors.dtype)
      is_sample *= tf.cast(size * num_replicas / num_samples, factors.dtype)
      inner = [1] * (factors.shape.rank - 1)
      return samples, factors * tf.reshape(is_sample, [-1, *inner])

    return self._strategy.experimental_distribute_values_from_function(slice_of)

  def run(
      self, fn: Callable[..., tf.Tensor], *args: types.NestedTensor
  ) -> tf.Tensor:
    """Returns `fn(*args)`, which all replicas run, each on its slices.

    Args:
      fn: Function that returns the same on each replica.
      *args: Slices from `split`.

    Raises:
      InvalidValue: If replicas call this already.
    """
    if self._strategy is None:
      return fn(*args)
    if of_scope() is not None and not tf.distribute.in_cross_replica_context():
      raise errors.InvalidValue(
          '`train` was called by strategy.run, as a PPOLearner does: call it'
          ' once, with the whole rollout. It runs the replicas itself.'
      )
    results = self._strategy.run(fn, args)
    return self._strategy.experimental_local_results(results)[0]


def num_replicas() -> int:
  """Returns the number of replicas, inside of `Replicas.run`."""
  return tf.distribute.get_strategy().num_replicas_in_sync


def mean_of_slice(loss: tf.Tensor) -> tf.Tensor:
  """Returns the mean over a replica's samples.

  Args:
    loss: That mean over the number of replicas, as `tf.nn.compute_average_loss`
      and TF-Agents return it.
  """
  num = num_replicas()
  return loss if num == 1 else num * loss  # 1 * x changes graphs' last bits.


def mean_over_replicas(nest: types.NestedTensor) -> types.NestedTensor:
  """Returns the means of tensors over replicas, on each; None stays None."""
  if num_replicas() == 1:
    return nest
  flat = tf.nest.flatten(nest)
  means = iter(
      tf.distribute.get_replica_context().all_reduce(
          tf.distribute.ReduceOp.MEAN, [x for x in flat if x is not None]
      )
  )
  return tf.nest.pack_sequence_as(
      nest, [None if x is None else next(means) for x in flat]
  )
