#!/usr/bin/env bash
# TF-Agents 0.19.0: how `DdqnAgent` is evaluated changes what it learns.
#
# DQN is evaluated with an epsilon of 0.05 (Mnih et al., 2015, Methods). TF-Agents' is
# evaluated greedily, so a user overrides `_setup_policy`, which returns the policies of
# evaluation and of collecting, and gives the first one an epsilon. Double DQN's targets
# are the target network's values of the actions that are best by the online network.
# `DdqnAgent` takes these actions from the first policy, so that a share of them is
# random, also in training, drawn anew for each batch. `DqnAgent` keeps a greedy policy
# of its own for its targets and is not changed.
#
# One would guess: `agent.policy` is for whoever evaluates or saves it, and no loss
# reads it, as in `DqnAgent`.
#
# Source: agents/dqn/dqn_agent.py, `DdqnAgent._compute_next_q_values` and
# `DqnAgent._compute_next_q_values`; seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'tensorflow==2.15.1' 'tensorflow-probability==0.23.0' 'tf-keras==2.15.1' \
  'numpy==1.26.4' 'tf-agents==0.19.0'

"$folder/venv/bin/python" - 2>/dev/null <<'PROGRAM'
import sys

import numpy as np
import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.networks import sequential
from tf_agents.policies import epsilon_greedy_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

OBSERVATION = tensor_spec.TensorSpec([1], tf.float32)
ACTION = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)
GAMMA = 0.5
ROWS = 2_000


def values_of_actions(values):
  """A network whose three values are the same everywhere."""
  return sequential.Sequential(
      [tf.keras.layers.Dense(
          3,
          kernel_initializer='zeros',
          bias_initializer=tf.constant_initializer(values),
      )],
      input_spec=OBSERVATION,
  )


def with_epsilon(base, epsilon):
  """The agent class, evaluated with an epsilon."""

  class Agent(base):

    def _setup_policy(self, *args):
      policy, collect_policy = super()._setup_policy(*args)
      policy = epsilon_greedy_policy.EpsilonGreedyPolicy(policy, epsilon)
      return policy, collect_policy

  return Agent


def mean_target(agent_class):
  """Mean of the targets r + gamma Q'(s', a*), out of the losses."""
  tf.keras.utils.set_random_seed(0)
  agent = agent_class(
      ts.time_step_spec(OBSERVATION),
      ACTION,
      q_network=values_of_actions([0.0, 0.0, 3.0]),  # The last one is best.
      target_q_network=values_of_actions([6.0, 0.0, 9.0]),
      optimizer=tf.compat.v1.train.GradientDescentOptimizer(0.0),
      gamma=GAMMA,
      td_errors_loss_fn=lambda target, value: target - value,
  )
  agent.initialize()
  # `initialize` copies the online network's weights.
  agent._target_q_network.set_weights(
      [np.zeros([1, 3], np.float32), np.float32([6.0, 0.0, 9.0])]
  )
  rows = trajectory.Trajectory(
      step_type=tf.ones([ROWS, 2], tf.int32),
      observation=tf.zeros([ROWS, 2, 1]),
      action=tf.zeros([ROWS, 2], tf.int64),  # Its value is 0.
      policy_info=(),
      next_step_type=tf.ones([ROWS, 2], tf.int32),
      reward=tf.zeros([ROWS, 2]),
      discount=tf.ones([ROWS, 2]),
  )
  return float(agent.train(rows).loss)


found = {}
for name in 'DqnAgent', 'DdqnAgent':
  for epsilon in 0.0, 0.5, 1.0:
    base = getattr(dqn_agent, name)
    found[name, epsilon] = mean_target(with_epsilon(base, epsilon))
    print(f'{name}, evaluated with an epsilon of {epsilon}: mean target'
          f' {found[name, epsilon]:.2f}')

best = GAMMA * 9.0
mean = GAMMA * np.mean([6.0, 0.0, 9.0])
print(f'by hand: {best:.2f} for the best action, {mean:.2f} for a random one')
as_described = all(
    np.isclose(found['DqnAgent', epsilon], best) for epsilon in (0.0, 0.5, 1.0)
) and all(
    abs(found['DdqnAgent', epsilon] - (1 - epsilon) * best - epsilon * mean)
    < 0.15
    for epsilon in (0.0, 0.5, 1.0)
)
sys.exit(0 if as_described else 'The behaviour has changed.')
PROGRAM
