# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Text as numbers of its words, and how networks recognise these numbers."""

from collections.abc import Sequence
import re
from typing import Any

import numpy as np

from rnd_agents import errors

# Numbers of what follows a text, and of words that no vocabulary has.
PADDING = 0
UNKNOWN = 1
# What no key of an environment's own is likely to be called.
_NAME = 'rnd_agents/words'


class Vocabulary:
  """Numbers the words of a fixed list, from 2 on.

  Attributes:
    num_ids: Number of different numbers.
  """

  def __init__(self, words: Sequence[str]):
    """Creates the object.

    Args:
      words: The words. Networks depend on their order: append new ones.
    """
    self._ids = {word: i for i, word in enumerate(words, UNKNOWN + 1)}
    self.num_ids = UNKNOWN + 1 + len(words)

  def encode(self, text: str, length: int) -> np.ndarray:
    """Returns the numbers of a text's words, uint8 [length].

    Args:
      text: A text; signs such as commas are words, too.
      length: Largest number of words.

    Raises:
      InvalidValue: If the text is longer.
    """
    words = re.findall(r'\w+|[^\w\s]', text.lower())
    if len(words) > length:
      raise errors.InvalidValue(
          f'{text!r} has {len(words)} words, and there is room for {length}.'
      )
    ids = np.full(length, PADDING, np.uint8)
    ids[: len(words)] = [self._ids.get(word, UNKNOWN) for word in words]
    return ids


def spec_name(name: str) -> str:
  """Returns the name of a spec of words, by which networks recognise it."""
  return f'{name}/{_NAME}'


def is_words(spec: Any) -> bool:
  """Returns whether a tensor or array spec holds the numbers of words."""
  dtype = np.dtype(getattr(spec.dtype, 'as_numpy_dtype', spec.dtype))
  return (
      dtype.kind in 'iu'
      and len(spec.shape) == 1
      and (spec.name or '').endswith(f'/{_NAME}')
  )
