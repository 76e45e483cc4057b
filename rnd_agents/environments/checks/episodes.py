# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plays whole episodes with random actions and checks all that comes back."""

import contextlib
import copy
import os
import re
import traceback
from typing import Any, Callable, Iterator, List, NamedTuple, Optional

import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents.environments.checks import rules
from rnd_agents.environments.checks import values
from rnd_agents.environments.checks import watches

# A common length of fewer episodes or steps may be chance.
_TIME_LIMIT_EPISODES = 3
_TIME_LIMIT_STEPS = 5
# Above it, networks take bytes for pixels.
_LARGEST_CATEGORY = 32
# The `step` of wrappers that leave rewards as they are.
_KEEP_REWARDS = (
    gymnasium.Wrapper.step,
    gymnasium.ActionWrapper.step,
    gymnasium.ObservationWrapper.step,
)
# What Python says of a function that does not take it.
_NO_ARGUMENT = re.compile(r"unexpected keyword argument '(seed|options)'")


class StopChecking(Exception):
  """The environment cannot be played any further; a finding says why."""


class Episode(NamedTuple):
  """An episode that ended.

  Attributes:
    return_: sum of its rewards.
    length: in steps.
    terminated: as the last step said.
    truncated: as the last step said.
  """

  return_: float
  length: int
  terminated: bool
  truncated: bool


def sample_actions(space: spaces.Space, seed: int) -> Iterator[Any]:
  """Yields random actions, without touching the space's own generator."""
  space = copy.deepcopy(space)
  space.seed(seed)
  while True:
    yield space.sample()


def call(
    findings: rules.Findings, where: str, function: Callable[..., Any], *args,
    **kwargs
) -> Any:
  """Returns function(*args, **kwargs); an exception becomes a finding.

  Args:
    findings: to add to.
    where: what is being done, for the message.
    function: of the environment.
    *args: for it.
    **kwargs: for it.

  Raises:
    StopChecking: the call raised.
  """
  try:
    return function(*args, **kwargs)
  except Exception as error:  # Whatever an environment may raise.
    findings.add('raises', f'{where} raised {describe(error)}.')
    raise StopChecking from error


def close_quietly(env: Any) -> None:
  """Closes an environment; how it does has a rule of its own."""
  with contextlib.suppress(Exception):
    env.close()


def describe(error: Exception) -> str:
  """Returns the type, the message and the place of an exception."""
  frame = traceback.extract_tb(error.__traceback__)[-1]
  place = f'{os.path.basename(frame.filename)}:{frame.lineno}'
  return f'{type(error).__name__}: {error} ({place})'


class Examination:
  """Plays episodes of one environment and checks each value."""

  def __init__(
      self, env: gymnasium.Env, seed: int, findings: rules.Findings
  ):
    """Creates an Examination.

    Args:
      env: to play.
      seed: of the first reset and of the actions.
      findings: to add to.
    """
    self._env = env
    self._seed = seed
    self._findings = findings
    self._actions = sample_actions(env.action_space, seed)
    self._kept = watches.KeptObservations(findings)
    self._global_random = watches.GlobalRandom(findings)
    # Of images of bytes in [0, 255].
    self._largest = {
        name: 0
        for name, space in values.leaves(env.observation_space)
        if isinstance(space, spaces.Box)
        and space.dtype == np.uint8
        and len(space.shape) == 3
        and space.high.max() > _LARGEST_CATEGORY
    }

  def play(self, num_episodes: int, max_steps: int) -> List[Episode]:
    """Plays `num_episodes`, in all not more than `max_steps`.

    Returns:
      The episodes that ended.

    Raises:
      StopChecking: the environment cannot be played.
    """
    ended = []
    steps_left = max_steps
    while len(ended) < num_episodes and steps_left > 0:
      episode = self._play_episode(len(ended), steps_left)
      if episode is None:
        break
      steps_left -= episode.length
      ended.append(episode)
    self._kept.finish()
    for name, largest in self._largest.items():
      if largest <= _LARGEST_CATEGORY:
        self._findings.add(
            'byte-range', f'{name} was never more than {largest}.', name
        )
    if not ended:
      self._findings.add(
          'episode-end', f'No episode has ended in {max_steps} random steps.'
      )
    self._check_time_limit(ended)
    return ended

  def _play_episode(self, index, max_steps) -> Optional[Episode]:
    """Plays one episode; returns None if it does not end in time."""
    self._reset(None if index else self._seed, f'the reset of episode {index}')
    return_ = 0.0
    for length in range(1, max_steps + 1):
      where = f'step {length} of episode {index}'
      reward, terminated, truncated, info = self._step(where)
      if not self._findings.has('reward-type'):
        return_ += float(reward)
      if terminated or truncated:
        self._check_statistics(info, return_, length, where)
        return Episode(return_, length, bool(terminated), bool(truncated))
    return None

  def _reset(self, seed, where):
    result = self._raw_reset(seed, where)
    findings = self._findings
    self._global_random.check(where)
    self._kept.verify(where)
    if not isinstance(result, tuple) or len(result) != 2 or (
        not isinstance(result[1], dict)
        and result in self._env.observation_space
    ):
      findings.add(
          'reset-returns',
          f'{where} returned the observation alone.'
          if not isinstance(result, tuple)
          or result in self._env.observation_space
          else f'{where} returned {len(result)} values.',
      )
      if isinstance(result, tuple):
        return
      observation = result
    else:
      observation, info = result
      values.check_info(info, where, findings)
    self._observe(observation, where)

  def _raw_reset(self, seed, where):
    """Resets with both arguments, or without, and says so."""
    try:
      return self._env.reset(seed=seed, options=None)
    except TypeError as error:
      if not _NO_ARGUMENT.search(str(error)):
        call(self._findings, where, _raise, error)
      self._findings.add('reset-arguments', f'{where}: {error}.')
    except Exception as error:  # Whatever an environment may raise.
      call(self._findings, where, _raise, error)
    try:
      return self._env.reset()
    except Exception as error:  # A wrapper passes the arguments on.
      raise StopChecking from error

  def _step(self, where):
    """Takes one step; returns all but the observation."""
    findings = self._findings
    action = next(self._actions)
    before = copy.deepcopy(action)
    result = call(
        findings, f'{where} (action {action!r})', self._env.step, action
    )
    self._global_random.check(where)
    self._kept.verify(where)
    if not isinstance(result, tuple) or len(result) != 5:
      size = f'{len(result)} values' if isinstance(result, tuple) else 'one'
      findings.add('step-returns', f'{where} returned {size}, not 5.')
      raise StopChecking
    observation, reward, terminated, truncated, info = result
    for (name, now), (_, then) in zip(
        values.leaves(action, 'action'), values.leaves(before, 'action')
    ):
      if not values.equal(now, then):
        findings.add(
            'action-unchanged', f'{where}: {name} was {then}, and is {now}.',
            name
        )
    values.check_reward(reward, where, findings)
    values.check_flag(terminated, 'terminated', where, findings)
    values.check_flag(truncated, 'truncated', where, findings)
    values.check_info(info, where, findings)
    self._observe(observation, where)
    return reward, np.any(terminated), np.any(truncated), info

  def _observe(self, observation, where):
    values.check_observation(
        observation, self._env.observation_space, where, self._findings
    )
    self._kept.add(observation, where)
    for name, part in values.leaves(observation):
      if name in self._largest and isinstance(part, np.ndarray):
        self._largest[name] = max(self._largest[name], part.max())

  def _check_statistics(self, info, return_, length, where):
    """Checks the return and the length that a last info may give."""
    episode = info.get('episode') if isinstance(info, dict) else None
    if not isinstance(episode, dict) or self._changes_recorded_rewards():
      return
    for key, name, number in (
        ('r', 'return', return_), ('l', 'length', length)
    ):
      given = episode.get(key)
      if given is None:
        continue
      is_number = np.asarray(given).dtype.kind in 'iuf'
      if not is_number or not np.allclose(given, number, 1e-4, 1e-4):
        self._findings.add(
            'return-in-info',
            f'{where}: info["episode"]["{key}"] is {given}, and the {name} '
            f'{number}.',
            key,
        )

  def _changes_recorded_rewards(self):
    """Returns whether a wrapper outside of the statistics may pay otherwise."""
    env = self._env
    may_change = False
    while isinstance(env, gymnasium.Wrapper):
      if isinstance(env, gymnasium.wrappers.RecordEpisodeStatistics):
        return may_change
      if isinstance(
          env, (gymnasium.RewardWrapper, gymnasium.wrappers.NormalizeReward)
      ):
        return True
      may_change |= type(env).step not in _KEEP_REWARDS
      env = env.env
    return False

  def _check_time_limit(self, episodes):
    """Looks for a limit that is reported as termination."""
    lengths = {episode.length for episode in episodes}
    if (
        len(episodes) >= _TIME_LIMIT_EPISODES
        and len(lengths) == 1
        and min(lengths) >= _TIME_LIMIT_STEPS
        and all(episode.terminated for episode in episodes)
    ):
      self._findings.add(
          'time-limit',
          f'All {len(episodes)} episodes ended after {min(lengths)} steps, '
          'terminated.',
      )


def check_inside(
    env: gymnasium.Env, seed: int, max_steps: int, findings: rules.Findings
) -> None:
  """Checks that the environment within wrappers returns copies.

  A frame stack of one buffer shows the newest frame several times, and looks
  sound from outside.

  Args:
    env: wrapped; not to be used afterwards.
    seed: of the episode and of the actions.
    max_steps: to play.
    findings: to add to.
  """
  inner = env.unwrapped
  if inner is env or findings.has('observation-copy'):
    return
  kept = watches.KeptObservations(findings)
  name = f'{type(inner).__name__} inside of the wrappers'
  actions = sample_actions(inner.action_space, seed)
  try:
    kept.add(inner.reset(seed=seed, options=None)[0], f'the reset of {name}')
    for step in range(1, max_steps + 1):
      where = f'step {step} of {name}'
      observation, _, terminated, truncated, _ = inner.step(next(actions))
      kept.verify(where)
      kept.add(observation, where)
      if terminated or truncated:
        return
  except Exception:  # The wrappers may be what makes it playable.
    return


def _raise(error):
  raise error
