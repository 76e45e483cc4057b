# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optimizer steps, shared between the devices of a `tf.distribute.Strategy`.

For optimizers of every TensorFlow generation.

Each replica takes an equal slice of a minibatch. A slice that is too short is
filled up with samples of weight 0, and the weights have mean 1 over all slices:
the mean over replicas of the means over slices is then the mean over the
minibatch, whatever masks leave of each slice, and a replica without a valid
sample adds 0.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf
from tf_agents.agents.ppo import ppo_utils
from tf_agents.networks import network
from tf_agents.typing import types

from rnd_agents import _compat
from rnd_agents import errors


class Adam(tf.keras.optimizers.Adam):
  """Keras' Adam with one kernel a variable in place of fourteen.

  Arguments, arithmetic (Kingma and Ba, 2015, algorithm 1, in the order of
  section 2's last lines) and the variables of a checkpoint are those of
  `tf.keras.optimizers.Adam`; with `weight_decay`, of
  `tf.keras.optimizers.AdamW`.
  """

  def update_step(self, gradient: tf.Tensor, variable: tf.Variable) -> None:
    """Takes a step on one variable; called by `apply_gradients`."""
    if self.amsgrad or isinstance(gradient, tf.IndexedSlices):
      super().update_step(gradient, variable)
      return

    def number(x: types.Float) -> tf.Tensor:
      return tf.cast(x, variable.dtype)

    index = self._index_dict[self._var_key(variable)]
    step = number(self.iterations + 1)
    beta_1, beta_2 = number(self.beta_1), number(self.beta_2)
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=self._momentums[index].handle,
        v=self._velocities[index].handle,
        beta1_power=beta_1**step,
        beta2_power=beta_2**step,
        lr=number(self.learning_rate),
        beta1=beta_1,
        beta2=beta_2,
        epsilon=number(self.epsilon),
        grad=gradient,
    )


def build(optimizer: types.Optimizer, variables: Sequence[tf.Variable]) -> None:
  """Creates an optimizer's variables before its first step.

  The first step happens inside a `tf.while_loop`, where none can be created.

  Args:
    optimizer: A Keras optimizer, new or legacy, or one of
      `tf.compat.v1.train`.
    variables: Variables that it is going to train.
  """
  with tf.init_scope():
    is_legacy = isinstance(optimizer, tf.keras.optimizers.legacy.Optimizer)
    if hasattr(optimizer, 'build') and not is_legacy:
      optimizer.build(variables)
    else:
      _compat.create_optimizer_slots(optimizer, variables)


def clip(
    gradients: list[tf.Tensor | None], max_norm: types.Float | None
) -> tuple[list[tf.Tensor | None], tf.Tensor]:
  """Clips gradients to a global norm.

  Args:
    gradients: A list of gradients; None entries stay.
    max_norm: Largest norm; None or 0 for no clipping.

  Returns:
    A tuple (gradients, norm before clipping).
  """
  norm = tf.linalg.global_norm(gradients)
  if max_norm:
    gradients, _ = tf.clip_by_global_norm(gradients, max_norm, use_norm=norm)
  return gradients, norm


def apply(
    optimizer: types.Optimizer,
    gradients: Sequence[tf.Tensor | None],
    variables: Sequence[tf.Variable],
) -> None:
  """Takes a step with the gradients that are not None, on each replica."""
  # Keras' optimizers would add up the replicas' gradients, and do so, also with
  # one replica, in a `tf.custom_gradient`: TensorFlow registers each for good,
  # and with it the graph of the whole update.
  more = {}
  if not isinstance(optimizer, tf.compat.v1.train.Optimizer):
    more['experimental_aggregate_gradients'] = False
  optimizer.apply_gradients(
      [
          (gradient, variable)
          for gradient, variable in zip(gradients, variables, strict=True)
          if gradient is not None
      ],
      **more,
  )


def learning_rate(optimizer: types.Optimizer) -> types.Float:
  """Returns the present learning rate, a number or a scalar tensor."""
  rate = ppo_utils.get_learning_rate(optimizer)
  # Legacy Keras optimizers return the schedule itself.
  if isinstance(rate, tf.keras.optimizers.schedules.LearningRateSchedule):
    rate = rate(optimizer.iterations)
  return rate


def size_of_change(
    before: Sequence[tf.Tensor],
    variables: Sequence[tf.Variable],
    optimizer: types.Optimizer,
) -> tf.Tensor:
  """Returns how far variables went, in learning rates.

  It does not shrink with a schedule, but where gradients are small compared to
  those that the optimizer remembers.

  Args:
    before: Earlier values of the variables.
    variables: Variables that the optimizer trains.
    optimizer: As for `build`.

  Returns:
    A float scalar: the norm of the change over the learning rate.
  """
  change = tf.linalg.global_norm([
      variable - value
      for variable, value in zip(variables, before, strict=True)
  ])
  rate = tf.cast(learning_rate(optimizer), change.dtype)
  return tf.math.divide_no_nan(change, rate)


def shorten_change(
    before: Sequence[tf.Tensor],
    variables: Sequence[tf.Variable],
    is_too_far: Callable[[], tf.Tensor],
    max_halvings: int = 20,
) -> None:
  """Halves the change of variables until it is small enough.

  The line search of TRPO (Schulman et al., 2015, appendix C).

  Args:
    before: Earlier values of the variables.
    variables: Variables to move back along the line to these values.
    is_too_far: Function without arguments that tells by a bool scalar whether
      the variables, as they are when it is called, are too far.
    max_halvings: Number of halvings after which the search ends.
  """
  after = [variable.read_value() for variable in variables]

  def halve(num_halvings: tf.Tensor, _: tf.Tensor) -> tuple[tf.Tensor, ...]:
    share = 0.5 ** tf.cast(num_halvings + 1, tf.float32)
    for variable, old, new in zip(variables, before, after, strict=True):
      variable.assign(old + tf.cast(share, old.dtype) * (new - old))
    return num_halvings + 1, is_too_far()

  tf.while_loop(
      lambda num_halvings, is_far: is_far & (num_halvings < max_halvings),
      halve,
      (tf.constant(0), is_too_far()),
      parallel_iterations=1,
  )


def trainable_variables(*networks: network.Network) -> list[tf.Variable]:
  """Returns the trainable variables of several networks, each once."""
  unique = {
      variable.ref(): variable
      for net in networks
      for variable in net.trainable_weights
  }
  return list(unique.values())


# -----------------------------------------------------------------------------
# Replicas.


def mirrored_strategy(devices: Sequence[str]) -> tf.distribute.Strategy:
  """Returns a `MirroredStrategy` on devices, given by name.

  With the default, collective operations, a process can have no second strategy
  that differs in variables or in the number of devices: they fail.
  """
  return tf.distribute.MirroredStrategy(
      devices, tf.distribute.ReductionToOneDevice()
  )


def strategy_in_scope() -> tf.distribute.Strategy | None:
  """Returns the strategy of several replicas whose scope this is, or None."""
  strategy = tf.distribute.get_strategy()
  is_single = isinstance(strategy, tf.distribute.OneDeviceStrategy)
  return strategy if tf.distribute.has_strategy() and not is_single else None


def refuse_replicas(owner: str, more: str) -> None:
  """Refuses to build an object under a strategy of several replicas.

  Args:
    owner: Name of the object, for the message.
    more: Advice, at the end of the message.
  """
  strategy = strategy_in_scope()
  if strategy is not None:
    raise errors.InvalidValue(
        f'{owner} does not run under {type(strategy).__name__}: {more}'
    )


class Replicas:
  """The replicas of the strategy in scope; one without a strategy."""

  def __init__(self) -> None:
    self._strategy = strategy_in_scope()

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
    if strategy_in_scope() and not tf.distribute.in_cross_replica_context():
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


# -----------------------------------------------------------------------------
# The step.


class Update:
  """Takes steps on the sum of all losses, by one optimizer or two."""

  def __init__(
      self,
      optimizer: types.Optimizer,
      rnd_optimizer: types.Optimizer | None,
      variables: list[tf.Variable],
      predictor_variables: list[tf.Variable],
      gradient_clipping: types.Float | None,
  ):
    """Creates the optimizers' variables.

    Args:
      optimizer: Trains policy and values, and the curiosities where they have
        no optimizer of their own.
      rnd_optimizer: Trains the curiosities, or None.
      variables: Variables of policy and values.
      predictor_variables: Variables of the curiosities; none if they are not
        trained.
      gradient_clipping: Largest global norm of the gradient of policy and
        values, or None. The curiosities' is not clipped.
    """
    if optimizer is rnd_optimizer:
      raise errors.InvalidValue(
          'optimizer and rnd_optimizer are one object, which would take two'
          ' steps an update: leave rnd_optimizer at None.'
      )
    self.optimizer = optimizer
    self._gradient_clipping = gradient_clipping
    self._variables = variables
    self._predictor_variables = predictor_variables
    if rnd_optimizer is None:
      self._trained = [(optimizer, variables + predictor_variables)]
    else:
      self._trained = [(optimizer, variables)]
      if predictor_variables:
        self._trained.append((rnd_optimizer, predictor_variables))
    for each, trained in self._trained:
      if isinstance(each, tf.compat.v1.train.Optimizer):
        refuse_replicas(type(each).__name__, 'take one of tf.keras.optimizers.')
      build(each, trained)

  def step(
      self, tape: tf.GradientTape, loss: tf.Tensor
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Takes a step.

    Args:
      tape: The `tf.GradientTape` that has seen the loss.
      loss: A scalar; its mean over several replicas is minimized.

    Returns:
      A tuple (norm of the gradient of policy and values before clipping, norm
      of the curiosities'; 0 where they are not trained).
    """
    gradients = mean_over_replicas(
        tape.gradient(loss, self._variables + self._predictor_variables)
    )
    own = gradients[: len(self._variables)]
    predictors = gradients[len(self._variables) :]
    own, norm = clip(own, self._gradient_clipping)
    predictor_norm = tf.constant(0.0)
    if predictors:
      predictor_norm = tf.linalg.global_norm(predictors)
    gradients = own + predictors
    for optimizer, variables in self._trained:
      apply(optimizer, gradients[: len(variables)], variables)
      gradients = gradients[len(variables) :]
    return norm, predictor_norm
