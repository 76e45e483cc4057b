#!/usr/bin/env bash
# Library: gin-config 0.5.0, Python 3.11.
#
# Behaviour: `gin.config_str(max_line_length=N)` writes a comment line of N
# characters above the parameters of each configurable. With a large N, the way
# to keep each binding on one line, a configuration of a few bindings becomes
# megabytes of "=" and takes seconds to make and to parse again.
#
# One would guess: a *maximum* line length limits lines, and raising it changes
# only those that were broken before.
#
# Source: seen by this script, for `config_str`; `operative_config_str` does the
# same. It fails if the text stays small.
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


@gin.configurable
def play(num_episodes=1):
  return num_episodes


gin.parse_config('train.num_steps = 2\nplay.num_episodes = 3')
train(), play()
sizes = {}
for name in ('config_str', 'operative_config_str'):
  for length in (80, 1_000_000):
    text = getattr(gin, name)(max_line_length=length)
    longest = max(text.splitlines(), key=len)
    sizes[name, length] = len(text)
    print(
        f'{name}(max_line_length={length}): {len(text)} characters, the longest'
        f' line has {len(longest)} and begins with {longest[:14]!r}'
    )
sys.exit(any(
    size > 1_000 if length == 80 else size < 2_000_000
    for (_, length), size in sizes.items()
))
PROGRAM
