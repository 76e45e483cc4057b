#!/usr/bin/env bash
# Library: gin-config 0.5.0, Python 3.11.
#
# Behaviour: `gin.parse_config(text, skip_unknown=True)` passes over bindings of
# configurables that it does not know, and raises ValueError for a binding of an
# unknown *parameter* of a configurable that it knows.
#
# One would guess: "skip unknown" reads the configuration of an older or newer
# version of a program, and leaves out whatever is gone. A parameter that was
# removed is the common case, and it is the one that is not left out: a program
# that reads an `operative_config.gin` of last year fails at the first parameter
# that has been removed since.
#
# Source: the argument `skip_unknown` of `parse_config`, described as being for
# configurables; seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'gin-config==0.5.0'

"$folder/venv/bin/python" - <<'PROGRAM'
import sys

import gin


@gin.configurable
def train(num_steps=1):
  return num_steps


def outcome(text):
  gin.clear_config()
  try:
    gin.parse_config(text, skip_unknown=True)
  except ValueError as error:
    return f'{type(error).__name__}: {str(error).strip().splitlines()[0]}'
  return f'passes, num_steps is {train()}'


of_configurable = outcome('removed_function.x = 1\ntrain.num_steps = 2')
of_parameter = outcome('train.removed_parameter = 1\ntrain.num_steps = 2')
print('unknown configurable:', of_configurable)
print('unknown parameter of a known one:', of_parameter)
sys.exit(
    of_configurable != 'passes, num_steps is 2'
    or not of_parameter.startswith('ValueError')
)
PROGRAM
