# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""How many updates a second R2D3's learner makes at R2D2's sizes.

    python -m benchmarks.r2d3_learner

Batches of 64 sequences of 40 frames of burn-in, 80 steps and one frame more, an
LSTM of 512 units, heads of 512, flat observations: what the memory costs,
without convolutions. In turns: the agent as R2D2 has it; without burn-in; with
the losses of DQfD besides; and with the bonus of RND.
"""

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.utils import common

from benchmarks import paired
from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents import networks

_OBSERVATION = tf.TensorSpec([64], tf.float32)
_NUM_ACTIONS = 18


def _sequences(batch_size, num_frames):
  """A `Trajectory` [B, L] without an end."""
  random = np.random.RandomState(0)
  shape = [batch_size, num_frames]
  return trajectory.Trajectory(
      step_type=tf.fill(shape, ts.StepType.MID),
      observation=tf.constant(
          random.normal(size=[*shape, *_OBSERVATION.shape]), tf.float32
      ),
      action=tf.constant(random.randint(0, _NUM_ACTIONS, shape), tf.int64),
      policy_info=(),
      next_step_type=tf.fill(shape, ts.StepType.MID),
      reward=tf.constant(random.normal(size=shape), tf.float32),
      discount=tf.ones(shape),
  )


def _learner(batch_size, units, burn_in_length=40, curious=False, **settings):
  """A function that makes one update."""
  action_spec = networks.encoders.discrete_spec(_NUM_ACTIONS)
  nets = networks.create_q_networks(
      _OBSERVATION,
      action_spec,
      fc_layer_params=(units,),
      core=networks.LSTMCore(units),
      head_units=units,
  )
  if curious:
    settings['curiosity'] = curiosity.RandomNetworkDistillation(
        _OBSERVATION, *networks.factory.create_rnd_networks(_OBSERVATION)
    )
    settings['rnd_optimizer'] = tf.keras.optimizers.Adam(1e-4)
  agent = agents.R2D3Agent(
      ts.time_step_spec(_OBSERVATION),
      action_spec,
      optimizer=tf.keras.optimizers.Adam(1e-4, epsilon=1e-3),
      burn_in_length=burn_in_length,
      train_step_counter=tf.Variable(0, dtype=tf.int64),
      **nets._asdict(),
      **settings,
  )
  agent.initialize()
  experience = _sequences(batch_size, burn_in_length + 80 + 1)
  states = agent.collect_policy.get_initial_state(batch_size)
  train = common.function(agent.train)

  def update():
    train(
        experience,
        weights=tf.ones([batch_size]),
        network_state=states,
        is_demonstration=tf.range(batch_size) % 4 == 0,
    ).loss.numpy()

  return update


def main(argv):
  del argv
  args = flags.FLAGS
  size = args.batch_size, args.units
  dqfd = dict(one_step_weight=1.0, margin_weight=1.0)
  foreign_load = paired.ForeignLoad()
  times = paired.in_turns(
      {
          'R2D2': _learner(*size),
          'without burn-in': _learner(*size, burn_in_length=0),
          'with DQfD losses': _learner(*size, **dqfd),
          'with RND': _learner(*size, curious=True),
      },
      args.num_rounds,
      num_warm_up_rounds=1,
  )
  print(paired.machine())
  print(f'{args.num_rounds} rounds, foreign load {foreign_load}')
  for name in times:
    seconds = paired.median_s(times, name)
    print(
        f'{name:20} {1 / seconds:6.2f} updates/s ({1000 * seconds:.0f} ms);'
        f' time over R2D2 {paired.ratios(times, name, "R2D2")}'
    )


if __name__ == '__main__':
  flags.DEFINE_integer('num_rounds', 10, 'Rounds that count.')
  flags.DEFINE_integer('batch_size', 64, 'Sequences of an update.')
  flags.DEFINE_integer('units', 512, 'Of trunk, LSTM and heads.')
  app.run(main)
