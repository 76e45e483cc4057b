# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings that cannot change a run, because another one turns them off.

An agent, or a way of training, knows which of its settings those are. Whether
they were given, and by whom, `training.gin_files` knows.
"""

from typing import NamedTuple


class Idle(NamedTuple):
  """Why a setting has no effect.

  Attributes:
    switches: The settings that can turn it off, the one to name first.
    why: What follows on 'has no effect', up to the advice.
  """

  switches: tuple[str, ...]
  why: str


_PARTS_OF_CURIOSITIES = (
    'create_novel_d.novelty_fn',
    'create_lpm.error_fn',
    'create_product.curiosity_fns',
    'create_sum.curiosity_fns',
    'create_bounded_factor.curiosity_fn',
)

# By the name of the setting, or of a configurable for all of its parameters.
Settings = dict[str, Idle]


def without(
    switch: str,
    what: str,
    *names: str,
    remedy: str = '',
    also: tuple[str, ...] = (),
) -> Settings:
  """Returns settings that need what another setting turns on.

  Args:
    switch: Name of the other setting.
    what: What they need, such as 'a curiosity'.
    *names: Their names.
    remedy: How to turn it on; '' to set the switch.
    also: Names of more settings that can turn it off.
  """
  remedy = remedy or f'set {switch}'
  idle = Idle((switch, *also), f'without {what}: {remedy}')
  return dict.fromkeys(names, idle)


def without_training(create_agent: str, *names: str) -> Settings:
  """Returns settings that need a curiosity with networks.

  Args:
    create_agent: Name of the function with the argument `curiosity_fn`.
    *names: Their names.
  """
  return without(
      f'{create_agent}.curiosity_fn',
      'a curiosity that is trained',
      *names,
      remedy='take one such as create_rnd',
      also=_PARTS_OF_CURIOSITIES,
  )


def in_scope(scope: str, settings: Settings) -> Settings:
  """Returns settings of a level, with names in its scope of gin."""
  scoped = {}
  for name, (switches, why) in settings.items():
    inner = tuple(f'{scope}/{switch}' for switch in switches)
    why = why.replace(switches[0], inner[0])
    scoped[f'{scope}/{name}'] = Idle(inner, why)
  return scoped
