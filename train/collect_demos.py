# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Records demonstrations of a saved policy or of a scripted expert.

  python -m train.collect_demos --policy_dir runs/x/policies/policy \
      --episodes 100 --min_return 0.9 --out demos.tfrecord

  python -m train.collect_demos --env rnd_agents/CueLock-v0 --expert \
      --episodes 20 --out demos.tfrecord

The environment is that of --env or of --gin_file, or the training environment
of the policy's run, configured by its operative_config.gin two folders above
the policy. Demonstrations have the rewards that an agent is trained on there;
--min_return and the printed returns are of the environment's own rewards.
A run refuses demonstrations of an environment with other settings than its own.

Episode i begins from seed + i. With --min_return, more seeds are tried until
there are --episodes of them. FILE.spec and FILE.json, which belong to FILE, and
FILE.csv, a table of the episodes, are written beside it. --out minari:NAME-v0
writes a data set of Minari in their place.

Ctrl-C keeps the complete episodes. Those that a kill has left, or damage:

  python -m train.collect_demos --salvage demos.tfrecord.partial \
      --out whole.tfrecord
"""

from collections.abc import Callable, Sequence
import os
import sys
import traceback
from typing import Any, Optional, TYPE_CHECKING

from absl import flags

from rnd_agents import errors
from rnd_agents import programs
from rnd_agents import tables
from train import share

if TYPE_CHECKING:  # TensorFlow takes seconds to load.
  from rnd_agents.environments import vector_environment
  from rnd_agents.evaluation import actors as actors_lib
  from rnd_agents.evaluation import demonstration_recorder as recorder_lib
  from rnd_agents.evaluation import saved_policy as saved_policy_lib

_OF_PLAYING = (
    'env', 'gin_file', 'gin_bindings', 'min_return', 'keep_network_state',
)
_CSV_COLUMNS = ('seed', 'return', 'length_env_steps')
_ATTEMPTS = 10  # Episodes to play for each demonstration, with --min_return.


class _ExpertParser(flags.ArgumentParser):
  """Returns '' for --expert without a value, which absl reads as a boolean."""

  def parse(self, argument: str) -> str | None:
    return {'true': '', 'false': None}.get(argument, argument)


def define_flags(values: flags.FlagValues) -> None:
  """Defines the flags of this program."""
  to: dict[str, Any] = {'flag_values': values}
  flags.DEFINE_string(
      'policy_dir', None, 'Folder of the SavedModel: ROOT_DIR/policies/policy'
      ' of a run, or hf://OWNER/NAME on the Hugging Face Hub.', **to)
  flags.DEFINE_flag(
      flags.Flag(
          _ExpertParser(), None, 'expert', None, '--expert=MODULE:FUNCTION'
          ' takes observations [B, ...], also a time_step, and returns actions'
          ' [B]; MODULE:CLASS is one with memory; --expert alone'
          " calls the environment's own expert_action().", boolean=True), **to)
  flags.DEFINE_string(
      'salvage', None, 'A file that is damaged or not complete: its whole'
      ' episodes are copied, and none are played.', **to)
  flags.DEFINE_string('out', None, 'File to write.', required=True, **to)
  flags.DEFINE_integer(
      'episodes', 20, 'Number of demonstrations.', lower_bound=1, **to)
  flags.DEFINE_float(
      'min_return', None, 'Keeps only episodes of this return or more.', **to)
  flags.DEFINE_integer(
      'max_attempts', None, 'Highest number of episodes to play, with'
      f' --min_return. Default: {_ATTEMPTS} times --episodes.', lower_bound=1,
      **to)
  flags.DEFINE_integer(
      'seed', 0, 'Seed of the first episode.', lower_bound=0, **to)
  flags.DEFINE_boolean(
      'keep_network_state', False, 'Whether to record the state of a recurrent'
      ' policy before each step, for use with the very same network.', **to)
  flags.DEFINE_string('env', None, 'Gymnasium id, also module:id.', **to)
  flags.DEFINE_multi_string(
      'gin_file', [], 'A gin file of train_eval, for its environment; several'
      ' times.', **to)
  flags.DEFINE_multi_string(
      'gin_bindings', [], 'A gin binding, such as'
      ' load_environment.max_episode_steps=500; several times.', **to)
  flags.DEFINE_string(
      'gin_scope', 'train', 'Scope of load_environment in the run or gin file.',
      **to)
  flags.DEFINE_integer(
      'num_environments', 8, 'Number of environments that play at once.',
      lower_bound=1, **to)
  flags.mark_flags_as_mutual_exclusive(
      ['policy_dir', 'expert', 'salvage'], required=True, **to)
  flags.register_validator('out', _is_free, **to)
  flags.register_multi_flags_validator(
      ['max_attempts', 'min_return'],
      lambda flag: flag['max_attempts'] is None
      or flag['min_return'] is not None,
      '--max_attempts has no effect without --min_return', **to)
  flags.register_multi_flags_validator(
      ['expert', 'env', 'gin_file'],
      lambda flag: flag['expert'] is None or flag['env'] or flag['gin_file'],
      '--expert needs an environment: --env=ID or --gin_file=FILE', **to)
  flags.register_multi_flags_validator(
      ['salvage', *_OF_PLAYING],
      lambda flag: flag['salvage'] is None
      or not any(flag[name] for name in _OF_PLAYING),
      f'--{", --".join(_OF_PLAYING)} have no effect with --salvage', **to)


def _is_free(out: str | None) -> bool:
  """Checks that nothing would be written over."""
  if out is None or out.startswith('minari:'):  # Its writer checks it.
    return True
  for path in (out, f'{out}.partial'):
    if os.path.exists(path):
      reason = 'is a folder' if os.path.isdir(path) else 'exists'
      raise flags.ValidationError(f'{path} {reason}: name another file')
  return True


@programs.explaining('collect_demos', OSError)
def main(argv: Sequence[str], args: Any = flags.FLAGS) -> int:
  """Runs the command line; returns its exit status."""
  programs.begin(argv)
  # Not at the top: TensorFlow takes seconds to load, --help should not.
  import tensorflow as tf

  from rnd_agents.evaluation import actors

  try:
    return _collect(args) if args.salvage is None else _salvage(args)
  except actors.ExpertFailure as failure:
    print(f'collect_demos: {failure}', file=sys.stderr)
    error = failure.__cause__
    if error is not None and error.__traceback__ is not None:
      frames = error.__traceback__.tb_next  # Without that of our call.
      traceback.print_exception(type(error), error, frames)
    return 1
  # TensorFlow writes the file, and raises its own errors of the disk.
  except tf.errors.OpError as error:
    raise errors.RunError(str(error)) from error


def _salvage(args: Any) -> int:
  """Copies the whole episodes of a file; returns the exit status."""
  from rnd_agents.replay import demonstrations

  episodes = demonstrations.read_episodes(args.salvage, salvage=True)
  record = demonstrations.Record.read(args.salvage)
  demonstrations.write_episodes(
      args.out,
      demonstrations.read_spec(args.salvage),
      episodes,
      record and record.environment,
  )
  print(f'{len(episodes)} demonstrations of {args.salvage}: {args.out}')
  return 0


def _collect(args: Any) -> int:
  """Records the demonstrations; returns the exit status."""
  import gin

  from rnd_agents.environments import loaders
  from rnd_agents.evaluation import saved_policy
  from rnd_agents.training import runs

  policy = None
  if args.policy_dir is not None:
    args.policy_dir = share.fetch(args.policy_dir)
    policy = saved_policy.SavedPolicy(args.policy_dir)
  _configure(args)
  size = min(args.episodes, args.num_environments)
  with gin.config_scope(args.gin_scope):
    bound = gin.get_bindings(loaders.load_environment)
    if bound.get('num_agents') is not None:
      raise errors.InvalidValue(
          'A demonstration is of an environment of one agent, and'
          ' load_environment.num_agents puts several into each: collect from an'
          ' environment without it.'
      )
    if 'num_environments' in bound:
      raise errors.InvalidValue(
          'load_environment.num_environments has no effect here: give'
          ' --num_environments.'
      )
    environment = loaders.load_environment(num_environments=size)
  stopped_by: list[str] = []
  try:
    actor = _actor(args.expert, policy, environment)
    with runs.stopping_on_signals(stopped_by.append):
      kept = _record(args, environment, actor, lambda: bool(stopped_by))
  finally:
    environment.close()
  if not kept:
    raise errors.InvalidValue(
        'There is no episode to keep, and no file was written.'
    )
  if not args.out.startswith('minari:'):
    rows = [(x.seed, x.return_, x.length_env_steps) for x in kept]
    tables.write_csv(f'{args.out}.csv', _CSV_COLUMNS, rows)
  print(_summary(kept, args.out))
  if len(kept) == args.episodes:
    return 0
  why = 'stopped' if stopped_by else 'other returns were below --min_return'
  print(
      f'collect_demos: {len(kept)} of {args.episodes} demonstrations: {why}.',
      file=sys.stderr,
  )
  return 1


def _configure(args: Any) -> None:
  """Configures gin for `load_environment` in the scope of `args`."""
  from rnd_agents import environments
  from rnd_agents.training import gin_files
  from train import evaluate

  del environments  # Imported to register the experts with gin.
  if args.gin_file:
    # Registers what a gin file of train_eval may configure.
    from rnd_agents.training import experiment

    del experiment
    gin_files.parse(args.gin_file, args.gin_bindings)
    if args.env is not None:
      evaluate.bind_env(args.env, args.gin_scope)
  else:
    evaluate.configure_environment(args, args.gin_scope)


def _actor(
    expert: str,
    policy: Optional['saved_policy_lib.SavedPolicy'],
    environment: 'vector_environment.VectorPyEnvironment',
) -> 'actors_lib.Actor':
  """Returns the actor: the policy, or the expert if that is None."""
  from rnd_agents.evaluation import actors

  if policy is not None:
    policy.check_fits(environment)
    return actors.PolicyActor(policy)
  if not expert:
    return actors.ExpertActor(environment)
  function = actors.load_function(expert)
  return actors.FunctionActor(function, environment)


def _record(
    args: Any,
    environment: 'vector_environment.VectorPyEnvironment',
    actor: 'actors_lib.Actor',
    should_stop: Callable[[], bool],
) -> list['recorder_lib.Demonstration']:
  """Plays and writes; returns the demonstrations without their frames."""
  from rnd_agents.evaluation import actors
  from rnd_agents.evaluation import demonstration_recorder
  from rnd_agents.interchange import minari_data
  from rnd_agents.replay import demonstrations
  from rnd_agents.training import configuration

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
  described = configuration.of_environment(args.gin_scope)
  is_minari = args.out.startswith(minari_data.MINARI_PREFIX)
  writer: Any
  if is_minari:
    env_spec = environment.gymnasium_vector_env.spec
    writer = minari_data.MinariWriter(args.out, spec, described, env_spec)
  else:
    writer = demonstrations.DemonstrationWriter(args.out, spec, described)
  with writer:
    for demo in episodes:
      line = (
          f'seed {demo.seed}: return {demo.return_:.6g},'
          f' {demo.length_env_steps} steps'
      )
      if args.min_return is not None and demo.return_ < args.min_return:
        print(f'{line}, too low', flush=True)
        continue
      writer.write(demo.trajectory, *([demo.seed] if is_minari else []))
      kept.append(demo._replace(trajectory=None))
      print(f'{line} ({len(kept)} of {args.episodes})', flush=True)
      if len(kept) == args.episodes:
        break
  return kept


def _summary(kept: Sequence['recorder_lib.Demonstration'], path: str) -> str:
  """Returns one line on the demonstrations."""
  best = max(kept, key=lambda demo: demo.return_)
  mean = sum(demo.return_ for demo in kept) / len(kept)
  length = sum(demo.length_env_steps for demo in kept) / len(kept)
  return (
      f'{len(kept)} demonstrations, mean return {mean:.6g}, best'
      f' {best.return_:.6g} (seed {best.seed}), mean length {length:.6g}:'
      f' {path}'
  )


def run() -> None:
  """Runs the program, as the command `rnd-collect-demos` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
