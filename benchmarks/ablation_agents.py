# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""RND-PPO with one of its parts done otherwise, for benchmarks/ablations.py.

Only what no argument of RNDPPOAgent says stands here.
"""

import gin
import tensorflow as tf

from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_agent


class OneStream(return_streams.ReturnStreams):
  """Bonus and reward summed into one episodic return with one value head."""

  def stream_advantages(self, transitions, rewards, intrinsic_rewards, values):
    """GAE of the sum under gamma_E, all of it as the extrinsic stream."""
    # The combination multiplies the extrinsic stream by its coefficient.
    weight = self.intrinsic_coefficient / self.extrinsic_coefficient
    combined = self._episodic(
        transitions,
        rewards + weight * intrinsic_rewards,
        values[..., 0],
        self._discount_factor,
    )
    # Advantage 0: the second head is its own target and learns nothing.
    return combined, tf.zeros_like(combined)


@gin.configurable(module='ablations')
class OneValueHeadAgent(rnd_ppo_agent.RNDPPOAgent):
  """One value head, one discount, one episodic stream: the usual shortcut."""

  STREAMS_CLASS = OneStream


@gin.configurable(module='ablations')
class CurrentObservationAgent(rnd_ppo_agent.RNDPPOAgent):
  """The bonus of s_t instead of s_{t+1}."""

  def _arrivals(self, observations):
    return tf.nest.map_structure(lambda x: x[:, :-1], observations)

  def _row_arrivals(self, rows, chosen):
    return tf.nest.map_structure(
        lambda x: tf.gather(x, chosen), rows['observation']
    )


@gin.configurable(module='ablations')
class CoinTossAgent(rnd_ppo_agent.RNDPPOAgent):
  """The authors' mask: each transition of a minibatch by the toss of a coin."""

  def _predictor_loss(self, rows, chosen):
    arrivals = self._row_arrivals(rows, chosen)
    tosses = tf.random.uniform(tf.shape(chosen)) < self._predictor_proportion
    return self._curiosity.loss(
        arrivals,
        mask=tosses,
        target_features=tf.gather(rows['target_features'], chosen),
    )
