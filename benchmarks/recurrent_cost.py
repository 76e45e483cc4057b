# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What memory costs: an iteration of recurrent RND-PPO over a feed-forward one.

    python -m benchmarks.recurrent_cost

All have one trunk of 64-64 tanh units for policy and values, and make 4 times 4
optimizer steps on a rollout of 32 environments and 128 transitions each; the
recurrent ones have a core of 64 units on the trunk. Chunks of every length hold
the same transitions: longer ones are fewer, and take more steps one after the
other. `iteration` collects the rollout first.
"""

from absl import app
from absl import flags
import tensorflow as tf

from benchmarks import iteration_time
from benchmarks import paired
from rnd_agents import agents
from rnd_agents import networks

_UNITS = 64
_UNROLL_LENGTHS = (8, 16, 32, 64, 128)


class Agent(iteration_time.Contender):
  """`RNDPPOAgent`, with a core or without."""

  def __init__(self, core=None, **sequences):
    self._core = core
    self._sequences = sequences
    super().__init__('mountain_car', num_epochs=4)

  def _create_agent(self):
    env = self._env
    nets = networks.create_networks(
        env.observation_spec(),
        env.action_spec(),
        fc_layer_params=(_UNITS, _UNITS),
        core=None if self._core is None else self._core(_UNITS),
    )
    return agents.RNDPPOAgent(
        env.time_step_spec(),
        env.action_spec(),
        tf.keras.optimizers.Adam(3e-4),
        num_epochs=self._num_epochs,
        num_minibatches=4,
        predictor_proportion=0.25,
        normalize_observations=True,
        normalize_rewards=True,
        train_step_counter=tf.Variable(0, dtype=tf.int64),
        **self._sequences,
        **nets._asdict(),
    )

  def _train(self, experience):
    return self.agent.train(experience).loss


def contenders():
  """Agents by name, the feed-forward one first."""
  result = {'feed-forward': Agent()}
  for length in _UNROLL_LENGTHS:
    result[f'LSTM, unroll {length}'] = Agent(
        networks.LSTMCore, unroll_length=length
    )
  result['GRU, unroll 32'] = Agent(networks.GRUCore, unroll_length=32)
  result['LSTM, unroll 32, burn-in 16'] = Agent(
      networks.LSTMCore, unroll_length=32, burn_in_length=16
  )
  result['LSTM, unroll 32, zero state'] = Agent(
      networks.LSTMCore, unroll_length=32, recurrent_state_init='zero'
  )
  return result


def measure(num_rounds):
  """Times all; returns by part ('train', 'iteration') what `in_turns` does."""
  entrants = contenders()
  rollouts = {name: agent.rollout() for name, agent in entrants.items()}
  times = {
      'train': paired.in_turns(
          {
              name: lambda agent=agent, name=name: agent.train(
                  rollouts[name]
              ).numpy()
              for name, agent in entrants.items()
          },
          num_rounds,
      ),
      'iteration': paired.in_turns(
          {name: agent.iteration for name, agent in entrants.items()},
          num_rounds,
      ),
  }
  # Equal work, or the ratio means nothing.
  steps = {a.agent.train_step_counter.numpy() for a in entrants.values()}
  assert len(steps) == 1, steps
  return times


def main(argv):
  del argv
  foreign_load = paired.ForeignLoad()
  times = measure(flags.FLAGS.num_rounds)
  print(paired.machine())
  print(f'{flags.FLAGS.num_rounds} rounds, foreign load {foreign_load}')
  print('Medians, and times over the feed-forward agent: median (span)')
  for part, part_times in times.items():
    for name in part_times:
      print(
          f'{part:10} {name:28}'
          f' {1000 * paired.median_s(part_times, name):7.1f} ms; wall'
          f' {paired.ratios(part_times, name, "feed-forward")}'
      )


if __name__ == '__main__':
  flags.DEFINE_integer('num_rounds', 20, 'Rounds that count.')
  app.run(main)
