# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tells where updates become a hundredth of the usual ones.

After one gradient far above the usual, Adam divides by it for thousands of
steps (docs/rnd_ppo.md, "When a surprise stops learning"). A policy that has
become deterministic moves as little, and should: its entropy tells.
"""

import collections
import statistics

from absl import logging

UPDATE_SIZE = 'update_size'  # The metric, after the prefix of a level.
# Updates that are compared with the newest one, and how many are enough.
_USUAL_UPDATES = 1_000
_LEAST_USUAL_UPDATES = 20
_FROZEN_SHARE = 0.01
_DETERMINISTIC_SHARE = 0.1


class FrozenUpdates:
  """Watches the updates of one agent.

  Attributes:
    since_env_steps: When the updates became a hundredth of the usual ones; None
      while they are not.
  """

  def __init__(self, prefix=''):
    """Has seen no update.

    Args:
      prefix: Of the agent's metrics, such as `upper_`; '' if it is the only
        one.
    """
    # (size, entropy) of updates that were not frozen: a freeze does not become
    # the usual.
    self._usual = collections.deque(maxlen=_USUAL_UPDATES)
    self._prefix = prefix
    self.since_env_steps = None

  def add(self, metrics, env_steps):
    """Compares an update with those before.

    Args:
      metrics: Numbers by name, with `update_size` and `entropy` after the
        prefix.
      env_steps: Environment steps so far.
    """
    size = metrics[self._prefix + UPDATE_SIZE]
    entropy = metrics[f'{self._prefix}entropy']
    usual_size, usual_entropy = 0.0, 0.0
    if len(self._usual) >= _LEAST_USUAL_UPDATES:
      usual_size, usual_entropy = (
          statistics.median(values) for values in zip(*self._usual, strict=True)
      )
    # That of continuous actions may be negative, and then tells nothing.
    is_deterministic = 0 < usual_entropy * _DETERMINISTIC_SHARE > entropy
    if is_deterministic or size >= _FROZEN_SHARE * usual_size:
      self._usual.append((size, entropy))
      if self.since_env_steps is not None:
        logging.info(
            'Updates are no longer frozen: %supdate_size is %.3g.',
            self._prefix,
            size,
        )
        self.since_env_steps = None
    elif self.since_env_steps is None:
      self.since_env_steps = env_steps
      logging.warning(
          'Updates are frozen since step %d: %supdate_size is %.3g, and its'
          ' median %.3g. The optimizer may remember one gradient far above the'
          ' usual: see gradient_norm and intrinsic_reward_max in metrics.csv.'
          ' RNDPPOAgent.normalize_advantages and intrinsic_reward_clip bound'
          ' such gradients.',
          env_steps,
          self._prefix,
          size,
          usual_size,
      )

  def get_state(self):
    """What a checkpoint keeps, picklable."""
    return dict(usual=list(self._usual), since=self.since_env_steps)

  def set_state(self, state):
    """Goes on from `get_state()`."""
    self._usual.extend(state['usual'])
    self.since_env_steps = state['since']
