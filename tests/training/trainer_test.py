# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of whole runs, tiny ones."""

import csv
import os
import signal
import threading
import time

import gin
import pytest
import tensorflow as tf

from rnd_agents.networks import precision
from rnd_agents.training import gin_files
from rnd_agents.training import rollout_loop
from rnd_agents.training import run_directory
from rnd_agents.training import trainer
from rnd_agents.training import training_loop

_TINY = (
    'DEEP_SEA_SIZE = 4',
    'train_eval.num_environments = 8',
    'train_eval.rollout_length = 16',
    'train_eval.warm_up_env_steps = 64',
    'train_eval.num_eval_episodes = 3',
    'train_eval.eval_interval_env_steps = 256',
    'train_eval.learning_rate = 1e-2',
    'create_networks.fc_layer_params = (8,)',
    'create_networks.value_fc_layer_params = (8,)',
    'create_networks.rnd_fc_layer_params = (8, 8)',
    'create_networks.target_rnd_fc_layer_params = (8,)',
    'create_networks.rnd_output_size = 4',
)


def _run(root_dir, num_env_steps, *bindings, **arguments):
  gin.clear_config()
  gin_files.parse(
      ['deep_sea'],
      (*_TINY, f'train_eval.num_env_steps = {num_env_steps}', *bindings),
  )
  return trainer.train_eval(os.fspath(root_dir), **arguments)


def _rows(root_dir, phase):
  with open(
      os.path.join(root_dir, 'metrics.csv'), newline='', encoding='utf-8'
  ) as file:
    return [row for row in csv.DictReader(file) if row['phase'] == phase]


def test_learns_and_leaves_what_it_promises(tmp_path):
  # A random policy finds the treasure of a 4x4 sea once in 16 episodes.
  result = _run(tmp_path, 6000, 'train_eval.stop_at_success_rate = 0.95')
  assert result.finished
  assert result.eval_return == pytest.approx(0.99)
  assert result.env_steps < 6000  # It stopped at the first solution.
  rows = _rows(tmp_path, 'train')
  # 64 random steps and the reset rows' share: of 4 + 1 rows an episode 4 are
  # steps, and the first rollout has one row more.
  assert int(rows[0]['env_steps']) == 64 + 8 * (17 - 3)
  assert [int(row['iteration']) for row in rows] == list(
      range(1, len(rows) + 1)
  )
  assert [int(row['train_steps']) for row in rows] == [
      16 * int(row['iteration']) for row in rows
  ]
  assert _rows(tmp_path, 'eval')[-1]['success_rate'] == '1'
  assert os.path.getsize(result.picture) > 10_000
  policy = tf.saved_model.load(os.fspath(tmp_path / 'policies' / 'policy'))
  assert policy.get_initial_state(3) == ()


def test_same_seed_same_file_other_seed_other_numbers(tmp_path):
  for name, seed in (('a', 1), ('b', 1), ('c', 2)):
    _run(tmp_path / name, 600, seed=seed)
  metrics = {
      name: (tmp_path / name / 'metrics.csv').read_bytes() for name in 'abc'
  }
  assert metrics['a'] == metrics['b']
  assert metrics['a'] != metrics['c']
  a, c = (_rows(tmp_path / name, 'train') for name in 'ac')
  assert all(x['rnd_loss'] != y['rnd_loss'] for x, y in zip(a, c, strict=False))


def test_the_settings_that_a_run_leaves_make_the_same_run(tmp_path):
  _run(tmp_path / 'a', 600, seed=1)
  gin.clear_config()
  gin_files.parse([os.fspath(tmp_path / 'a' / 'operative_config.gin')])
  trainer.train_eval(os.fspath(tmp_path / 'b'), seed=1)
  for name in ('metrics.csv', 'operative_config.gin'):
    assert (tmp_path / 'b' / name).read_bytes() == (
        tmp_path / 'a' / name
    ).read_bytes()


def test_the_run_says_how_it_stands_and_how_it_was_made(
    tmp_path, monkeypatch
):
  monkeypatch.setattr(precision, 'cpu_flags', lambda: {'amx_bf16'})
  monkeypatch.setattr(tf.config, 'list_physical_devices', lambda kind: [])
  monkeypatch.setattr(rollout_loop, '_WARM_UP_ROWS', 3)
  monkeypatch.setattr(training_loop, '_SECONDS_BETWEEN_REPORTS', 0.0)
  write_status, told = run_directory.write_status, []

  def telling(root_dir, state, **facts):
    told.append((state, facts['env_steps']))
    write_status(root_dir, state, **facts)

  monkeypatch.setattr(run_directory, 'write_status', telling)
  result = _run(tmp_path, 600, seed=3)
  # At the start, in the random steps, after each iteration, at the end.
  steps = [int(row['env_steps']) for row in _rows(tmp_path, 'train')]
  assert told == [
      *(('running', n) for n in (0, 24, 40, 64, *steps)),
      ('finished', steps[-1]),
  ]
  status = run_directory.read_status(tmp_path)
  assert status['state'] == 'finished'
  assert status['env_steps'] == result.env_steps
  assert status['num_env_steps'] == 600
  record = run_directory.read_record(tmp_path)
  assert record['settings']['--seed'] == '3'
  assert record['settings']['DEEP_SEA_SIZE'] == '4'
  assert record['settings']['train_eval.num_env_steps'] == '600'
  assert record['auto_compute_dtype'] == 'bfloat16'


def test_a_run_that_was_solved_stays_as_it_is(tmp_path):
  stop = 'train_eval.stop_at_success_rate = 0.0'  # The first evaluation does.
  first = _run(tmp_path, 6000, stop)
  assert first.finished and first.env_steps < 1000
  metrics = (tmp_path / 'metrics.csv').read_bytes()
  assert _run(tmp_path, 6000, stop).env_steps == first.env_steps
  assert (tmp_path / 'metrics.csv').read_bytes() == metrics


def _without_status(root_dir):
  return {
      path: path.read_bytes()
      for path in root_dir.iterdir()
      if path.is_file() and path.name not in ('.lock', 'status.json')
  }


@pytest.mark.parametrize('limit', [None, 0.0])
def test_a_finished_run_refuses_what_comes_too_late(tmp_path, limit):
  num_env_steps = 300 if limit is None else 6000
  stop = f'train_eval.stop_at_success_rate = {limit}'
  before = _run(tmp_path, num_env_steps, stop)
  files = _without_status(tmp_path)
  with pytest.raises(trainer.SetupError) as caught:
    _run(
        tmp_path,
        num_env_steps,
        stop,
        'train_eval.learning_rate = 0.5',
        'train_eval.num_checkpoints = 2',
        'RNDPPOAgent.num_epochs = 1',
    )
  # Gin adds a line to it.
  assert str(caught.value).splitlines()[0] == (
      'The run is finished; these changes would have no effect:'
      ' RNDPPOAgent.num_epochs was 4 and is now 1; train_eval.learning_rate was'
      ' 0.01 and is now 0.5. Choose another --root_dir, or raise'
      ' num_env_steps.'
  )
  assert _without_status(tmp_path) == files
  # What only concerns the end and how a run is watched may differ.
  assert _run(
      tmp_path, 200, stop, 'train_eval.record_video = False'
  ).env_steps == before.env_steps


def test_a_run_goes_on_with_another_vectorization(tmp_path):
  for num_env_steps, vectorization in (
      (300, 'sync'), (600, 'vector_entry_point'), (900, 'sync')
  ):
    result = _run(
        tmp_path,
        num_env_steps,
        f'load_environment.vectorization = {vectorization!r}',
    )
    assert result.finished and result.env_steps >= num_env_steps
  steps = [int(row['env_steps']) for row in _rows(tmp_path, 'train')]
  assert steps == sorted(set(steps))


def test_a_learning_rate_may_change_on_the_way(tmp_path):
  _run(tmp_path / 'a', 600)
  _run(tmp_path / 'a', 1200, 'train_eval.learning_rate = 0.5')
  _run(tmp_path / 'b', 600)
  _run(tmp_path / 'b', 1200)
  a, b = (_rows(tmp_path / name, 'train') for name in 'ab')
  same = [x == y for x, y in zip(a, b, strict=True)]
  resumed = same.index(False)
  assert int(a[resumed - 1]['env_steps']) >= 600  # The rates in between count.
  assert not any(same[resumed:])


def test_resumes_where_the_checkpoint_is(tmp_path):
  _run(tmp_path, 600)
  before = _rows(tmp_path, 'train')
  _run(tmp_path, 1200)
  after = _rows(tmp_path, 'train')
  assert after[: len(before)] == before
  steps = [int(row['env_steps']) for row in after]
  assert steps == sorted(set(steps))
  assert steps[-1] >= 1200
  assert [int(row['iteration']) for row in after] == list(
      range(1, len(after) + 1)
  )
  # The optimizer steps and with them the weights go on as well.
  assert int(after[-1]['train_steps']) == 16 * len(after)
  # A finished run is left as it is.
  assert _run(tmp_path, 1200).env_steps == steps[-1]
  assert _rows(tmp_path, 'train') == after


def test_signal_saves_and_the_same_command_goes_on(tmp_path):
  def interrupt():
    while not os.path.exists(tmp_path / 'metrics.csv'):
      time.sleep(0.05)
    while not _rows(tmp_path, 'train'):
      time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGTERM)

  thread = threading.Thread(target=interrupt)
  thread.start()
  result = _run(tmp_path, 10_000_000)
  thread.join()
  assert not result.finished
  rows = _rows(tmp_path, 'train')
  assert int(rows[-1]['env_steps']) == result.env_steps
  again = _run(tmp_path, result.env_steps + 300)
  assert again.finished
  assert _rows(tmp_path, 'train')[: len(rows)] == rows
  # The handlers are back to what they were.
  assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_signal_saves_before_an_evaluation_that_is_made_later(
    tmp_path, monkeypatch
):
  _run(tmp_path / 'whole', 600)
  learn = rollout_loop.RolloutLoop._learn
  evaluate = rollout_loop.RolloutLoop._evaluate
  limits = [256, 600]  # An evaluation is due; the run is at its end.
  evaluated = []

  def stopping(loop):
    learned = learn(loop)
    if limits and loop.env_steps >= limits[0]:
      limits.pop(0)
      os.kill(os.getpid(), signal.SIGTERM)
    return learned

  def watching(loop, schedule):
    evaluated.append(loop.iteration)
    evaluate(loop, schedule)

  monkeypatch.setattr(rollout_loop.RolloutLoop, '_learn', stopping)
  monkeypatch.setattr(rollout_loop.RolloutLoop, '_evaluate', watching)
  rows = []
  for finished in (False, False, True, True):
    # The last of the starts finds all done.
    assert _run(tmp_path / 'stopped', 600).finished == finished
    rows.append(len(_rows(tmp_path / 'stopped', 'eval')))
  expected = _rows(tmp_path / 'whole', 'eval')
  assert len(expected) > 1
  assert rows == [0, len(expected) - 1, len(expected), len(expected)]
  assert evaluated == [int(row['iteration']) for row in expected]
  assert (tmp_path / 'stopped' / 'metrics.csv').read_bytes() == (
      tmp_path / 'whole' / 'metrics.csv'
  ).read_bytes()


def test_random_steps_that_are_stopped_begin_again(tmp_path, monkeypatch):
  expected = _run(tmp_path / 'whole', 600)
  monkeypatch.setattr(rollout_loop, '_WARM_UP_ROWS', 3)
  warm_up = rollout_loop.RolloutLoop._warm_up
  steps = []

  def stopping(loop, schedule, do):
    def some_steps():
      do()
      steps.append(loop.env_steps)
      if len(steps) == 2:
        os.kill(os.getpid(), signal.SIGTERM)

    return warm_up(loop, schedule, some_steps)

  monkeypatch.setattr(rollout_loop.RolloutLoop, '_warm_up', stopping)
  stopped = _run(tmp_path / 'stopped', 600)
  assert not stopped.finished and stopped.env_steps == 40
  again = _run(tmp_path / 'stopped', 600)
  assert again.finished and again.eval_return == expected.eval_return
  # Three rows of eight environments; of five rows one only begins an episode.
  assert steps == [24, 40, 24, 40, 64]
  for phase in ('train', 'eval'):
    assert _rows(tmp_path / 'stopped', phase) == _rows(
        tmp_path / 'whole', phase
    )


def test_a_run_that_is_killed_after_its_random_steps_keeps_them(
    tmp_path, monkeypatch
):
  _run(tmp_path / 'whole', 600)
  learn = rollout_loop.RolloutLoop._learn
  warm_up = rollout_loop.RolloutLoop._warm_up
  calls = []

  def killed(loop):
    if not calls.count('learn'):
      calls.append('learn')
      raise KeyboardInterrupt
    return learn(loop)

  def counting(loop, *args):
    calls.append('warm up')
    return warm_up(loop, *args)

  monkeypatch.setattr(rollout_loop.RolloutLoop, '_learn', killed)
  monkeypatch.setattr(rollout_loop.RolloutLoop, '_warm_up', counting)
  with pytest.raises(KeyboardInterrupt):
    _run(tmp_path / 'killed', 600)
  assert _run(tmp_path / 'killed', 600).finished
  assert calls == ['warm up', 'learn']
  for phase in ('train', 'eval'):
    assert _rows(tmp_path / 'killed', phase) == _rows(tmp_path / 'whole', phase)


@pytest.mark.parametrize(
    'binding, message',
    [
        ('train_eval.rollout_length = 0', 'rollout_length must be above 0'),
        ('train_eval.learning_rate = -1.0', 'learning_rate must be above 0'),
        ("load_environment.env = 'DeepSee-v0'", 'knows no environment'),
        ('RNDPPOAgent.num_epoch = 1', 'no argument num_epoch'),
        ('RNDPPOAgent.predictor_proportion = 2.0', 'predictor_proportion'),
    ],
)
def test_what_cannot_run_says_so_before_the_first_step(
    tmp_path, binding, message
):
  with pytest.raises(trainer.SetupError, match=message):
    _run(tmp_path, 600, binding)
  assert not (tmp_path / 'metrics.csv').exists()
