#!/usr/bin/env bash
# TensorFlow 2.21.0: whether `Graph.gradient_override_map` has an
# effect depends on where the tape is.
#
# A function computes `identity(x)` under an override that triples gradients.
# Differentiated by `tf.gradients`, or by a `GradientTape` outside of the
# `tf.function`, its gradient is 3. By a tape inside the same `tf.function`, where
# training steps have theirs, it is 1: the override is ignored without a word. Put
# into a `tf.function` of its own, which the one with the tape calls, it is 3
# again.
#
# One would guess: a graph has one gradient, whoever asks for it, or the one that
# ignores what it is told says so.
#
# Source: seen by this script. python/framework/ops.py stores the override in an
# attribute of the operation (`_gradient_op_type`), which `tf.gradients` and the
# gradient functions of called functions look up; a tape records the operation by
# its type alone. The docstring of `gradient_override_map` speaks of no tape.
# It fails if one of the four gradients changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'tensorflow==2.21.0'

"$folder/venv/bin/python" - 2>/dev/null <<'PROGRAM'
import tensorflow as tf


@tf.RegisterGradient('Triple')
def triple(op, upstream):
  del op
  return 3.0 * upstream


def identity(x):
  graph = tf.compat.v1.get_default_graph()
  with graph.gradient_override_map({'Identity': 'Triple'}):
    return tf.identity(x)


def by_tape(function, x):
  with tf.GradientTape() as tape:
    tape.watch(x)
    result = function(x)
  return tape.gradient(result, x)


x = tf.constant(2.0)
function = tf.function(identity)
found = {
    'tf.gradients': tf.function(lambda x: tf.gradients(identity(x), x)[0])(x),
    'tape outside of the function': by_tape(function, x),
    'tape inside the function': tf.function(lambda x: by_tape(identity, x))(x),
    'tape inside a function that calls it': tf.function(
        lambda x: by_tape(function, x)
    )(x),
}
for name, gradient in found.items():
  print(f'{name}: {float(gradient):.0f}')
assert [float(gradient) for gradient in found.values()] == [3, 3, 1, 3]
PROGRAM
