# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keeps the policy that evaluated best while training continues."""

from collections.abc import Iterator
import contextlib
import os

from absl import logging
import tensorflow as tf
from tf_agents.policies import tf_policy


class BestPolicy:
  """The variables of a policy as they were at its best evaluation, in a file.

  A later policy may be worse: training forgets, or evaluations vary.

  Attributes:
    return_mean: Mean return of that evaluation; None before the first one. Part
      of a checkpoint, unlike the file: what a resumed run repeats writes it
      again. `in_place` sets it to that of the file, which differs where a run
      was killed and did not repeat its evaluations.
  """

  def __init__(self, policy: tf_policy.TFPolicy, folder: str):
    """Creates the keeper.

    Args:
      policy: The policy that is evaluated.
      folder: Folder of the file.
    """
    self.return_mean: float | None = None
    self._variables = list(policy.variables())
    self._path = os.path.join(folder, 'variables')
    self._return_mean = tf.Variable(0.0, dtype=tf.float64)
    self._best = tf.train.Checkpoint(
        variables=self._variables, return_mean=self._return_mean
    )

  def after_evaluation(self, return_mean: float | None) -> None:
    """Writes the variables if no earlier evaluation was as good."""
    if return_mean is None or (
        self.return_mean is not None and return_mean <= self.return_mean
    ):
      return
    self._return_mean.assign(return_mean)
    self._best.write(self._path)
    self.return_mean = return_mean

  @contextlib.contextmanager
  def in_place(self) -> Iterator[bool]:
    """Gives the policy its best variables within a block.

    Yields:
      Whether there are any; a file that cannot be read is named in the log.
    """
    last = [variable.numpy() for variable in self._variables]
    try:
      yield self._read()
    finally:
      for variable, value in zip(self._variables, last, strict=True):
        variable.assign(value)

  def _read(self) -> bool:
    if self.return_mean is None:
      return False
    try:
      self._best.read(self._path).assert_existing_objects_matched()
    except (tf.errors.OpError, AssertionError) as error:
      logging.warning(
          'No best_policy: %s cannot be read (%s).', self._path, error
      )
      return False
    self.return_mean = float(self._return_mean.numpy())
    return True
