#!/usr/bin/env bash
# TF-Agents 0.19.0: whether `SacAgent` explores depends on the units of the actions.
#
# SAC adapts the weight alpha of the entropy so that the policy's entropy comes to a
# target. The agent squashes actions to the bounds of the action spec and takes the
# density in the units of the spec, while its default target, -1/2 for each action,
# does not depend on the bounds. No density between -0.1 and 0.1 has an entropy above
# log 0.2 = -1.6: the target is out of reach, and alpha grows at its learning rate for
# ever, until the reward means nothing. Between -100 and 100 a policy has more than its
# target nearly always, and alpha vanishes. The same task with its actions scaled to
# [-1, 1] learns.
#
# One would guess: bounds are handled, since the agent is given them; the entropy is of
# the squashed actions in [-1, 1], as in the paper's appendix C and in other libraries,
# whose agents act there and scale afterwards.
#
# Source: agents/sac/sac_agent.py, `_actions_and_log_probs` and
# `_get_default_target_entropy`; seen by this script, which fails if it changes.
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
from tf_agents.agents.ddpg import critic_network
from tf_agents.agents.sac import sac_agent
from tf_agents.agents.sac import tanh_normal_projection_network
from tf_agents.networks import actor_distribution_network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.utils import common


def log_alpha_after(bound, num_updates=500, num_rows=64):
  """Trains on rows whose reward is highest at half of the bound."""
  tf.keras.utils.set_random_seed(0)
  observation = tensor_spec.TensorSpec([1], tf.float32)
  action = tensor_spec.BoundedTensorSpec([1], tf.float32, -bound, bound)
  adam = lambda: tf.compat.v1.train.AdamOptimizer(1e-2)
  agent = sac_agent.SacAgent(
      ts.time_step_spec(observation),
      action,
      critic_network=critic_network.CriticNetwork(
          (observation, action), joint_fc_layer_params=(32,)
      ),
      actor_network=actor_distribution_network.ActorDistributionNetwork(
          observation,
          action,
          fc_layer_params=(32,),
          continuous_projection_net=(
              tanh_normal_projection_network.TanhNormalProjectionNetwork
          ),
      ),
      actor_optimizer=adam(),
      critic_optimizer=adam(),
      alpha_optimizer=adam(),
  )
  agent.initialize()
  train = common.function(agent.train)
  rng = np.random.default_rng(0)
  for _ in range(num_updates):
    scaled = rng.uniform(-1, 1, [num_rows, 2, 1]).astype(np.float32)
    step = tf.ones([num_rows, 2], tf.int32)
    train(
        trajectory.Trajectory(
            step_type=step,
            observation=tf.zeros([num_rows, 2, 1]),
            action=tf.constant(bound * scaled),
            policy_info=(),
            next_step_type=step,
            reward=tf.constant(-((scaled[..., 0] - 0.5) ** 2)),
            discount=tf.zeros([num_rows, 2]),
        )
    )
  return float(agent._log_alpha.numpy())


found = {bound: log_alpha_after(bound) for bound in (0.1, 1.0, 100.0)}
for bound, value in found.items():
  print(f'actions between -{bound:g} and {bound:g}: log alpha {value:.2f} after'
        ' 500 updates of at most 0.01 each')
sys.exit(not found[0.1] > 4 > 0 > found[1.0] > found[100.0] + 1)
PROGRAM
