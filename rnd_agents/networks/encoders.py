# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds encoders from any observation to one feature vector."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import functools
from typing import Any, NamedTuple

import gin
import tensorflow as tf
from tf_agents.networks import encoding_network
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import observations
from rnd_agents import ranges
from rnd_agents.networks import equal_rows
from rnd_agents.networks import keras_layers
from rnd_agents.networks import precision

# Makes a layer from images [B, H, W, C] to features [B, F]; called with the
# keywords activation, scale and dtype.
ImageLayerFn = Callable[..., tf.keras.layers.Layer]

# Convolutions as (filters, kernel size, stride), VALID padding.
# Mnih et al., 2015; the RND authors' RND networks use the same.
NATURE_CONV_LAYERS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
# For pictures too small for them: 24x24 pixels become 800 features. Without
# strides they would be 25,600, whose dense layer takes most of the time.
SMALL_CONV_LAYERS = ((16, 4, 2), (32, 3, 2))
# For grids of a few cells, such as MiniGrid's 7x7 view.
GRID_CONV_LAYERS = ((32, 3, 1), (64, 3, 1))

_SMALLEST_NATURE_IMAGE = 36
_SMALLEST_SMALL_IMAGE = 12


class Pixels(NamedTuple):
  """How convolutions see byte images: (p^exponent - mean) / deviation.

  p is a pixel, scaled to [0, 1].
  """

  exponent: float = 1.0
  mean: float = 0.0
  deviation: float = 1.0


_SCALED_PIXELS = Pixels()


def picture_shape(spec: tf.TensorSpec) -> tuple[int, ...] | None:
  """Returns [height, width, channels] of what convolutions see of a spec.

  None for everything else than pictures and grids (`observations.treatment`).
  """
  shape = observations.treatment(spec).encoded_shape
  return shape if len(shape) == 3 else None


def float_spec(
    observation_spec: types.NestedTensorSpec
) -> types.NestedTensorSpec:
  """Returns float32 specs of a nest after `encode_discrete`."""
  return tf.nest.map_structure(
      lambda spec: tf.TensorSpec(
          observations.treatment(spec).encoded_shape, tf.float32, spec.name
      ),
      observation_spec,
  )


def encode_discrete(value: tf.Tensor, spec: tf.TensorSpec) -> tf.Tensor:
  """Returns what `observations.Treatment.encode` makes of an observation."""
  return observations.treatment(spec).encode(value)


def discrete_spec(num_values: int) -> tensor_spec.BoundedTensorSpec:
  """Returns the spec of a choice among `num_values` values."""
  return tensor_spec.BoundedTensorSpec([], tf.int64, 0, num_values - 1)


@tf.keras.utils.register_keras_serializable('rnd_agents')
class EncodedInput(tf.keras.layers.Layer):
  """Encodes observations; without a picture, to flat float32 vectors."""

  def __init__(
      self,
      treatment: Sequence[Any],
      flattens: bool = True,
      **kwargs: Any,
  ):
    """Creates the layer.

    Args:
      treatment: A `Treatment`, or a sequence of its attributes.
      flattens: Whether to scale and flatten.
      **kwargs: Arguments of `tf.keras.layers.Layer`.
    """
    super().__init__(**kwargs)
    # In a tuple Keras would look for layers.
    self._treatment = functools.partial(observations.Treatment, *treatment)
    self._flatten = tf.keras.layers.Flatten() if flattens else None

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    treatment = self._treatment()
    encoded = treatment.encode(inputs)
    if self._flatten is None:
      return encoded
    encoded = tf.cast(encoded, tf.float32)
    if treatment.scale != 1.0:
      encoded *= treatment.scale
    return self._flatten(encoded)

  def get_config(self) -> dict[str, Any]:
    return dict(
        super().get_config(),
        treatment=list(self._treatment()),
        flattens=self._flatten is not None,
    )


class ScalesIntegers(network.Network):
  """A network that also takes the integers that agents whiten.

  Its `input_tensor_spec` has float32 in their place: whitened numbers pass,
  integers are scaled by their bounds (`observations.scaled`).
  """

  @property
  def observation_spec(self) -> types.NestedTensorSpec:
    """Specs of the observations, with integers."""
    return super().input_tensor_spec

  @property
  def input_tensor_spec(self) -> types.NestedTensorSpec:
    return observations.network_spec(self.observation_spec)

  def __call__(
      self, inputs: types.NestedTensor, *args: Any, **kwargs: Any
  ) -> Any:
    return super().__call__(
        observations.scaled(inputs, self.observation_spec), *args, **kwargs
    )


def environment_spec(net: network.Network) -> types.NestedTensorSpec:
  """Returns the specs of what environments show a network, with integers.

  What calls the network with observations of environments has these as its own
  `input_tensor_spec`.
  """
  if isinstance(net, ScalesIntegers):
    return net.observation_spec
  return net.input_tensor_spec


class Encoder(ScalesIntegers, equal_rows.MergesEqualRows):
  """An `EncodingNetwork` of what environments show."""


def default_conv_layers(shape: Sequence[int]) -> keras_layers.ConvLayers:
  """Returns convolutions that fit [height, width, ...]; () below 5x5."""
  side = min(shape[:2])
  if side >= _SMALLEST_NATURE_IMAGE:
    return NATURE_CONV_LAYERS
  if side >= _SMALLEST_SMALL_IMAGE:
    return SMALL_CONV_LAYERS
  return GRID_CONV_LAYERS if side >= observations.SMALLEST_GRID else ()


def holds_pixels(spec: tf.TensorSpec) -> bool:
  """Returns whether an image holds brightness from 0 to 255."""
  return observations.treatment(spec).kind == observations.PIXELS


def input_layer(
    spec: tf.TensorSpec,
    conv_layers: keras_layers.ConvLayers | None,
    activation: keras_layers.Activation,
    compute_dtype: str = precision.FLOAT32,
    image_layer_fn: ImageLayerFn | None = None,
    pixels: Pixels = _SCALED_PIXELS,
) -> tf.keras.layers.Layer:
  """Returns the layer that turns one leaf into a flat float vector."""
  treatment = observations.treatment(spec)
  if treatment.kind == observations.WORDS:
    return keras_layers.WordsInput(treatment.depth)
  image_layer_fn = _image_layer_fn(spec, conv_layers, image_layer_fn)
  if image_layer_fn is None:
    return EncodedInput(treatment)
  dtype = precision.layer_policy(compute_dtype)
  layers, scale = [], treatment.scale
  if holds_pixels(spec) and pixels != _SCALED_PIXELS:
    scale = scale**pixels.exponent
    layers.append(
        keras_layers.PixelTransform(
            pixels.exponent, pixels.mean / scale, dtype=dtype
        )
    )
    scale /= pixels.deviation
  layer = image_layer_fn(activation=activation, scale=scale, dtype=dtype)
  if not isinstance(layer, tf.keras.layers.Layer):
    raise errors.InvalidType(
        'create_encoder.image_layer_fn must return a Keras layer, got'
        f' {layer!r}.'
    )
  layers.append(layer)
  if not treatment.keeps_layout:
    layers.insert(0, EncodedInput(treatment, flattens=False))
  return layers[0] if len(layers) == 1 else tf.keras.Sequential(layers)


def _image_layer_fn(
    spec: tf.TensorSpec,
    conv_layers: keras_layers.ConvLayers | None,
    image_layer_fn: ImageLayerFn | None,
) -> ImageLayerFn | None:
  """Returns the function that makes an image's layer; None for other leaves."""
  shape = picture_shape(spec)
  if shape is None:
    return None
  if image_layer_fn is None:
    layers = default_conv_layers(shape) if conv_layers is None else conv_layers
    if layers:
      return functools.partial(keras_layers.ImageInput, layers)
  return image_layer_fn


def preprocessing(
    observation_spec: types.NestedTensorSpec,
    conv_layers: keras_layers.ConvLayers | None,
    activation: keras_layers.Activation,
    compute_dtype: str = precision.FLOAT32,
    image_layer_fn: ImageLayerFn | None = None,
    pixels: Pixels = _SCALED_PIXELS,
) -> dict[str, Any]:
  """Returns the arguments of an `EncodingNetwork` that preprocess any leaf.

  Args:
    observation_spec: A nest of tensor specs.
    conv_layers: As for `create_encoder`.
    activation: Keras activation of the convolutions.
    compute_dtype: Type that the convolutions compute in, see
      `precision.layer_policy`.
    image_layer_fn: As for `create_encoder`.
    pixels: What convolutions see of byte images.

  Returns:
    Its arguments `preprocessing_layers` and `preprocessing_combiner`, by name.
  """
  precision.check_globals()
  layers = tf.nest.map_structure(
      lambda spec: input_layer(
          spec,
          conv_layers,
          activation,
          compute_dtype,
          image_layer_fn,
          pixels,
      ),
      observation_spec,
  )
  several = len(tf.nest.flatten(layers)) > 1
  return dict(
      preprocessing_layers=layers,
      preprocessing_combiner=tf.keras.layers.Concatenate() if several else None,
  )


@gin.configurable(
    module='rnd_agents',
    denylist=[  # What `create_networks` and `create_q_networks` pass.
        'observation_spec',
        'fc_layer_params',
        'conv_layers',
        'activation',
        'compute_dtype',
        'name',
    ],
)
def create_encoder(
    observation_spec: types.NestedTensorSpec,
    fc_layer_params: Sequence[int] = (64, 64),
    conv_layers: keras_layers.ConvLayers | None = None,
    activation: keras_layers.Activation = 'tanh',
    conv_activation: keras_layers.Activation = 'relu',
    image_layer_fn: ImageLayerFn | None = None,
    pixel_exponent: float = 1.0,
    pixel_mean: float = 0.0,
    pixel_deviation: float = 1.0,
    layer_norm: bool = False,
    compute_dtype: str = precision.FLOAT32,
    merge_equal_observations: bool = False,
    name: str = 'Encoder',
) -> encoding_network.EncodingNetwork:
  """Builds an encoder for flat, image, discrete and nested observations.

  Args:
    observation_spec: A nest of tensor specs. Pictures pass convolutions,
      discrete entries become one-hot, all others are cast to float32 and
      flattened: `rnd_agents.observations` has the table. The leaves' features
      are concatenated.
    fc_layer_params: Units of the fully connected layers after that.
    conv_layers: Tuples (filters, kernel size, stride); None chooses them by the
      image's size, () flattens images without convolutions.
    activation: Keras activation of the fully connected layers.
    conv_activation: Keras activation of the convolutions.
    image_layer_fn: Function of (activation, scale, dtype), by keyword, that
      returns a Keras layer from images [B, H, W, C] to features [B, F], such as
      `ResNet`; in place of `conv_layers`. The layer has `get_config`; its class
      is registered by `tf.keras.utils.register_keras_serializable` if other
      layers come before it, which change pixels or the order of their axes.
    pixel_exponent: Exponent of the pixels of byte images, scaled to [0, 1].
      Below 1 it brightens dark pixels: with 0.5 a pixel of 16 of 255 counts
      0.25 and not 0.06. 1 changes nothing.
    pixel_mean: What is subtracted from these powers. With mean and deviation of
      the task's pixels a network learns sooner than from bytes over 255, which
      are all positive: 0.25 and 0.25 for Crafter's.
    pixel_deviation: What the difference is divided by.
    layer_norm: Whether each fully connected layer has layer normalization (Ba
      et al., 2016) before its activation.
    compute_dtype: Type that all layers compute in, see
      `precision.layer_policy`.
    merge_equal_observations: Whether equal observations of a batch are computed
      once: where many are, as in MiniGrid, the network takes down to a third
      of the time. Numbers change by rounding.
    name: Name of the network.

  Returns:
    An `EncodingNetwork` with orthogonal weights (gain sqrt 2) and zero biases.
    Its output has the type `compute_dtype`.
  """
  ranges.check_flags(
      'create_encoder.',
      layer_norm=layer_norm,
      merge_equal_observations=merge_equal_observations,
  )
  keras_layers.check_activation(
      'create_encoder.conv_activation', conv_activation
  )
  if image_layer_fn is not None:
    _check_image_layer_fn(image_layer_fn, observation_spec, conv_layers)
  pixels = Pixels(pixel_exponent, pixel_mean, pixel_deviation)
  _check_pixels(pixels, observation_spec, conv_layers, image_layer_fn)
  inputs = preprocessing(
      observation_spec,
      conv_layers,
      conv_activation,
      compute_dtype,
      image_layer_fn,
      pixels,
  )
  if layer_norm:
    if not fc_layer_params:
      raise errors.InvalidValue(
          'create_encoder.layer_norm has no effect: there are no fully'
          ' connected layers (fc_layer_params).'
      )
    # An `EncodingNetwork` has nothing between a layer and its activation.
    inputs['preprocessing_combiner'] = keras_layers.NormalizedDense(
        fc_layer_params,
        activation,
        dtype=precision.layer_policy(compute_dtype),
    )
    fc_layer_params = ()
  with _explaining_copies(image_layer_fn):
    return Encoder(
        observation_spec,
        **inputs,
        fc_layer_params=fc_layer_params,
        activation_fn=tf.keras.activations.get(activation),
        kernel_initializer=keras_layers.FreshOrthogonal(2**0.5),
        dtype=precision.layer_policy(compute_dtype),
        merge_equal_observations=merge_equal_observations,
        name=name,
    )


@contextlib.contextmanager
def _explaining_copies(image_layer_fn: ImageLayerFn | None) -> Iterator[None]:
  """Raises InvalidType where Keras cannot copy layers, as networks do."""
  try:
    yield
  except errors.UserError:
    raise
  except (NotImplementedError, TypeError, ValueError) as error:
    if image_layer_fn is None:
      raise
    cause = errors.message_of(error).strip().partition('\n')[0]
    raise errors.InvalidType(
        'create_encoder.image_layer_fn must return a Keras layer that has'
        ' get_config, and whose class is registered by'
        ' tf.keras.utils.register_keras_serializable if other layers come'
        f' before it, to be copied; Keras says: {cause}'
    ) from error


def dense_layers(
    fc_layer_params: Sequence[int],
    num_outputs: int,
    gain: float = 1.0,
    compute_dtype: str = precision.FLOAT32,
    name: str | None = None,
) -> tf.keras.Sequential:
  """Returns fully connected layers: ReLU after each but the last.

  Args:
    fc_layer_params: Units of the hidden layers.
    num_outputs: Units of the last layer.
    gain: Gain of the last layer's orthogonal kernel; that of others is sqrt 2.
    compute_dtype: Type that the hidden layers compute in, as for
      `precision.layer_policy`; the last one computes in float32.
    name: Name of the `tf.keras.Sequential`.
  """
  layers = [
      tf.keras.layers.Dense(
          units,
          activation='relu',
          kernel_initializer=keras_layers.FreshOrthogonal(2**0.5),
          dtype=precision.layer_policy(compute_dtype),
      )
      for units in fc_layer_params
  ]
  layers.append(
      tf.keras.layers.Dense(
          num_outputs, kernel_initializer=keras_layers.FreshOrthogonal(gain)
      )
  )
  return tf.keras.Sequential(layers, name=name)


def _check_image_layer_fn(
    image_layer_fn: Any,
    observation_spec: types.NestedTensorSpec,
    conv_layers: keras_layers.ConvLayers | None,
) -> None:
  """Raises errors for functions that make no layer or have no effect."""
  owner = 'create_encoder.image_layer_fn'
  if not callable(image_layer_fn) or isinstance(
      image_layer_fn, tf.keras.layers.Layer
  ):
    raise errors.InvalidType(
        f'{owner} must be a function that makes a layer, such as @ResNet'
        f' (without brackets), got {image_layer_fn!r}.'
    )
  if conv_layers is not None:
    raise errors.InvalidValue(
        f'{owner} takes the place of conv_layers={conv_layers}: leave one of'
        ' them out.'
    )
  if not any(map(picture_shape, tf.nest.flatten(observation_spec))):
    raise errors.InvalidValue(
        f'{owner} has no effect: no observation is an image [height, width,'
        ' channels].'
    )


def _check_pixels(
    pixels: Pixels,
    observation_spec: types.NestedTensorSpec,
    *image_settings: Any,
) -> None:
  """Raises InvalidValue for settings out of range or without effect."""
  values = {f'pixel_{name}': value for name, value in pixels._asdict().items()}
  ranges.check(
      dict(
          pixel_exponent=ranges.ABOVE_0,
          pixel_mean=ranges.WITHIN_0_AND_1,
          pixel_deviation=ranges.ABOVE_0,
      ),
      values,
      'create_encoder.',
  )
  changed = [
      name
      for (name, value), default in zip(
          values.items(), _SCALED_PIXELS, strict=True
      )
      if value != default
  ]
  if changed and not any(
      holds_pixels(spec) and _image_layer_fn(spec, *image_settings)
      for spec in tf.nest.flatten(observation_spec)
  ):
    raise errors.InvalidValue(
        f'create_encoder.{changed[0]} has no effect: no observation is an'
        ' image of bytes, [height, width, channels], that passes convolutions.'
    )
