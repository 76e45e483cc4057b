#!/usr/bin/env bash
# coax 0.1.13: `SquashedNormalDist`, its distribution for SAC, gives the log-probabilities of
# other actions than it samples, and the entropy of other ones again.
#
# * `sample` is tanh(x), stretched to the range of the actions. `log_proba` takes its actions
#   for tanh(x) without the stretching. In a range from -2 to 2, as Pendulum's, all actions
#   above 1 count as x = 8.3 (a tanh that is cut at 1 - 1e-7). With a mean of 0.7 and a
#   standard deviation of 0.3 of x, the mean log-probability of samples is -213, where -0.4
#   is right. Policy gradients, the mean of advantage times score, are 7 to 11 times as large
#   as the derivative of the mean reward, and have the wrong sign where the best action is a
#   bit below the mean. From -1 to 1 they are right to three digits and more.
# * `entropy` is that of x, also from -1 to 1, where that of an action is at most log(2).
#   With `EntropyRegularizer` and a Q that is the same for all actions, `SoftPG`, SAC's
#   update, raises the variance of x to its limit: the reported entropy rises from 1.4 to
#   6.4, and that of the actions falls from 0.66 to -229, since 98 % of them are at one of the
#   two ends. The optimum are uniform actions, to which those of the start are near.
#
# One would guess: the log-density of what `sample` returns, and the entropy of the policy,
# `-E log p` in the docstring, which SAC's paper corrects for the tanh (appendix C). Here a
# sum of rewards and entropies pays for actions at the ends, and whoever looks at the
# entropy sees exploration. Nothing is NaN, and shapes and ranges are right.
#
# Controls: the density by hand, whose integral over the range is 1; derivatives of the mean
# reward by differences; coax's own log-probabilities from -1 to 1.
#
# Source: coax/proba_dists/_squashed_normal.py (`log_proba`, `entropy`); seen by this script,
# which fails if it changes.
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

PYTHONPATH="$folder" JAX_PLATFORMS=cpu OPENBLAS_NUM_THREADS=1 \
  "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import collections
import sys

import coax
import gymnasium
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

STD = 0.3
CELLS = 20_000
INNER = slice(CELLS // 100, -CELLS // 100)
as_described = True


def new_dist(low, high):
  space = gymnasium.spaces.Box(low, high, (1,), np.float32)
  return coax.proba_dists.SquashedNormalDist(space, clip_logvar=(-10.0, 10.0))


def parameters(number, mean, std):
  return {
      'mu': jnp.full((number, 1), mean),
      'logvar': jnp.full((number, 1), 2 * np.log(std)),
  }


def column(x):
  return jnp.asarray(x, jnp.float32)[:, None]


def by_hand(low, high, mean, std, actions):
  scale = (high - low) / 2
  unit = (actions - (high + low) / 2) / scale
  x = np.arctanh(unit)
  normal = -np.log(std * np.sqrt(2 * np.pi)) - ((x - mean) / std) ** 2 / 2
  return normal - np.log(scale * (1 - unit**2))


for low, high in (-1.0, 1.0), (-2.0, 2.0), (0.0, 1.0):
  dist = new_dist(low, high)
  width = (high - low) / CELLS
  middles = low + (np.arange(CELLS) + 0.5) * width
  right = by_hand(low, high, 0.7, STD, middles)
  seen = np.asarray(dist.log_proba(parameters(CELLS, 0.7, STD), column(middles)), float)
  samples = np.asarray(
      dist.sample(parameters(CELLS, 0.7, STD), jax.random.PRNGKey(0)), float
  )[:, 0]
  of_samples = np.asarray(dist.log_proba(parameters(CELLS, 0.7, STD), column(samples)))
  expected = by_hand(low, high, 0.7, STD, samples)
  print(f'{low:g} to {high:g}: samples from {samples.min():.2f} to {samples.max():.2f}, mean'
        f' log-probability {of_samples.mean():.2f}, by hand {expected.mean():.2f}; integral'
        f' by hand {np.exp(right).sum() * width:.4f}, largest difference of'
        f' log-probabilities {abs(seen - right)[INNER].max():.1e}')
  as_described &= abs(np.exp(right).sum() * width - 1) < 1e-3
  is_right = abs(of_samples.mean() - expected.mean()) < 1e-3
  as_described &= bool(is_right == (low == -1))
  if low == -2:
    as_described &= bool(np.allclose(
        dist.log_proba(parameters(4, 0.7, STD), column([1.01, 1.4, 1.7, 1.99])), seen[-1]
    ))

# Policy gradients for the reward -(action - best)^2; integrals over the normal x.
normal = np.linspace(-6, 6, 20_001)
weights = np.exp(-(normal**2) / 2)
weights /= weights.sum()
for low, high, best, means in [
    (-1.0, 1.0, 0.5, (0.0, 0.4, 0.7)), (-2.0, 2.0, 1.0, (-0.5, 0.4, 0.7))
]:
  dist = new_dist(low, high)
  for mean in means:

    def actions(mean):
      return np.tanh(mean + STD * normal) * (high - low) / 2 + (high + low) / 2

    def mean_reward(mean):
      return weights @ -((actions(mean) - best) ** 2)

    advantages = -((actions(mean) - best) ** 2) - mean_reward(mean)
    variates = column(actions(mean))

    def objective(mean):
      log_proba = dist.log_proba(parameters(len(normal), mean, STD), variates)
      return jnp.asarray(weights * advantages, jnp.float32) @ log_proba

    gradient = float(jax.grad(objective)(mean))
    right = (mean_reward(mean + 1e-4) - mean_reward(mean - 1e-4)) / 2e-4
    print(f'{low:g} to {high:g}, mean of x {mean:g}: policy gradient {gradient:.3f}, derivative'
          f' of the mean reward {right:.3f}')
    if low == -1:
      as_described &= abs(gradient - right) < 1e-3
    elif mean == 0.7:
      as_described &= gradient > 0 > right
    else:
      as_described &= gradient > 5 * right > 0

# SAC's update with an entropy bonus, and a Q that does not prefer any action.
space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
env = collections.namedtuple('Env', 'observation_space action_space')(space, space)


def policy(S, is_training):
  rows = jnp.zeros_like(S)
  return {
      'mu': rows + hk.get_parameter('mu', (1,), init=jnp.zeros),
      'logvar': rows + hk.get_parameter('logvar', (1,), init=jnp.zeros),
  }


def q_function(S, A, is_training):
  return 0 * A[:, 0] + hk.get_parameter('value', (), init=jnp.zeros)


pi = coax.Policy(policy, env, proba_dist=new_dist(-1.0, 1.0))
update = coax.policy_objectives.SoftPG(
    pi, [coax.Q(q_function, env)], optimizer=optax.adam(0.05),
    regularizer=coax.regularizers.EntropyRegularizer(pi, beta=0.2),
)
tracer = coax.reward_tracing.NStep(n=1, gamma=0.99)
buffer = coax.experience_replay.SimpleReplayBuffer(32)
for _ in range(32):
  tracer.add(np.zeros(1, np.float32), np.zeros(1, np.float32), 0.0, True)
  buffer.add(tracer.pop())
normals = np.random.default_rng(0).normal(size=100_000)
found = []
for step in range(301):
  metrics = update.update(buffer.sample(32))
  if step % 100 == 0:
    reported = float(metrics['SoftPG/EntropyRegularizer/entropy'])
    dist_params = pi.dist_params(np.zeros(1, np.float32))
    x = float(dist_params['mu'][0]) + normals * np.exp(
        min(float(dist_params['logvar'][0]), 10.0) / 2
    )
    # log(1 - tanh(x)^2), stable for large x.
    log_slope = 2 * (np.log(2) - abs(x) - np.log1p(np.exp(-2 * abs(x))))
    true = 0.5 * np.log(2 * np.pi * np.e * x.var()) + log_slope.mean()
    sampled = np.array([pi(np.zeros(1, np.float32))[0] for _ in range(200)])
    ends = (abs(sampled) > 0.99).mean()
    found.append((reported, true, ends))
    print(f'update {step}: reported entropy {reported:.2f}, that of the actions {true:.2f}'
          f' (uniform {np.log(2):.2f}), {ends:.1%} of the actions at the ends')
as_described &= found[-1][0] > found[0][0] + 4 and found[-1][1] < found[0][1] - 4
as_described &= bool(found[0][2] < 0.05 and found[-1][2] > 0.9)
sys.exit(not as_described)
PROGRAM
