# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""RND-PPO with other optimizers, for `surprise.py`.

Bind one to `create_rnd_ppo_agent.agent_class`.
"""

import gin
import tensorflow as tf

from rnd_agents import agents


class RelativelyClippedAdam(tf.keras.optimizers.Adam):
  """Adam on gradients clipped at a multiple of their running median norm."""

  def __init__(self, learning_rate, factor=10.0, window=401, **kwargs):
    """Creates the optimizer.

    Args:
      learning_rate: As for Adam.
      factor: Largest norm, in medians.
      window: The median is that of so many steps; there is no clipping before
        half as many.
      **kwargs: Of Adam.
    """
    super().__init__(learning_rate, **kwargs)
    self._factor = factor
    self._norms = tf.Variable(tf.fill([window], float('inf')), trainable=False)

  def apply_gradients(self, grads_and_vars, *args, **kwargs):
    gradients, variables = zip(*grads_and_vars, strict=True)
    norm = tf.linalg.global_norm(gradients)
    bound = self._factor * tf.sort(self._norms)[self._norms.shape[0] // 2]
    scale = tf.minimum(1.0, tf.math.divide_no_nan(bound, norm))
    # Norms before clipping: a lasting change moves the median.
    self._norms.assign(tf.concat([self._norms[1:], [norm]], axis=0))
    scaled = [gradient * scale for gradient in gradients]
    return super().apply_gradients(
        zip(scaled, variables, strict=True), *args, **kwargs
    )


@gin.configurable(module='ablations')
class RelativeClipping(agents.RNDPPOAgent):
  """Clips the gradient at ten times its running median norm."""

  def __init__(self, *args, optimizer, **kwargs):
    optimizer = RelativelyClippedAdam(
        optimizer.learning_rate, epsilon=optimizer.epsilon
    )
    super().__init__(*args, optimizer=optimizer, **kwargs)


@gin.configurable(module='ablations')
class ShortMemory(agents.RNDPPOAgent):
  """Adam with beta_2 = 0.99, which forgets a gradient ten times sooner."""

  def __init__(self, *args, optimizer, **kwargs):
    optimizer.beta_2 = 0.99
    super().__init__(*args, optimizer=optimizer, **kwargs)
