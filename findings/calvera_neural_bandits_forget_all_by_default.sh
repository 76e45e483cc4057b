#!/usr/bin/env bash
# calvera 1.0.2: with their default `weight_decay` of 1 the neural bandits shrink all
# weights of the network to 0 while they learn, and predict the same for all arms.
#
# The decay is called lambda "in the original paper". There the loss is a sum over all
# rounds, and the penalty is on the distance to the initial weights, so that it fades as
# data come in. Here the number goes to Adam's `weight_decay`, beside a loss that is a mean
# over a batch: the penalty is on the weights themselves, and as heavy as all data.
#
# * Four arms that pay 0.2 to 0.8, one-hot features, one hidden layer, all else by
#   default: after 1024 rounds NeuralUCBBandit predicts 0.39 for each arm, NeuralTSBandit
#   0.33. It is 2/3 of the average reward, the best that a bias alone can do under that
#   penalty; all weights but it are 0.
# * After 512 rounds the arms were still told apart. More data make it worse, and nothing
#   is warned of.
# * NeuralTSBandit then chooses each arm equally often, whatever it pays. NeuralUCBBandit
#   chooses by its bonus alone, whose gradients are gone too (read, not run).
#
# One would guess: a default that works, as it does for the package's linear bandits
# (lambda_ = 1 there as well). Those who compare with neural bandits run the defaults.
# `weight_decay` is also the first value of the matrix of the bonus, so that a small one
# changes the exploration with it.
#
# Controls: weight_decay=1e-3; LinearUCBBandit by default; and the loss of the paper (Zhou
# et al., 2020) with lambda = 1 on the same data, in a loop of our own.
#
# Source: calvera/bandits/neural_bandit.py (`configure_optimizers`, `_compute_loss`,
# `weight_decay: float = 1.0`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'lightning==2.6.6' 'numpy==2.4.6'
# It also asks for torchvision and torchaudio, which it does not import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'calvera==1.0.2'

OMP_NUM_THREADS=1 "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import copy
import logging
import sys

logging.disable(logging.CRITICAL)

from calvera.bandits import LinearUCBBandit
from calvera.bandits import NeuralTSBandit
from calvera.bandits import NeuralUCBBandit
import lightning
import torch

PAYS = torch.tensor([0.2, 0.4, 0.6, 0.8])
ARMS, BATCH, ROUNDS, LAST, WIDTH = len(PAYS), 32, 1280, 256, 16


def network():
  return torch.nn.Sequential(
      torch.nn.Linear(ARMS, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1)
  )


def run(kind, **options):
  """Plays; copies of the bandit after some rounds, all choices and all rewards."""
  torch.manual_seed(0)
  bandit = kind(n_features=ARMS, **options)
  choices, rewards, copies = [], [], {}
  for start in range(0, ROUNDS, BATCH):
    features = torch.eye(ARMS).repeat(BATCH, 1, 1)
    chosen, _ = bandit(features)
    arms = chosen.argmax(dim=1)
    paid = PAYS[arms] + 0.1 * torch.randn(BATCH)
    bandit.record_feedback(features[torch.arange(BATCH), arms][:, None], paid[:, None])
    lightning.Trainer(
        max_epochs=1, accelerator='cpu', logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    ).fit(bandit)
    choices.append(arms)
    rewards.append(paid)
    if start + BATCH in (512, 1024):
      copies[start + BATCH] = copy.deepcopy(bandit)
  return copies, torch.cat(choices), torch.cat(rewards)


def predict(model):
  with torch.no_grad():
    return model(torch.eye(ARMS))[:, 0]


def text(numbers):
  return ' '.join(f'{float(number):.3f}' for number in numbers)


def shares(choices):
  return torch.bincount(choices, minlength=ARMS) / len(choices)


as_described = True
for kind, options in (
    (NeuralUCBBandit, {}),
    (NeuralTSBandit, {}),
    (NeuralUCBBandit, {'weight_decay': 1e-3}),
    (NeuralTSBandit, {'weight_decay': 1e-3}),
):
  torch.manual_seed(1)
  initial = network()
  copies, choices, rewards = run(kind, network=copy.deepcopy(initial), **options)
  early, seen = predict(copies[512].theta_t), predict(copies[1024].theta_t)
  average = rewards[:1024].mean()
  *weights, bias = [
      each.detach().abs().max() for each in copies[1024].theta_t.parameters()
  ]
  last = shares(choices[-LAST:])
  print(f'{kind.__name__} {options or "by default"}: predictions {text(early)} after 512'
        f' rounds, {text(seen)} after 1024; 2/3 of the average reward'
        f' {average * 2 / 3:.3f}; largest weight {max(weights):.4f}, last bias {bias:.3f};'
        f' shares of the arms in rounds {ROUNDS - LAST} to {ROUNDS}: {text(last)}')
  if options:
    as_described &= bool((seen - PAYS).abs().max() < 0.1 and last[-1] > 0.9)
    continue
  as_described &= bool(seen.max() - seen.min() < 0.01 and max(weights) < 0.01)
  as_described &= bool((seen - average * 2 / 3).abs().max() < 0.03)
  as_described &= bool(early.max() - early.min() > 0.03)
  if kind is NeuralTSBandit:
    as_described &= bool(0.17 < last.min() and last.max() < 0.33)

  # The paper's loss with the same lambda, on the same data.
  model = copy.deepcopy(initial)
  fixed = [each.detach().clone() for each in model.parameters()]
  optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
  features = torch.eye(ARMS)[choices[:1024]]
  for step in range(1000):
    optimizer.zero_grad()
    loss = ((model(features)[:, 0] - rewards[:1024]) ** 2).sum() / 2
    for each, first in zip(model.parameters(), fixed):
      loss = loss + WIDTH * ((each - first) ** 2).sum() / 2
    loss.backward()
    optimizer.step()
  right = predict(model)
  print(f'  the loss of the paper with lambda = 1, on the same data: {text(right)}')
  as_described &= bool((right - PAYS).abs().max() < 0.1)

_, choices, _ = run(LinearUCBBandit)
last = shares(choices[-LAST:])
print(f'LinearUCBBandit by default: shares {text(last)}')
as_described &= bool(last[-1] > 0.9)
sys.exit(not as_described)
PROGRAM
