# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of whole runs, tiny ones."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import time
import types
from unittest import mock

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.policies import policy_saver

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.agents import return_streams
from rnd_agents.archive import exploration
from rnd_agents.environments import loaders
from rnd_agents.evaluation import evaluator
from rnd_agents.evaluation import saved_policy
from rnd_agents.networks import precision
from rnd_agents.training import callbacks
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import loops
from rnd_agents.training import off_policy
from rnd_agents.training import on_policy
from rnd_agents.training import pictures
from rnd_agents.training import run_directory
from rnd_agents.training import runs
from tests import tiny_runs

# PPO alone is traced in less time: other tests of runs have a curiosity.
_PPO = (
    *tiny_runs.DEEP_SEA_SETTINGS,
    'RNDPPOAgent.intrinsic_advantage_coefficient = 0.0',
    'create_rnd_ppo_agent.rnd_learning_rate = None',
)


def _run(
    root_dir,
    num_env_steps,
    *bindings,
    seed=1,
    train=tiny_runs.train,
    settings=_PPO,
    **more,
):
  return train(
      root_dir,
      num_env_steps,
      *bindings,
      settings=settings,
      files=['deep_sea'],
      seed=seed,
      **more,
  )


def test_a_list_of_seeds_gives_places_the_same_episodes_in_any_shards(tmp_path):
  tiny_runs.parse(
      100,
      "load_environment.env = 'CartPole-v1'",
      'train/load_environment.seeding = @episode_seeds.cycle()',
      'episode_seeds.cycle.seeds = 6',
      settings=(),
  )

  def starts(num_shards):
    config = experiment.Experiment(
        os.fspath(tmp_path), num_environments=4, num_shards=num_shards
    )
    envs = [
        recipe.make_environment()
        for recipe in experiment.recipes(config, runs.Seeds(0))
    ]
    return np.stack([
        np.concatenate([env.reset().observation for env in envs])
        for _ in range(3)
    ])

  found = starts(1)
  assert len(np.unique(found[0], axis=0)) == 4
  np.testing.assert_array_equal(found[1, 2:], found[0, :2])
  np.testing.assert_array_equal(starts(2), found)


@pytest.fixture(name='watched', scope='module')
def _watched(tmp_path_factory):
  """A run of 600 environment steps.

  Its (folder, result, (state, environment steps) of each status, what it left
  in memory). Its random steps come in pieces.
  """
  folder = tmp_path_factory.mktemp('whole') / 'run'
  write_status, told = run_directory.write_status, []

  def telling(root_dir, state, **facts):
    told.append((state, facts['env_steps']))
    write_status(root_dir, state, **facts)

  with pytest.MonkeyPatch.context() as context:
    context.setattr(precision, 'cpu_flags', lambda: {'amx_bf16'})
    context.setattr(tf.config, 'list_physical_devices', lambda kind: [])
    context.setattr(callbacks, '_SECONDS_BETWEEN_REPORTS', 0.0)
    context.setattr(run_directory, 'write_status', telling)
    with tiny_runs.left_behind() as left:
      result = _run(folder, 600)
    return folder, result, told, left


@pytest.fixture(name='whole', scope='module')
def _whole(watched):
  """Folder of a run of 600 environment steps."""
  return watched[0]


@pytest.fixture(name='resumed', scope='module')
def _resumed(whole, tmp_path_factory):
  """Folder of that run, resumed until 1200 environment steps."""
  folder = tmp_path_factory.mktemp('resumed') / 'run'
  shutil.copytree(whole, folder)
  _run(folder, 1200)
  return folder


def test_learns_and_leaves_what_it_promises(tmp_path, caplog):
  caplog.set_level('INFO', logger='absl')
  # A random policy finds the treasure of a 4x4 sea once in 16 episodes.
  result = _run(
      tmp_path,
      6000,
      'train_eval.stop_at_success_rate = 0.95',
      'train_eval.save_policies = True',
      'train_eval.record_video = True',
      'RNDPPOAgent.num_epochs = 4',
      'RNDPPOAgent.num_minibatches = 4',
      settings=tiny_runs.DEEP_SEA_SETTINGS,
      seed=0,
      draws_curve=True,
  )
  assert result.finished
  assert result.eval_return == pytest.approx(0.99)
  assert result.env_steps < 6000  # It stopped at the first solution.
  rows = tiny_runs.rows(tmp_path, 'train')
  # 64 random steps and the reset rows' share: of 4 + 1 rows an episode 4 are
  # steps, and the first rollout has one row more.
  assert int(rows[0]['env_steps']) == 64 + 8 * (17 - 3)
  assert [int(row['iteration']) for row in rows] == list(
      range(1, len(rows) + 1)
  )
  assert [int(row['train_steps']) for row in rows] == [
      16 * int(row['iteration']) for row in rows
  ]
  assert tiny_runs.rows(tmp_path, 'eval')[-1]['success_rate'] == '1'
  assert os.path.getsize(result.picture) > 10_000
  policy = tf.saved_model.load(os.fspath(tmp_path / 'policies' / 'policy'))
  assert policy.get_initial_state(3) == ()
  assert (tmp_path / 'visits.png').exists()
  # What cannot be rendered costs nothing but a line.
  assert 'No videos: ' in caplog.text
  assert not (tmp_path / 'videos').exists()


def test_the_policy_of_the_best_evaluation_is_saved(tmp_path, monkeypatch):
  def run(num_env_steps):
    return tiny_runs.train(
        tmp_path,
        num_env_steps,
        'train_eval.save_policies = True',
        'train_eval.eval_interval_env_steps = 64',
        'create_rnd_ppo_agent.learning_rate = 0.1',
        settings=tiny_runs.PPO_SETTINGS,
    )

  with monkeypatch.context() as context, pytest.raises(tiny_runs.Killed):
    killing = mock.Mock(side_effect=tiny_runs.Killed)
    context.setattr(experiment, '_finish', killing)  # Before it saves them.
    run(920)
  outcome = run(960)  # One more evaluation: the best is that of before.
  returns = [
      float(row['return_mean']) for row in tiny_runs.rows(tmp_path, 'eval')
  ]
  assert len(returns) > 8
  assert max(returns) not in (returns[-1], returns[0])  # Or this tells nothing.
  assert outcome.best_eval_return == max(returns)

  # A later run that is killed while it writes policies leaves these.
  write = policy_saver.PolicySaver.save

  def killed_while_writing(saver, folder):
    write(saver, folder)
    os.remove(os.path.join(folder, 'saved_model.pb'))
    raise tiny_runs.Killed

  with monkeypatch.context() as context, pytest.raises(tiny_runs.Killed):
    context.setattr(policy_saver.PolicySaver, 'save', killed_while_writing)
    run(1024)
  first = runs.Seeds(5).first_eval_episode
  expected = dict(policy=returns[-1], best_policy=max(returns))
  with contextlib.closing(
      loaders.load_environment('CartPole-v1', 2, max_episode_steps=50)
  ) as environment:
    for name, return_mean in expected.items():
      policy = saved_policy.SavedPolicy(os.fspath(tmp_path / 'policies' / name))
      played = evaluator.Evaluator(environment, policy, [first, first + 1])
      assert np.mean([each.return_ for each in played.run()]) == return_mean


# The first evaluation ends it.
_SOLVED = (6000, 'train_eval.stop_at_return = -1.0')


@pytest.fixture(name='solved', scope='module')
def _solved(tmp_path_factory):
  """Folder of a run that ended before its steps did, of another seed."""
  folder = tmp_path_factory.mktemp('solved') / 'run'
  result = _run(folder, *_SOLVED, seed=2)
  assert result.finished and result.env_steps < 1000
  return folder


def test_one_of_two_goals_ends_a_run():
  goals = dict(stop_at_success_rate=1.0, stop_at_return=20.0)
  with pytest.raises(errors.InvalidValue, match='return = 20.0 .*one of them'):
    experiment.Experiment('runs/x', **goals).check()


def test_arguments_of_a_program_are_settings_of_the_run(tmp_path):
  more = dict(num_environments=2, record_video=False, save_policies=False)
  _run(tmp_path, 64, **more)
  settings = run_files.read_run_record(tmp_path)['settings']
  for name, value in more.items():
    assert settings[f'train_eval.{name}'] == str(value)
    line = f'\ntrain_eval.{name} = {value}\n'
    assert line in (tmp_path / 'operative_config.gin').read_text()
  with pytest.raises(errors.SetupError, match='environments was 2 and is now'):
    _run(tmp_path, 96, **(more | dict(num_environments=4)))
  assert '\ntrain_eval.num_env_steps' in gin.config_str()
  assert 'train_eval.num_environments = 2' not in gin.config_str()


def test_a_text_decides_nothing():
  for name in ('record_video', 'save_policies'):
    with pytest.raises(errors.InvalidType, match=f'train_eval.{name} .*False'):
      experiment.Experiment('runs/x', **{name: 'False'}).check()
  replay = off_policy.ReplayTraining(replaces_damaged_replay='False')
  with pytest.raises(errors.InvalidType, match='ReplayTraining.replaces_dam'):
    replay.check(100, 1)
  with pytest.raises(errors.InvalidType, match='explore.counts_unfinished'):
    exploration.Exploration('runs/x', counts_unfinished='False').check()


@pytest.mark.parametrize(
    'name',
    [
        'num_env_steps',
        'num_environments',
        'num_shards',
        'num_eval_episodes',
        'eval_interval_env_steps',
        'checkpoint_interval_iterations',
        'num_checkpoints',
        'callbacks',
        'loggers',
    ],
)
@pytest.mark.parametrize('value', [None, 2.5])
def test_settings_of_a_run_that_are_no_count_or_no_list(name, value):
  config = experiment.Experiment('runs/x', **{name: value})
  with pytest.raises(errors.UserError, match=f'train_eval.{name} .*{value}'):
    config.check()


@pytest.mark.parametrize(
    ('training', 'name', 'value'),
    [
        *(
            (off_policy.ReplayTraining, name, value)
            for name in ('batch_size', 'rollout_length', 'collect_length')
            for value in (None, 2.5)
        ),
        (off_policy.ReplayTraining, 'env_steps_per_update', None),
        (off_policy.ReplayTraining, 'importance_anneal_train_steps', 2.5),
        (off_policy.ReplayTraining, 'create_agent', None),
        (on_policy.OnPolicyTraining, 'rollout_length', None),
        (on_policy.OnPolicyTraining, 'rollout_length', 2.5),
        (on_policy.OnPolicyTraining, 'num_devices', None),
        (on_policy.OnPolicyTraining, 'create_agent', 'create_rnd_ppo_agent'),
    ],
)
def test_settings_of_a_training_that_are_no_count(training, name, value):
  with pytest.raises(
      errors.UserError, match=f'{training.__name__}.{name} .*{value}'
  ):
    training(**{name: value}).check(100, 1)


def test_another_seed_gives_other_numbers(whole, solved):
  pairs = [*zip(
      tiny_runs.rows(whole, 'train'),
      tiny_runs.rows(solved, 'train'),
      strict=False,
  )]
  assert len(pairs) > 1
  assert all(x['entropy'] != y['entropy'] for x, y in pairs)


def test_the_run_says_how_it_stands_and_how_it_was_made(watched):
  root_dir, result, told, _ = watched
  # At the start, in the random steps, after each iteration, at the end.
  steps = [int(row['env_steps']) for row in tiny_runs.rows(root_dir, 'train')]
  assert told == [
      *(('running', n) for n in (0, 56, 64, *steps)), ('finished', steps[-1])
  ]
  status = run_files.read_status(root_dir)
  assert status['state'] == 'finished'
  assert status['env_steps'] == result.env_steps
  assert status['num_env_steps'] == 600
  record = run_files.read_run_record(root_dir)
  assert record['settings']['--seed'] == '1'
  assert record['settings']['DEEP_SEA_SIZE'] == '4'
  assert record['settings']['train_eval.num_env_steps'] == '600'
  assert record['auto_compute_dtype'] == 'bfloat16'


def test_a_run_leaves_nothing_in_memory(watched):
  assert watched[-1] == []


def _without_status(root_dir):
  return {
      path: path.read_bytes()
      for path in root_dir.iterdir()
      if path.is_file() and path.name not in ('.lock', 'status.json')
  }


@pytest.mark.parametrize(
    ('name', 'settings', 'seed'), [('whole', (600,), 1), ('solved', _SOLVED, 2)]
)
def test_a_finished_run_refuses_what_comes_too_late(
    request, tmp_path, name, settings, seed
):
  root_dir = tmp_path / 'run'
  shutil.copytree(request.getfixturevalue(name), root_dir)
  files = _without_status(root_dir)
  with pytest.raises(errors.SetupError) as caught:
    _run(
        root_dir,
        *settings,
        'create_rnd_ppo_agent.learning_rate = 0.5',
        'train_eval.num_checkpoints = 2',
        'RNDPPOAgent.gradient_clipping = 1.0',
        seed=seed,
    )
  for words in (
      'finished',
      ': RNDPPOAgent.gradient_clipping was not set and is now 1.0;'
      ' create_rnd_ppo_agent.learning_rate was 0.01 and is now 0.5. ',
      '--root_dir',
  ):
    assert words in str(caught.value)
  assert _without_status(root_dir) == files
  # What only concerns the end and how a run is watched may differ.
  again = _run(root_dir, *settings, 'train_eval.num_checkpoints = 2', seed=seed)
  rows = tiny_runs.rows(root_dir, 'train')
  assert again.finished and again.env_steps == int(rows[-1]['env_steps'])
  metrics = root_dir / 'metrics.csv'
  assert metrics.read_bytes() == files[metrics]


def test_a_run_goes_on_with_another_vectorization(whole, tmp_path):
  root_dir = tmp_path / 'run'
  shutil.copytree(whole, root_dir)
  result = _run(root_dir, 900, "load_environment.vectorization = 'sync'")
  assert result.finished and result.env_steps >= 900
  # And back, until its state is restored.
  _run(root_dir, 1200, train=tiny_runs.prepare)
  steps = [int(row['env_steps']) for row in tiny_runs.rows(root_dir, 'train')]
  assert steps == sorted(set(steps))


def test_a_learning_rate_may_change_on_the_way(whole, resumed, tmp_path):
  root_dir = tmp_path / 'run'
  shutil.copytree(whole, root_dir)
  _run(root_dir, 1200, 'create_rnd_ppo_agent.learning_rate = 0.5')
  changed, unchanged = (
      tiny_runs.rows(folder, 'train') for folder in (root_dir, resumed)
  )
  same = [x == y for x, y in zip(changed, unchanged, strict=True)]
  first = same.index(False)
  # The first rollout is collected as before, and trained with another rate.
  assert first == len(tiny_runs.rows(whole, 'train'))
  assert not any(same[first:])


@pytest.mark.parametrize(
    ('then', 'now', 'message'), [(1, 0, '1 more callbacks'), (0, 2, '2 fewer')]
)
def test_a_program_that_passes_other_callbacks_is_told(
    tmp_path, then, now, message
):
  def train(num_env_steps, number):
    return tiny_runs.train(
        tmp_path,
        num_env_steps,
        settings=tiny_runs.COUNTING_SETTINGS,
        callbacks=[callbacks.Callback() for _ in range(number)],
    )

  train(20, then)
  with pytest.raises(errors.SetupError, match=message):
    train(60, now)
  assert train(60, then).finished


def test_resumes_and_the_settings_it_leaves_make_the_same_run(
    whole, resumed, tmp_path
):
  before = tiny_runs.rows(whole, 'train')
  after = tiny_runs.rows(resumed, 'train')
  assert after[: len(before)] == before
  steps = [int(row['env_steps']) for row in after]
  assert steps == sorted(set(steps))
  assert steps[-1] >= 1200
  assert [int(row['iteration']) for row in after] == list(
      range(1, len(after) + 1)
  )
  # It is the run that was never stopped.
  gin.clear_config()
  gin_files.parse([os.fspath(resumed / 'operative_config.gin')])
  experiment.train_eval(os.fspath(tmp_path), seed=1)
  assert tiny_runs.rows(tmp_path, 'train') == after
  assert (tmp_path / 'operative_config.gin').read_bytes() == (
      resumed / 'operative_config.gin'
  ).read_bytes()
  assert not (tmp_path / 'policies').exists()


def _hear_of_ctrl_c(pipe):
  handler = signal.getsignal(signal.SIGINT)
  pipe.send('waits')
  while signal.getsignal(signal.SIGINT) == handler:
    time.sleep(0.01)
  pipe.send('heard')
  time.sleep(600)


@pytest.fixture
def _default_sigterm():
  """Takes away what tests with Ray leave: a handler that exits."""
  before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
  yield
  signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures('_default_sigterm')
def test_signals_to_a_process_that_a_run_has_forked_are_not_for_the_run(
    monkeypatch, caplog
):
  # As an environment's simulator, which the environment ends by SIGTERM.
  monkeypatch.setattr(runs, '_PATIENCE_S', 0.01)
  processes = multiprocessing.get_context('fork')
  ours, pipe = processes.Pipe()
  stopped, ended = [], []
  with caplog.at_level('INFO', logger='absl'):
    with runs.stopping_on_signals(stopped.append, ended.append):
      child = processes.Process(target=_hear_of_ctrl_c, args=(pipe,))
      child.start()
      try:
        assert ours.recv() == 'waits'
        os.kill(child.pid, signal.SIGINT)  # As a terminal does.
        assert ours.recv() == 'heard'
        child.terminate()
        child.join(30)
        assert child.exitcode == -signal.SIGTERM
      finally:
        child.kill()
        child.join()
      handler = signal.getsignal(signal.SIGTERM)
  assert not stopped and not ended and 'saving' not in caplog.text
  assert handler != signal.getsignal(signal.SIGTERM)
  assert not runs._before_blocks


def test_whatever_ends_a_start_the_run_is_the_one_left_alone(
    whole, tmp_path, monkeypatch
):
  """A signal amid the random steps, a kill after them, two signals later."""
  prepare, iterations = loops.Loop.prepare, loops.Loop.iterations
  evaluate = evaluator.Evaluator.run
  handler = signal.getsignal(signal.SIGTERM)  # Ray's, after tests with Ray.
  kills = [KeyboardInterrupt]
  limits = [256, 600]  # An evaluation is due; the run is at its end.
  random_steps, evaluations = [], []

  def preparing(loop):
    for is_evaluation_due in prepare(loop):
      random_steps.append(loop._counters.env_steps)
      if len(random_steps) == 1:
        os.kill(os.getpid(), signal.SIGTERM)
      yield is_evaluation_due

  def stopping(loop):
    if kills:
      raise kills.pop()
    for iteration in iterations(loop):
      if limits and loop._counters.env_steps >= limits[0]:
        limits.pop(0)
        os.kill(os.getpid(), signal.SIGTERM)
      yield iteration

  def watching(watched, should_stop):
    episodes = evaluate(watched, should_stop)
    evaluations.extend([episodes] if episodes else [])
    return episodes

  monkeypatch.setattr(loops.Loop, 'prepare', preparing)
  monkeypatch.setattr(loops.Loop, 'iterations', stopping)
  monkeypatch.setattr(evaluator.Evaluator, 'run', watching)
  stopped = _run(tmp_path, 600)
  assert not stopped.finished and stopped.env_steps == 56
  with pytest.raises(KeyboardInterrupt):
    _run(tmp_path, 600)
  # Eight rows of eight environments; of five rows one only begins an episode.
  assert random_steps == [56, 64]
  numbers = []
  for finished in (False, False, True, True):
    # The last of the starts finds all done.
    result = _run(tmp_path, 600)
    assert result.finished == finished
    state = run_files.read_status(tmp_path)['state']
    assert state == ('finished' if finished else 'stopped')
    last = tiny_runs.rows(tmp_path, 'train')[-1]
    assert int(last['env_steps']) == result.env_steps
    # The handlers are back to what they were.
    assert signal.getsignal(signal.SIGTERM) == handler
    numbers.append(len(tiny_runs.rows(tmp_path, 'eval')))
  assert len(random_steps) == 2  # The kill lost none.
  # A signal saves before an evaluation, which the next start makes.
  expected = tiny_runs.rows(whole, 'eval')
  assert len(expected) > 1
  assert numbers == [0, len(expected) - 1, len(expected), len(expected)]
  assert len(evaluations) == len(expected)
  assert (tmp_path / 'metrics.csv').read_bytes() == (
      whole / 'metrics.csv'
  ).read_bytes()


def test_a_signal_amid_an_evaluation_saves_and_the_next_start_makes_it(
    whole, tmp_path, monkeypatch
):
  play, num_steps = evaluator.play, []

  def playing(*args, should_stop=lambda: False, **kwargs):
    def stops():
      num_steps.append(len(num_steps))
      if len(num_steps) == 3:
        os.kill(os.getpid(), signal.SIGTERM)
      return should_stop()

    return play(*args, should_stop=stops, **kwargs)

  with monkeypatch.context() as context:
    context.setattr(evaluator, 'play', playing)
    assert not _run(tmp_path, 600).finished
  assert len(num_steps) == 3 and not tiny_runs.rows(tmp_path, 'eval')
  saved, seen = tiny_runs.iterations(tmp_path)
  assert saved == seen > 0
  assert _run(tmp_path, 600).finished
  assert (tmp_path / 'metrics.csv').read_bytes() == (
      whole / 'metrics.csv'
  ).read_bytes()


def test_a_signal_after_the_last_step_leaves_out_no_picture(
    whole, tmp_path, monkeypatch
):
  play, evaluated, drawn = evaluator.play, [], []
  num_evaluations = len(tiny_runs.rows(whole, 'eval'))

  def playing(*args, **kwargs):
    yield from play(*args, **kwargs)
    evaluated.append(len(evaluated))
    if len(evaluated) == num_evaluations:
      os.kill(os.getpid(), signal.SIGTERM)

  def drawing(self, run, best, is_end):
    drawn.append(is_end)

  monkeypatch.setattr(evaluator, 'play', playing)
  monkeypatch.setattr(pictures.Pictures, '_draw', drawing)
  assert not _run(tmp_path, 600).finished
  # Drawing takes seconds, after which a scheduler may have killed the process.
  assert True not in drawn
  assert _run(tmp_path, 600).finished
  assert drawn.count(True) == 1
  assert (tmp_path / 'metrics.csv').read_bytes() == (
      whole / 'metrics.csv'
  ).read_bytes()


def test_a_start_that_is_stopped_at_once_prepares_nothing():
  # An evaluation that is owed would give way to one that is due now.
  pieces, begun, saved = iter([True]), [], []
  run = types.SimpleNamespace(
      is_done=False,
      stopped_by='SIGTERM',
      loop=types.SimpleNamespace(prepare=lambda: pieces),
      callbacks=[
          types.SimpleNamespace(after_preparation=lambda *x: begun.append(x))
      ],
      save=lambda: saved.append(True),
  )
  experiment._prepare(run)
  assert list(pieces) == [True] and not begun and not saved


@gin.configurable(module='experiment_test')
def reward_and_double(rewards):
  return np.stack([rewards, 2 * rewards], axis=1)


@gin.configurable(module='experiment_test')
def three_streams(curiosity):
  return [
      # Without a future the return is the reward.
      return_streams.ReturnStream('one', 0.0, reward=0),
      return_streams.ReturnStream('two', 0.0, reward=1),
      return_streams.ReturnStream(
          'novelty', 0.99, ends_with_episode=False, reward=curiosity
      ),
  ]


def test_a_vector_of_rewards_is_learned_in_streams_of_its_entries(tmp_path):
  _run(
      tmp_path,
      240,
      'load_environment.reward_fn = @reward_and_double',
      'RNDPPOAgent.streams = @three_streams',
      'create_networks.num_values = 3',
      # Half the length of an episode, so that none ends in every other one.
      'OnPolicyTraining.rollout_length = 2',
      settings=tiny_runs.DEEP_SEA_SETTINGS,
  )
  rows = run_files.read_rows(tmp_path)
  means = np.array([
      [row.values[f'{name}_return_mean'] for name in ('one', 'two')]
      for row in rows
      if row.phase == 'train'
  ])
  assert len(means) >= 3
  assert 'novelty_return_mean' in rows[0].values
  assert means[:, 0].all()  # Each step to the right costs something.
  np.testing.assert_allclose(means[:, 1], 2 * means[:, 0], rtol=1e-4)
  novelty = [
      row.values.get('novelty_episode_return_mean')
      for row in rows
      if row.phase == 'train'
  ]
  assert None in novelty and any(novelty) and 0.0 not in novelty
