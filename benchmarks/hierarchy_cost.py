# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What two levels cost: an iteration of them over one of the flat agent.

    python -m benchmarks.hierarchy_cost

The chain of h-DQN, 16 environments x 128 steps an iteration, in turns, as runs
collect and train. Two levels are `chain_two_level.gin`, over RND-PPO with the
networks of a level; and the same with a replay for the goals, an update for 64
environment steps, over R2D3 with the same replay.
"""

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags
import gin
import tensorflow as tf

from benchmarks import paired
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import run as run_lib

_REPLAY = (
    'rollout_length = 128',
    'collect_length = 16',
    'env_steps_per_update = 64',
    'unroll_length = 4',
)


def _of_replay(scope):
  return [
      *(f'{scope}ReplayTraining.{binding}' for binding in _REPLAY),
      f'{scope}R2D3Agent.discount_factor = 0.99',
      f'{scope}create_r2d3_agent.curiosity_fn = @create_rnd',
      f'{scope}PrioritizedReplay.max_sequences = 20_000',
      'create_q_networks.fc_layer_params = (32,)',
  ]


_CASES = {
    'flat': ['chain.gin'],
    'two levels': ['chain_two_level.gin'],
    'flat, a replay': [
        'chain.gin',
        'train_eval.training = @ReplayTraining()',
        *_of_replay(''),
    ],
    'goals from a replay': [
        'chain_two_level.gin',
        'TwoLevelTraining.upper = @upper/ReplayTraining()',
        *_of_replay('upper/'),
    ],
}
# Two levels, and the flat agent that they are compared with.
_PAIRS = (('two levels', 'flat'), ('goals from a replay', 'flat, a replay'))


def iterations(gin_file, *bindings):
  """The iterations of a run with a gin file and bindings."""
  gin.clear_config()
  gin_files.parse([gin_file], bindings)
  config = experiment.Experiment(root_dir='')  # Writes nothing.
  seeds = run_lib.Seeds(config.seed)
  tf.keras.utils.set_random_seed(seeds.networks)
  collectors = experiment.local_shards(
      config, seeds, experiment.recipes(config, seeds)
  )
  agent = config.training.build_agent(
      collectors.specs, config.num_environments
  )
  run = run_lib.Run(config, seeds, agent, collectors, None)
  loop = config.training.build_loop(run)
  loop.begin()
  found = loop.iterations()
  next(found)  # Builds the collectors' policies, as gin has them now.
  return found


def main(argv):
  del argv
  num_rounds = flags.FLAGS.num_rounds
  runs = {name: iterations(*case) for name, case in _CASES.items()}
  foreign_load = paired.ForeignLoad()
  times = paired.in_turns(
      {name: lambda it=it: next(it) for name, it in runs.items()}, num_rounds
  )
  print(paired.machine())
  print(f'{num_rounds} rounds, foreign load {foreign_load}')
  for name in runs:
    print(f'{name:20} {1000 * paired.median_s(times, name):7.1f} ms (median)')
  for name, flat in _PAIRS:
    print(
        f'{name} over {flat}, median (span):'
        f' wall {paired.ratios(times, name, flat)},'
        f' CPU {paired.ratios(times, name, flat, cpu=True)}'
    )


if __name__ == '__main__':
  flags.DEFINE_integer('num_rounds', 20, 'Rounds that count.')
  app.run(main)
