#!/usr/bin/env bash
# Meta-World 3.1.1: `metalearning_evaluation` says 100 % for an agent that solves one goal of
# twenty: it counts the first three episodes that END, and successes end first.
#
# The documentation wants three episodes per goal and test task. The vector environment
# has a goal in each of its parts: with ML1 twenty parts of one task, with ML10 and ML45
# four parts for each of five. `evaluation` collects returns by the NAME of the task, and
# is done with a name as soon as it has three of them, from whichever parts. An episode
# ends at a success, or else at the limit of 500 steps. So while nineteen parts still try,
# the one that can do it has done it three times, by automatic resets.
#
# * One goal of twenty is solved: the success rate is 1.0, where three episodes per goal
#   give 0.05. No failure is ever counted if one part succeeds three times within the
#   limit (150 steps here, to save time; 500 make it easier).
# * The mean return is that of these three episodes, too.
# * With one part per task, as in MT10 and MT50 or with a meta batch size of 1, it is right.
#
# One would guess: "the average success rate across all testing tasks and episodes", and
# the pseudocode of the documentation, which divides by the number of environments. Its
# examples have a meta batch size of 20 for each of the benchmarks (or 1 for ML1).
#
# Controls: one episode in each part, by a loop; an agent that solves none; a meta batch
# size of 1. The agent is a stand-in that moves to the true goal in some parts.
#
# Source: metaworld/evaluation.py (`evaluation`: `eval_done`, `episodic_returns` by
# `task_names[i]`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'metaworld==3.1.1' 'mujoco==3.3.0' 'gymnasium==1.4.0' 'numpy==2.4.6' \
  'scipy==1.17.1' 'packaging==26.2'

MUJOCO_GL=disable "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from metaworld import make_ml_envs
from metaworld.evaluation import metalearning_evaluation
import numpy as np

PARTS, LIMIT = 20, 150


class Agent:
  """Reaches the goal in the parts, and after the adaptations, that it is told."""

  def __init__(self, environments, solves):
    self.environments, self.solves = environments, solves
    self.adaptations = -1
    self.ended = np.zeros(environments.num_envs, int)

  def init(self):
    self.adaptations += 1

  def adapt_action(self, observations):
    return np.zeros((len(observations), 4), np.float32), {}

  def step(self, timestep):
    pass

  def adapt(self):
    pass

  def reset(self, mask):
    self.ended += mask

  def eval_action(self, observations):
    actions = np.zeros((len(observations), 4), np.float32)
    for i, environment in enumerate(self.environments.envs):
      if self.solves(i, self.adaptations):
        way = environment.unwrapped._target_pos - observations[i, :3]
        actions[i, :3] = np.clip(10 * way, -1, 1)
    return actions


def make(parts):
  return make_ml_envs(
      'reach-v3', seed=0, meta_batch_size=parts, split='test', total_tasks_per_cls=40,
      max_episode_steps=LIMIT,
  )


def one_by_one(environments, agent):
  """Success at any step of an episode, for each part; the goals are those of before."""
  environments.call('toggle_terminate_on_success', False)
  environments.call('toggle_sample_tasks_on_reset', False)
  observations, _ = environments.reset()
  solved = np.zeros(environments.num_envs, bool)
  for _ in range(LIMIT - 1):
    observations, *_, info = environments.step(agent.eval_action(observations))
    solved |= np.asarray(info['success']) == 1
  return solved


as_described = True
environments = make(PARTS)
assert len(set(environments.get_attr('task_name'))) == 1
for number in (0, 1):
  agent = Agent(environments, lambda part, adaptation: part < number)
  rate, mean_return, _ = metalearning_evaluation(
      agent, environments, num_evals=1, adaptation_episodes=1, evaluation_episodes=3
  )
  ended = agent.ended - 1  # The first call is for the begin of all.
  solved = one_by_one(environments, agent)
  print(f'{number} of {PARTS} goals solved: success rate {rate:.2f}, one by one'
        f' {solved.mean():.2f}; mean return {mean_return:.0f}; episodes that ended in each'
        f' part {ended.tolist()}')
  as_described &= solved.sum() == number and rate == number
  as_described &= bool(ended[1:].max() == (0 if number else 1))
environments.close()

# One part: each fourth goal is solved.
environments = make(1)
agent = Agent(environments, lambda part, adaptation: adaptation % 4 == 0)
rate, _, _ = metalearning_evaluation(
    agent, environments, num_evals=4, adaptation_episodes=1, evaluation_episodes=3
)
print(f'one part, each fourth goal solved: success rate {rate:.2f}, {agent.ended[0] - 4}'
      ' episodes')
as_described &= rate == 0.25
environments.close()
sys.exit(not as_described)
PROGRAM
