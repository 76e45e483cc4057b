# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network of Q values, optionally with a memory and a dueling head."""

import collections
from collections.abc import Sequence
from typing import Any

import gin
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import action_ranges
from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.networks import encoders
from rnd_agents.networks import factory
from rnd_agents.networks import keras_layers
from rnd_agents.networks import precision
from rnd_agents.networks import recurrent_cores
from rnd_agents.ops import q_learning

# Networks of R2D3Agent, by the names of its arguments:
# `R2D3Agent(..., **create_q_networks(...)._asdict())`.
QNetworks = collections.namedtuple(
    'QNetworks', ('q_network', 'target_q_network')
)


class RecurrentQNetwork(encoders.ScalesIntegers):
  """Computes Q(s, .) of single steps or of sequences: trunk, core, head.

  With the dueling head of R2D2 (Kapturowski et al., 2019; Wang et al., 2016)
  value and advantages have a hidden layer each:

      Q = V + A - mean_a A

  Actions that a mask forbids have the most negative finite value.
  """

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      action_spec: tensor_spec.BoundedTensorSpec,
      encoder: network.Network,
      core: recurrent_cores.RecurrentCore | None = None,
      head_units: int | None = 64,
      dueling: bool = True,
      compute_dtype: str = precision.FLOAT32,
      name: str = 'RecurrentQNetwork',
  ):
    """Creates the network.

    Args:
      observation_spec: A nest of tensor specs.
      action_spec: One integer `BoundedTensorSpec` [] from 0.
      encoder: A `Network` from observations to features: the trunk.
      core: A `RecurrentCore`; None for a feed-forward network.
      head_units: Units of the hidden layers of the head; None for none.
      dueling: Whether value and advantages have heads of their own.
      compute_dtype: Type that the hidden layers of the head compute in, as for
        `precision.layer_policy`.
      name: Name of the network.
    """
    check_action_spec(action_spec)
    super().__init__(
        observation_spec,
        state_spec=() if core is None else core.state_spec,
        name=name,
    )
    self._encoder = encoder
    self._core = core
    num_actions = int(action_spec.maximum) + 1
    hidden = () if head_units is None else (head_units,)
    self._advantage_head = encoders.dense_layers(
        hidden, num_actions, compute_dtype=compute_dtype, name='Advantages'
    )
    self._value_head = None
    if dueling:
      self._value_head = encoders.dense_layers(
          hidden, 1, compute_dtype=compute_dtype, name='Value'
      )
    self.__call__(
        tensor_spec.sample_spec_nest(observation_spec, outer_dims=(1,))
    )

  def copy(self, **kwargs: Any) -> 'RecurrentQNetwork':
    """Returns a network like this one, with parameters of its own.

    TF-Agents' own `copy` would share trunk and core.

    Args:
      **kwargs: Arguments of the constructor that differ in the copy.
    """
    own = dict(encoder=self._encoder.copy())
    if self._core is not None:
      own['core'] = self._core.fresh()
    return super().copy(**{**own, **kwargs})

  def call(
      self,
      observation: types.NestedTensor,
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    """Returns (Q values [..., num_actions], network_state)."""
    observation, mask = action_masks.split_mask(observation)
    features, _ = self._encoder(observation, step_type, training=training)
    if self._core is not None:
      features, network_state = self._core(
          features, step_type, network_state, training=training
      )
    q_values = self._advantage_head(features)
    if self._value_head is not None:
      q_values = q_learning.dueling_q_values(
          self._value_head(features), q_values
      )
    if mask is not None:  # Nobody chooses it, nor bootstraps from it.
      lowest = q_values.dtype.min
      q_values = tf.where(tf.cast(mask, tf.bool), q_values, lowest)
    return q_values, network_state


def check_action_spec(action_spec: tensor_spec.BoundedTensorSpec) -> None:
  """Raises InvalidValue unless actions are one discrete choice from 0."""
  if (
      not isinstance(action_spec, tensor_spec.BoundedTensorSpec)
      or action_spec.shape.rank != 0
      or not action_spec.dtype.is_integer
      or int(action_spec.minimum) != 0
  ):
    raise errors.InvalidValue(
        'Q-learning needs one discrete action from 0, an integer'
        f' BoundedTensorSpec of shape [], got {action_spec}.'
    )
  action_ranges.check_num_values(
      action_spec.name, int(action_spec.maximum) + 1
  )


@gin.configurable(
    module='rnd_agents', denylist=['observation_spec', 'action_spec']
)
def create_q_networks(
    observation_spec: types.NestedTensorSpec,
    action_spec: tensor_spec.BoundedTensorSpec,
    fc_layer_params: Sequence[int] = (64,),
    activation: keras_layers.Activation = 'relu',
    conv_layers: keras_layers.ConvLayers | None = None,
    core: recurrent_cores.RecurrentCore | None = None,
    head_units: int | None = 64,
    dueling: bool = True,
    compute_dtype: str = precision.FLOAT32,
) -> QNetworks:
  """Builds a Q network and its target for one environment.

  Args:
    observation_spec: A nest of tensor specs: flat, images, discrete, or mixed;
      in an `ObservationWithMask` if there are action masks.
    action_spec: One discrete action.
    fc_layer_params: Units of the trunk.
    activation: Keras activation of the trunk.
    conv_layers: Convolutions of the trunk as (filters, kernel size, stride);
      None chooses them by the image's size.
    core: A `RecurrentCore`; the target gets a similar one. None for none.
    head_units: Units of the hidden layers of the head; None for none.
    dueling: Whether value and advantages have heads of their own.
    compute_dtype: Type that trunk and hidden layers of the head compute in, as
      for `create_networks`. The core has its own (`LSTMCore.compute_dtype`).

  Returns:
    `QNetworks`, whose weights differ until the agent copies them.
  """
  owner = 'create_q_networks'
  factory.check_core(core, owner)
  factory.check_units(
      owner,
      fc_layer_params=fc_layer_params,
      head_units=() if head_units is None else (head_units,),
  )
  ranges.check_flags(f'{owner}.', dueling=dueling)
  keras_layers.check_activation(f'{owner}.activation', activation)
  seen_spec = action_masks.without_mask(observation_spec)
  factory.check_convolutions(owner, seen_spec, conv_layers=conv_layers)
  cores = (None, None) if core is None else (core, core.fresh())
  return QNetworks(*(
      RecurrentQNetwork(
          observation_spec,
          action_spec,
          encoders.create_encoder(
              seen_spec,
              fc_layer_params,
              conv_layers,
              activation,
              compute_dtype=compute_dtype,
              name=f'{name}Trunk',
          ),
          own_core,
          head_units,
          dueling,
          compute_dtype,
          name=name,
      )
      for name, own_core in zip(('Q', 'TargetQ'), cores, strict=True)
  ))
