# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Episodes of the environment checker: played, watched and compared."""

import collections
import contextlib
import copy
import itertools
import numbers
import os
import random
import re
import traceback
from typing import (
  Any,
  Dict,
  Iterator,
  List,
  NamedTuple,
  Optional,
  Sequence,
  Tuple,
)
import warnings

import gymnasium
from gymnasium.utils import passive_env_checker
import numpy as np
import tensorflow as tf
from tf_agents.utils import nest_utils

from rnd_agents.environments import environment_rules
from rnd_agents.environments import errors

# Observations kept to see whether they change: more than any frame stack.
_KEPT = 16
# What a difference may be, relative or absolute, to be called rounding.
_ROUNDING = 1e-4
# Of an integer in another type, which the adapter casts; of what a second
# warning tells.
_HARMLESS = re.compile('should be an int or np.int64|Casting input')
# Characters of a value in a message.
_BRIEF = 80


class StopChecking(Exception):
  """The environment cannot be played any further; a finding says why."""


class Moment(NamedTuple):
  """What a reset or a step gave, copied.

  Attributes:
    step: of the episode; 0 is the reset.
    observation: nest of arrays.
    reward: 0 after a reset.
    terminated: False after a reset.
    truncated: False after a reset.
  """

  step: int
  observation: Any
  reward: Any = 0.0
  terminated: Any = False
  truncated: Any = False

  @property
  def ended(self) -> bool:
    """Whether the episode ends here."""
    return bool(np.any(self.terminated) or np.any(self.truncated))


def play(
    env: gymnasium.Env, seed: Optional[int], action_seed: int
) -> Iterator[Moment]:
  """Yields the reset and the steps of one episode of random actions.

  Args:
    env: to play.
    seed: for its reset.
    action_seed: equal ones give equal actions.
  """
  actions = copy.deepcopy(env.action_space)  # Its own generator stays.
  actions.seed(action_seed)
  moment = Moment(0, copy.deepcopy(env.reset(seed=seed, options=None)[0]))
  yield moment
  while not moment.ended:
    result = env.step(actions.sample())
    moment = Moment(moment.step + 1, *copy.deepcopy(result[:4]))
    yield moment


def record(
    env: gymnasium.Env,
    seeds: Sequence[Optional[int]],
    action_seed: int,
    max_steps: int,
    rival: Optional[Iterator[Moment]] = None,
) -> List[Moment]:
  """Plays an episode for each seed; returns the moments of all.

  Args:
    env: to play, with the same random actions in each episode.
    seeds: for the resets.
    action_seed: of the actions.
    max_steps: of an episode.
    rival: moments of another environment, which is stepped in turns.
  """
  moments = []
  for seed in seeds:
    episode = play(env, seed, action_seed)
    if rival is not None:
      episode = (moment for moment, _ in zip(episode, rival))
    moments += itertools.islice(episode, max_steps + 1)
  return moments


class WatchedEpisodes(gymnasium.Wrapper):
  """Checks each reset and step, and what must stay as it was."""

  def __init__(self, env: gymnasium.Env, findings: environment_rules.Findings):
    """Creates a WatchedEpisodes that adds to `findings`."""
    super().__init__(env)
    self._findings = findings
    self._kept = collections.deque(maxlen=_KEPT)  # (where, parts, copies).
    self._num_episodes = 0
    self._generators = global_generators()

  def reset(self, *, seed=None, options=None):
    self._num_episodes += 1
    self._length, self._return = 0, 0.0
    where = f'the reset of episode {self._num_episodes - 1}'
    check = passive_env_checker.env_reset_passive_checker
    result = self._call(where, 2, check, seed=seed, options=options)
    self._keep(where, result[0])
    return result

  def step(self, action):
    self._length += 1
    where = f'step {self._length} of episode {self._num_episodes - 1}'
    given = copy.deepcopy(action)
    check = passive_env_checker.env_step_passive_checker
    result = self._call(where, 5, check, action)
    if not all(map(_equal, tf.nest.flatten(given), tf.nest.flatten(action))):
      self._findings.add(
          'action-unchanged',
          f'{where}: the action was {brief(given)}, and is {brief(action)}.',
      )
    self._keep(where, result[0])
    if self.env.unwrapped is self.env and isinstance(result[1], numbers.Real):
      self._check_statistics(where, *result[1:])
    return result

  def _call(self, where, size, check, *args, **kwargs):
    """Calls reset or step through Gymnasium's check; returns the values.

    Raises:
      StopChecking: it raised, or did not return `size` values.
    """
    result = None
    with gymnasium_warnings() as messages:
      try:
        result = check(self.env, *args, **kwargs)
      except Exception as error:  # Whatever an environment may raise.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        if frame.filename == passive_env_checker.__file__:
          messages.append(str(error))
        else:
          action = f' (action {brief(args[0])})' if args else ''
          self._findings.add(
              'raises', f'{where}{action} raised {describe(error)}.'
          )
    for message in messages:
      what = f'{where}: {message}'
      if 'obs' in message and isinstance(result, tuple) and result:
        what += f' (it was {brief(result[0])})'
      subject = message.replace('`reset()`', '`step()`')
      self._findings.add('gymnasium', what, subject)
    self._generators = check_generators(
        self._generators, where, self._findings
    )
    self._check_kept(where)
    if not isinstance(result, tuple) or len(result) != size:
      raise StopChecking
    return result

  def _check_kept(self, where):
    """Looks for kept observations that have changed since."""
    for given, parts, copies in self._kept:
      for name, part in parts.items():
        if not _equal(part, copies[name]):
          self._findings.add(
              'observation-copy',
              f'{name} of {given} has changed after {where}.',
              name,
          )

  def _keep(self, where, observation):
    """Keeps an observation, to see whether it changes."""
    parts = {
        name: part
        for name, part in _named_parts({'observation': observation}).items()
        if isinstance(part, np.ndarray)
    }
    for given, others, _ in self._kept:
      for name in parts.keys() & others.keys():
        if np.shares_memory(parts[name], others[name]):
          self._findings.add(
              'observation-shared',
              f'{name} of {given} and of {where} are in the same memory.',
              name,
          )
    self._kept.append((where, parts, copy.deepcopy(parts)))

  def _check_statistics(self, where, reward, terminated, truncated, info):
    """Checks the return and the length that a last info may give."""
    self._return += float(reward)
    episode = info.get('episode')
    ended = np.any(terminated) or np.any(truncated)
    if not ended or not isinstance(episode, dict):
      return
    for key, number in (('r', self._return), ('l', self._length)):
      if not _equal(episode.get(key, number), number, _ROUNDING):
        self._findings.add(
            'return-in-info',
            f'{where}: info["episode"]["{key}"] is {episode[key]}, and should '
            f'be {number}.',
            key,
        )


@contextlib.contextmanager
def gymnasium_warnings() -> Iterator[List[str]]:
  """Gives a list, which at the end has the warnings of Gymnasium's logger."""
  messages = []
  level, gymnasium.logger.min_level = (
      gymnasium.logger.min_level, gymnasium.logger.WARN
  )
  try:
    with warnings.catch_warnings(record=True) as caught:
      warnings.simplefilter('always')
      yield messages
  finally:
    gymnasium.logger.min_level = level
  for warning in caught:
    text = re.sub(r'\x1b\[\d+m', '', str(warning.message))  # Its color.
    found = re.match('WARN: (.*)', text, re.DOTALL)
    if found and not _HARMLESS.search(found[1]):
      messages.append(found[1])


def global_generators() -> Dict[str, Any]:
  """Returns the states of the generators that all code shares."""
  _, keys, *rest = np.random.get_state()
  return {'np.random': (keys.tobytes(), rest), 'random': random.getstate()}


def check_generators(
    before: Dict[str, Any], where: str, findings: environment_rules.Findings
) -> Dict[str, Any]:
  """Returns their states; adds a finding where they are not as `before`."""
  now = global_generators()
  for name, state in now.items():
    if state != before[name]:
      findings.add(
          'global-random', f'{where} drew from {name}, or seeded it.', name
      )
  return now


def first_difference(
    first: List[Moment], second: List[Moment]
) -> Optional[Tuple[str, bool]]:
  """Returns where recordings part, and whether it is by rounding only.

  Args:
    first: moments of one episode or several.
    second: others.

  Returns:
    None where they are equal.
  """
  for moments in zip(first, second):
    parts, others = map(_named_parts, moments)
    for name in dict.fromkeys([*parts, *others]):
      part, other = parts.get(name), others.get(name)
      if not _equal(part, other):
        return (
            f'at step {parts["step"]} {name} was {brief(part)}, and then '
            f'{brief(other)}',
            _equal(part, other, _ROUNDING),
        )
  return None


def _named_parts(nest):
  """Returns the parts of a nest by their names, such as 'observation/map'."""
  return dict(nest_utils.flatten_with_joined_paths(nest))


def brief(value: Any) -> str:
  """Returns a value as one line."""
  text = ' '.join(str(value).split())
  return text if len(text) <= _BRIEF else f'{text[:_BRIEF]}...'


def describe(error: Exception) -> str:
  """Returns the type, the message and the place of an exception."""
  frame = traceback.extract_tb(error.__traceback__)[-1]
  place = f'{os.path.basename(frame.filename)}:{frame.lineno}'
  return f'{type(error).__name__}: {errors.message_of(error)} ({place})'


def _equal(first, second, tolerance=0.0):
  """Returns whether two arrays, numbers or texts are equal; NaN equals itself.

  Args:
    first: one part of a nest.
    second: another one.
    tolerance: where they are floating, absolute and relative.
  """
  first, second = np.asarray(first), np.asarray(second)
  return np.array_equal(first, second) or (
      first.dtype.kind == 'f'
      and first.shape == second.shape
      and np.allclose(first, second, tolerance, tolerance, equal_nan=True)
  )
