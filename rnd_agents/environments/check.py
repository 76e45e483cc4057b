# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks environments for faults that would spoil a training run.

    from rnd_agents.environments import check
    check.check_environment(lambda: MyEnv())

    python -m rnd_agents.environments.check my_module:MyEnv --episodes 10

Plays whole episodes, since many faults only show late: at the end of an
episode, at its second reset, or next to a second instance. Values of single
resets and steps are left to Gymnasium's own checks.
"""

import contextlib
import functools
import importlib
import itertools
import json
import numbers
import re
from typing import Any, Callable, Dict, Sequence
import warnings

from absl import app
from absl import flags
import cloudpickle
import gymnasium
from gymnasium.utils import env_checker
from gymnasium.utils import passive_env_checker
import numpy as np
from tf_agents.specs import array_spec

from rnd_agents import errors as user_errors
from rnd_agents.environments import environment_rules
from rnd_agents.environments import errors
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import loaders
from rnd_agents.environments import watched_episodes

DEFAULT_EPISODES = 5
DEFAULT_MAX_STEPS = 10_000
# Steps of each of the about twenty replays, which are compared.
_REPLAYED_STEPS = 300
# Of the episode before a replay, which cuts the first two short.
_STEPS_BEFORE = (0, 7, _REPLAYED_STEPS)
# Seeds, and episodes of one stream, of which one at least must differ. An
# environment of two starts looks as if it had one in 1 of 2^8 checks.
_NUM_SEEDS = 8
# A common length of fewer episodes or steps may be chance.
_TIME_LIMIT_EPISODES = 3
_TIME_LIMIT_STEPS = 5
# Warnings of Gymnasium's check_env that concern training; others are advice.
_PASSED_ON = re.compile('action space (min|max)imum value|rendering should')


class EnvironmentCheckError(user_errors.InvalidValue):
  """An environment breaks rules; the message lists all of them.

  Attributes:
    findings: those at fault, warnings and notes after them.
  """

  def __init__(self, report: environment_rules.Report):
    self.findings = report.findings
    super().__init__(f'The environment has faults.\n{report}')


def check_environment(
    env_fn: Callable[[], gymnasium.Env], **arguments
) -> environment_rules.Report:
  """Raises EnvironmentCheckError, listing all faults, unless there are none.

  Args:
    env_fn: returns a new single environment at each call.
    **arguments: of `examine_environment`.

  Returns:
    The report, which may hold warnings and notes.
  """
  report = examine_environment(env_fn, **arguments)
  if report.faults:
    raise EnvironmentCheckError(report)
  return report


def examine_environment(
    env_fn: Callable[[], gymnasium.Env],
    num_episodes: int = DEFAULT_EPISODES,
    max_steps: int = DEFAULT_MAX_STEPS,
    seed: int = 0,
    accept: Sequence[str] = (),
) -> environment_rules.Report:
  """Returns a report, whether there are faults or not.

  Args:
    env_fn: returns a new single environment at each call.
    num_episodes: to play with every value checked.
    max_steps: that these may take in all.
    seed: of the episodes and of the random actions.
    accept: rules that the environment may break; such findings become notes.

  Raises:
    ValueError: an argument is out of range.
  """
  for name, number, least in (
      ('num_episodes', num_episodes, 1),
      ('max_steps', max_steps, 1),
      ('seed', seed, 0),
  ):
    if number < least:
      raise user_errors.InvalidValue(
          f'{name} must be at least {least}, not {number}.'
      )
  rules = environment_rules.RULES
  unknown = sorted(set(accept) - set(rules))
  if unknown:
    raise user_errors.InvalidValue(
        f'No rules: {unknown}. The rules: {list(rules)}.'
    )
  if not callable(env_fn):
    raise user_errors.InvalidType(
        'check_environment needs a callable that returns a new environment, '
        f'not {type(env_fn).__name__}. Write lambda: MyEnv().'
    )
  findings = environment_rules.Findings(accept)
  check = _Check(env_fn, max_steps, seed, findings)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')  # Those that matter become findings.
    return check.run(num_episodes)


class _Check:
  """One run of all stages; each needs what those before it have found good."""

  def __init__(self, env_fn, max_steps, seed, findings):
    self._env_fn = env_fn
    self._max_steps = max_steps
    self._seed = seed
    self._findings = findings
    self._envs = []

  def run(self, num_episodes):
    """Runs the stages and returns the report."""
    episodes, left_out, spaces = [], [], 'no spaces'
    try:
      batch = self._make_batch()
      first, second = self._make(), self._make()
      spaces = (
          f'observes {watched_episodes.brief(first.observation_space)}, acts '
          f'{watched_episodes.brief(first.action_space)}'
      )
      self._play_episodes(first, num_episodes, episodes)
      self._check_inside(second.env)
      if self._findings.has('global-random'):
        left_out.append('seeds and resets (fix global-random first)')
      else:
        self._check_repeats(self._make(), self._make())
      if self._findings.has_faults():
        left_out.append(
            'a batch, and Gymnasium\'s check_env (fix the faults first)'
        )
      else:
        self._play_batch(batch)
        self._check_with_gymnasium(first.env)
      self._check_close_and_pickling(second.env)
    except watched_episodes.StopChecking:
      left_out.append('all that follows this (fix it first)')
    for env in self._envs:
      with contextlib.suppress(Exception):  # Of which a rule has told.
        env.close()
    return environment_rules.Report(
        self._findings.list(), episodes, spaces, left_out
    )

  def _make_batch(self):
    """Returns two environments as the adapter batches them."""
    return self._made(
        functools.partial(
            loaders.load_environment,
            self._env_fn,
            num_environments=2,
            seed=self._seed,
        )
    )

  def _make(self):
    """Returns a new environment, watched."""
    before = watched_episodes.global_generators()
    env = self._made(self._env_fn)
    watched_episodes.check_generators(before, 'The constructor', self._findings)
    return watched_episodes.WatchedEpisodes(env, self._findings)

  def _made(self, make):
    """Returns make(), to be closed in the end; what it raises is a finding."""
    try:
      env = make()
    except Exception as error:  # Whatever an environment may raise.
      self._findings.add('adapter', watched_episodes.describe(error))
      raise watched_episodes.StopChecking from error
    self._envs.append(env)
    return env

  def _play_episodes(self, env, num_episodes, episodes):
    """Plays whole episodes, adds them to `episodes`, looks at how they end."""
    steps_left = self._max_steps
    while len(episodes) < num_episodes and steps_left > 0:
      moments = watched_episodes.play(
          env, None if episodes else self._seed, self._seed + len(episodes)
      )
      return_ = 0.0
      for moment in itertools.islice(moments, steps_left + 1):
        if isinstance(moment.reward, numbers.Real):
          return_ += float(moment.reward)
      steps_left -= moment.step
      if moment.ended:
        terminated = bool(np.any(moment.terminated))
        episodes.append(
            environment_rules.Episode(return_, moment.step, terminated)
        )
    lengths = {episode.length for episode in episodes}
    if not lengths:
      self._findings.add(
          'episode-end',
          f'No episode has ended in {self._max_steps} random steps.',
      )
    elif (
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

  def _check_inside(self, env):
    """Looks for aliasing and wrong returns of the environment in wrappers.

    A frame stack of one buffer shows the newest frame several times, and looks
    sound from outside.
    """
    if env.unwrapped is env:
      return
    findings = environment_rules.Findings()
    inside = watched_episodes.WatchedEpisodes(env.unwrapped, findings)
    with contextlib.suppress(Exception):  # It may need its wrappers.
      self._record(inside, self._seed)
    for found in findings.list():
      if found.rule in ('observation-copy', 'return-in-info'):
        self._findings.add(found.rule, f'Inside of the wrappers: {found.what}')

  def _record(self, env, *seeds, rival=None, max_steps=_REPLAYED_STEPS):
    """Returns the moments of an episode for each seed, with equal actions."""
    max_steps = min(max_steps, self._max_steps)
    return watched_episodes.record(env, seeds, self._seed, max_steps, rival)

  def _check_repeats(self, first, second):
    """Checks what depends on seeds, resets and other instances."""
    seed = self._seed
    episode, next_episode = self._record(first, seed), self._record(first, None)
    if self._differ(
        'seed-repeats',
        f'Two instances, reset with seed {seed}',
        episode,
        self._record(second, seed),
    ) or self._differ(
        'stream-repeats',
        f'Two instances, reset with seed {seed} and then without',
        next_episode,
        self._record(second, None),
    ):
      return
    for i, steps in enumerate(_STEPS_BEFORE):
      self._record(first, seed + 1 + i, max_steps=steps)
      if self._differ(
          'reset-clears',
          f'Reset with seed {seed} and then without, after up to {steps} steps '
          'of another episode',
          episode + next_episode,
          self._record(first, seed, None),
      ):
        return
    if self._findings.has('rounding'):
      return
    self._check_variety(first, episode)
    rival = itertools.chain.from_iterable(
        watched_episodes.play(second, seed, seed) for seed in itertools.count(1)
    )
    self._differ(
        'shared-state',
        'The same episode, while another instance was stepped in turns',
        episode,
        self._record(first, seed, rival=rival),
    )

  def _check_variety(self, env, episode):
    """Checks that other seeds, and resets without, give other episodes."""
    first, last = self._seed, self._seed + _NUM_SEEDS

    def repeat(seeds):
      return all(
          watched_episodes.first_difference(episode, self._record(env, seed))
          is None
          for seed in seeds
      )

    if repeat(range(first + 1, last + 1)):
      self._findings.add(
          'seeds-equal',
          f'The seeds {first} to {last} gave one and the same episode for the '
          'same actions.',
      )
    elif self._record(env, first) and repeat([None] * _NUM_SEEDS):
      self._findings.add(
          'stream-varies',
          f'After reset(seed={first}), {_NUM_SEEDS} times reset() gave the same'
          ' episode again.',
      )

  def _differ(self, rule, what, first, second):
    """Adds a finding if two recordings differ; returns whether they do."""
    difference = watched_episodes.first_difference(first, second)
    if difference is None:
      return False
    where, is_rounding = difference
    rule = 'rounding' if is_rounding else rule
    self._findings.add(rule, f'{what}, with equal actions: {where}.')
    return True

  def _play_batch(self, batch):
    """Plays two instances through VectorPyEnvironment with random actions."""
    actions = batch.gymnasium_vector_env.action_space
    actions.seed(self._seed)
    spec = array_spec.add_outer_dims_nest(batch.time_step_spec(), (2,))
    try:
      time_step = batch.reset()
      for step in range(min(_REPLAYED_STEPS, self._max_steps)):
        if not array_spec.check_arrays_nest(time_step, spec):
          raise user_errors.InvalidValue(
              f'Step {step}: {time_step} does not fit {spec}.'
          )
        time_step = batch.step(
            gymnasium_spaces.from_zero(actions, actions.sample())
        )
    except Exception as error:  # Whatever an environment may raise.
      what = watched_episodes.describe(error.__cause__ or error)
      self._findings.add('adapter', f'Two instances in one batch: {what}')

  def _check_with_gymnasium(self, env):
    """Runs Gymnasium's check_env, and its check of a frame."""
    with watched_episodes.gymnasium_warnings() as messages:
      try:
        # Its own checks of these make environments of all render modes.
        env_checker.check_env(
            env, skip_render_check=True, skip_close_check=True
        )
        if env.render_mode == 'rgb_array':
          passive_env_checker.env_render_passive_checker(env)
      except Exception as error:  # It raises of all kinds.
        self._findings.add(
            'gymnasium-check-env', watched_episodes.describe(error)
        )
    for message in filter(_PASSED_ON.search, messages):
      self._findings.add('gymnasium-check-env', message, message)

  def _check_close_and_pickling(self, env):
    """Closes an environment twice, and pickles the callable."""
    try:
      env.close()
      env.close()
    except Exception as error:  # Whatever an environment may raise.
      self._findings.add('close', watched_episodes.describe(error))
    try:
      cloudpickle.loads(cloudpickle.dumps(self._env_fn))
    except Exception as error:  # It raises of all kinds.
      self._findings.add('picklable', watched_episodes.describe(error))


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
    _make_loaded(name, env_kwargs).close()
  except TypeError as error:
    raise user_errors.InvalidValue(
        f'{name} did not take {env_kwargs}: {errors.message_of(error)}'
    ) from error
  return functools.partial(_make_loaded, name, env_kwargs)


def _make_loaded(name, env_kwargs, **more):
  """Returns the single environment that the loader would make a batch of."""
  batch = loaders.load_environment(name, env_kwargs={**env_kwargs, **more})
  seeded = batch.gymnasium_vector_env.envs[0]
  return seeded.env


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
  """Defines the flags of `main`, which importing this module does not."""
  for define, name, default, text in (
      (flags.DEFINE_integer, 'episodes', DEFAULT_EPISODES, 'How many to play.'),
      (
          flags.DEFINE_integer,
          'max_steps',
          DEFAULT_MAX_STEPS,
          'How many steps the episodes may take in all.',
      ),
      (flags.DEFINE_integer, 'seed', 0, 'Of the episodes and actions.'),
      (
          flags.DEFINE_multi_string,
          'accept',
          [],
          'A rule that may be broken; can be given several times.',
      ),
      (
          flags.DEFINE_string,
          'env_kwargs',
          '{}',
          'Arguments of the constructor, as JSON: \'{"size": 8}\'.',
      ),
  ):
    define(name, default, text, flag_values=flag_values)


def main(
    argv: Sequence[str], flag_values: flags.FlagValues = flags.FLAGS
) -> int:
  """Checks the environment named on the command line and prints the report.

  Args:
    argv: the program and a Gymnasium id, module:id, or module:callable that
      returns an environment.
    flag_values: with those of `define_flags`, parsed.

  Returns:
    The exit status: 0 without faults, 1 with.

  Raises:
    app.UsageError: there is no such environment, or a flag is out of range.
  """
  if len(argv) != 2:
    raise app.UsageError('Name one environment: my_module:MyEnv', exitcode=2)
  try:
    env_kwargs = json.loads(flag_values.env_kwargs)
    if not isinstance(env_kwargs, dict):
      raise user_errors.InvalidValue(
          f'must be a JSON object, not {flag_values.env_kwargs}'
      )
  except ValueError as error:
    raise app.UsageError(f'env_kwargs: {error}', exitcode=2) from error
  try:
    report = examine_environment(
        find_callable(argv[1], env_kwargs),
        flag_values.episodes,
        flag_values.max_steps,
        flag_values.seed,
        flag_values.accept,
    )
  except (ImportError, ValueError, gymnasium.error.Error) as error:
    raise app.UsageError(errors.message_of(error), exitcode=2) from error
  print(f'{argv[1]}\n{report}')
  return 1 if report.faults else 0


if __name__ == '__main__':
  define_flags()
  app.run(main)
