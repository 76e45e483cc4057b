# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What each curiosity costs: an iteration with it over one with RND.

    python -m benchmarks.curiosity_cost --case=minigrid

As benchmarks/iteration_time.py: 32 environments, 128 transitions each, four
epochs of four minibatches, in turns. Curiosities learn from a quarter of each
minibatch; E3B and ICM have 128 features.
"""

import functools

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags

from benchmarks import iteration_time
from benchmarks import paired
from rnd_agents import curiosity
from rnd_agents import networks

_CURIOSITIES = {
    'RND': curiosity.create_rnd,
    'NovelD': curiosity.create_novel_d,
    'E3B': curiosity.create_e3b,
    'ICM': curiosity.create_icm,
    'RND x E3B': functools.partial(
        curiosity.create_product,
        curiosity_fns=(curiosity.create_rnd, curiosity.create_e3b),
    ),
}


class Curious(iteration_time.RndPpo):
  """`RNDPPOAgent` with another curiosity."""

  def __init__(self, case, create_curiosity, num_epochs=4):
    self._create_curiosity = create_curiosity
    super().__init__(case, num_epochs, predictor_proportion=0.25)

  def _networks(self):
    env = self._env
    nets = networks.create_networks(
        env.observation_spec(),
        env.action_spec(),
        rnd_networks_fn=None,
        fc_layer_params=(64, 64),
        value_fc_layer_params=(64, 64),
    )
    return dict(
        nets._asdict(),
        curiosity=self._create_curiosity(
            env.time_step_spec(), env.action_spec()
        ),
    )


def main(argv):
  del argv
  args = flags.FLAGS
  contenders = {
      name: Curious(args.case, create) for name, create in _CURIOSITIES.items()
  }
  for contender in contenders.values():
    contender.rollout()  # Fills the buffer.
  foreign_load = paired.ForeignLoad()
  times = paired.in_turns(
      {name: each.iteration for name, each in contenders.items()},
      args.num_rounds,
  )
  print(paired.machine())
  print(f'{args.case}, {args.num_rounds} rounds, foreign load {foreign_load}')
  print('Time of an iteration (median), and over that with RND: median (span)')
  for name in contenders:
    print(
        f'{name:10} {1000 * paired.median_s(times, name):7.1f} ms;'
        f' wall {paired.ratios(times, name, "RND")},'
        f' CPU {paired.ratios(times, name, "RND", cpu=True)}'
    )


if __name__ == '__main__':
  flags.DEFINE_enum(
      'case', 'minigrid', list(iteration_time._CASES), 'The environment.'
  )
  flags.DEFINE_integer('num_rounds', 20, 'Rounds that count.')
  app.run(main)
