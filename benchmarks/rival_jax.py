# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""PPO with RND on MountainCar as one compiled JAX program, for `rivals`.

    RIVAL_PYTHON benchmarks/rival_jax.py ITERATIONS

Environments (gymnax), networks, statistics and updates of an iteration are in
one `jax.jit`. The work is that of `gin_configs/mountain_car.gin`: networks,
minibatches, epochs, normalizers, the target's features once a rollout. This
file imports nothing of this package.
"""

import sys
import time

import gymnax
import jax
from jax import numpy as jnp
import optax

NUM_ENVS, LENGTH, EPOCHS, MINIBATCHES = 32, 128, 10, 4
SIZE = NUM_ENVS * LENGTH
GAMMA_E, GAMMA_I, LAMBDA = 0.999, 0.99, 0.95
CLIP, ENTROPY, C_E, C_I = 0.2, 0.01, 2.0, 1.0

ENV, PARAMS = gymnax.make('MountainCar-v0')
reset = jax.vmap(ENV.reset, (0, None))
step_all = jax.vmap(ENV.step, (0, 0, 0, None))  # New episodes by itself.


def dense(key, sizes):
  """Orthogonal weights and zero biases of an MLP."""
  keys = jax.random.split(key, len(sizes) - 1)
  make = jax.nn.initializers.orthogonal(2**0.5)
  return [
      (make(k, (a, b)), jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])
  ]


def mlp(layers, x, activation):
  for weights, biases in layers[:-1]:
    x = activation(x @ weights + biases)
  return x @ layers[-1][0] + layers[-1][1]


def merge(moments, x):
  """Adds rows [n, ...] to (mean, variance, count)."""
  mean, var, count = moments
  delta = x.mean(0) - mean
  total = count + len(x)
  var = var * count + x.var(0) * len(x) + delta**2 * count * len(x) / total
  return mean + delta * len(x) / total, var / total, total


def whiten(moments, x):
  return jnp.clip((x - moments[0]) / jnp.sqrt(moments[1] + 1e-8), -5.0, 5.0)


def scale(state, rewards, ended, discount):
  """Divides rewards [T, B] by the deviation of their discounted return."""

  def one(total, inputs):
    reward, end = inputs
    total = total * discount * (1 - end) + reward
    return total, total

  totals, returns = jax.lax.scan(one, state[0], (rewards, ended))
  moments = merge(state[1], returns.reshape(-1))
  return (totals, moments), rewards / jnp.sqrt(moments[1] + 1e-8)


def advantages(rewards, values, ended, discount):
  """Generalized advantage estimates [T, B]."""

  def one(last, inputs):
    reward, value, following, end = inputs
    delta = reward + discount * (1 - end) * following - value
    last = delta + discount * LAMBDA * (1 - end) * last
    return last, last

  inputs = rewards, values[:-1], values[1:], ended
  return jax.lax.scan(one, jnp.zeros(NUM_ENVS), inputs, reverse=True)[1]


OPTIMIZER = optax.adam(1e-3)
RND_OPTIMIZER = optax.adam(3e-4)


def loss_of(networks, predictor, batch):
  """The total loss of a minibatch."""
  logits = jax.nn.log_softmax(mlp(networks['policy'], batch['x'], jnp.tanh))
  values = mlp(networks['value'], batch['x'], jnp.tanh)
  log_probability = jnp.take_along_axis(
      logits, batch['action'][:, None], axis=1
  )[:, 0]
  ratio = jnp.exp(log_probability - batch['log_probability'])
  advantage = batch['advantage']
  surrogate = jnp.maximum(
      -advantage * ratio, -advantage * jnp.clip(ratio, 1 - CLIP, 1 + CLIP)
  )
  entropy = -(jnp.exp(logits) * logits).sum(-1)
  error = mlp(predictor, batch['rnd_x'], jax.nn.relu) - batch['features']
  return (
      surrogate.mean()
      + 0.5 * jnp.square(values - batch['returns']).sum(-1).mean()
      - ENTROPY * entropy.mean()
      + jnp.square(error).mean()
  )


def minibatch(carry, batch):
  networks, predictor, adam, rnd_adam = carry
  gradients = jax.grad(loss_of, (0, 1))(networks, predictor, batch)
  change, adam = OPTIMIZER.update(gradients[0], adam)
  rnd_change, rnd_adam = RND_OPTIMIZER.update(gradients[1], rnd_adam)
  networks = optax.apply_updates(networks, change)
  predictor = optax.apply_updates(predictor, rnd_change)
  return (networks, predictor, adam, rnd_adam), None


@jax.jit
def iteration(state):
  """Collects a rollout and learns from it."""
  key, act_key, shuffle_key = jax.random.split(state['key'], 3)
  networks, predictor = state['networks'], state['predictor']

  def act(carry, key):
    env_state, observation = carry
    keys = jax.random.split(key, NUM_ENVS + 1)
    logits = jax.nn.log_softmax(
        mlp(networks['policy'], whiten(state['seen'], observation), jnp.tanh)
    )
    action = jax.random.categorical(keys[0], logits)
    log_probability = jnp.take_along_axis(logits, action[:, None], 1)[:, 0]
    following, env_state, reward, terminated, truncated, _ = step_all(
        keys[1:], env_state, action, PARAMS
    )
    end = jnp.logical_or(terminated, truncated).astype(jnp.float32)
    row = observation, action, log_probability, reward, end
    return (env_state, following), row

  (env_state, observation), rows = jax.lax.scan(
      act,
      (state['env'], state['observation']),
      jax.random.split(act_key, LENGTH),
  )
  observations, actions, log_probability, rewards, ended = rows
  whole = jnp.concatenate([observations, observation[None]])
  x = whiten(state['seen'], whole)
  values = mlp(networks['value'], x, jnp.tanh)
  following = whiten(state['rnd_seen'], whole[1:])
  bonus = jnp.square(
      mlp(predictor, following, jax.nn.relu)
      - mlp(state['target'], following, jax.nn.relu)
  ).mean(-1)
  never = jnp.zeros_like(ended)
  bonus_scale, bonus = scale(state['bonus_scale'], bonus, never, GAMMA_I)
  reward_scale, rewards = scale(state['reward_scale'], rewards, ended, GAMMA_E)
  rnd_seen = merge(state['rnd_seen'], whole[1:].reshape(-1, 2))
  rnd_x = whiten(rnd_seen, whole[1:])
  extrinsic = advantages(rewards, values[..., 0], ended, GAMMA_E)
  intrinsic = advantages(bonus, values[..., 1], never, GAMMA_I)
  combined = C_E * extrinsic + C_I * intrinsic
  data = dict(
      x=x[:-1],
      action=actions,
      log_probability=log_probability,
      advantage=(combined - combined.mean()) / (combined.std() + 1e-8),
      returns=jnp.stack([extrinsic, intrinsic], -1) + values[:-1],
      rnd_x=rnd_x,
      features=mlp(state['target'], rnd_x, jax.nn.relu),
  )
  data = jax.tree.map(lambda v: v.reshape(SIZE, *v.shape[2:]), data)

  def epoch(carry, key):
    order = jax.random.permutation(key, SIZE)
    batches = jax.tree.map(
        lambda v: v[order].reshape(MINIBATCHES, -1, *v.shape[1:]), data
    )
    return jax.lax.scan(minibatch, carry, batches)

  carry = networks, predictor, state['adam'], state['rnd_adam']
  (networks, predictor, adam, rnd_adam), _ = jax.lax.scan(
      epoch, carry, jax.random.split(shuffle_key, EPOCHS)
  )
  return dict(
      state,
      key=key,
      env=env_state,
      observation=observation,
      networks=networks,
      predictor=predictor,
      adam=adam,
      rnd_adam=rnd_adam,
      seen=merge(state['seen'], observations.reshape(-1, 2)),
      rnd_seen=rnd_seen,
      bonus_scale=bonus_scale,
      reward_scale=reward_scale,
  )


def initial():
  """The state before the first iteration."""
  keys = jax.random.split(jax.random.PRNGKey(0), 6)
  networks = dict(
      policy=dense(keys[0], [2, 64, 64, 3]),
      value=dense(keys[1], [2, 64, 64, 2]),
  )
  predictor = dense(keys[2], [2, 128, 128, 64])
  observation, env_state = reset(jax.random.split(keys[4], NUM_ENVS), PARAMS)
  moments = jnp.zeros(2), jnp.ones(2), 1e-4
  returns = jnp.zeros(NUM_ENVS), (jnp.zeros(()), jnp.ones(()), 1e-4)
  return dict(
      key=keys[5],
      env=env_state,
      observation=observation,
      networks=networks,
      predictor=predictor,
      target=dense(keys[3], [2, 128, 64]),
      adam=OPTIMIZER.init(networks),
      rnd_adam=RND_OPTIMIZER.init(predictor),
      seen=moments,
      rnd_seen=moments,
      bonus_scale=returns,
      reward_scale=returns,
  )


def main(iterations):
  """Prints the seconds of each iteration; the first compiles."""
  state = initial()
  for _ in range(iterations):
    begun = time.perf_counter()
    state = jax.block_until_ready(iteration(state))
    print(time.perf_counter() - begun, flush=True)


if __name__ == '__main__':
  main(int(sys.argv[1]))
