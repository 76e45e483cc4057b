# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""AutoGraph, which takes longer than all the rest, passes over the agents."""

import sys

import pytest
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.trajectories import time_step as ts

from tests.agents import agent_test_utils
from tests.agents import slow_r2d3
from tests.agents import upstream_test


def _calls_of_ppo():
  agent = agent_test_utils.build_agent(**upstream_test.FOR_LEARNER)
  rollout = agent_test_utils.rollout(agent)
  rows = agent.preprocess_sequence(rollout)
  time_step = ts.restart(rollout.observation[:, 0], 4)
  return [
      (agent.preprocess_sequence, rollout),
      (agent.train, rows),
      (agent.collect_policy.action, time_step),
  ]


def _calls_of_r2d3():
  agent = slow_r2d3.build_agent(core='none')
  sequences = slow_r2d3.sequences()
  time_step = ts.restart(sequences.observation[:, 0], 5)
  return [
      (agent.train, sequences),
      (agent.collect_policy.action, time_step),
  ]


@pytest.mark.parametrize('make_calls', [_calls_of_ppo, _calls_of_r2d3])
def test_a_tf_function_of_a_user_converts_nothing_of_an_agent(
    monkeypatch, make_calls
):
  files = []
  call = network.Network.__call__

  def note():
    # AutoGraph runs copies of functions, from another file.
    files.append(sys._getframe().f_code.co_filename)

  def watching(*args, **kwargs):
    note()
    return call(*args, **kwargs)

  calls = make_calls()
  monkeypatch.setattr(network.Network, '__call__', watching)
  for function, argument in calls:
    files.clear()
    tf.function(function).get_concrete_function(argument)
    assert set(files) == {__file__}, function
  files.clear()
  tf.function(note)()  # It would have been seen.
  assert files and __file__ not in files
