# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""PPO with RND on MountainCar in PyTorch, for `rivals`.

    RIVAL_PYTHON benchmarks/rival_torch.py ITERATIONS

One loop as single-file implementations have it, with the work of
`gin_configs/mountain_car.gin`: networks, minibatches, epochs, normalizers, the
target's features once a rollout. This file imports nothing of this package.
"""

import sys
import time

import gymnasium
import numpy as np
import torch
from torch import nn

NUM_ENVS, LENGTH, EPOCHS, MINIBATCHES = 32, 128, 10, 4
GAMMA_E, GAMMA_I, LAMBDA = 0.999, 0.99, 0.95
CLIP, ENTROPY, C_E, C_I = 0.2, 0.01, 2.0, 1.0


def mlp(units, activation):
  """Linear layers of these sizes with an activation between them."""
  layers = []
  for size, next_size in zip(units, units[1:]):
    layers += [nn.Linear(size, next_size), activation()]
  return nn.Sequential(*layers[:-1])


class Moments:
  """Running mean and variance, in float64."""

  def __init__(self, shape=()):
    self.mean, self.var, self.count = np.zeros(shape), np.ones(shape), 1e-4

  def update(self, x):
    mean, var, count = x.mean(0), x.var(0), len(x)
    total = self.count + count
    delta = mean - self.mean
    self.var = (
        self.var * self.count
        + var * count
        + delta**2 * self.count * count / total
    ) / total
    self.mean = self.mean + delta * count / total
    self.count = total

  def whiten(self, x, bound):
    x = (x - self.mean) / np.sqrt(self.var + 1e-8)
    return torch.as_tensor(np.clip(x, -bound, bound), dtype=torch.float32)


class ReturnScale:
  """Divides rewards by the deviation of their discounted return."""

  def __init__(self, discount):
    self._discount, self._sums = discount, np.zeros(NUM_ENVS)
    self._moments = Moments()

  def __call__(self, rewards, ended):
    returns = np.empty_like(rewards)
    for t in range(LENGTH):
      self._sums = self._sums * self._discount * (1 - ended[t]) + rewards[t]
      returns[t] = self._sums
    self._moments.update(returns.ravel())
    return rewards / np.sqrt(self._moments.var + 1e-8)


def advantages(rewards, values, ended, discount):
  """Generalized advantage estimates [T, B]."""
  result, last = np.zeros_like(rewards), 0.0
  for t in reversed(range(LENGTH)):
    alive = 1.0 - ended[t]
    delta = rewards[t] + discount * alive * values[t + 1] - values[t]
    last = delta + discount * LAMBDA * alive * last
    result[t] = last
  return result


def main(iterations):
  """Prints the seconds of each iteration."""
  envs = gymnasium.vector.SyncVectorEnv(
      [lambda: gymnasium.make('MountainCar-v0')] * NUM_ENVS
  )
  policy = mlp([2, 64, 64, 3], nn.Tanh)
  value = mlp([2, 64, 64, 2], nn.Tanh)
  predictor = mlp([2, 128, 128, 64], nn.ReLU)
  target = mlp([2, 128, 64], nn.ReLU)
  adam = torch.optim.Adam([*policy.parameters(), *value.parameters()], 1e-3)
  rnd_adam = torch.optim.Adam(predictor.parameters(), 3e-4)
  seen, rnd_seen = Moments([2]), Moments([2])
  extrinsic_scale, bonus_scale = ReturnScale(GAMMA_E), ReturnScale(GAMMA_I)
  rnd_seen.update(np.stack([envs.observation_space.sample()[0]] * 2))
  observation, _ = envs.reset(seed=0)
  size = NUM_ENVS * LENGTH // MINIBATCHES
  for _ in range(iterations):
    begun = time.perf_counter()
    rows = np.empty([LENGTH + 1, NUM_ENVS, 2], np.float32)
    actions = np.empty([LENGTH, NUM_ENVS], np.int64)
    rewards = np.empty([LENGTH, NUM_ENVS])
    ended = np.empty([LENGTH, NUM_ENVS])
    log_probability = np.empty([LENGTH, NUM_ENVS], np.float32)
    with torch.no_grad():
      for t in range(LENGTH):
        rows[t] = observation
        distribution = torch.distributions.Categorical(
            logits=policy(seen.whiten(observation, 5.0)), validate_args=False
        )
        action = distribution.sample()
        log_probability[t] = distribution.log_prob(action).numpy()
        actions[t] = action.numpy()
        observation, rewards[t], terminated, truncated, _ = envs.step(
            actions[t]
        )
        ended[t] = terminated | truncated
      rows[LENGTH] = observation
      whitened = seen.whiten(rows.reshape(-1, 2), 5.0)
      values = value(whitened).numpy().reshape(LENGTH + 1, NUM_ENVS, 2)
      following = rows[1:].reshape(-1, 2)
      bonus = (
          (predictor(rnd_seen.whiten(following, 5.0))
           - target(rnd_seen.whiten(following, 5.0))).square().mean(-1)
      ).numpy().reshape(LENGTH, NUM_ENVS)
      bonus = bonus_scale(bonus, np.zeros_like(ended))
      rewards = extrinsic_scale(rewards, ended)
      rnd_seen.update(following)
      rnd_input = rnd_seen.whiten(following, 5.0)
      features = target(rnd_input)
    extrinsic = advantages(rewards, values[..., 0], ended, GAMMA_E)
    intrinsic = advantages(
        bonus, values[..., 1], np.zeros_like(ended), GAMMA_I
    )
    returns = np.stack([extrinsic, intrinsic], -1) + values[:-1]
    combined = C_E * extrinsic + C_I * intrinsic
    combined = (combined - combined.mean()) / (combined.std() + 1e-8)
    data = [
        torch.as_tensor(x, dtype=dtype).reshape(NUM_ENVS * LENGTH, *shape)
        for x, dtype, shape in (
            (actions, torch.int64, ()),
            (log_probability, torch.float32, ()),
            (combined, torch.float32, ()),
            (returns, torch.float32, (2,)),
        )
    ]
    data += [whitened[: NUM_ENVS * LENGTH], rnd_input, features]
    for _ in range(EPOCHS):
      for chosen in torch.randperm(NUM_ENVS * LENGTH).split(size):
        action, old, advantage, wanted, inputs, rnd_inputs, wanted_features = (
            x[chosen] for x in data
        )
        distribution = torch.distributions.Categorical(
            logits=policy(inputs), validate_args=False
        )
        ratio = (distribution.log_prob(action) - old).exp()
        loss = (
            torch.maximum(
                -advantage * ratio,
                -advantage * ratio.clamp(1 - CLIP, 1 + CLIP),
            ).mean()
            + 0.5 * (value(inputs) - wanted).square().sum(-1).mean()
            - ENTROPY * distribution.entropy().mean()
            + (predictor(rnd_inputs) - wanted_features).square().mean()
        )
        adam.zero_grad()
        rnd_adam.zero_grad()
        loss.backward()
        adam.step()
        rnd_adam.step()
    seen.update(rows[:-1].reshape(-1, 2))
    print(time.perf_counter() - begun, flush=True)


if __name__ == '__main__':
  main(int(sys.argv[1]))
