# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the adapter asks of a vector environment."""

from typing import Optional

from gymnasium import vector
import numpy as np

from rnd_agents.environments import errors


def misshaped(
    vector_env: vector.VectorEnv,
) -> Optional[errors.EnvironmentFailure]:
  """Returns a failure naming the first observation that fits no batch."""
  space = vector_env.single_observation_space
  # SyncVectorEnv's, which stack() has just refused.
  latest = getattr(vector_env.unwrapped, '_env_obs', ())
  for i, observation in enumerate(latest):
    if observation is None or _fits(space, observation):
      continue
    shape = np.shape(observation)
    return errors.EnvironmentFailure(
        f'its observation of type {type(observation).__name__} and shape '
        f'{shape} is not in its space {space}.',
        environment_index=i,
    )
  return None


def _fits(space, observation):
  """Whether the observation can stand in a batch, whatever its numbers."""
  try:
    vector.utils.concatenate(
        space, [observation], vector.utils.create_empty_array(space, 1)
    )
  except Exception:  # pylint: disable=broad-exception-caught
    return False  # NumPy's errors, KeyError, AttributeError ...
  return True


def check_vector_env(vector_env: vector.VectorEnv) -> None:
  """Raises TypeError or ValueError unless it resets at the next step."""
  if not isinstance(vector_env, vector.VectorEnv):
    raise TypeError(
        'VectorPyEnvironment needs a gymnasium.vector.VectorEnv, not '
        f'{type(vector_env).__name__}. For a gymnasium.Env, use '
        'single_environment.from_gymnasium(env).'
    )
  # Of the two places that name the mode, the metadata of SyncVectorEnv is the
  # dict of the environment's class, which a later vector of it overwrites.
  mode = getattr(
      vector_env.unwrapped,
      'autoreset_mode',
      vector_env.metadata.get('autoreset_mode'),
  )
  if mode != vector.AutoresetMode.NEXT_STEP:
    raise ValueError(
        f'{vector_env} has autoreset mode {mode}, which would lose the last '
        'observation of an episode. Make it with autoreset_mode='
        'gymnasium.vector.AutoresetMode.NEXT_STEP.'
    )
