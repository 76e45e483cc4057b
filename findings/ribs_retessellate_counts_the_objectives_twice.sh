#!/usr/bin/env bash
# pyribs 0.12.0: `GridArchive.retessellate` counts all objectives once more, and
# `cqd_score` depends on where the objective has its zero.
#
# * `retessellate` puts the elites of an archive into another grid. It makes the store new
#   and not the sum of the objectives, to which the elites then add theirs once more.
#   From there on `stats.qd_score`, `norm_qd_score` and `obj_mean` are too large by the
#   old sum (for objectives below 0, too small). With the same grid the QD score doubles,
#   each further call adds to it, and the mean objective is larger than the largest.
#   `len`, `coverage`, `obj_max` and all data are right.
# * `cqd_score` divides the objectives by their range and does not take away the minimum.
#   With 1000 added to all objectives and to `obj_min` and `obj_max` the score is about a
#   thousand times as large; for costs it is far below 0. The objectives that count are
#   not from 0 to 1, as the distances are that are set off against them, and what should
#   be at most the number of target points times penalties can be anything.
#
# One would guess: statistics of what is in the archive. The documentation of
# `retessellate` says that it re-inserts the solutions and that some may be dropped. That
# of `cqd_score` has `obj_min` "used when normalizing the objectives"; only the
# difference `obj_max - obj_min` is used.
#
# Controls: a new archive with the same elites; the score as a plain loop.
#
# Source: ribs/archives/_grid_archive.py (`retessellate` without `_stats_reset`; `add`
# begins from `self._objective_sum`), ribs/archives/_cqd_score.py (`norm_objectives`);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'ribs==0.12.0' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import sys

import numpy as np
from ribs.archives import cqd_score
from ribs.archives import GridArchive

NUMBER, PENALTIES = 200, 5

random = np.random.default_rng(0)
measures = random.random((NUMBER, 2))
objectives = random.random(NUMBER)


def archive_of(shift, cells=10):
  archive = GridArchive(
      solution_dim=1, dims=[cells, cells], ranges=[(0, 1), (0, 1)]
  )
  archive.add(measures[:, :1], objectives + shift, measures)
  return archive


def close(a, b):
  return math.isclose(float(a), float(b), rel_tol=1e-9)


as_described = True
for shift in (1, -2):
  archive = archive_of(shift)
  sum_before = float(archive.stats.qd_score)
  as_described &= close(sum_before, archive.data('objective').sum())
  for cells in (10, 10, 5):
    archive.retessellate([cells, cells])
    stats, elites = archive.stats, archive.data('objective')
    fresh = archive_of(shift, cells).stats
    print(f'objectives from {shift} to {shift + 1}, grid of {cells} x {cells}: QD score'
          f' {stats.qd_score:.2f}, mean objective {stats.obj_mean:.3f}, largest'
          f' {stats.obj_max:.3f}; of the elites {elites.sum():.2f}, {elites.mean():.3f},'
          f' {elites.max():.3f}')
    # The elites and all that is not a sum are right.
    as_described &= close(fresh.qd_score, elites.sum()) and fresh.num_elites == len(elites)
    as_described &= stats.num_elites == len(elites) and close(stats.obj_max, elites.max())
    # The sum is too large by what it was before.
    as_described &= close(stats.qd_score, sum_before + elites.sum())
    as_described &= close(stats.obj_mean, (sum_before + elites.sum()) / len(elites))
    sum_before = float(stats.qd_score)
archive.clear()
as_described &= archive.stats.qd_score == 0

targets = random.random((1, 50, 2))
scores = {}
for shift in (0, 1000, -1000):
  archive = archive_of(shift)
  scores[shift] = cqd_score(
      archive, iterations=1, target_points=targets, penalties=PENALTIES,
      obj_min=shift, obj_max=shift + 1, dist_max=math.sqrt(2),
  ).mean
  slow = 0.0
  elites = list(zip(archive.data('objective'), archive.data('measures')))
  for target in targets[0]:
    for penalty in np.linspace(0, 1, PENALTIES):
      slow += max(
          (objective - shift) / 1 - penalty * math.dist(place, target) / math.sqrt(2)
          for objective, place in elites
      )
  print(f'objectives from {shift} to {shift + 1}: CQD score {scores[shift]:.1f}, with the'
        f' minimum taken away {slow:.1f}; at most {len(targets[0]) * PENALTIES}')
  as_described &= 0 < slow < len(targets[0]) * PENALTIES
  as_described &= abs(scores[shift] - slow - shift * len(targets[0]) * PENALTIES) < 1e-6
as_described &= scores[-1000] < 0
sys.exit(not as_described)
PROGRAM
