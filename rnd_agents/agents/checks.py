# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `RNDPPOAgent` refuses, and what it says then."""

import difflib
import inspect

import tensorflow as tf
from tf_agents.agents.ppo import ppo_agent
from tf_agents.networks import network
from tf_agents.specs import tensor_spec

# Arguments of PPOAgent that RND-PPO decides itself.
FIXED_PPO_ARGUMENTS = dict(
    use_gae=True,
    use_td_lambda_return=True,
    kl_cutoff_factor=0.0,
    kl_cutoff_coef=0.0,
    initial_adaptive_kl_beta=0.0,
)


def check_ppo_arguments(arguments, own_names):
  """Refuses what PPOAgent does not know and what RND-PPO has decided.

  Args:
    arguments: Keyword arguments meant for `PPOAgent`.
    own_names: Names of the arguments of `RNDPPOAgent` itself.

  Raises:
    TypeError: If a name is unknown.
    ValueError: If a value contradicts `FIXED_PPO_ARGUMENTS`.
  """
  known = inspect.signature(ppo_agent.PPOAgent.__init__).parameters
  for name in sorted(set(arguments) - set(known)):
    close = difflib.get_close_matches(name, {*known, *own_names}, n=3)
    raise TypeError(
        f'RNDPPOAgent has no argument {name}.'
        + (f' Did you mean {", ".join(close)}?' if close else '')
        + ' It knows its own arguments and those of TF-Agents\' PPOAgent.'
    )
  for name, value in FIXED_PPO_ARGUMENTS.items():
    if arguments.get(name, value) != value:
      raise ValueError(
          f'RNDPPOAgent always has {name}={value}, got {arguments[name]}:'
          ' leave the argument out.'
      )


def check_numbers(
    predictor_proportion, importance_ratio_clipping, num_epochs, num_minibatches
):
  """Refuses numbers out of range with a ValueError."""
  if not 0 < predictor_proportion <= 1:
    raise ValueError(
        'predictor_proportion must be above 0 and at most 1, got'
        f' {predictor_proportion}. To train without RND set'
        ' intrinsic_advantage_coefficient to 0.'
    )
  if importance_ratio_clipping <= 0:
    raise ValueError(
        'importance_ratio_clipping must be above 0, got'
        f' {importance_ratio_clipping}.'
    )
  if num_minibatches < 1 or num_epochs < 1:
    raise ValueError(
        'num_epochs and num_minibatches must be at least 1, got'
        f' {num_epochs} and {num_minibatches}.'
    )


def check_networks(observation_spec, **networks):
  """Refuses networks that are missing, recurrent or of one head.

  Args:
    observation_spec: The environment's.
    **networks: By the names of the agent's arguments; `value_net` among them.

  Raises:
    TypeError: If one is no `Network`.
    ValueError: If one cannot serve.
  """
  for label, net in networks.items():
    if not isinstance(net, network.Network):
      raise TypeError(
          f'{label} must be a tf_agents Network, got {type(net).__name__}.'
          ' rnd_agents.networks.create_networks builds all four.'
      )
    if net.state_spec:
      raise ValueError(
          f'{label} has a recurrent state, which RNDPPOAgent does not train'
          ' yet: use a feed-forward network.'
      )
  output_spec = networks['value_net'].create_variables(
      tensor_spec.from_spec(observation_spec)
  )
  if not (
      isinstance(output_spec, tf.TypeSpec)
      and output_spec.shape.is_compatible_with([2])
  ):
    raise ValueError(
        'value_net must have two heads, extrinsic and intrinsic value, as one'
        f' output of shape [..., 2]; got {output_spec}.'
        ' rnd_agents.networks.create_networks builds such a network.'
    )
