# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""RND-PPO with one part replaced, for the group `ablations`.

Only parts that no argument of the agent replaces.
"""

import gin

from rnd_agents import curiosity as curiosity_lib


class CurrentObservation(curiosity_lib.RandomNetworkDistillation):
  """The bonus of s_t instead of s_{t+1}."""

  def bonus(self, transitions, constants=None):
    return super().bonus(_stay(transitions), constants)

  def constants(self, transitions):
    return super().constants(_stay(transitions))

  def loss(self, transitions, weights=None, constants=None):
    return super().loss(_stay(transitions), weights, constants)

  def update_statistics(self, transitions):
    super().update_statistics(_stay(transitions))


@gin.configurable(
    module='ablations', denylist=['time_step_spec', 'action_spec']
)
def create_current_observation(time_step_spec, action_spec):
  """Builds a `CurrentObservation`; for `create_rnd_ppo_agent.curiosity_fn`."""
  return curiosity_lib.create_rnd(
      time_step_spec, action_spec, rnd_class=CurrentObservation
  )


def _stay(transitions):
  return transitions._replace(next_observation=transitions.observation)
