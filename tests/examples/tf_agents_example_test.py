# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""TF-Agents' own PPO example with the lines of docs/rnd_ppo.md changed."""

import importlib.util
import re
import types

import numpy as np
from tf_agents.environments import batched_py_environment
from tf_agents.environments import suite_gym

from rnd_agents import agents
from tests import source_tree

_EXAMPLE = 'tf_agents.agents.ppo.examples.v2.train_eval_clip_agent'


def _changed(source):
  """The example as the documentation changes it."""
  page = (source_tree.ROOT / 'docs' / 'rnd_ppo.md').read_text()
  (lines,) = re.findall(r'```diff\n(.*?)```', page, re.DOTALL)
  lines = lines.splitlines()
  assert sum(line[0] == '+' for line in lines) == 4
  for part in re.findall(r'-(.*)\n((?:\+.*\n?)+)', '\n'.join(lines)):
    old, new = f'{part[0]}\n', re.sub(r'(?m)^\+', '', f'{part[1].rstrip()}\n')
    assert source.count(old) == 1, old
    source = source.replace(old, new)
  return source


def test_it_trains_rnd_ppo(tmp_path):
  with open(importlib.util.find_spec(_EXAMPLE).origin) as file:
    source = _changed(file.read())
  # Without its flags and the name in gin, which a process has once.
  source = re.sub(r'(?m)^flags\.DEFINE_\w+\((?:.*\n)*?\)\n', '', source)
  source = source.replace('FLAGS = flags.FLAGS', '')
  example = types.ModuleType('example')
  exec(source.replace('@gin.configurable\n', ''), vars(example))  # pylint: disable=exec-used
  learned = []

  def build(*args, actor_net, value_net, **kwargs):
    agent = agents.RNDPPOAgent(
        *args, actor_net=actor_net, value_net=value_net, **kwargs
    )
    for net in (actor_net, *value_net, agent.curiosity.rnd_network):
      learned.extend((v, v.numpy()) for v in net.trainable_variables)
    return agent

  example.agents = types.SimpleNamespace(RNDPPOAgent=build)
  example.parallel_py_environment = types.SimpleNamespace(
      ParallelPyEnvironment=lambda fns: (
          batched_py_environment.BatchedPyEnvironment([f() for f in fns])
      )
  )
  example.train_eval(
      str(tmp_path),
      env_name='CartPole-v0',
      env_load_fn=suite_gym.load,
      random_seed=1,
      actor_fc_layers=(8,),
      value_fc_layers=(8,),
      use_rnns=True,
      num_environment_steps=20,
      collect_episodes_per_iteration=4,
      num_parallel_environments=4,  # At least one chunk a minibatch.
      num_epochs=2,
      num_eval_episodes=1,
      train_checkpoint_interval=1_000,
      policy_checkpoint_interval=1_000,
  )
  assert len({v.ref() for v, _ in learned}) == len(learned) > 12
  for variable, was in learned:
    assert np.any(variable != was), variable.name
