# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records episodes to learn from: of a saved policy, or of a scripted expert.

  python -m train.collect_demos --policy_dir runs/x/policies/policy \
      --episodes 100 --min_return 0.9 --out demos.tfrecord

  python -m train.collect_demos --env rnd_agents/CueLock-v0 --expert \
      --episodes 20 --out demos.tfrecord

The environment is that of --env, of --gin_file, or the one that the policy was
trained in, as the run's operative_config.gin has it, two folders above the
policy. Of the two that a run has, it is the one to train in: the rewards of the
demonstrations are those that an agent there would have got. --min_return and
what is printed are of the rewards as the environment gave them.

Episode i begins from seed + i. With --min_return, more seeds are tried until
there are as many episodes as asked for. FILE.spec, which is needed to read
FILE, and FILE.csv, a table of the episodes, come beside it. Ctrl-C keeps the
episodes that are complete.
"""

import argparse
import csv
import os
import sys

_CSV_COLUMNS = ('seed', 'return', 'length_env_steps')
_ATTEMPTS = 10  # For each demonstration, of --min_return.


def _parser():
  parser = argparse.ArgumentParser(
      prog='python -m train.collect_demos',
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  player = parser.add_mutually_exclusive_group(required=True)
  player.add_argument(
      '--policy_dir',
      metavar='DIR',
      help='folder of the SavedModel, ROOT_DIR/policies/policy of a run',
  )
  player.add_argument(
      '--expert',
      nargs='?',
      const='',
      metavar='MODULE:FUNCTION',
      help='takes observations [B, ...], returns actions [B]; without a value,'
      " the environment's own expert_action()",
  )
  parser.add_argument('--out', required=True, metavar='FILE')
  parser.add_argument(
      '--episodes', type=int, default=20, help='default: %(default)s'
  )
  parser.add_argument('--min_return', type=float, metavar='X')
  parser.add_argument(
      '--max_attempts',
      type=int,
      metavar='N',
      help='episodes to play at most, of --min_return; default:'
      f' {_ATTEMPTS} times --episodes',
  )
  parser.add_argument(
      '--seed',
      type=int,
      default=0,
      help='of the first episode (default: %(default)s)',
  )
  parser.add_argument(
      '--keep_network_state',
      action='store_true',
      help=(
          'also record what a recurrent policy remembered before each step, of'
          ' use to the very same network'
      ),
  )
  parser.add_argument(
      '--env', metavar='ID', help='Gymnasium id, also module:id'
  )
  parser.add_argument(
      '--gin_file',
      action='append',
      default=[],
      help='of train_eval, for its environment; several times',
  )
  parser.add_argument(
      '--gin_bindings',
      action='append',
      default=[],
      metavar='BINDING',
      help='such as load_environment.max_episode_steps=500; several times',
  )
  parser.add_argument(
      '--gin_scope',
      default='train',
      help='of load_environment in the run or gin file (default: %(default)s)',
  )
  parser.add_argument(
      '--num_environments',
      type=int,
      default=8,
      help='that play at once (default: %(default)s)',
  )
  return parser


def main(argv=None):
  """Runs the command line; returns its exit status."""
  parser = _parser()
  args = parser.parse_args(argv)
  for name in ('episodes', 'num_environments', 'max_attempts'):
    number = getattr(args, name)
    if number is not None and number < 1:
      parser.error(f'--{name} must be at least 1, got {number}')
  if args.seed < 0:
    parser.error(f'--seed must not be negative, got {args.seed}')
  if args.max_attempts is not None and args.min_return is None:
    parser.error('--max_attempts has no effect without --min_return')
  if args.expert is not None and args.env is None and not args.gin_file:
    parser.error('--expert plays where? --env=ID or --gin_file=FILE')
  for path in (args.out, args.out + '.partial'):
    if os.path.exists(path):
      parser.error(f'{path} exists: move it away, or choose another --out')
  # Here and not above: a wrong flag is answered at once.
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
  import tensorflow as tf

  from rnd_agents.environments import errors
  from rnd_agents.training import gin_files

  try:
    return _collect(args)
  except (
      ImportError,
      OSError,
      tf.errors.OpError,  # Of the file: TensorFlow writes it.
      RuntimeError,  # Of the environment; an episode without an end.
      TypeError,
      ValueError,  # Among them those of policies and demonstrations.
      gin_files.GinError,
  ) as error:
    print(f'collect_demos: {errors.message_of(error)}', file=sys.stderr)
    return 1


def _collect(args):
  """What `main` does once the flags are right."""
  import gin

  from rnd_agents.environments import loaders
  from rnd_agents.evaluation import saved_policy
  from rnd_agents.training import stop_signals

  policy = None
  if args.policy_dir is not None:
    policy = saved_policy.SavedPolicy(args.policy_dir)
  scope, arguments = _configure(args)
  size = min(args.episodes, args.num_environments)
  with gin.config_scope(scope):
    environment = loaders.load_environment(num_environments=size, **arguments)
  stopped_by = []
  try:
    actor = _actor(args.expert, policy, environment)
    with stop_signals.calling(stopped_by.append):
      kept = _record(args, environment, actor, lambda: bool(stopped_by))
  finally:
    environment.close()
  if not kept:
    raise ValueError('There is no episode to keep, and no file was written.')
  _write_csv(args.out + '.csv', kept)
  print(_summary(kept, args.out))
  if len(kept) == args.episodes:
    return 0
  why = 'stopped' if stopped_by else '--min_return let no more pass'
  print(
      f'collect_demos: {len(kept)} of {args.episodes} demonstrations: {why}.',
      file=sys.stderr,
  )
  return 1


def _configure(args):
  """Reads the settings; returns scope and arguments of `load_environment`."""
  from rnd_agents.environments import minigrid_expert
  from rnd_agents.environments import scripted_experts
  from rnd_agents.training import gin_files
  from train import evaluate

  del minigrid_expert, scripted_experts  # For gin to know.
  if args.gin_file:
    # What a gin file of train_eval may speak of.
    from rnd_agents.training import trainer

    del trainer
    gin_files.parse(args.gin_file, args.gin_bindings)
    return args.gin_scope, {} if args.env is None else {'env': args.env}
  return evaluate.configure(args, args.gin_scope)


def _actor(expert, policy, environment):
  """Who plays: the policy, or the expert if that is None."""
  from rnd_agents.evaluation import actors

  if policy is not None:
    policy.check_fits(environment)
    return actors.PolicyActor(policy)
  if not expert:
    return actors.ExpertActor(environment)
  function = actors.load_function(expert)
  return actors.FunctionActor(function, environment)


def _record(args, environment, actor, should_stop):
  """Plays and writes; returns the demonstrations kept, without their frames."""
  from rnd_agents.evaluation import actors
  from rnd_agents.evaluation import demonstration_recorder
  from rnd_agents.replay import demonstrations

  states = ()
  if args.keep_network_state:
    states = actors.network_state_spec(actor)
  spec = demonstrations.trajectory_spec(
      environment.observation_spec(), environment.action_spec(), states
  )
  attempts = args.episodes
  if args.min_return is not None:
    attempts = args.max_attempts or _ATTEMPTS * args.episodes
  episodes = demonstration_recorder.record(
      environment,
      actor,
      range(args.seed, args.seed + attempts),
      args.keep_network_state,
      should_stop,
  )
  kept = []
  with demonstrations.DemonstrationWriter(args.out, spec) as writer:
    for demo in episodes:
      line = (
          f'seed {demo.seed}: return {demo.return_:.6g},'
          f' {demo.length_env_steps} steps'
      )
      if args.min_return is not None and demo.return_ < args.min_return:
        print(f'{line}, too low', flush=True)
        continue
      writer.write(demo.trajectory)
      kept.append(demo._replace(trajectory=None))
      print(f'{line} ({len(kept)} of {args.episodes})', flush=True)
      if len(kept) == args.episodes:
        break
  return kept


def _summary(kept, path):
  """One line of what was collected."""
  best = max(kept, key=lambda demo: demo.return_)
  mean = sum(demo.return_ for demo in kept) / len(kept)
  length = sum(demo.length_env_steps for demo in kept) / len(kept)
  return (
      f'{len(kept)} demonstrations, mean return {mean:.6g}, best'
      f' {best.return_:.6g} (seed {best.seed}), mean length {length:.6g}:'
      f' {path}'
  )


def _write_csv(path, kept):
  from rnd_agents import files

  with files.replacing(path) as file:
    writer = csv.writer(file, lineterminator='\n')
    writer.writerow(_CSV_COLUMNS)
    for demo in kept:
      writer.writerow((demo.seed, demo.return_, demo.length_env_steps))


if __name__ == '__main__':
  sys.exit(main())
