# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of `R2D3Agent`."""

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.networks import parameters
from rnd_agents.networks import q_network as q_network_lib

_CHOICES = dict(
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


def check_numbers(arguments):
  """Refuses numbers out of range and words that mean nothing.

  Args:
    arguments: Of `R2D3Agent` by name.

  Raises:
    TypeError: If a number is something else.
    ValueError: If an argument is out of range.
  """
  ranges.check(_RANGES, arguments, owner='R2D3Agent.')
  for name, choices in _CHOICES.items():
    if arguments[name] not in choices:
      raise errors.InvalidValue(
          f'R2D3Agent.{name} must be one of {choices}, got'
          f' {arguments[name]!r}.'
      )


def check_networks(time_step_spec, action_spec, q_network, target_q_network):
  """Refuses networks that do not fit each other or the specs, or are missing.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: One discrete action from 0.
    q_network: The online network.
    target_q_network: Its target.

  Raises:
    TypeError: If one is no `Network`.
    ValueError: If they share weights, differ in shape, have not got a value
      for each action, or carry a state from one episode into the next; or if
      the actions are not one discrete choice from 0.
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
    _check_forgets(label, net, time_step_spec.observation)
  parameters.check_alike(**networks)
  own = {variable.ref() for variable in q_network.variables}
  if any(variable.ref() in own for variable in target_q_network.variables):
    raise errors.InvalidValue(
        'q_network and target_q_network share weights: build two networks, as'
        ' rnd_agents.networks.create_q_networks does.'
    )


def _check_forgets(label, net, observation_spec):
  """Refuses networks that do not reset their state where an episode begins.

  Windows begin with padding: collecting and learning would have other states.
  """
  if not net.state_spec:
    return

  def filled(spec, number):
    return tf.cast(tf.fill([1, *spec.shape], number), spec.dtype)

  with tf.init_scope():
    observation = tf.nest.map_structure(
        lambda spec: filled(spec, 0)[:, tf.newaxis], observation_spec
    )
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


def check_length(num_frames, burn_in_length):
  """Refuses sequences of which no step is left to learn from.

  Args:
    num_frames: L; None if it is not known yet.
    burn_in_length: Frames that only warm the states.

  Raises:
    ValueError: If there are too few.
  """
  if num_frames is not None and num_frames < burn_in_length + 2:
    raise errors.InvalidValue(
        f'R2D3Agent needs sequences of at least {burn_in_length + 2} frames:'
        f' burn_in_length={burn_in_length}, a step, and the frame after it;'
        f' got {num_frames}.'
    )


def check_curiosity(curiosity, optimizer, rnd_optimizer):
  """Refuses a curiosity that is none or that nothing trains.

  Args:
    curiosity: A `Curiosity` or None.
    optimizer: The Q network's, or None.
    rnd_optimizer: An optimizer or None.

  Raises:
    TypeError: If the curiosity is something else.
    ValueError: If it has no optimizer of its own.
  """
  if curiosity is None:
    return
  if not isinstance(curiosity, curiosity_lib.Curiosity):
    raise errors.InvalidType(
        'R2D3Agent.curiosity must be a Curiosity, such as'
        f' RandomNetworkDistillation, got {type(curiosity).__name__}.'
    )
  if not curiosity.trainable_variables:
    return
  if rnd_optimizer is None:
    raise errors.InvalidValue(
        'R2D3Agent.rnd_optimizer is missing: the curiosity has trainable'
        ' variables and needs one to learn.'
    )
  if rnd_optimizer is optimizer:
    raise errors.InvalidValue(
        'R2D3Agent.optimizer and rnd_optimizer are one object, which would take'
        ' two steps an update: give each an optimizer of its own.'
    )
