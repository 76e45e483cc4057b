# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from benchmarks import atari_rivals


@pytest.fixture(name='phases')
def _phases(monkeypatch):
  """A `Phases` whose clock stands at `phases.now`."""
  phases = atari_rivals.Phases()
  phases.now = 0.0
  monkeypatch.setattr(atari_rivals.time, 'perf_counter', lambda: phases.now)
  return phases


def _step(phases, acting, environment, bonus):
  """Imitates a script's calls in a step, with these durations."""
  phases.call(with_gradients=False)  # Values.
  phases.now += acting / 2
  phases.call(with_gradients=False)  # Actions.
  phases.now += acting / 2
  phases.begin_step()
  phases.now += environment
  phases.end_step()
  phases.call(with_gradients=True)  # Target and predictor.
  phases.now += bonus


def _update(phases, gae, learning):
  phases.call(with_gradients=False)  # Bootstrap.
  phases.now += gae
  for _ in range(2):
    phases.call(with_gradients=True)
    phases.now += learning / 2


def test_each_second_counts_in_the_phase_that_it_was_spent_in(phases):
  for _ in range(3):  # Random steps are no part of an update.
    phases.begin_step()
    phases.now += 50
    phases.end_step()
  for i in 1, 2:
    _step(phases, acting=1 * i, environment=10 * i, bonus=100 * i)
    _step(phases, acting=2 * i, environment=20 * i, bonus=200 * i)
    _update(phases, gae=1000 * i, learning=10000 * i)
  phases.end()
  once = dict(environment=30, acting=3, bonus=300, gae=1000, learning=10000)
  assert phases.updates == [
      once, {name: 2 * seconds for name, seconds in once.items()}
  ]
  assert phases.now == 150 + 3 * sum(once.values())


def test_the_end_of_a_run_is_counted_once(phases):
  _step(phases, acting=1, environment=1, bonus=1)
  _update(phases, gae=1, learning=4)
  phases.end()
  phases.now += 9
  phases.end()
  assert phases.updates[0]['learning'] == 4
