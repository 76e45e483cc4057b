# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares what VectorPyEnvironment gives with what the environment played."""

from typing import Callable, Iterator, Optional

import gymnasium
import numpy as np
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import nest_utils

from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import loaders
from rnd_agents.environments.checks import episodes
from rnd_agents.environments.checks import rules
from rnd_agents.environments.checks import values

_NUM_ENVIRONMENTS = 2


class _Recorder(gymnasium.Wrapper):
  """Keeps what the last call gave, and counts the episodes itself."""

  @property
  def episode(self):
    """(return, length), or what RecordEpisodeStatistics says of the return."""
    recorded = self.last_info.get('episode', {}).get('r', self.return_)
    return float(recorded), self.length

  def reset(self, **kwargs):
    observation, info = self.env.reset(**kwargs)
    self.last = ('reset', observation, 0.0, False, False)
    self.last_info = info
    self.return_, self.length = 0.0, 0
    return observation, info

  def step(self, action):
    result = self.env.step(action)
    self.last = ('step',) + tuple(result[:4])
    self.last_info = result[4]
    self.return_ += float(result[1])
    self.length += 1
    return result


def check_adapter(
    make: Callable[[], gymnasium.Env],
    seed: int,
    max_steps: int,
    findings: rules.Findings,
) -> None:
  """Plays two instances through the adapter, and follows them by hand.

  Args:
    make: returns a new environment.
    seed: of the first reset and of the actions.
    max_steps: of each instance.
    findings: to add to.
  """
  recorders = []

  def make_recorded():
    recorders.append(_Recorder(make()))
    return recorders[-1]

  try:
    env = loaders.load_environment(
        make_recorded, num_environments=_NUM_ENVIRONMENTS, seed=seed
    )
    try:
      for what in _faults(env, recorders[-_NUM_ENVIRONMENTS:], seed, max_steps):
        findings.add('adapter', what)
    finally:
      episodes.close_quietly(env)
  except Exception as error:  # Whatever an environment may raise.
    findings.add(
        'adapter',
        f'{_NUM_ENVIRONMENTS} instances in one batch raised '
        f'{episodes.describe(error.__cause__ or error)}.',
    )


def _faults(env, recorders, seed, max_steps) -> Iterator[str]:
  """Yields what is wrong with the time steps, until something is."""
  draw = [
      episodes.sample_actions(recorder.action_space, seed + i)
      for i, recorder in enumerate(recorders)
  ]
  ended = [True] * len(recorders)  # So that the first step is FIRST.
  expected = []
  time_step = env.reset()
  for step in range(max_steps + 1):
    singles = nest_utils.unstack_nested_arrays(time_step)
    for i, (single, recorder) in enumerate(zip(singles, recorders)):
      what = _fault(single, recorder, ended[i], env.time_step_spec())
      if what:
        yield f'Step {step}, instance {i}: {what}'
        return
      terminated, truncated = recorder.last[3:]
      ended[i] = bool(terminated or truncated)
      if ended[i]:
        expected.append((i, *recorder.episode, bool(terminated)))
    if step < max_steps:
      time_step = env.step(nest_utils.stack_nested_arrays([
          gymnasium_spaces.from_zero(recorder.action_space, next(actions))
          for recorder, actions in zip(recorders, draw)
      ]))
  for episode, (i, return_, length, terminated) in zip(
      env.pop_episodes(), expected, strict=True
  ):
    got = (
        episode.environment_index, episode.length_env_steps, episode.terminated
    )
    if got != (i, length, terminated) or not np.isclose(
        episode.return_, return_
    ):
      yield (
          f'pop_episodes gave {episode}, and instance {i} had played '
          f'{length} steps for {return_}.'
      )


def _fault(time_step, recorder, starts, spec) -> Optional[str]:
  """Returns what is wrong with one time step of one instance, or None."""
  call, observation, reward, terminated, truncated = recorder.last
  if starts:
    step_type, reward, discount = ts.StepType.FIRST, 0.0, 1.0
  else:
    step_type = ts.StepType.LAST if terminated or truncated else ts.StepType.MID
    discount = 0.0 if terminated else 1.0
  if (call == 'reset') != starts:
    return f'an episode {"goes on after its end" if starts else "was cut"}.'
  for name, number in (
      ('step_type', step_type),
      ('reward', np.float32(reward)),
      ('discount', discount),
  ):
    got = getattr(time_step, name)
    if got != number:
      return f'{name} is {got}, and should be {number}.'
  parts = [
      (name, part)
      for name, part in values.leaves(observation)
      if not isinstance(part, str)  # Text has no spec.
  ]
  for (name, part), (_, got) in zip(
      parts, values.leaves(time_step.observation), strict=True
  ):
    if not np.array_equal(np.asarray(part).astype(got.dtype), got):
      return f'{name} is not what the environment returned.'
  if not array_spec.check_arrays_nest(time_step, spec):
    return f'{time_step} does not fit its spec, {spec}.'
  return None
