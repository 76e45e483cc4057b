# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds curiosity and return streams from the arguments of `RNDPPOAgent`."""

import numbers

import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents import errors
from rnd_agents.agents import return_streams
from rnd_agents.agents import stream_rewards
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.networks import parameters as parameters_lib


def create(
    time_step_spec,
    value_net,
    curiosity,
    streams,
    rnd_settings,
    stream_settings,
    parameters,
):
  """Builds what is not given, and checks all of it.

  Args:
    time_step_spec: A `TimeStep` spec.
    value_net: The agent's value network.
    curiosity: A `Curiosity`, or a list of them; None for RND of `rnd_settings`.
    streams: `ReturnStream`s, or a function from the curiosity to them; None for
      the two of `stream_settings`.
    rnd_settings: Arguments of `RNDPPOAgent` about RND, by name.
    stream_settings: Those about its two streams, by name.
    parameters: `inspect.Parameter` of each of them, by name.

  Returns:
    A tuple (the curiosity, or the first one of the streams, or None; tuple of
    `ReturnStream`s).

  Raises:
    TypeError: If something is of a wrong type.
    ValueError: If something does not fit, or has no effect.
  """
  if curiosity is not None:
    for each in _list(curiosity):
      if not isinstance(each, curiosity_lib.Curiosity):
        raise errors.InvalidType(
            'RNDPPOAgent.curiosity must be a Curiosity, such as'
            ' RandomNetworkDistillation, or a list of them, got'
            f' {type(each).__name__}.'
        )
    _check_unused('curiosity', rnd_settings, parameters)
  elif streams is None or rnd_settings['rnd_network'] is not None:
    curiosity = _create_rnd(
        time_step_spec.observation,
        stream_settings['intrinsic_discount_factor'],
        **rnd_settings,
    )
  if streams is None:
    streams = _default_streams(_list(curiosity), **stream_settings)
  else:
    _check_unused('streams', stream_settings, parameters)
    streams = tuple(streams(curiosity) if callable(streams) else streams)
  _check_streams(streams, curiosity, time_step_spec, value_net)
  first = next(iter(stream_rewards.curiosities(streams)), None)
  return next(iter(_list(curiosity)), first), streams


def _list(curiosity):
  """The curiosities of an argument that is one, a list of them, or None."""
  if curiosity is None:
    return []
  return curiosity if isinstance(curiosity, (list, tuple)) else [curiosity]


def _create_rnd(
    observation_spec,
    discount_factor,
    rnd_network,
    target_rnd_network,
    rnd_observation_fn,
    rnd_loss_fn,
    observation_clip_value,
):
  _check_rnd_networks(rnd_network, target_rnd_network)
  return random_network_distillation.RandomNetworkDistillation(
      observation_spec,
      rnd_network,
      target_rnd_network,
      observation_fn=rnd_observation_fn,
      loss_fn=rnd_loss_fn,
      observation_clip_value=observation_clip_value,
      discount_factor=discount_factor,
  )


def _default_streams(
    curiosities,
    discount_factor,
    intrinsic_discount_factor,
    extrinsic_advantage_coefficient,
    intrinsic_advantage_coefficient,
    episodic_intrinsic_stream,
    intrinsic_reward_clip,
    intrinsic_termination_discount,
):
  """The extrinsic and the intrinsic ones; `RNDPPOAgent` has the arguments."""
  intrinsic = [
      return_streams.ReturnStream(
          f'intrinsic_{i + 1}' if i else 'intrinsic',
          intrinsic_discount_factor,
          intrinsic_advantage_coefficient,
          episodic_intrinsic_stream,
          curiosity,
          intrinsic_reward_clip,
          intrinsic_termination_discount,
      )
      for i, curiosity in enumerate(curiosities)
  ]
  extrinsic = return_streams.ReturnStream(
      'extrinsic', discount_factor, extrinsic_advantage_coefficient
  )
  return extrinsic, *intrinsic


def _check_unused(instead, arguments, parameters):
  """Refuses arguments that have no effect beside another."""
  for name, value in arguments.items():
    default = parameters[name].default
    if value is not default and (tf.is_tensor(value) or value != default):
      raise errors.InvalidValue(
          f'RNDPPOAgent.{name} has no effect beside {instead}, which takes its'
          ' place: leave one of them out.'
      )


def _check_rnd_networks(rnd_network, target_rnd_network):
  """Refuses networks for RND that are missing or have a memory."""
  networks = dict(
      rnd_network=rnd_network, target_rnd_network=target_rnd_network
  )
  parameters_lib.check_are_networks(**networks)
  for label, net in networks.items():
    if net.state_spec:
      raise errors.InvalidValue(
          f'{label} has a recurrent state. RND judges single observations: use'
          ' a feed-forward network.'
      )


def _check_streams(streams, curiosity, time_step_spec, value_net):
  """Refuses streams that fit no reward, no curiosity or no value network."""
  for stream in streams:
    if not isinstance(stream, return_streams.ReturnStream):
      raise errors.InvalidType(
          'RNDPPOAgent.streams must be ReturnStreams, got'
          f' {type(stream).__name__}.'
      )
  names = [stream.name for stream in streams]
  if not names or len(set(names)) < len(names):
    raise errors.InvalidValue(
        'RNDPPOAgent.streams must be one stream or more of different names, got'
        f' {names}.'
    )
  paying = stream_rewards.curiosities(streams)
  if any(each not in paying for each in _list(curiosity)):
    raise errors.InvalidValue(
        'RNDPPOAgent.curiosity pays in none of the streams: add a ReturnStream'
        ' with reward=curiosity, or leave it out.'
    )
  _check_rewards(streams, time_step_spec.reward.shape)
  num_heads = len(streams)
  output_spec = value_net.create_variables(
      tensor_spec.from_spec(time_step_spec.observation)
  )
  if not (
      isinstance(output_spec, tf.TypeSpec)
      and output_spec.shape.is_compatible_with([num_heads])
  ):
    raise errors.InvalidValue(
        f'value_net must have {num_heads} heads, one a stream'
        f' ({", ".join(names)}), as one output of shape [..., {num_heads}]; got'
        f' {output_spec}. rnd_agents.networks.create_networks builds such a'
        f' network with num_values = {num_heads}.'
    )


def _check_rewards(streams, shape):
  """Refuses entries that the environment's reward does not have."""
  for stream in streams:
    for _, source in stream.terms:
      if source is None and shape.rank:
        raise errors.InvalidValue(
            f'The reward is a vector {shape}: the ReturnStream {stream.name}'
            ' must say which entry is its reward.'
        )
      if isinstance(source, numbers.Integral) and (
          shape.rank != 1 or source >= shape[0]
      ):
        raise errors.InvalidValue(
            f'The ReturnStream {stream.name} is of entry {source} of the'
            f' reward, which is of shape {shape}.'
        )
