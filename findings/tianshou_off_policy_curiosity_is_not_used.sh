#!/usr/bin/env bash
# Tianshou 2.0.1: `ICMOffPolicyWrapper` learns its curiosity and DQN never sees it.
#
# The wrapper adds the reward of the curiosity module to the rewards of the sampled
# batch. The targets of DQN, C51, Rainbow, QR-DQN, IQN, FQF and discrete SAC do not come
# from the batch but from the buffer, where rewards are still those of the environment.
# So
#
# * with `reward_scale` 0, 1 or 1,000 DQN and discrete SAC have the same weights after
#   50 updates, bit for bit, although the module's losses are logged and fall;
# * A2C and PPO with `ICMOnPolicyWrapper`, whose advantages are computed from the batch,
#   get other weights.
#
# One would guess what the wrapper's documentation says: `reward_scale` weighs the
# intrinsic rewards against those of the task, and 0 is the value that switches them
# off. "DQN + ICM" is DQN, and a comparison of the two, or a search over scales,
# compares nothing.
#
# Source: tianshou/algorithm/modelbased/icm.py (`_icm_preprocess_batch`: `batch.rew`)
# and algorithm_base.py (`compute_nstep_return`: `buffer.rew`, and
# `compute_episodic_return`: `batch.rew`); seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'tianshou==2.0.1' 'torch==2.13.0' 'gymnasium==1.4.0' 'numba==0.68.1' \
  'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import numpy as np
from tianshou import algorithm
from tianshou.algorithm.modelbased import icm
from tianshou.algorithm.modelfree import discrete_sac
from tianshou.algorithm.modelfree import dqn
from tianshou.algorithm.modelfree import reinforce
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch
from tianshou.data import ReplayBuffer
from tianshou.utils.net import common
from tianshou.utils.net import discrete
from tianshou.utils.torch_utils import policy_within_training_step
import torch

OBS, ACTIONS, UPDATES, SCALES = 3, 2, 50, (0.0, 1.0, 1000.0)
SPACE = gymnasium.spaces.Discrete(ACTIONS)
OPTIM = AdamOptimizerFactory(lr=1e-3)


def collected():
  """Random steps of a task that never pays."""
  rng = np.random.default_rng(0)
  observations = rng.uniform(-1, 1, [201, OBS]).astype(np.float32)
  buffer = ReplayBuffer(200)
  for t in range(200):
    buffer.add(Batch(
        obs=observations[t], act=rng.integers(ACTIONS), rew=0.0,
        terminated=t % 20 == 19, truncated=False, obs_next=observations[t + 1],
        info={},
    ))
  return buffer


def net(**kwargs):
  return common.Net(state_shape=OBS, hidden_sizes=[16], **kwargs)


def actor():
  return discrete.DiscreteActor(
      preprocess_net=net(), action_shape=ACTIONS, softmax_output=False
  )


def critic(size=1):
  return discrete.DiscreteCritic(preprocess_net=net(), last_size=size)


def make_dqn():
  policy = dqn.DiscreteQLearningPolicy(
      model=net(action_shape=ACTIONS), action_space=SPACE
  )
  return algorithm.DQN(policy=policy, optim=OPTIM, target_update_freq=10)


def make_sac():
  policy = discrete_sac.DiscreteSACPolicy(actor=actor(), action_space=SPACE)
  return algorithm.DiscreteSAC(
      policy=policy, policy_optim=OPTIM, critic=critic(ACTIONS),
      critic_optim=OPTIM,
  )


def make_on_policy(kind):
  policy = reinforce.DiscreteActorPolicy(actor=actor(), action_space=SPACE)
  return kind(policy=policy, critic=critic(), optim=OPTIM)


def train(make, is_on_policy, scale):
  """Returns the weights of the learner and the losses of the curiosity."""
  torch.manual_seed(0)
  np.random.seed(0)
  wrapped = make()
  curiosity = discrete.IntrinsicCuriosityModule(
      feature_net=common.MLP(input_dim=OBS, output_dim=8, hidden_sizes=[16]),
      feature_dim=8, action_dim=ACTIONS, hidden_sizes=[16],
  )
  wrap = icm.ICMOnPolicyWrapper if is_on_policy else icm.ICMOffPolicyWrapper
  learner = wrap(
      wrapped_algorithm=wrapped, model=curiosity, optim=OPTIM, lr_scale=1.0,
      reward_scale=scale, forward_loss_weight=0.2,
  )
  buffer, losses = collected(), []
  with policy_within_training_step(learner.policy):
    for _ in range(UPDATES):
      kwargs = {'batch_size': 64, 'repeat': 1} if is_on_policy else {
          'sample_size': 32
      }
      losses.append(learner.update(buffer=buffer, **kwargs).icm_forward_loss)
  weights = [x.detach().flatten() for x in wrapped.parameters()]
  return torch.cat(weights).numpy(), losses


as_described = True
for name, make, is_on_policy in (
    ('DQN', make_dqn, False),
    ('discrete SAC', make_sac, False),
    ('A2C', lambda: make_on_policy(algorithm.A2C), True),
    ('PPO', lambda: make_on_policy(algorithm.PPO), True),
):
  runs = [train(make, is_on_policy, scale) for scale in SCALES]
  changes = [float(abs(run[0] - runs[0][0]).max()) for run in runs[1:]]
  losses = runs[1][1]
  print(
      f'{name}: curiosity {losses[0]:.3f}, after {UPDATES} updates'
      f' {losses[-1]:.3f}; weights differ from those of scale 0 by'
      f' {changes[0]:.5f} with scale 1, {changes[1]:.5f} with scale 1,000'
  )
  as_described &= losses[-1] < losses[0] / 2
  if is_on_policy:
    as_described &= min(changes) > 0.01
  else:
    as_described &= max(changes) == 0
sys.exit(not as_described)
PROGRAM
