# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets TF-Agents 0.19 run beside newer versions of what it depends on.

`apply` is called once, when `rnd_agents` is imported, and mends:

*   TensorFlow below 2.16 with typing-extensions above 4.5 (which newer releases
    of many packages ask for, Gymnasium 1.4 among them). To tell how to trace
    the arguments of a `tf.function`, TensorFlow asks for each whether it is a
    `SupportsTracingProtocol`. Since 4.6 typing-extensions answers by a static
    look at the object's `__dict__`, which fails on the wrapper that a
    `tf.Module` puts around its dictionaries: `TypeError: this __dict__
    descriptor does not support '_DictWrapper' objects`. PPO's `policy_info`
    spec is such a dictionary, so `PolicySaver` and `PPOLearner` die of it
    (tensorflow/tensorflow#62217, tensorflow/agents#950).
*   TensorFlow 2.16 and later, where `tf.keras` is Keras 3 unless
    `TF_USE_LEGACY_KERAS` is set; TF-Agents needs Keras 2.
*   Messages that no user of this package can act on.

`mend_tf_agents` mends TF-Agents beside NumPy 2. `rnd_agents.networks` and
`rnd_agents.replay` call it: the package alone does not import TF-Agents.
"""

from importlib import metadata
from importlib import util
import logging
import os
import re
import sys
import warnings

from absl import logging as absl_logging

from rnd_agents import errors

# A user may have installed any of these in the place of `tensorflow`.
_TENSORFLOW_PACKAGES = (
    'tensorflow', 'tensorflow-cpu', 'tensorflow-macos', 'tensorflow-intel'
)


def _version(*packages):
  """Returns (major, minor) of the first package installed, or None."""
  for package in packages:
    try:
      text = metadata.version(package)
    except metadata.PackageNotFoundError:
      continue
    return tuple(int(number) for number in re.findall(r'\d+', text)[:2])
  return None


def tolerate_unreadable_objects(protocol, method):
  """Makes `isinstance(x, protocol)` answer where it raises `TypeError`.

  Every other answer stays what it was. Doing it twice changes nothing.

  Args:
    protocol: A runtime-checkable `typing_extensions.Protocol` with one method.
    method: The name of that method; an object whose class has it counts as an
      instance, the question that older versions of `Protocol` asked.
  """
  metaclass = type(protocol)
  if getattr(metaclass, 'tolerates_unreadable_objects', False):
    return

  class TolerantMeta(metaclass):
    """The metaclass of `protocol`, with a second way to answer."""

    tolerates_unreadable_objects = True

    def __instancecheck__(cls, instance):
      try:
        return super().__instancecheck__(instance)
      except TypeError:
        return cls is protocol and hasattr(type(instance), method)

  protocol.__class__ = TolerantMeta


def mend_tf_agents():
  """Lets TF-Agents sample and write specs of bytes with NumPy 2.

  TF-Agents 0.19 adds 1 to the largest value before it samples, which since
  NumPy 2 is 0 for a byte of 255: no network on images can be built. And it
  writes examples with a method of scalars that is gone, `newbyteorder`. Doing
  it twice changes nothing.
  """
  import numpy as np  # pylint: disable=g-import-not-at-top
  if int(np.__version__.split('.')[0]) < 2:
    return
  import tensorflow as tf  # pylint: disable=g-import-not-at-top
  from tf_agents.specs import tensor_spec  # pylint: disable=g-import-not-at-top
  from tf_agents.utils import example_encoding  # pylint: disable=g-import-not-at-top

  sample = tensor_spec.sample_bounded_spec
  encoder = example_encoding._get_feature_encoder  # pylint: disable=protected-access
  if hasattr(sample, 'is_of_rnd_agents'):
    return

  def sample_bounded_spec(spec, seed=None, outer_dims=None):
    if spec.dtype != tf.uint8:
      return sample(spec, seed, outer_dims)
    # The type that it draws bytes in, which has room for 256.
    wide = tensor_spec.BoundedTensorSpec(
        spec.shape,
        tf.int32,
        spec.minimum.astype(np.int32),
        spec.maximum.astype(np.int32),
    )
    return tf.cast(sample(wide, seed, outer_dims), tf.uint8)

  def get_feature_encoder(shape, dtype, *args, **kwargs):
    try:
      return encoder(shape, dtype, *args, **kwargs)
    except AttributeError:
      little_endian = np.dtype(
          tf.as_dtype(dtype).as_numpy_dtype
      ).newbyteorder('L')

    def encode(value):
      value = np.asarray(value)
      example_encoding._check_shape_and_dtype(  # pylint: disable=protected-access
          value, tuple(shape), tf.as_dtype(dtype)
      )
      data = np.require(value, little_endian, 'C').tobytes()
      return tf.train.Feature(bytes_list=tf.train.BytesList(value=[data]))

    return encode

  sample_bounded_spec.is_of_rnd_agents = True
  tensor_spec.sample_bounded_spec = sample_bounded_spec
  example_encoding._get_feature_encoder = get_feature_encoder  # pylint: disable=protected-access


_BINARY = re.compile(r' -m (train|rnd_agents)\.')

# Of packages between the user and TensorFlow: the caller to be blamed.
_NOT_THE_USER = re.compile(
    r'[/\\](rnd_agents|tf_agents|tensorflow\w*|tf_keras|keras)[/\\]'
)

# Of TensorFlow's checkpoints, and of gin while it looks for a file.
_IDLE_TALK = (
    'Sharding callback duration',
    'gin-config opened resource file',
    'system_path_file_exists:',
)


def _is_for_the_user(record):
  """Whether a user can act on what packages log; a filter of `logging`."""
  text = str(record.msg)
  if text.startswith(_IDLE_TALK):
    return False
  deprecated = text.startswith('From %s: ') and 'deprecated' in text
  return not (
      deprecated and record.args and _NOT_THE_USER.search(str(record.args[0]))
  )


def _silence():
  """Keeps from the user what only the authors of packages can act on."""
  for logger in (
      logging.getLogger('tensorflow'),
      absl_logging.get_absl_logger(),  # Not by name: absl makes it, of a class.
      logging.getLogger(),  # Of what is logged to it itself; gin does that.
  ):
    logger.addFilter(_is_for_the_user)
  for module in ('gast', 'tf_agents', 'tensorflow_probability'):
    warnings.filterwarnings(
        'ignore', category=DeprecationWarning, module=rf'{module}\.'
    )
  # Where no installer compiled it, as uv does not; told by its file.
  warnings.filterwarnings(
      'ignore', category=SyntaxWarning, module=r'.*[/\\](Box2D|tf_agents)[/\\]'
  )
  # Without a screen SDL looks for one, and speaks of XDG_RUNTIME_DIR.
  if sys.platform == 'linux' and not (
      os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')
  ):
    os.environ.setdefault('SDL_VIDEODRIVER', 'dummy')
  try:  # The old Gym, which TF-Agents imports, asks to be replaced.
    from gym_notices import notices  # pylint: disable=g-import-not-at-top
  except ImportError:
    return
  notices.notices.clear()


def _check_tf_agents():
  """Refuses to go on where the second step of the installation is missing."""
  if sys.version_info < (3, 12) or util.find_spec('tf_agents') is not None:
    return
  error = errors.MissingPackage(
      'rnd_agents needs TF-Agents, which from Python 3.12 on is installed by'
      ' a command of its own: pip install --no-deps tf-agents==0.19.0'
  )
  # `python -m train.NAME`: no binary has started that could catch an error.
  if _BINARY.search(' '.join(sys.orig_argv)):
    sys.exit(str(error))
  raise error


def _use_keras_2():
  """Makes `tf.keras` of TensorFlow 2.16 and later Keras 2.

  Raises:
    SetupError: If it is Keras 3 already.
  """
  os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')
  tensorflow = sys.modules.get('tensorflow')
  # It decides when tf.keras is first used, as tf_agents does on import.
  if tensorflow is not None and not tensorflow.keras.layers.Layer.__module__ \
      .startswith('tf_keras'):
    raise errors.SetupError(
        'TensorFlow was imported before rnd_agents and uses Keras 3, with'
        ' which TF-Agents does not work: import rnd_agents before tensorflow'
        ' and tf_agents, or set the environment variable TF_USE_LEGACY_KERAS=1'
        ' before Python starts.'
    )


def apply():
  """Mends what the installed versions need mended; see the module's text.

  It goes by the installed versions and imports TensorFlow only when there is
  something to mend in it.

  Raises:
    MissingPackage: If TF-Agents is not installed on Python 3.12 or later; a
      binary ends with its sentence.
    SetupError: If TensorFlow is in use with Keras 3.
  """
  _check_tf_agents()
  _silence()
  tensorflow = _version(*_TENSORFLOW_PACKAGES)
  if tensorflow is None:
    return
  if tensorflow >= (2, 16):
    # On 2.15 it must not be set: without the tf_keras package it makes
    # tf.keras unimportable.
    _use_keras_2()
    return
  typing_extensions = _version('typing-extensions')
  if typing_extensions is not None and typing_extensions >= (4, 6):
    from tensorflow.python.types import trace  # pylint: disable=g-import-not-at-top
    tolerate_unreadable_objects(
        trace.SupportsTracingProtocol, '__tf_tracing_type__'
    )
