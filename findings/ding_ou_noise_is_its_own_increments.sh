#!/usr/bin/env bash
# DI-engine 0.5.3: `OUNoise` returns the steps of an Ornstein-Uhlenbeck process and not the
# process: noise without memory, and about 15 times smaller.
#
# A call draws dx, adds it to the state x that the object keeps, and returns dx.
#
# * With the default settings the noise of 20000 calls has a deviation of 0.030, sigma times the
#   root of dt, and calls in a row have a correlation of -0.001. The process from the same draws
#   has 0.44 and 0.998 (0.55 and 0.9985 in the limit: sigma / sqrt(2 theta), 1 - theta dt).
# * Summed over 200 steps, as by something that is pushed, it moves 0.35, less than white noise
#   of its size, 0.42. The process moves 83.
# * `mu` does not show: with `mu=0.5` the mean of the noise is 0, where that of the process is
#   0.50. What was returned sums up to x, so that a large `theta`, which should give noise
#   without memory, makes neighbours repel each other: a correlation of -0.50.
#
# One would guess: noise "satisfies" the equation that the docstring gives, correlated from one
# step to the next, which is what it is chosen for in place of `GaussianNoise`. Shapes are
# right, and `sigma` does scale the noise.
#
# Control: the process by a loop, with the same draws; the state `_x` of the object.
#
# Source: ding/rl_utils/exploration.py (`OUNoise.__call__`), which `create_noise_generator('ou',
# ...)` and the wrapper `action_noise` of ding/model/wrapper/model_wrappers.py use; seen by this
# script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'numpy==1.26.4' 'gym==0.25.1' 'easydict==1.13' 'flask==2.0.3' \
  'werkzeug==2.0.3' 'tensorboardX==2.6.5' 'cloudpickle==3.1.3' 'enum-tools==0.13.0' \
  'hbutils==0.14.2' 'treevalue==1.5.0' 'rich==15.0.0' 'requests==2.34.2' 'URLObject==3.0.0' \
  'tabulate==0.10.0' 'tqdm==4.70.1' 'pyyaml==6.0.3' 'setuptools==81.0.0'
# The rest of what it asks for serves pictures, clusters and web pages.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'DI-engine==0.5.3' 'DI-toolkit==0.2.1' 'DI-treetensor==0.5.0'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'PROGRAM' || { cat "$folder/log"; exit 1; }
import sys

from ding.rl_utils.exploration import create_noise_generator
import numpy as np
import torch

CALLS, SEGMENT = 20000, 200
as_described = True
torch.set_num_threads(1)


def by_hand(calls, sigma=0.3, theta=0.15, dt=0.01, mu=0.0):
  """The process from zero, with the draws of the library."""
  draws = np.array([float(torch.randn(1)) for _ in range(calls)])
  x, states = 0.0, []
  for draw in draws:
    x = x + theta * dt * (mu - x) + sigma * np.sqrt(dt) * draw
    states.append(x)
  return np.array(states)


def correlation(values):
  return np.corrcoef(values[1:], values[:-1])[0, 1]


def push(values):
  """The deviation of the sum of many in a row."""
  return values.reshape(-1, SEGMENT).sum(1).std()


for name, settings, calls in (
    ('default settings', {}, CALLS),
    ('theta 100', {'theta': 100.0}, CALLS),
    ('mu 0.5, theta 5', {'mu': 0.5, 'theta': 5.0}, CALLS),
):
  torch.manual_seed(0)
  process = by_hand(calls, **settings)
  torch.manual_seed(0)
  noise = create_noise_generator('ou', settings)
  given, states = [], []
  for _ in range(calls):
    given.append(float(noise((1,), 'cpu')))
    states.append(float(noise._x))
  given, states = np.array(given), np.array(states)
  print(f'{name}: noise with deviation {given.std():.3f}, correlation {correlation(given):.3f},'
        f' mean {given.mean():.4f}, sums of {SEGMENT} {push(given):.2f}; the process by hand'
        f' {process.std():.3f}, {correlation(process):.4f}, {process.mean():.4f},'
        f' {push(process):.2f}; the kept state {states.std():.3f}')
  as_described &= bool(np.allclose(states, process, atol=1e-3))
  as_described &= bool(np.allclose(given, np.diff(process, prepend=0), atol=1e-4))
  if not settings:
    as_described &= bool(abs(given.std() - 0.03) < 0.001 and abs(correlation(given)) < 0.02)
    as_described &= bool(process.std() > 0.4 and correlation(process) > 0.99)
    as_described &= bool(push(process) > 10 * push(given))
  elif 'mu' in settings:
    as_described &= bool(abs(given.mean()) < 0.01 and abs(process.mean() - 0.5) < 0.05)
  else:
    as_described &= bool(correlation(given) < -0.4 and abs(correlation(process)) < 0.02)
sys.exit(not as_described)
PROGRAM
