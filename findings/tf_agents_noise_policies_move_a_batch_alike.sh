#!/usr/bin/env bash
# TF-Agents 0.19.0: the noise of `GaussianPolicy` and `OUNoisePolicy`, by which TD3 and
# DDPG explore, is one draw for all environments of a batch.
#
# Both add noise of the shape of one action to actions [B, ...]. So B environments that
# are in the same state get the same action in each step, and B exploring environments
# have the noise of one: the mean of it over a batch is as wide as each.
#
# One would guess: each environment of a batch explores for itself, as with the other
# policies of TF-Agents (`EpsilonGreedyPolicy`, policies with distributions) and with the
# vectorized noise of other libraries; more environments see more.
#
# Source: policies/gaussian_policy.py, `_create_normal_distribution`, and
# policies/ou_noise_policy.py, `_create_ou_process`: neither has a batch dimension; seen
# by this script, which fails if it changes.
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
from tf_agents.agents.ddpg import actor_network
from tf_agents.policies import actor_policy
from tf_agents.policies import gaussian_policy
from tf_agents.policies import ou_noise_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

NUM_ENVIRONMENTS, NUM_STEPS = 64, 200

tf.keras.utils.set_random_seed(0)
observation = tensor_spec.TensorSpec([2], tf.float32)
action = tensor_spec.BoundedTensorSpec([3], tf.float32, -10.0, 10.0)
actor = actor_policy.ActorPolicy(
    ts.time_step_spec(observation),
    action,
    actor_network=actor_network.ActorNetwork(observation, action),
)
observations = np.random.default_rng(0).normal(size=[NUM_ENVIRONMENTS, 2])
time_step = ts.restart(
    tf.constant(observations, tf.float32), batch_size=NUM_ENVIRONMENTS
)
greedy = actor.action(time_step).action.numpy()
alike = []
for policy in (
    gaussian_policy.GaussianPolicy(actor, scale=0.1),
    ou_noise_policy.OUNoisePolicy(actor),
):
  noise = np.stack([
      policy.action(time_step).action.numpy() - greedy
      for _ in range(NUM_STEPS)
  ])  # [steps, environments, 3]
  between = noise.std(axis=1).mean()
  of_all, of_one = noise.mean(axis=1).std(), noise[:, 0].std()
  alike.append(between < 1e-5 and of_all > 0.99 * of_one > 0)
  print(f'{type(policy).__name__}: within a batch of {NUM_ENVIRONMENTS} the'
        f' noise deviates by {between:.1e}; over {NUM_STEPS} steps that of one'
        f' environment by {of_one:.3f}, and the mean of all by {of_all:.3f}'
        f' (independent: {of_one / NUM_ENVIRONMENTS**0.5:.3f})')
sys.exit(not all(alike))
PROGRAM
