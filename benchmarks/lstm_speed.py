# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Is TensorFlow's fastest LSTM faster than `LSTMCore`?

    python -m benchmarks.lstm_speed --batch=64 --steps=40 --units=128

Outputs and gradients of a sequence, in a graph, by

*   `LSTMCore`: a loop over Keras's cell, which resets states inside a sequence;
*   a loop over the recurrent product alone, after one product of all inputs;
*   Keras's LSTM, which is cuDNN's on a GPU, and the kernel `BlockLSTM`: both
    know no resets, so the sequences have none.

All are checked against `LSTMCore` first.
"""

import argparse
import functools

from benchmarks import paired

# isort: split
import numpy as np
import tensorflow as tf

from rnd_agents import networks


def projected(weights, x):
  """A loop over the recurrent product; the inputs' product is outside."""
  kernel, recurrent_kernel, bias = weights
  batch, num_steps, features = x.shape
  units = recurrent_kernel.shape[0]
  sums = tf.matmul(tf.reshape(x, [-1, features]), kernel) + bias
  sums = tf.reshape(sums, [batch, num_steps, 4 * units])
  # Not sliced: the gradient of a slice has the size of the whole.
  sums = tf.TensorArray(tf.float32, num_steps).unstack(
      tf.transpose(sums, [1, 0, 2])
  )

  def step(t, output, cell, outputs):
    parts = tf.split(sums.read(t) + tf.matmul(output, recurrent_kernel), 4, -1)
    in_gate, forget_gate, candidate, out_gate = parts
    cell = tf.sigmoid(forget_gate) * cell
    cell += tf.sigmoid(in_gate) * tf.tanh(candidate)
    output = tf.sigmoid(out_gate) * tf.tanh(cell)
    return t + 1, output, cell, outputs.write(t, output)

  zeros = tf.zeros([batch, units])
  outputs = tf.while_loop(
      lambda t, *_: t < num_steps,
      step,
      (0, zeros, zeros, tf.TensorArray(tf.float32, num_steps)),
  )[-1]
  return tf.transpose(outputs.stack(), [1, 0, 2])


def block(weights, x):
  """TensorFlow's fused kernel of a whole sequence.

  Not `BlockLSTMV2`, whose gates are in the order of Keras: its gradient is that
  of this kernel, and wrong (findings/tf_block_lstm_v2_has_a_wrong_gradient.sh).
  """

  def reordered(w):  # Its gates are input, candidate, forget, output.
    in_gate, forget_gate, candidate, out_gate = tf.split(w, 4, -1)
    return tf.concat([in_gate, candidate, forget_gate, out_gate], -1)

  kernel, recurrent_kernel, bias = map(reordered, weights)
  units = recurrent_kernel.shape[0]
  zeros, peepholes = tf.zeros([x.shape[0], units]), tf.zeros([units])
  outputs = tf.raw_ops.BlockLSTM(
      seq_len_max=tf.constant(x.shape[1], tf.int64),
      x=tf.transpose(x, [1, 0, 2]),
      cs_prev=zeros,
      h_prev=zeros,
      w=tf.concat([kernel, recurrent_kernel], 0),
      wci=peepholes,
      wcf=peepholes,
      wco=peepholes,
      b=bias,
      forget_bias=0.0,
      cell_clip=-1.0,
      use_peephole=False,
  )
  return tf.transpose(outputs.h, [1, 0, 2])


def contenders(batch, num_steps, features, units):
  """Functions that return outputs and gradients, by name."""
  tf.random.set_seed(0)
  x = tf.random.normal([batch, num_steps, features])
  step_type = np.ones([batch, num_steps], np.int32)
  core = networks.LSTMCore(units)
  core(x, step_type)
  keras = tf.keras.layers.LSTM(units, return_sequences=True)
  keras(x)
  weights = core.trainable_weights
  for mine, theirs in zip(keras.trainable_weights, weights, strict=True):
    mine.assign(theirs)

  def timed(outputs_of, variables):
    @tf.function(autograph=False)
    def run(x):
      with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = outputs_of(x)
        loss = tf.reduce_sum(outputs**2)
      return [outputs, *tape.gradient(loss, [*variables, x])]

    return lambda: [each.numpy() for each in run(x)]

  return {
      'LSTMCore': timed(lambda x: core(x, step_type)[0], weights),
      'projected': timed(functools.partial(projected, weights), weights),
      'Keras': timed(keras, keras.trainable_weights),
      'BlockLSTM': timed(functools.partial(block, weights), weights),
  }


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  for name, default in dict(
      batch=64, steps=40, features=128, units=128, num_rounds=15
  ).items():
    parser.add_argument(f'--{name}', type=int, default=default)
  args = parser.parse_args()
  timed = contenders(args.batch, args.steps, args.features, args.units)
  expected = timed['LSTMCore']()
  for name, run in timed.items():
    for mine, theirs in zip(run(), expected, strict=True):
      np.testing.assert_allclose(
          mine, theirs, atol=1e-5 * np.abs(theirs).max(), err_msg=name
      )
  load = paired.ForeignLoad()
  times = paired.in_turns(timed, args.num_rounds)
  print(paired.machine())
  for name in timed:
    print(
        f'{name}: {1000 * paired.median_s(times, name):.1f} ms, of LSTMCore'
        f' {paired.ratios(times, name, "LSTMCore")}, CPU'
        f' {paired.ratios(times, name, "LSTMCore", cpu=True)}'
    )
  print(f'Others kept busy: {load}')


if __name__ == '__main__':
  main()
