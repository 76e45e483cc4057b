# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds in seconds what would spoil a training run: a check of environments.

    from rnd_agents.environments import check
    check.check_environment(lambda: MyEnv())

    python -m rnd_agents.environments.check my_module:MyEnv --episodes 10

It plays whole episodes, since many faults only show late: at the end of an
episode, at its second reset, or next to a second instance. The rules are in
`checks.rules`.
"""

import argparse
import functools
import importlib
import json
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence
import warnings

import gymnasium
from gymnasium.utils import env_checker

from rnd_agents.environments import errors
from rnd_agents.environments import loaders
from rnd_agents.environments.checks import adapter
from rnd_agents.environments.checks import episodes
from rnd_agents.environments.checks import interface
from rnd_agents.environments.checks import repeats
from rnd_agents.environments.checks import rules
from rnd_agents.environments.checks import watches

DEFAULT_EPISODES = 5
DEFAULT_MAX_STEPS = 10_000
# Steps of each of the about ten replays that are compared with each other.
_REPLAYED_STEPS = 300
# Without these no episode can be replayed, or it is plain why it differs.
_UNREPEATABLE = (
    'fresh-instance', 'reset-arguments', 'reset-returns', 'global-random'
)


class EnvironmentCheckError(ValueError):
  """An environment breaks rules; the message lists all of them.

  Attributes:
    findings: those at fault, warnings and notes after them.
  """

  def __init__(self, report: 'Report'):
    self.findings = report.findings
    super().__init__(f'The environment has faults.\n{report}')


class Report(NamedTuple):
  """What a check saw.

  Attributes:
    findings: the rules that are broken, faults first.
    episodes: those that ended.
    spaces: the two spaces, in words.
    left_out: what was not checked, and why.
  """

  findings: List[rules.Finding]
  episodes: List[episodes.Episode]
  spaces: str
  left_out: List[str]

  @property
  def faults(self) -> List[rules.Finding]:
    """The findings that make training wrong or impossible."""
    return [found for found in self.findings if found.level == rules.FAULT]

  def summary(self) -> str:
    """Returns in one line what was checked."""
    counts = ', '.join(
        f'{n} {level}{"" if n == 1 else "s"}'
        for level in rules.LEVELS
        for n in [sum(found.level == level for found in self.findings)]
    )
    played = self.episodes
    if not played:
      return f'{counts}; no episode ended; {self.spaces}'
    lengths = [episode.length for episode in played]
    terminated = sum(episode.terminated for episode in played)
    returns = [episode.return_ for episode in played]
    return (
        f'{counts}; {len(played)} episode{"" if len(played) == 1 else "s"} of '
        f'{min(lengths)} to {max(lengths)} steps, {terminated} terminated '
        f'and {len(played) - terminated} truncated, returns '
        f'{min(returns):.4g} to {max(returns):.4g}; {self.spaces}'
    )

  def __str__(self) -> str:
    lines = [str(found) for found in self.findings]
    lines += [f'not checked: {what}' for what in self.left_out]
    return '\n'.join(lines + [self.summary()])


def check_environment(
    env_fn: Callable[[], gymnasium.Env],
    num_episodes: int = DEFAULT_EPISODES,
    max_steps: int = DEFAULT_MAX_STEPS,
    seed: int = 0,
    accept: Sequence[str] = (),
) -> Report:
  """Raises EnvironmentCheckError, listing all faults, unless there are none.

  Args:
    env_fn: returns a new single environment at each call.
    num_episodes: to play with every value checked.
    max_steps: that these may take in all.
    seed: of the episodes and of the random actions.
    accept: rules that the environment may break; such findings become notes.

  Returns:
    The report, which may hold warnings and notes.

  Raises:
    EnvironmentCheckError: the environment has faults.
    ValueError: an argument is out of range.
  """
  report = examine_environment(
      env_fn, num_episodes, max_steps, seed, accept
  )
  if report.faults:
    raise EnvironmentCheckError(report)
  return report


def examine_environment(
    env_fn: Callable[[], gymnasium.Env],
    num_episodes: int = DEFAULT_EPISODES,
    max_steps: int = DEFAULT_MAX_STEPS,
    seed: int = 0,
    accept: Sequence[str] = (),
) -> Report:
  """As `check_environment`, and leaves it to the caller what to do of it."""
  for name, number, least in (
      ('num_episodes', num_episodes, 1),
      ('max_steps', max_steps, 1),
      ('seed', seed, 0),
  ):
    if number < least:
      raise ValueError(f'{name} must be at least {least}, not {number}.')
  unknown = sorted(set(accept) - set(rules.RULES))
  if unknown:
    raise ValueError(f'No rules: {unknown}. The rules: {list(rules.RULES)}.')
  if not callable(env_fn):
    raise TypeError(
        'check_environment needs a callable that returns a new environment, '
        f'not {type(env_fn).__name__}. Write lambda: MyEnv().'
    )
  with warnings.catch_warnings():
    # Gymnasium's, of what the rules look at themselves.
    warnings.simplefilter('ignore')
    findings = rules.Findings(accept)
    return _Check(env_fn, num_episodes, max_steps, seed, findings).run()


class _Check:
  """One run of all stages; each needs what those before it have found good."""

  def __init__(self, env_fn, num_episodes, max_steps, seed, findings):
    self._env_fn = env_fn
    self._num_episodes = num_episodes
    self._max_steps = max_steps
    self._seed = seed
    self._findings = findings
    self._episodes = []
    self._spaces = 'no spaces'
    self._left_out = []
    self._envs = []

  def run(self) -> Report:
    try:
      self._run_stages()
    except episodes.StopChecking:
      self._left_out.append('all that follows this (mend it first)')
      for env in self._envs:
        episodes.close_quietly(env)
    return Report(
        self._findings.list(), self._episodes, self._spaces, self._left_out
    )

  def _run_stages(self):
    findings = self._findings
    envs = self._envs
    envs.append(self._make())
    # The second, since the first may import what seeds itself.
    global_random = watches.GlobalRandom(findings)
    envs.append(self._make())
    global_random.check('The constructor')
    interface.check_spaces(envs, findings)
    self._spaces = (
        f'observes {interface.brief(envs[0].observation_space)}, acts '
        f'{interface.brief(envs[0].action_space)}'
    )
    examination = episodes.Examination(envs[0], self._seed, findings)
    self._episodes = examination.play(self._num_episodes, self._max_steps)
    replayed = min(_REPLAYED_STEPS, self._max_steps)
    if not findings.has('fresh-instance'):
      envs.append(self._make())
      episodes.check_inside(envs[-1], self._seed, replayed, findings)
    in_the_way = [name for name in _UNREPEATABLE if findings.has(name)]
    if in_the_way:
      self._left_out.append(
          f'seeds, resets and instances (mend {", ".join(in_the_way)} first)'
      )
    else:
      repeats.check_repeats(self._make, self._seed, replayed, findings)
    if any(found.level == rules.FAULT for found in findings.list()):
      self._left_out.append(
          'the time steps of VectorPyEnvironment, and Gymnasium\'s own checks '
          '(mend the faults first)'
      )
    else:
      adapter.check_adapter(self._env_fn, self._seed, 2 * replayed, findings)
      if not findings.list(rules.FAULT):  # Else it finds what is accepted.
        self._check_with_gymnasium()
    obstacle = interface.check_render(envs[0], self._env_fn, findings)
    if obstacle is not None:
      self._left_out.append(f'render ({obstacle})')
    for env in dict.fromkeys(envs):
      interface.check_close(env, findings)
    interface.check_picklable(self._env_fn, findings)

  def _make(self):
    """Returns a new environment."""
    try:
      env = self._env_fn()
    except Exception as error:  # Whatever an environment may raise.
      self._findings.add(
          'constructor', f'The callable raised {episodes.describe(error)}.'
      )
      raise episodes.StopChecking from error
    if not isinstance(env, gymnasium.Env):
      old = any(
          base.__module__.split('.')[0] == 'gym' for base in type(env).__mro__
      )
      kind = type(getattr(env, 'unwrapped', env)).__name__
      self._findings.add(
          'environment-type',
          f'The callable returned {"an old Gym" if old else "a"} {kind}.',
      )
      raise episodes.StopChecking
    return env

  def _check_with_gymnasium(self):
    """Runs Gymnasium's checks for what no rule here asks."""
    env = self._make()
    try:
      env_checker.check_env(env, skip_render_check=True, skip_close_check=True)
    except Exception as error:  # It raises of all kinds.
      self._findings.add('gymnasium', episodes.describe(error))
    finally:
      episodes.close_quietly(env)


def main(argv: Optional[Sequence[str]] = None) -> int:
  """Checks the environment named on the command line.

  Args:
    argv: the arguments; None takes those of the process.

  Returns:
    0 without faults, 1 with.
  """
  parser = argparse.ArgumentParser(
      prog='python -m rnd_agents.environments.check',
      description='Plays an environment and prints what breaks the rules. '
      'Exit status: 0 without faults, 1 with.',
  )
  parser.add_argument(
      'env',
      help='a Gymnasium id, module:id, or module:callable that returns an env',
  )
  parser.add_argument('--episodes', type=int, default=DEFAULT_EPISODES)
  parser.add_argument('--max_steps', type=int, default=DEFAULT_MAX_STEPS)
  parser.add_argument('--seed', type=int, default=0)
  parser.add_argument(
      '--accept',
      action='append',
      default=[],
      metavar='RULE',
      help='a rule that may be broken; can be given several times',
  )
  parser.add_argument(
      '--env_kwargs',
      type=_json_object,
      default={},
      help='for the constructor, as JSON: \'{"size": 8}\'',
  )
  arguments = parser.parse_args(argv)
  try:
    env_fn = find_callable(arguments.env, arguments.env_kwargs)
    report = examine_environment(
        env_fn,
        arguments.episodes,
        arguments.max_steps,
        arguments.seed,
        arguments.accept,
    )
  except (ImportError, ValueError, gymnasium.error.Error) as error:
    parser.error(errors.message_of(error))
  print(f'{arguments.env}\n{report}')
  return 1 if report.faults else 0


def _json_object(text):
  """The dict that a flag holds."""
  try:
    value = json.loads(text)
  except ValueError:
    value = None
  if not isinstance(value, dict):
    raise argparse.ArgumentTypeError(
        f'must be a JSON object, such as \'{{"size": 8}}\', not {text}'
    )
  return value


def find_callable(
    name: str, env_kwargs: Dict[str, Any]
) -> Callable[..., gymnasium.Env]:
  """Returns what makes the environment called `name`.

  Args:
    name: a Gymnasium id, 'module:id', or 'module:callable'.
    env_kwargs: for its constructor.

  Raises:
    ImportError: it needs a package that is not installed.
    ValueError: there is none of that name, or it does not take `env_kwargs`.
  """
  module, _, attribute = name.rpartition(':')
  if module:
    found = getattr(importlib.import_module(module), attribute, None)
    if callable(found):
      return functools.partial(found, **env_kwargs)
  try:
    episodes.close_quietly(_make_loaded(name, env_kwargs))
  except ValueError:
    try:
      episodes.close_quietly(gymnasium.make(name, **env_kwargs))
    except gymnasium.error.Error:
      pass
    else:  # It is the spaces that the loader refuses: a rule says it better.
      return functools.partial(
          gymnasium.make, name, disable_env_checker=True, **env_kwargs
      )
    raise
  except TypeError as error:
    if not env_kwargs:
      raise
    raise ValueError(
        f'{name} did not take {env_kwargs}: {errors.message_of(error)}'
    ) from error
  return functools.partial(_make_loaded, name, env_kwargs)


def _make_loaded(name, env_kwargs, **more):
  """Returns the single environment that the loader would make a batch of."""
  batch = loaders.load_environment(name, env_kwargs={**env_kwargs, **more})
  seeded = batch.gymnasium_vector_env.envs[0]
  return seeded.env


if __name__ == '__main__':
  sys.exit(main())
