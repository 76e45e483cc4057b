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
    switch: The setting that turns it off.
    why: What follows on 'has no effect', up to the advice.
  """

  switch: str
  why: str


# By the name of the setting, or of a configurable for all of its parameters.
Settings = dict[str, Idle]


def without(
    switch: str, what: str, *names: str, remedy: str = ''
) -> Settings:
  """Returns settings that need what another setting turns on.

  Args:
    switch: Name of the other setting.
    what: What they need, such as 'a curiosity'.
    *names: Their names.
    remedy: How to turn it on; '' to set the switch.
  """
  remedy = remedy or f'set {switch}'
  return dict.fromkeys(names, Idle(switch, f'without {what}: {remedy}'))


def in_scope(scope: str, settings: Settings) -> Settings:
  """Returns settings of a level, with names in its scope of gin."""
  scoped = {}
  for name, (switch, why) in settings.items():
    inner = f'{scope}/{switch}'
    scoped[f'{scope}/{name}'] = Idle(inner, why.replace(switch, inner))
  return scoped
