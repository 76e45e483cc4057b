# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The networks and calls of the GSoC posts on RND of 2019, as they are there.

https://www.endtoend.ai/gsoc/5
"""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import encoding_network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import agents
from tests.agents import agent_test_utils as utils


@pytest.mark.parametrize(
    'spec, layers',
    [
        (utils.FLAT, {}),
        (tensor_spec.BoundedTensorSpec([3], tf.uint8, 0, 255), {}),
        (
            tensor_spec.BoundedTensorSpec([5, 5, 2], tf.uint8, 0, 255),
            dict(conv_layer_params=((4, 3, 1),)),
        ),
    ],
    ids=['floats', 'bytes', 'pictures'],
)
def test_networks_and_loss_are_used_as_in_the_posts(tmp_path, spec, layers):
  rnd_net = encoding_network.EncodingNetwork(
      spec, fc_layer_params=(8, 4), name='PredictorRNDNetwork', **layers
  )
  target_rnd_net = encoding_network.EncodingNetwork(
      spec, fc_layer_params=(8, 4), name='TargetRNDNetwork', **layers
  )
  nets = utils.small_networks(spec, utils.DISCRETE)
  agent = agents.RNDPPOAgent(
      ts.time_step_spec(spec), utils.DISCRETE, utils.adam(),
      actor_net=nets.actor_net, value_net=nets.value_net,
      rnd_network=rnd_net, target_rnd_network=target_rnd_net,
      rnd_optimizer=utils.adam(), predictor_proportion=1.0,
  )  # fmt: skip
  observations = utils.sample(spec, [2, 3], 4)
  with tf.summary.create_file_writer(str(tmp_path)).as_default():
    with tf.GradientTape() as tape:
      rnd_losses, avg_rnd_loss = agent.rnd_loss(
          observations, debug_summaries=True
      )
  # Nothing is known of the observations yet: mean 0, deviation 1.
  whitened = np.clip(np.asarray(observations, np.float32), -5, 5)
  errors = rnd_net(whitened)[0] - target_rnd_net(whitened)[0]
  expected = np.square(errors).mean(-1)
  np.testing.assert_allclose(rnd_losses, expected, rtol=1e-4)
  np.testing.assert_allclose(avg_rnd_loss, expected.mean(), rtol=1e-4)
  grads = tape.gradient(avg_rnd_loss, rnd_net.trainable_weights)
  # The last bias: 2 (prediction - target) / 4, where the last ReLU is open.
  slope = 2 * errors / 4 * (rnd_net(whitened)[0].numpy() > 0)
  np.testing.assert_allclose(
      grads[-1], np.mean(slope, axis=(0, 1)), rtol=1e-4, atol=1e-6
  )
  assert not target_rnd_net.trainable_weights
  was = [v.numpy() for v in (*rnd_net.variables, *target_rnd_net.variables)]
  agent.train(utils.rollout(agent))
  now = (*rnd_net.variables, *target_rnd_net.variables)
  changed = [bool(np.any(a != b)) for a, b in zip(was, now)]
  assert changed == [True] * len(rnd_net.variables) + [False] * len(grads)
  (events,) = tmp_path.iterdir()
  assert b'rnd_loss' in events.read_bytes()
