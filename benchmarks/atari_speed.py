# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of RND-PPO on Montezuma's Revenge, and of rivals.

    python -m benchmarks.atari_speed --only=end_to_end \
        --cleanrl=ppo_rnd_envpool.py --rival_python=python_with_torch

What `--only` chooses from; all of them where it is left out:

*   end_to_end: agent steps/s of `train.train_eval`, in turns with CleanRL's
    script if `--cleanrl` is given; each is a process of a few updates;
*   parts: time of the environments, of acting and of training;
*   scaling: as end_to_end without a rival, with 8, 32 and 128 environments;
*   memory: peak of the resident memory of `train.train_eval`.

Settings are the paper's but for the number of environments; the predictor
learns from a quarter of each of 4 minibatches, as CleanRL's. Differences that
remain: CleanRL's third policy convolution is 3x3 (the policy takes 4 % less
arithmetic than ours), it normalises advantages, clips gradients and ends an
episode with each life.

`--rival_python` is a Python with `pip install torch envpool gym tyro
tensorboard`. CleanRL's script is run as it is; `atari_rivals` gives it the API
of envpool that it was written for.
"""

import os
import statistics

from absl import app
from absl import flags
import gin
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from benchmarks import atari_runs
from benchmarks import gin_runs
from benchmarks import paired
from benchmarks import tables
from rnd_agents.collecting import local
from rnd_agents.environments import loaders
from rnd_agents.networks import precision
from rnd_agents.training import gin_files

_GIN_FILE = 'montezuma_revenge_cpu.gin'
_FOREVER = 10**12


def bindings(num_envs):
  """Gin bindings of all runs of this package."""
  lines = [
      f'train_eval.num_environments = {num_envs}',
      f'OnPolicyTraining.rollout_length = {flags.FLAGS.rollout_length}',
      'train_eval.warm_up_env_steps ='
      f' {num_envs * flags.FLAGS.rollout_length}',
      f'train_eval.num_env_steps = {_FOREVER}',
      f'train_eval.eval_interval_env_steps = {_FOREVER}',
      'RNDPPOAgent.predictor_proportion = 0.25',
  ]
  if flags.FLAGS.compute_dtype is not None:
    lines.append(f"COMPUTE_DTYPE = '{flags.FLAGS.compute_dtype}'")
  return lines + flags.FLAGS.gin_bindings


def run_ours(num_envs):
  return atari_runs.run_ours(
      _GIN_FILE, bindings(num_envs), flags.FLAGS.num_updates
  )


def run_cleanrl(num_envs):
  args = flags.FLAGS
  return atari_runs.run_cleanrl(
      args.rival_python,
      args.cleanrl,
      num_envs,
      args.rollout_length,
      args.num_updates,
  )


def table_of_runs(runs):
  """Prints pairs of a name and an `atari_runs.Run`."""
  tables.print_table(
      (
          'what',
          's an update (median, span)',
          'agent steps/s',
          'its parts, s',
          'peak GiB',
          'foreign load',
      ),
      [
          (
              name,
              paired.span(run.seconds),
              f'{run.steps_per_s():,.0f}',
              ', '.join(
                  f'{part} {statistics.median(seconds):.2f}'
                  for part, seconds in run.parts.items()
              ),
              f'{run.peak_gib:.2f}',
              run.foreign_load,
          )
          for name, run in runs
      ],
  )


def ratio(runs, name, reference):
  """The `Span` of steps/s of `name` over `reference`, turn by turn."""
  a, b = (
      [run.steps_per_s() for n, run in runs if n == x]
      for x in (name, reference)
  )
  return paired.span([x / y for x, y in zip(a, b, strict=True)])


def take_turns(contenders):
  """Runs each a number of times; returns pairs of its name and a `Run`."""
  return [
      (name, contenders[name]())
      for i in range(flags.FLAGS.num_turns)
      for name in (contenders if i % 2 == 0 else reversed(contenders))
  ]


def compare_end_to_end():
  num_envs = flags.FLAGS.num_envs
  contenders = {'rnd_agents': lambda: run_ours(num_envs)}
  if flags.FLAGS.cleanrl is not None:
    contenders['CleanRL'] = lambda: run_cleanrl(num_envs)
  runs = take_turns(contenders)
  print(f'## End to end, {num_envs} environments\n')
  table_of_runs(runs)
  if flags.FLAGS.cleanrl is not None:
    print(f'CleanRL on {runs[1][1].versions}.')
    print(
        'Steps/s of rnd_agents over CleanRL, turn by turn:'
        f' {ratio(runs, "rnd_agents", "CleanRL")}\n'
    )


def _stepping(num_envs, rollout_length):
  """Returns the environments, and a function that takes random steps."""
  with gin.config_scope('train'):
    env = loaders.load_environment(num_environments=num_envs, seed=0)
  env.reset()
  actions = np.random.RandomState(0).randint(
      env.action_spec().maximum + 1, size=[rollout_length, num_envs]
  )

  def run():
    for action in actions:
      env.step(action)

  return env, run


def _acting(policy, experience, rollout_length):
  """Returns a function that chooses the actions of a rollout."""
  row = tf.nest.map_structure(lambda x: x[:, 0], experience)
  time_step = ts.TimeStep(
      row.step_type, row.reward, row.discount, row.observation
  )

  def step(i, total):
    # The sum keeps the graph from leaving actions out.
    actions = tf.cast(policy.action(time_step).action, tf.int64)
    return i + 1, total + tf.reduce_sum(actions)

  @common.function
  def act():
    return tf.while_loop(
        lambda i, _: i < rollout_length,
        step,
        (tf.constant(0), tf.constant(0, tf.int64)),
        parallel_iterations=1,
    )[1]

  return lambda: act().numpy()


def show_parts():
  args = flags.FLAGS
  built = gin_runs.build(_GIN_FILE, bindings(args.num_envs))
  built.shards.reset()
  rollout = built.collect(args.rollout_length)
  experience = local.as_tensors(rollout.trajectory)
  train = common.function(built.agent.train)
  env, stepping = _stepping(args.num_envs, args.rollout_length)
  load = paired.ForeignLoad()
  times = paired.in_turns(
      {
          'collecting': lambda: built.collect(args.rollout_length),
          'its environment alone': stepping,
          'its acting alone': _acting(
              built.agent.collect_policy, experience, args.rollout_length
          ),
          'training': lambda: train(experience).loss.numpy(),
      },
      args.num_rounds,
      num_warm_up_rounds=1,
  )
  env.close()
  built.shards.close()
  seconds = {name: paired.median_s(times, name) for name in times}
  whole_s = seconds['collecting'] + seconds['training']
  print(f'## Parts of an update, {args.num_envs} environments\n')
  tables.print_table(
      ('part', 's', 'share'),
      [
          (name, f'{part_s:.3f}', f'{100 * part_s / whole_s:.1f} %')
          for name, part_s in seconds.items()
      ],
  )
  print(f'{args.num_rounds} rounds, foreign load {load}\n')


def compare_sizes():
  sizes = {str(n): lambda n=n: run_ours(n) for n in (8, 32, 128)}
  runs = take_turns(sizes)
  print('## Scaling, by the number of environments\n')
  table_of_runs(runs)
  print(f'Steps/s with 128 over 32: {ratio(runs, "128", "32")}\n')


def show_memory():
  print('## Peak of the resident memory, by the number of environments\n')
  table_of_runs([(str(n), run_ours(n)) for n in (32, 128)])


_PARTS = {
    'end_to_end': compare_end_to_end,
    'parts': show_parts,
    'scaling': compare_sizes,
    'memory': show_memory,
}


def machine():
  """`paired.machine`, what the cores can do, and how many threads they get."""
  features = precision.cpu_flags()
  names = ('avx2', 'avx512f', 'avx512_bf16', 'amx_bf16')
  limits = [
      f'{name}={os.environ[name]}'
      for name in ('OMP_NUM_THREADS', 'TF_NUM_INTRAOP_THREADS')
      if name in os.environ
  ]
  return (
      f'{paired.machine()}; has {", ".join(n for n in names if n in features)};'
      f' lacks {", ".join(n for n in names if n not in features)};'
      f' {", ".join(limits) or "as many threads as cores"}'
  )


def main(argv):
  del argv
  args = flags.FLAGS
  if args.cleanrl is not None and args.rival_python is None:
    raise app.UsageError('--cleanrl needs --rival_python: a Python with torch.')
  gin_files.parse([_GIN_FILE], bindings(args.num_envs))
  print(machine())
  compute_dtype = gin.query_parameter('%COMPUTE_DTYPE')
  policy = precision.layer_policy(compute_dtype)
  print(
      f'{_GIN_FILE}, rollouts of {args.rollout_length} steps; large layers'
      f' compute in {policy.compute_dtype} (compute_dtype ='
      f' {compute_dtype!r})\n',
      flush=True,
  )
  for name in args.only:
    _PARTS[name]()


if __name__ == '__main__':
  flags.DEFINE_multi_enum('only', list(_PARTS), list(_PARTS), 'What to do.')
  flags.DEFINE_integer('num_envs', 32, 'Environments; not of scaling, memory.')
  flags.DEFINE_integer('rollout_length', 128, 'Steps of each environment.')
  flags.DEFINE_integer('num_updates', 3, 'Of a process, after the first.')
  flags.DEFINE_integer('num_turns', 3, 'Processes of each contender.')
  flags.DEFINE_integer('num_rounds', 5, 'Of parts.')
  flags.DEFINE_string('cleanrl', None, "CleanRL's ppo_rnd_envpool.py.")
  flags.DEFINE_string('rival_python', None, 'A Python that can run it.')
  flags.DEFINE_enum(
      'compute_dtype',
      None,
      ['auto', 'float32', 'bfloat16'],
      'Of the networks; the default is that of the gin file.',
  )
  flags.DEFINE_multi_string('gin_bindings', [], 'More, for this package alone.')
  app.run(main)
