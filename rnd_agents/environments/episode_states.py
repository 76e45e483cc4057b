# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The running episodes of a vector environment, saved and brought back."""

from typing import Any

from gymnasium import vector
import numpy as np
import tensorflow as tf
from tf_agents.typing import types

from rnd_agents.environments import errors

# Of environments stepped in this process or one each, which replay them.
_EPISODES = 'single environments'


def _kind(vector_env):
  return type(vector_env.unwrapped).__name__


def save(vector_env: vector.VectorEnv, is_seeded: bool) -> Any:
  """Returns the running episodes, picklable.

  Args:
    vector_env: to ask.
    is_seeded: whether its environments are wrapped in `SeededEpisodes`.

  Raises:
    NotImplementedError: it has no way to tell.
  """
  if is_seeded:
    return _EPISODES, list(vector_env.call('get_episode_state'))
  get_state = getattr(vector_env, 'get_state', None)
  if get_state is None:
    raise NotImplementedError(
        f'The episodes of {type(vector_env.unwrapped).__name__} cannot be'
        ' saved: it has no get_state() and set_state(). A resumed run must'
        " begin new ones, or use vectorization='sync' or 'async', which"
        ' replay them.'
    )
  return _kind(vector_env), get_state()


def restore(vector_env: vector.VectorEnv, is_seeded: bool, state: Any) -> Any:
  """Brings `state` of `save` back and returns the batched observation.

  Args:
    vector_env: with as many environments.
    is_seeded: as in `save`.
    state: of `save`.

  Returns:
    What the vector environment gave last, or None if its `set_state` does not
    say.

  Raises:
    StateNotRestored: an episode goes otherwise than it went, or the state is
      of another kind of vector environment.
    ValueError: `state` is of another number of environments.
  """
  kind, state = state
  now = _EPISODES if is_seeded else _kind(vector_env)
  if kind != now:
    raise errors.StateNotRestored(
        f'It was saved by {kind}, and this is {now}: load_environment.'
        'vectorization was another one.'
    )
  if not is_seeded:
    return vector_env.set_state(state)
  if len(state) != vector_env.num_envs:
    raise ValueError(
        f'The saved state is of {len(state)} environments, and there are '
        f'{vector_env.num_envs}.'
    )
  # The vector environment must not begin a new episode of its own accord.
  vector_env.reset()
  vector_env.set_attr('saved_state', list(state))
  observations = vector_env.call('restore_saved_state')
  for observation in observations:
    if isinstance(observation, errors.StateNotRestored):
      raise observation
  space = vector_env.single_observation_space
  return vector.utils.concatenate(
      space,
      observations,
      vector.utils.create_empty_array(space, vector_env.num_envs),
  )


def check_restored(
    saved: types.NestedArray, restored: types.NestedArray
) -> None:
  """Raises StateNotRestored unless two batches of observations are equal."""
  tf.nest.assert_same_structure(saved, restored)
  for one, other in zip(tf.nest.flatten(saved), tf.nest.flatten(restored)):
    for i, (row, other_row) in enumerate(zip(one, other, strict=True)):
      if not np.array_equal(row, other_row):
        raise errors.StateNotRestored(
            f'Environment {i}: replayed from its seed, the episode shows'
            ' another observation than it did. Its reset(seed=...) must make'
            ' the episode depend on nothing but the seed and the actions: no'
            ' random numbers of other sources, no memory of earlier episodes.'
        )
