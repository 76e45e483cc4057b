#!/usr/bin/env bash
# TF-Agents 0.19.0: `Exp3Agent` adds the probability of an arm to its reward, so that the arm
# it prefers stays, whatever the others pay.
#
# EXP3 (Lattimore and Szepesvari, "Bandit Algorithms", chapter 11, the agent's reference)
# estimates the rewards of all arms in each round: 1 for those not chosen, and
# 1 - (1 - reward) / p for the one that is chosen. On average over the choice this is the
# reward of each arm. `Exp3Agent` adds the second part to the chosen arm, and nothing to the
# others, so that the average is reward + p - 1: an arm that is chosen with 0.9 has 0.8 more
# a round than one that is chosen with 0.1.
#
# * Once the policy prefers an arm that pays 0 with a probability near 1, one that always
#   pays 1 does not gain on it any more. This is what EXP3 is for: rewards that change. Two
#   arms pay 0.8 and 0.2 for 300 rounds, and then 0.1 and 0.9: after 2000 rounds EXP3 takes
#   the second arm with 0.9 or more in all runs, and the agent with less than 0.1, for a
#   quarter of the reward.
# * Rewards that do not change: with a learning rate of 0.1 and arms that pay 0.5 and 0.6,
#   the agent is certain of the worse arm at the end of some runs, and EXP3 of none.
#
# One would guess: the algorithm of the name, whose regret against the best fixed arm is of
# the order of sqrt(rounds) for any rewards. On rewards that do not change, small learning
# rates come to the best arm, and sooner than EXP3 does, so that a test on them looks fine.
#
# Controls: EXP3 in NumPy, the agent's rule in NumPy, and `Exp3MixtureAgent` of the same
# library, whose estimates are those of the book.
#
# Source: tf_agents/bandits/agents/exp3_agent.py (`exp3_update_value`, `selective_sum`);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'tensorflow==2.15.1' 'tensorflow-probability==0.23.0' 'tf-keras==2.15.1' \
  'numpy==1.26.4' 'tf-agents==0.19.0'

# A file, since graphs are made of the program's text.
cat >"$folder/play.py" <<'PROGRAM'
import sys

import numpy as np
import tensorflow as tf
from tf_agents.bandits.agents import exp3_agent
from tf_agents.bandits.agents import exp3_mixture_agent
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

OBSERVATION = tensor_spec.TensorSpec([], tf.float32)
as_described = True


def new_agent(arms, rate):
  action_spec = tensor_spec.BoundedTensorSpec([], tf.int32, 0, arms - 1)
  agent = exp3_agent.Exp3Agent(ts.time_step_spec(OBSERVATION), action_spec, rate)
  agent.initialize()
  return agent


def experience(action, reward, info):
  """A batch of one step."""
  return tf.nest.map_structure(
      lambda x: tf.reshape(x, [1, 1]),
      trajectory.single_step(
          observation=tf.zeros([]),
          action=tf.constant(action, tf.int32) if isinstance(action, int) else action,
          policy_info=info,
          reward=tf.cast(reward, tf.float32),
          discount=tf.ones([]),
      ),
  )


# The mean, over the arm that is chosen, of what a round adds to the weights.
chances = np.array([0.7, 0.2, 0.1])
rewards = np.array([0.1, 0.9, 0.5])
mean = np.zeros(3)
mixture_mean = np.zeros(3)
for arm in range(3):
  agent = new_agent(3, 1.0)
  info = policy_step.PolicyInfo(
      log_probability=tf.math.log(tf.constant(chances[arm], tf.float32))
  )
  agent.train(experience(arm, rewards[arm], info))
  mean += chances[arm] * agent.weights.numpy()

  variables = exp3_mixture_agent.Exp3MixtureVariableCollection(3)
  mixture = exp3_mixture_agent.Exp3MixtureAgent(
      [new_agent(3, 1.0) for _ in range(3)], variables, forgetting=1.0
  )
  mixture._mixture_weights.assign(np.log(chances))
  mixture.train(experience(
      0, rewards[arm],
      {'mixture_agent_id': tf.constant(arm, tf.int32), 'subpolicy_info': info},
  ))
  mixture_mean += chances[arm] * variables.reward_aggregates.numpy()
print(f'probabilities {chances}, rewards {rewards}: mean change of the weights'
      f' {mean.round(3)}; of Exp3MixtureAgent {mixture_mean.round(3)}')
as_described &= np.allclose(mean, rewards + chances - 1, atol=1e-5)
as_described &= np.allclose(mixture_mean, rewards, atol=1e-5)


def player(rounds, rate):
  """Returns a function that plays with new agents, in one graph."""
  agent = new_agent(2, rate)
  step = ts.restart(tf.zeros([1]), batch_size=1)

  @tf.function
  def play(draws):
    total = tf.zeros([])
    for t in tf.range(rounds):
      choice = agent.collect_policy.action(step)
      reward = draws[t, choice.action[0]]
      agent.train(experience(choice.action[0], reward, choice.info))
      total += reward
    return total

  def with_agent(draws):
    agent._weights.assign(tf.zeros(2))
    total = play(tf.constant(draws, tf.float32)).numpy()
    return total / rounds, tf.nn.softmax(rate * agent.weights).numpy()

  return with_agent


def by_hand(draws, rate, seed, is_published):
  random = np.random.default_rng(seed)
  weights = np.zeros(draws.shape[1])
  total = 0
  for row in draws:
    chances = np.exp(rate * (weights - weights.max()))
    chances /= chances.sum()
    arm = random.choice(len(chances), p=chances)
    if is_published:
      weights += 1
      weights[arm] -= 1
    weights[arm] += 1 - (1 - row[arm]) / chances[arm]
    total += row[arm]
  chances = np.exp(rate * (weights - weights.max()))
  return total / len(draws), chances / chances.sum()


def bernoulli(seed, *parts):
  random = np.random.default_rng(seed)
  return np.concatenate([
      (random.random([rounds, len(means)]) < means).astype(float)
      for rounds, means in parts
  ])


for name, rate, runs, parts in [
    ('0.8 and 0.2, from round 300 on 0.1 and 0.9', 0.1, 8,
     [(300, [0.8, 0.2]), (1700, [0.1, 0.9])]),
    ('0.5 and 0.6', 0.1, 30, [(2000, [0.5, 0.6])]),
]:
  with_agent = player(2000, rate)
  found = {'Exp3Agent': [], "the agent's rule in NumPy": [], 'EXP3': []}
  for seed in range(runs):
    draws = bernoulli(seed, *parts)
    tf.random.set_seed(seed)
    found['Exp3Agent'].append(with_agent(draws))
    found["the agent's rule in NumPy"].append(by_hand(draws, rate, seed, False))
    found['EXP3'].append(by_hand(draws, rate, seed, True))
  print(f'{name}, learning rate {rate}:')
  for rule, results in found.items():
    reward = np.mean([x for x, _ in results])
    last = np.array([chances[1] for _, chances in results])
    print(f'  {rule}: reward {reward:.2f} a round; last probability of the second arm'
          f' {last.mean():.2f}, at least 0.9 in {sum(last > 0.9)} and at most 0.1 in'
          f' {sum(last < 0.1)} of {runs} runs')
    if len(parts) == 2:
      is_right = min(last) > 0.9 and reward > 0.5
      is_wrong = max(last) < 0.1 and reward < 0.25
      as_described &= bool(is_right if rule == 'EXP3' else is_wrong)
    else:
      as_described &= bool((rule == 'EXP3') == (sum(last < 0.01) == 0))
sys.exit(not as_described)
PROGRAM
"$folder/venv/bin/python" "$folder/play.py" 2>/dev/null
