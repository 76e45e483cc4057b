#!/usr/bin/env bash
# coax 0.1.13: the fractions of `coax.utils.quantiles` are 0, 1/N, up to (N - 1) / N. With
# them QR-DQN never raises its lowest quantile, and values come to rest far below the true ones.
#
# The value of an action is the mean of N quantiles, which is right for the N middles of equal
# parts, (2 i + 1) / (2 N). At 0 the loss has no weight for targets above the prediction: the
# lowest quantile can fall, and stays where it began if all targets are higher. It is in the
# targets of all other quantiles, from step to step of a game.
#
# * A game that pays 10 and ends, 8 quantiles from 0: they learn 0, 10, 10, up to 10, and the
#   value is 8.75.
# * A game that pays 1 for each step, discount 0.9, where all is certain and the value is 10:
#   4.3 with 8 quantiles, 7.4 with 32, 9.2 with the default of 200. From quantiles that begin
#   at 20 it is 10: what is learned depends on where it began.
# * Rewards that are uniform from 0 to 100: 43.75 in place of 50 with 8 quantiles.
# * `quantiles_uniform`, for IQN, has them turned round: the last of a row is always 1, and
#   the mean is (N + 1) / (2 N), 0.5625 with 8, where uniform draws have 0.5.
#
# One would guess: "equally spaced fractions" that "split the interval [0, 1]", as in the papers
# on QR-DQN and IQN that the page of `StochasticQ` names, whose middles make the mean right. The
# loss falls, and learned quantiles are in order.
#
# Controls: the same function with the middles, which finds all values; the updates in NumPy.
#
# Source: coax/utils/_quantile_funcs.py (`quantiles`, `quantiles_uniform`),
# coax/value_losses/_losses.py (`quantile_huber`), coax/proba_dists/_empirical_quantile.py
# (`mean`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# The last releases with `jax.tree_map`.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'jax==0.4.25' 'jaxlib==0.4.25' 'dm-haiku==0.0.12' 'optax==0.1.9' 'chex==0.1.85' \
  'numpy==1.26.4' 'scipy==1.11.4' 'gymnasium==0.29.1' 'pandas==2.2.3' 'Pillow==12.3.0' \
  'lz4==4.4.5' 'cloudpickle==3.1.2' 'tensorboardX==2.6.4' 'dm-env==1.6'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'coax==0.1.13'
# The suite of dm_control is imported for one wrapper, and not used here.
mkdir "$folder/dm_control"
echo 'suite = None' >"$folder/dm_control/__init__.py"

cd "$folder"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PYTHONPATH="$folder" JAX_PLATFORMS=cpu XLA_FLAGS=--xla_cpu_multi_thread_eigen=false \
  "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import coax
from coax.reward_tracing import TransitionBatch
import gymnasium
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

UPDATES = 600
as_described = True


class OneState(gymnasium.Env):
  observation_space = gymnasium.spaces.Discrete(1)
  action_space = gymnasium.spaces.Discrete(1)


def middles(batch_size, n):
  return coax.utils.quantiles(batch_size, n) + 0.5 / n


def learn(fractions, n, first, reward, done, discount):
  """The quantiles of one state after `UPDATES` by QLearning, the target being the last ones."""

  def function(S, A, is_training):
    values = hk.get_parameter('values', (n,), init=hk.initializers.Constant(first))
    size = S.shape[0]
    return {'values': jnp.tile(values[None], (size, 1)),
            'quantile_fractions': fractions(size, n)}

  q = coax.StochasticQ(function, OneState(), num_bins=n)
  target = q.copy()
  learner = coax.td_learning.QLearning(q, q_targ=target, optimizer=optax.sgd(1.0))
  transition = TransitionBatch.from_single(
      s=0, a=0, logp=0.0, r=reward, done=done, gamma=discount, s_next=0, a_next=0, logp_next=0.0,
  )
  for _ in range(UPDATES):
    learner.update(transition)
    target.soft_update(q, tau=1.0)
  return np.array(q.dist_params(0, 0)['values']), float(q.mean(0, 0))


def by_hand(fractions, first, targets, updates=UPDATES):
  """The same steps down the quantile Huber loss; `targets` makes them from the values."""
  values = np.full(len(fractions), first)
  for _ in range(updates):
    errors = targets(values)[None] - values[:, None]
    weights = np.abs(fractions[:, None] - (errors < 0))
    values = values + (weights * np.clip(errors, -1, 1)).sum(axis=1) / len(values)
  return values


for name, fractions in ('quantiles', coax.utils.quantiles), ('middles', middles):
  for n, first in (8, 0.0), (8, 20.0), (32, 0.0), (200, 0.0):
    exact = np.array(fractions(1, n)[0], float)
    games = lambda values: np.full(n, 10.0), lambda values: 1 + 0.9 * values
    ends, goes_on = (by_hand(exact, first, targets, 20 * UPDATES).mean() for targets in games)
    print(f'{name}, {n} from {first}: pays 10 and ends {ends:.3f}; pays 1 for each step'
          f' {goes_on:.3f}')
    if n == 8:
      for targets, arguments in zip(games, ((10.0, True, 0.9), (1.0, False, 0.9))):
        values, mean = learn(fractions, n, first, *arguments)
        hand = by_hand(exact, first, targets)
        print(f'  by the library {np.round(values, 2)}, mean {mean:.3f}')
        as_described &= bool(np.allclose(values, hand, atol=0.02))
    low = name == 'quantiles' and first == 0
    as_described &= bool(abs(ends - (10 * (n - 1) / n if low else 10)) < 0.02)
    wanted = {8: 4.27, 32: 7.41, 200: 9.15}[n] if low else 10
    as_described &= bool(abs(goes_on - wanted) < 0.05)

# Uniform rewards, by the library's loss and mean.
rewards = jnp.linspace(0, 100, 1001)[None]
dist = coax.proba_dists.EmpiricalQuantileDist(num_quantiles=8)
for name, fractions in ('quantiles', coax.utils.quantiles), ('middles', middles):
  slope = jax.grad(lambda values: coax.value_losses.quantile_huber(
      rewards, values, fractions(1, 8)) * 8 / 1001)
  values = jax.lax.fori_loop(0, 4000, lambda _, values: values - slope(values),
                             jnp.full((1, 8), 50.0))
  mean = float(dist.mean({'values': values})[0])
  exact = np.quantile(np.array(rewards), np.array(fractions(1, 8)[0])).mean()
  print(f'uniform rewards, {name}: mean {mean:.2f}, of the exact quantiles {exact:.2f}')
  as_described &= bool(abs(mean - exact) < 0.5)
  as_described &= bool(abs(mean - 50) > 5 if name == 'quantiles' else abs(mean - 50) < 0.5)

for n in 8, 32:
  drawn = np.array(coax.utils.quantiles_uniform(jax.random.PRNGKey(0), 2000, n))
  print(f'quantiles_uniform, {n}: mean {drawn.mean():.4f}, last ones from'
        f' {drawn[:, -1].min():.4f} to {drawn[:, -1].max():.4f}')
  as_described &= bool(abs(drawn.mean() - (n + 1) / (2 * n)) < 0.003)
  as_described &= bool(np.allclose(drawn[:, -1], 1, atol=1e-5))
sys.exit(not as_described)
PROGRAM
