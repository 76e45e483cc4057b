# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The model of a cluster, against cases worked out by hand."""

import math

import pytest

from benchmarks import cluster_plan

_WORK = cluster_plan.Work(
    wait_s=0.5,
    step_cpu_s=0.25,
    batch_cpu_s=1.0,
    learner_s=0.125,
    rollout_bytes=10,
    variables_bytes=40,
    call_s=0.5,
    byte_s=0.0125,
    start_s=7.0,
)


def test_one_worker_with_two_shards_by_hand():
  fleet = cluster_plan.Fleet(
      1, 2, 2, 4, up=40.0, down=20.0, learner_link=80.0, latency_s=1.0
  )
  # A shard: 4 x (2 x 0.5 + 1 + 2 x 0.25) = 10 s, 80 B. Both calls are out after
  # 0.5 and 1 s; the variables are sent at 1, come at 2, are in at 4.
  # Worker: 4 to 14, 14 to 24. Link: 24 to 26, at the learner 27 to 28, read in
  # 80 x 0.0125 = 1 s: 29. Update: 16 x 0.125 = 2 s: 31.
  rounds = cluster_plan.predict(_WORK, fleet, num_rounds=3)
  assert rounds.round_s == pytest.approx(31.0)
  assert rounds.env_steps_per_s == pytest.approx(16 / 31)
  assert rounds.age_s == pytest.approx(29.0)
  assert rounds.learner_share == pytest.approx(2 / 31)
  assert rounds.bytes_in_per_s == pytest.approx(160 / 31)
  assert rounds.bytes_out_per_s == pytest.approx(40 / 31)
  # Ahead: updates begin at 29, 58, 87; the last one ends at 89.
  ahead = cluster_plan.predict(
      _WORK, fleet._replace(max_lag_rounds=1), num_rounds=3
  )
  assert ahead.round_s == pytest.approx(89 / 3)
  assert ahead.age_s == pytest.approx(29.0)


def test_a_slow_learner_is_the_limit_ahead():
  work = _WORK._replace(learner_s=4.0)  # 64 s an update.
  fleet = cluster_plan.Fleet(2, 2, 2, 4, max_lag_rounds=1)
  # Calls are out at 0.5 and 1 s, back at 10.5 and 11 s, read at 11.5 and 12.5.
  # Updates end 64, 128 and 192 s later; data of the second and third waited.
  ahead = cluster_plan.predict(work, fleet, num_rounds=3)
  assert ahead.round_s == pytest.approx((12.5 + 192) / 3)
  assert ahead.age_s == pytest.approx((12.5 + 64 + 64) / 3)
  rounds = cluster_plan.predict(work, fleet._replace(max_lag_rounds=0))
  assert rounds.round_s == pytest.approx(12.5 + 64)


def test_a_busy_learner_link_is_shared():
  work = _WORK._replace(call_s=0.0, byte_s=0.0, variables_bytes=0)
  fleet = cluster_plan.Fleet(5, 5, 2, 4, learner_link=20.0)
  # All five have 80 B at 10 s: 20 s at 20 B/s, then 40 steps x 0.125 s.
  found = cluster_plan.predict(work, fleet)
  assert found.round_s == pytest.approx(10 + 20 + 5)


@pytest.mark.parametrize(
    ('cores', 'expected'),
    [
        (1.0, 4 * (1.0 + 1.0 + 0.5)),
        (4.0, 4 * 1.0 + 4 * 1.5 / 4),
        (0.5, 4 * 1.5 / 0.5),  # Cores are the limit, the waiting is hidden.
        (0.75, 4 * 2.5),
    ],
)
def test_cores(cores, expected):
  fleet = cluster_plan.Fleet(1, 1, 2, 4, cores)
  assert cluster_plan.collect_s(_WORK, fleet) == pytest.approx(expected)


def test_losses_have_the_mean_of_a_task_that_begins_again():
  work = _WORK._replace(
      call_s=0.0, byte_s=0.0, learner_s=0.0, variables_bytes=0
  )
  fleet = cluster_plan.Fleet(1, 1, 2, 4, losses_per_hour=180.0, detection_s=5.0)
  # A loss in 20 s on average, 10 s of work, 12 s until it begins again:
  # (e^(10 / 20) - 1) (20 + 12).
  found = cluster_plan.predict(work, fleet, num_rounds=4000)
  assert found.round_s == pytest.approx(32 * (math.exp(0.5) - 1), rel=0.03)
