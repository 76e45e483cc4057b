# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The numbers that a `train` of `RNDPPOAgent` leaves behind."""

import collections
import functools

import tensorflow as tf
from tf_agents.agents.ppo import ppo_agent

from rnd_agents.agents import optimizers
from rnd_agents.agents import return_streams


def loss_names(stream_names):
  """Names of the means over the optimizer steps of one `train`."""
  return (
      *ppo_agent.PPOLossInfo._fields,
      *(f'{name}_value_loss' for name in stream_names),
      'rnd_loss',
      'entropy',
      'approximate_kl',
      'gradient_norm',
      'rnd_gradient_norm',
  )


@functools.cache
def loss_info_type(stream_names, curious_names):
  """Creates the `RNDPPOLossInfo` of an agent.

  After the means stand `PPOUpdate`'s numbers about the update as a whole, and
  the statistics of the rollout before it, which are 0 where
  `preprocess_sequence` computed the returns.

  Args:
    stream_names: Names of the agent's streams.
    curious_names: Names of those with a curiosity.

  Returns:
    A namedtuple class.
  """
  return collections.namedtuple(
      'RNDPPOLossInfo',
      loss_names(stream_names)
      + ('update_size', 'skipped_train_steps')
      + return_streams.statistics_names(stream_names, curious_names),
  )


RNDPPOLossInfo = loss_info_type(('extrinsic', 'intrinsic'), ('intrinsic',))


def summarize(info, step, optimizer, variables):
  """Writes scalars of one `train`, and histograms of variables.

  Args:
    info: An `RNDPPOLossInfo`.
    step: The optimizer step to write them at.
    optimizer: Whose learning rate is written, too.
    variables: Variables to write; none for no histograms.
  """
  for name, value in info._asdict().items():
    scope = 'Losses' if name.endswith('_loss') else 'RNDPPO'
    tf.summary.scalar(f'{scope}/{name}', value, step=step)
  tf.summary.scalar(
      'LearningRate/learning_rate',
      optimizers.learning_rate(optimizer),
      step=step,
  )
  for variable in variables:
    name = variable.name.replace(':', '_')
    tf.summary.histogram(f'Variables/{name}', variable, step=step)
