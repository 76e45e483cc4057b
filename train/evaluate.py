# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Plays episodes with a saved policy, from its SavedModel alone.

  python -m train.evaluate --policy_dir runs/x/policies/policy --episodes 20 \
      --video best.mp4 --csv episodes.csv

The environment is the evaluation environment of the run, configured by its
operative_config.gin two folders above the policy. Episode i begins from
seed + i. The video shows the episode of the highest return, played again.
"""

from collections.abc import Sequence
import copy
import dataclasses
import os
from typing import Any, TYPE_CHECKING

from absl import flags

from rnd_agents import errors
from rnd_agents import programs
from rnd_agents import tables
from train import share

if TYPE_CHECKING:  # TensorFlow takes seconds to load.
  from rnd_agents.environments import episode_log

_NUM_ENVIRONMENTS = 16
_CSV_COLUMNS = (
    'seed', 'return', 'length_env_steps', 'terminated', 'truncated', 'success',
    'rooms',
)


def define_flags(values: flags.FlagValues) -> None:
  """Defines the flags of this program."""
  to: dict[str, Any] = {'flag_values': values}
  flags.DEFINE_string(
      'policy_dir', None, 'Folder of the SavedModel: ROOT_DIR/policies/policy'
      ' of a run, or hf://OWNER/NAME on the Hugging Face Hub.', required=True,
      **to)
  flags.DEFINE_integer(
      'episodes', 20, 'Number of episodes.', lower_bound=1, **to)
  flags.DEFINE_string(
      'env', None, 'Gymnasium id, also module:id. Default: that of the run.',
      **to)
  flags.DEFINE_integer(
      'seed', 0, 'Seed of the first episode.', lower_bound=0, **to)
  flags.DEFINE_multi_string(
      'gin_bindings', [], 'A gin binding, such as'
      ' load_environment.max_episode_steps=500; several times.', **to)
  flags.DEFINE_string(
      'video', None, 'MP4 file to write, of the best episode.', **to)
  flags.DEFINE_string('csv', None, 'Table of the episodes to write.', **to)
  flags.register_validator(
      'video', lambda path: path is None or path.endswith('.mp4'),
      'must end in .mp4', **to)
  flags.register_validator(
      'csv', lambda path: not path or tables.may_write_csv(path, _CSV_COLUMNS),
      'holds something else already: choose another file', **to)


@programs.explaining('evaluate', OSError)
def main(argv: Sequence[str], args: Any = flags.FLAGS) -> int:
  """Runs the command line; returns its exit status."""
  programs.begin(argv)
  _evaluate(args)
  return 0


def _evaluate(args: Any) -> None:
  """Plays the episodes and reports them."""
  import gin

  from rnd_agents.environments import loaders
  from rnd_agents.evaluation import evaluator
  from rnd_agents.evaluation import saved_policy

  args.policy_dir = share.fetch(args.policy_dir)
  policy = saved_policy.SavedPolicy(args.policy_dir)
  configure_environment(args, 'eval')
  size = min(args.episodes, _NUM_ENVIRONMENTS)
  with gin.config_scope('eval'):
    bound = gin.get_bindings(loaders.load_environment)
    num_agents = bound.get('num_agents') or 1
    environment = loaders.load_environment(
        num_environments=bound.get(
            'num_environments', max(size - size % num_agents, num_agents)
        )
    )
  try:
    policy.check_fits(environment)
    seeds = range(args.seed, args.seed + args.episodes)
    episodes = evaluator.Evaluator(environment, policy, seeds).run()
  finally:
    environment.close()
  rows = [_row(episode) for episode in episodes]
  print(_table(rows))
  print()
  for name, value in evaluator.summarize_episodes(episodes).items():
    print(f'{name}: {value:.6g}')
  if args.csv:
    tables.write_csv(args.csv, _CSV_COLUMNS, rows)
    print(f'Table: {args.csv}')
  if args.video:
    _record(args.video, evaluator.best_episode(episodes))


def configure_environment(args: Any, scope: str) -> None:
  """Configures gin for the environment of `args`.

  Args:
    args: The flags `env`, `policy_dir` and `gin_bindings`.
    scope: Gin scope of `load_environment`.
  """
  import gin

  from rnd_agents.environments import failures
  from rnd_agents.environments import loaders
  from rnd_agents.training import configuration
  from rnd_agents.training import gin_files

  if args.env is not None:
    if ':' in args.env:
      failures.import_module(
          args.env.rpartition(':')[0], args.env
      )
    gin_files.parse([], args.gin_bindings)
    bind_env(args.env, scope)
    return
  policy_dir = os.path.abspath(args.policy_dir)
  config = os.path.join(
      os.path.dirname(os.path.dirname(policy_dir)), 'operative_config.gin'
  )
  if not os.path.isfile(config):
    raise errors.InvalidValue(
        f'There is no {config} with the environment: give it by --env=ID.'
    )
  with open(config, encoding='utf-8') as file:
    recorded = configuration.parse_text(file.read(), config)
  # The record has each setting in its scope, where it would win over a user's
  # binding without one.
  given = configuration.parse_text('\n'.join(args.gin_bindings))
  unscoped = {each.name for each in given.bindings if not each.scope}
  recorded = dataclasses.replace(
      recorded,
      bindings=tuple(
          each
          for each in recorded.bindings
          if each.name.removeprefix(f'{scope}/') not in unscoped
      ),
  )
  for statement in recorded.imports:
    if not statement.module.startswith('__gin__'):
      failures.import_module(statement.module, config)
  # A user's own configurables may not be imported yet.
  configuration.bind_recorded(recorded)
  with gin.config_scope(scope):
    env = gin.get_bindings(
        loaders.load_environment, resolve_references=False
    ).get('env')
  env = copy.deepcopy(env)  # Gin's way to resolve a macro.
  if isinstance(env, str) and ':' in env:
    failures.import_module(env.rpartition(':')[0], config)
    # Again, for configurables that were unknown before.
    configuration.bind_recorded(recorded)
  gin_files.parse([], args.gin_bindings)


def bind_env(env: str, scope: str) -> None:
  """Binds the environment of `load_environment` in a scope of gin."""
  import gin

  with gin.unlock_config():
    gin.bind_parameter(f'{scope}/load_environment.env'.lstrip('/'), env)


def _row(episode: 'episode_log.Episode') -> tuple[Any, ...]:
  """Returns the cells of an episode, in the order of the columns."""
  return (
      episode.seed,
      episode.return_,
      episode.length_env_steps,
      int(episode.terminated),
      int(not episode.terminated),
      '' if episode.success is None else int(episode.success),
      '' if episode.rooms_visited is None else episode.rooms_visited,
  )


def _table(rows: Sequence[tuple[Any, ...]]) -> str:
  """Returns the rows as text, without the columns that are empty."""
  columns = [
      [name, *(f'{x:.6g}' if name == 'return' else str(x) for x in column)]
      for name, column in zip(_CSV_COLUMNS, zip(*rows))
      if any(x != '' for x in column)
  ]
  return tables.aligned(list(zip(*columns)), num_left=0)


def _record(path: str, episode: 'episode_log.Episode') -> None:
  """Records a video of an episode and prints what it shows."""
  from rnd_agents.evaluation import video

  recording = video.record_episode(video.rendering_environment, episode, path)
  print(
      f'Video of seed {episode.seed}, return {recording.return_:.6g},'
      f' {recording.length_env_steps} steps: {path}'
  )


def run() -> None:
  """Runs the program, as the command `rnd-evaluate` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
