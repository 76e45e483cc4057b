# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What every test relies on: no screen, no noise, no settings left behind."""

import gc
import os
import random
import sys

import numpy as np
import pytest

# Read by the libraries when they are first imported, which is after this.
os.environ.setdefault('MPLBACKEND', 'Agg')
os.environ.setdefault('SDL_VIDEODRIVER', 'dummy')
os.environ.setdefault('SDL_AUDIODRIVER', 'dummy')
os.environ.setdefault('PYGAME_HIDE_SUPPORT_PROMPT', '1')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
if 'PYTEST_XDIST_WORKER' in os.environ:  # The workers share the cores.
  os.environ.setdefault('TF_NUM_INTRAOP_THREADS', '1')
  os.environ.setdefault('TF_NUM_INTEROP_THREADS', '1')
  os.environ.setdefault('OMP_NUM_THREADS', '1')

# No test cuts the power, and a busy disk takes long.
os.fsync = lambda descriptor: None

# Before a test imports TF-Agents: it chooses the version of Keras.
import rnd_agents  # noqa: E402, F401

# What `make test-oldest` and `make test-newest` run: beginnings of the names of
# tests, chosen to touch everything that TensorFlow, Keras and NumPy do for the
# package in a quarter of the time.
_VERSIONS = (
    'compat_test.py',
    'agents/learning_test.py::test_trains_on_every_space_from_one_trace[mixed',
    'agents/optimizers_test.py',
    'agents/persistence_test.py::test_a_restored_agent',
    'agents/persistence_test.py::test_saved_policy_for_dicts',
    'agents/persistence_test.py::test_saved_policies_remember[R2D3-gru',
    'agents/persistence_test.py::test_saved_policies_remember[RND-PPO-lstm',
    'agents/r2d3_training_test.py::test_a_',
    'curiosity/random_network_distillation_test.py::test_a_checkpoint',
    'curiosity/random_network_distillation_test.py::test_training',
    'docs/tutorial_test.py',
    'environments/atari_test.py',
    'environments/families_test.py::test_one_update',
    'environments/vector_environment_test.py',
    'evaluation/video_test.py',
    'examples/classic_loop_test.py',
    'examples/curiosity_for_any_agent_test.py::test_dqn',
    'examples/ppo_learner_reverb_test.py',
    'networks/actor_critic_network_test.py',
    'networks/precision_test.py',
    'networks/q_network_test.py',
    'networks/recurrent_cores_test.py',
    'networks/resnet_test.py::test_is_figure_3',
    'ops/lstm_test.py',
    'replay/saved_replay_test.py::test_a_restored_replay',
    'serving/batched_policy_test.py',
    'train/collect_demos_test.py::test_cue_lock',
    'train/evaluate_test.py::test_video_of_the_best',
    'train/sweep_test.py::test_a_real_sweep',
    'train/train_eval_test.py::test_r2d2',
    'training/checkpoints_test.py',
    'training/digests_test.py::test_numbers_are_those_that_were_recorded[mountain_car]',
)


# What takes longest comes first: else one worker waits for it at the end. So do
# files whose tests share a run: else two workers may take a half of them each,
# and both make the run.
_LONGEST = (
    'experiment_test.py',
    'kill_test.py',
    'ray_workers_test.py',
    'recurrent_run_test.py',
    'remote_collector_test.py',
    'replay_run_test.py',
    'sweep_test.py',
    'two_level_test.py',
    'two_level_training_test.py',
)


def pytest_ignore_collect(collection_path, config):
  """Imports no file for `-m versions` that has none of these tests."""
  if config.option.markexpr == 'versions' and collection_path.is_file():
    name = collection_path.relative_to(os.path.dirname(__file__)).as_posix()
    if name not in {each.partition('::')[0] for each in _VERSIONS}:
      return True
  return None


def pytest_collection_modifyitems(items):
  """Marks the tests of `make test-oldest` and `-newest`; sorts the files."""
  items.sort(key=lambda item: item.path.name not in _LONGEST)
  for item in items:
    if item.nodeid.partition('tests/')[2].startswith(_VERSIONS):
      item.add_marker('versions')


_stacks = []


def _one_stack(stacklevel=1):
  del stacklevel
  return _stacks[0]


def _forget_stacks():
  """Lets nodes of a graph share one stack of Python, in place of each its own.

  TensorFlow walks the stack for every node that is traced, to say in errors
  where it was made: an eighth of the time of tests of agents.
  """
  tf_stack = sys.modules.get('tensorflow.python.util.tf_stack')
  if tf_stack is not None and tf_stack.extract_stack is not _one_stack:
    _stacks.append(tf_stack.extract_stack())
    tf_stack.extract_stack = _one_stack


def _optimize_graphs(is_on):
  tf = sys.modules.get('tensorflow')
  if tf is not None:
    tf.config.optimizer.set_experimental_options(
        {'disable_meta_optimizer': not is_on}
    )


def pytest_collection_finish():
  """Lets garbage collection pass over what was imported, and come less often.

  Graphs are many small objects: with Python's own thresholds the collector
  takes 6 % of the time of a tiny run.
  """
  gc.collect()
  gc.freeze()
  gc.set_threshold(10_000, 20, 10)


def pytest_unconfigure():
  """Spares the last collection of garbage, as programs do."""
  gc.freeze()


# Tests of agents and of whole runs. Formulas are tested in graphs as users run
# them, also those of whole updates (`optimized_graphs`).
_WITHOUT_GRAPPLER = (
    'agents', 'archive', 'benchmarks', 'collecting', 'docs', 'evaluation',
    'examples', 'hierarchy', 'train', 'training', 'workers',
)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
  """Runs graphs of tests of agents and of whole runs without Grappler.

  TensorFlow's optimizer of graphs takes a quarter of the time of a tiny run.
  Programs that tests start, and tests with `optimized_graphs`, run graphs as
  users do. A hook comes before the fixtures that several tests share.
  """
  _optimize_graphs(item.path.parent.name not in _WITHOUT_GRAPPLER)
  _forget_stacks()


@pytest.fixture
def optimized_graphs():
  """Runs graphs with Grappler, which may add in another order."""
  _optimize_graphs(True)


@pytest.fixture(autouse=True)
def _same_chance_every_time():
  """Seeds what draws without a seed, such as the weights of a network.

  So a test gives the same result alone, after others and on any worker.
  """
  # Not 0: tests themselves seed with it, and some watch that a state changes.
  seed = 20_181_030
  random.seed(seed)
  np.random.seed(seed)
  tf = sys.modules.get('tensorflow')
  if tf is not None:
    tf.random.set_seed(seed)


@pytest.fixture(autouse=True)
def _forget_what_was_said():
  """Lets each test see what the log says once a process, or now and then."""
  failures = sys.modules.get('rnd_agents.environments.failures')
  if failures is not None:
    failures._said.clear()
  absl_logging = sys.modules.get('absl.logging')
  if absl_logging is not None:  # log_first_n and log_every_n_seconds.
    absl_logging._log_counter_per_token.clear()
    absl_logging._log_timer_per_token.clear()


@pytest.fixture(autouse=True)
def _forget_gin_bindings():
  """Drops the bindings that a test made, so that the next starts clean."""
  yield
  gin = sys.modules.get('gin')
  if gin is not None:
    gin.clear_config()
