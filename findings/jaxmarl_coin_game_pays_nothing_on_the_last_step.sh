#!/usr/bin/env bash
# jaxmarl 0.2.0: the last step of each inner game of CoinGame pays 0 to both agents, whatever
# they take, although the counters of the state count the coins.
#
# An episode is `num_outer_steps` inner games of `num_inner_steps` steps each. `step_env`
# computes the rewards, adds the coins to `red_coop`, `red_defect` and so on, and then
# replaces both rewards by 0 when the inner game ends. `shared_rewards` adds the two zeros
# (read, not run).
#
# * With 1 inner step nothing is ever paid. Two agents that walk to the coins of their own
#   colour are paid 66 % of what the rules give them with 3 inner steps, and 90 % with 10.
# * Who takes the coin of the other on the last step is not paid, and the other does not
#   lose its 2.
#
# One would guess: each step pays as `payoff_matrix` says, the last one as well. The
# documentation describes the game of Lerer and Peysakhovich (2017) with 1 for any coin that
# is picked up, and -2 for the owner of a coin that the other took, and mentions no exception
# (read, not run). The returns look plausible. Whom it harms: who compares them with another
# coin game, or with the counters of this one; who plays short games; and who asks whether
# agents defect at the end, where a defection is free for both. The reward depends on a clock
# that the observation, four positions, does not show.
#
# Controls: a loop of our own over positions and coins, which knows only the rules, and agrees
# with all other steps; it agrees with the counters on all steps, the last ones as well. Both
# for agents that walk to their own coins and for random ones.
#
# The three environments of STORM in this package have the same line (read, not run).
#
# Source: jaxmarl/environments/coin_game/coin_game.py (`_step`: `reset_inner`); seen by this
# script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'jax==0.10.2' 'jaxlib==0.10.2' 'flax==0.12.8' 'chex==0.1.92' 'distrax==0.1.9' \
  'gymnax==0.0.9' 'jaxtyping==0.3.11' 'matplotlib==3.11.2' 'numpy==2.4.6' \
  'pillow==13.0.0' 'safetensors==0.8.0'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'jaxmarl==0.2.0'

export OMP_NUM_THREADS=1 JAX_PLATFORMS=cpu
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import jax
import jax.numpy as jnp
from jaxmarl.environments.coin_game import CoinGame
import numpy as np

PLAYS, GAMES = 100, 10
COUNTERS = ['red_coop', 'red_defect', 'blue_coop', 'blue_defect']
PLACES = ['red_pos', 'blue_pos', 'red_coin_pos', 'blue_coin_pos']


def toward(place, coin):
  """The action that brings an agent closer to a coin, on a grid whose edges are joined."""
  down, right = (coin - place) % 3
  beside = jnp.array([4, 0, 1])[right]
  return jnp.where(down == 0, beside, jnp.array([4, 2, 3])[down])


def play(env, steps, walk):
  """What is paid and counted at each step of many episodes, and all positions."""

  def step(state, key):
    observation = env.get_obs(state)['0']
    red, blue, inner = jax.random.split(key, 3)
    actions = {
        '0': jax.random.randint(red, (), 0, 5),
        '1': jax.random.randint(blue, (), 0, 5),
    }
    if walk:
      actions = {
          '0': toward(state.red_pos, state.red_coin_pos),
          '1': toward(state.blue_pos, state.blue_coin_pos),
      }
    _, after, rewards, done, info = env.step(inner, state, actions)
    # `step` clears the counters at the end of the episode, `step_env` does not.
    _, kept, _, _, _ = env.step_env(inner, state, actions)
    return after, {
        'paid': jnp.stack([rewards['0'], rewards['1']]),
        'counted': jnp.stack([
            (getattr(kept, name) - getattr(state, name)).sum() for name in COUNTERS
        ]),
        'places': jnp.stack([getattr(state, name) for name in PLACES]),
        'actions': jnp.stack([actions['0'], actions['1']]),
        'last': info['inner_episode_done'],
        'done': done['__all__'],
        'shown': observation.reshape(9, 4),
    }

  def episode(key):
    first, rest = jax.random.split(key)
    _, state = env.reset(first)
    return jax.lax.scan(step, state, jax.random.split(rest, steps * GAMES))[1]

  result = jax.jit(jax.vmap(episode))(jax.random.split(jax.random.PRNGKey(0), PLAYS))
  return {name: np.asarray(value) for name, value in result.items()}


MOVES = {0: (0, 1), 1: (0, -1), 2: (1, 0), 3: (-1, 0), 4: (0, 0)}


def by_hand(places, actions):
  """The rewards of red and blue and the four counts, by the rules alone."""
  where = [tuple(place) for place in places.tolist()]
  moved = [
      tuple((a + b) % 3 for a, b in zip(place, MOVES[action]))
      for place, action in zip(where, actions.tolist())
  ]
  counts = []
  for agent in 0, 1:
    counts += [moved[agent] == where[2 + agent], moved[agent] == where[3 - agent]]
  red_own, red_other, blue_own, blue_other = map(int, counts)
  rewards = [
      red_own + red_other - 2 * blue_other,
      blue_own + blue_other - 2 * red_other,
  ]
  return rewards, [red_own, red_other, blue_own, blue_other]


as_described = True
for walk in True, False:
  for steps in 1, 3, 10:
    seen = play(CoinGame(num_inner_steps=steps, num_outer_steps=GAMES), steps, walk)
    rewards, counts = [], []
    for places, actions in zip(
        seen['places'].reshape(-1, 4, 2), seen['actions'].reshape(-1, 2)
    ):
      reward, count = by_hand(places, actions)
      rewards.append(reward)
      counts.append(count)
    rewards, counts = np.array(rewards), np.array(counts)
    paid, counted = seen['paid'].reshape(-1, 2), seen['counted'].reshape(-1, 4)
    last = seen['last'].reshape(-1)
    agree = (paid[~last] == rewards[~last]).all()
    # The inner games end where they should, and the episode after all of them.
    as_described &= (seen['last'] == ((np.arange(steps * GAMES) + 1) % steps == 0)).all()
    # What is shown is four positions, each on a plane of its own.
    as_described &= (seen['shown'].sum(-2) == 1).all()
    as_described &= seen['done'][:, -1].all() and not seen['done'][:, :-1].any()
    as_described &= (counted == counts).all()
    as_described &= agree and not paid[last].any()
    others = counts[last][:, [1, 3]].sum()
    as_described &= counts[last].sum() > 300 and others > 100
    print(f'{"own coins" if walk else "random"}, {steps} inner steps: coins taken'
          f' {counts.sum()} (counters {counted.sum()}), on last steps {counts[last].sum()};'
          f' rewards in all {paid.sum():.0f}, by hand {rewards.sum()}; on last steps'
          f' {paid[last].sum():.0f}, by hand {rewards[last].sum()} ({others} coins of the'
          f' other); other steps {"agree" if agree else "differ"}')
    if walk:
      share = paid.sum() / rewards.sum()
      print(f'  paid, of what the rules give: {share:.0%}')
      as_described &= abs(share - {1: 0, 3: 0.66, 10: 0.9}[steps]) < 0.03
sys.exit(not as_described)
PROGRAM
