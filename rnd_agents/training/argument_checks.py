# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a run refuses before it starts, and what it says then."""

import numbers

import gin


def check_all(name, arguments):
  """Refuses `Arguments` that cannot run or have no effect."""
  check_positive(
      name,
      num_env_steps=arguments.num_env_steps,
      num_environments=arguments.num_environments,
      num_eval_episodes=arguments.num_eval_episodes,
      eval_interval_env_steps=arguments.eval_interval_env_steps,
      checkpoint_interval_iterations=arguments.checkpoint_interval_iterations,
      num_checkpoints=arguments.num_checkpoints,
      **without_none(environment_timeout_s=arguments.environment_timeout_s),
  )
  if arguments.seed < 0:
    raise ValueError(
        f'The seed must not be negative, got {arguments.seed}.'
    )
  if not 0 <= arguments.warm_up_env_steps < arguments.num_env_steps:
    raise ValueError(
        f'{name}.warm_up_env_steps must be at least 0 and less than'
        f' num_env_steps, which include it: got {arguments.warm_up_env_steps}'
        f' and {arguments.num_env_steps}.'
    )
  rate = arguments.stop_at_success_rate
  if rate is not None and not (
      isinstance(rate, numbers.Real) and 0 <= rate <= 1
  ):
    raise ValueError(
        f'{name}.stop_at_success_rate must be None or a number from 0 to 1, got'
        f' {rate!r}.'
    )
  check_unbound(f'{name}.root_dir', 'the flag --root_dir')
  check_unbound(f'{name}.seed', 'the flag --seed')
  _check_scopes()
  for scope in ('', 'train/', 'eval/'):
    check_unbound(f'{scope}load_environment.seed', 'the flag --seed')
    check_unbound(
        f'{scope}load_environment.num_environments',
        f'{name}.num_environments and num_eval_episodes',
    )


def _check_scopes():
  """Refuses environments in scopes that nobody enters."""
  # Gin has no public list of its bindings. pylint: disable=protected-access
  for scope, selector in gin.config._CONFIG:
    if selector == 'rnd_agents.load_environment' and scope not in (
        '', 'train', 'eval'
    ):
      raise ValueError(
          f'{scope}/load_environment has no effect: the scopes are train/ and'
          ' eval/.'
      )


def check_unbound(name, instead):
  """Refuses a binding that the arguments of a call would hide."""
  try:
    gin.query_parameter(name)
  except ValueError:
    return
  raise ValueError(f'{name} has no effect: use {instead}.')


def without_none(**values):
  """Those values that are not None."""
  return {k: v for k, v in values.items() if v is not None}


def check_positive(owner, **values):
  """Raises ValueError where a number is not above 0."""
  for name, value in values.items():
    if callable(value):  # A schedule of TensorFlow.
      continue
    if not isinstance(value, (numbers.Real, type(None))):
      raise ValueError(f'{owner}.{name} must be a number, got {value!r}.')
    if not (value or 0) > 0:
      raise ValueError(f'{owner}.{name} must be above 0, got {value}.')


def check_alike(train_env, eval_env):
  """Refuses an evaluation environment that would fail hours later."""
  for what in ('observation_spec', 'action_spec'):
    train, evaluation = (getattr(e, what)() for e in (train_env, eval_env))
    if train != evaluation:
      raise ValueError(
          f'The evaluation environment has another {what} than the one for'
          f' training: {evaluation}, and not {train}. See to the bindings of'
          ' eval/load_environment.'
      )
  eval_env.reset_with_seeds([0] * eval_env.batch_size)
