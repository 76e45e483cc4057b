# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Is TensorFlow's fastest LSTM faster than `LSTMCore`?

    python -m benchmarks.lstm_speed --batch=64 --steps=40 --units=128

Outputs and gradients of a sequence, in a graph, by

*   `LSTMCore`, in float32 and in bfloat16, whose gradient is our own;
*   a loop over Keras's cell, with the gradient that TensorFlow derives;
*   Keras's LSTM, which is cuDNN's on a GPU, and the kernel `BlockLSTM`: both
    know no resets inside a sequence, so the sequences have none.

All in float32 are checked against `LSTMCore` first.
"""

import argparse
import functools

from benchmarks import paired

# isort: split
import gin
import numpy as np
import tensorflow as tf

from rnd_agents.networks import keras_layers
from rnd_agents.networks import precision
from rnd_agents.networks import recurrent_cores


@gin.configurable(module='benchmarks')
class KerasCellCore(recurrent_cores.RecurrentCore):
  """A core as `LSTMCore`: a loop over Keras's cell, derived by TensorFlow."""

  def __init__(self, units=128, name='KerasCellCore'):
    spec = tf.TensorSpec([units], tf.float32, 'state')
    super().__init__(units, (spec, spec), name)

  def _create_cell(self):
    return tf.keras.layers.LSTMCell(
        self.units,
        kernel_initializer=keras_layers.FreshOrthogonal(),
        recurrent_initializer=keras_layers.FreshOrthogonal(),
    )


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
  core = recurrent_cores.LSTMCore(units)
  others = {
      'Keras cell': KerasCellCore(units),
      'bfloat16': recurrent_cores.LSTMCore(units, precision.BFLOAT16),
  }
  keras = tf.keras.layers.LSTM(units, return_sequences=True)
  for each in (core, keras, *others.values()):
    each(x)
    for mine, first in zip(
        each.trainable_weights, core.trainable_weights, strict=True
    ):
      mine.assign(first)
  weights = core.trainable_weights

  def timed(outputs_of, variables):
    @tf.function(autograph=False)
    def run(x):
      with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = outputs_of(x)
        loss = tf.reduce_sum(outputs**2)
      return [outputs, *tape.gradient(loss, [*variables, x])]

    return lambda: [each.numpy() for each in run(x)]

  def of(core):
    return timed(lambda x: core(x, step_type)[0], core.trainable_weights)

  return {
      'LSTMCore': of(core),
      **{name: of(each) for name, each in others.items()},
      'Keras LSTM': timed(keras, keras.trainable_weights),
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
    rounds = name == 'bfloat16'
    for mine, theirs in zip(run(), expected, strict=True):
      np.testing.assert_allclose(
          mine,
          theirs,
          rtol=1e-7,
          atol=(2e-2 if rounds else 1e-5) * np.abs(theirs).max(),
          err_msg=name,
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
