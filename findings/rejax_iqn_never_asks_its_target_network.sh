#!/usr/bin/env bash
# rejax 0.1.3: IQN keeps a target network and never asks it. Its targets come from the
# network that is being trained.
#
# `q_target_params` is made, stored in the state and moved toward the trained parameters as
# `polyak` and `target_update_freq` say, as in the package's DQN. But the quantiles of the
# next observation are those of `q_ts.params`.
#
# * Runs with `polyak` 0, 0.99 and 1, and with `target_update_freq` 1 and a million, end with
#   the same trained parameters, bit for bit. Whoever tunes these two tunes noise of seeds.
# * One state that pays 1 for each step, a discount of 0.9, and a target network that never
#   changes, with values near 0: what is learned should stay near 1 + 0.9 * 0. IQN goes on
#   to 10, the value of an endless sum, and DQN stops below 1.
#
# One would guess: a target network as in the paper of IQN (Dabney et al., 2018), whose loss
# is that of DQN with a frozen copy, and as in the agents of this package that share these two
# settings. Nothing is raised, and on easy tasks IQN learns. Whom it harms: who compares it
# with DQN or C51, or reports that IQN is unstable: it is IQN without the part that makes it
# stable.
#
# Controls: DQN of the package with the same settings, which are heeded; and the target
# parameters in the end, which differ as they should.
#
# gymnax 0.0.9, since rejax expects its five results of a step.
#
# Source: rejax/algos/iqn.py (`IQN.update`), rejax/algos/mixins.py (`TargetNetworkMixin`);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'jax==0.10.2' 'jaxlib==0.10.2' 'flax==0.12.8' 'optax==0.2.8' 'distrax==0.1.9' \
  'chex==0.1.92' 'gymnax==0.0.9' 'gymnasium==1.3.0' 'numpy==2.4.6' 'PyYAML==6.0.4'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'rejax==0.1.3'

export OMP_NUM_THREADS=1 JAX_PLATFORMS=cpu
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import functools
import sys

from flax import struct
from gymnax.environments import environment
from gymnax.environments import spaces
import jax
import jax.numpy as jnp
import numpy as np
import rejax

GAMMA, STEPS = 0.9, 1500


@struct.dataclass
class State(environment.EnvState):
  time: int


@struct.dataclass
class Params(environment.EnvParams):
  max_steps_in_episode: int = 5


class OneState(environment.Environment):
  """Always the same observation, and a reward of 1 for each step; no end."""

  @property
  def default_params(self):
    return Params()

  def step_env(self, key, state, action, params):
    state = State(time=state.time + 1)
    return self.observation(), state, jnp.float32(1), jnp.bool_(False), {}

  def reset_env(self, key, params):
    return self.observation(), State(time=0)

  def observation(self):
    return jnp.ones(2, jnp.float32)

  def action_space(self, params=None):
    return spaces.Discrete(2)

  def observation_space(self, params):
    return spaces.Box(0, 1, (2,), jnp.float32)


ENV = OneState()


@functools.cache
def make(name, frequency):
  settings = {'num_tau_samples': 16, 'num_tau_prime_samples': 16} if name == 'iqn' else {}
  return rejax.get_algo(name).create(
      env=ENV, env_params=ENV.default_params, gamma=GAMMA, total_timesteps=STEPS,
      num_envs=1, fill_buffer=40, buffer_size=64, batch_size=16, learning_rate=3e-3,
      target_update_freq=frequency, **settings,
  )


@jax.jit
def run(agent, state):
  step = lambda _, state: agent.train_iteration(state)
  return jax.lax.fori_loop(0, STEPS, step, state)


def flat(tree):
  return np.concatenate([np.ravel(x) for x in jax.tree.leaves(tree)])


@functools.cache
def train(name, polyak, frequency):
  """The trained parameters, those of the target network, and the learned value."""
  agent = make(name, frequency).replace(polyak=polyak)
  state = run(agent, agent.init_state(jax.random.PRNGKey(0)))
  more = (jax.random.PRNGKey(1), 500) if name == 'iqn' else ()
  method = 'q' if name == 'iqn' else '__call__'
  observation = ENV.observation()[None]
  values = agent.agent.apply(state.q_ts.params, observation, *more, method=method)
  return flat(state.q_ts.params), flat(state.q_target_params), float(values.max())


as_described = True
values = {}
for name in 'iqn', 'dqn':
  first, first_target, _ = train(name, 0.99, 1)
  for polyak, frequency in ((0.0, 1), (0.99, 1), (1.0, 1), (0.99, 1_000_000)):
    trained, target, value = train(name, polyak, frequency)
    values[name, polyak, frequency] = value
    equal, moved = np.array_equal(trained, first), not np.array_equal(target, first_target)
    print(f'{name}, polyak {polyak}, target_update_freq {frequency}: trained parameters'
          f' {"equal" if equal else "differ"}, target parameters'
          f' {"differ" if moved else "equal"}; learned value {value:.2f}')
    if (polyak, frequency) != (0.99, 1):
      as_described &= moved and equal == (name == 'iqn')
for settings in (1.0, 1), (0.99, 1_000_000):
  print(f'a target network that stays near 0 {settings}: 1 + {GAMMA} * 0 = 1 by hand, endless'
        f' sum {1 / (1 - GAMMA):.0f}; IQN {values["iqn", *settings]:.2f}, DQN'
        f' {values["dqn", *settings]:.2f}')
  as_described &= values['iqn', *settings] > 7 and 0 < values['dqn', *settings] < 3
sys.exit(not as_described)
PROGRAM
