# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starts binaries as a user does, and looks at what a run left."""

import os
import runpy
import subprocess
import sys
import tempfile

import gin
import numpy as np
import tensorflow as tf

from rnd_agents.evaluation import saved_policy
from rnd_agents.replay import demonstrations
from tests import command_lines
from tests import source_tree
from tests import tiny_runs
from train import collect_demos


def start(cwd, module, *argv):
  """Runs `python -m MODULE ARGV...`; returns a `CompletedProcess`."""
  environment = dict(
      os.environ, PYTHONPATH=str(source_tree.ROOT), TF_CPP_MIN_LOG_LEVEL='3'
  )
  return subprocess.run(
      [sys.executable, '-m', module, *argv],
      cwd=cwd,
      env=environment,
      capture_output=True,
      text=True,
      check=False,
      timeout=300,
  )


def run(cwd, module, *argv):
  """As `start`, but TensorFlow, which takes seconds, is imported already."""
  with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
    files = [f'/proc/{os.getpid()}/fd/{file.fileno()}' for file in (out, err)]
    process = tiny_runs.context().Process(
        target=run_module, args=(os.fspath(cwd), files, module, argv)
    )
    process.start()
    process.join(300)
    process.kill()  # If it hangs.
    process.join()
    said = [file.seek(0) or file.read().decode() for file in (out, err)]
  return subprocess.CompletedProcess(argv, process.exitcode, *said)


def run_module(cwd, files, module, argv):
  """Runs a module with its output in two files, in a process of its own."""
  for target, path in enumerate(files, start=1):
    with open(path, 'ab') as file:
      os.dup2(file.fileno(), target)
  os.chdir(cwd)
  sys.path.insert(0, cwd)
  sys.argv = [module, *argv]
  runpy.run_module(module, run_name='__main__', alter_sys=True)


def demonstrate(policy_dir, out, *flags):
  """Records two episodes of a run's policy; asserts that they are its own.

  Each action, and what the policy remembered, if that was recorded, is compared
  with the saved policy's on the recorded observations alone.

  Returns:
    The episodes.
  """
  gin.clear_config()  # As for a new process.
  assert command_lines.call(
      collect_demos, '--policy_dir', policy_dir, '--out', out, '--episodes=2',
      '--num_environments=1', *flags) == 0
  episodes = demonstrations.read_episodes(out)
  assert len(episodes) == 2
  policy = saved_policy.SavedPolicy(str(policy_dir))
  for episode in episodes:
    state = policy.get_initial_state(1)
    for t in range(len(episode.step_type) - 1):
      if episode.policy_info:
        for stored, part in zip(
            episode.policy_info['network_state'], tf.nest.flatten(state),
            strict=True,
        ):
          np.testing.assert_allclose(stored[t], part[0], atol=1e-6)
      step = policy.action(_time_step(policy, episode, t), state)
      assert step.action[0] == episode.action[t]
      state = step.state
  return episodes


def _time_step(policy, episode, t):
  """Frame t as a batch of one."""
  frame = (
      episode.step_type[t],
      np.float32(0.0 if t == 0 else episode.reward[t - 1]),
      np.float32(1.0 if t == 0 else episode.discount[t - 1]),
      tf.nest.map_structure(lambda x: x[t], episode.observation),
  )
  return tf.nest.map_structure(
      lambda x: tf.convert_to_tensor(x)[tf.newaxis],
      type(policy.time_step_spec)(*frame),
  )
