# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What should stay as it was: global generators, returned observations."""

import collections
import random
from typing import Any

import numpy as np

from rnd_agents.environments.checks import rules
from rnd_agents.environments.checks import values

# Observations kept to see whether they change: more than any frame stack.
_KEPT = 16


class GlobalRandom:
  """Watches the global generators of NumPy and Python."""

  def __init__(self, findings: rules.Findings):
    self._findings = findings
    self._states = self._read()

  def check(self, where: str) -> None:
    """Adds a finding if a generator is not as it was."""
    before, self._states = self._states, self._read()
    for name, state in self._states.items():
      if state != before[name]:
        self._findings.add(
            'global-random', f'{where} drew from the global {name}, or seeded '
            'it.', name
        )

  def _read(self):
    _, keys, position, has_gauss, gauss = np.random.get_state()
    return {
        'np.random': (keys.tobytes(), position, has_gauss, gauss),
        'random': random.getstate(),
    }


class KeptObservations:
  """The last observations, as returned and as copied then."""

  def __init__(self, findings: rules.Findings):
    self._findings = findings
    # name of the part -> [(where, array, copy)].
    self._kept = collections.defaultdict(
        lambda: collections.deque(maxlen=_KEPT)
    )
    self._changed = set()
    self._shared = {}

  def verify(self, where: str) -> None:
    """Finds observations that have changed since they were returned."""
    for name, kept in self._kept.items():
      for given, array, before in kept:
        if name not in self._changed and not values.equal(array, before):
          self._changed.add(name)
          self._findings.add(
              'observation-copy',
              f'{name} as {given} returned it has changed after {where}.',
              name,
          )

  def add(self, observation: Any, where: str) -> None:
    """Keeps an observation."""
    for name, array in values.leaves(observation):
      if not isinstance(array, np.ndarray):
        continue
      for given, other, _ in self._kept[name]:
        if np.shares_memory(array, other):
          self._shared.setdefault(name, (given, where))
      self._kept[name].append((where, array, array.copy()))

  def finish(self) -> None:
    """Finds those that share memory, though nothing was seen to change."""
    for name, (given, where) in self._shared.items():
      if name not in self._changed:
        self._findings.add(
            'observation-shared',
            f'{name} as {given} and {where} returned it lies in the same '
            'memory.',
            name,
        )
