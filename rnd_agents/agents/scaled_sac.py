# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""SAC whose entropy does not depend on the units of the actions."""

from typing import Any

import numpy as np
import tensorflow as tf
from tf_agents.agents.sac import sac_agent
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types


class ScaledSacAgent(sac_agent.SacAgent):
  """SAC with the entropy of actions that are scaled to [-1, 1].

  So Haarnoja et al., 2018 (arXiv 1812.05905, appendix C), squash them.
  `SacAgent` takes the density of the action spec: between -0.1 and 0.1 no
  policy has more than log 0.2 = -1.6 nats, never its target of -1, and alpha
  grows without a limit; between -100 and 100 nearly every policy has more, and
  alpha vanishes. Here log pi has the logs of half the ranges added.
  """

  def __init__(self, *args: Any, **kwargs: Any):
    """Creates the agent with the arguments of `SacAgent`."""
    super().__init__(*args, **kwargs)
    ranges = [
        np.broadcast_to(spec.maximum - spec.minimum, spec.shape)
        for spec in tf.nest.flatten(self.action_spec)
    ]
    self._log_scale = float(sum(np.sum(np.log(each / 2.0)) for each in ranges))

  def _actions_and_log_probs(
      self, time_steps: ts.TimeStep, training: bool | None = False
  ) -> tuple[types.NestedTensor, tf.Tensor]:
    """Returns (actions, log pi of the scaled actions, [N])."""
    actions, log_pi = super()._actions_and_log_probs(time_steps, training)
    return actions, log_pi + self._log_scale
