#!/usr/bin/env bash
# TensorFlow 2.21.0: `x + 0.0` is computed eagerly, and left out of a `tf.function`.
#
# In IEEE arithmetic -0.0 + 0.0 is 0.0, so adding zero is the usual way to make the
# two zeros one: before the bits of a number are hashed, compared as bytes, or
# divided by. Eagerly TensorFlow does it. The optimizer of graphs takes the addition
# of a constant zero for no operation and removes it: the sign stays, `1 / (x + 0.0)`
# is -inf in a graph and inf outside of one, and equal numbers get two hashes.
# `tf.where(x == 0, 0, x)` holds in both.
#
# One would guess: an optimizer of graphs keeps results, as a C compiler does unless
# it is told -ffast-math. A test that runs eagerly shows nothing.
#
# Source: seen by this script, which fails if it changes; constant folding in
# core/grappler/optimizers ("simplify" of arithmetic with zeros).
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'tensorflow==2.21.0'

"$folder/venv/bin/python" - 2>/dev/null <<'PROGRAM'
import sys

import numpy as np
import tensorflow as tf

ZEROS = tf.constant([0.0, -0.0])


def is_negative(function, in_graph):
  call = tf.function(function) if in_graph else function
  return np.signbit(call(ZEROS).numpy()).tolist()


def add_zero(x):
  return x + 0.0


def replace_zeros(x):
  return tf.where(x == 0.0, tf.zeros_like(x), x)


seen = {}
for function in (add_zero, replace_zeros):
  for in_graph in (False, True):
    seen[function.__name__, in_graph] = is_negative(function, in_graph)
    print(
        f'{function.__name__}, {"graph" if in_graph else "eager"}: signs of'
        f' [0, -0] are negative: {seen[function.__name__, in_graph]}'
    )
print('1 / (-0 + 0), eager and graph:', *(
    float(call(ZEROS)[1])
    for call in (lambda x: 1 / (x + 0.0), tf.function(lambda x: 1 / (x + 0.0)))
))
none = [False, False]
sys.exit(seen != {
    ('add_zero', False): none,
    ('add_zero', True): [False, True],
    ('replace_zeros', False): none,
    ('replace_zeros', True): none,
})
PROGRAM
