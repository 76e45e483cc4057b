# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times iterations of runs with and without a setting, in turns.

    python -m benchmarks.settings_cost --compare=curiosities

*   curiosities: each curiosity beside RND;
*   memory: an LSTM by the length of its chunks, beside no memory;
*   lstm: R2D3 at R2D2's sizes (64 sequences of 40 + 80 steps, 512 units) by
    `LSTMCore` in float32 and bfloat16 and by a loop over Keras's cell; an
    iteration has two updates;
*   levels, levels_replay: two levels beside one agent, on-policy and from a
    replay;
*   equal_observations: networks on the distinct observations of a batch beside
    those on all; on DoorKey, or the task of `--gin_file`;
*   devices: learning on two devices beside one. Without GPUs the CPU is cut
    into devices, which then have the same cores: that measures what sharing
    costs;
*   tensorflow: with `--other_python`, a Python with another TensorFlow.

The first of a comparison is the reference. `--gin_file` and `--gin_bindings`
change all of them alike. An iteration collects a rollout and learns from it, as
`train_eval` does, without logs, checkpoints and evaluations.
"""

import sys

from absl import flags
import tensorflow as tf

from benchmarks import experiment_groups
from benchmarks import gin_runs
from benchmarks import lstm_speed
from benchmarks import paired
from benchmarks import programs
from benchmarks import tables
from rnd_agents.networks import precision

_FOUR_EPOCHS = (
    'RNDPPOAgent.num_epochs = 4',
    'RNDPPOAgent.predictor_proportion = 0.25',
)
_TRUNK = ('create_networks.value_fc_layer_params = None', *_FOUR_EPOCHS)
_ATARI = (
    'train_eval.num_environments = 32',
    'OnPolicyTraining.rollout_length = 32',
    'RNDPPOAgent.num_minibatches = 1',
    'RNDPPOAgent.num_epochs = 1',
    'RNDPPOAgent.predictor_proportion = 0.25',
)
_ATARI_FILE = 'montezuma_revenge_cpu.gin'


def _memory(core, unroll_length, *bindings):
  return (
      'mountain_car.gin',
      *_TRUNK,
      f'create_networks.core = @{core}()',
      f'{core}.units = 64',
      f'RNDPPOAgent.unroll_length = {unroll_length}',
      *bindings,
  )


def _large_r2d3(core, *bindings):
  return (
      'recall_r2d2.gin',
      f'create_q_networks.core = @{core}()',
      f'{core}.units = 512',
      'create_q_networks.fc_layer_params = (512,)',
      'create_q_networks.head_units = 512',
      'ReplayTraining.unroll_length = 80',
      'ReplayTraining.burn_in_length = 40',
      'ReplayTraining.batch_size = 64',
      'ReplayTraining.env_steps_per_update = 256',
      *bindings,
  )


def _replay(scope):
  return (
      f'{scope}ReplayTraining.rollout_length = 128',
      f'{scope}ReplayTraining.collect_length = 16',
      f'{scope}ReplayTraining.env_steps_per_update = 64',
      f'{scope}ReplayTraining.unroll_length = 4',
      f'{scope}R2D3Agent.discount_factor = 0.99',
      f'{scope}create_r2d3_agent.curiosity_fn = @create_rnd',
      f'{scope}PrioritizedReplay.max_sequences = 20_000',
      'create_q_networks.fc_layer_params = (32,)',
  )


# {comparison: {label: (gin file, bindings...)}}.
_COMPARISONS = {
    'curiosities': {
        name: ('minigrid.gin', *_FOUR_EPOCHS, *bindings)
        for name, bindings in experiment_groups.CURIOSITIES.items()
    },
    'memory': {
        'feed-forward': ('mountain_car.gin', *_TRUNK),
        **{
            f'LSTM, unroll {length}': _memory('LSTMCore', length)
            for length in (8, 16, 32, 64, 128)
        },
        'GRU, unroll 32': _memory('GRUCore', 32),
        'LSTM, unroll 32, burn-in 16': _memory(
            'LSTMCore', 32, 'RNDPPOAgent.burn_in_length = 16'
        ),
        'LSTM, unroll 32, zero state': _memory(
            'LSTMCore', 32, "RNDPPOAgent.recurrent_state_init = 'zero'"
        ),
    },
    'lstm': {
        'Keras cell': _large_r2d3(lstm_speed.KerasCellCore.__name__),
        'LSTMCore': _large_r2d3('LSTMCore'),
        'bfloat16': _large_r2d3(
            'LSTMCore',
            "LSTMCore.compute_dtype = 'bfloat16'",
            "create_q_networks.compute_dtype = 'bfloat16'",
        ),
    },
    'levels': {
        'flat': ('chain.gin',),
        'two levels': ('chain_two_level.gin',),
    },
    'levels_replay': {
        'flat, a replay': (
            'chain.gin',
            'train_eval.training = @ReplayTraining()',
            *_replay(''),
        ),
        'goals from a replay': (
            'chain_two_level.gin',
            'TwoLevelTraining.upper = @upper/ReplayTraining()',
            *_replay('upper/'),
        ),
    },
    'equal_observations': {
        'all': ('default.gin',),
        'distinct': (
            'default.gin',
            'create_encoder.merge_equal_observations = True',
            'create_rnd_networks.merge_equal_observations = True',
        ),
    },
    'devices': {
        f'{number} devices': (
            'mountain_car.gin',
            f'OnPolicyTraining.num_devices = {number}',
        )
        for number in (1, 2)
    },
    'tensorflow': {
        'MountainCar': ('mountain_car.gin', *_FOUR_EPOCHS),
        **{
            f'Atari, {dtype}': (
                _ATARI_FILE,
                *_ATARI,
                f"COMPUTE_DTYPE = '{dtype}'",
            )
            for dtype in ('float32', 'bfloat16')
            if dtype == 'float32' or precision.has_fast_bfloat16()
        },
    },
}


class Contender:
  """A run whose iterations are timed.

  Attributes:
    train_s: seconds of training of each iteration so far.
  """

  def __init__(self, gin_file, *bindings):
    args = flags.FLAGS
    built = gin_runs.build(
        args.gin_file or gin_file, (*bindings, *args.gin_bindings)
    )
    self._iterations = built.iterations()
    self.train_s = []

  def __call__(self):
    self.train_s.append(next(self._iterations).timings['train_time_s'])


def _serve(contenders):
  """Makes an iteration of each contender whose label it reads."""
  print(paired.machine(), flush=True)
  for line in sys.stdin:
    contenders[line.strip()]()
    print('done', flush=True)


def _other_python(label, process):
  return lambda: process.ask(label)


def _print_ratios(title, times, references, knows_cpu):
  """Prints medians, and ratios to each contender's reference."""
  tables.print_table(
      (title, 'ms (median)', 'over', 'wall time (span)', 'CPU time (span)'),
      [
          (
              name,
              f'{1000 * paired.median_s(times, name):.1f}',
              reference,
              paired.ratios(times, name, reference),
              paired.ratios(times, name, reference, cpu=True)
              if knows_cpu
              else '–',
          )
          for name, reference in references.items()
      ],
  )


def main(argv):
  del argv
  args = flags.FLAGS
  if args.compare == 'devices' and not tf.config.list_physical_devices('GPU'):
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices('CPU')[0],
        [tf.config.LogicalDeviceConfiguration()] * 2,
    )
  contenders = {
      label: Contender(*settings)
      for label, settings in _COMPARISONS[args.compare].items()
  }
  if args.serve:
    _serve(contenders)
    return
  first = next(iter(contenders))
  references = {label: first for label in contenders}
  load = paired.ForeignLoad()
  timed = dict(contenders)
  process = None
  if args.other_python:
    process = paired.LineProcess([
        args.other_python,
        '-m',
        'benchmarks.settings_cost',
        '--serve',
        f'--compare={args.compare}',
        *(['--gin_file=' + args.gin_file] if args.gin_file else []),
        *(f'--gin_bindings={line}' for line in args.gin_bindings),
    ])
    references = {}
    for label in contenders:
      timed[f'{label}, other'] = _other_python(label, process)
      references[f'{label}, other'] = label
  times = paired.in_turns(timed, args.num_rounds)
  print(paired.machine())
  if process is not None:
    print(f'other: {process.greeting}')
    process.close()
  print(f'{args.num_rounds} rounds, foreign load {load}\n')
  # The CPU seconds of another Python are not known until it ends.
  _print_ratios('an iteration', times, references, process is None)
  for name, contender in contenders.items():
    seconds = contender.train_s[-args.num_rounds :]
    print(f'{name}: {1000 * paired.span(seconds).median:.1f} ms of training')


if __name__ == '__main__':
  flags.DEFINE_enum(
      'compare', None, list(_COMPARISONS), 'The comparison.', required=True
  )
  flags.DEFINE_integer('num_rounds', 20, 'Rounds that count.')
  flags.DEFINE_string('gin_file', None, 'In place of the gin file of each.')
  flags.DEFINE_multi_string('gin_bindings', [], 'More gin bindings, for each.')
  flags.DEFINE_string('other_python', None, 'A Python with this package.')
  flags.DEFINE_boolean('serve', False, 'For the process that this starts.')
  programs.run(main)
