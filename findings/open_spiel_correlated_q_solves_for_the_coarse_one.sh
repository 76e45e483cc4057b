#!/usr/bin/env bash
# open_spiel 2.0.2: `CorrelatedEqSolver` gives the same solution with `is_cce` False, the
# default, and True. It never solves for a correlated equilibrium, only for the coarse one.
#
# The module has Correlated-Q (Greenwald and Hall, 2003) in two kinds, "CE-Q and CCE-Q". Both
# branches of the solver call the function for the coarse kind. In a correlated equilibrium
# nobody gains by playing something else WHEN TOLD what to play; in a coarse one nobody gains
# by ignoring all recommendations beforehand. The second asks for less.
#
# * Of 40 random games of two players with three actions each, the two settings agree in all,
#   in mixtures and values, bit for bit.
# * In 25 of them a player gains, up to 1.05 of payoffs from 0 to 9, by another answer to what
#   it is told, so that the solution is not a correlated equilibrium. Values differ from
#   those of the correlated equilibrium by up to 4.1.
#
# One would guess: what the two names say, as the package has both functions. Nothing is
# raised, and the values are plausible. Whom it harms: `MultiagentQLearner` bootstraps from
# these values and plays these mixtures, so that a comparison of CE-Q with CCE-Q finds, run for
# run, no difference, and results that are reported for CE-Q are those of another algorithm.
#
# Controls: the package's own function for the correlated kind, `jpsro._mgce`, on the same
# games; gains of both kinds of deviation, computed here from their definitions; and games
# with one equilibrium in dominant actions, where all agree.
#
# Source: open_spiel/python/algorithms/tabular_multiagent_qlearner.py
# (`CorrelatedEqSolver.__call__`: `_mgcce` in both branches); seen by this script, which fails
# if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# The rest of what open_spiel asks for is for other algorithms.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==2.4.6' 'scipy==1.17.1' 'absl-py==2.5.1' 'attrs==26.1.0' 'ml_collections==1.1.0' \
  'cvxpy==1.9.3' 'nashpy==0.0.43' 'matplotlib==3.11.2'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'open_spiel==2.0.2'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
from open_spiel.python.algorithms import jpsro
from open_spiel.python.algorithms import tabular_multiagent_qlearner

GAMES, EXACT, CLEAR = 40, 1e-6, 0.01
Solver = tabular_multiagent_qlearner.CorrelatedEqSolver


def views(payoffs, mixture):
  """Payoffs and mixture for each player, with own actions as rows."""
  return ((payoffs[0], mixture), (payoffs[1].T, mixture.T))


def gain_when_told(payoffs, mixture):
  """What a player gains at most by another answer to a recommendation."""
  return max(
      ((own[other] - own[told]) * probs[told]).sum()
      for own, probs in views(payoffs, mixture)
      for told in range(len(own)) for other in range(len(own))
  )


def gain_beforehand(payoffs, mixture):
  """What a player gains at most by one action, whatever is recommended."""
  return max(
      ((own[other] - own) * probs).sum()
      for own, probs in views(payoffs, mixture) for other in range(len(own))
  )


def solve(function, payoffs):
  repeats = [np.ones(size, np.int32) for size in payoffs.shape[1:]]
  mixture, _ = function(payoffs, repeats, ignore_repeats=True)
  values = np.array([(each * mixture).sum() for each in payoffs])
  return mixture, values


def flat(result):
  mixtures, values = result
  return np.concatenate([*mixtures, values])


rng = np.random.default_rng(0)
as_described = True
agree, told, beforehand, proper, differences = 0, [], [], [], []
for _ in range(GAMES):
  payoffs = rng.integers(0, 10, (2, 3, 3)).astype(float)
  default, correlated, coarse = (
      flat(solver(payoffs)) for solver in (Solver(), Solver(is_cce=False), Solver(is_cce=True))
  )
  agree += np.array_equal(default, coarse) and np.array_equal(correlated, coarse)
  mixture, values = solve(jpsro._mgcce, payoffs)
  as_described &= bool(np.allclose(coarse[-2:], values))  # It is the solution that is rated.
  told.append(gain_when_told(payoffs, mixture))
  beforehand.append(gain_beforehand(payoffs, mixture))
  mixture, values = solve(jpsro._mgce, payoffs)
  proper.append(gain_when_told(payoffs, mixture))
  differences.append(abs(values - correlated[-2:]).max())
told = np.array(told)
print(f'{agree} of {GAMES} random games have the same solution with is_cce False and True')
print(f'in {(told > CLEAR).sum()} of them a player who is told what to play gains by another'
      f' action, up to {told.max():.2f}; beforehand {max(beforehand):.1e} at most')
print(f'solutions of _mgce: a player who is told gains {max(proper):.1e} at most; their values'
      f' differ from those of the solver by up to {max(differences):.2f}')
as_described &= agree == GAMES and (told > CLEAR).sum() >= 10 and told.max() > 0.3
as_described &= max(beforehand) < EXACT and max(proper) < EXACT and max(differences) > 0.5

# A dilemma: the second action dominates, and all kinds of equilibrium agree.
dilemma = np.array([[[5, 0], [10, 1]], [[5, 10], [0, 1]]], float)
mixtures, values = Solver()(dilemma)
print(f'a dilemma: {np.round(mixtures, 3).tolist()} with values {np.round(values, 3).tolist()}')
as_described &= bool(np.allclose(mixtures, [[0, 1], [0, 1]]) and np.allclose(values, 1))
sys.exit(not as_described)
PROGRAM
