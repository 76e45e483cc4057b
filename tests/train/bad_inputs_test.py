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
import pytest

from rnd_agents import errors
from rnd_agents.training import gin_files
from rnd_agents.training import run_directory
from tests import environments_for_tests
from tests import tiny_runs
from train import train_eval


@gin.configurable(module='bad_inputs_test')
def text_environment():
  return environments_for_tests.Steps(
      observation_space=gymnasium.spaces.Text(5)
  )


@gin.configurable(module='bad_inputs_test')
def sequence_environment():
  return environments_for_tests.Steps(
      action_space=gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2))
  )


@gin.configurable(module='bad_inputs_test')
def no_environment():
  return 7


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


def _end(root_dir, *bindings, gin_files=('deep_sea',), seed=0):
  """Returns the error with which the binary ends; None if it does its work."""
  values = flags.FlagValues()
  train_eval.define_flags(values)
  values(['train_eval'])
  gin.clear_config()
  values.gin_file = list(gin_files)
  values.gin_bindings = [
      *tiny_runs.DEEP_SEA_SETTINGS, 'train_eval.num_env_steps = 200', *bindings
  ]
  values.root_dir = os.fspath(root_dir)
  values.seed = seed
  try:
    train_eval.main.__wrapped__(['train_eval'], values)
  except errors.UserError as error:
    return error
  return None


def _check(caught, error, words):
  """Asserts that the end is one sentence for an error of this class."""
  assert isinstance(caught, error), repr(caught)
  said = errors.message_of(caught)
  assert '\n' not in said
  assert re.search(words, said), said


_ENVIRONMENT = """
load_environment.vectorization = 'sync'
load_environment.env_kwargs = None"""
# Of each class bindings, and words of the message; {} is the name of the first
# one.
_TABLE = {
    errors.GinError: {
        'Xyzzy.a = 1': "matching 'Xyzzy'.* line 16 Xyzzy.a = 1",
        'train_eval.learning_rat = 1.0': "'train_eval' .* 'learning_rat'.*line",
        'train_eval.learning_rate = 1.0': 'create_rnd_ppo_agent.learning',
        'train_evel.num_env_steps = 1': 'mean train_eval',
        'train_eval.num_env_stpes = 1': 'mean num_env_steps',
        'train_eval.rollout_length = 1': (
            'mean OnPolicyTraining.rollout_length, ReplayTraining.rollout_leng'
        ),
        'train_eval.agent_class = 1': 'mean create_rnd_ppo_agent.agent_class',
        'create_rnd.observation_clip = 1': (
            'mean observation_clip_value, observation_fn'
        ),
        'train_eval.seed = = 1': 'Line 16: train_eval.seed = = 1',
        'train_eval.num_shards = (1': 'bracket .* open',
        "train_eval.num_shards = '''1": 'quotation mark .* open after line 15',
        f'train_eval.num_shards = {5000 * "("}1{5000 * ")"}': 'nested too deep',
        'train_eval.num_env_steps = 1e400': '{} .*finite, not inf',
        'train_eval.num_env_steps = 1e6': '{} .*integer.* Write 1000000',
        "OnPolicyTraining.rollout_length = 'a'": "{} .*integer, not 'a'",
        'OnPolicyTraining.rollout_length = None': '{} .*integer, not None',
        'create_rnd_ppo_agent.learning_rate = None': '{} .*number',
        'RNDPPOAgent.normalize_rewards = 1': '{} .*True or False, not 1',
        'create_networks.fc_layer_params = 64': '{} .*list',
        'train/load_environment.vectorization = True': '{} .*text.*not True',
        'create_rnd_ppo_agent.agent_class = @Nope': "'@Nope'.* line 16",
        'load_environment.wrappers = [@ActionRepeat]': (
            "^Ambiguous .*'rnd_agents.Acti.* line 16 .*: write one"
        ),
        'ActionRepeat.num_time_steps = 2': "Ambiguous .*'rnd_agents.ActionRep",
        'DEEP_SEA_SZE = 10': '{} has no effect.* mean DEEP_SEA_SIZE',
        'train_eval.num_shards = %A\nA = %B\nB = %A': '%A = %B = %A',
        'OnPolicyTraining.rollout_length = %NOPE': '%NOPE .*no value',
        'import nope': "'nope'",
        'create_rnd.observation_fn = @newest_frame_observation_fn()': (
            '{} calls .* without its observation. Write @newest.* or bind'
        ),
        'load_environment.reward_fn = @sign_of_reward()': (
            '{} calls .* without its reward. Write @sign_of_reward'
        ),
        'load_environment.wrappers = [@SomeEntries()]': (
            '{} calls .* without its env and entries. Write @SomeEntries'
        ),
        'load_environment.wrappers = @SomeEntries': r'Write \[@SomeEntries\]',
        "train/load_environment.reward_fn = 'sign_of_reward'": (
            '{} .*function.* Write @sign_of_reward'
        ),
        'load_environment.env_kwargs = 3': '{} .*dict or .*None, not 3',
        'load_environment.env = 3': '{} .*text in quotes or a function',
        "train_eval.stop_at_success_rate = '0.9'": '{} .*number or None',
        'train_eval.callbacks = @OnPolicyTraining()': '{} .*list',
        'train_eval.callbacks = [@OnPolicyTraining()]': '{} .*Callback',
        'train_eval.training = @OnPolicyTraining': 'Write @OnPolicyTraining..',
        'create_rnd_ppo_agent.agent_class = 3': '{} .*class.*not 3',
        "create_rnd_ppo_agent.learning_rate = 'fast'": '{} .*number',
        "create_rnd_ppo_agent.rnd_learning_rate = '1e-3'": '{} .*number',
        'RNDPPOAgent.discount_factor = True': '{} .*number, not True',
        'load_environment.reward_fn = @ladder_epsilon': (
            '{} calls .*env_steps, num_environments'
        ),
        'TwoLevelTraining.goals_fn = @OnPolicyTraining': '{} .*returns a Goals',
        'EntryGoals.entries = [(1.5,)]': '{} .*list',
    },
    errors.InvalidType: {
        'train_eval.training = @TwoLevelTraining()': 'upper must be .*not None',
        'RNDPPOAgent.num_epoch = 1': 'num_epoch.* mean num_epochs',
        "RNDPPOAgent.greedy_eval = 'False'": "{} .*True or False, got 'False'",
    },
    errors.RunError: {
        'create_networks.fc_layer_params = (1000000000000,)': '{} .*000.*lower',
        f'DEEP_SEA_SIZE = {10**30}': 'load_environment.env_kwargs .*lower',
    },
    errors.InvalidValue: {
        'train_eval.num_environments = 0': '{} .*integer from 1, got 0',
        'train_eval.num_environments = 10_000_000_000': '{} .*at most .*steps',
        'OnPolicyTraining.rollout_length = 0': '{} .*integer from 1, got 0',
        'OnPolicyTraining.rollout_length = 10_000_000_000': (
            '{} .*at most train_eval.num_env_steps = 200'
        ),
        'train_eval.num_eval_episodes = 0': '{} .*integer from 1, got 0',
        'train_eval.num_checkpoints = 0': '{} .*integer from 1, got 0',
        'OnPolicyTraining.num_devices = 0': '{} .*integer from 1, got 0',
        'train_eval.num_env_steps = -1': '{} .*integer from 1, got -1',
        'create_rnd_ppo_agent.rnd_learning_rate = -1.0': '{} .*above 0, got -1',
        'train_eval.warm_up_env_steps = -1': '{} .*got -1',
        'train_eval.environment_timeout_s = 0.0': '{} .*above 0, got 0.0',
        'train_eval.stop_at_success_rate = 90': '{} .*0 and 1, got 90',
        'LSTMCore.units = 7': '{} has no effect.* LSTMCore',
        'ReplayTraining.batch_size = 8': '{} has no effect',
        # In a scope that nobody uses.
        'x/LSTMCore.units = 2': '{} has no effect',
        'train_eval.seed = 5': '{} has no effect.*--seed',
        "train_eval.root_dir = 'x'": '{} has no effect.*--root_dir',
        'evaluation/load_environment.max_episode_steps = 5': (
            'evaluation/load_environment has no effect.*train/ and eval/'
        ),
        'eval/load_environment.num_environments = 3': (
            '{} has no effect.*num_environments and num_eval_episodes'
        ),
        'train_eval.num_shards = 3': 'multiple of num_shards, got 8 and 3',
        'OnPolicyTraining.num_devices = 2': '{} = 2, .* 1 CPU',
        'train_eval.training = @ReplayTraining()': (
            'PrioritizedReplay.max_sequences is missing'
        ),
        'OnPolicyTraining.create_agent = @create_r2d3_agent': (
            'R2D3Agent .*check_rollout.* Set train_eval.training'
        ),
        'RNDPPOAgent.num_epochs = 0': 'num_epochs .*integer from 1, got 0',
        'RNDPPOAgent.num_minibatches = 100': '128 transitions.* {} = 100',
        'RNDPPOAgent.predictor_proportion = 2.0': (
            'predictor_proportion .*got 2.0.* intrinsic_advantage_coefficient'
        ),
        'RNDPPOAgent.discount_factor = 1.5': 'discount_factor .*got 1.5',
        'create_rnd.discount_factor = 1.5': 'ation.discount_factor .*1.5',
        'create_rnd.observation_clip_value = -1.0': 'clip_value .*got -1.0',
        'create_networks.conv_layers = ((8, 3, 1),)': '{} .*no .* image',
        'create_networks.fc_layer_params = (0,)': '{} .*integers from 1, got 0',
        'create_rnd_networks.conv_layers = ((8, 3),)': '{} .*list.*8, 3',
        'create_rnd_networks.conv_layers = ((8, 3, 0),)': '{} .*triples',
        "create_networks.activation = 'tan'": "{}.* 'tan'",
        "create_encoder.conv_activation = 'tan'": "{}.* 'tan'",
        "RNDPPOAgent.name = 'my agent'": '{} .*underscores',
        'create_networks.num_values = 1_000_000': '{} .*from 1 to 100',
        "load_environment.vectorization = 'threads'": (
            "vectorization .*'async'.*not 'threads'"
        ),
        'load_environment.max_episode_steps = 0': 'max_episode_steps .*got 0',
        'load_environment.env = @text_environment' + _ENVIRONMENT: (
            "'observation' is text only.* wrapper"
        ),
        'load_environment.env = @sequence_environment' + _ENVIRONMENT: (
            "'action' is a Sequence.* wrapper"
        ),
        'load_environment.env = @no_environment' + _ENVIRONMENT: (
            'no_environment must return a gymnasium.Env.* int'
        ),
        "load_environment.env = 'ALE/MontezumasRevenge-v5'" + _ENVIRONMENT: (
            'ALE/MontezumasRevenge-v5.* ALE/MontezumaRevenge-v5'
        ),
        'RNDPPOAgent.compute_value_and_advantage_in_train = False'
        '\nRNDPPOAgent.update_normalizers_in_train = False': '{} = True',
        "eval/load_environment.env_kwargs = {'size': 5}": (
            r'observation is float32 \[5, 5\] .*\[4, 4\].*eval/load_environment'
        ),
        "load_environment.env = 'CartPole-v1'"
        '\nload_environment.env_kwargs = None': 'with a list of seeds',
    },
}


@pytest.mark.parametrize(
    ('bindings', 'error', 'words'),
    [
        (bindings, error, words)
        for error, cases in _TABLE.items()
        for bindings, words in cases.items()
    ],
)
def test_bad_bindings_are_explained(tmp_path, bindings, error, words):
  words = words.replace('{}', bindings.partition(' = ')[0])
  _check(_end(tmp_path / 'run', bindings), error, words)
  assert not (tmp_path / 'run' / 'metrics.csv').exists()


def test_what_gymnasium_misses_is_explained(tmp_path, monkeypatch):
  monkeypatch.setitem(sys.modules, 'cv2', None)
  _check(
      _end(tmp_path, f"load_environment.env = 'ALE/Pong-v5'{_ENVIRONMENT}"),
      errors.MissingPackage,
      r'opencv-python.* pip install "rnd_agents\[atari\]"',
  )


@pytest.mark.parametrize(
    ('text', 'name', 'words'),
    [
        (None, 'cartpol', "'cartpol'.* mean cartpole.gin"),
        # The bindings of `_end` have a macro.
        ('train_eval.num_checkpoints = %DEEP_SEA_SIZE', 'mine.gin',
         'load_environment.env has no value'),
    ],
)
def test_files_that_are_missing(tmp_path, monkeypatch, text, name, words):
  monkeypatch.chdir(tmp_path)
  if text is not None:
    (tmp_path / name).write_text(text)
  _check(_end('run', gin_files=[name]), errors.UserError, words)


def test_the_sentence_names_the_program(capsys):
  values = flags.FlagValues()
  train_eval.define_flags(values)
  values(['train_eval', '--gin_file=nowhere.gin'])
  assert train_eval.main(['train_eval'], values) == 1
  said = capsys.readouterr().err.splitlines()[-1]
  assert re.match("train_eval: .*'nowhere.gin'", said), said


def test_a_gin_file_that_is_a_folder(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'mine').mkdir()
  for name in ('mine', './mine/', os.fspath(tmp_path)):
    _check(
        _end('run', gin_files=[name]),
        errors.MissingFile,
        f"'{name}' is a folder: name a gin file",
    )
  # A shipped file of that name is found nevertheless.
  (tmp_path / 'deep_sea').mkdir()
  assert gin_files.find('deep_sea').endswith('deep_sea.gin')


def test_folders_and_seeds_that_will_not_do(tmp_path, monkeypatch):
  monkeypatch.setenv('HOME', os.fspath(tmp_path))
  file = tmp_path / 'file'
  file.write_text('')
  refused = f'--root_dir={file} cannot be written: File exists'
  for root_dir in (file, '~/file'):
    _check(_end(root_dir), errors.SetupError, refused)
  _check(_end(tmp_path / 'run', seed=-1), errors.InvalidValue, 'seed .*got -1')
  monkeypatch.setattr(run_directory, '_LOCK_WAIT_S', 0.0)
  with run_directory.locked(tmp_path / 'run'):
    _check(
        _end(tmp_path / 'run'),
        errors.SetupError,
        f'--root_dir={tmp_path / "run"} .*in use .*process {os.getpid()} ',
    )


@pytest.fixture(name='trained', scope='module')
def _trained(tmp_path_factory):
  """Folder of a finished run."""
  folder = tmp_path_factory.mktemp('trained')
  assert _end(folder, *_TRAINED) is None
  return folder


_TRAINED = (
    "load_environment.vectorization = 'sync'",
    'load_environment.wrappers = [@MyWrapper]',
    'create_rnd.observation_fn = @key_observation_fn()',
    "key_observation_fn.key = 'here'",
)


def test_settings_that_a_resumed_run_cannot_change(tmp_path, trained):
  shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
  metrics = (tmp_path / 'metrics.csv').read_bytes()
  _check(
      _end(
          tmp_path,
          *_TRAINED,
          'OnPolicyTraining.rollout_length = 9',
          'create_networks.fc_layer_params = (5,)',
          'DEEP_SEA_SIZE = 5',
          seed=3,
      ),
      errors.SetupError,
      f'{tmp_path} .*: --seed was 0 and is now 3;'
      ' OnPolicyTraining.rollout_length was 16 and is now 9;'
      r' create_networks.fc_layer_params was \(8,\) and is now \(5,\);'
      " train/load_environment.env_kwargs was .*'size': 4} and is now"
      " .*'size': 5}. .*--root_dir",
  )
  _check(
      _end(
          tmp_path, *_TRAINED, 'create_rnd_ppo_agent.rnd_learning_rate = None'
      ),
      errors.SetupError,
      'other networks.*agent/_rnd_optimizer',
  )
  for checkpoint in tmp_path.glob('checkpoints/iteration_*'):
    (checkpoint / 'state.bin').write_bytes(b'')
  _check(
      _end(tmp_path, *_TRAINED),
      errors.SetupError,
      f'All . checkpoints in {tmp_path}/checkpoints .*damaged.*--root_dir',
  )
  shutil.rmtree(tmp_path / 'checkpoints')
  end = _end(tmp_path, *_TRAINED)
  _check(end, errors.SetupError, f'{tmp_path} .*no checkpoint')
  assert (tmp_path / 'metrics.csv').read_bytes() == metrics


def test_changes_that_no_variable_shows_are_refused(trained):
  changes = {
      'MyWrapper.size': '3',
      'create_networks.activation': "'elu'",
      'key_observation_fn.key': "'there'",
  }
  bindings = [f'{name} = {value}' for name, value in changes.items()]
  end = _end(trained, *_TRAINED, *bindings)
  for name, value in changes.items():
    words = f'{trained} .*{name} was [^;]* and is now {value}'
    _check(end, errors.SetupError, words)
