# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random experience of several environments, with episode ends anywhere."""

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

OBSERVATION_SPEC = tf.TensorSpec([3], tf.float32)
SPECS = (
    ts.time_step_spec(OBSERVATION_SPEC),
    tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2),
)
NUM_PLACES = 6


def rows(seed, num_environments=4, num_rows=31, num_actions=3):
  """Returns a `Trajectory` [B, R]; observations are of a few places."""
  rng = np.random.default_rng(seed)
  shape = [num_environments, num_rows]
  step_type = np.full(shape, ts.StepType.MID)
  step_type[:, 0] = ts.StepType.FIRST
  for b in range(num_environments):
    for t in range(1, num_rows):
      if step_type[b, t - 1] == ts.StepType.LAST:
        step_type[b, t] = ts.StepType.FIRST
      elif rng.random() < 0.25:
        step_type[b, t] = ts.StepType.LAST
  places = rng.normal(size=[NUM_PLACES, 3]).astype(np.float32)
  next_step_type = np.roll(step_type, -1, axis=1)
  return tf.nest.map_structure(
      tf.constant,
      trajectory.Trajectory(
          step_type=step_type.astype(np.int32),
          observation=places[rng.integers(NUM_PLACES, size=shape)],
          action=rng.integers(num_actions, size=shape),
          policy_info=(),
          next_step_type=next_step_type.astype(np.int32),
          reward=rng.normal(size=shape).astype(np.float32),
          discount=np.ones(shape, np.float32),
      ),
  )


def cut(experience, length=7):
  """Cuts rows [B, R] into rollouts [B, length] that share a row each."""
  for start in range(0, experience.step_type.shape[1] - 1, length - 1):
    yield tf.nest.map_structure(
        lambda x, start=start: x[:, start : start + length], experience
    )


def cut_unevenly(experience, seed):
  """Cuts rows as `cut` does, into parts of other lengths in each environment.

  Shorter ones have padding before them, as those of `hierarchy.Decisions`: rows
  of step type LAST, with observations of no matter what.
  """
  rng = np.random.default_rng(seed)
  num_environments, num_rows = experience.step_type.shape
  starts = np.zeros(num_environments, int)
  while (starts < num_rows - 1).any():
    ends = np.minimum(
        starts + rng.integers(7, size=num_environments), num_rows - 1
    )
    columns = np.arange((ends - starts).max() + 1)
    columns = ends[:, np.newaxis] - columns[::-1]
    is_padding = columns < starts[:, np.newaxis]
    part = tf.nest.map_structure(
        lambda x, at=columns % num_rows: tf.gather(x, at, batch_dims=1),
        experience,
    )
    step_type = tf.where(is_padding, ts.StepType.LAST, part.step_type)
    yield part.replace(
        step_type=step_type,
        next_step_type=tf.concat([step_type[:, 1:], step_type[:, -1:]], axis=1),
    )
    starts = ends


def by_environment(transitions):
  """Yields (b, t, begins, observation, next observation) of the valid ones."""
  observation, following, begins, valid = (
      x.numpy()
      for x in (
          transitions.observation,
          transitions.next_observation,
          transitions.is_first,
          transitions.valid,
      )
  )
  for b, t in zip(*np.where(valid)):
    yield b, t, begins[b, t], observation[b, t], following[b, t]
