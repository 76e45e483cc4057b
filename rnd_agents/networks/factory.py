# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds sets of networks for an environment."""

import collections
from collections.abc import Callable, Sequence
import numbers
from typing import Any

import gin
import tensorflow as tf
from tf_agents.networks import encoding_network
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.networks import actor_critic_network
from rnd_agents.networks import encoders
from rnd_agents.networks import keras_layers
from rnd_agents.networks import precision
from rnd_agents.networks import recurrent_cores
from rnd_agents.networks import rnd_network

# Networks of RNDPPOAgent, by the names of its arguments:
# `RNDPPOAgent(..., **create_networks(...)._asdict())`.
Networks = collections.namedtuple(
    'Networks', ('actor_net', 'value_net', 'rnd_network', 'target_rnd_network')
)


# Each head is built in turn: a million would take hours without a word.
_NUM_VALUES = ranges.Range(
    lambda x: 1 <= x <= 100 and x % 1 == 0, 'an integer from 1 to 100'
)


@gin.configurable(module='rnd_agents', denylist=['observation_spec'])
def create_rnd_networks(
    observation_spec: types.NestedTensorSpec,
    fc_layer_params: Sequence[int] = (128, 128),
    target_fc_layer_params: Sequence[int] = (128,),
    output_size: int = 64,
    conv_layers: keras_layers.ConvLayers | None = None,
    compute_dtype: str = precision.FLOAT32,
    merge_equal_observations: bool = False,
) -> tuple[rnd_network.RNDNetwork, rnd_network.RNDNetwork]:
  """Builds RND's predictor and target for one environment.

  Args:
    observation_spec: Nest of float32 specs of RND's input, such as
      `curiosity.observation_spec` returns.
    fc_layer_params: Hidden units of the predictor.
    target_fc_layer_params: Hidden units of the target.
    output_size: Number of output features of both.
    conv_layers: Convolutions of both as (filters, kernel size, stride); None
      chooses them by the image's size.
    compute_dtype: As for `create_networks`.
    merge_equal_observations: As for `create_encoder`.

  Returns:
    A tuple (predictor, target).
  """
  owner = 'create_rnd_networks'
  check_units(
      owner,
      fc_layer_params=fc_layer_params,
      target_fc_layer_params=target_fc_layer_params,
      output_size=(output_size,),
  )
  check_convolutions(owner, observation_spec, conv_layers=conv_layers)
  ranges.check_flags(
      f'{owner}.', merge_equal_observations=merge_equal_observations
  )

  def network(
      fc_layer_params: Sequence[int], trainable: bool, name: str
  ) -> rnd_network.RNDNetwork:
    return rnd_network.RNDNetwork(
        observation_spec,
        fc_layer_params,
        output_size,
        conv_layers,
        trainable=trainable,
        compute_dtype=compute_dtype,
        merge_equal_observations=merge_equal_observations,
        name=name,
    )

  return (
      network(fc_layer_params, True, 'RNDPredictor'),
      network(target_fc_layer_params, False, 'RNDTarget'),
  )


@gin.configurable(
    module='rnd_agents',
    denylist=[
        'observation_spec',
        'action_spec',
        'rnd_observation_spec',
        'rnd_networks_fn',
    ],
)
def create_networks(
    observation_spec: types.NestedTensorSpec,
    action_spec: types.NestedTensorSpec,
    rnd_observation_spec: types.NestedTensorSpec | None = None,
    rnd_networks_fn: Callable[..., tuple[Any, Any]] | None = (
        create_rnd_networks
    ),
    fc_layer_params: Sequence[int] = (64, 64),
    value_fc_layer_params: Sequence[int] | None = None,
    activation: keras_layers.Activation = 'tanh',
    conv_layers: keras_layers.ConvLayers | None = None,
    residual_heads: bool = False,
    core: recurrent_cores.RecurrentCore | None = None,
    compute_dtype: str = precision.FLOAT32,
    num_values: int = 2,
) -> Networks:
  """Builds policy, values, RND predictor and target for one environment.

  Args:
    observation_spec: A nest of tensor specs: flat, images, discrete, or mixed;
      in an `ObservationWithMask` if there are action masks.
    action_spec: A nest of bounded tensor specs.
    rnd_observation_spec: Nest of float32 specs of RND's input, such as
      `curiosity.observation_spec` returns; None for the whole observation.
    rnd_networks_fn: Function from that spec to RND's predictor and target; None
      builds neither.
    fc_layer_params: Units of the trunk.
    value_fc_layer_params: Units of a second trunk, for the values; None shares
      the policy's trunk. Small tasks learn sooner with two trunks; for images
      one is enough.
    activation: Keras activation of the trunks.
    conv_layers: Convolutions of the trunks as (filters, kernel size, stride);
      None chooses them by the image's size.
    residual_heads: Whether each head has a residual layer of its own.
    core: A `RecurrentCore`, such as `LSTMCore(128)`, between trunk and heads: a
      memory, for tasks in which one observation is not enough. None for none.
    compute_dtype: Type that convolutions and hidden layers of policy and values
      compute in: 'float32', 'bfloat16', or 'auto', which is bfloat16 if the
      machine has instructions for it.
    num_values: Number of value heads: one for each return stream of the agent.

  Returns:
    `Networks`. Policy and values are the two views of one
    `ActorCriticNetwork`, which is their attribute `actor_critic`.
  """
  whole_spec = tensor_spec.from_spec(observation_spec)
  observation_spec = action_masks.without_mask(whole_spec)
  action_spec = tensor_spec.from_spec(action_spec)
  owner = 'create_networks'
  check_units(
      owner,
      fc_layer_params=fc_layer_params,
      value_fc_layer_params=value_fc_layer_params or (),
  )
  ranges.check(
      dict(num_values=_NUM_VALUES), dict(num_values=num_values), f'{owner}.'
  )
  keras_layers.check_activation(f'{owner}.activation', activation)
  check_convolutions(owner, observation_spec, conv_layers=conv_layers)
  ranges.check_flags(f'{owner}.', residual_heads=residual_heads)
  _check_trunks(fc_layer_params, value_fc_layer_params, residual_heads, core)

  def trunk(
      units: Sequence[int], name: str
  ) -> encoding_network.EncodingNetwork:
    return encoders.create_encoder(
        observation_spec,
        units,
        conv_layers,
        activation,
        compute_dtype=compute_dtype,
        name=name,
    )

  residual_units = None
  if residual_heads:
    residual_units = fc_layer_params[-1] if core is None else core.units
  network = actor_critic_network.ActorCriticNetwork(
      whole_spec,
      action_spec,
      trunk(fc_layer_params, 'Trunk'),
      value_encoder=(
          None
          if value_fc_layer_params is None
          else trunk(value_fc_layer_params, 'ValueTrunk')
      ),
      residual_units=residual_units,
      core=core,
      num_values=num_values,
      compute_dtype=compute_dtype,
  )
  rnd_networks = (None, None)
  if rnd_networks_fn is not None:
    # Before the views, which draw random numbers, too: a seed's runs stay.
    if rnd_observation_spec is None:
      rnd_observation_spec = encoders.float_spec(observation_spec)
    rnd_networks = rnd_networks_fn(rnd_observation_spec)
  return Networks(*network.views(), *rnd_networks)


def _check_trunks(
    fc_layer_params: Sequence[int],
    value_fc_layer_params: Sequence[int] | None,
    residual_heads: bool,
    core: recurrent_cores.RecurrentCore | None,
) -> None:
  """Raises InvalidValue for trunks that do not fit the core or the heads."""
  check_core(core, 'create_networks')
  if core is not None and value_fc_layer_params is not None:
    raise errors.InvalidValue(
        'create_networks.core needs a single trunk: set'
        ' create_networks.value_fc_layer_params = None, got'
        f' {value_fc_layer_params}.'
    )
  if residual_heads and core is None:
    widths = {
        tuple(units)[-1:]
        for units in (fc_layer_params, value_fc_layer_params)
        if units is not None
    }
    if len(widths) > 1 or () in widths:
      raise errors.InvalidValue(
          'residual_heads needs trunks that end in layers of one width, got'
          f' fc_layer_params={fc_layer_params} and'
          f' value_fc_layer_params={value_fc_layer_params}.'
      )


def check_units(owner: str, **layers: Any) -> None:
  """Raises an error unless units, lists by name, are integers from 1."""
  for name, units in layers.items():
    if not isinstance(units, (tuple, list)):
      raise errors.InvalidType(
          f'{owner}.{name} must be a list of integers, such as (64,), got'
          f' {units!r}.'
      )
    for number in units:
      if not isinstance(number, numbers.Integral) or number < 1:
        raise errors.InvalidValue(
            f'{owner}.{name} must hold integers from 1, got {number!r}.'
        )


def check_core(core: Any, owner: str) -> None:
  """Raises InvalidValue unless a value is a new core or None."""
  if core is None:
    return
  if not isinstance(core, recurrent_cores.RecurrentCore):
    raise errors.InvalidValue(
        f'{owner}.core must be a core, such as @LSTMCore() or @GRUCore() (with'
        f' the brackets), got {core!r}.'
    )
  if core.built:
    raise errors.InvalidValue(
        f'{owner}.core is already part of other networks: make a new core for'
        ' each set of networks.'
    )


def check_convolutions(
    owner: str, observation_spec: types.NestedTensorSpec, **layers: Any
) -> None:
  """Raises InvalidValue for convolutions that are not triples or fit no image.

  `layers` are lists of triples, or None, by name.
  """
  shapes = map(encoders.picture_shape, tf.nest.flatten(observation_spec))
  images = [shape[:2] for shape in shapes if shape]
  for name, convolutions in layers.items():
    if not convolutions:
      continue
    if not isinstance(convolutions, (tuple, list)):
      convolutions = [convolutions]
    for layer in convolutions:
      if (
          not isinstance(layer, (tuple, list))
          or len(layer) != 3
          or not all(isinstance(n, numbers.Integral) for n in layer)
          or min(layer) < 1
      ):
        raise errors.InvalidValue(
            f'{owner}.{name} must hold triples (filters, kernel size,'
            f' stride) of integers from 1, got {layer!r}.'
        )
    if not images:
      raise errors.InvalidValue(
          f'{owner}.{name} are convolutions, and no observation is an'
          ' image [height, width, channels]: leave it out, or reshape the'
          ' observation in a wrapper.'
      )
    for height, width in images:
      for layer in convolutions:
        _, size, stride = layer
        if size > min(height, width):
          raise errors.InvalidValue(
              f'{owner}.{name} has the convolution {layer!r} for an input of'
              f' {height} x {width}: choose a smaller kernel, or fewer layers.'
          )
        height, width = ((n - size) // stride + 1 for n in (height, width))
