#!/usr/bin/env bash
# DI-engine 0.5.3: `Pow`, a distortion of risk for IQN, seeks risk with a negative `eta`, for
# which its docstring and the paper say risk-averse.
#
# The paper (Dabney et al., 2018) has tau ** (1 / (1 + |eta|)) for eta >= 0, and
# 1 - (1 - tau) ** (1 / (1 + |eta|)) for eta < 0. Here the exponent for eta < 0 is
# `(1 / 1 - eta)`, which Python reads as 1 - eta: the reciprocal. Small fractions become larger
# and not smaller, and the head of the network, which draws fractions and averages the
# quantiles at what `Pow` makes of them, looks at the good outcomes.
#
# * eta = -2, fractions uniform: mean fraction 0.75 where the formula has 0.25. All negative eta
#   have the mean of the positive one of the same size.
# * A choice of a certain 0 and of a normal with mean -0.3 and deviation 1: with eta from -0.5
#   to -5 the second one is preferred, the more the "averser". By the formula and by CVaR it is
#   never preferred, nor by the plain mean.
#
# One would guess: what is written beside it, "risk-averse when eta < 0 and risk-seeking when
# eta > 0". The function is monotonic from 0 to 1 in both cases, so that tests of shapes and
# ranges pass. Whom it harms: who compares attitudes to risk finds that both signs take risks,
# and that the "averse" agents fail more often. (By its name in a configuration, `Pow` has the
# default eta of 0, which changes nothing.)
#
# Controls: eta >= 0 and the other two distortions, which agree with their formulas; and the
# formula of the paper, computed here.
#
# The module is loaded alone, since the rest of the package asks for many others.
#
# Source: ding/rl_utils/beta_function.py (`Pow`), ding/model/common/head.py
# (`QuantileHead.forward`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'numpy==2.4.6'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'DI-engine==0.5.3'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import importlib.util
import pathlib
import sys

import torch

package = pathlib.Path(importlib.util.find_spec('ding').origin).parent
spec = importlib.util.spec_from_file_location(
    'beta_function', package / 'rl_utils' / 'beta_function.py'
)
ding = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ding)

SIZE, LOSS = 200_000, -0.3
FRACTIONS = (torch.arange(SIZE, dtype=torch.float64) + 0.5) / SIZE
NORMAL = torch.distributions.Normal(
    torch.tensor(LOSS, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
)


def formula(tau, eta):
  """The power of the paper."""
  exponent = 1 / (1 + abs(eta))
  return tau**exponent if eta >= 0 else 1 - (1 - tau)**exponent


def value(fractions):
  """Of the normal return, as the head has it: the mean of quantiles at the fractions."""
  return float(NORMAL.icdf(fractions.clamp(1e-12, 1 - 1e-12)).mean())


as_described = True
for eta in (-5.0, -2.0, -0.5, 0.0, 0.5, 2.0, 5.0):
  seen, expected = ding.Pow(FRACTIONS, eta), formula(FRACTIONS, eta)
  values = value(seen), value(expected)
  print(f'eta {eta:+.1f}: mean fraction {seen.mean():.3f}, by the formula {expected.mean():.3f};'
        f' value of the gamble {values[0]:+.2f}, by the formula {values[1]:+.2f}; prefers'
        f' {"it" if values[0] > 0 else "a certain 0"}, by the formula'
        f' {"it" if values[1] > 0 else "a certain 0"}')
  as_described &= bool(seen.diff().min() >= 0 and 0 < seen[0] < seen[-1] <= 1)
  if eta >= 0:
    as_described &= bool(torch.allclose(seen, expected))
  else:
    # The reciprocal, which is what the positive one makes of the other end.
    as_described &= bool(torch.allclose(seen, 1 - (1 - FRACTIONS)**(1 - eta)))
    as_described &= bool(seen.mean() > 0.5 > expected.mean())
    as_described &= abs(float(seen.mean() - ding.Pow(FRACTIONS, -eta).mean())) < 1e-4
    as_described &= values[1] < LOSS < values[0]
    as_described &= values[0] > 0

averse = ding.CVaR(FRACTIONS, 0.71)
weighed = ding.cpw(FRACTIONS, 0.71)
powers = FRACTIONS**0.71, (1 - FRACTIONS)**0.71
expected = powers[0] / (powers[0] + powers[1])**(1 / 0.71)
print(f'CVaR 0.71: value of the gamble {value(averse):+.2f}; CPW 0.71: {value(weighed):+.2f}')
as_described &= bool(torch.allclose(averse, 0.71 * FRACTIONS) and value(averse) < LOSS)
as_described &= bool(torch.allclose(weighed, expected))
neutral = ding.beta_function_map['Pow'](FRACTIONS)
print(f'"Pow" by its name: largest change of a fraction {abs(neutral - FRACTIONS).max():.1e}')
as_described &= bool(torch.equal(neutral, FRACTIONS))
sys.exit(not as_described)
PROGRAM
