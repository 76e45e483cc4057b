# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `R2D3Agent` refuses, and what it says then."""

from tf_agents.networks import network

from rnd_agents.agents import checks
from rnd_agents.curiosity import random_network_distillation

_CHOICES = dict(
    recurrent_state_init=('stored', 'zero'),
    priorities_from=('n_step_errors', 'both_errors', 'losses'),
)

# As `checks.check_ranges` takes them.
_RANGES = dict(
    burn_in_length=(
        lambda x: x >= 0 and x % 1 == 0, 'an integer from 0', False, ''
    ),
    n_step=checks.COUNT,
    target_update_period_train_steps=checks.COUNT,
    discount_factor=checks.WITHIN_0_AND_1,
    priority_max_weight=checks.WITHIN_0_AND_1,
    value_rescaling_epsilon=(lambda x: x >= 0, 'at least 0', True, ''),
    n_step_weight=checks.AT_LEAST_0,
    one_step_weight=checks.AT_LEAST_0,
    margin_weight=checks.AT_LEAST_0,
    margin=checks.AT_LEAST_0,
    squared_error_scale=(lambda x: x > 0, 'above 0', False, ''),
    target_update_tau=(
        lambda x: 0 < x <= 1, 'above 0 and at most 1', False, ''
    ),
    gradient_clipping=(lambda x: x > 0, 'above 0', True, ''),
    bonus_weight=checks.AT_LEAST_0,
)


def check_numbers(arguments):
  """Refuses numbers out of range and words that mean nothing.

  Args:
    arguments: Of `R2D3Agent` by name.

  Raises:
    TypeError: If a number is something else.
    ValueError: If an argument is out of range.
  """
  checks.check_ranges(_RANGES, arguments, owner='R2D3Agent.')
  for name, choices in _CHOICES.items():
    if arguments[name] not in choices:
      raise ValueError(
          f'R2D3Agent.{name} must be one of {choices}, got'
          f' {arguments[name]!r}.'
      )


def check_networks(time_step_spec, q_network, target_q_network):
  """Refuses networks that are missing, one, or unlike each other.

  Args:
    time_step_spec: A `TimeStep` spec.
    q_network: The online network.
    target_q_network: Its target.

  Raises:
    TypeError: If one is no `Network`.
    ValueError: If they share weights or differ in shape.
  """
  for label, net in (
      ('q_network', q_network), ('target_q_network', target_q_network)
  ):
    if not isinstance(net, network.Network):
      raise TypeError(
          f'{label} must be a tf_agents Network, got {type(net).__name__}.'
          ' rnd_agents.networks.create_q_networks builds both.'
      )
    net.create_variables(time_step_spec.observation)
  shapes = [
      [variable.shape for variable in net.variables]
      for net in (q_network, target_q_network)
  ]
  if shapes[0] != shapes[1]:
    raise ValueError(
        'q_network and target_q_network must have variables of the same'
        f' shapes, got {shapes[0]} and {shapes[1]}.'
    )
  own = {variable.ref() for variable in q_network.variables}
  if any(variable.ref() in own for variable in target_q_network.variables):
    raise ValueError(
        'q_network and target_q_network share weights: build two networks, as'
        ' rnd_agents.networks.create_q_networks does.'
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
    raise ValueError(
        f'R2D3Agent needs sequences of at least {burn_in_length + 2} frames:'
        f' burn_in_length={burn_in_length}, a step, and the frame after it;'
        f' got {num_frames}.'
    )


def check_curiosity(curiosity, rnd_optimizer):
  """Refuses a curiosity that is none or that nothing trains.

  Args:
    curiosity: A `RandomNetworkDistillation` or None.
    rnd_optimizer: An optimizer or None.

  Raises:
    TypeError: If the curiosity is something else.
    ValueError: If it has no optimizer.
  """
  if curiosity is None:
    return
  if not isinstance(
      curiosity, random_network_distillation.RandomNetworkDistillation
  ):
    raise TypeError(
        'R2D3Agent.curiosity must be a RandomNetworkDistillation, got'
        f' {type(curiosity).__name__}.'
    )
  if rnd_optimizer is None:
    raise ValueError(
        'R2D3Agent.rnd_optimizer is missing: the predictor of the curiosity'
        ' needs one to learn.'
    )
