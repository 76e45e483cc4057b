# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small runs, and what lies in their folders."""

import collections
import contextlib
import csv
import dataclasses
import gc
import multiprocessing
from multiprocessing import forkserver
import os
import re
from unittest import mock
import weakref

import gin
import numpy as np
import tensorflow as tf
from tf_agents.environments import py_environment

from rnd_agents import agents
from rnd_agents.ops import lstm
from rnd_agents.replay import sequence_table
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import loops
from rnd_agents.training import pictures
from rnd_agents.training import training
from tests import source_tree

# As in conftest.py, for the processes of `context`.
tf.config.optimizer.set_experimental_options({'disable_meta_optimizer': True})

# What most tests do not look at, and what takes long.
FAST = ('train_eval.record_video = False', 'train_eval.save_policies = False')
NETWORKS = (
    'create_rnd_ppo_agent.learning_rate = 1e-2',
    'create_networks.fc_layer_params = (8,)',
    'create_networks.value_fc_layer_params = (8,)',
    'create_rnd_networks.fc_layer_params = (8, 8)',
    'create_rnd_networks.target_fc_layer_params = (8,)',
    'create_rnd_networks.output_size = 4',
)
# CartPole, 64 environment steps an iteration, networks of 8 units.
SETTINGS = (
    *FAST,
    *NETWORKS,
    "load_environment.env = 'CartPole-v1'",
    'train_eval.num_environments = 4',
    'OnPolicyTraining.rollout_length = 16',
    'train_eval.warm_up_env_steps = 64',
    'train_eval.num_eval_episodes = 2',
    'train_eval.eval_interval_env_steps = 640',
    'RNDPPOAgent.num_epochs = 2',
    'RNDPPOAgent.num_minibatches = 2',
    'RNDPPOAgent.normalize_observations = True',
    'RNDPPOAgent.normalize_rewards = True',
)

# PPO alone is traced in less time: for tests of what is around the agent.
PPO_SETTINGS = (
    *SETTINGS,
    'RNDPPOAgent.intrinsic_advantage_coefficient = 0.0',
    'eval/load_environment.max_episode_steps = 50',
)

# Nothing is trained, 20 environment steps an iteration: for tests of what is
# around training.
COUNTING_SETTINGS = (
    *[x for x in PPO_SETTINGS if not x.startswith('OnPolicyTraining')],
    'train_eval.training = @CountingTraining()',
    'train_eval.warm_up_env_steps = 0',
)

# Deep Sea of four rows, a gin file that ships; four steps an episode.
DEEP_SEA_SETTINGS = (
    *FAST,
    *NETWORKS,
    'DEEP_SEA_SIZE = 4',
    'train_eval.num_environments = 8',
    'OnPolicyTraining.rollout_length = 16',
    'train_eval.warm_up_env_steps = 64',
    'train_eval.num_eval_episodes = 3',
    'train_eval.eval_interval_env_steps = 256',
)

# Recall with two blanks, four steps an episode; the replay is soon full.
R2D3_SETTINGS = (
    *FAST,
    'train_eval.training = @ReplayTraining()',
    'load_environment.env = @Recall',
    'Recall.delay_env_steps = 2',
    'train_eval.num_environments = 4',
    'train_eval.warm_up_env_steps = 64',
    'train_eval.num_eval_episodes = 2',
    'train_eval.eval_interval_env_steps = 320',
    'ReplayTraining.rollout_length = 10',
    'ReplayTraining.unroll_length = 3',
    'ReplayTraining.burn_in_length = 1',
    'ReplayTraining.batch_size = 4',
    'ReplayTraining.env_steps_per_update = 8',
    'create_r2d3_agent.learning_rate = 1e-2',
    'create_q_networks.core = @LSTMCore()',
    'create_q_networks.fc_layer_params = (6,)',
    'create_q_networks.head_units = 6',
    'LSTMCore.units = 5',
    'R2D3Agent.n_step = 2',
    'PrioritizedReplay.max_sequences = 50',
    'PrioritizedReplay.min_sequences = 4',
)

# With two environments and a margin for demonstrations.
DEMO_SETTINGS = (
    *R2D3_SETTINGS,
    'train_eval.num_environments = 2',
    'train_eval.warm_up_env_steps = 16',
    'train_eval.eval_interval_env_steps = 40',
    'ReplayTraining.env_steps_per_update = 4',
    'R2D3Agent.margin_weight = 1.0',
    'PrioritizedReplay.max_sequences = 30',
)

# SAC, TD3 or DQN, without an agent and an environment; seven steps an episode.
OFF_POLICY_SETTINGS = (
    *FAST,
    'train_eval.training = @ReplayTraining()',
    'train_eval.num_environments = 2',
    'train_eval.warm_up_env_steps = 16',
    'train_eval.num_eval_episodes = 2',
    'train_eval.eval_interval_env_steps = 20',
    'load_environment.max_episode_steps = 7',
    'ReplayTraining.create_agent = @create_curious_agent',
    'ReplayTraining.rollout_length = 5',
    'ReplayTraining.batch_size = 4',
    'ReplayTraining.env_steps_per_update = 3',
    'PrioritizedReplay.max_sequences = 30',
)

# What runs of two levels and more have in common.
LEVELS = (
    *FAST,
    'create_rnd_ppo_agent.learning_rate = 1e-2',
    'create_networks.fc_layer_params = (8,)',
    'create_networks.value_fc_layer_params = (8,)',
    'create_q_networks.fc_layer_params = (6,)',
    'create_q_networks.head_units = 6',
    "load_environment.env = 'rnd_agents/StochasticChain-v0'",
    'train_eval.num_environments = 4',
    'train_eval.warm_up_env_steps = 40',
    'train_eval.num_eval_episodes = 2',
    'train_eval.eval_interval_env_steps = 640',
    'train_eval.num_checkpoints = 20',
    'train_eval.training = @TwoLevelTraining()',
    'PrioritizedReplay.max_sequences = 200',
    'PrioritizedReplay.min_sequences = 4',
    'ReplayTraining.unroll_length = 2',
    'ReplayTraining.batch_size = 4',
    'R2D3Agent.n_step = 2',
    'R2D3Agent.discount_factor = 0.99',
    'RNDPPOAgent.discount_factor = 0.99',
    'RNDPPOAgent.num_epochs = 1',
    'RNDPPOAgent.num_minibatches = 2',
    'RNDPPOAgent.normalize_observations = True',
    'RNDPPOAgent.intrinsic_advantage_coefficient = 0.0',
)
# A goal policy with a memory off-policy, curious by the episode, over PPO.
TWO_LEVELS = (
    *LEVELS,
    'TwoLevelTraining.upper = @upper/ReplayTraining()',
    'TwoLevelTraining.lower = @lower/OnPolicyTraining()',
    'TwoLevelTraining.goal_length = 7',
    'lower/OnPolicyTraining.rollout_length = 8',
    'upper/ReplayTraining.rollout_length = 16',
    'upper/ReplayTraining.collect_length = 4',
    'upper/ReplayTraining.env_steps_per_update = 12',
    'upper/ReplayTraining.epsilon_fn = @linear_epsilon',
    'upper/linear_epsilon.num_env_steps = 300',
    'upper/create_r2d3_agent.curiosity_fn = @create_novel_d',
    'upper/create_q_networks.core = @GRUCore()',
    'GRUCore.units = 5',
    'create_rnd_networks.fc_layer_params = (6,)',
    'create_rnd_networks.target_fc_layer_params = (6,)',
)


def without_memory(settings):
  """Settings of R2D3 without its memory, which takes 40 % of a run's time."""
  memory = re.compile(r'.*create_q_networks\.core|LSTMCore|GRUCore|.*burn_in')
  rest = [line for line in settings if not memory.match(line)]
  return *rest, 'ReplayTraining.burn_in_length = 0'


# Without memory and curiosity, which take half of its time.
PLAIN_LEVELS = tuple(
    line
    for line in without_memory(TWO_LEVELS)
    if 'curiosity' not in line and 'create_rnd_networks' not in line
)


class _RowCounter(loops.Learner):
  """Learns nothing; its metric is how many rows it has got in all starts."""

  def __init__(self):
    self._num_rows = 0

  def add(self, trajectory, is_new):
    self._num_rows += int(np.sum(is_new))

  def train(self, num_env_steps):
    pass

  def metrics(self):
    return dict(num_rows=self._num_rows)

  def finite(self):
    return {}

  def get_state(self):
    return self._num_rows

  def set_state(self, state, continues_episodes):
    self._num_rows = state


@gin.configurable(module='tiny_runs')
@dataclasses.dataclass(frozen=True)
class CountingTraining(training.Training):
  """The least that a way of training has to have."""

  rollout_length: int = 5

  def build_agent(self, specs, num_environments):
    return agents.create_rnd_ppo_agent(specs.time_step, specs.action)

  def build_learner(self, run, agent, name=''):
    return _RowCounter()


def parse(num_env_steps, *bindings, settings=SETTINGS, files=()):
  """Gives gin settings and bindings."""
  gin.clear_config()
  length = f'train_eval.num_env_steps = {num_env_steps}'
  gin_files.parse(files, (*settings, length, *bindings))


def train(
    root_dir,
    num_env_steps,
    *bindings,
    settings=SETTINGS,
    files=(),
    seed=5,
    make_shards=None,
    draws_curve=False,
    **more,
):
  """Trains with settings and bindings; returns an `Outcome`.

  Without the learning curve, which takes a tenth of the time of such a run.
  """
  parse(num_env_steps, *bindings, settings=settings, files=files)
  with contextlib.ExitStack() as stack:
    if not draws_curve:
      nothing = mock.patch.object(pictures, 'draw_curve', lambda run: None)
      stack.enter_context(nothing)
    return experiment.train_eval(
        os.fspath(root_dir), make_shards, seed=seed, **more
    )


def _trace_lstm():
  """Traces the function of `ops.lstm`, which is one for all networks."""
  ones, no = tf.ones([1, 1]), tf.zeros([1, 1, 1], tf.bool)
  weights = lstm.Weights(tf.ones([1, 4]), tf.ones([1, 4]), tf.ones([4]))
  with tf.GradientTape() as tape:
    tape.watch(weights)
    outputs, _ = lstm.unroll(
        tf.ones([1, 1, 1]), weights, lstm.State(ones, ones), no, no
    )
  tape.gradient(outputs, weights)


@contextlib.contextmanager
def left_behind():
  """Gives a list of the graphs and environments that its block leaves alive."""
  # What TensorFlow, Keras and `ops.lstm` keep is among those before.
  tf.compat.v1.get_default_graph()
  tf.keras.Input([])
  tf.function(_trace_lstm)()
  left, kinds = [], (tf.Graph, py_environment.PyEnvironment)
  gc.collect()
  gc.freeze()  # What is there is not among `gc.get_objects`.
  yield left
  gc.collect()
  found = collections.Counter(map(type, gc.get_objects()))
  for kind, number in found.items():
    left += [kind.__name__] * number * issubclass(kind, kinds)


@contextlib.contextmanager
def replay_tables():
  """Gives weak references to the tables created in its block.

  Python collects no garbage in it.
  """
  tables, create = [], sequence_table.SequenceTable.__init__

  def creating(table, *args, **kwargs):
    create(table, *args, **kwargs)
    tables.append(weakref.ref(table))

  gc.disable()
  try:
    with mock.patch.object(sequence_table.SequenceTable, '__init__', creating):
      yield tables
  finally:
    gc.enable()


class Killed(BaseException):
  """Ends a run as a kill does: nothing of it goes on."""


def prepare(*args, **kwargs):
  """As `train`, but the run is killed before it traces its update.

  It has taken its random steps, or restored its state, and saved.
  """

  def iterations(loop):
    raise Killed
    yield  # A generator is called before the random steps, and run after them.

  with mock.patch.object(loops.Loop, 'iterations', iterations):
    with contextlib.suppress(Killed):
      train(*args, **kwargs)


def context():
  """Starts each process as a copy of one that has TensorFlow imported."""
  processes = multiprocessing.get_context('forkserver')
  processes.set_forkserver_preload(['tests.tiny_runs'])
  folder = os.getcwd()
  os.chdir(source_tree.ROOT)  # Where it finds what to import.
  try:
    forkserver.ensure_running()
  finally:
    os.chdir(folder)
  return processes


def rows(root_dir, phase):
  """Rows of metrics.csv of a phase, dicts."""
  path = os.path.join(root_dir, 'metrics.csv')
  with open(path, newline='', encoding='utf-8') as file:
    return [row for row in csv.DictReader(file) if row['phase'] == phase]


def assert_close(rows_, expected):
  """Asserts that rows of metrics are equal but for sums in another order."""
  for row, other in zip(rows_, expected, strict=True):
    assert row.keys() == other.keys()
    for name in row.keys() - {'phase'}:
      if row[name] or other[name]:
        np.testing.assert_allclose(
            float(row[name]), float(other[name]), 1e-4, 1e-5, err_msg=name
        )


def iterations(root_dir):
  """(iteration of the newest checkpoint, of the newest row); -1 for none."""
  folder = os.path.join(root_dir, 'checkpoints')
  names = os.listdir(folder) if os.path.isdir(folder) else []
  # Others are being replaced, or being written.
  found = [re.fullmatch(r'iteration_(\d+)', name) for name in names]
  saved = [int(match[1]) for match in found if match]
  seen = []
  path = os.path.join(root_dir, 'metrics.csv')
  if os.path.exists(path):
    with open(path, newline='', encoding='utf-8') as file:
      seen = [
          int(row['iteration'])
          for row in csv.DictReader(file)
          if None not in row.values() and row['iteration'].isdigit()
      ]
  return max(saved, default=-1), max(seen, default=-1)


def checkpoint(root_dir):
  """(iteration, {name: array}) of the newest checkpoint."""
  iteration, _ = iterations(root_dir)
  reader = tf.train.load_checkpoint(
      os.path.join(
          root_dir, 'checkpoints', f'iteration_{iteration:08d}', 'variables'
      )
  )
  return iteration, {
      name: reader.get_tensor(name)
      for name in reader.get_variable_to_shape_map()
      if name.endswith('VARIABLE_VALUE') and 'wall_time_s' not in name
  }


def assert_same_run(root_dir, other):
  """Asserts that two runs have the same metrics and the same variables."""
  contents = []
  for folder in (root_dir, other):
    with open(os.path.join(folder, 'metrics.csv'), 'rb') as file:
      contents.append(file.read())
  assert contents[0] == contents[1]
  assert_same_variables(root_dir, other)


def assert_same_variables(root_dir, other):
  """Asserts that the newest checkpoints of two runs are equal."""
  (iteration, variables), (expected_iteration, expected) = (
      checkpoint(folder) for folder in (root_dir, other)
  )
  assert iteration == expected_iteration
  assert variables.keys() == expected.keys()
  for name, value in expected.items():
    np.testing.assert_array_equal(variables[name], value, err_msg=name)
