#!/usr/bin/env bash
# TensorFlow 2.21.0: the gradient of `tf.raw_ops.BlockLSTMV2` is wrong.
#
# The fused kernel of a whole sequence returns the outputs of an LSTM with gates in
# the order input, forget, cell, output, that of Keras and of cuDNN. They equal
# those of a loop over the steps, bit for bit. Its gradient does not: it is off by
# as much as it is large, while differences of the kernel's own outputs agree with
# the loop. A network that trains on it goes another way, and nothing says so.
#
# One would guess: an operation that has a gradient has that of its outputs. That of
# the first version, `BlockLSTM` (input, cell, forget, output), is right.
#
# Source: seen by this script. python/ops/rnn_grad.py registers one function for
# both, which calls the first version's kernel, with its order of the gates.
# It fails if the gradient is right.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'tensorflow==2.21.0'

"$folder/venv/bin/python" - 2>/dev/null <<'PROGRAM'
import numpy as np
import tensorflow as tf

BATCH, STEPS, FEATURES, UNITS = 3, 5, 4, 2
tf.random.set_seed(1)
x = tf.random.normal([STEPS, BATCH, FEATURES])
weights = tf.random.normal([FEATURES + UNITS, 4 * UNITS])
bias = tf.random.normal([4 * UNITS])
zeros, peepholes = tf.zeros([BATCH, UNITS]), tf.zeros([UNITS])
ORDERS = {'BlockLSTM': 'icfo', 'BlockLSTMV2': 'ifco'}


def fused(name, weights):
  arguments = {} if name == 'BlockLSTMV2' else {'forget_bias': 0.0}
  return getattr(tf.raw_ops, name)(
      seq_len_max=tf.constant(STEPS, tf.int64), x=x, cs_prev=zeros,
      h_prev=zeros, w=weights, wci=peepholes, wcf=peepholes, wco=peepholes,
      b=bias, cell_clip=-1.0, use_peephole=False, **arguments).h


def loop(name, weights):
  output = cell = zeros
  outputs = []
  for t in range(STEPS):
    sums = tf.matmul(tf.concat([x[t], output], 1), weights) + bias
    gate = dict(zip(ORDERS[name], tf.split(sums, 4, 1)))
    cell = tf.sigmoid(gate['f']) * cell
    cell += tf.sigmoid(gate['i']) * tf.tanh(gate['c'])
    output = tf.sigmoid(gate['o']) * tf.tanh(cell)
    outputs.append(output)
  return tf.stack(outputs)


def loss(function, name, weights):
  return tf.reduce_sum(function(name, weights) ** 2)


def gradient(function, name):
  with tf.GradientTape() as tape:
    tape.watch(weights)
    value = loss(function, name, weights)
  return tape.gradient(value, weights).numpy()


off = {}
for name in ORDERS:
  outputs = [function(name, weights).numpy() for function in (fused, loop)]
  ours, theirs = gradient(fused, name), gradient(loop, name)
  off[name] = np.abs(ours - theirs).max() / np.abs(theirs).max()
  print(f'{name}: outputs differ by {np.abs(outputs[0] - outputs[1]).max():.1e},'
        f' gradients by {off[name]:.1e} of the largest')
place, size = (2, 3), 1e-2
step = np.zeros(weights.shape, np.float32)
step[place] = size
numeric = float(loss(fused, name, weights + step)
                - loss(fused, name, weights - step)) / (2 * size)
print(f'{name} at {place}: {ours[place]:.3f}, of differences {numeric:.3f},'
      f' of the loop {theirs[place]:.3f}')
is_wrong = off['BlockLSTMV2'] > 0.1 and abs(numeric - theirs[place]) < 1e-2
raise SystemExit(0 if off['BlockLSTM'] < 1e-5 and is_wrong else 1)
PROGRAM
