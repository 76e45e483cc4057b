# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `atari_speed` compares with, run by a Python that has PyTorch.

    RIVAL_PYTHON benchmarks/atari_rivals.py cleanrl SCRIPT OUT.json [FLAG...]
    RIVAL_PYTHON benchmarks/atari_rivals.py twin NUM_SAMPLES MINIBATCH_SIZE

`cleanrl` runs a user's copy of CleanRL's `ppo_rnd_envpool.py` as it is, on
envpool's new API, and writes the seconds of each of its updates by phase. The
script is not changed: phases are told apart by what it calls, see `Phases`.

`twin` is the learning of RND-PPO on Atari written for PyTorch: the networks of
the RND authors' code and one optimizer step on their loss. It reads lines
`VARIANT NUM_MINIBATCHES` and answers each, when that is done, with a line of
the CPU seconds that it took.

This file imports nothing of this package: TensorFlow is not there.
"""

import argparse
import json
import runpy
import sys
import time
from typing import NamedTuple


class Phases:
  """Seconds of each phase of each update of CleanRL's script.

  Its networks are called without gradients where it acts and bootstraps, and
  with them for the bonus (of which it then drops them) and in learning. So

  *   environment: within `step`;
  *   bonus: from there to the next call without gradients, which is that of the
      next action or, after the last step, of the bootstrap;
  *   acting: from such a call to the next `step`;
  *   gae: from the bootstrap to the next call with gradients: advantages and
      statistics of observations;
  *   learning: from there to the next call without gradients, or the end.
  """

  NAMES = ('environment', 'acting', 'bonus', 'gae', 'learning')

  def __init__(self):
    self.updates = []
    self._phase = None  # None before the first action: random steps.
    self._since = 0.0

  def _enter(self, phase, counted_as=None):
    now = time.perf_counter()
    if self._phase is not None:
      name = counted_as or self._phase
      self.updates[-1][name] += now - self._since
    self._phase, self._since = phase, now

  def begin_step(self):
    if self._phase is not None:
      self._enter('environment')

  def end_step(self):
    if self._phase is not None:
      self._enter('bonus')

  def call(self, with_gradients):
    """A network is about to be called."""
    if with_gradients:
      if self._phase == 'acting':
        self._enter('learning', counted_as='gae')
    elif self._phase != 'acting':
      new = self._phase in (None, 'learning')
      self._enter('acting')
      if new:
        self.updates.append(dict.fromkeys(self.NAMES, 0.0))

  def end(self):
    self._enter(None)


class OldApi:
  """An envpool of version 1 as older versions, and gym's wrappers, had it."""

  def __init__(self, pool, phases):
    from gym import spaces

    self._pool = pool
    self._phases = phases
    self.action_space = spaces.Discrete(int(pool.action_space.n))
    self.observation_space = pool.observation_space

  def reset(self):
    return self._pool.reset()[0]

  def step(self, actions):
    self._phases.begin_step()
    observations, rewards, terminated, truncated, infos = self._pool.step(
        actions
    )
    self._phases.end_step()
    return observations, rewards, terminated | truncated, infos

  def close(self):
    self._phases.end()
    self._pool.close()


def run_cleanrl(script, out, arguments):
  """Runs the script; writes {'versions': ..., 'updates': [...]}."""
  import envpool
  import torch

  phases = Phases()
  make = envpool.make
  envpool.make = lambda *args, **kwargs: OldApi(make(*args, **kwargs), phases)
  torch.nn.modules.module.register_module_forward_pre_hook(
      lambda module, inputs: phases.call(torch.is_grad_enabled())
  )
  sys.argv = [script, *arguments]
  runpy.run_path(script, run_name='__main__')
  versions = (
      f'PyTorch {torch.__version__}, {torch.get_num_threads()} threads, envpool'
      f' {envpool.__version__}'
  )
  with open(out, 'w', encoding='utf-8') as file:
    json.dump(dict(versions=versions, updates=phases.updates), file)


class Variant(NamedTuple):
  """How the twin computes.

  Attributes:
    tuned: bfloat16, channels last, observations kept as uint8, fused Adam.
      False: float32, channels first, float observations, Adam as it comes.
    target_once: the target's features once for all epochs, not once a
      minibatch.
    exact_share: the predictor sees its share alone, and not all of a minibatch
      of which coin tosses keep the share.
  """

  tuned: bool
  target_once: bool
  exact_share: bool


VARIANTS = {
    'plain': Variant(False, False, False),
    'tuned': Variant(True, False, False),
    'tuned-once': Variant(True, True, False),
    'tuned-once-share': Variant(True, True, True),
}
_NUM_EPOCHS = 4
_SHARE = 0.25
_NUM_ACTIONS = 18


class Twin:
  """Networks, rollout and optimizer of one variant."""

  def __init__(self, variant, num_samples, minibatch_size):
    import torch

    self._torch = torch
    self._variant = variant
    self._size = minibatch_size
    torch.manual_seed(0)
    trunk = self._convolutions(4, 4, torch.nn.ReLU())
    for inputs, outputs in (2304, 256), (256, 448):
      trunk += [self._linear(inputs, outputs), torch.nn.ReLU()]
    leaky = torch.nn.LeakyReLU(0.2)
    predictor = self._convolutions(1, 3, leaky)
    for inputs, outputs in (3136, 512), (512, 512):
      predictor += [self._linear(inputs, outputs), torch.nn.ReLU()]
    self._nets = torch.nn.ModuleDict(
        dict(
            trunk=torch.nn.Sequential(*trunk),
            value_residual=self._linear(448, 448, 0.1),
            policy_residual=self._linear(448, 448, 0.1),
            value_heads=self._linear(448, 2, 0.01),
            logits=self._linear(448, _NUM_ACTIONS, 0.01),
            predictor=torch.nn.Sequential(*predictor, self._linear(512, 512)),
        )
    )
    self._target = torch.nn.Sequential(
        *self._convolutions(1, 3, leaky), self._linear(3136, 512)
    ).requires_grad_(False)
    if variant.tuned:
      for module in (self._nets, self._target):
        module.to(memory_format=torch.channels_last)
    self._optimizer = torch.optim.Adam(
        self._nets.parameters(),
        lr=1e-4,
        **(dict(fused=True) if variant.tuned else {}),
    )
    self._create_rollout(num_samples)

  def _linear(self, inputs, outputs, scale=2**0.5):
    return self._initialized(self._torch.nn.Linear(inputs, outputs), scale)

  def _initialized(self, layer, scale):
    self._torch.nn.init.orthogonal_(layer.weight, scale)
    self._torch.nn.init.zeros_(layer.bias)
    return layer

  def _convolutions(self, channels, last_size, activation):
    layers = []
    for filters, size, stride in (32, 8, 4), (64, 4, 2), (64, last_size, 1):
      layer = self._torch.nn.Conv2d(channels, filters, size, stride)
      layers += [self._initialized(layer, 2**0.5), activation]
      channels = filters
    return layers + [self._torch.nn.Flatten()]

  def _create_rollout(self, num_samples):
    """Random numbers in the place of a rollout, [M, ...]."""
    torch = self._torch
    frames = torch.randint(0, 256, [num_samples, 84, 84, 5], dtype=torch.uint8)
    self._mean, self._std = torch.full([2, 1, 1, 84, 84], 80.0)
    # Channels last in memory, whatever the order of the dimensions says.
    self._observations = frames[..., :4].contiguous()
    self._arrivals = frames[..., 4:].permute(0, 3, 1, 2).contiguous()
    if not self._variant.tuned:
      self._observations = self._channels_first(self._observations).float()
      self._observations = self._observations.contiguous()
      self._arrivals = self._whiten(self._arrivals)
    self._actions = torch.randint(0, _NUM_ACTIONS, [num_samples])
    self._old_log_probabilities = torch.full([num_samples], -2.89)
    self._advantages = torch.randn([num_samples])
    self._returns = torch.randn([num_samples, 2])
    self._features = torch.zeros([num_samples, 512])

  def _channels_first(self, frames):
    return frames.permute(0, 3, 1, 2)

  def _whiten(self, frames):
    return ((frames - self._mean) / self._std).clip(-5, 5)

  def _rnd_input(self, chosen):
    arrivals = self._arrivals[chosen]
    return self._whiten(arrivals) if self._variant.tuned else arrivals

  def _autocast(self):
    return self._torch.autocast(
        'cpu', self._torch.bfloat16, enabled=self._variant.tuned
    )

  def learn(self, num_minibatches):
    """Some optimizer steps, with their part of what is done once a rollout."""
    torch = self._torch
    num_samples = self._actions.numel()
    if self._variant.target_once:
      shares = torch.arange(num_minibatches * self._size // _NUM_EPOCHS)
      for chosen in (shares % num_samples).split(self._size):
        with torch.no_grad(), self._autocast():
          features = self._target(self._rnd_input(chosen))
        self._features[chosen] = features.float()
    for _ in range(num_minibatches):
      chosen = torch.randperm(num_samples)[: self._size]
      with self._autocast():
        loss = self._ppo_loss(chosen) + self._rnd_loss(chosen)
      self._optimizer.zero_grad()
      loss.backward()
      self._optimizer.step()

  def _ppo_loss(self, chosen):
    torch, nets = self._torch, self._nets
    observations = self._observations[chosen]
    if self._variant.tuned:
      observations = self._channels_first(observations).to(torch.bfloat16)
    hidden = nets['trunk'](observations / 255)
    logits = nets['logits'](hidden + nets['policy_residual'](hidden).relu())
    values = nets['value_heads'](hidden + nets['value_residual'](hidden).relu())
    log_probabilities = logits.float().log_softmax(-1)
    entropy = -(log_probabilities.exp() * log_probabilities).sum(-1).mean()
    log_probability = log_probabilities.gather(
        1, self._actions[chosen, None]
    ).squeeze(1)
    ratio = (log_probability - self._old_log_probabilities[chosen]).exp()
    advantages = self._advantages[chosen]
    surrogate = torch.max(
        -advantages * ratio, -advantages * ratio.clip(0.9, 1.1)
    )
    errors = (values.float() - self._returns[chosen]).square().mean(0).sum()
    return surrogate.mean() - 0.001 * entropy + 0.5 * errors

  def _rnd_loss(self, chosen):
    torch = self._torch
    if self._variant.exact_share:
      chosen = chosen[: int(_SHARE * chosen.numel())]
    inputs = self._rnd_input(chosen)
    if self._variant.target_once:
      features = self._features[chosen]
    else:
      with torch.no_grad():
        features = self._target(inputs)
    predictions = self._nets['predictor'](inputs)
    errors = (predictions.float() - features.float()).square().mean(1)
    if self._variant.exact_share:
      return errors.mean()
    kept = (torch.rand_like(errors) < _SHARE).float()
    return (errors * kept).sum() / kept.sum().clip(1)


def serve_twin(num_samples, minibatch_size):
  """Learns what the lines of standard input ask for."""
  import torch

  print(
      f'PyTorch {torch.__version__}, {torch.get_num_threads()} threads',
      flush=True,
  )
  twins = {}
  for line in sys.stdin:
    name, num_minibatches = line.split()
    if name not in twins:
      twins[name] = Twin(VARIANTS[name], num_samples, minibatch_size)
    start_s = time.process_time()
    twins[name].learn(int(num_minibatches))
    print(time.process_time() - start_s, flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
  modes = parser.add_subparsers(dest='mode', required=True)
  mode = modes.add_parser('cleanrl')
  mode.add_argument('script')
  mode.add_argument('out')
  mode = modes.add_parser('twin')
  mode.add_argument('num_samples', type=int)
  mode.add_argument('minibatch_size', type=int)
  args, others = parser.parse_known_args()
  if args.mode == 'cleanrl':
    run_cleanrl(args.script, args.out, others)
  else:
    serve_twin(args.num_samples, args.minibatch_size)


if __name__ == '__main__':
  main()
