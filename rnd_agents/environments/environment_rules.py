# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules of the environment checker, and episodes watched for broken ones."""

import collections
import contextlib
import copy
import itertools
import os
import re
import traceback
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple
import warnings

import gymnasium
from gymnasium.utils import passive_env_checker
import numpy as np
import tensorflow as tf
from tf_agents.utils import nest_utils

from rnd_agents import errors

# A fault makes training wrong or impossible, a warning does so in some uses, a
# note may be nothing wrong.
LEVELS = FAULT, WARNING, NOTE = 'fault', 'warning', 'note'
# The level of each rule, and what to do where it is broken;
# docs/environments.md says why.
RULES = {
    'adapter': (
        FAULT, 'See the message. One of the old Gym goes through'
        ' single_environment.from_old_gym.'),
    'gymnasium': (
        FAULT, "Return what the space says, as Gymnasium's message asks."),
    'gymnasium-check-env': (
        WARNING, "See the message, which is Gymnasium's; its wrappers and video"
        ' recorders rely on it.'),
    'raises': (
        FAULT, 'Let reset take seed and options, step every action of the'
        ' space, and close do nothing the second time.'),
    'action-unchanged': (FAULT, 'Work on a copy: action = np.array(action).'),
    'observation-copy': (
        FAULT, 'Return self._state.copy(): frame stacks and lists of'
        ' demonstrations keep what they are given.'),
    'episode-end': (
        WARNING, 'Give a time limit: load_environment(...,'
        ' max_episode_steps=N).'),
    'time-limit': (
        NOTE, 'If it is a limit, report truncated or give max_episode_steps=N;'
        ' if the task ends there, all is well.'),
    'seed-repeats': (
        FAULT, 'Call super().reset(seed=seed) in reset, draw from'
        ' self.np_random only, and seed the simulator within.'),
    'stream-varies': (
        FAULT, 'Seed only when seed is not None, which super().reset(seed=seed)'
        ' does.'),
    'reset-clears': (
        FAULT, 'Set what step changes in reset, not in the constructor.'),
    'seeds-equal': (
        NOTE, 'Nothing, if there is no randomness; else draw from'
        ' self.np_random.'),
    'shared-state': (
        FAULT, 'Keep state in self: no mutable class attributes, module'
        ' variables or global generators.'),
}

# Observations kept to see whether they change: more than any frame stack.
_KEPT = 16
# Gymnasium's warnings of an integer in another type, which the adapter casts,
# and of what a second warning tells.
_HARMLESS = re.compile('should be an int or np.int64|Casting input')
# Characters of a value in a message.
_BRIEF = 80


class StopChecking(Exception):
  """The environment cannot be played any further; a finding says why."""


class Findings(Dict[Tuple[str, str], str]):
  """What was seen first of each rule and subject, by (rule, subject)."""

  def add(self, rule: str, what: str, subject: str = '') -> None:
    """Adds that `rule` is broken, unless it is known of this subject."""
    self.setdefault((rule, subject), what)

  def has_faults(self) -> bool:
    """Returns whether a rule of level FAULT is broken, accepted or not."""
    return any(RULES[rule][0] == FAULT for rule, _ in self)

  @contextlib.contextmanager
  def of(self, rule: str, where: str = '') -> Iterator[None]:
    """Adds what the block raises as a finding of `rule`."""
    try:
      yield
    except Exception as error:  # Whatever an environment may raise.
      self.add(rule, where + _described(error.__cause__ or error))


class Moment(NamedTuple):
  """What step 0 of an episode, the reset, or a later one gave, copied."""

  step: int
  observation: Any
  reward: Any = 0.0
  terminated: Any = False
  truncated: Any = False

  @property
  def ended(self) -> bool:
    """Whether the episode ends here."""
    return bool(np.any(self.terminated) or np.any(self.truncated))


class WatchedEpisodes:
  """Plays `env`; checks each reset and step, and what must stay as it was."""

  def __init__(self, env: gymnasium.Env, findings: Findings, action_seed: int):
    """Creates a WatchedEpisodes; `action_seed` is that of `record`."""
    self.env = env
    self._findings = findings
    self._action_seed = action_seed
    self._kept = collections.deque(maxlen=_KEPT)  # (where, parts, copies).
    self._num_episodes = 0

  def play(self, seed: Optional[int], action_seed: int) -> Iterator[Moment]:
    """Yields the reset and the steps of one episode of random actions.

    Raises:
      StopChecking: the environment raised, or returned other than 2 or 5
        values.
    """
    episode = f'episode {self._num_episodes}'
    self._num_episodes += 1
    actions = copy.deepcopy(self.env.action_space)  # Its own generator stays.
    actions.seed(action_seed)
    check_reset = passive_env_checker.env_reset_passive_checker
    check_step = passive_env_checker.env_step_passive_checker
    result = self._call(
        f'the reset of {episode}', 2, check_reset, seed=seed, options=None
    )
    moment = Moment(0, copy.deepcopy(result[0]))
    yield moment
    while not moment.ended:
      where = f'step {moment.step + 1} of {episode}'
      action = actions.sample()
      given = copy.deepcopy(action)
      result = self._call(where, 5, check_step, action)
      if not all(map(_equal, tf.nest.flatten(given), tf.nest.flatten(action))):
        self._findings.add(
            'action-unchanged',
            f'{where}: the action was {brief(given)}, and is {brief(action)}.',
        )
      moment = Moment(moment.step + 1, *copy.deepcopy(result[:4]))
      yield moment

  def record(
      self,
      *seeds: Optional[int],
      max_steps: int,
      rival: Optional[Iterator[Moment]] = None,
  ) -> List[Moment]:
    """Plays an episode for each seed; returns the moments of all.

    Args:
      *seeds: for the resets. The random actions are the same for each.
      max_steps: of an episode.
      rival: moments of another environment, which is stepped in turns.
    """
    moments = []
    for seed in seeds:
      episode = self.play(seed, self._action_seed)
      if rival is not None:
        episode = (moment for moment, _ in zip(episode, rival))
      moments += itertools.islice(episode, max_steps + 1)
    return moments

  def _call(self, where, size, check, *args, **kwargs):
    """Calls reset or step through Gymnasium's check; returns the values."""
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
              'raises', f'{where}{action} raised {_described(error)}.'
          )
    for message in messages:
      what = f'{where}: {message}'
      if 'obs' in message and isinstance(result, tuple) and result:
        what += f' (it was {brief(result[0])})'
      subject = message.replace('`reset()`', '`step()`')
      self._findings.add('gymnasium', what, subject)
    for given, parts, copies in self._kept:
      for name, part in parts.items():
        if not _equal(part, copies[name]):
          self._findings.add(
              'observation-copy',
              f'{name} of {given} has changed after {where}.',
              name,
          )
    if not isinstance(result, tuple) or len(result) != size:
      raise StopChecking
    parts = {
        name: part
        for name, part in _named_parts({'observation': result[0]}).items()
        if isinstance(part, np.ndarray)
    }
    self._kept.append((where, parts, copy.deepcopy(parts)))
    return result


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


def first_difference(
    first: List[Moment], second: List[Moment]
) -> Optional[str]:
  """Returns where two recordings part; None where they are equal."""
  for moments in zip(first, second):
    parts, others = map(_named_parts, moments)
    for name in dict.fromkeys([*parts, *others]):
      part, other = parts.get(name), others.get(name)
      if not _equal(part, other):
        return (
            f'at step {parts["step"]} {name} was {brief(part)}, and then '
            f'{brief(other)}'
        )
  return None


def _named_parts(nest):
  """Returns the parts of a nest by their names, such as 'observation/map'."""
  return dict(nest_utils.flatten_with_joined_paths(nest))


def brief(value: Any) -> str:
  """Returns a value as one line."""
  text = ' '.join(str(value).split())
  return text if len(text) <= _BRIEF else f'{text[:_BRIEF]}...'


def _described(error):
  """Returns the type, the message and the place of an exception."""
  frame = traceback.extract_tb(error.__traceback__)[-1]
  place = f'{os.path.basename(frame.filename)}:{frame.lineno}'
  return f'{type(error).__name__}: {errors.message_of(error)} ({place})'


def _equal(first, second):
  """Returns whether two arrays, numbers or texts are equal; NaN equals NaN."""
  first, second = np.asarray(first), np.asarray(second)
  is_floating = first.dtype.kind == second.dtype.kind == 'f'
  return np.array_equal(first, second, equal_nan=is_floating)
