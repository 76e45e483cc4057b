#!/usr/bin/env bash
# Library: Optuna 5.0.0, Python 3.11.
#
# Behaviour: `suggest_int('n', 0.5, 2.9)` and `IntDistribution(0.5, 2.9)` cut
# both ends towards zero without an error or a warning: 0 is drawn, which is
# below the range, and with -0.5 as an upper end 0 as well, which is above it.
# A range without an integer, such as 0.2 to 0.8, becomes the single value 0.
#
# One would guess: an error, as for a low end above the high one, or the integers
# inside of the range (1 and 2; none). It matters where ends are computed or read
# from a file, such as 0.5 * width for a number of layers: a trial with 0 of them
# fails, or trains something else.
#
# Source: the documentation of `suggest_int` and `IntDistribution` declares
# integers and says nothing of other numbers; seen by this script.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'optuna==5.0.0'

cat >"$folder/draw.py" <<'PROGRAM'
import sys
import warnings

import optuna

warnings.simplefilter('error')
optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
is_as_described = True
for low, high, expected in [
    (0.5, 2.9, {0, 1, 2}),
    (-2.9, -0.5, {-2, -1, 0}),
    (0.2, 0.8, {0}),
]:
  drawn = {study.ask().suggest_int('n', low, high) for _ in range(60)}
  print(f'{low} to {high}:', sorted(drawn))
  is_as_described &= drawn == expected
sys.exit(not is_as_described)
PROGRAM
"$folder/venv/bin/python" "$folder/draw.py"
