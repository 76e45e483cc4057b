#!/usr/bin/env bash
# RSL-RL 5.5.1: the weight of rewards by Random Network Distillation ends at another scale
# than the one it begins with, and a resumed run begins its schedule anew.
#
# A weight may change over the run: `weight` is the first value, `final_value` of
# `weight_schedule` the last. When the algorithm is made, `weight` alone is multiplied by
# the environment's `step_dt`, the seconds of a step.
#
# * With `weight` 100, `final_value` 10 and steps of 0.02 s, a fall to a tenth by its
#   settings, the weight of a step rises from 2 to 10, fivefold. The intrinsic rewards of
#   the same observations do so too, in the mode "linear" and in the mode "step".
# * The number of steps since the begin of the schedule is no part of a checkpoint. A run
#   that had reached its last value and is loaded again starts at the first one, while the
#   predictor, the normalization and the number of the iteration are restored.
#
# One would guess: two numbers of one schedule have one unit, whatever the length of a
# step. Nothing warns; the curve of the weight is logged after scaling. Whom it harms: who
# anneals curiosity to a rest above zero. Toward the end of training, when curiosity should
# have faded, it is the main reward. With a last value of 0 or a `step_dt` of 1 all is well,
# and so it is with a constant weight.
#
# Controls: the schedule by hand, with both values scaled and with one; a last value of 0; a
# `step_dt` of 1; and a run that is not interrupted.
#
# Source: rsl_rl/extensions/rnd.py (`resolve_rnd_config`, `_linear_weight_schedule`,
# `_step_weight_schedule`, `update_counter`), rsl_rl/algorithms/ppo.py (`save`, `load`);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what these modules import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'tensordict==0.14.3' 'numpy==2.3.5' 'GitPython==3.1.46' \
  'tensorboard==2.21.0'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'rsl-rl-lib==5.5.1'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import contextlib
import copy
import io
import sys

import numpy as np
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict
import torch

ENVS, STEPS, FIRST, LAST = 4, 8, 8, 40


class Walk(VecEnv):
  """Observes random numbers and pays nothing; one step lasts `step_dt` seconds."""

  num_envs, num_actions, max_episode_length, device, cfg = ENVS, 1, 1000, 'cpu', {}

  def __init__(self, step_dt):
    self.step_dt, self.unwrapped = step_dt, self
    self.episode_length_buf = torch.zeros(ENVS, dtype=torch.long)
    self.random = np.random.default_rng(0)

  def get_observations(self):
    numbers = torch.as_tensor(self.random.normal(size=(ENVS, 3)), dtype=torch.float32)
    return TensorDict({'policy': numbers}, batch_size=[ENVS])

  def step(self, actions):
    zeros = torch.zeros(ENVS)
    return self.get_observations(), zeros, zeros.to(torch.long), {}


def runner(step_dt, weight, schedule):
  torch.manual_seed(0)
  model = {'class_name': 'MLPModel', 'hidden_dims': [8], 'activation': 'elu'}
  distribution = {'class_name': 'GaussianDistribution', 'init_std': 1.0}
  return OnPolicyRunner(Walk(step_dt), {
      'num_steps_per_env': STEPS, 'save_interval': 1000,
      'obs_groups': {name: ['policy'] for name in ('actor', 'critic', 'rnd_state')},
      'actor': model | {'distribution_cfg': distribution}, 'critic': dict(model),
      'algorithm': {
          'class_name': 'PPO',
          # Nothing is learned, so that the same observation has the same error.
          'learning_rate': 0.0, 'schedule': 'fixed',
          'rnd_cfg': {
              'num_outputs': 2, 'predictor_hidden_dims': [8], 'target_hidden_dims': [8],
              'weight': weight, 'weight_schedule': copy.deepcopy(schedule),
              'learning_rate': 0.0,
          },
      },
  })


def learn(run, iterations):
  """The weight of each step, and the intrinsic rewards for the weight."""
  weights, rewards = [], []
  rnd = run.alg.rnd
  of_package = rnd.get_intrinsic_reward

  def recorded(obs):
    reward = of_package(obs)
    state = obs['policy']
    error = torch.linalg.norm(rnd.target(state) - rnd.predictor(state), dim=1)
    weights.append(rnd.weight)
    rewards.append((reward / error).mean().item())
    return reward

  rnd.get_intrinsic_reward = recorded
  with contextlib.redirect_stdout(io.StringIO()):
    run.learn(iterations)
  rnd.get_intrinsic_reward = of_package
  np.testing.assert_allclose(weights, rewards, rtol=1e-4)
  return np.array(weights)


def by_hand(mode, first, last, steps):
  t = np.arange(1, steps + 1)
  if mode == 'step':
    return np.where(t < LAST, first, last)
  return first + (last - first) * np.clip((t - FIRST) / (LAST - FIRST), 0, 1)


as_described = True
iterations = LAST // STEPS + 1
for mode, step_dt, weight, last in (
    ('linear', 0.02, 100, 10), ('step', 0.02, 100, 10), ('linear', 0.02, 100, 0),
    ('linear', 1, 100, 10),
):
  schedule = {'mode': mode, 'final_step': LAST, 'final_value': last}
  if mode == 'linear':
    schedule['initial_step'] = FIRST
  with contextlib.redirect_stdout(io.StringIO()):
    run = runner(step_dt, weight, schedule)
  seen = learn(run, iterations)
  both = by_hand(mode, weight * step_dt, last * step_dt, len(seen))
  one = by_hand(mode, weight * step_dt, last, len(seen))
  print(f'{mode}, steps of {step_dt} s, from {weight} to {last}: weights from {seen[0]:g} to'
        f' {seen[-1]:g}; by hand to {both[-1]:g}, with the first alone scaled to {one[-1]:g}')
  as_described &= np.allclose(seen, one, rtol=1e-6)
  as_described &= np.allclose(seen, both, rtol=1e-6) == (last == 0 or step_dt == 1)

# A run that is saved and loaded.
schedule = {'mode': 'linear', 'initial_step': FIRST, 'final_step': LAST, 'final_value': 0}
with contextlib.redirect_stdout(io.StringIO()):
  whole, resumed = runner(0.02, 100, schedule), runner(0.02, 100, schedule)
before = learn(whole, iterations)
whole.save('checkpoint.pt')
resumed.load('checkpoint.pt')
after, restarted = learn(whole, 1), learn(resumed, 1)
same = all(
    torch.equal(a, b)
    for a, b in zip(whole.alg.rnd.state_dict().values(), resumed.alg.rnd.state_dict().values())
)
print(f'weight before the checkpoint {before[-1]:g}, after it {after[0]:g}, of the loaded run'
      f' {restarted[0]:g}, whose iteration is {resumed.current_learning_iteration}; networks'
      f' equal: {same}')
as_described &= before[-1] == after[0] == 0 and restarted[0] == 2 and same
as_described &= resumed.current_learning_iteration == whole.current_learning_iteration > 0
sys.exit(not as_described)
PROGRAM
