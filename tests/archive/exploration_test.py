# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of an archive exploration as a run, and of what it leaves."""

import io
import os
import shutil
import signal

import gin
import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import curiosity
from rnd_agents import errors
from rnd_agents import plain_data
from rnd_agents import run_files
from rnd_agents.archive import archive_novelty
from rnd_agents.archive import exploration
from rnd_agents.collecting import local
from rnd_agents.environments import loaders
from rnd_agents.replay import demonstrations
from rnd_agents.training import checkpoints
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import loops
from tests import command_lines
from tests import tiny_runs
from tests.archive import toys
from tests.environments import parallel_agents_test
from train import explore

_DEEP_SEA = (
    'DEEP_SEA_SIZE = 7',
    'explore.steps_per_visit = 7',
    'explore.num_environments = 2',
    'explore.log_interval_env_steps = 50',
)
_DRIFT = (
    'load_environment.env = @Drift',
    'load_environment.max_episode_steps = 30',
    'explore.num_env_steps = 600',
    'explore.num_environments = 2',
    'explore.steps_per_visit = 10',
    'explore.log_interval_env_steps = 100',
)

gin.external_configurable(toys.Drift, module='exploration_test')
gin.external_configurable(toys.Restless, module='exploration_test')
gin.external_configurable(
    parallel_agents_test.Relay, module='exploration_test'
)


@gin.configurable(module='exploration_test')
class Skipping(toys.Drift):
  """As an Atari game of four frames a step."""

  frame_skip = 4


@gin.configurable(module='exploration_test')
def failing_key(observation, env):
  return env.nothing


def _explore(root_dir, *bindings, files=()):
  gin.clear_config()
  gin_files.parse(files, bindings)
  return exploration.explore(os.fspath(root_dir), seed=1)


def _saved(root_dir):
  """State in the one checkpoint."""
  (path,) = root_dir.glob('checkpoints/iteration_*/state.bin')
  with open(path, 'rb') as file:
    return plain_data.load(file)


def _state(root_dir):
  return _saved(root_dir)['explorer']


def _archive(root_dir):
  return _state(root_dir)['archive']


def test_deep_sea_from_the_gin_file_to_r2d3(tmp_path):
  result = _explore(tmp_path, *_DEEP_SEA, files=['explore_deep_sea.gin'])
  assert result.finished and result.num_demonstrations == 1
  assert result.best_score == pytest.approx(0.99, abs=1e-12)
  assert result.best_length == 7
  rows = run_files.read_rows(tmp_path)
  assert rows[-1].env_steps == result.env_steps < 50_000
  assert rows[-1].values['cells'] == result.num_cells
  assert rows[-1].values['solved_worlds'] == 1
  assert run_files.read_status(tmp_path)['state'] == 'finished'
  for name in ('archive.png', 'archive_map.png'):
    assert os.path.getsize(tmp_path / name) > 5_000

  # As a training reads it that was never told of the archive.
  gin.clear_config()
  gin_files.parse(
      ['deep_sea_r2d3.gin'],
      [
          "load_environment.env_kwargs = {'size': 7, 'mapping_seed': 42}",
          f"ReplayTraining.demonstrations = '{result.demonstrations}'",
      ],
  )
  with gin.config_scope('train'):
    environment = loaders.load_environment(num_environments=1, seed=None)
  training = experiment.Experiment('').training
  (episode,) = training.read_demonstrations(local.specs_of(environment))
  environment.close()
  assert episode.reward.sum() == pytest.approx(0.99, abs=1e-6)
  np.testing.assert_array_equal(episode.step_type, [0, 1, 1, 1, 1, 1, 1, 2])
  np.testing.assert_array_equal(episode.discount, [1, 1, 1, 1, 1, 1, 0, 1])
  np.testing.assert_array_equal(
      episode.observation[:7].reshape(7, -1).argmax(1), np.arange(7) * 8
  )


def _bytes(state):
  file = io.BytesIO()
  plain_data.dump(state, file)
  return file.getvalue()


def _assert_same(root_dir, other):
  """Asserts that two explorations have left the same."""
  assert _bytes(_state(root_dir)) == _bytes(_state(other))
  for name in ('metrics.csv', 'demonstrations.tfrecord'):
    assert (root_dir / name).read_bytes() == (other / name).read_bytes()


def _interrupt_save(monkeypatch, number, interrupt):
  """Calls `interrupt` in place of the save with a number; others save."""
  save, saves = checkpoints.Checkpoints.save, []

  def saving(self, *args):
    saves.append(args)
    if len(saves) == number:
      interrupt(lambda: save(self, *args))
    else:
      save(self, *args)

  monkeypatch.setattr(checkpoints.Checkpoints, 'save', saving)


def _kill(save):
  raise tiny_runs.Killed


def _terminate(save):
  save()
  os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture(name='whole', scope='module')
def _whole(tmp_path_factory):
  """(folder, `Outcome`) of an exploration that was left alone."""
  folder = tmp_path_factory.mktemp('whole')
  return folder, _explore(folder, *_DRIFT)


def test_a_kill_within_the_first_interval_begins_anew(
    tmp_path, monkeypatch, whole
):
  with monkeypatch.context() as context, pytest.raises(tiny_runs.Killed):
    _interrupt_save(context, 2, _kill)  # The first one is of iteration 0.
    _explore(tmp_path, *_DRIFT)
  assert len(run_files.read_rows(tmp_path)) > 1
  assert _explore(tmp_path, *_DRIFT).finished
  _assert_same(tmp_path, whole[0])


@pytest.mark.parametrize('by', ['kill', 'SIGTERM'])
def test_interrupted_is_bit_for_bit_uninterrupted(
    tmp_path, monkeypatch, by, whole
):
  folder, outcome = whole
  bindings = *_DRIFT, 'explore.save_interval_s = 0.0'
  with monkeypatch.context() as context:
    if by == 'kill':  # What was done since the last save is lost.
      _interrupt_save(context, 5, _kill)
      with pytest.raises(tiny_runs.Killed):
        _explore(tmp_path, *bindings)
    else:
      _interrupt_save(context, 4, _terminate)
      stopped = _explore(tmp_path, *bindings)
      assert not stopped.finished and stopped.env_steps < 600
      assert stopped.demonstrations is None
      status = run_files.read_status(tmp_path)
      assert (status['state'], status['message']) == ('stopped', 'SIGTERM')
  resumed = _explore(tmp_path, *_DRIFT)
  assert resumed.finished and resumed.env_steps == outcome.env_steps >= 600
  _assert_same(tmp_path, folder)


def test_a_checkpoint_of_less_than_0_steps_is_refused(tmp_path):
  _explore(tmp_path, *_DRIFT)
  counters = loops.Counters()
  counters.add(env_steps=-(10**12))
  folder = os.fspath(tmp_path / 'checkpoints')
  written = checkpoints.Checkpoints(folder, 1, counters=counters)
  written.save(10**6, _saved(tmp_path))
  written.wait()
  with pytest.raises(errors.SetupError, match='less than 0 steps'):
    _explore(tmp_path, *_DRIFT)


@pytest.mark.parametrize('counts_unfinished', [False, True])
def test_demonstrations_of_many_worlds(tmp_path, counts_unfinished):
  result = _explore(
      tmp_path,
      *_DRIFT,
      'explore.num_worlds = 3',
      'explore.world_seeds = [4, 5, 6]',
      f'explore.counts_unfinished = {counts_unfinished}',
  )
  assert result.num_demonstrations == 3
  archive = _archive(tmp_path)
  episodes = demonstrations.read_episodes(result.demonstrations)
  (env,) = toys.singles(toys.Drift, 1, max_episode_steps=30)
  for world, episode in enumerate(episodes):
    cell = archive['best'][world]
    assert len(episode.reward) == archive['length'][cell] + 1
    np.testing.assert_allclose(
        episode.reward.astype(np.float64).sum(), archive['score'][cell],
        rtol=1e-5,
    )
    observation, _ = env.reset(seed=4 + world)
    for t, action in enumerate(episode.action[:-1]):
      np.testing.assert_array_equal(
          episode.observation[t], observation.astype(np.float32)
      )
      observation, reward, terminated, truncated, _ = env.step(action + 2)
      assert episode.reward[t] == np.float32(reward)
      assert episode.discount[t] == 1.0 - terminated
    # An episode that has not ended is cut as a time limit cuts it.
    assert episode.step_type[-1] == ts.StepType.LAST
    assert (terminated or truncated) or counts_unfinished


def test_frames_are_those_of_repeated_actions_too(tmp_path):
  bindings = [
      x.replace('@Drift', '@exploration_test.Skipping') for x in _DRIFT
  ]
  _explore(tmp_path, *bindings, 'load_environment.action_repeat = 3')
  rows = tiny_runs.rows(tmp_path, 'train')
  assert len(rows) > 1
  for row in rows:
    assert int(row['frames']) == 4 * 3 * int(row['env_steps'])


def test_an_environment_that_is_bound_for_training_alone(tmp_path):
  bindings = [each.replace('load_env', 'train/load_env') for each in _DRIFT]
  assert _explore(tmp_path, *bindings, 'explore.num_env_steps = 50').finished


def doubled_with_inner_statistics(env):
  """A wrapper of rewards that keeps the returns of the inner environment."""
  inner = gymnasium.wrappers.RecordEpisodeStatistics(env)
  return gymnasium.wrappers.TransformReward(inner, lambda reward: 2 * reward)


gin.external_configurable(
    doubled_with_inner_statistics, module='exploration_test'
)


def test_scores_are_rewards_of_all_wrappers(tmp_path, whole):
  _, plain = whole
  wrapped = _explore(
      tmp_path,
      *_DRIFT,
      'load_environment.wrappers = [@doubled_with_inner_statistics]',
  )
  assert wrapped.num_demonstrations == 1
  assert wrapped.best_score == pytest.approx(2 * plain.best_score)
  (episode,) = demonstrations.read_episodes(wrapped.demonstrations)
  assert episode.reward.sum() == pytest.approx(wrapped.best_score, rel=1e-5)


def without_rewards(env):
  """A wrapper that pays nothing."""
  return gymnasium.wrappers.TransformReward(env, lambda reward: 0.0)


gin.external_configurable(without_rewards, module='exploration_test')


@pytest.mark.parametrize('counts_unfinished', [False, True])
def test_worlds_without_rewards_give_no_demonstration(
    tmp_path, caplog, counts_unfinished
):
  bindings = (
      *_DRIFT,
      'load_environment.wrappers = [@without_rewards]',
      f'explore.counts_unfinished = {counts_unfinished}',
  )
  result = _explore(tmp_path, *bindings)
  assert result.best_score == 0.0
  assert result.num_demonstrations == 0 and result.demonstrations is None
  assert not os.path.exists(tmp_path / exploration.DEMONSTRATIONS_FILE)
  assert 'No reward was found' in caplog.text
  # Who wants them says so.
  result = _explore(
      tmp_path, *bindings, 'explore.min_demonstration_score = 0.0'
  )
  assert result.num_demonstrations == 1


class OnePort(toys.Drift):
  """A Drift with a port of its place, which no other one may have."""

  used_ports = set()

  def __init__(self, port):
    assert port not in self.used_ports, f'port {port} is in use'
    self.used_ports.add(port)


@gin.configurable(module='exploration_test')
def port_of_place(place):
  return dict(port=4_000 + place)


gin.external_configurable(OnePort, module='exploration_test')


def test_demonstrations_are_played_at_a_place_of_their_own(tmp_path):
  OnePort.used_ports.clear()
  result = _explore(
      tmp_path,
      *_DRIFT,
      'load_environment.env = @OnePort',
      'load_environment.env_kwargs = @port_of_place',
  )
  assert result.num_demonstrations == 1


def test_demonstrations_have_the_rewards_of_reward_fn(tmp_path, whole):
  _, plain = whole
  signs = _explore(
      tmp_path, *_DRIFT, 'train/load_environment.reward_fn = @sign_of_reward'
  )
  # Scores, and so what is explored, are of the environment's own rewards.
  assert signs.best_score == plain.best_score
  (episode,) = demonstrations.read_episodes(signs.demonstrations)
  (own,) = demonstrations.read_episodes(plain.demonstrations)
  np.testing.assert_array_equal(episode.action, own.action)
  np.testing.assert_array_equal(episode.reward, np.sign(own.reward))
  assert np.any(own.reward != np.sign(own.reward))


@gin.configurable(module='exploration_test')
def two_rewards(rewards):
  return np.stack([rewards, rewards], axis=-1)


def test_worlds_below_the_least_score_give_no_demonstration(tmp_path):
  result = _explore(tmp_path, *_DRIFT, 'explore.min_demonstration_score = 1e9')
  assert result.num_demonstrations == 0 and result.demonstrations is None
  assert not os.path.exists(tmp_path / exploration.DEMONSTRATIONS_FILE)
  # A finished exploration gives them where less is asked for.
  result = _explore(tmp_path, *_DRIFT, 'explore.min_demonstration_score = -1e9')
  assert result.num_demonstrations == 1


def test_novelty_by_rnd():
  spec = ts.time_step_spec(array_spec.ArraySpec([2], np.float32))
  action_spec = array_spec.BoundedArraySpec([], np.int64, 0, 2)
  tf.keras.utils.set_random_seed(0)
  novelty = archive_novelty.CuriosityNovelty(
      spec, action_spec, learning_rate=1e-2
  )
  rng = np.random.default_rng(0)
  known = rng.normal(size=[64, 2]).astype(np.float32)
  unknown = known + np.float32(4.0)
  state = novelty.get_state()
  before = novelty(known)
  for _ in range(100):
    after = novelty(known)
  assert after.mean() < 0.1 * before.mean()
  assert novelty(unknown).mean() > 10 * after.mean()
  novelty.set_state(state)
  np.testing.assert_array_equal(novelty(known), before)


@pytest.mark.parametrize(
    'curiosity_fn', [curiosity.create_drnd, curiosity.create_counts]
)
def test_novelty_goes_on_from_its_state(curiosity_fn):
  spec = ts.time_step_spec(array_spec.ArraySpec([2], np.float32))
  action_spec = array_spec.BoundedArraySpec([], np.int64, 0, 2)
  rng = np.random.default_rng(0)
  seen = rng.normal(size=[6, 64, 2]).astype(np.float32)

  def create():
    tf.keras.utils.set_random_seed(0)
    return archive_novelty.CuriosityNovelty(
        spec, action_spec, curiosity_fn, learning_rate=1e-2
    )

  whole, resumed = create(), create()
  for observations in seen[:3]:
    whole(observations)
  resumed.set_state(whole.get_state())
  for observations in seen[3:]:
    np.testing.assert_array_equal(resumed(observations), whole(observations))


class _CountsAll(curiosity.Curiosity):
  """Pays the number of valid observations so far, and this batch."""

  def __init__(self, *specs):
    super().__init__()
    self._count = tf.Variable(0.0)

  def update_statistics(self, transitions):
    self._count.assign_add(
        tf.reduce_sum(tf.cast(transitions.valid, tf.float32))
    )

  def bonus(self, transitions, constants=None):
    return self._count * tf.ones(tf.shape(transitions.next_observation)[:1])


def test_novelty_by_a_curiosity_that_counts_valid_observations():
  spec = ts.time_step_spec(array_spec.ArraySpec([2], np.float32))
  action_spec = array_spec.BoundedArraySpec([], np.int64, 0, 2)
  novelty = archive_novelty.CuriosityNovelty(
      spec, action_spec, curiosity_fn=_CountsAll
  )
  novelty(np.zeros([3, 2], np.float32))
  seen = novelty(np.zeros([4, 2], np.float32))
  np.testing.assert_array_equal(seen, [7.0] * 4)


@pytest.mark.parametrize(
    'curiosity_fn',
    [curiosity.create_novel_d, curiosity.create_e3b, curiosity.create_icm],
)
def test_novelty_by_a_curiosity_of_transitions_is_refused(curiosity_fn):
  spec = ts.time_step_spec(array_spec.ArraySpec([2], np.float32))
  action_spec = array_spec.BoundedArraySpec([], np.int64, 0, 2)
  with pytest.raises(errors.InvalidValue, match='observations by themselves'):
    archive_novelty.CuriosityNovelty(spec, action_spec, curiosity_fn)


def test_an_exploration_led_by_rnd_resumes(tmp_path):
  bindings = (
      *_DRIFT,
      'explore.novelty_fn = @CuriosityNovelty',
      'explore.snapshot_memory_mb = 0',
  )

  def run(name, num_env_steps):
    return _explore(
        tmp_path / name, *bindings, f'explore.num_env_steps = {num_env_steps}'
    )

  run('whole', 200)
  run('broken', 100)
  run('broken', 200)
  ours, theirs = _state(tmp_path / 'broken'), _state(tmp_path / 'whole')
  assert len(ours['novelty']) > 5
  assert len(set(ours['archive']['novelty'].tolist())) > 5
  assert _bytes(ours) == _bytes(theirs)
  replayed, expected = (
      [
          row.values['replayed_env_steps']
          for row in run_files.read_rows(tmp_path / name, 'timings.csv')
      ]
      for name in ('broken', 'whole')
  )
  assert replayed == expected and expected[0] > 0


_BAD = {
    ('load_environment.env = @Restless',): (
        'The environment went another way at step 1 when its seed and actions'
        ' were played again. Archive exploration needs an environment that'
        ' gives the same episode for the same seed and actions (python -m'
        ' rnd_agents.environments.check names what is random in it).'
    ),
    ('load_environment.reward_fn = @two_rewards',): (
        'Archive exploration takes one reward a step, and'
        ' load_environment.reward_fn returns 2: leave it out.'
    ),
    ('explore.key_fn = @failing_key',): (
        'The key function failing_key of an observation and its environment'
        ' raised AttributeError: '
    ),
    ('explore.key_fn = @minigrid_state',): (
        'The key function minigrid_state: minigrid_state needs a MiniGrid task'
    ),
    ('explore.num_worlds = 2', 'explore.world_seeds = [1]'): (
        'explore.world_seeds holds 1 seeds, for explore.num_worlds = 2.'
    ),
    ('explore.num_environments = 1000000000',): (
        'explore.num_environments must be at most explore.num_env_steps'
    ),
    ('explore.num_worlds = 1000000000000',): (
        'explore.num_worlds must be at most explore.max_cells = 500000'
    ),
    ('explore.num_env_steps = 0',): (
        'explore.num_env_steps must be above 0, got 0.'
    ),
    ('explore.steps_per_visit = 0',): (
        'explore.steps_per_visit must be an integer from 1, got 0.'
    ),
    ('explore.repeat_probability = 1.5',): (
        'explore.repeat_probability must be between 0 and 1, got 1.5.'
    ),
    ('explore.act_probability = 0.5',): (
        'explore.act_probability has no effect without explore.policy_dir.'
    ),
    ("explore.policy_dir = 'nowhere'",): (
        'explore.policy_dir: nowhere is not a directory.'
    ),
    ('explore.world_seeds = [-1]',): (
        'explore.world_seeds must be integers from 0, got [-1].'
    ),
    ('explore.num_worlds = 3', 'explore.world_seeds = [1, 2, 1]'): (
        'explore.world_seeds = [1, 2, 1] names a world twice'
    ),
    ('coarse_observation.width = 5', 'explore.key_fn = @failing_key'): (
        'The key function failing_key'
    ),
    (
        "load_environment.env = 'rnd_agents/DeepSea-v0'",
        'load_environment.max_episode_steps = None',
        "load_environment.vectorization = 'vector_entry_point'",
    ): (
        'Archive exploration puts back single environments of this process:'
        " set train/load_environment.vectorization = 'sync'."
    ),
}


def _message(capsys, root_dir, *bindings, gin_file):
  """What the binary says as it ends; None where it does its work."""
  gin.clear_config()
  bindings = [f'--gin_bindings={binding}' for binding in bindings]
  status = command_lines.call(
      explore, '--root_dir', root_dir, '--gin_file', gin_file, *bindings
  )
  said = capsys.readouterr().err
  assert (status == 0) == ('explore: ' not in said)
  return None if status == 0 else said[said.index('explore: '):].strip()


def test_a_game_of_several_agents_is_refused(tmp_path):
  with pytest.raises(errors.SetupError, match='load_environment.num_agents'):
    _explore(
        tmp_path,
        *_DRIFT,
        'load_environment.env = @Relay',
        'load_environment.num_agents = 3',
        'explore.num_environments = 3',
    )


@pytest.mark.parametrize('bindings', _BAD)
def test_bad_settings_end_in_one_sentence(tmp_path, capsys, bindings):
  gin_file = tmp_path / 'drift.gin'
  gin_file.write_text('\n'.join(_DRIFT))
  message = _message(capsys, tmp_path / 'run', *bindings, gin_file=gin_file)
  assert message.startswith(f'explore: {_BAD[bindings]}')
  assert 'Traceback' not in message


def test_what_lies_in_the_folder(tmp_path, capsys):
  gin_file = tmp_path / 'drift.gin'
  gin_file.write_text('\n'.join(_DRIFT))
  root_dir = tmp_path / 'run'

  def message(*bindings, gin_file=gin_file):
    return _message(capsys, root_dir, *bindings, gin_file=gin_file)

  assert "no gin file 'nothing.gin'" in message(gin_file='nothing.gin')
  assert message() is None
  metrics = (root_dir / 'metrics.csv').read_bytes()
  assert message() is None  # Nothing is left to do.
  assert (root_dir / 'metrics.csv').read_bytes() == metrics
  changed = message('explore.num_worlds = 2')
  assert 'explore.num_worlds was 1 and is now 2' in changed
  # A finished one continues.
  assert message('explore.num_env_steps = 700') is None
  assert run_files.read_rows(root_dir)[-1].env_steps >= 700
  (path,) = root_dir.glob('checkpoints/iteration_*/state.bin')
  path.write_bytes(path.read_bytes()[:100])
  assert 'damaged' in message()
  shutil.rmtree(root_dir / 'checkpoints')
  assert f'{root_dir} holds results and no checkpoint' in message()
