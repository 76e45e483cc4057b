# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times updates on several devices against updates on one, in turns.

    python -m benchmarks.device_speed [--devices=2] [--rounds=20]

The rollout and the settings are those of mountain_car.gin; `--binding=...` adds
others, such as larger networks. Without GPUs the CPU is cut into devices, which
then have the same cores: what is measured is what sharing costs.
"""

import argparse
import tempfile

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
import gin
import tensorflow as tf
from tf_agents.utils import common

from benchmarks import paired
from rnd_agents.collecting import local
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import run as run_lib


def _update(num_devices, bindings):
  """Returns a function that trains an agent on a rollout."""
  gin.clear_config()
  gin_files.parse(
      ['mountain_car.gin'],
      (*bindings, f'OnPolicyTraining.num_devices = {num_devices}'),
  )
  with tempfile.TemporaryDirectory() as root_dir:
    config = experiment.Experiment(root_dir)
    seeds = run_lib.Seeds(0)
    tf.keras.utils.set_random_seed(seeds.networks)
    shards = experiment.local_shards(
        config, seeds, experiment.recipes(config, seeds)
    )
    agent = config.training.build_agent(shards.specs, config.num_environments)
    shards.reset()
    variables = local.as_numpy(list(agent.collect_policy.variables()))
    rollout = shards.collect(
        lambda _: variables, config.training.rollout_length
    )
    shards.close()
  experience = local.as_tensors(rollout.trajectory)
  train = common.function(agent.train)
  return lambda: train(experience).loss.numpy()


def main():
  """Prints times and ratios."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('--devices', type=int, default=2)
  parser.add_argument('--rounds', type=int, default=20)
  parser.add_argument('--binding', action='append', default=[])
  arguments = parser.parse_args()
  tf.get_logger().setLevel('ERROR')
  if not tf.config.list_physical_devices('GPU'):
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices('CPU')[0],
        [tf.config.LogicalDeviceConfiguration()] * arguments.devices,
    )
  several = f'{arguments.devices} devices'
  contenders = {
      '1 device': _update(1, arguments.binding),
      several: _update(arguments.devices, arguments.binding),
  }
  load = paired.ForeignLoad()
  times = paired.in_turns(contenders, arguments.rounds)
  print(paired.machine())
  for name in contenders:
    print(f'{name}: {1e3 * paired.median_s(times, name):.0f} ms an update')
  for what, cpu in (('seconds', False), ('CPU seconds', True)):
    print(f'{what}: {paired.ratios(times, several, "1 device", cpu)} times')
  print(f'others kept busy: {load}')


if __name__ == '__main__':
  main()
