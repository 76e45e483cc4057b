# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random numbers whose position a checkpoint holds."""

from collections.abc import Iterator
import contextlib
from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp


@contextlib.contextmanager
def seeded(generator: tf.random.Generator) -> Iterator[None]:
  """Lets distributions that sample without a seed draw it from a generator.

  TF-Agents' SAC and TD3 sample in their losses, and some policies in `action`,
  by operations that keep their position inside the kernel, where no checkpoint
  reaches it.

  Args:
    generator: A `tf.random.Generator`; whoever saves checkpoints tracks it.
  """
  distribution_class = tfp.distributions.Distribution
  sample = distribution_class.sample

  def drawing(
      self: tfp.distributions.Distribution,
      sample_shape: Any = (),
      seed: Any = None,
      *args: Any,
      **kwargs: Any,
  ) -> tf.Tensor:
    if callable(seed):  # A `SeedStream`, which returns None without a seed.
      seed = seed()
    if seed is None:
      # Two int32 are a seed without a state.
      seed = generator.uniform_full_int([2], dtype=tf.int32)
    return sample(self, sample_shape, seed, *args, **kwargs)

  distribution_class.sample = drawing
  try:
    yield
  finally:
    distribution_class.sample = sample
