#!/usr/bin/env bash
# quantecon 0.11.4: making `LogitDynamics` of a game changes the payoffs of that game. From the
# payoffs to each combination of the others' actions it takes the best one away.
#
# The largest payoff is subtracted in order to keep the exponentials small, and it is done in
# place on a view of the players' arrays. So the `NormalFormGame` that was handed over has
# other payoffs from then on, and so has the NumPy array that a `Player` was made of.
#
# * A prisoner's dilemma with (3, 3) for two who cooperate and (1, 1) for two who defect:
#   afterwards (-1, -1) and (0, 0). To defect is now best for both, and there is no dilemma.
# * A stag hunt with (4, 4) and (2, 2): both equilibria pay (0, 0), so that nothing says which
#   of them is the better one. Mean payoffs of a simulated path are at most 0.
# * `payoff_array` of a player and the array that it was made of change alike.
#
# One would guess: to make a simulation of a game leaves the game as it is, as
# `FictitiousPlay` and `LocalInteraction` do. Best answers and equilibria stay the same, so
# that a check of them shows nothing. Whom it harms: whoever asks afterwards for payoffs,
# welfare, dominance or values of a repeated game, or averages payoffs of the simulation.
# Numbers depend on whether a cell with the simulation was run before.
#
# Controls: a copy of the game made before; the same game after `FictitiousPlay`; the
# equilibria and the choice probabilities, which are right, as exp(beta * payoff) says.
#
# Source: quantecon/game_theory/logitdyn.py (`LogitDynamics.__init__`: `-=` on what
# `payoff_array.transpose` returned); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'quantecon==0.11.4' 'numpy==2.4.6' 'scipy==1.17.1' 'numba==0.68.1' 'sympy==1.14.0' \
  'requests==2.34.2'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
from quantecon import game_theory

BETA, STEPS = 1.0, 4000
# Payoffs of the row player; the other one has the same.
GAMES = {
    'dilemma': np.array([[3.0, 0.0], [4.0, 1.0]]),
    'stag hunt': np.array([[4.0, 0.0], [3.0, 2.0]]),
}


def make(payoffs):
  """Of a copy, for both players."""
  payoffs = payoffs.copy()
  players = game_theory.Player(payoffs), game_theory.Player(payoffs.copy())
  return game_theory.NormalFormGame(players), payoffs


def text(game):
  """Payoffs where both play the first action, and the second."""
  return ' and '.join(str(tuple(map(float, game[each, each]))) for each in (0, 1))


as_described = True
for name, payoffs in GAMES.items():
  game, array = make(payoffs)
  before, equilibria = text(game), game_theory.pure_nash_brute(game)
  game_theory.FictitiousPlay(game).play(num_reps=10, random_state=0)
  as_described &= bool((game.payoff_profile_array[..., 0] == payoffs).all())

  dynamics = game_theory.LogitDynamics(game, beta=BETA)
  after = text(game)
  print(f'{name}: payoffs of equal actions {before}; after LogitDynamics {after}; pure'
        f' equilibria {equilibria} and {game_theory.pure_nash_brute(game)}')
  expected = payoffs - payoffs.max(axis=0)  # The best answer to each action has 0.
  as_described &= before != after
  as_described &= bool((game.payoff_profile_array[..., 0] == expected).all())
  as_described &= bool((array == expected).all() and (payoffs != expected).any())
  as_described &= equilibria == game_theory.pure_nash_brute(game)

  # The dynamics themselves: shares of answers to the first action of the other.
  chances = np.exp(BETA * payoffs[:, 0])
  chances /= chances.sum()
  cumulated = game.players[0].logit_choice_cdfs[0]
  as_described &= bool(np.allclose(cumulated / cumulated[-1], chances.cumsum()))

  path = dynamics.time_series(STEPS, init_actions=(0, 0), random_state=0)
  copied, _ = make(payoffs)
  means = [np.mean([each[tuple(row)] for row in path]) for each in (copied, game)]
  print(f'  mean payoff of a simulated path: {means[0]:.2f} by a copy of the game, {means[1]:.2f}'
        ' by the game itself')
  as_described &= means[0] > 1 and means[1] <= 0

game, _ = make(GAMES['dilemma'])
cooperate, defect = sum(game[0, 0]), sum(game[1, 1])
game_theory.LogitDynamics(game)
print(f'dilemma, sums for two who cooperate and two who defect: {cooperate:.0f} > {defect:.0f};'
      f' afterwards {sum(game[0, 0]):.0f} < {sum(game[1, 1]):.0f}')
as_described &= cooperate > defect and sum(game[0, 0]) < sum(game[1, 1])
sys.exit(not as_described)
PROGRAM
