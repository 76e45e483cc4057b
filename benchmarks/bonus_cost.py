# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures what a bonus costs an update of SAC, TD3 or DQN.

    python -m benchmarks.bonus_cost --agent=sac --updates=50 --rounds=20

One process, in turns: TF-Agents' agent alone, `CuriousAgent` around it without
a curiosity, with RND and with NovelD, on the same batch of transitions. No
environment and no replay.
"""

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
from absl import app
from absl import flags
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from benchmarks import paired
from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents import graph_calls

_AGENT = flags.DEFINE_enum('agent', 'sac', ['sac', 'td3', 'dqn'], 'Agent.')
_UPDATES = flags.DEFINE_integer('updates', 50, 'Updates a round.')
_ROUNDS = flags.DEFINE_integer('rounds', 20, 'Rounds that count.')
_BATCH_SIZE = flags.DEFINE_integer('batch_size', 256, 'Transitions.')

# HalfCheetah's.
_OBSERVATION = tensor_spec.BoundedTensorSpec([17], tf.float32, -9.0, 9.0)
_ACTION = tensor_spec.BoundedTensorSpec([6], tf.float32, -1.0, 1.0)
_CHOICE = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 5)


def _contenders():
  """Returns functions that make a round of updates, by name."""
  specs = (
      ts.time_step_spec(_OBSERVATION),
      _CHOICE if _AGENT.value == 'dqn' else _ACTION,
  )
  create = getattr(agents, f'create_{_AGENT.value}_agent')
  alone = create(*specs)
  alone.initialize()
  curious = {
      name: agents.create_curious_agent(
          *specs, agent_fn=create, curiosity_fn=curiosity_fn
      )
      for name, curiosity_fn in {
          'without a curiosity': None,
          'RND': curiosity.create_rnd,
          'NovelD': curiosity.create_novel_d,
      }.items()
  }

  def rounds(agent, episodic_spec=()):
    spec = agent.collect_data_spec
    if tf.nest.flatten(episodic_spec):
      spec = spec.replace(policy_info=dict(episodic=episodic_spec))
    batch = tensor_spec.sample_spec_nest(
        spec, outer_dims=[_BATCH_SIZE.value, 2]
    )
    batch = batch.replace(
        step_type=tf.ones_like(batch.step_type),
        next_step_type=tf.ones_like(batch.step_type),
        reward=tf.random.normal(batch.reward.shape),
        discount=tf.ones_like(batch.discount),
        policy_info=tf.nest.map_structure(tf.ones_like, batch.policy_info),
    )
    weights = tf.ones([_BATCH_SIZE.value])
    train = graph_calls.GraphCall(lambda *args: agent.train(*args).loss)

    def run():
      for _ in range(_UPDATES.value):
        loss = train(batch, weights)
      loss.numpy()

    return run

  return dict(
      alone=rounds(alone),
      **{
          name: rounds(
              agent,
              () if agent.curiosity is None else agent.curiosity.episodic_spec,
          )
          for name, agent in curious.items()
      },
  )


def main(argv):
  del argv
  print(paired.machine())
  load = paired.ForeignLoad()
  times = paired.in_turns(_contenders(), _ROUNDS.value)
  print(f'Others kept {load} busy.')
  for name in times:
    updates = _UPDATES.value / paired.median_s(times, name)
    print(
        f'{_AGENT.value} {name}: {updates:.0f} updates/s;'
        f' {paired.ratios(times, name, "alone")} times the time alone,'
        f' {paired.ratios(times, name, "alone", cpu=True)} times the CPU time'
    )


if __name__ == '__main__':
  app.run(main)
