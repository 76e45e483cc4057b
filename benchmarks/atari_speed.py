# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of RND-PPO on Montezuma's Revenge, and of rivals.

    python -m benchmarks.atari_speed --only=end_to_end \
        --cleanrl=ppo_rnd_envpool.py --rival_python=python_with_torch

Of `--only`, all where it is left out:

*   end_to_end: agent steps/s of `train.train_eval`, in turns with CleanRL's
    script if `--cleanrl` is given; each is a process of a few updates;
*   parts: where an iteration's time goes;
*   learning: seconds of a minibatch, and those of the same learning in PyTorch
    if `--rival_python` is given, in turns in processes that stay;
*   layers: the rate of each layer's kernels, and of an update made of them;
*   scaling: as end_to_end without rival, with 8, 32 and 128 environments;
*   memory: peak of the resident memory of `train.train_eval`.

Settings are the paper's but for the number of environments; the predictor
learns from a quarter of each of 4 minibatches, as CleanRL's. Differences that
remain: CleanRL's third policy convolution is 3x3 (the policy takes 4 % less
arithmetic than ours), it normalises advantages, clips gradients and ends an
episode with each life.

`--rival_python` needs `pip install torch`, for `--cleanrl` also `envpool gym
tyro tensorboard`. CleanRL's script is run as it is; `atari_rivals` gives it the
API of envpool that it was written for.
"""

import os
import statistics

from absl import app
from absl import flags
import gin

from benchmarks import atari_layers
from benchmarks import atari_parts
from benchmarks import atari_runs
from benchmarks import paired
from benchmarks import tables
from rnd_agents.networks import precision
from rnd_agents.training import gin_files

_GIN_FILE = 'montezuma_revenge_cpu.gin'
_FOREVER = 10**12


def bindings(num_envs):
  """Gin bindings of all that is measured of ours."""
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


def print_share_of_roof(runs):
  """Prints arithmetic a second of our training, beside a matrix product's."""
  gflop_per_step = sum(atari_layers.gflop_per_step().values())
  rate = statistics.median(
      gflop_per_step * run.steps / seconds
      for name, run in runs
      if name == 'rnd_agents'
      for seconds in run.parts['training']
  )
  product, product_gflop = atari_layers.matrix_product()
  times = paired.in_turns({'product': product}, 20, num_warm_up_rounds=1)
  roof = product_gflop / paired.median_s(times, 'product')
  print(
      f'Training makes {rate:.0f} GFLOP/s ({1e3 * gflop_per_step:.0f} MFLOP a'
      f' step), {100 * rate / roof:.0f} % of a float32 matrix product'
      f' ({roof:.0f} GFLOP/s).'
  )


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
  print_share_of_roof(runs)
  if flags.FLAGS.cleanrl is not None:
    print(f'CleanRL on {runs[1][1].versions}.')
    print(
        'Steps/s of rnd_agents over CleanRL, turn by turn:'
        f' {ratio(runs, "rnd_agents", "CleanRL")}\n'
    )


def show_parts():
  load = paired.ForeignLoad()
  seconds = atari_parts.split(flags.FLAGS.num_rounds)
  whole_s = sum(seconds[name] for name in atari_parts.WITHIN)
  rows = []

  def add(name, part_s, how):
    rows.append((name, f'{part_s:.3f}', f'{100 * part_s / whole_s:.1f} %', how))

  for whole, parts in atari_parts.WITHIN.items():
    add(f'**{whole}**', seconds[whole], 'as train_eval does it')
    for part in parts:
      add(part, seconds[part], 'by itself')
    rest_s = seconds[whole] - sum(seconds[part] for part in parts)
    add(f'rest of {whole}', rest_s, 'difference')
  print(f'## Parts of an update, {flags.FLAGS.num_envs} environments\n')
  tables.print_table(('part', 's', 'share', 'measured'), rows)
  print(f'{flags.FLAGS.num_rounds} rounds, foreign load {load}\n')


def compare_learning():
  times, versions, load = atari_parts.compare_learning(
      flags.FLAGS.rival_python, atari_runs.RIVALS, flags.FLAGS.num_rounds
  )
  reference = next(iter(times))
  print(f'## Learning alone: {versions}\n')
  tables.print_table(
      (
          'what',
          's a minibatch (median)',
          'time over the first (median, span)',
          'the same of CPU time',
      ),
      [
          (
              name,
              f'{paired.median_s(times, name):.3f}',
              paired.ratios(times, name, reference),
              paired.ratios(times, name, reference, cpu=True),
          )
          for name in times
      ],
  )
  print(
      'plain: float32, channels first. tuned: bfloat16, channels last, uint8'
      ' observations, fused Adam. once: target once a rollout. share:'
      f' predictor on an exact quarter.\n{flags.FLAGS.num_rounds} rounds,'
      f' foreign load {load}\n'
  )


def show_layers():
  args = flags.FLAGS
  load = paired.ForeignLoad()
  num_samples = args.num_envs * args.rollout_length
  batch_size = num_samples // gin.query_parameter('RNDPPOAgent.num_minibatches')
  dtype = precision.layer_policy(
      gin.query_parameter('%COMPUTE_DTYPE')
  ).compute_dtype
  roof, rates = atari_layers.rates(batch_size, dtype, args.num_rounds)
  gflop = atari_layers.gflop_per_step()
  seconds = {kernel: gflop[kernel] / rates[kernel] for kernel in gflop}
  whole_s = sum(seconds.values())
  print(f'## Layers, minibatches of {batch_size} in {dtype}\n')
  tables.print_table(
      (
          'kernel',
          'of an update, MFLOP a step',
          'GFLOP/s',
          'of the matrix product',
          'time',
      ),
      [
          (
              f'{kernel[0]}, {kernel[1]}',
              f'{1e3 * gflop[kernel]:.1f}',
              f'{rates[kernel]:.0f}',
              f'{100 * rates[kernel] / roof:.0f} %',
              f'{100 * seconds[kernel] / whole_s:.1f} %',
          )
          for kernel in sorted(seconds, key=seconds.get, reverse=True)
          if seconds[kernel] > whole_s / 100
      ],
  )
  rate = sum(gflop.values()) / whole_s
  print(
      f'Together {rate:.0f} GFLOP/s, {100 * rate / roof:.0f} % of the matrix'
      f' product ({roof:.0f} GFLOP/s); kernels below 1 % of the time are left'
      f' out.\n{args.num_rounds} rounds, foreign load {load}\n'
  )


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
    'learning': compare_learning,
    'layers': show_layers,
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
  flags.DEFINE_integer('num_rounds', 5, 'Of parts, layers and learning.')
  flags.DEFINE_string('cleanrl', None, "CleanRL's ppo_rnd_envpool.py.")
  flags.DEFINE_string('rival_python', None, 'A Python that has PyTorch.')
  flags.DEFINE_enum(
      'compute_dtype',
      None,
      ['auto', 'float32', 'bfloat16'],
      'Of create_networks; what the gin file says where it is left out.',
  )
  flags.DEFINE_multi_string('gin_bindings', [], 'More bindings, of ours alone.')
  app.run(main)
