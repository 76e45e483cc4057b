#!/usr/bin/env bash
# morl-baselines 1.3.0: `filter_convex_dominated` keeps points that are best for no
# weights: those on the far side of the convex hull.
#
# It takes the corners of the convex hull of all points and then leaves out what is Pareto
# dominated. The hull has a lower side, too. A corner there that is not dominated stays,
# although it lies BELOW the line between two others.
#
# * Of (0, 1), (1, 0) and (0.4, 0.4) it keeps all three. No weights prefer the third one:
#   with w and 1 - w it has 0.4, and the better of the others at least 0.5.
# * The concave front of Deep Sea Treasure is THE example of policies that linear utility
#   does not find. Two of its ten points are best for some weights (the nearest and the
#   farthest treasure); the filter keeps seven. On a smooth concave front (a quarter of a
#   circle, seen from outside) nothing is filtered: 100 of 100 points stay, 2 are best.
# * For random points it is as wrong with more objectives: of 100 in 4 dimensions it keeps
#   about one and a half times as many as are best for some weights.
# * `ParetoArchive(convex_hull=True)` filters by it, so that the archive of a method with
#   linear utilities keeps policies that it never uses, and its cardinality and sparsity
#   are those of another set. (Three points on one line are an error of Qhull.)
#
# One would guess: a convex coverage set, which is what the documentation says that it
# returns, and which is defined as the points that are best for some weights. No point of
# the coverage set is missing, so that the hypervolume (at most a little larger) and
# the expected utility (the same) tell nothing; on convex fronts it is right.
#
# Control: a linear program for each point, which asks for weights with which it is best.
# That `convex_coverage_set` of MO-Gymnasium's Minecart has such points, by the same way to
# compute it, is known there (issue 129).
#
# Source: morl_baselines/common/pareto.py (`filter_convex_dominated`: `hull.vertices`, then
# `filter_pareto_dominated`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what this module and the environment import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'mo-gymnasium==1.3.2' 'numpy==2.4.6' 'scipy==1.17.1' 'gymnasium==1.4.0' 'pygame==2.6.1'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'morl-baselines==1.3.0'

SDL_VIDEODRIVER=dummy PYGAME_HIDE_SUPPORT_PROMPT=1 "$folder/venv/bin/python" \
  -W ignore - <<'PROGRAM'
import sys

import mo_gymnasium
from mo_gymnasium.envs.deep_sea_treasure import deep_sea_treasure
from morl_baselines.common.pareto import filter_convex_dominated
from morl_baselines.common.pareto import filter_pareto_dominated
from morl_baselines.common.pareto import ParetoArchive
import numpy as np
from scipy.optimize import linprog


def best_for_some_weights(points):
  """Exactly: the largest margin over all weights, which must not be negative."""
  number, dimensions = points.shape
  best = []
  for point in points:
    # Variables: the weights and the margin.
    rows = np.hstack([points - point, np.ones((number, 1))])
    rows = rows[np.any(points != point, axis=1)]
    answer = linprog(
        c=[0] * dimensions + [-1], A_ub=rows, b_ub=np.zeros(len(rows)),
        A_eq=[[1] * dimensions + [0]], b_eq=[1],
        bounds=[(0, 1)] * dimensions + [(None, None)],
    )
    best.append(-answer.fun >= -1e-9)
  return points[np.array(best)]


as_described = True


def compare(name, points):
  points = np.array(points, float)
  kept, right = filter_convex_dominated(points), best_for_some_weights(points)
  # All that it keeps is not dominated, and nothing is missing.
  kept_set = set(map(tuple, kept))
  global as_described
  as_described &= set(map(tuple, right)) <= kept_set
  as_described &= kept_set <= set(map(tuple, filter_pareto_dominated(points)))
  weights = np.random.default_rng(1).dirichlet(np.ones(points.shape[1]), 1000)
  as_described &= np.allclose((weights @ kept.T).max(1), (weights @ right.T).max(1))
  print(f'{name}: {len(points)} points, {len(kept)} kept, {len(right)} are best for some'
        ' weights')
  return len(kept), len(right)


as_described &= compare('three points', [(0, 1), (1, 0), (0.4, 0.4)]) == (3, 2)
angles = np.linspace(0, np.pi / 2, 100)
circle = np.stack([1 - np.cos(angles), 1 - np.sin(angles)], axis=1)
as_described &= compare('concave quarter of a circle', circle) == (100, 2)
as_described &= compare('convex quarter of a circle', 1 - circle) == (100, 100)

for name, known, options in (
    ('convex', (10, 10), {}),
    ('concave', (7, 2), {'dst_map': deep_sea_treasure.CONCAVE_MAP}),
):
  environment = mo_gymnasium.make('deep-sea-treasure-v0', **options)
  front = np.array(environment.unwrapped.pareto_front(0.99))
  as_described &= compare(f'Deep Sea Treasure, {name}', front) == known
  archive = ParetoArchive(convex_hull=True)
  for number, point in enumerate(front):
    archive.add(f'policy {number}', point)
  print(f'  its ParetoArchive with convex_hull=True has {len(archive.individuals)}')
  as_described &= len(archive.individuals) == known[0]

kept_all, right_all = np.sum([
    compare('random, 4 objectives', np.random.default_rng(seed).random((100, 4)))
    for seed in range(5)
], axis=0)
as_described &= kept_all > 1.3 * right_all
sys.exit(not as_described)
PROGRAM
