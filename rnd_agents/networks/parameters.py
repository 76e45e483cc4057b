# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parameters of one network for another of the same structure."""

from tf_agents.networks import network
from tf_agents.utils import common

from rnd_agents import errors


def check_are_networks(**networks):
  """Raises InvalidType where one of several by name is no `Network`."""
  for name, net in networks.items():
    if not isinstance(net, network.Network):
      raise errors.InvalidType(
          f'{name} must be a tf_agents Network, got {type(net).__name__}.'
          ' create_networks and create_q_networks of rnd_agents.networks build'
          ' such.'
      )


def update(source, target, tau=1.0):
  """Moves variables to (1 - tau) target + tau source, by position.

  Their names do not matter. `Network.copy` keeps the order of variables.

  Args:
    source: A built `Network`.
    target: A built `Network` of the same structure.
    tau: How far, from 0 to 1; 1 copies.

  Raises:
    InvalidValue: If the structures differ; nothing has changed then.
  """
  check_alike(source=source, target=target)
  common.soft_variables_update(source.variables, target.variables, tau)


def check_alike(**networks):
  """Refuses two built networks, by name, whose variables differ in shape."""
  first, second = (
      [variable.shape for variable in net.variables]
      for net in networks.values()
  )
  if first != second:
    raise errors.InvalidValue(
        f'{" and ".join(networks)} must have variables of the same shapes, got'
        f' {first} and {second}.'
    )
