# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Floating-point types that large layers compute in.

bfloat16 halves the memory traffic of convolutions and hidden layers, and
processors with units for it multiply several times as fast. It has the range of
float32 with 8 bits of precision instead of 24. So weights, statistics, losses,
recurrent states and the last layer of every network stay float32.
"""

import tensorflow as tf

from rnd_agents import errors

FLOAT32 = 'float32'
BFLOAT16 = 'bfloat16'
AUTO = 'auto'

# Linux's names of matrix units and vector instructions for bfloat16.
_CPU_FLAGS = frozenset(('amx_bf16', 'avx512_bf16'))
# NVIDIA's Ampere and later GPUs.
_LEAST_COMPUTE_CAPABILITY = (8, 0)


def layer_policy(compute_dtype: str) -> tf.keras.mixed_precision.Policy:
  """Returns the Keras policy of layers that may compute in less than float32.

  Args:
    compute_dtype: 'float32'; 'bfloat16'; or 'auto', which is bfloat16 if the
      machine has instructions for it.

  Returns:
    A `tf.keras.mixed_precision.Policy`; variables are float32 in any case.
  """
  if compute_dtype not in (AUTO, FLOAT32, BFLOAT16):
    raise errors.InvalidValue(
        f"compute_dtype must be 'auto', 'float32' or 'bfloat16', got"
        f' {compute_dtype!r}.'
    )
  if compute_dtype == AUTO:
    compute_dtype = BFLOAT16 if has_fast_bfloat16() else FLOAT32
  return tf.keras.mixed_precision.Policy(
      'mixed_bfloat16' if compute_dtype == BFLOAT16 else FLOAT32
  )


def check_globals() -> None:
  """Refuses settings of TensorFlow and Keras that other code has left behind.

  They hold for the whole process and change what layers compute.

  Raises:
    InvalidValue: If there are any.
  """
  policy = tf.keras.mixed_precision.global_policy().name
  floatx = tf.keras.backend.floatx()
  if floatx != FLOAT32:
    raise errors.InvalidValue(
        f'Keras computes in {floatx}, and rnd_agents in float32: call'
        " tf.keras.backend.set_floatx('float32') first."
    )
  if policy != FLOAT32:
    raise errors.InvalidValue(
        f"Keras's global policy is {policy!r}, which would change parts of the"
        " networks: call tf.keras.mixed_precision.set_global_policy('float32'),"
        " and set create_networks.compute_dtype = 'bfloat16' or"
        ' create_q_networks.compute_dtype to compute faster.'
    )
  if tf.keras.backend.image_data_format() != 'channels_last':
    raise errors.InvalidValue(
        'Keras expects channels first, and rnd_agents gives images [height,'
        ' width, channels]: call'
        " tf.keras.backend.set_image_data_format('channels_last')."
    )
  if hasattr(tf.Tensor, 'astype'):
    raise errors.InvalidValue(
        'tf.experimental.numpy.experimental_enable_numpy_behavior() changes the'
        ' types of what TensorFlow computes, and cannot be undone: start a new'
        ' process, or restart the kernel, without it.'
    )
  if not tf.compat.v1.executing_eagerly_outside_functions():
    raise errors.InvalidValue(
        'Eager execution of TensorFlow 2 is disabled: start a new process'
        ' without tf.compat.v1.disable_eager_execution().'
    )


def has_fast_bfloat16() -> bool:
  """Returns whether the device has instructions for bfloat16."""
  gpus = tf.config.list_physical_devices('GPU')
  if gpus:
    return all(
        tf.config.experimental.get_device_details(gpu).get(
            'compute_capability', (0, 0)
        )
        >= _LEAST_COMPUTE_CAPABILITY
        for gpu in gpus
    )
  return bool(_CPU_FLAGS & cpu_flags())


def cpu_flags() -> frozenset[str]:
  """Returns the flags of the first core in /proc/cpuinfo, if there is one."""
  return frozenset(cpu_info('flags').split())


def cpu_info(name: str) -> str:
  """Returns an entry of the first core in /proc/cpuinfo; '' if it has none."""
  try:
    with open('/proc/cpuinfo', encoding='utf-8') as file:
      for line in file:
        entry, _, value = line.partition(':')
        if entry.strip() == name:
          return value.strip()
  except OSError:
    pass
  return ''
