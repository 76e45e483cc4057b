# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Copies the parameters of one network to another of the same structure."""

from typing import Any

from tf_agents.networks import network
from tf_agents.utils import common

from rnd_agents import errors


def check_are_networks(**networks: Any) -> None:
  """Raises InvalidType unless all of these, by name, are `Network`s."""
  for name, net in networks.items():
    if not isinstance(net, network.Network):
      raise errors.InvalidType(
          f'{name} must be a tf_agents Network, got {type(net).__name__}.'
          ' Build it with create_networks or create_q_networks of'
          ' rnd_agents.networks.'
      )


def update(
    source: network.Network, target: network.Network, tau: float = 1.0
) -> None:
  """Sets target variables to (1 - tau) target + tau source, by position.

  Names do not matter. `Network.copy` keeps the order of variables.

  Args:
    source: A built `Network`.
    target: A built `Network` of the same structure.
    tau: Weight of the source, from 0 to 1; 1 copies it.

  Raises:
    InvalidValue: If the structures differ; then nothing has changed.
  """
  check_alike(source=source, target=target)
  common.soft_variables_update(source.variables, target.variables, tau)


def check_alike(**networks: network.Network) -> None:
  """Raises InvalidValue if two networks, by name, differ in variable shapes."""
  first, second = (
      [variable.shape for variable in net.variables]
      for net in networks.values()
  )
  if first != second:
    raise errors.InvalidValue(
        f'{" and ".join(networks)} must have variables of the same shapes, got'
        f' {first} and {second}.'
    )
