# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plays episodes with a saved policy, from its SavedModel alone.

  python -m train.evaluate --policy_dir runs/x/policies/policy --episodes 20 \
      --video best.mp4 --csv episodes.csv

The environment is the one that the run was evaluated in, as the run's
operative_config.gin has it, two folders above the policy. Episode i begins from
seed + i. The film shows the episode of the highest return, played again.
"""

import argparse
import copy
import csv
import importlib
import os
import re
import sys

_NUM_ENVIRONMENTS = 16
# Of a gin file: `import a.b`, or `from a import b`, which imports a.b as well.
_GIN_IMPORT = re.compile(r'^(?:from ([\w.]+) )?import ([\w.]+)', re.MULTILINE)
_CSV_COLUMNS = (
    'seed', 'return', 'length_env_steps', 'terminated', 'truncated', 'success',
    'rooms',
)


def _parser():
  parser = argparse.ArgumentParser(
      prog='python -m train.evaluate',
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument(
      '--policy_dir',
      required=True,
      metavar='DIR',
      help='folder of the SavedModel, ROOT_DIR/policies/policy of a run',
  )
  parser.add_argument(
      '--episodes', type=int, default=20, help='default: %(default)s'
  )
  parser.add_argument(
      '--env',
      metavar='ID',
      help='Gymnasium id, also module:id; default: that of the run',
  )
  parser.add_argument(
      '--seed',
      type=int,
      default=0,
      help='of the first episode (default: %(default)s)',
  )
  parser.add_argument(
      '--gin_bindings',
      action='append',
      default=[],
      metavar='BINDING',
      help='such as load_environment.max_episode_steps=500; several times',
  )
  parser.add_argument('--video', metavar='FILE.mp4')
  parser.add_argument('--csv', metavar='FILE')
  return parser


def main(argv=None):
  """Runs the command line; returns its exit status."""
  parser = _parser()
  args = parser.parse_args(argv)
  if args.episodes < 1:
    parser.error(f'--episodes must be at least 1, got {args.episodes}')
  if args.seed < 0:
    parser.error(f'--seed must not be negative, got {args.seed}')
  if args.video and not args.video.endswith('.mp4'):
    parser.error(f'--video must end in .mp4, got {args.video}')
  if args.csv and not _is_free(args.csv):
    parser.error(
        f'--csv {args.csv} holds something else already: choose another'
    )
  # Here and not above: a wrong flag is answered at once.
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
  from rnd_agents.environments import errors
  from rnd_agents.evaluation import saved_policy
  from rnd_agents.evaluation import video
  from rnd_agents.training import gin_files

  try:
    return _evaluate(args)
  except (
      ImportError,
      OSError,
      RuntimeError,  # An episode without an end.
      TypeError,
      ValueError,
      errors.EnvironmentFailure,
      gin_files.GinError,
      saved_policy.SavedPolicyError,
      video.RecordingError,
  ) as error:
    print(f'evaluate: {errors.message_of(error)}', file=sys.stderr)
    return 1


def _evaluate(args):
  """What `main` does once the flags are right."""
  import gin

  from rnd_agents.environments import loaders
  from rnd_agents.evaluation import evaluator
  from rnd_agents.evaluation import saved_policy

  policy = saved_policy.SavedPolicy(args.policy_dir)
  scope, arguments = configure(args)
  size = min(args.episodes, _NUM_ENVIRONMENTS)
  with gin.config_scope(scope):
    environment = loaders.load_environment(num_environments=size, **arguments)
  try:
    policy.check_fits(environment)
    seeds = range(args.seed, args.seed + args.episodes)
    episodes = evaluator.Evaluator(environment, policy, seeds).run()
  finally:
    environment.close()
  rows = [_row(episode) for episode in episodes]
  print(_table(rows))
  print()
  for name, value in evaluator.summarize(episodes).items():
    print(f'{name}: {value:.6g}')
  if args.csv:
    _write_csv(args.csv, rows)
    print(f'Table: {args.csv}')
  if args.video:
    best = evaluator.best_episode(episodes)
    _record(args.video, best, scope, arguments)
  return 0


def configure(args, scope='eval'):
  """Reads the run's settings; returns scope and arguments of the loader."""
  import gin

  from rnd_agents.environments import loaders
  from rnd_agents.training import gin_files

  if args.env is not None:
    _import(args.env.rpartition(':')[0], args.env)
    gin_files.parse([], args.gin_bindings)
    return scope, {'env': args.env}
  policy_dir = os.path.abspath(args.policy_dir)
  config = os.path.join(
      os.path.dirname(os.path.dirname(policy_dir)), 'operative_config.gin'
  )
  if not os.path.isfile(config):
    raise ValueError(
        f'There is no {config} that would name the environment: which one?'
        ' --env=ID.'
    )
  with open(config, encoding='utf-8') as file:
    imports = _GIN_IMPORT.findall(file.read())
  for package, module in imports:
    if not package.startswith('__gin__'):
      _import(f'{package}.{module}'.lstrip('.'), config)
  # Most of what is in it, of agent and networks, is not even imported here.
  gin.parse_config_file(config, skip_unknown=True)
  with gin.config_scope(scope):
    env = gin.get_bindings(
        loaders.load_environment, resolve_references=False
    ).get('env')
  env = copy.deepcopy(env)  # Gin's way to resolve a macro.
  if isinstance(env, str) and ':' in env:
    _import(env.rpartition(':')[0], config)
    # Again, for what was unknown until now.
    gin.parse_config_file(config, skip_unknown=True)
  gin_files.parse([], args.gin_bindings)
  return scope, {}


def _import(module, who):
  """Imports what `who` names, which may define what gin configures."""
  import gin

  if not module:
    return
  try:
    with gin.unlock_config():
      importlib.import_module(module)
  except ModuleNotFoundError as error:
    raise ValueError(
        f'{who} needs the module {module}: {error}. Start from the folder that'
        ' it is in, or put that into PYTHONPATH.'
    ) from error


def _row(episode):
  """The cells of an episode, by column."""
  values = (
      episode.seed,
      episode.return_,
      episode.length_env_steps,
      int(episode.terminated),
      int(not episode.terminated),
      '' if episode.success is None else int(episode.success),
      '' if episode.rooms_visited is None else episode.rooms_visited,
  )
  return dict(zip(_CSV_COLUMNS, values))


def _table(rows):
  """The rows as text, without columns that have nothing in them."""
  names = [n for n in _CSV_COLUMNS if any(row[n] != '' for row in rows)]
  lines = [names] + [
      [f'{row[n]:.6g}' if n == 'return' else str(row[n]) for n in names]
      for row in rows
  ]
  widths = [max(len(cell) for cell in column) for column in zip(*lines)]
  return '\n'.join(
      '  '.join(cell.rjust(width) for cell, width in zip(line, widths))
      for line in lines
  )


def _is_free(path):
  """Whether there is nothing, or a table of an earlier evaluation."""
  if not os.path.exists(path):
    return True
  if not os.path.isfile(path):
    return False
  with open(path, encoding='utf-8', errors='replace') as file:
    return file.readline().strip() in ('', ','.join(_CSV_COLUMNS))


def _write_csv(path, rows):
  os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
  with open(path, 'w', newline='', encoding='utf-8') as file:
    writer = csv.DictWriter(file, _CSV_COLUMNS, lineterminator='\n')
    writer.writeheader()
    writer.writerows(rows)


def _record(path, episode, scope, arguments):
  """Films an episode and says what is to be seen."""
  from rnd_agents.evaluation import video

  recording = video.record_episode(
      lambda: video.rendering_environment(scope, **arguments),
      episode,
      path,
  )
  print(
      f'Film of seed {episode.seed}, return {recording.return_:.6g},'
      f' {recording.length_env_steps} steps: {path}'
  )


if __name__ == '__main__':
  sys.exit(main())
