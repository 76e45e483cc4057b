# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Predicts the throughput of a learner with any number of workers.

    python -m benchmarks.cluster_plan

A discrete-event model of the rounds of `workers/ray_workers.py`. The call of
a shard passes seven stations, each of which serves one call at a time, in the
order in which they come: Ray in the learner, the learner's link out, the
worker's link in, the worker, its link out, the learner's link in, Ray in the
learner. When all shards are back, the learner updates. With a lag of one round
the next round begins at the same moment as the update.

A worker that is lost begins its shard again after it was missed and replaced.
Learner and workers do not share cores. `benchmarks/worker_speed.py --constants`
measures the constants.
"""

import collections
import heapq
import math
from typing import NamedTuple

import numpy as np

_MBIT = 1e6 / 8  # Bytes a second.


class Work(NamedTuple):
  """What a step costs: an environment's, unless it says otherwise."""

  wait_s: float  # In which no core works.
  step_cpu_s: float  # Of a core.
  batch_cpu_s: float  # Of a core, for a step of all environments of a shard.
  learner_s: float  # Of the learner's update.
  rollout_bytes: float
  variables_bytes: float  # Of the policy.
  call_s: float  # Of the learner, for a call of Ray's and its answer.
  byte_s: float  # Of the learner, for each byte of an answer.
  start_s: float  # Until a worker has started.


class Fleet(NamedTuple):
  """Who works, over which links (bytes a second)."""

  num_workers: int  # Each with a link of its own.
  num_shards: int  # Shard i goes to worker i mod num_workers.
  environments: int  # Of a shard.
  rollout_length: int
  cores: float = 1.0  # Of a worker; 0.5 where two share one.
  up: float = math.inf  # From a worker.
  down: float = math.inf  # To a worker.
  learner_link: float = math.inf  # In each direction.
  latency_s: float = 0.0  # One way.
  losses_per_hour: float = 0.0  # Of each worker.
  detection_s: float = 60.0  # Until Ray notices a loss.
  max_lag_rounds: int = 0


class Prediction(NamedTuple):
  """Means over the rounds."""

  env_steps_per_s: float
  round_s: float  # From update to update.
  age_s: float  # Of the variables that acted, when the learner uses the data.
  learner_share: float  # Of the time in which the learner updates.
  bytes_in_per_s: float  # Of the learner's link.
  bytes_out_per_s: float


def predict(work, fleet, num_rounds=50, seed=0):
  """Simulates rounds; returns a `Prediction`."""
  generator = np.random.default_rng(seed)
  steps = fleet.num_shards * fleet.environments * fleet.rollout_length
  update_begins = updated = 0.0  # Of the round before.
  ages_s = []
  for _ in range(num_rounds):
    begins = update_begins if fleet.max_lag_rounds else updated
    collected = begins + _round_s(work, fleet, generator)
    update_begins = max(collected, updated)
    ages_s.append(update_begins - begins)
    updated = update_begins + steps * work.learner_s
  round_s = updated / num_rounds
  return Prediction(
      steps / round_s,
      round_s,
      float(np.mean(ages_s)),
      steps * work.learner_s / round_s,
      steps * work.rollout_bytes / round_s,
      fleet.num_workers * work.variables_bytes / round_s,
  )


def collect_s(work, fleet):
  """Seconds that a worker takes for the rollout of a shard."""
  length = fleet.rollout_length
  cpu_s = length * (
      work.batch_cpu_s + fleet.environments * work.step_cpu_s
  )
  wait_s = length * fleet.environments * work.wait_s
  return max(wait_s + cpu_s / max(1.0, fleet.cores), cpu_s / fleet.cores)


def _round_s(work, fleet, generator):
  """Seconds from the variables to the last rollout."""
  answer_bytes = (
      fleet.environments * fleet.rollout_length * work.rollout_bytes
  )
  # A worker gets the variables with its first shard.
  sent_bytes = [
      work.variables_bytes * (shard < fleet.num_workers)
      for shard in range(fleet.num_shards)
  ]

  def stations(shard):
    """Stations of a call: name, seconds of service, seconds to the next."""
    worker = shard % fleet.num_workers
    return (
        ('call', work.call_s, 0.0),
        ('out', sent_bytes[shard] / fleet.learner_link, fleet.latency_s),
        (('in', worker), sent_bytes[shard] / fleet.down, 0.0),
        (('work', worker), _with_losses(work, fleet, generator), 0.0),
        (('up', worker), answer_bytes / fleet.up, fleet.latency_s),
        ('in', answer_bytes / fleet.learner_link, 0.0),
        ('call', answer_bytes * work.byte_s, 0.0),
    )

  paths = [stations(shard) for shard in range(fleet.num_shards)]
  is_free_at = collections.defaultdict(float)
  calls = [(0.0, shard, 0) for shard in range(fleet.num_shards)]
  now = 0.0
  while calls:
    now, shard, stage = heapq.heappop(calls)
    if stage < len(paths[shard]):
      name, service_s, delay_s = paths[shard][stage]
      is_free_at[name] = max(is_free_at[name], now) + service_s
      heapq.heappush(calls, (is_free_at[name] + delay_s, shard, stage + 1))
  return now


def _with_losses(work, fleet, generator):
  """Seconds of a rollout, begun again after each loss of its worker."""
  rollout_s, taken_s = collect_s(work, fleet), 0.0
  again_s = (
      fleet.detection_s + work.start_s + work.variables_bytes / fleet.down
  )
  while fleet.losses_per_hour:
    lost_s = generator.exponential(3600.0 / fleet.losses_per_hour)
    if lost_s >= rollout_s:
      break
    taken_s += lost_s + again_s
  return taken_s + rollout_s


# The simulator of worker_speed that sleeps 10 ms; measured by --constants.
SLEEPER = Work(
    wait_s=0.01017,
    step_cpu_s=48e-6,
    batch_cpu_s=1.14e-3,
    learner_s=0.0,
    rollout_bytes=72,
    variables_bytes=181_060,
    call_s=8.1e-3,
    byte_s=0.25e-9,
    start_s=26.9,
)
# Montezuma's Revenge, a learner with an H100 (docs/atari.md, "Speed"): 4,096
# steps take two cores 1.47 s to simulate and 0.43 s to act; 512 environments x
# 32 steps are learned in 1.09 s. Frames are packed in 0.1 ms of a core a step
# (`workers/packed_frames.py`), to 282 B in the first room by random actions;
# other rooms are taken for twice as much. The learner unpacks them, in 0.08 ms,
# on cores of its own.
ATARI = SLEEPER._replace(
    wait_s=0.0,
    step_cpu_s=2 * (1.47 + 0.43) / 4096 + 0.1e-3,
    batch_cpu_s=0.0,
    learner_s=1.09 / (512 * 32),
    rollout_bytes=564,
    variables_bytes=4.9e6,
)
SLOW_S = 0.1  # Of a core, for a step of a slow simulator.


def _fleets():
  """Yields (name, `Work`, `Fleet`) of the table."""
  slow = ATARI._replace(step_cpu_s=SLOW_S)
  machine = dict(environments=32, rollout_length=128, cores=16)
  network = dict(up=125e6, down=125e6, learner_link=1.25e9, latency_s=0.5e-3)
  home = dict(
      environments=16,
      rollout_length=64,
      cores=4,
      up=20 * _MBIT,
      down=100 * _MBIT,
      learner_link=1.25e9,
      latency_s=0.02,
  )
  one = Fleet(16, 16, 8, 32)
  yield '16 cores of the learner, Atari', ATARI, one
  yield '16 cores of the learner, 0.1 s a step', slow, one
  for number in (100, 1000):
    fleet = Fleet(number, number, **machine, **network)
    daily = fleet._replace(losses_per_hour=1 / 24)
    yield f'{number:,} machines, Atari', ATARI, fleet
    yield f'{number:,} machines, 0.1 s a step', slow, fleet
    yield '… each lost once a day', slow, daily
  for number in (100, 1000):
    fleet = Fleet(number, number, **home)
    often = fleet._replace(losses_per_hour=0.25)
    yield f'{number:,} homes, 0.1 s a step', slow, fleet
    yield '… each lost every 4 hours', slow, often


# Of the fields of `Prediction`: heading, factor, format.
_COLUMNS = (
    ('env steps/s', 1, ',.0f'),
    ('round, s', 1, '.1f'),
    ('age of the data, s', 1, '.1f'),
    ('learner busy, %', 100, '.0f'),
    ('MB/s in', 1e-6, '.1f'),
    ('MB/s out', 1e-6, '.1f'),
)


def main():
  """Prints the tables of docs/cluster.md."""
  print('| workers, 10 ms a step | env steps/s |\n|---|---|')
  for number in (1, 2, 4):
    fleet = Fleet(number, number, 16 // number, 32, cores=2 / number)
    print(f'| {number} | {predict(SLEEPER, fleet).env_steps_per_s:.0f} |')
  print('\nWith a lag of no round, of one:')
  print('| |', ' | '.join(heading for heading, *_ in _COLUMNS), '|')
  print('|---' * (1 + len(_COLUMNS)) + '|')
  for name, work, fleet in _fleets():
    both = zip(*(
        predict(work, fleet._replace(max_lag_rounds=lag)) for lag in (0, 1)
    ))
    cells = [
        ' · '.join(format(value * factor, style) for value in values)
        for values, (_, factor, style) in zip(both, _COLUMNS)
    ]
    print(f'| {name} |', ' | '.join(cells), '|')


if __name__ == '__main__':
  main()
