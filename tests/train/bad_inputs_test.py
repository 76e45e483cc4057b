# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings that cannot run end in one sentence before the first step."""

import os
import re
import shutil
import sys

from absl import flags
import gin
import gymnasium
import numpy as np
import pytest

from rnd_agents.training import run_directory
from tests.training import tiny_runs
from train import train_eval

_TINY = (
    'DEEP_SEA_SIZE = 4',
    'train_eval.num_env_steps = 200',
    'train_eval.num_environments = 4',
    'OnPolicyTraining.rollout_length = 8',
    'train_eval.warm_up_env_steps = 32',
    'train_eval.num_eval_episodes = 2',
    *tiny_runs.FAST,
    'create_networks.fc_layer_params = (4,)',
    'create_networks.value_fc_layer_params = (4,)',
    'create_rnd_networks.fc_layer_params = (4,)',
    'create_rnd_networks.target_fc_layer_params = (4,)',
    'create_rnd_networks.output_size = 2',
)


class _Environment(gymnasium.Env):
  """Three zeros, without an end."""

  observation_space = gymnasium.spaces.Box(-1, 1, (3,))
  action_space = gymnasium.spaces.Discrete(2)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    return np.zeros(3, np.float32), {}

  def step(self, action):
    return np.zeros(3, np.float32), 0.0, False, False, {}


class _TextEnvironment(_Environment):
  observation_space = gymnasium.spaces.Text(5)


class _SequenceEnvironment(_Environment):
  action_space = gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2))


@gin.configurable(module='bad_inputs_test')
class MyWrapper(gymnasium.ObservationWrapper):
  """Shows an observation twice, in a dict."""

  def __init__(self, env, size=2):
    super().__init__(env)
    del size  # Whatever a user has.
    space = env.observation_space
    self.observation_space = gymnasium.spaces.Dict(here=space, there=space)

  def observation(self, observation):
    return dict(here=observation, there=observation)


@gin.configurable(module='bad_inputs_test')
def text_environment():
  return _TextEnvironment()


@gin.configurable(module='bad_inputs_test')
def sequence_environment():
  return _SequenceEnvironment()


@gin.configurable(module='bad_inputs_test')
def no_environment():
  return 7


def _message(root_dir, *bindings, gin_files=('deep_sea',), seed=0):
  """What the binary says as it ends; None where it does its work."""
  values = flags.FLAGS
  if not values.is_parsed():
    values(['train_eval'])
  gin.clear_config()
  values.gin_file = list(gin_files)
  values.gin_bindings = [*_TINY, *bindings]
  values.root_dir = os.fspath(root_dir)
  values.seed = seed
  try:
    train_eval.main(['train_eval'])
  except SystemExit as end:
    return end.code
  return None


def _environment(name):
  return (
      f"load_environment.env = {name}",
      "load_environment.vectorization = 'sync'",
      'load_environment.env_kwargs = None',
  )


# Words of the message: names, types, files and references of gin.
_BAD_GIN = {
    'Xyzzy.a = 1': "matching 'Xyzzy'. In bindings string line 14 Xyzzy.a = 1",
    'train_eval.learning_rat = 1.0': (
        "Configurable 'train_eval' doesn't have a parameter named"
        " 'learning_rat'. In bindings string line 14"
    ),
    'train_eval.learning_rate = 1.0': (
        'create_r2d3_agent.learning_rate, create_rnd_ppo_agent.learning_rate?'
    ),
    'train_evel.num_env_steps = 1': 'Did you mean train_eval?',
    'train_eval.seed = = 1': 'parse value. Line 14: train_eval.seed = = 1',
    'train_eval.num_shards = (1': 'A bracket or a quotation mark is left open',
    "train_eval.num_shards = '''1": 'quotation mark is left open after line 13',
    f'train_eval.num_shards = {5000 * "("}1{5000 * ")"}': 'nested too deeply',
    'train_eval.num_env_steps = 1e400': 'must be finite, not inf',
    'train_eval.num_env_steps = 1e6': (
        'must be an integer, not 1000000.0. Write 1000000.'
    ),
    "OnPolicyTraining.rollout_length = 'a'": "must be an integer, not 'a'.",
    'OnPolicyTraining.rollout_length = None': 'must be an integer, not None.',
    "create_rnd_ppo_agent.learning_rate = 'fast'": 'must be a number',
    'RNDPPOAgent.normalize_rewards = 1': 'must be True or False, not 1.',
    'create_networks.fc_layer_params = 64': 'must be a list, such as (64, 64)',
    'train/load_environment.vectorization = True': (
        'must be a text in quotes, not True.'
    ),
    'create_rnd_ppo_agent.agent_class = @Nope': (
        "No configurable matching reference '@Nope'. In bindings string line 14"
    ),
    'DEEP_SEA_SZE = 10': (
        'DEEP_SEA_SZE has no effect: nothing refers to %DEEP_SEA_SZE. Did you'
        ' mean DEEP_SEA_SIZE?'
    ),
    'train_eval.num_shards = %A\nA = %B\nB = %A': (
        'A macro stands for itself: %A = %B = %A.'
    ),
    'OnPolicyTraining.rollout_length = %NOPE': '%NOPE is used and has no value',
    'import nope': "No module named 'nope'",
    'create_rnd.observation_fn = @newest_frame_observation_fn()': (
        ' calls @newest_frame_observation_fn() without its observation.'
        ' Write @newest_frame_observation_fn to give what is called later, or'
        ' bind newest_frame_observation_fn.observation.'
    ),
    'load_environment.reward_fn = @sign_of_reward()': (
        ' calls @sign_of_reward() without its reward. Write @sign_of_reward'
    ),
    'load_environment.wrappers = [@SomeEntries()]': (
        ' calls @SomeEntries() without its env and entries. Write @SomeEntries'
    ),
    'load_environment.wrappers = @SomeEntries': 'Write [@SomeEntries].',
    "train/load_environment.reward_fn = 'sign_of_reward'": (
        "must be a function (@name) or None, not 'sign_of_reward'. Write"
        ' @sign_of_reward.'
    ),
    'load_environment.env_kwargs = 3': 'must be a dict or None, not 3.',
    'load_environment.env = 3': 'must be a text in quotes or a function',
    "train_eval.stop_at_success_rate = '0.9'": 'must be a number or None',
    'train_eval.callbacks = @OnPolicyTraining()': 'must be a list',
    'train_eval.callbacks = [@OnPolicyTraining()]': 'each item: a Callback',
}
# What runs, agents, networks and environments refuse:
_BAD = {
    **dict.fromkeys(
        (
            'train_eval.num_environments = 0',
            'OnPolicyTraining.rollout_length = 0',
            'train_eval.num_eval_episodes = 0',
            'train_eval.num_checkpoints = 0',
            'OnPolicyTraining.num_devices = 0',
        ),
        '{name} must be above 0, got 0.',
    ),
    "create_rnd_ppo_agent.rnd_learning_rate = '1e-3'": (
        '{name} must be a number'
    ),
    'train_eval.num_env_steps = -1': '{name} must be above 0, got -1.',
    'create_rnd_ppo_agent.learning_rate = None': (
        '{name} must be a number'
    ),
    'create_rnd_ppo_agent.rnd_learning_rate = -1.0': (
        '{name} must be above 0, got -1.0.'
    ),
    'train_eval.warm_up_env_steps = -1': (
        '{name} must be at least 0 and less than num_env_steps, which include'
        ' it: got -1 and 200 with 4 environments.'
    ),
    'train_eval.warm_up_env_steps = 197': (
        '{name} must be at least 0 and less than num_env_steps, which include'
        ' it: got 197 and 200 with 4 environments.'
    ),
    'train_eval.warm_up_env_steps = 200': (
        '{name} must be at least 0 and less than num_env_steps, which include'
        ' it: got 200 and 200 with 4 environments.'
    ),
    'train_eval.environment_timeout_s = 0.0': (
        '{name} must be above 0, got 0.0.'
    ),
    'train_eval.stop_at_success_rate = 90': (
        '{name} must be between 0 and 1, got 90.'
    ),
    'create_rnd_ppo_agent.agent_class = 3': (
        '{name} must be RNDPPOAgent or a subclass, such as @RNDPPOAgent, not 3.'
    ),
    'train_eval.seed = 5': '{name} has no effect: use the flag --seed.',
    "train_eval.root_dir = 'x'": (
        '{name} has no effect: use the flag --root_dir.'
    ),
    'evaluation/load_environment.max_episode_steps = 5': (
        'evaluation/load_environment has no effect: the scopes are train/ and'
        ' eval/.'
    ),
    'eval/load_environment.num_environments = 3': (
        '{name} has no effect: use train_eval.num_environments and'
        ' num_eval_episodes.'
    ),
    'train_eval.num_shards = 3': (
        'train_eval.num_environments must be a multiple of num_shards, got 4'
        ' and 3.'
    ),
    'OnPolicyTraining.num_devices = 2': (
        '{name} = 2, and TensorFlow sees 1 CPU: lower it, or see to'
        ' CUDA_VISIBLE_DEVICES.'
    ),
    'train_eval.training = @OnPolicyTraining': (
        'not @OnPolicyTraining. Write @OnPolicyTraining().'
    ),
    'train_eval.training = @ReplayTraining()': (
        'PrioritizedReplay.max_sequences is missing: how many sequences to'
        ' keep, such as 10_000. docs/r2d3.md tells how much memory they take.'
    ),
    'train_eval.training = @TwoLevelTraining()': (
        'TwoLevelTraining.upper must be @OnPolicyTraining(), @ReplayTraining()'
        ' or @TwoLevelTraining(), with the brackets, not None.'
    ),
    'OnPolicyTraining.create_agent = @create_r2d3_agent': (
        'R2D3Agent cannot be trained by OnPolicyTraining: it has no'
        ' check_rollout. Set train_eval.training = @ReplayTraining().'
    ),
    'RNDPPOAgent.num_epoch = 1': (
        'RNDPPOAgent has no argument num_epoch. Did you mean num_epochs? It'
        " knows its own arguments and those of TF-Agents' PPOAgent."
    ),
    'RNDPPOAgent.num_epochs = 0': (
        'num_epochs must be an integer from 1, got 0.'
    ),
    'RNDPPOAgent.num_minibatches = 100': (
        '4 environments * 8 steps are 32 transitions, too few for'
        ' RNDPPOAgent.num_minibatches = 100: at least two a minibatch are'
        ' needed.'
    ),
    'RNDPPOAgent.predictor_proportion = 2.0': (
        'predictor_proportion must be above 0 and at most 1, got 2.0. To train'
        ' without RND set intrinsic_advantage_coefficient to 0.'
    ),
    'RNDPPOAgent.discount_factor = 1.5': (
        'discount_factor must be between 0 and 1, got 1.5.'
    ),
    "RNDPPOAgent.gradient_clipping = 'a'": (
        "gradient_clipping must be a number at least 0, got 'a'."
    ),
    'create_rnd.discount_factor = 1.5': (
        'RandomNetworkDistillation.discount_factor must be between 0 and 1, got'
        ' 1.5.'
    ),
    'create_rnd.observation_clip_value = -1.0': (
        'observation_clip_value must be above 0, got -1.0.'
    ),
    'create_networks.conv_layers = ((8, 3, 1),)': (
        '{name} are convolutions, and no observation is an image [height,'
        ' width, channels]: leave it out, or reshape the observation in a'
        ' wrapper.'
    ),
    'create_networks.fc_layer_params = (0,)': (
        '{name} must hold integers from 1, got 0.'
    ),
    'create_rnd_networks.conv_layers = ((8, 3),)': (
        '{name} must be a list (each item: a list of 3 (an integer, an integer,'
        ' an integer)) or None, not ((8, 3),).'
    ),
    'create_rnd_networks.conv_layers = ((8, 3, 0),)': (
        '{name} must hold triples (filters, kernel size, stride) of integers'
        ' from 1, got (8, 3, 0).'
    ),
    "create_networks.activation = 'tan'": "{name}: unknown Keras activation",
    "load_environment.vectorization = 'threads'": (
        "vectorization must be one of ('sync', 'async', 'vector_entry_point'),"
        " not 'threads'."
    ),
    'load_environment.max_episode_steps = 0': (
        'max_episode_steps must be None (the registered limit) or at least 1,'
        ' not 0.'
    ),
    **_BAD_GIN,
}


@pytest.mark.parametrize('binding', _BAD)
def test_a_bad_binding_is_explained(tmp_path, binding):
  message = _BAD[binding].replace('{name}', binding.partition(' = ')[0])
  said = _message(tmp_path / 'run', binding)
  assert said.startswith('train_eval: ') and message in said
  assert '\n' not in said
  assert not (tmp_path / 'run' / 'metrics.csv').exists()


@pytest.mark.parametrize(
    'name, message',
    [
        ('@text_environment', "'observation' is text only"),
        ('@sequence_environment', "'action' is a Sequence space"),
        ('@no_environment', 'no_environment must return a gymnasium.Env'),
        ("'ALE/MontezumasRevenge-v5'", ': ALE/MontezumaRevenge-v5'),
    ],
)
def test_a_bad_environment_is_explained(tmp_path, name, message):
  said = _message(tmp_path, *_environment(name))
  assert said.startswith('train_eval: ') and message in said
  assert '\n' not in said


def test_what_gymnasium_misses_is_explained(tmp_path, monkeypatch):
  monkeypatch.setitem(sys.modules, 'cv2', None)
  said = _message(tmp_path, *_environment("'ALE/Pong-v5'"))
  assert said.startswith('train_eval: opencv-python package not installed')
  assert said.endswith('. Here: pip install "rnd_agents[atari]".')


def test_an_agent_for_learners_is_refused(tmp_path):
  said = _message(
      tmp_path,
      'RNDPPOAgent.compute_value_and_advantage_in_train = False',
      'RNDPPOAgent.update_normalizers_in_train = False',
  )
  assert said == (
      'train_eval: Training on whole rollouts needs'
      ' RNDPPOAgent.compute_value_and_advantage_in_train = True.'
  )


def test_an_evaluation_environment_that_will_not_do(tmp_path):
  said = _message(tmp_path, "eval/load_environment.env_kwargs = {'size': 5}")
  assert said == (
      'train_eval: The evaluation environment is not like the one for training:'
      ' its observation is float32 [5, 5] and must be float32 [4, 4]. Change'
      ' the bindings of eval/load_environment.'
  )
  said = _message(
      tmp_path,
      "load_environment.env = 'CartPole-v1'",
      'load_environment.env_kwargs = None',
  )
  assert 'did not reset with a list of seeds' in said
  assert not (tmp_path / 'metrics.csv').exists()


def test_files_that_are_missing(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  assert _message('run', gin_files=['cartpol']).startswith(
      "train_eval: No gin file 'cartpol', here or among those of the package."
      ' Did you mean cartpole.gin'
  )
  (tmp_path / 'mine.gin').write_text("include 'nope.gin'\n")
  assert _message('run', gin_files=['mine.gin']).startswith(
      'train_eval: Unable to open file: nope.gin.'
  )
  # The bindings of `_message` have a macro.
  (tmp_path / 'empty.gin').write_text(
      'train_eval.num_checkpoints = %DEEP_SEA_SIZE'
  )
  assert _message('run', gin_files=['empty.gin']) == (
      'train_eval: load_environment.env has no value: bind it in the gin file.'
  )


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
  monkeypatch.setenv('HOME', os.fspath(tmp_path))
  (tmp_path / 'file').write_text('')
  assert _message('~/file').startswith(
      f'train_eval: --root_dir={tmp_path}/file cannot be written: '
  )


def test_folders_and_seeds_that_will_not_do(tmp_path):
  (tmp_path / 'file').write_text('')
  file = tmp_path / 'file'
  assert _message(file) == (
      f'train_eval: --root_dir={file} cannot be written: File exists. Choose'
      ' another folder.'
  )
  assert _message(tmp_path / 'run', seed=-1) == (
      'train_eval: seed must be an integer from 0, got -1.'
  )
  with run_directory.locked(tmp_path / 'run'):
    assert _message(tmp_path / 'run').startswith(
        f'train_eval: --root_dir={tmp_path / "run"} is in use by process'
        f' {os.getpid()} on '
    )


@pytest.fixture(name='trained', scope='module')
def _trained(tmp_path_factory):
  """Folder of a finished run."""
  folder = tmp_path_factory.mktemp('trained')
  assert _message(folder, *_TRAINED) is None
  return folder


_TRAINED = (
    "load_environment.vectorization = 'sync'",
    'load_environment.wrappers = [@MyWrapper]',
    'create_rnd.observation_fn = @key_observation_fn()',
    "key_observation_fn.key = 'here'",
)


def test_settings_that_a_resumed_run_cannot_change(tmp_path, trained):
  shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
  with open(tmp_path / 'metrics.csv', 'rb') as file:
    metrics = file.read()
  cannot = f'train_eval: The run in {tmp_path} cannot continue with other'
  size = "{'mapping_seed': 42, 'size': %d}"
  remedy = 'Set them back, or choose another --root_dir.'
  assert _message(
      tmp_path,
      *_TRAINED,
      'OnPolicyTraining.rollout_length = 9',
      'create_networks.fc_layer_params = (5,)',
      'DEEP_SEA_SIZE = 5',
      seed=3,
  ) == (
      f'{cannot} settings: --seed was 0 and is now 3;'
      ' OnPolicyTraining.rollout_length was 8 and is now 9;'
      ' create_networks.fc_layer_params was (4,) and is now (5,);'
      f' train/load_environment.env_kwargs was {size % 4} and is now'
      f' {size % 5}. {remedy}'
  )
  said = _message(
      tmp_path, *_TRAINED, 'create_rnd_ppo_agent.rnd_learning_rate = None'
  )
  assert 'is of other networks or another agent: agent/_rnd_optimizer' in said
  for checkpoint in (tmp_path / 'checkpoints').iterdir():
    (checkpoint / 'state.bin').write_bytes(b'')
  assert _message(tmp_path, *_TRAINED) == (
      f'train_eval: All 3 checkpoints in {tmp_path}/checkpoints are damaged, or'
      ' of another version of rnd_agents. Bring back a copy, or choose another'
      ' --root_dir.'
  )
  shutil.rmtree(tmp_path / 'checkpoints')
  assert _message(tmp_path, *_TRAINED) == (
      f'train_eval: {tmp_path} holds results and no checkpoint to continue'
      ' from. Move them away, or choose another --root_dir.'
  )
  with open(tmp_path / 'metrics.csv', 'rb') as file:
    assert metrics == file.read()


def test_changes_that_no_variable_shows_are_refused(trained):
  changes = {
      'MyWrapper.size': '3',
      'create_networks.activation': "'elu'",
      'key_observation_fn.key': "'there'",
  }
  bindings = [f'{name} = {value}' for name, value in changes.items()]
  said = _message(trained, *_TRAINED, *bindings)
  assert said.startswith(f'train_eval: The run in {trained} cannot continue')
  for name, value in changes.items():
    assert re.search(f'{name} was [^;]* and is now {value}', said), name
