# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets TF-Agents 0.19 run beside newer versions of what it depends on.

`apply` is called once, when `rnd_agents` is imported, and mends three things:

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
*   The old Gym asks at each import to be replaced by Gymnasium, which is what
    this package uses.
"""

from importlib import metadata
import os
import re

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


def _silence_gym():
  """Keeps the old Gym, which TF-Agents imports, from asking to be replaced."""
  try:
    from gym_notices import notices  # pylint: disable=g-import-not-at-top
  except ImportError:
    return
  notices.notices.clear()


def apply():
  """Mends what the installed versions need mended; see the module's text.

  It goes by the installed versions and imports TensorFlow only when there is
  something to mend in it.
  """
  _silence_gym()
  tensorflow = _version(*_TENSORFLOW_PACKAGES)
  if tensorflow is None:
    return
  if tensorflow >= (2, 16):
    # Must be there before the first use of tf.keras. On 2.15 it must not be
    # there: without the tf_keras package it makes tf.keras unimportable.
    os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')
    return
  typing_extensions = _version('typing-extensions')
  if typing_extensions is not None and typing_extensions >= (4, 6):
    from tensorflow.python.types import trace  # pylint: disable=g-import-not-at-top
    tolerate_unreadable_objects(
        trace.SupportsTracingProtocol, '__tf_tracing_type__'
    )
