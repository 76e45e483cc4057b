#!/usr/bin/env bash
# TensorFlow 2.21.0 (as 2.15.1): a function with `tf.custom_gradient` keeps every
# graph that it was ever traced in.
#
# A `tf.function` and the variables that it uses are deleted and collected: its
# graph is gone, as it should be. If the function called another one that is
# decorated by `tf.custom_gradient`, the graph stays until the process ends. A
# program that builds one model after the other (a notebook, a sweep, tests)
# grows by the graph of each whole training step.
#
# One would guess: the decorator changes how a gradient is computed, and nothing
# about what lives how long.
#
# Source: seen by this script. python/ops/custom_gradient.py registers, for each
# call within a graph, a gradient function of a new name in a global registry,
# from which nothing is ever removed; the function holds the tensors of its graph.
# It fails if the graphs are freed.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'tensorflow==2.21.0'

"$folder/venv/bin/python" - 2>/dev/null <<'PROGRAM'
import gc

import tensorflow as tf

TIMES = 20


def clip(x):
  return tf.clip_by_value(x, -1.0, 1.0)


@tf.custom_gradient
def clip_and_pass_gradients(x):
  return tf.clip_by_value(x, -1.0, 1.0), lambda upstream: upstream


def num_graphs():
  gc.collect()
  return sum(isinstance(x, tf.Graph) for x in gc.get_objects())


def trace(function):
  variable = tf.Variable(1.0)

  @tf.function
  def step():
    with tf.GradientTape() as tape:
      result = function(variable)
    return tape.gradient(result, variable)

  step()


def graphs_left(function):
  trace(function)  # What TensorFlow makes once.
  before = num_graphs()
  for _ in range(TIMES):
    trace(function)
  return num_graphs() - before


plain, custom = graphs_left(clip), graphs_left(clip_and_pass_gradients)
print(f'graphs left of {TIMES} functions:', plain)
print('the same with a custom gradient:', custom)
raise SystemExit(0 if plain == 0 and custom >= TIMES else 1)
PROGRAM
