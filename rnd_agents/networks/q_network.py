# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Q values of discrete actions, with a memory and a dueling head."""

import collections

import gin
from tf_agents.networks import network
from tf_agents.specs import tensor_spec

from rnd_agents import errors
from rnd_agents.networks import encoders
from rnd_agents.networks import factory
from rnd_agents.networks import precision
from rnd_agents.ops import q_learning

# What R2D3Agent takes, by the names of its arguments:
# `R2D3Agent(..., **create_q_networks(...)._asdict())`.
QNetworks = collections.namedtuple(
    'QNetworks', ('q_network', 'target_q_network')
)


class RecurrentQNetwork(network.Network):
  """Trunk, core, head: Q(s, .) of single steps or of sequences.

  With the dueling head of R2D2 (Kapturowski et al., 2019; Wang et al., 2016)
  value and advantages have a hidden layer each:

      Q = V + A - mean_a A
  """

  def __init__(
      self,
      observation_spec,
      action_spec,
      encoder,
      core=None,
      head_units=64,
      dueling=True,
      name='RecurrentQNetwork',
  ):
    """Creates the network.

    Args:
      observation_spec: A nest of tensor specs.
      action_spec: One integer `BoundedTensorSpec` [] from 0.
      encoder: A `Network` from observations to features: the trunk.
      core: A `RecurrentCore`; None for a feed-forward network.
      head_units: Units of the hidden layers of the head; None for none.
      dueling: Whether value and advantages are apart.
      name: Name of the network.

    Raises:
      ValueError: If the actions are not one discrete choice from 0.
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
        hidden, num_actions, name='Advantages'
    )
    self._value_head = None
    if dueling:
      self._value_head = encoders.dense_layers(hidden, 1, name='Value')
    self.__call__(
        tensor_spec.sample_spec_nest(observation_spec, outer_dims=(1,))
    )

  def copy(self, **kwargs):
    """Returns a network like this one, with parameters of its own.

    TF-Agents would hand this one's trunk and core to the other.

    Args:
      **kwargs: Of the constructor, to change.
    """
    own = dict(encoder=self._encoder.copy())
    if self._core is not None:
      own['core'] = self._core.fresh()
    return super().copy(**{**own, **kwargs})

  def call(
      self, observation, step_type=None, network_state=(), training=False
  ):
    """Returns (Q values [..., num_actions], network_state)."""
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
    return q_values, network_state


def check_action_spec(action_spec):
  """Refuses actions that Q-learning cannot choose from.

  Args:
    action_spec: What should be one integer `BoundedTensorSpec` [] from 0.

  Raises:
    ValueError: If it is something else.
  """
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


@gin.configurable(
    module='rnd_agents', denylist=['observation_spec', 'action_spec']
)
def create_q_networks(
    observation_spec,
    action_spec,
    fc_layer_params=(64,),
    activation='relu',
    conv_layers=None,
    core=None,
    head_units=64,
    dueling=True,
    compute_dtype=precision.FLOAT32,
):
  """Builds a Q network and its target for one environment.

  Args:
    observation_spec: A nest of tensor specs: flat, images, discrete, or mixed.
    action_spec: One discrete action.
    fc_layer_params: Units of the trunk.
    activation: Keras activation of the trunk.
    conv_layers: Convolutions of the trunk as (filters, kernel size, stride);
      None picks by the image's size.
    core: A `RecurrentCore`; the target gets one like it. None for none.
    head_units: Units of the hidden layers of the head; None for none.
    dueling: Whether value and advantages are apart.
    compute_dtype: What the trunk computes in, as for `create_networks`; core
      and head are float32.

  Returns:
    `QNetworks`, of unlike weights until the agent copies them.

  Raises:
    TypeError: If units are no list.
    ValueError: If the actions are not one discrete choice from 0, the core is
      none or has been used, a layer has no units, or convolutions have no
      image.
  """
  owner = 'create_q_networks'
  factory.check_core(core, owner)
  factory.check_units(
      owner,
      fc_layer_params=fc_layer_params,
      head_units=() if head_units is None else (head_units,),
  )
  factory.check_activation(owner, activation)
  factory.check_convolutions(owner, observation_spec, conv_layers=conv_layers)
  cores = (None, None) if core is None else (core, core.fresh())
  return QNetworks(*(
      RecurrentQNetwork(
          observation_spec,
          action_spec,
          encoders.create_encoder(
              observation_spec,
              fc_layer_params,
              conv_layers,
              activation,
              compute_dtype=compute_dtype,
              name=f'{name}Trunk',
          ),
          own_core,
          head_units,
          dueling,
          name=name,
      )
      for name, own_core in zip(('Q', 'TargetQ'), cores, strict=True)
  ))
