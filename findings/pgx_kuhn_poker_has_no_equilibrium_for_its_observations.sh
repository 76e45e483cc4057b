#!/usr/bin/env bash
# Pgx 2.6.0: no policy of the observations of `kuhn_poker` is an equilibrium; the best
# one loses 1/36 per game to who knows it.
#
# An observation has the card and the chips of both, and not who began. So the first
# player and the second one after a pass see the same, and so do the second player who
# answers a bet and the first player whose pass was answered by one: 12 situations look
# like 6.
#
# It is not the first of these pairs that harms: there is an equilibrium in which both
# do the same with no bet on the table. That one asks the first player to call a bet
# with a queen in two of three games, and the second one in one of three. Over all
# policies of the observations the least exploitability is 1/36 and not 0, and a
# learner whose policy is a function of the observation stays above it, whatever it
# does. With the number of own moves beside the observation, which a recurrent network
# can count, the equilibrium can be played, and its exploitability is 0.
#
# One would guess: this smallest game of poker is there to see a learner reach 0, as it
# does where the observation is the information set (OpenSpiel's `information_state`).
#
# Controls: all payoffs of the game are read from Pgx and give the first player -1/18 in
# equilibrium, as known; best responses are found among all 64 pure strategies.
#
# Source: pgx/kuhn_poker.py (`_observe`); that it does not separate situations is known
# as an issue of the project, what it means for equilibria is computed by this script,
# which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'pgx==2.6.0' 'jax==0.10.2' 'jaxlib==0.10.2' 'numpy==2.4.6' 'svgwrite==1.4.3' \
  'typing-extensions==4.15.0'

JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import itertools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pgx

BET, PASS = 0, 1
ENDS = (PASS, PASS), (BET, BET), (BET, PASS), (PASS, BET, BET), (PASS, BET, PASS)
DEALS = tuple(itertools.permutations(range(3), 2))  # Cards of the first, the second.
env = pgx.make('kuhn_poker')
step = jax.jit(env.step)

# Plays all games: situations (seat, card, moves so far), observations, payoffs.
start = env.init(jax.random.PRNGKey(0))
first = int(start.current_player)
seen, payoffs = {}, {}
for deal in DEALS:
  cards = jnp.zeros(2, jnp.int32).at[first].set(deal[0]).at[1 - first].set(deal[1])
  for moves in ENDS:
    state = start.replace(_cards=cards)
    for i, move in enumerate(moves):
      player = int(state.current_player)
      situation = i % 2, deal[i % 2], moves[:i]
      assert player == (first if i % 2 == 0 else 1 - first)
      observation = env.observe(state, state.current_player)
      seen[situation] = tuple(np.asarray(observation).astype(int).tolist())
      state = step(state, move)
    assert state.terminated
    payoffs[deal, moves] = float(state.rewards[first])

SITUATIONS = sorted(seen)
OBSERVATIONS = sorted(set(seen.values()))
print(f'{len(SITUATIONS)} situations, {len(OBSERVATIONS)} observations')
for observation in OBSERVATIONS[:2]:
  print(' ', observation, 'is seen at', [s for s in SITUATIONS
                                         if seen[s] == observation])
INDEX = {s: i for i, s in enumerate(SITUATIONS)}


def value(bets):
  """What the first player wins; `bets` are chances to bet or call, by situation."""
  total = 0
  for (deal, moves), payoff in payoffs.items():
    chance = 1 / len(DEALS)
    for i, move in enumerate(moves):
      bet = bets[..., INDEX[i % 2, deal[i % 2], moves[:i]]]
      chance = chance * (bet if move == BET else 1 - bet)
    total = total + chance * payoff
  return total


def exploitability(bets):
  """How much the best responses to both seats win together, by half."""
  gains = []
  for seat, sign in ((0, 1), (1, -1)):
    own = [INDEX[s] for s in SITUATIONS if s[0] == seat]
    best = -np.inf
    for pure in itertools.product((0.0, 1.0), repeat=len(own)):
      answer = bets.copy()
      answer[..., own] = pure
      best = np.maximum(best, sign * value(answer))
    gains.append(best)
  return (gains[0] + gains[1]) / 2


def of_observations(policies):
  """Policies of observations as policies of situations."""
  return policies[..., [OBSERVATIONS.index(seen[s]) for s in SITUATIONS]]


# The equilibrium in which the first player bets a jack in one game of three.
known = {
    (0, 0, ()): 1 / 3, (0, 1, ()): 0, (0, 2, ()): 1,
    (0, 0, (PASS, BET)): 0, (0, 1, (PASS, BET)): 2 / 3, (0, 2, (PASS, BET)): 1,
    (1, 0, (PASS,)): 1 / 3, (1, 1, (PASS,)): 0, (1, 2, (PASS,)): 1,
    (1, 0, (BET,)): 0, (1, 1, (BET,)): 1 / 3, (1, 2, (BET,)): 1,
}
equilibrium = np.array([known[s] for s in SITUATIONS], float)
at_equilibrium = exploitability(equilibrium)
print(f'equilibrium of situations: the first player wins {value(equilibrium):.4f} ='
      f' -1/18, exploitability {at_equilibrium:.1e}')
# Does it need more than the observation and the number of own moves?
by_count = {}
for s in SITUATIONS:
  by_count.setdefault((seen[s], len(s[2]) // 2), set()).add(known[s])
is_enough = all(len(chances) == 1 for chances in by_count.values())
print(f'a function of the observation and the number of own moves: {is_enough}')

# The least over observations: a random search, then smaller and smaller steps.
random = np.random.default_rng(0)
least = []
for _ in range(4):
  policies = random.random((2000, len(OBSERVATIONS)))
  width = 0.5
  for _ in range(60):
    losses = exploitability(of_observations(policies))
    best = policies[np.argsort(losses)[:20]]
    moved = np.repeat(best, 40, axis=0)
    moved = moved + width * random.normal(size=moved.shape)
    policies = np.concatenate([best, moved.clip(0, 1)])
    width *= 0.87
  least.append(losses.min())
policy = dict(zip(OBSERVATIONS, best[0].round(2).tolist()))
print('least exploitability of policies of observations, four searches:',
      np.round(least, 4).tolist())
print('  chances to bet or call, by observation:', policy)
# And a grid, where a jack never calls and a king always does, as is best.
grid = np.linspace(0, 1, 13)
points = np.array(list(itertools.product(grid, repeat=4)))
columns = np.zeros((len(points), len(OBSERVATIONS)))
j = 0
for i, observation in enumerate(OBSERVATIONS):
  card, is_bet = observation[:3].index(1), observation[6] == 1
  if is_bet and card != 1:
    columns[:, i] = card == 2
  else:
    columns[:, i] = points[:, j]
    j += 1
on_grid = exploitability(of_observations(columns)).min()
print(f'least on a grid of {len(points)} policies: {on_grid:.4f}')
as_described = (
    len(SITUATIONS) == 12 and len(OBSERVATIONS) == 6 and is_enough
    and abs(value(equilibrium) + 1 / 18) < 1e-6 and abs(at_equilibrium) < 1e-6
    and (abs(np.array([*least, on_grid]) - 1 / 36) < 1e-3).all()
)
sys.exit(not as_described)
PROGRAM
