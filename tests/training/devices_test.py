# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Updates on several devices against those on one.

In a process of their own, whose CPU is cut into four devices: that has to be
done before TensorFlow computes anything.
"""

import concurrent.futures
import contextlib
import os
import re
import shutil

import gin
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.agents import optimizers
from rnd_agents.agents import r2d3_agent
from rnd_agents.training import on_policy
from tests import tiny_runs
from tests.agents import agent_test_utils


def _cut_cpu():
  (cpu,) = tf.config.list_physical_devices('CPU')
  tf.config.set_logical_device_configuration(
      cpu, [tf.config.LogicalDeviceConfiguration()] * 4
  )


def _without_bindings(function, *arguments):
  gin.clear_config()  # Of the call before.
  return function(*arguments)


@pytest.fixture(name='call', scope='module')
def _call():
  """A function that calls another one in a process with four devices."""
  with concurrent.futures.ProcessPoolExecutor(
      1, tiny_runs.context(), _cut_cpu
  ) as pool:
    yield lambda *call: pool.submit(_without_bindings, *call).result()


def _scope(num_devices):
  if num_devices == 1:
    return contextlib.nullcontext()
  devices = [f'CPU:{i}' for i in range(num_devices)]
  return optimizers.mirrored_strategy(devices).scope()


# Number of devices, units of the memory, or None, and settings of the agent.
_UPDATES = dict(
    # A step goes farther than that, so that its change is halved.
    limited=(2, None, dict(agent_test_utils.EVERYTHING, target_kl=1e-6)),
    # Of 11 or 12 chunks of one to three steps each minibatch has one or two, so
    # that most replicas have no sample, and masks differ.
    memory=(
        4,
        5,
        dict(
            agent_test_utils.EVERYTHING,
            unroll_length=3,
            burn_in_length=1,
            num_minibatches=8,
        ),
    ),
)


def _update(num_devices, name):
  with _scope(num_devices):
    return agent_test_utils.update(*_UPDATES[name][1:])


@pytest.mark.parametrize('name', list(_UPDATES))
def test_an_update_is_that_of_one_device(call, name):
  """Also where a replica has no sample."""
  num_devices = _UPDATES[name][0]
  variables, metrics = call(_update, num_devices, name)
  expected, expected_metrics = call(_update, 1, name)
  for copies, (value,) in zip(variables, expected, strict=True):
    assert len(copies) == num_devices
    for copy in copies:
      np.testing.assert_array_equal(copy, copies[0])
      np.testing.assert_allclose(copy, value, rtol=1e-6, atol=1e-6)
  np.testing.assert_allclose(metrics, expected_metrics, rtol=1e-5, atol=1e-6)


def _split():
  """(samples, weights) of five, for each of four replicas."""
  with _scope(4):
    strategy = tf.distribute.get_strategy()
    part = optimizers.Replicas().split(
        (tf.range(5), None), tf.constant([[1.0], [2.0], [0.0], [1.0], [1.0]])
    )
  return [
      (samples.numpy().tolist(), weights.numpy().flatten().tolist())
      for (samples, _), weights in map(
          lambda i: tf.nest.map_structure(
              lambda x: strategy.experimental_local_results(x)[i], part
          ),
          range(4),
      )
  ]


def test_slices_are_equal_and_their_weights_keep_the_mean(call):
  np.testing.assert_allclose(
      [weights for _, weights in call(_split)],
      [[1.6, 3.2], [0.0, 1.6], [1.6, 0.0], [0.0, 0.0]],
      rtol=1e-6,
  )
  assert [samples[:2] for samples, _ in call(_split)][:3] == [
      [0, 1], [2, 3], [4, 0]
  ]


def _train(root_dir, num_devices):
  """Rows of a run of two iterations."""
  num_env_steps = 64 + 64 * 2
  tiny_runs.train(
      root_dir, num_env_steps, f'OnPolicyTraining.num_devices = {num_devices}'
  )
  return tiny_runs.rows(root_dir, 'train')


def _resume(whole, num_devices, iteration):
  """Rows of a copy that lost what came after an iteration."""
  folder = f'{whole}_resumed_{num_devices}'
  shutil.copytree(whole, folder)
  for lost in range(iteration + 1, 3):
    shutil.rmtree(os.path.join(folder, 'checkpoints', f'iteration_{lost:08d}'))
  return _train(folder, num_devices)


def test_a_run_resumes_with_as_many_devices_and_with_one(call, tmp_path):
  folder = os.fspath(tmp_path / 'whole')
  rows = call(_train, folder, 2)
  assert len(rows) == 2
  assert call(_resume, folder, 2, 1) == rows
  # From its start: this is the run of one device.
  tiny_runs.assert_close(call(_resume, folder, 1, 0), rows)


def _train_in_each_replica():
  with optimizers.mirrored_strategy(['CPU:0', 'CPU:1']).scope():
    agent = agent_test_utils.build_agent()
    experience = agent_test_utils.rollout(agent)
    tf.distribute.get_strategy().run(agent.train, (experience,))


def _refusal(of_what):
  """The message that building it in the scope of a strategy ends in."""
  devices = ['CPU:0', 'CPU:1']
  mirrored = optimizers.mirrored_strategy(devices)
  strategy, build = dict(
      train=(None, lambda *_: _train_in_each_replica()),
      num_devices=(None, on_policy.OnPolicyTraining(num_devices=5).check),
      strategy=(
          tf.distribute.experimental.CentralStorageStrategy(devices),
          agent_test_utils.build_agent,
      ),
      learner=(
          mirrored,
          lambda: agent_test_utils.build_agent(
              compute_value_and_advantage_in_train=False,
              update_normalizers_in_train=False,
          ),
      ),
      optimizer=(
          mirrored,
          lambda: agent_test_utils.build_agent(
              optimizer=tf.compat.v1.train.AdamOptimizer()
          ),
      ),
      r2d3=(mirrored, lambda: r2d3_agent.R2D3Agent(None, None, None, None)),
  )[of_what]
  try:
    with contextlib.nullcontext() if strategy is None else strategy.scope():
      build(*(() if strategy else (0, 0)))
  except errors.UserError as error:
    return str(error)
  return None


@pytest.mark.parametrize(
    ('of_what', 'words'),
    [
        ('num_devices', 'num_devices = 5, .* 4 CPUs'),
        ('strategy', 'RNDPPOAgent .*CentralStorageStrategy: .*Mirrored'),
        ('learner', 'PPOLearner'),
        ('optimizer', 'AdamOptimizer .*MirroredStrategy: .*keras.optimizers'),
        ('train', 'strategy.run'),
        ('r2d3', 'R2D3Agent .*MirroredStrategy'),
    ],
)
def test_what_several_devices_cannot_share_is_refused(call, of_what, words):
  assert re.search(words, call(_refusal, of_what) or 'nothing')
