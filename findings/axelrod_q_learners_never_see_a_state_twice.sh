#!/usr/bin/env bash
# Axelrod 4.14.0: the four Q-learners (Risky, Arrogant, Hesitant, Cautious) meet a new state in
# each round against anybody who cooperates now and then, and learn nothing.
#
# A state is the opponent's last 12 moves and, by the docstring, "its previous proportion of
# playing C". In place of the proportion the code has the NUMBER of times that the opponent
# cooperated, which grows without end. A state can only come back while the opponent defects.
#
# * Against Cooperator, Alternator, Cycler CCD and Tit For Tat: about as many states as rounds,
#   2000 of 2000. The values of a new state are 0 and 0, the first of equal actions is C, and
#   so all four play C but for their random moves, for ever, also against Cooperator, from whom
#   D earns 5 and not 3.
# * The four differ in learning rate and discount only. With the same seed they play the same
#   2000 moves. A tournament with all four has one strategy four times.
# * The table of values grows by a row per round.
#
# One would guess: players that learn, as their names and docstrings say, and that rates and
# discounts matter. They are in many tournaments as THE learners of the library, and seem
# cooperative. Whom it harms: who compares a learner of its own with them, or tunes the two
# parameters.
#
# Controls: against Defector the states do come back, and D is learned; and a subclass whose
# state has the proportion, which plays D against Cooperator by the end.
#
# Source: axelrod/strategies/qlearner.py (`RiskyQLearner.find_state`: `opponent.cooperations`);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'axelrod==4.14.0' 'numpy==2.4.6' 'scipy==1.17.1' 'pandas==3.1.1' 'dask==2026.8.0' \
  'torch==2.13.0' 'matplotlib==3.11.2'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import axelrod as axl

ROUNDS, LAST, SEED = 2000, 500, 1
LEARNERS = (
    axl.RiskyQLearner, axl.ArrogantQLearner, axl.HesitantQLearner, axl.CautiousQLearner
)
COOPERATIVE = axl.Cooperator, axl.Alternator, axl.CyclerCCD, axl.TitForTat
D = axl.Action.D


class WithProportion(axl.HesitantQLearner):
  """With the state that the docstring describes."""

  name = 'Hesitant QLearner with the proportion'

  def find_state(self, opponent):
    rounds = len(opponent.history)
    moves = axl.action.actions_to_str(opponent.history[-self.memory_length:])
    return f'{moves}{opponent.cooperations / rounds if rounds else 0:.1f}'


def play(learner, opponent):
  """The learner's moves, and how many states it has seen."""
  player = learner()
  rounds = axl.Match((player, opponent()), turns=ROUNDS, seed=SEED).play()
  return [own for own, _ in rounds], len(player.Qs)


def share(moves):
  return sum(move == D for move in moves[-LAST:]) / LAST


as_described = True
print('rates and discounts:', {
    each.name: (each.learning_rate, each.discount_rate) for each in LEARNERS
})
for opponent in (*COOPERATIVE, axl.Defector):
  results = [play(learner, opponent) for learner in LEARNERS]
  alike = all(moves == results[0][0] for moves, _ in results)
  states = [states for _, states in results]
  shares = [share(moves) for moves, _ in results]
  print(f'{opponent.name}: {min(states)} to {max(states)} states in {ROUNDS} rounds; D in'
        f' {min(shares):.3f} to {max(shares):.3f} of the last {LAST}; the four play'
        f' {"alike" if alike else "differently"}')
  if opponent is axl.Defector:
    as_described &= max(states) < 20 and min(shares) > 0.9
  else:
    as_described &= min(states) >= 0.95 * ROUNDS and max(shares) < 0.1 and alike

moves, states = play(WithProportion, axl.Cooperator)
print(f'{WithProportion.name}, against Cooperator: {states} states; D in {share(moves):.3f}')
as_described &= states < 20 and share(moves) > 0.9
sys.exit(not as_described)
PROGRAM
