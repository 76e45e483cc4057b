# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of sharing policies, with a replacement for the Hugging Face Hub."""

import json
import os
import re
import sys

import numpy as np
import pytest

from rnd_agents.plotting import statistics
from tests import command_lines
from tests.train import saved_poles
from tests.train import stand_in_hub
from train import evaluate
from train import share

_LIMIT = 100
_CONFIG = f"""
eval/load_environment.env = 'CartPole-v1'
eval/load_environment.max_episode_steps = {_LIMIT}
# Macros:
HOST = 'secret@localhost:5000'
TRACKING = %HOST
mine/URL = 'secret'
MORE = @of_more/Recorder()
of_more/Recorder.token = 'secret'
KEPT = 40
of_mine/KEPT = 41
MLflowLogger.tracking_uri = %TRACKING
MLflowLogger.experiment_name = \\
    'secret'
train_eval.loggers = [@MLflowLogger(), \\
    @TensorBoardLogger(), @mine/my_module.Tracker(), %MORE]
train_eval.num_env_steps = %KEPT
train_eval.warm_up_env_steps = %of_mine/KEPT
mine/Tracker.token = 'secret'
mine/Tracker.url = %mine/URL
"""
_RENAMED = b'{"agent_pos": "agent pos"}'
_SECRETS = ('secret', 'Logger', 'hostname')


@pytest.fixture(name='runs', scope='module')
def _runs(tmp_path_factory):
  """Four seeds of an experiment, and a run of another one, side by side."""
  folder = tmp_path_factory.mktemp('runs')
  for seed, value, size in [(0, 4, 8), (1, 5, 8), (2, 9, 8), (3, 6, 8),
                            (9, 99, 16)]:
    run = folder / f'seed_{seed}'
    run.mkdir()
    (run / 'metrics.csv').write_text(
        'phase,iteration,env_steps,return_mean\n'
        f'eval,1,20,1\neval,2,40,{value}\n')
    settings = {'--seed': str(seed), 'a.b': str(size),
                'eval/load_environment.env': "'CartPole-v1'"}
    (run / 'run.json').write_text(json.dumps(dict(
        seed=seed, settings=settings, machine='hostname',
        packages=dict(tensorflow='2.21.0'))))
    (run / 'status.json').write_text('{"state": "finished"}')
  run = saved_poles.save(folder / 'seed_2', _CONFIG)
  (run / 'policies' / 'renamed_keys.json').write_bytes(_RENAMED)
  (run / 'learning_curve.png').write_bytes(b'picture')
  (run / 'videos').mkdir()
  for i, name in enumerate(['old.mp4', 'new.mp4']):
    (run / 'videos' / name).write_bytes(name.encode())
    os.utime(run / 'videos' / name, (i + 1, i + 1))
  return folder


@pytest.fixture(name='hub')
def _hub(tmp_path, monkeypatch):
  """A hub that a fresh import of huggingface_hub talks to."""
  pytest.importorskip('huggingface_hub')

  def forget():
    for name in list(sys.modules):
      if name.partition('.')[0] == 'huggingface_hub':
        del sys.modules[name]

  with stand_in_hub.served() as hub:
    for name, value in dict(
        HF_ENDPOINT=hub.url, HF_HOME=os.fspath(tmp_path / 'home'),
        HF_TOKEN=stand_in_hub.TOKEN, HF_HUB_DISABLE_TELEMETRY='1',
        HF_HUB_DISABLE_PROGRESS_BARS='1').items():
      monkeypatch.setenv(name, value)
    forget()
    yield hub
    forget()


def test_a_shared_policy_is_fetched_and_plays(runs, hub, tmp_path, capsys):
  run = runs / 'seed_2'
  assert command_lines.call(
      share, '--run_dir', run, '--repo_id=me/poles', '--private') == 0
  out = capsys.readouterr().out
  assert f'{hub.url}/me/poles' in out
  assert '--policy_dir=hf://me/poles' in out
  files = hub.repositories['me/poles'][-1]
  assert hub.are_private['me/poles']
  for path in (run / 'policies' / 'policy').rglob('*'):
    if path.is_file():
      assert files[path.relative_to(run).as_posix()] == path.read_bytes()
  assert files['policies/renamed_keys.json'] == _RENAMED
  assert files['replay.mp4'] == b'new.mp4'
  assert files['learning_curve.png'] == b'picture'
  results = json.loads(files['results.json'])
  low, high = statistics.bootstrap_interval(np.array([9.0, 4.0, 5.0, 6.0]))
  assert results == dict(return_mean=dict(
      iqm=5.5, interval=[low, high], seeds=4, env_steps=40, of_this_run=9.0))
  card = files['README.md'].decode()
  assert '| return_mean | 5.5 (' in card
  assert '![learning_curve.png](learning_curve.png)' in card
  for content in files.values():
    assert not [secret for secret in _SECRETS if secret.encode() in content]
  for line in (b'KEPT = 40', b'train_eval.num_env_steps = %KEPT',
               b'of_mine/KEPT = 41'):
    assert line in files['operative_config.gin']

  csv = tmp_path / 'episodes.csv'
  argv = ['--policy_dir=hf://me/poles', '--episodes=2', '--csv', csv]
  assert command_lines.call(evaluate, *argv) == 0
  lengths = [line.split(',')[2] for line in csv.read_text().split()[1:]]
  assert lengths == [str(saved_poles.play(i, _LIMIT)[0]) for i in range(2)]
  revision = re.search(r'hf://me/poles@(\w+)', capsys.readouterr().out)[1]

  # What the card says to load it.
  block, = re.findall(r'```python\n(.*?)```', card, re.S)
  exec(block, {})  # pylint: disable=exec-used
  assert 'tf.Tensor' in capsys.readouterr().out

  # Another upload replaces the policy, and the earlier one is still there.
  hub.repositories['me/poles'].append(
      files | {'policies/policy/stale': b'', 'notes': b'mine'})
  assert command_lines.call(
      share, '--run_dir', run, '--repo_id=me/poles') == 0
  assert 'policies/policy/stale' not in hub.repositories['me/poles'][-1]
  assert hub.repositories['me/poles'][-1]['notes'] == b'mine'
  assert share.fetch(f'hf://me/poles@{revision}').endswith('policies/policy')


def test_mistakes_end_with_one_sentence(runs, hub, capsys, monkeypatch):
  run = os.fspath(runs / 'seed_2')

  def complaint(program, *argv):
    status = command_lines.call(program, *argv)
    error = capsys.readouterr().err.strip()
    assert status and '\n' not in error
    return error

  assert 'cannot be fetched: ' in complaint(
      evaluate, '--policy_dir=hf://me/nothing')
  assert 'hf://OWNER/NAME' in complaint(evaluate, '--policy_dir=hf://me')
  assert 'has no policies/best_policy' in complaint(
      share, '--run_dir', run, '--repo_id=me/x', '--policy=best_policy')
  for name in ('m e/x', 'x'):
    assert 'must be OWNER/NAME' in complaint(
        share, '--run_dir', run, f'--repo_id={name}')
  hub.shutdown()
  hub.server_close()
  assert 'cannot be uploaded' in complaint(
      share, '--run_dir', run, '--repo_id=me/x')
  monkeypatch.setitem(sys.modules, 'huggingface_hub', None)
  for program, argv in [
      (share, ['--run_dir', run, '--repo_id=me/x']),
      (evaluate, ['--policy_dir=hf://me/x']),
  ]:
    assert 'pip install "rnd_agents[share]"' in complaint(program, *argv)


def test_one_seed_has_no_interval(runs):
  from train import model_card

  result = model_card.read_results(os.fspath(runs / 'seed_9'), 'policy')
  result = result['return_mean']
  assert result == (99.0, None, 1, 40, 99.0)
  assert 'no interval' in str(result)
  # The best one may be an earlier evaluation.
  with open(runs / 'seed_9' / 'metrics.csv', 'a') as file:
    file.write('eval,3,60,7\n')
  result = model_card.read_results(os.fspath(runs / 'seed_9'), 'best_policy')
  assert result['return_mean'] == (99.0, None, 1, 40, 99.0)


def _write_run(folder, rows):
  """A finished run that evaluates each 1000 steps: (return, success rate)."""
  folder.mkdir(parents=True)
  lines = [
      f'eval,{i},{1000 * i},{return_},{success}\n'
      for i, (return_, success) in enumerate(rows, start=1)]
  (folder / 'metrics.csv').write_text(
      'phase,iteration,env_steps,return_mean,success_rate\n' + ''.join(lines))
  (folder / 'run.json').write_text('{"settings": {"a": "1"}}')
  (folder / 'status.json').write_text('{"state": "finished"}')


# An environment may report successes only: cells before the first are empty.
@pytest.mark.parametrize(
    ('runs', 'policy', 'expected'),
    [
        # Per run: (return_mean, success_rate). Then steps and success rates.
        ([[(0.0, ''), (0.9, 1.0), (0.5, 0.5), (0.4, 0.3)]], 'policy',
         (4000, [0.3])),
        ([[(0.0, ''), (0.9, 1.0), (0.5, 0.5), (0.4, 0.3)]], 'best_policy',
         (2000, [1.0])),
        ([[(0.0, ''), (0.5, 0.5), (0.9, 1.0)]], 'best_policy', (3000, [1.0])),
        ([[(0.7, ''), (0.5, 0.5)]], 'best_policy', (1000, [0.0])),
        ([[(0.0, ''), (0.9, 1.0)], [(0.0, ''), (0.0, '')]], 'policy',
         (2000, [1.0, 0.0])),
        ([[(0.0, ''), (0.0, '')], [(0.0, ''), (0.9, 1.0)]], 'policy',
         (2000, [0.0, 1.0])),
    ],
)
def test_an_evaluation_without_a_success_counts_as_0(
    tmp_path, runs, policy, expected
):
  from train import model_card

  for seed, rows in enumerate(runs):
    _write_run(tmp_path / f'seed_{seed}', rows)
  results = model_card.read_results(os.fspath(tmp_path / 'seed_0'), policy)
  env_steps, rates = expected
  found = results['success_rate']
  assert found.iqm == sum(rates) / len(rates)
  assert found[2:] == (len(rates), env_steps, rates[0])
  assert results['return_mean'].env_steps == env_steps


def test_an_environment_that_reports_no_success_has_no_success_rate(tmp_path):
  from train import model_card

  _write_run(tmp_path / 'seed_0', [(0.0, ''), (3.0, '')])
  folder = os.fspath(tmp_path / 'seed_0')
  assert model_card.read_results(folder, 'policy') == dict(
      return_mean=(3.0, None, 1, 2000, 3.0))


def test_a_card_says_which_evaluation_its_results_are_of(runs):
  from train import model_card

  run = os.fspath(runs / 'seed_2')
  found = {}
  for policy in ('policy', 'best_policy', 'collect_policy'):
    results = model_card.read_results(run, policy)
    card = model_card.render(run, policy, 'me/x', results, [])
    (line,) = re.findall('^Interquartile mean of (.*)', card, re.M)
    found[policy] = line
  assert found['policy'] == (
      'the last evaluation over the seeds of the experiment, with')
  assert found['best_policy'].startswith('the best evaluation of each run')
  assert found['collect_policy'].startswith('the last evaluation, of `policy`')
