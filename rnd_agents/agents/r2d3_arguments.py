# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of `R2D3Agent`."""

from collections.abc import Mapping
import types
from typing import Any

import numpy as np
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types as tf_types

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.networks import parameters
from rnd_agents.networks import precision
from rnd_agents.networks import q_network as q_network_lib

_CHOICES = dict(
    double_q=(False, True),
    mean_over_time=(False, True),
    normalize_observations=(False, True),
    recurrent_state_init=('stored', 'zero'),
    priorities_from=('n_step_errors', 'both_errors', 'losses'),
)

_RANGES = dict(
    burn_in_length=ranges.COUNT_OR_0,
    n_step=ranges.COUNT,
    target_update_period_train_steps=ranges.COUNT,
    discount_factor=ranges.WITHIN_0_AND_1,
    priority_max_weight=ranges.WITHIN_0_AND_1,
    value_rescaling_epsilon=ranges.AT_LEAST_0.or_none(),
    n_step_weight=ranges.AT_LEAST_0,
    one_step_weight=ranges.AT_LEAST_0,
    margin_weight=ranges.AT_LEAST_0,
    margin_anneal_train_steps=ranges.COUNT.or_none(),
    margin=ranges.AT_LEAST_0,
    l2_weight=ranges.AT_LEAST_0,
    squared_error_scale=ranges.ABOVE_0,
    target_update_tau=ranges.SHARE,
    gradient_clipping=ranges.ABOVE_0.or_none(),
    eval_epsilon=ranges.WITHIN_0_AND_1,
    bonus_weight=ranges.AT_LEAST_0,
)


def checked_settings(arguments: Mapping[str, Any]) -> types.SimpleNamespace:
  """Returns the numbers and choices among the arguments of `R2D3Agent`.

  Args:
    arguments: Arguments by name; others than numbers and choices are ignored.

  Returns:
    A namespace with an attribute for each; whole numbers are of type int.
  """
  precision.check_globals()
  ranges.check(_RANGES, arguments, owner='R2D3Agent.')
  for name, choices in _CHOICES.items():
    if arguments[name] not in choices:
      raise errors.InvalidValue(
          f'R2D3Agent.{name} must be one of {choices}, got'
          f' {arguments[name]!r}.'
      )
  settings = {name: arguments[name] for name in (*_RANGES, *_CHOICES)}
  for name, range_ in _RANGES.items():
    if range_ in (ranges.COUNT, ranges.COUNT_OR_0):
      settings[name] = int(settings[name])
  return types.SimpleNamespace(**settings)


def check_networks(
    time_step_spec: ts.TimeStep,
    action_spec: tf_types.NestedTensorSpec,
    q_network: network.Network,
    target_q_network: network.Network,
) -> None:
  """Raises an error if networks are missing, or fit neither specs nor target.

  They must not share weights, differ in shape, lack a value for an action, or
  carry a state from one episode into the next. Actions are one discrete choice
  from 0.
  """
  q_network_lib.check_action_spec(action_spec)
  num_actions = int(action_spec.maximum) + 1
  networks = dict(q_network=q_network, target_q_network=target_q_network)
  parameters.check_are_networks(**networks)
  for label, net in networks.items():
    output_spec = net.create_variables(time_step_spec.observation)
    if not (
        isinstance(output_spec, tf.TypeSpec)
        and output_spec.shape.is_compatible_with([num_actions])
    ):
      raise errors.InvalidValue(
          f'{label} must have an output for each of the {num_actions} actions,'
          f' [..., {num_actions}], got {output_spec}.'
      )
    action_masks.check_network(label, net, time_step_spec.observation)
    _check_forgets(label, net, time_step_spec.observation)
  parameters.check_alike(**networks)
  own = {variable.ref() for variable in q_network.variables}
  if any(variable.ref() in own for variable in target_q_network.variables):
    raise errors.InvalidValue(
        'q_network and target_q_network share weights: build two networks, as'
        ' rnd_agents.networks.create_q_networks does.'
    )


def _check_forgets(
    label: str,
    net: network.Network,
    observation_spec: tf_types.NestedTensorSpec,
) -> None:
  """Raises InvalidValue unless a network resets its state at a FIRST step.

  A sequence may begin with padding before the first step of an episode. A
  network that remembers the padding would learn from states that it does not
  have when it collects.
  """
  if not net.state_spec:
    return

  def filled(spec: tf.TensorSpec, number: int) -> tf.Tensor:
    return tf.cast(tf.fill([1, *spec.shape], number), spec.dtype)

  with tf.init_scope():
    observation = tf.nest.map_structure(
        lambda spec: filled(spec, 0)[:, tf.newaxis], observation_spec
    )
    rest, mask = action_masks.split_mask(observation)
    if mask is not None:  # Else all values are the lowest.
      observation = action_masks.ObservationWithMask(rest, tf.ones_like(mask))
    outputs = [
        net(
            observation,
            tf.fill([1, 1], ts.StepType.FIRST),
            network_state=tf.nest.map_structure(
                lambda spec, number=number: filled(spec, number),
                net.state_spec,
            ),
        )[0]
        for number in (0, 1)
    ]
  if not np.array_equal(*outputs):
    raise errors.InvalidValue(
        f'{label} remembers what was before an episode: where the step type is'
        ' FIRST, its output must not depend on network_state. That of'
        ' create_q_networks and QRnnNetwork of TF-Agents do not; a Keras LSTM'
        ' in a Sequential does.'
    )
