# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""How fast the layers of Atari's networks can be: for `atari_speed`.

Each layer's kernels are timed alone, beside a matrix product. Their rates, and
how often an update needs each, give that of an update that did nothing else.
"""

import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import gin
import tensorflow as tf

from benchmarks import paired

_NUM_ACTIONS = 18  # All of the console's.
_MATRIX_SIZE = 2_048
FORWARD, KERNEL_GRADIENT, INPUT_GRADIENT = (
    'forwards',
    'gradient of the kernel',
    'gradient of the input',
)


class Layer(NamedTuple):
  """A convolution without padding, or a dense layer where `stride` is None."""

  input_shape: Tuple[int, ...]  # Of one sample.
  kernel_shape: Tuple[int, ...]
  stride: Optional[int] = None
  is_first: bool = False  # Then nothing needs the gradient of its input.

  @property
  def output_shape(self):
    if self.stride is None:
      return self.kernel_shape[-1:]
    side = (self.input_shape[0] - self.kernel_shape[0]) // self.stride + 1
    return side, side, self.kernel_shape[-1]

  @property
  def flop(self):
    """Arithmetic of each of its kernels for a sample, additions counted."""
    return 2 * math.prod((*self.kernel_shape, *self.output_shape[:-1]))

  @property
  def num_parameters(self):
    return math.prod(self.kernel_shape) + self.kernel_shape[-1]

  def __str__(self):
    kernel = ' x '.join(map(str, self.kernel_shape[:-1]))
    stride = '' if self.stride is None else f', stride {self.stride}'
    return f'{kernel} to {self.kernel_shape[-1]}{stride}'


def _chain(num_channels, conv_layers, units) -> List[Layer]:
  """Returns the layers of an encoder of frames."""
  size = gin.query_parameter('load_atari.screen_size')
  shape = (size, size, num_channels)
  layers = []
  for filters, size, stride in conv_layers:
    layers.append(
        Layer(shape, (size, size, shape[-1], filters), stride, not layers)
    )
    shape = layers[-1].output_shape
  num_inputs = math.prod(shape)
  for num_units in units:
    layers.append(Layer((num_inputs,), (num_inputs, num_units)))
    num_inputs = num_units
  return layers


def networks() -> Dict[str, List[Layer]]:
  """Returns the layers of each network of the gin files, by its name."""
  bound = gin.query_parameter
  fc_layer_params = bound('create_networks.fc_layer_params')
  width = fc_layer_params[-1]
  residual = [Layer((width,), (width, width))] * 2  # Of policy and values.
  heads = [Layer((width,), (width, n)) for n in (_NUM_ACTIONS, 1, 1)]
  trunk = _chain(
      bound('load_atari.stack_size'),
      bound('create_networks.conv_layers'),
      fc_layer_params,
  )
  # RND sees the newest frame alone.
  predictor, target = (
      _chain(
          1,
          bound('create_rnd_networks.conv_layers'),
          (
              *bound(f'create_rnd_networks.{units}'),
              bound('create_rnd_networks.output_size'),
          ),
      )
      for units in ('fc_layer_params', 'target_fc_layer_params')
  )
  return {
      'policy': trunk + residual + heads,
      'predictor': predictor,
      'target': target,
  }


def uses() -> Dict[Tuple[Layer, str], float]:
  """Returns how often an update uses each kernel for an agent step.

  The bonus needs predictor and target once and the policy's update the values
  once; then come the epochs, the predictor's with a share of the samples.
  """
  num_epochs = gin.query_parameter('RNDPPOAgent.num_epochs')
  share = gin.query_parameter('RNDPPOAgent.predictor_proportion')
  learned = {
      'policy': num_epochs, 'predictor': num_epochs * share, 'target': 0
  }
  times = {}
  for name, layers in networks().items():
    for layer in layers:
      for kernel in (FORWARD, KERNEL_GRADIENT, INPUT_GRADIENT):
        if kernel == INPUT_GRADIENT and layer.is_first:
          continue
        once = 1 if kernel == FORWARD else 0
        key = layer, kernel
        times[key] = times.get(key, 0) + once + learned[name]
  return {key: number for key, number in times.items() if number}


def gflop_per_step() -> Dict[Tuple[Layer, str], float]:
  """Returns the arithmetic of an update for each agent step, by kernel."""
  return {
      (layer, kernel): number * layer.flop / 1e9
      for (layer, kernel), number in uses().items()
  }


def matrix_product():
  """A function that multiplies two float32 matrices, and its GFLOP."""
  x = tf.random.normal([_MATRIX_SIZE, _MATRIX_SIZE])
  return _timed(lambda: tf.matmul(x, x)), 2 * _MATRIX_SIZE**3 / 1e9


def rates(
    batch_size: int, dtype: tf.DType, num_rounds: int
) -> Tuple[float, Dict[Tuple[Layer, str], float]]:
  """Times all kernels of `uses` and a float32 matrix product, in turns.

  Args:
    batch_size: samples of a minibatch.
    dtype: what the layers compute in.
    num_rounds: rounds that count.

  Returns:
    A tuple: GFLOP/s of the product, and by kernel its own. Medians.
  """
  product, product_gflop = matrix_product()
  kernels = {
      key: _timed(_kernel(*key, batch_size, dtype)) for key in uses()
  }
  times = paired.in_turns({'product': product, **kernels}, num_rounds, 1)
  return product_gflop / paired.median_s(times, 'product'), {
      (layer, kernel): batch_size * layer.flop / 1e9
      / paired.median_s(times, (layer, kernel))
      for layer, kernel in kernels
  }


def _timed(function):
  """Returns a function that runs `function` as a graph, to its end."""
  # One number of the result: a graph leaves out what is not used.
  graph = tf.function(
      lambda: tf.reshape(tf.cast(function(), tf.float32), [-1])[0]
  )
  return lambda: graph().numpy()


def _kernel(layer, kernel, batch_size, dtype):
  """Returns a function that computes one kernel of a layer."""
  # Variables: of constants, the graph would compute the result beforehand.
  x, weights, gradient = (
      tf.Variable(tf.cast(tf.random.normal(shape), dtype))
      for shape in (
          (batch_size, *layer.input_shape),
          layer.kernel_shape,
          (batch_size, *layer.output_shape),
      )
  )
  if layer.stride is None:
    return {
        FORWARD: lambda: tf.matmul(x, weights),
        KERNEL_GRADIENT: lambda: tf.matmul(x, gradient, transpose_a=True),
        INPUT_GRADIENT: lambda: tf.matmul(gradient, weights, transpose_b=True),
    }[kernel]
  how = dict(strides=[1, layer.stride, layer.stride, 1], padding='VALID')
  return {
      FORWARD: lambda: tf.nn.conv2d(x, weights, **how),
      KERNEL_GRADIENT: lambda: tf.raw_ops.Conv2DBackpropFilter(
          input=x,
          filter_sizes=layer.kernel_shape,
          out_backprop=gradient,
          **how,
      ),
      INPUT_GRADIENT: lambda: tf.raw_ops.Conv2DBackpropInput(
          input_sizes=x.shape, filter=weights, out_backprop=gradient, **how
      ),
  }[kernel]
