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

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import List, NamedTuple

from absl import app
from absl import flags

from benchmarks import atari_parts
from benchmarks import atari_rivals
from benchmarks import paired
from rnd_agents.plotting import metrics_file
from rnd_agents.training import gin_files

_GIN_FILE = 'montezuma_revenge_cpu.gin'
_RIVALS = os.path.join(os.path.dirname(__file__), 'atari_rivals.py')
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FOREVER = 10**12


class Run(NamedTuple):
  """What a process that trained came to.

  Attributes:
    seconds: of each update but the first, which traces.
    steps: agent steps of an update.
    parts: by name, seconds of each update.
    peak_gib: of the resident memory.
    foreign_load: while it ran, start included.
    versions: of what it ran on, where it told.
  """

  seconds: List[float]
  steps: float
  parts: dict
  peak_gib: float
  foreign_load: str
  versions: str = ''

  def steps_per_s(self):
    return self.steps / statistics.median(self.seconds)


def bindings(num_envs):
  """Gin bindings of all that is measured."""
  lines = [
      f'train_eval.num_environments = {num_envs}',
      f'train_eval.rollout_length = {flags.FLAGS.rollout_length}',
      'train_eval.warm_up_env_steps ='
      f' {num_envs * flags.FLAGS.rollout_length}',
      f'train_eval.num_env_steps = {_FOREVER}',
      f'train_eval.eval_interval_env_steps = {_FOREVER}',
      'RNDPPOAgent.predictor_proportion = 0.25',
  ]
  if flags.FLAGS.compute_dtype is not None:
    lines.append(
        f"create_networks.compute_dtype = '{flags.FLAGS.compute_dtype}'"
    )
  return lines + flags.FLAGS.gin_bindings


def wait(process, log, until=None):
  """Waits for a process to end; returns the peak of its memory in GiB.

  Args:
    process: A `subprocess.Popen`.
    log: The file with its output.
    until: Polled; once it is true, the process is asked to end.
  """
  asked = until is None
  try:
    while True:
      pid, status, usage = os.wait4(process.pid, os.WNOHANG)
      if pid:
        process.returncode = os.waitstatus_to_exitcode(status)
        break
      if not asked and until():
        process.send_signal(signal.SIGTERM)
        asked = True
      time.sleep(0.2)
  finally:
    if process.returncode is None:
      process.kill()
      process.wait()
  if process.returncode and not (asked and until is not None):
    log.seek(0)
    sys.exit(log.read()[-3000:])
  return usage.ru_maxrss / 2**20


def run_ours(num_envs):
  """Runs `train.train_eval` for some iterations; returns a `Run`."""
  load = paired.ForeignLoad()
  num_rows = flags.FLAGS.num_updates + 1
  with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile(
      'w+'
  ) as log:
    root_dir = os.path.join(folder, 'run')
    process = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'train.train_eval',
            f'--gin_file={_GIN_FILE}',
            f'--root_dir={root_dir}',
            *(f'--gin_bindings={line}' for line in bindings(num_envs)),
        ],
        cwd=_ROOT,
        stdout=log,
        stderr=log,
    )

    def rows():
      if not os.path.exists(
          os.path.join(root_dir, metrics_file.TIMINGS_FILE_NAME)
      ):
        return []
      return metrics_file.read_rows(root_dir, metrics_file.TIMINGS_FILE_NAME)

    peak_gib = wait(process, log, lambda: len(rows()) >= num_rows)
    log.seek(0)
    done = rows()[:num_rows]
    if len(done) < num_rows:
      sys.exit(log.read()[-3000:])
  clock = [row.values['wall_time_s'] for row in done]
  seconds = [b - a for a, b in zip(clock, clock[1:])]
  steps = (done[-1].env_steps - done[0].env_steps) / len(seconds)
  parts = {
      name: [row.values[f'{column}_time_s'] for row in done[1:]]
      for name, column in (
          ('collecting', 'collect'),
          ('training', 'train'),
          ('saving', 'save'),
      )
  }
  return Run(seconds, steps, parts, peak_gib, str(load))


def run_cleanrl(num_envs):
  """Runs the user's script of CleanRL for some updates; returns a `Run`."""
  load = paired.ForeignLoad()
  steps = num_envs * flags.FLAGS.rollout_length
  num_updates = flags.FLAGS.num_updates + 1
  with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile(
      'w+'
  ) as log:
    out = os.path.join(folder, 'updates.json')
    process = subprocess.Popen(
        [
            flags.FLAGS.rival_python,
            _RIVALS,
            'cleanrl',
            os.path.abspath(flags.FLAGS.cleanrl),
            out,
            '--no-cuda',
            f'--num-envs={num_envs}',
            f'--num-steps={flags.FLAGS.rollout_length}',
            '--num-iterations-obs-norm-init=1',
            f'--total-timesteps={num_updates * steps}',
        ],
        cwd=folder,  # The script writes to a folder `runs`.
        stdout=log,
        stderr=log,
    )
    peak_gib = wait(process, log)
    with open(out, encoding='utf-8') as file:
      result = json.load(file)
  updates = result['updates'][1:]
  return Run(
      [sum(update.values()) for update in updates],
      steps,
      {name: [u[name] for u in updates] for name in atari_rivals.Phases.NAMES},
      peak_gib,
      str(load),
      result['versions'],
  )


def table(header, rows):
  """Prints Markdown."""
  print('| ' + ' | '.join(header) + ' |')
  print('|' + '---|' * len(header))
  for row in rows:
    print('| ' + ' | '.join(map(str, row)) + ' |')
  print(flush=True)


def table_of_runs(runs):
  """Prints pairs of a name and a `Run`."""
  table(
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
  table(('part', 's', 'share', 'measured'), rows)
  print(f'{flags.FLAGS.num_rounds} rounds, foreign load {load}\n')


def compare_learning():
  times, versions, load = atari_parts.compare_learning(
      flags.FLAGS.rival_python, _RIVALS, flags.FLAGS.num_rounds
  )
  reference = next(iter(times))
  print(f'## Learning alone: {versions}\n')
  table(
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
  print(f'{flags.FLAGS.num_rounds} rounds, foreign load {load}\n')


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
    'scaling': compare_sizes,
    'memory': show_memory,
}


def machine():
  """`paired.machine`, what the cores can do, and how many threads they get."""
  features = set()
  try:
    with open('/proc/cpuinfo', encoding='utf-8') as file:
      for line in file:
        if line.startswith('flags'):
          features.update(line.split())
  except OSError:
    pass  # Not Linux.
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
  print(
      f'{_GIN_FILE}, rollouts of {args.rollout_length} steps,'
      f' compute_dtype {args.compute_dtype or "as bound"}\n',
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
  flags.DEFINE_integer('num_rounds', 5, 'Of parts and learning.')
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
