# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of studies, most of them with a replacement for train_eval."""

import contextlib
import json
import os
import subprocess
import sys

import pytest

from rnd_agents import errors
from tests import source_tree
from train import trials

pytest.importorskip('optuna')

_SPACE = {
    'a.rate': trials.Values('log_uniform', ['0.01', '1.0']),
    'a.layers': trials.Values('choice', ['(1, 2)', '@b']),
    'a.epochs': trials.Values('integer', ['1', '8']),
}
_SCHEDULE = trials.Schedule(10, 60, 0.9, None)
_TRIALS = 10

# Evaluates six times, with a checkpoint after every second one, and resumes
# from it. A rate above 0.3 diverges, a seed of 8 epochs is solved early.
_STAND_IN = '''
import fcntl, json, math, os, signal, sys, time
flags, bindings = {}, {}
for flag in sys.argv[1:]:
  name, _, value = flag[2:].partition('=')
  flags[name] = value
  if name == 'gin_bindings':
    name, _, value = value.partition(' = ')
    bindings[name] = value
root_dir, seed = flags['root_dir'], int(flags['seed'])
rate, epochs = float(bindings['a.rate']), int(bindings['a.epochs'])
lock = open(os.path.join(root_dir, '.lock'), 'a')
for i in range(500):  # One that is being killed may take a while to end.
  try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    break
  except BlockingIOError:
    time.sleep(0.01)
else:
  sys.exit('in use')
def path(name):
  return os.path.join(root_dir, name)
def write(name, **content):
  with open(path(name) + '.new', 'w') as file:
    json.dump(content, file)
  os.replace(path(name) + '.new', path(name))
with open(path('starts'), 'a') as file:
  file.write('%d\\n' % os.getpid())
rows = []
if os.path.exists(path('checkpoint')):
  with open(path('checkpoint')) as file:
    rows = json.load(file)['rows']
write('run.json', command=[sys.executable] + sys.argv)
write('status.json', state='running')
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit('stopped'))
best = 3 * math.exp(-(math.log10(rate) + 1) ** 2) + epochs / 10
best += len(bindings['a.layers']) / 10
def write_rows():
  with open(path('metrics.csv'), 'w') as file:
    file.write('phase,iteration,env_steps,return_mean,success_rate\\n')
    for row in rows:
      file.write('eval,%d,%d,%r,%r\\n' % tuple(row))
write_rows()
for i in range(len(rows) + 1, 7):
  time.sleep(0.02 * (1 + seed % 2))
  if rate > 0.3 and i > 2 + seed:
    write('status.json', state='failed', message='Diverged: at last')
    sys.exit('diverged')
  value = best * i / 6 + ((seed + 1) * 37 * i % 11) / 20
  solved = epochs == 8 and seed == 1 and i > 2
  rows.append((i, 10 * i + epochs % 3, value, float(solved)))
  write_rows()
  if i % 2 == 0 or i == 6:
    write('checkpoint', rows=rows)
  if solved:
    break
write('status.json', state='finished')
'''

# Starts a study in processes of their own, kills each after a while, and lets
# the last ones end; with two of them, the first is suspended meanwhile.
_DRIVER = '''
import glob, os, random, signal, sys, time
import optuna
from tests.train import study_test
from train import run_processes, study
run_processes._WATCH_INTERVAL_S = 0.01
optuna.storages.get_storage('sqlite:///:memory:')  # Imports what it needs.
num_processes, num_kills, trials = map(int, sys.argv[2:])
def start():
  process = os.fork()
  if not process:
    os.setsid()
    os._exit(study_test.make_study(sys.argv[1]).run(trials))
  return process
random.seed(num_kills)
def num_evaluations():
  files = glob.glob(sys.argv[1] + '/*/*/metrics.csv')
  return sum(len(open(file).readlines()) - 1 for file in files)
for i in range(num_kills):
  process = start()
  while i % 3 and num_evaluations() < 5 * i:
    time.sleep(0.005)
  time.sleep(random.uniform(0, 0.05 if i % 3 else 0.5))
  os.kill(process, signal.SIGTERM if i % 4 == 3 else signal.SIGKILL)
  os.waitpid(process, 0)
process = start()
if num_processes > 1:
  while not glob.glob(sys.argv[1] + '/*/*/starts'):
    time.sleep(0.01)
  os.kill(process, signal.SIGSTOP)  # With a run that has just begun.
  status = os.waitpid(start(), 0)[1]
  os.kill(process, signal.SIGCONT)
  assert not status
assert not os.waitpid(process, 0)[1]
'''


def make_study(root_dir, url=None, **changes):
  """A study of the replacement for train_eval, beside its folder."""
  from train import run_processes
  from train import study

  command = [sys.executable, os.path.join(os.path.dirname(root_dir), 'run.py')]
  search = trials.Search(
      ['x.gin'], ['c.d = 1'], _SPACE, [0, 1], 'return_mean', 20, 28)
  return study.Study(
      search._replace(**changes), root_dir, url, [], _SCHEDULE,
      run_processes.Runner(2, command))


def _drive(folder, num_processes=1, num_kills=0, num_trials=_TRIALS):
  os.makedirs(folder.parent, exist_ok=True)
  (folder.parent / 'run.py').write_text(_STAND_IN)
  done = subprocess.run(
      [sys.executable, '-c', _DRIVER, os.fspath(folder), str(num_processes),
       str(num_kills), str(num_trials)],
      env=dict(os.environ, PYTHONPATH=str(source_tree.ROOT)),
      capture_output=True,
      text=True,
      timeout=300,
  )
  assert not done.returncode, done.stdout + done.stderr
  return done.stdout


def _outcomes(folder):
  """All that a study knows of its trials, but for times."""
  import optuna

  loaded = optuna.load_study(
      study_name=folder.name, storage=f'sqlite:///{folder}/study.db')
  return [
      (each.number, each.state.name, each.params, each.value,
       each.intermediate_values, each.user_attrs)
      for each in loaded.trials
  ]


def _num_starts(folder):
  starts = [path.read_text().split() for path in folder.glob('*/*/starts')]
  return len(starts), sum(map(len, starts))


@pytest.fixture(name='undisturbed', scope='module')
def _undisturbed(tmp_path_factory):
  folder = tmp_path_factory.mktemp('undisturbed') / 'study'
  said = _drive(folder)
  return folder, _outcomes(folder), said


def test_values_are_interquartile_means_and_bad_trials_count(undisturbed):
  folder, outcomes, said = undisturbed
  assert [each[0] for each in outcomes] == list(range(_TRIALS))
  states = {each[1] for each in outcomes}
  ends = [each[5].get('end') for each in outcomes]
  assert states == {'COMPLETE', 'PRUNED'}
  assert {'pruned', 'diverged', None} == set(ends)
  for number, state, params, value, points, attributes in outcomes:
    end = attributes.get('end')
    assert (state == 'PRUNED') == (end is not None)
    assert (end == 'diverged') <= (params['a.rate'] > 0.3)
    assert set(points) <= {10, 20, 30, 40, 50, 60}  # Whatever the epochs.
    if end == 'pruned':
      assert 20 <= max(points) < 60
    if end == 'diverged':  # The first seed evaluates twice.
      assert max(points) == 20
    if end is None:
      assert list(points) == [10, 20, 30, 40, 50, 60]
      last = []
      for seed in range(2):
        path = folder / f'trial_{number:04d}' / f'seed_{seed}' / 'metrics.csv'
        last.append(float(path.read_text().split()[-1].split(',')[3]))
      assert value == points[60] == pytest.approx(sum(last) / 2)
    assert f'Trial {number}, a.rate = {params["a.rate"]}, ' in said
  best = max((each for each in outcomes if each[5] == {}), key=lambda x: x[3])
  written = (folder / 'best.gin').read_text()
  assert written == (
      f"# Trial {best[0]}: return_mean {best[3]:.6g}.\ninclude 'x.gin'\n"
      f'c.d = 1\na.rate = {best[2]["a.rate"]}\n'
      f'a.layers = {best[2]["a.layers"]}\na.epochs = {best[2]["a.epochs"]}\n')
  # Neither a finished run nor a finished trial begins again.
  assert _num_starts(folder) == (2 * _TRIALS, 2 * _TRIALS)


def test_a_study_that_is_killed_ten_times_equals_one_that_is_not(
    undisturbed, tmp_path
):
  _drive(tmp_path / 'study', num_kills=10)
  assert _outcomes(tmp_path / 'study') == undisturbed[1]
  runs, starts = _num_starts(tmp_path / 'study')
  assert runs == 2 * _TRIALS < starts


def test_two_processes_make_exactly_the_trials_that_were_asked_for(tmp_path):
  _drive(tmp_path / 'study', 2, num_trials=5)
  outcomes = _outcomes(tmp_path / 'study')
  assert [each[0] for each in outcomes] == list(range(5))
  # Also that of the process that was suspended, which nobody else took.
  assert {each[1] for each in outcomes} <= {'COMPLETE', 'PRUNED'}


@pytest.fixture(name='folder')
def _folder(tmp_path):
  (tmp_path / 'run.py').write_text(_STAND_IN)
  return tmp_path / 'study'


def test_a_failed_run_is_tried_again_by_the_same_command(folder, capsys):
  program = folder.parent / 'run.py'
  end = "write('status.json', state='finished')"
  assert end in _STAND_IN
  program.write_text(_STAND_IN.replace(end, 'sys.exit("no luck today")'))
  assert make_study(str(folder)).run(1) == 1
  out = capsys.readouterr().out
  assert 'no luck today' in out
  assert 'The same command tries these again' in out
  ((_, state, params, *_),) = _outcomes(folder)
  assert state == 'RUNNING'
  program.write_text(_STAND_IN)
  assert make_study(str(folder)).run(1) == 0
  ((_, state, resumed, *_),) = _outcomes(folder)
  assert (state, resumed) == ('COMPLETE', params)
  assert make_study(str(folder)).run(1) == 0  # Nothing is left to do.
  assert _num_starts(folder) == (2, 4)


def test_a_study_of_something_else_is_refused(folder):
  make_study(str(folder))
  with pytest.raises(errors.InvalidValue, match='begun with seeds = .0, 1.'):
    make_study(str(folder), seeds=[0])
  space = {'a.rate': _SPACE['a.rate']}
  with pytest.raises(errors.InvalidValue, match='begun with space'):
    make_study(str(folder), space=space)


@pytest.mark.parametrize(
    ('url', 'reason'),
    [
        ('here', 'URL'),
        ('mysql+nodriver://me:secret@host/x', 'nodriver'),
        ('sqlite:////no/such/folder/study.db', 'unable to open'),
        (None, 'not a database'),
    ],
)
def test_a_database_that_cannot_be_used(folder, url, reason):
  folder.mkdir()
  (folder / 'study.db').write_text('something else')
  with pytest.raises(errors.SetupError, match=reason) as caught:
    make_study(str(folder), url)
  said = str(caught.value)
  assert 'database of the study' in said and '\n' not in said
  assert 'secret' not in said


def test_a_database_that_is_lost_on_the_way(folder):
  # The first run takes it away.
  (folder.parent / 'run.py').write_text(
      _STAND_IN + f'\nopen({os.fspath(folder / "study.db")!r}, "w").write("x")')
  with pytest.raises(errors.SetupError, match='same command continues'):
    make_study(str(folder)).run(2)


def test_a_metric_that_runs_do_not_have(folder):
  # Said before the second evaluation, and raised after the last one.
  loop = 'for i in range(len(rows) + 1, 7):\n'
  assert loop in _STAND_IN
  (folder.parent / 'run.py').write_text(_STAND_IN.replace(
      loop, f'{loop}  while i == 2 and not os.path.exists('
      f'{os.fspath(folder / "said")!r}):\n    time.sleep(0.01)\n'))
  said = []

  class Output:

    def write(self, text):
      said.append(text)
      if 'no value of' in text:
        (folder / 'said').touch()

    def flush(self):
      pass

  with contextlib.redirect_stdout(Output()), pytest.raises(
      errors.InvalidValue, match='It has return_mean, success'):
    make_study(str(folder), metric='returns').run(1)
  (told,) = [text for text in said if 'no value of' in text]
  assert "'returns'" in told and 'It has return_mean, success_rate' in told


@pytest.mark.parametrize('silent', [(1,), (0,), (0, 1)])
def test_an_evaluation_without_a_success_counts_as_0(folder, capsys, silent):
  """Runs report successes only: from the third evaluation on, or never."""
  text = _STAND_IN
  for old, new in [
      ('float(solved)', f'"" if seed in {silent} or i < 3 else i / 10'),
      (',%r,%r', ',%r,%s'),
  ]:
    assert text.count(old) == 1
    text = text.replace(old, new)
  (folder.parent / 'run.py').write_text(text)
  values = {'a.rate': '0.1', 'a.layers': '@b', 'a.epochs': '1'}
  space = {
      name: trials.Values('choice', [x]) for name, x in values.items()}
  search = dict(metric='success_rate', space=space)
  assert make_study(str(folder), **search).run(1) == 0
  ((_, state, _, value, points, attributes),) = _outcomes(folder)
  share = 1 - len(silent) / 2  # Of two seeds the mean.
  expected = [0, 0, 0.3 * share, 0.4 * share, 0.5 * share, 0.6 * share]
  assert (state, attributes) == ('COMPLETE', {})
  assert list(points) == [10, 20, 30, 40, 50, 60]
  assert list(points.values()) == pytest.approx(expected)
  assert value == points[60]
  said = capsys.readouterr().out
  assert ('no run has reported success_rate' in said) == (len(silent) == 2)


def test_a_run_that_reached_its_return_is_over(tmp_path):
  rows = 'phase,iteration,env_steps,return_mean\neval,1,12,1.5\neval,2,21,2\n'
  (tmp_path / 'metrics.csv').write_text(rows)
  schedule = _SCHEDULE._replace(stop_at_success_rate=None, stop_at_return=2.0)
  points, _ = trials.read_points([str(tmp_path)], 'return_mean', schedule)
  assert points == [(10, 1.5, False), (20, 2.0, True)]


# By seed: rows of (env_steps, value, success), and how the run ended.
@pytest.mark.parametrize(
    ('runs', 'points', 'is_over'),
    [
        ([([(12, 1.0, 0)], ''), ([(12, 3.0, 0), (21, 0.0, 0)], '')],
         [(10, 2.0, False)], False),
        # An iteration of seed 0 passed step 20.
        ([([(12, 1.0, 0), (30, 2.0, 0)], ''),
          ([(12, 3.0, 0), (21, 9.0, 0), (30, 4.0, 0)], '')],
         [(10, 2.0, False), (30, 3.0, False)], False),
        ([([(12, 1.0, 1)], ''), ([(12, 3.0, 0), (61, 5.0, 0)], '')],
         [(10, 2.0, False), (60, 3.0, True)], False),
        ([([(12, 1.0, 0)], 'Diverged: x'), ([(12, 3.0, 0)], '')],
         [(10, 2.0, False)], False),
        ([([(12, 1.0, 0)], 'Diverged: x'), ([(12, 3.0, 0), (20, 1.0, 0)], '')],
         [(10, 2.0, False)], True),
        ([([], 'Diverged: x'), ([(12, 3.0, 0)], '')], [], True),
        ([([], 'RunError: x'), ([(12, 3.0, 0)], '')], [], False),
        ([([], ''), ([], '')], [], False),
    ],
)
def test_points(tmp_path, runs, points, is_over):
  folders = []
  for i, (rows, message) in enumerate(runs):
    folder = tmp_path / str(i)
    folder.mkdir()
    text = ''.join(f'eval,1,{s},{v},{w}\n' for s, v, w in rows)
    if rows:
      (folder / 'metrics.csv').write_text(
          f'phase,iteration,env_steps,x,success_rate\n{text}')
    (folder / 'status.json').write_text(json.dumps(dict(message=message)))
    folders.append(str(folder))
  assert trials.read_points(folders, 'x', _SCHEDULE) == (points, is_over)
