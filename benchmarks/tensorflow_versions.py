# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Speed of two TensorFlows, in turns, each in a process of its own Python.

    python -m benchmarks.tensorflow_versions --python=.venv/bin/python \
        --other_python=.venv-newest/bin/python

*   mountain_car: an RND-PPO iteration of `iteration_time`, collect and train;
*   atari_float32, atari_bfloat16: a minibatch of 1,024 steps of Montezuma's
    Revenge, `learning` of `atari_parts`; bfloat16 where the machine has it.
"""

import sys

from absl import app
from absl import flags

from benchmarks import paired
from benchmarks import tables
from rnd_agents.networks import precision

_CASES = ('mountain_car', 'atari_float32', 'atari_bfloat16')
_REPEATS = {'mountain_car': 3}  # Of a turn; 1 for others.
_ATARI = (
    'train_eval.num_environments = 32',
    'OnPolicyTraining.rollout_length = 32',
    'RNDPPOAgent.num_minibatches = 1',
    'RNDPPOAgent.num_epochs = 1',
    'RNDPPOAgent.predictor_proportion = 0.25',
)


def contender(case):
  """Returns a function without arguments that does the case once."""
  if case == 'mountain_car':
    from benchmarks import iteration_time

    return iteration_time.RndPpo(case, 4, 0.25).iteration
  import gin

  from benchmarks import atari_parts
  from rnd_agents.training import gin_files

  gin.clear_config()
  dtype = case.removeprefix('atari_')
  gin_files.parse(
      ['montezuma_revenge_cpu.gin'],
      [*_ATARI, f"COMPUTE_DTYPE = '{dtype}'"],
  )
  return atari_parts.Session().learning('rollout')


def serve(cases):
  """Does each case that it reads the name of; what `start` runs."""
  contenders = {case: contender(case) for case in cases}
  print(paired.machine(), flush=True)
  for line in sys.stdin:
    for _ in range(_REPEATS.get(line.strip(), 1)):
      contenders[line.strip()]()
    print('done', flush=True)


def start(python, cases):
  """Starts a process of another Python that does cases on demand."""
  return paired.LineProcess(
      [python, '-m', 'benchmarks.tensorflow_versions', '--serve']
      + [f'--case={case}' for case in cases]
  )


def main(argv):
  del argv
  args = flags.FLAGS
  cases = args.case or [
      case
      for case in _CASES
      if 'bfloat16' not in case or precision.has_fast_bfloat16()
  ]
  if args.serve:
    serve(cases)
    return
  load = paired.ForeignLoad()
  workers = [start(path, cases) for path in (args.python, args.other_python)]
  rows = []
  for case in cases:
    times = paired.in_turns(
        {
            name: lambda worker=worker, case=case: worker.ask(case)
            for name, worker in zip(('a', 'b'), workers, strict=True)
        },
        args.num_rounds,
    )
    ms = [
        1000 * paired.median_s(times, name) / _REPEATS.get(case, 1)
        for name in ('a', 'b')
    ]
    rows.append(
        (case, *(f'{x:.1f}' for x in ms), paired.ratios(times, 'b', 'a'))
    )
  for name, worker in zip(('a', 'b'), workers, strict=True):
    print(f'{name}: {worker.greeting}')
    worker.close()
  print(f'{args.num_rounds} rounds, foreign load {load}\n')
  tables.print_table(
      ('case', 'a: ms (median)', 'b: ms (median)', 'b over a (median, span)'),
      rows,
  )


if __name__ == '__main__':
  flags.DEFINE_string('python', sys.executable, 'A Python with this package.')
  flags.DEFINE_string('other_python', None, 'Another one.')
  flags.DEFINE_multi_enum('case', [], _CASES, 'What to time; default: all.')
  flags.DEFINE_integer('num_rounds', 20, 'Rounds that count.')
  flags.DEFINE_boolean('serve', False, 'For the processes that this starts.')
  app.run(main)
