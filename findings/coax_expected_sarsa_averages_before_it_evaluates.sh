#!/usr/bin/env bash
# coax 0.1.13: the expectation of `ExpectedSarsa` is taken over the inputs or the raw outputs
# of the Q-function, and not over values.
#
# Its target is "R + gamma E_{a ~ pi} q(s', a)". In the next state one of two actions has
# the value 0 and the other one 100, and the policy takes the second one with 0.1: the target
# is 0.9 * 10 = 9.
#
# * A q-function of states and actions is called once, with the vector of probabilities in
#   place of a one-hot action: q(s', (0.9, 0.1)). A network with these two values says of
#   such an action what it likes; with one ReLU it is 0.
# * With a value transform, the mean is taken of transformed values and then turned back:
#   with `LogTransform` exp(0.1 log(101)) - 1, and the target is 0.53. It is learned: after
#   training, `q(s)` of the first state is 0.53, and the values of the next one are right.
# * A `StochasticQ` over bins gets the mean of the logits of the two distributions, a
#   geometric mean, in place of the mixture. The rarer action has no part in the target, whose
#   mean is 0.
#
# One would guess: the formula, of whose target the one of SARSA is "the sampled estimate",
# as the docstring says. It holds in one of these four cases, a q-function of states with an
# output for each action, without a transform. The others learn smoothly to something else;
# what a rare action pays, good or bad, is lost.
#
# Controls: the q-function in the form that is right; in all forms the mean of the targets of
# coax's `Sarsa` over the next action, which is 9.
#
# Source: coax/td_learning/_expectedsarsa.py (`target_func`), coax/_core/q.py and
# base_stochastic_func_type1.py (`function_type1`); seen by this script, which fails if it
# changes.
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

GAMMA, CHANCES, VALUES = 0.9, np.array([0.9, 0.1]), np.array([0.0, 100.0])
FIRST, NEXT = np.eye(2, dtype=np.float32)
RIGHT = GAMMA * CHANCES @ VALUES
env = collections.namedtuple('Env', 'observation_space action_space')(
    gymnasium.spaces.Box(0, 1, (2,), np.float32), gymnasium.spaces.Discrete(2)
)
log_transform = coax.value_transforms.LogTransform()
as_described = True


def zero():
  """A parameter, since functions without any are refused."""
  return hk.get_parameter('zero', (), init=jnp.zeros)


def policy(S, is_training):
  return {'logits': jnp.log(jnp.float32(CHANCES)) + jnp.zeros((S.shape[0], 2))}


# The values 0 and 100 of the next state, and 0 in the first one; in four forms.
def of_states(S, is_training):
  return S[:, 1:] * jnp.float32(VALUES) + zero()


def of_states_and_actions(S, A, is_training):
  return S[:, 1] * 100 * jax.nn.relu(2 * A[:, 1] - 1) + zero()


def of_states_transformed(S, is_training):
  return S[:, 1:] * jnp.log1p(jnp.float32(VALUES)) + zero()


def of_bins(S, is_training):
  """11 bins with middles 0, 10, ..., 100."""
  lowest = jax.nn.one_hot(jnp.zeros(S.shape[0]), 11)
  actions = jnp.stack([lowest, jnp.where(S[:, 1:] > 0, lowest[:, ::-1], lowest)], axis=1)
  return {'logits': 20 * actions + zero()}


def batch(next_action):
  tracer = coax.reward_tracing.NStep(n=1, gamma=GAMMA)
  tracer.add(FIRST, 0, 0.0, False)
  tracer.add(NEXT, next_action, 0.0, False)
  return tracer.pop()


def mean_target(learner, q, next_action):
  """The learner's own target, as a value."""
  target = learner.target_func(
      learner.target_params, learner.target_function_state, jax.random.PRNGKey(0),
      batch(next_action),
  )
  if isinstance(target, dict):
    return float(jax.nn.softmax(target['logits'])[0] @ q.proba_dist.atoms)
  return float(q.value_transform.inverse_func(target)[0])


pi = coax.Policy(policy, env)
for name, q, expected in [
    ('of states', coax.Q(of_states, env), RIGHT),
    ('of states and actions', coax.Q(of_states_and_actions, env), 0.0),
    ('of states, LogTransform',
     coax.Q(of_states_transformed, env, value_transform=log_transform),
     GAMMA * np.expm1(CHANCES @ np.log1p(VALUES))),
    ('of states, bins',
     coax.StochasticQ(of_bins, env, value_range=(-5.0, 105.0), num_bins=11), 0.0),
]:
  seen = mean_target(coax.td_learning.ExpectedSarsa(q, pi), q, 0)
  sampled = [mean_target(coax.td_learning.Sarsa(q), q, action) for action in (0, 1)]
  mean = q.mean if isinstance(q, coax.StochasticQ) else q
  values = [round(float(mean(NEXT, action)), 2) for action in (0, 1)]
  print(f'{name}: values {values} with {CHANCES}, target of ExpectedSarsa {seen:.2f}, mean of'
        f' those of Sarsa {CHANCES @ sampled:.2f}, by hand {RIGHT:.2f}')
  as_described &= np.allclose(values, VALUES, atol=0.01)
  as_described &= abs(CHANCES @ sampled - RIGHT) < 0.05
  as_described &= abs(seen - expected) < 0.01


def table(S, is_training):
  return S @ hk.get_parameter('table', (2, 2), init=jnp.zeros)


for transform in None, log_transform:
  q = coax.Q(table, env, value_transform=transform)
  target = q.copy()
  learner = coax.td_learning.ExpectedSarsa(
      q, pi, q_targ=target, optimizer=optax.adam(0.2 if transform is None else 0.02),
      loss_function=coax.value_losses.mse,
  )
  buffer = coax.experience_replay.SimpleReplayBuffer(4)
  for first_action in 0, 1:
    tracer = coax.reward_tracing.NStep(n=1, gamma=GAMMA)
    tracer.add(FIRST, first_action, 0.0, False)
    tracer.add(NEXT, first_action, VALUES[first_action], True)
    while tracer:
      buffer.add(tracer.pop())
  for _ in range(3000):
    learner.update(buffer.sample(4))
    target.soft_update(q, tau=0.1)
  learned = [np.round(q(state), 2) for state in (FIRST, NEXT)]
  print(f'learned with {type(transform).__name__}: first state {learned[0]}, next state'
        f' {learned[1]}; right are {RIGHT:.0f} and {VALUES}')
  as_described &= np.allclose(learned[1], VALUES, atol=1)
  expected = RIGHT if transform is None else GAMMA * np.expm1(CHANCES @ np.log1p(VALUES))
  as_described &= np.allclose(learned[0], expected, rtol=0.1)
sys.exit(not as_described)
PROGRAM
