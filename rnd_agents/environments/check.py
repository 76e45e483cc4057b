# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks environments for faults that would harm training.

    from rnd_agents.environments import check
    check.check_environment(lambda: MyEnv())

    python -m rnd_agents.environments.check my_module:MyEnv --episodes 10

Plays whole episodes, since many faults appear late: at the end of an episode,
at the second reset, or beside a second instance. Gymnasium's own `check_env`
checks spaces and the values of single resets and steps.
"""

from collections.abc import Callable, Sequence
import contextlib
import functools
import importlib
import itertools
import json
import numbers
import tempfile
from typing import Any, NamedTuple
import warnings

from absl import app
from absl import flags
from absl import logging
import gin
import gymnasium
from gymnasium import spaces as spaces_lib
from gymnasium.utils import env_checker
import numpy as np
import tensorflow as tf
from tf_agents.policies import policy_saver
from tf_agents.policies import tf_policy
from tf_agents.specs import array_spec
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents import _compat
from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import observations
from rnd_agents import programs
from rnd_agents import ranges
from rnd_agents.environments import environment_rules as rules
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import loaders
from rnd_agents.environments import masked_actions
from rnd_agents.environments import old_gym
from rnd_agents.environments import vector_environment

DEFAULT_EPISODES = 5
DEFAULT_MAX_STEPS = 10_000
# Steps of each of about twenty replays that are compared.
_REPLAYED_STEPS = 300
# Steps of the episode before a replay.
_STEPS_BEFORE = (0, 7, _REPLAYED_STEPS)
# With fewer episodes or steps a common length may be chance.
_TIME_LIMIT_EPISODES = 3
_TIME_LIMIT_STEPS = 5
# Episodes whose texts are compared.
_TEXT_EPISODES = 8


class Finding(NamedTuple):
  """A rule that an environment breaks.

  Attributes:
    rule: Name of the rule.
    what: Description of the fault, and where it appeared.
    level: Level of the rule; 'note' if the user accepts it.
  """

  rule: str
  what: str
  level: str

  def __str__(self) -> str:
    level, fix = rules.RULES[self.rule]
    accepted = '' if level == self.level else ' (accepted)'
    return f'{self.level}{accepted} [{self.rule}] {self.what}\n  fix: {fix}'


class CheckedEpisode(NamedTuple):
  """Sum of rewards, number of steps and end of an episode."""

  return_: float
  length: int
  terminated: bool


class Report(NamedTuple):
  """The result of a check.

  Attributes:
    findings: Broken rules, faults first.
    episodes: Episodes that ended.
    spaces: Descriptions of the two spaces.
    left_out: Checks that were not made, and why.
    observations: What networks see of each observation.
  """

  findings: list[Finding]
  episodes: list[CheckedEpisode]
  spaces: str
  left_out: list[str]
  observations: list[str]

  @property
  def faults(self) -> list[Finding]:
    """Findings that make training wrong or impossible."""
    return [found for found in self.findings if found.level == rules.FAULT]

  def summary(self) -> str:
    """Returns a summary in one line."""
    levels = [found.level for found in self.findings]
    counts = ', '.join(
        _count(levels.count(level), level) for level in rules.LEVELS
    )
    if not self.episodes:
      return f'{counts}; no episode ended; {self.spaces}'
    returns, lengths, terminated = zip(*self.episodes)
    return (
        f'{counts}; {_count(len(lengths), "episode")} of {min(lengths)} to'
        f' {max(lengths)} steps, {sum(terminated)} terminated and'
        f' {len(lengths) - sum(terminated)} truncated, returns'
        f' {min(returns):.4g} to {max(returns):.4g}; {self.spaces}'
    )

  def __str__(self) -> str:
    lines = [str(found) for found in self.findings]
    lines += [f'not checked: {what}' for what in self.left_out]
    return '\n'.join([*lines, self.summary(), *self.observations])


class EnvironmentCheckError(errors.InvalidValue):
  """An environment breaks rules; the message lists all of them.

  Attributes:
    findings: Faults, then warnings and notes.
  """

  def __init__(self, report: Report):
    self.findings = report.findings
    super().__init__(f'The environment has faults.\n{report}')


def check_environment(
    env_fn: Callable[[], gymnasium.Env], **arguments: Any
) -> Report:
  """Checks an environment; raises EnvironmentCheckError with all faults.

  Args:
    env_fn: Function that returns a new single environment at each call.
    **arguments: Arguments of `examine_environment`.

  Returns:
    The report, which may have warnings and notes.
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
    tries_agent: bool = True,
    action_mask_key: str | None = None,
) -> Report:
  """Checks an environment; returns a report, also if there are faults.

  Args:
    env_fn: Function that returns a new single environment at each call.
    num_episodes: Number of episodes to play.
    max_steps: Largest number of steps of all these together.
    seed: Seed of the episodes and of the random actions.
    accept: Rules that the environment may break; such findings become notes.
    tries_agent: Whether to build an agent, let it act, and save its policy,
      which takes some seconds.
    action_mask_key: As of `load_environment`, whose binding counts if this is
      None. Random actions are those that the mask allows.
  """
  counts = dict(num_episodes=num_episodes, max_steps=max_steps)
  ranges.check(dict.fromkeys(counts, ranges.COUNT), counts)
  ranges.check({'seed': ranges.COUNT_OR_0}, {'seed': seed})
  unknown = sorted(set(accept) - set(rules.RULES))
  if unknown:
    raise errors.InvalidValue(
        f'Unknown rules: {unknown}. The rules are {list(rules.RULES)}.'
    )
  if action_mask_key is None:
    bindings = gin.get_bindings(loaders.load_environment)
    action_mask_key = bindings.get('action_mask_key')
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')  # Those that matter become findings.
    return _Check(
        env_fn, max_steps, seed, tries_agent, action_mask_key
    ).run(num_episodes, accept)


class _Check:
  """Runs all stages; each relies on the results of earlier ones."""

  def __init__(
      self,
      env_fn: Callable[[], gymnasium.Env],
      max_steps: int,
      seed: int,
      tries_agent: bool,
      mask_key: str | None,
  ):
    self._env_fn = env_fn
    self._tries_agent = tries_agent
    self._mask_key = mask_key
    self._max_steps = max_steps
    self._replayed_steps = min(max_steps, _REPLAYED_STEPS)
    self._seed = seed
    self._findings = rules.Findings()
    self._envs: list[Any] = []

  def run(self, num_episodes: int, accept: Sequence[str]) -> Report:
    """Runs the stages and returns the report."""
    episodes: list[CheckedEpisode] = []
    left_out, spaces, seen = [], 'no spaces', []
    try:
      batch = self._make(
          functools.partial(
              loaders.load_environment,
              self._env_fn,
              num_environments=2,
              seed=self._seed,
              action_mask_key=self._mask_key,
          )
      )
      seen = list(
          observations.describe_observations(
              action_masks.without_mask(batch.observation_spec())
          )
      )
      env = self._make(self._make_allowing)
      with self._findings.of('gymnasium'):
        try:
          # Its own checks of these make environments of all render modes.
          env_checker.check_env(
              env, skip_render_check=True, skip_close_check=True
          )
        except AssertionError as error:
          # Gymnasium 1.4 refuses also what is shared and never changes; the
          # rule observation-copy finds what does.
          if 'share an object' not in str(error):
            raise
      self._name_misfits(env)
      if self._mask_key is None:
        self._look_for_masks(env)
      first, second = self._make_watched(), self._make_watched()
      spaces = (
          f'observes {rules.brief(first.env.observation_space)}, acts '
          f'{rules.brief(first.env.action_space)}'
      )
      self._play_episodes(first, num_episodes, episodes)
      self._check_inside(second.env)
      self._check_text(second.env)
      self._check_repeats(self._make_watched(), self._make_watched())
      if self._findings.has_faults():
        left_out.append('a batch (fix the faults first)')
      else:
        self._play_batch(batch)
        if self._tries_agent and not self._findings.has_faults():
          self._try_agent(batch)
      with self._findings.of('raises', 'close raised '):
        second.env.close()
        second.env.close()
    except rules.StopChecking:
      left_out.append('all that follows this (fix it first)')
    for env in self._envs:
      with contextlib.suppress(Exception):  # Of which a rule has told.
        env.close()
    findings = []
    for rule, what in self._findings.items():
      level = rules.NOTE if rule in accept else rules.RULES[rule][0]
      findings.append(Finding(rule, what, level))
    findings.sort(key=lambda found: rules.LEVELS.index(found.level))
    return Report(findings, episodes, spaces, left_out, seen)

  def _make(self, make: Callable[[], Any]) -> Any:
    """Returns make(), to be closed in the end; its errors are findings."""
    with self._findings.of('adapter'):
      env = make()
      self._envs.append(env)
      return env
    raise rules.StopChecking

  def _make_allowing(self) -> gymnasium.Env:
    return self._allowing(old_gym.adapted(self._env_fn()))

  def _allowing(self, env: gymnasium.Env) -> gymnasium.Env:
    """Returns `env` so that its mask, if any, allows each action."""
    if self._mask_key is None:
      return env
    return masked_actions.OnlyAllowed(
        masked_actions.MaskedActions(env, self._mask_key)
    )

  def _make_watched(self) -> rules.WatchedEpisodes:
    return rules.WatchedEpisodes(
        self._make(self._make_allowing), self._findings, self._seed
    )

  def _play_episodes(
      self,
      env: rules.WatchedEpisodes,
      num_episodes: int,
      episodes: list[CheckedEpisode],
  ) -> None:
    """Plays whole episodes, adds them to `episodes`, checks their ends."""
    steps_left = self._max_steps
    limits: list[bool] = []  # Of truncated episodes, whether terminated, too.
    while len(episodes) < num_episodes and steps_left > 0:
      moments = env.play(
          None if episodes else self._seed, self._seed + len(episodes)
      )
      return_ = 0.0
      for moment in itertools.islice(moments, steps_left + 1):
        if isinstance(moment.reward, numbers.Real):
          return_ += float(moment.reward)
      steps_left -= moment.step
      if moment.ended:
        terminated = bool(np.any(moment.terminated))
        if np.any(moment.truncated):
          limits.append(terminated)
        episodes.append(CheckedEpisode(return_, moment.step, terminated))
    lengths = {episode.length for episode in episodes}
    if not lengths:
      self._findings.add(
          'episode-end',
          f'No episode has ended in {self._max_steps} random steps.',
      )
    elif limits and all(limits):
      self._findings.add(
          'time-limit',
          f'{_count(len(limits), "episode")} of {len(episodes)} ended both'
          ' terminated and truncated, which counts as terminated.',
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

  def _name_misfits(self, env: gymnasium.Env) -> None:
    """Adds to Gymnasium's finding which entries leave the space, and how."""
    said = self._findings.get('gymnasium', '')
    if 'observation space' not in said:
      return
    with contextlib.suppress(Exception):  # Of which a rule tells.
      seen = [env.reset(seed=self._seed)[0]]
      env.action_space.seed(self._seed)
      seen.append(env.step(env.action_space.sample())[0])
      found = [
          sentence
          for observation in seen
          for sentence in rules.misfits(
              env.observation_space, observation, 'observation'
          )
      ]
      if found:
        named = '; '.join(dict.fromkeys(found))
        self._findings['gymnasium'] = f'{said} Here: {named}.'

  def _look_for_masks(self, env: gymnasium.Env) -> None:
    """Checks whether the environment offers an action mask."""
    with contextlib.suppress(Exception):  # Of which a rule tells.
      observation, info = env.reset(seed=self._seed)
      places = {'info': info}
      if isinstance(observation, dict):
        places['observation'] = observation
      for place, values in places.items():
        for key in masked_actions.likely_keys(env.action_space, values):
          self._findings.add(
              'action-mask',
              f'{place} {key!r} looks like a mask of'
              f' {rules.brief(env.action_space)}, and random actions are of all'
              ' values.',
          )

  def _check_inside(self, env: gymnasium.Env) -> None:
    """Checks whether the environment inside of wrappers reuses a buffer.

    A frame stack of one buffer has several copies of the newest frame, which is
    not visible from outside.
    """
    if env.unwrapped is env:
      return
    findings = rules.Findings()
    with contextlib.suppress(Exception):  # It may need its wrappers.
      inside = rules.WatchedEpisodes(
          self._allowing(env.unwrapped), findings, self._seed
      )
      inside.record(self._seed, max_steps=self._replayed_steps)
    rule = 'observation-copy'
    if rule in findings:
      self._findings.add(rule, f'Inside of the wrappers: {findings[rule]}')

  def _check_text(self, env: gymnasium.Env) -> None:
    """Checks whether text that changes is left out of what agents see."""
    space, seen = env.unwrapped.observation_space, env.observation_space
    if isinstance(seen, gymnasium_spaces.SpaceWithMask):
      seen = seen['observation']
    if not isinstance(space, spaces_lib.Dict):
      return
    seen = seen if isinstance(seen, spaces_lib.Dict) else {}
    for key, part in space.items():
      kept = key in seen and not gymnasium_spaces.is_text(seen[key])
      if kept or not gymnasium_spaces.is_text(part):
        continue
      with contextlib.suppress(Exception):  # It may need its wrappers.
        texts = [
            env.unwrapped.reset(seed=seed)[0][key]
            for seed in range(self._seed, self._seed + _TEXT_EPISODES)
        ]
        if len(set(texts)) > 1:
          self._findings.add(
              'text',
              f'Agents do not see the text {key!r}, such as {texts[0]!r}, which'
              ' differs between episodes.',
          )

  def _check_repeats(
      self, first: rules.WatchedEpisodes, second: rules.WatchedEpisodes
  ) -> None:
    """Checks the effects of seeds, resets and other instances."""
    seed, max_steps = self._seed, self._replayed_steps
    episodes = first.record(seed, None, max_steps=max_steps)
    if self._differ(
        'seed-repeats',
        f'Two instances, reset with seed {seed} and then without',
        episodes,
        second.record(seed, None, max_steps=max_steps),
    ):
      return
    for i, steps in enumerate(_STEPS_BEFORE):
      first.record(seed + 1 + i, max_steps=min(steps, max_steps))
      if self._differ(
          'reset-clears',
          f'Reset with seed {seed} and then without, after up to {steps} steps '
          'of another episode',
          episodes,
          first.record(seed, None, max_steps=max_steps),
      ):
        return
    episode = first.record(seed, max_steps=max_steps)
    rival = itertools.chain.from_iterable(
        second.play(seed, seed) for seed in itertools.count(1)
    )
    self._differ(
        'shared-state',
        'The same episode, while another instance was stepped in turns',
        episode,
        first.record(seed, max_steps=max_steps, rival=rival),
    )

  def _differ(
      self,
      rule: str,
      what: str,
      first: list[rules.Moment],
      second: list[rules.Moment],
  ) -> bool:
    """Adds a finding if two recordings differ; returns whether they differ."""
    where = rules.first_difference(first, second)
    if where is not None:
      self._findings.add(rule, f'{what}, with equal actions: {where}.')
    return where is not None

  def _play_batch(self, batch: vector_environment.VectorPyEnvironment) -> None:
    """Plays two instances through VectorPyEnvironment with random actions."""
    vector_env = batch.gymnasium_vector_env
    vector_env.action_space.seed(self._seed)
    spec = array_spec.add_outer_dims_nest(batch.time_step_spec(), (2,))
    generator = np.random.default_rng(self._seed)
    lowest = highest = None
    with self._findings.of('adapter', 'Two instances in one batch: '):
      time_step = batch.reset()
      for step in range(self._replayed_steps):
        if not array_spec.check_arrays_nest(time_step, spec):
          raise errors.InvalidValue(
              f'Step {step}: {time_step} does not fit {spec}.'
          )
        observation, mask = action_masks.split_mask(time_step.observation)
        if mask is None:
          actions = gymnasium_spaces.from_zero(
              vector_env.single_action_space, vector_env.action_space.sample()
          )
        else:
          actions = np.argmax(mask * generator.random(mask.shape), axis=-1)
        flat = tf.nest.flatten(observation)
        lowest = _reduced(np.minimum, flat, lowest)
        highest = _reduced(np.maximum, flat, highest)
        time_step = batch.step(actions)
    if lowest is not None and highest is not None:
      self._check_seen(
          action_masks.without_mask(batch.observation_spec()), lowest, highest
      )

  def _check_seen(
      self,
      spec: types.NestedArraySpec,
      lowest: list[np.ndarray],
      highest: list[np.ndarray],
  ) -> None:
    """Checks the range of each entry of what a batch has shown, flat."""
    largest = [
        np.max(np.abs([low, high]), initial=0.0)
        for low, high in zip(lowest, highest, strict=True)
    ]
    for what in observations.out_of_scale(spec, largest):
      self._findings.add('observation-scale', f'{what}.')
    for leaf, low, high in zip(
        tf.nest.flatten(spec), lowest, highest, strict=True
    ):
      if low.size and np.array_equal(low, high):
        self._findings.add(
            'observation-changes',
            f'observation {leaf.name!r} was {rules.brief(low)} in all'
            f' {self._replayed_steps} steps of two instances.',
        )

  def _try_agent(self, batch: vector_environment.VectorPyEnvironment) -> None:
    """Does once what a run does: random steps, a policy's step, saving it."""
    # By name: `collecting` imports this package, and Bazel takes no circle.
    agent_factory = importlib.import_module('rnd_agents.agents.agent_factory')
    local = importlib.import_module('rnd_agents.collecting.local')

    def step(time_step: Any, policy: tf_policy.TFPolicy) -> Any:
      tensors = tf.nest.map_structure(tf.convert_to_tensor, time_step)
      state = policy.get_initial_state(batch.batch_size)
      action = policy.action(tensors, state).action
      return batch.step(tf.nest.map_structure(np.asarray, action))

    specs = tensor_spec.from_spec(
        (batch.time_step_spec(), batch.action_spec())
    )
    with (
        _compat.separate_gin_state(),
        tempfile.TemporaryDirectory() as folder,
        self._findings.of('agent'),
    ):
      agent = agent_factory.create_rnd_ppo_agent(*specs)
      generator = tf.random.Generator.from_seed(self._seed)
      random = local.UniformPolicy(agent.collect_policy, generator)
      step(step(batch.reset(), random), agent.collect_policy)
      policy_saver.PolicySaver(agent.policy, batch_size=None).save(folder)


def _reduced(
    ufunc: np.ufunc, flat: list[np.ndarray], so_far: list[np.ndarray] | None
) -> list[np.ndarray]:
  """Returns the extreme of each entry over batches [B, ...] so far."""
  now = [ufunc.reduce(leaf, axis=0) for leaf in flat]
  return now if so_far is None else list(map(ufunc, so_far, now))


def _count(number: int, noun: str) -> str:
  return f'{number} {noun}{"s" * (number != 1)}'


def find_callable(
    name: str, env_kwargs: dict[str, Any]
) -> Callable[[], gymnasium.Env]:
  """Returns a function that makes the environment of a name.

  Args:
    name: A Gymnasium id, 'module:id' or 'module:callable'.
    env_kwargs: Arguments of its constructor.

  Raises:
    MissingPackage: If it needs a package that is not installed.
    InvalidValue: If the name is unknown, or it does not take `env_kwargs`.
  """
  module, _, attribute = name.rpartition(':')
  if module:
    found = getattr(failures.import_module(module, name), attribute, None)
    if callable(found):
      return functools.partial(found, **env_kwargs)

  # Makes the single environment that the loader makes a batch of.
  def make() -> gymnasium.Env:
    batch = loaders.load_environment(
        name, env_kwargs=env_kwargs, action_mask_key=None
    )
    return batch.gymnasium_vector_env.envs[0].env

  make().close()
  return make


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
  """Defines the flags of `main`."""
  to: dict[str, Any] = {'flag_values': flag_values}
  flags.DEFINE_integer(
      'episodes', DEFAULT_EPISODES, 'Number of episodes to play.', **to)
  flags.DEFINE_integer(
      'max_steps', DEFAULT_MAX_STEPS,
      'Largest number of steps of all episodes together.', **to)
  flags.DEFINE_integer('seed', 0, 'Seed of the episodes and actions.', **to)
  flags.DEFINE_multi_string(
      'accept', [], 'A rule that may be broken; can be given several times.',
      **to)
  flags.DEFINE_string(
      'env_kwargs', '{}',
      'Arguments of the constructor, as JSON: \'{"size": 8}\'.', **to)
  flags.DEFINE_string(
      'action_mask_key', None,
      'Key of the observation or the infos with the action mask.', **to)


def main(
    argv: Sequence[str], flag_values: flags.FlagValues = flags.FLAGS
) -> int:
  """Runs the command line; returns the exit status, 1 if there are faults."""
  if len(argv) != 2:
    raise app.UsageError('Name one environment: my_module:MyEnv', exitcode=2)
  try:
    env_kwargs = json.loads(flag_values.env_kwargs)
    if not isinstance(env_kwargs, dict):
      raise errors.InvalidValue('It must be a JSON object.')
  except ValueError as error:
    raise app.UsageError(f'env_kwargs: {error}', exitcode=2) from error
  try:
    report = examine_environment(
        find_callable(argv[1], env_kwargs),
        flag_values.episodes,
        flag_values.max_steps,
        flag_values.seed,
        flag_values.accept,
        action_mask_key=flag_values.action_mask_key,
    )
  except (ImportError, ValueError) as error:
    raise app.UsageError(errors.message_of(error), exitcode=2) from error
  print(f'{argv[1]}\n{report}')
  return 1 if report.faults else 0


def run() -> None:
  """Runs the program, as the command `rnd-check` does."""
  # TensorFlow's remarks on the policy that is saved.
  logging.set_verbosity(logging.ERROR)
  tf.get_logger().setLevel('ERROR')
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
