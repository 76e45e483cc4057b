#!/usr/bin/env bash
# Library: TensorFlow 2.15.1 (and 2.17.1 as the control), both on Python 3.11.
#
# Behaviour: an eager loop `v + 1.0` over one variable grows the process without
# bound with 2.15.1, though nothing holds the results. With 2.17.1 the same loop
# is flat.
#
# One would guess: a tensor that nobody refers to is freed whole, in every
# release that supports the Python it runs on; a training loop that keeps no
# tensors has flat memory. A loop of a million environment steps with a few
# hundred eager operations each loses hundreds of megabytes, and no Python tool
# (gc, tracemalloc) shows an object that holds them.
#
# Source: measured by this script. It prints bytes lost for each turn of the
# loop, and fails if 2.15.1 no longer loses memory or 2.17.1 begins to.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/measure.py" <<'PROGRAM'
import gc
import os

import tensorflow as tf

variable = tf.Variable(0.0)


def resident_bytes():
  with open('/proc/self/statm', encoding='ascii') as file:
    return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def turns(count):
  for _ in range(count):
    variable + 1.0  # The result is dropped at once.
  gc.collect()


turns(50_000)
before = resident_bytes()
turns(400_000)
print(f'{(resident_bytes() - before) / 400_000:.0f}')
PROGRAM

lost() {
  "$python" -m venv "$folder/$1"
  "$folder/$1/bin/pip" install --quiet --disable-pip-version-check \
    "tensorflow-cpu==$1" 'numpy<2' >&2
  TF_CPP_MIN_LOG_LEVEL=3 "$folder/$1/bin/python" "$folder/measure.py"
}

old=$(lost 2.15.1)
new=$(lost 2.17.1)
echo "bytes lost a turn: TensorFlow 2.15.1 $old, TensorFlow 2.17.1 $new"
if ((old < 30)); then
  echo 'TensorFlow 2.15.1 no longer loses memory here.' >&2
  exit 1
fi
if ((new > 10)); then
  echo 'TensorFlow 2.17.1 loses memory, too.' >&2
  exit 1
fi
