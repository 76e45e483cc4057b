#!/usr/bin/env bash
# TF-Agents 0.19.0: `Exp3MixtureAgent` takes the cap of its temperature for a floor, so that
# it comes back to a random choice of its agents, the later the more.
#
# The weights of the agents are their sums of estimated rewards, divided by a temperature
# that grows with the square root of the number of samples. (It is named
# `inverse_temperature`.) "To smooth the weights", the sums forget, and
# `max_inverse_temperature` "caps the inverse temperature that would otherwise grow". The
# cap is `tf.maximum`:
#
# * from the first sample on the temperature is at least the cap, and then it grows without
#   end, to 100 after 10000 samples with a cap of 10;
# * the sums stay at most at 1 / (1 - forgetting) rewards, so that all weights go to 0. One
#   of two agents always pays 1 and the other 0: with a cap of 10 and a forgetting of 0.9, as
#   the docstring advises, the better one is chosen with about 0.65 after 100 samples, with
#   0.57 after 1000 and with 0.53 after 10000. With a minimum it is 0.7 or more on average;
# * with the cap of 1000, the default, the temperature is 1000 from the start. After 200
#   samples the better agent is chosen with 0.54, where a minimum gives 0.99.
#
# One would guess: what the docstring says, and that more samples do not make the mixture
# less sure of an agent that is always better. A short run looks right: its mixture comes to
# prefer the better agent, if slowly, as long as the temperature is at the floor.
#
# Controls: the same sums in NumPy, with the maximum and with a minimum in its place.
#
# Source: tf_agents/bandits/agents/exp3_mixture_agent.py (`_update_inverse_temperature`);
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

TIME_STEP = ts.time_step_spec(tensor_spec.TensorSpec([], tf.float32))
ACTION = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 1)
as_described = True


def play(cap, forgetting, marks):
  """Temperatures and chances of the agent that always pays 1, and all choices."""
  variables = exp3_mixture_agent.Exp3MixtureVariableCollection(2)
  mixture = exp3_mixture_agent.Exp3MixtureAgent(
      [exp3_agent.Exp3Agent(TIME_STEP, ACTION, 0.1) for _ in range(2)],
      variables, forgetting=forgetting, max_inverse_temperature=cap,
  )
  mixture.initialize()

  @tf.function
  def run(samples):
    choices = tf.TensorArray(tf.int32, samples)
    for t in tf.range(samples):
      # What the mixture's policy does: an agent is drawn by the weights.
      agent = tf.random.categorical(
          mixture._mixture_weights[None], 1, dtype=tf.int32
      )[0, 0]
      choices = choices.write(t, agent)
      mixture.train(tf.nest.map_structure(
          lambda x: tf.reshape(x, [1, 1]),
          trajectory.single_step(
              observation=tf.zeros([]),
              action=tf.zeros([], tf.int32),
              policy_info={
                  'mixture_agent_id': agent,
                  'subpolicy_info': policy_step.PolicyInfo(
                      log_probability=tf.math.log(0.5)
                  ),
              },
              reward=tf.cast(agent, tf.float32),
              discount=tf.ones([]),
          ),
      ))
    return choices.stack()

  choices, temperatures, chances = [], [], []
  for samples in np.diff([0, *marks]):
    choices.append(run(tf.constant(samples, tf.int32)).numpy())
    temperatures.append(float(variables.inverse_temperature))
    chances.append(float(tf.nn.softmax(mixture._mixture_weights)[1]))
  return temperatures, chances, np.concatenate(choices)


def by_hand(cap, forgetting, limit, samples, choices=None):
  """The chance of the better agent after each sample; draws by itself or not."""
  random = np.random.default_rng(0)
  sums, temperature, chance, found = np.zeros(2), 0.0, 0.5, []
  for t in range(samples):
    agent = int(random.random() < chance) if choices is None else choices[t]
    estimate = np.ones(2)
    estimate[agent] -= (1 - float(agent)) / (chance if agent else 1 - chance)
    sums = forgetting * (sums + estimate)
    temperature = limit(cap, np.sqrt(temperature**2 + 1))
    chance = 1 / (1 + np.exp((sums[0] - sums[1]) / temperature))
    found.append(chance)
  return np.array(found)


for cap, forgetting, marks in [
    (10.0, 0.9, [100, 1000, 10000]),
    (1000.0, 0.999, [200, 2000]),
]:
  tf.random.set_seed(0)
  temperatures, chances, choices = play(cap, forgetting, marks)
  same = by_hand(cap, forgetting, max, marks[-1], choices)
  capped = by_hand(cap, forgetting, min, marks[-1])
  means = []
  for i, mark in enumerate(marks):
    window = slice(mark // 2, mark)
    means.append((same[window].mean(), capped[window].mean()))
    print(f'cap {cap:.0f}, {mark} samples: temperature {temperatures[i]:.1f}; chance of the'
          f' better agent {chances[i]:.3f}, in NumPy {same[mark - 1]:.3f}; mean over the'
          f' second half {means[i][0]:.2f}, with a minimum {means[i][1]:.2f}; chosen'
          f' {choices[window].mean():.2f}')
    as_described &= abs(chances[i] - same[mark - 1]) < 0.01
    as_described &= abs(choices[window].mean() - means[i][0]) < 0.16
    as_described &= temperatures[i] >= cap - 1e-3
  if cap == 10:
    as_described &= abs(temperatures[-1] - 100) < 2
    as_described &= means[2][0] < 0.55 and means[0][0] > means[1][0] + 0.03
    as_described &= means[1][0] > means[2][0] + 0.02
    as_described &= min(capped for _, capped in means) > 0.66
  else:
    as_described &= bool(means[0][0] < 0.6 and means[0][1] > 0.9)
sys.exit(not as_described)
PROGRAM
"$folder/venv/bin/python" "$folder/play.py" 2>/dev/null
