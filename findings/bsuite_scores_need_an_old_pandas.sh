#!/usr/bin/env bash
# Library: bsuite 0.3.6 with pandas 3.1.1, which pip installs with it; Python 3.11.
#
# Behaviour: a run of Deep Sea, its environments and its logs work. The score of
# the finished run does not: `bsuite.experiments.deep_sea.analysis.score` raises
# AttributeError, since `find_solution` calls `Series.append`, which pandas has
# not had since 2.0. With `Series.append` put back by `pandas.concat` the same
# table is scored.
#
# One would guess: that what a clean install resolves to can score its own runs,
# or that setup.py says which pandas it needs (it names none). It matters since
# the error comes after the training, not before it.
#
# Source: bsuite 0.3.6, experiments/deep_sea/analysis.py, `find_solution`;
# pandas' notes on 2.0.0, "Removal of prior version deprecations"; seen by this
# script.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'bsuite==0.3.6' 'pandas==3.1.1'

cat >"$folder/score.py" <<'PROGRAM'
from bsuite.experiments.deep_sea import analysis
from bsuite.experiments.deep_sea import deep_sea
import pandas as pd

# One episode of bsuite's own environment, and what it logs of it.
environment = deep_sea.load(size=10, mapping_seed=42)
step = environment.reset()
while not step.last():
  step = environment.step(0)
row = dict(size=10, episode=1, **environment.bsuite_info())
print('logged:', row)
table = pd.DataFrame([row])

try:
  print('score:', analysis.score(table))
  raise SystemExit('The score is computed: the behaviour has changed.')
except AttributeError as error:
  print('AttributeError:', error)

pd.Series.append = lambda self, other: pd.concat([self, other])
print('with Series.append put back:', analysis.score(table))
PROGRAM
"$folder/venv/bin/python" "$folder/score.py"
