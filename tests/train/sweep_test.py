# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of sweeps, most of them with a replacement for train_eval."""

import fcntl
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from absl import flags
import gin
import pytest

from rnd_agents import errors
from tests import command_lines
from tests import source_tree
from tests import tiny_runs
from tests.train import binaries
from train import run_processes
from train import sweep

# Writes what train_eval writes. A run named bad fails, one named slow waits for
# a signal, saves and ends as train_eval does, the first named pair waits for
# another one; each start leaves a mark, and fails where the one before goes on.
_STAND_IN = '''
import fcntl, glob, json, os, shutil, signal, sys, time
flags = dict(flag[2:].split('=', 1) for flag in sys.argv[1:])
root_dir = flags['root_dir']
lock = open(os.path.join(root_dir, '.lock'), 'a')
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
def write(name, **content):
  with open(os.path.join(root_dir, name), 'w') as file:
    json.dump(content, file)
with open(os.path.join(root_dir, 'starts'), 'a') as file:
  file.write('%d %f\\n' % (os.getpid(), time.time()))
write('run.json', command=[sys.executable] + sys.argv)
write('status.json', state='running', num_env_steps=200)
print('threads', os.environ['OMP_NUM_THREADS'])
print('own session', os.getsid(0) == os.getpid())  # Out of Ctrl-C's reach.
def stop(number, frame):
  write('status.json', state='stopped')
  with open(os.path.join(root_dir, 'saved'), 'w'):
    pass
  sys.exit(1)
if not os.path.exists('unready'):
  signal.signal(signal.SIGTERM, stop)
with open(os.path.join(root_dir, 'metrics.csv'), 'w') as file:
  file.write('phase,iteration,env_steps,return_mean\\neval,1,50,7\\n')
if 'bad' in root_dir and not os.path.exists('fixed'):
  sys.exit('no such\\nluck today')
if 'gone' in root_dir:
  shutil.rmtree(root_dir)
  sys.exit(1)
if 'killed' in root_dir:
  os.kill(os.getpid(), signal.SIGKILL)
deadline = time.time() + 60
while 'pair' in root_dir and len(glob.glob('out/pair/*/starts')) < 2:
  assert time.time() < deadline
  time.sleep(0.01)
waits = 'slow' in root_dir and not os.path.exists('fixed')
if 'lost' in root_dir:
  with open(os.path.join(root_dir, 'starts')) as file:
    waits = len(file.readlines()) == 1
time.sleep(60 if waits else 0.3)
with open(os.path.join(root_dir, 'ends'), 'a') as file:
  file.write('%f\\n' % time.time())
write('status.json', state='finished', num_env_steps=200)
'''

_needs_ray = pytest.mark.skipif(
    importlib.util.find_spec('ray') is None, reason='It needs Ray.'
)


@pytest.fixture(name='command')
def _command(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'stand_in.py').write_text(_STAND_IN)
  return [sys.executable, str(tmp_path / 'stand_in.py')]


def _run(jobs, num_jobs, command):
  return sweep.run_sweep(
      jobs, run_processes.Runner(num_jobs, command)
  )


def _jobs(names, seeds, root_dir='out'):
  return sweep.make_jobs({name: [] for name in names}, seeds, root_dir)


def _starts(job):
  with open(os.path.join(job.root_dir, 'starts'), encoding='utf-8') as file:
    return len(file.readlines())


@pytest.mark.parametrize(
    ('text', 'seeds'),
    [
        ('4', [4]),
        ('0-3', [0, 1, 2, 3]),
        ('0,3,5', [0, 3, 5]),
        ('7,0-2', [7, 0, 1, 2]),
        ('0-2, 1-3', [0, 1, 2, 3]),
    ],
)
def test_seeds(text, seeds):
  assert sweep.parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', "'' is neither"),
        ('1,a', "'a' is neither"),
        ('-1', "'-1' is neither"),
        ('3-', "'3-' is neither"),
        ('5-2', "'5-2' is neither"),
    ],
)
def test_bad_seeds(text, message):
  with pytest.raises(sweep.SweepError, match=message):
    sweep.parse_seeds(text)


def test_jobs_are_gin_files_times_seeds():
  jobs = sweep.make_jobs(
      {'x/a.gin': ['x/a.gin', '/c.gin'], 'b': ['/b.gin']}, [0, 2], 'out',
      ['q.r = 1'])
  assert [job.root_dir for job in jobs] == [
      'out/a/seed_0', 'out/b/seed_0', 'out/a/seed_2', 'out/b/seed_2']
  assert jobs[2].name == 'a seed 2'
  assert jobs[2].flags == [
      '--gin_file=x/a.gin', '--root_dir=out/a/seed_2', '--seed=2',
      '--gin_bindings=q.r = 1']
  assert jobs[2].gin_files == ['x/a.gin', '/c.gin']
  with pytest.raises(sweep.SweepError, match='named a, .* folder out/a: '):
    _jobs(['x/a.gin', 'y/a'], [0])


@pytest.mark.parametrize(
    ('text', 'values'),
    [
        ('0.01,0.001', ['0.01', '0.001']),
        (' (64, 64), (8,) ', ['(64, 64)', '(8,)']),
        ("'a,b', @c(), [1, {'d': (2, 3)}]",
         ["'a,b'", '@c()', "[1, {'d': (2, 3)}]"]),
        ("'(', 2", ["'('", '2']),
        ('', ['']),
    ],
)
def test_values_between_commas(text, values):
  assert sweep.split_values(text) == values


def test_jobs_are_all_combinations_of_varied_values():
  variants = sweep.parse_variants(['a.x=1,(2, 3)', 'B = @c, 1e-3'])
  jobs = sweep.make_jobs({'d.gin': []}, [0, 1], 'out', ['e=4'], variants)
  assert [job.root_dir for job in jobs[:4]] == [
      'out/d,x=1,B=c/seed_0', 'out/d,x=1,B=1e-3/seed_0',
      'out/d,x=2_3,B=c/seed_0', 'out/d,x=2_3,B=1e-3/seed_0']
  assert len(jobs) == len({job.root_dir for job in jobs}) == 8
  assert jobs[3].flags[3:] == [
      '--gin_bindings=e=4', '--gin_bindings=a.x=(2, 3)',
      '--gin_bindings=B=1e-3']
  with pytest.raises(sweep.SweepError, match='share the folder'):
    sweep.make_jobs({'d': []}, [0], 'out', (), [['x=@a'], ['x="a"']])


@pytest.mark.parametrize('text', ['a.b', '=1', 'a.b=', 'a.b=1,,2'])
def test_bad_values(text):
  with pytest.raises(sweep.SweepError, match='write a name and values'):
    sweep.parse_variants([text])


def test_one_fails_the_others_go_on_and_the_same_command_retries(
    command, tmp_path, capsys, monkeypatch
):
  for name in run_processes.THREADS:  # What the user sets stays.
    monkeypatch.setenv(name, '3')
  jobs = _jobs(['good', 'bad', 'killed'], [0, 1])
  assert _run(jobs, 2, command) == 1
  out = capsys.readouterr().out
  assert out.startswith(
      '6 runs: 0 finished before, 6 to go, 2 at a time with 3 threads each'
  )
  assert 'good seed 1: finished\n' in out
  assert (
      '  exit status 1, out/bad/seed_0/sweep.log ends:\n'
      '  threads 3\n'
      '  own session True\n  no such\n  luck today\n'
  ) in out
  assert 'killed by SIGKILL, out/killed/seed_1/sweep.log ends:' in out
  assert out.endswith(
      '\nNot finished:\n'
      '  bad seed 0: failed, see out/bad/seed_0/sweep.log\n'
      '  killed seed 0: failed, see out/killed/seed_0/sweep.log\n'
      '  bad seed 1: failed, see out/bad/seed_1/sweep.log\n'
      '  killed seed 1: failed, see out/killed/seed_1/sweep.log\n'
      'The same command tries these again and skips the others.\n')

  # The lines of the second attempt, and not those of the first one with them.
  assert _run([jobs[1]], 1, command) == 1
  out = capsys.readouterr().out
  assert out.count('no such') == out.count('luck today') == 1
  assert 'sweep.log ends:\n  threads' in out

  (tmp_path / 'fixed').touch()
  assert _run(jobs[:2] + jobs[3:5], 2, command) == 0
  assert [_starts(job) for job in jobs] == [1, 3, 1, 1, 2, 1]
  out = capsys.readouterr().out
  assert out.startswith('4 runs: 2 finished before, 2 to go')
  assert 'failed' not in out


def test_folders_that_are_gone_or_cannot_be_made_stop_no_other(
    command, tmp_path, capsys
):
  (tmp_path / 'out').mkdir()
  (tmp_path / 'out' / 'file').touch()
  assert _run(_jobs(['gone', 'file', 'good'], [0]), 1, command) == 1
  out = capsys.readouterr().out
  assert 'gone seed 0: failed\n  [Errno 2] No such file or directory' in out
  assert 'file seed 0: failed\n  [Errno 20] Not a directory' in out
  assert 'good seed 0: finished\n' in out


def test_no_more_than_the_jobs_at_a_time(command):
  jobs = _jobs(['pair'], range(5))
  assert _run(jobs, 2, command) == 0
  events = []
  for job in jobs:
    for name, change in (('starts', 1), ('ends', -1)):
      with open(os.path.join(job.root_dir, name), encoding='utf-8') as file:
        events.append((float(file.read().split()[-1]), change))
  level = highest = 0
  for _, change in sorted(events):
    level += change
    highest = max(highest, level)
  assert highest == 2


def test_what_is_finished_runs_again_when_its_settings_differ(
    command, tmp_path
):
  gin_file, included = tmp_path / 'a.gin', tmp_path / 'b.gin'
  gin_file.touch()
  included.touch()

  def jobs(*bindings):
    return sweep.make_jobs(
        {'a.gin': [gin_file, included]}, [0], 'out', bindings
    )

  job, = jobs()
  for wanted in (1, 1):
    _run(jobs(), 1, command)
    assert _starts(job) == wanted
  _run(jobs('train_eval.num_env_steps = 9'), 1, command)
  assert _starts(job) == 2
  _run(jobs('train_eval.num_env_steps = 9'), 1, command)
  assert _starts(job) == 2
  for wanted, file in ((3, gin_file), (4, included)):
    later = time.time() + 5
    os.utime(file, (later, later))  # Edited.
    _run(jobs('train_eval.num_env_steps = 9'), 1, command)
    assert _starts(job) == wanted
    os.utime(file, (1, 1))


def test_settings_are_of_included_files_too(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'x').mkdir()
  (tmp_path / 'x' / 'a.gin').write_text("include 'b.gin'\n")
  (tmp_path / 'x' / 'b.gin').write_text("include 'cartpole.gin'\n")
  try:
    paths = sweep.read_settings(['x/a.gin', 'cartpole'], [])
  finally:
    gin.clear_config()
  first, second = paths['x/a.gin'], paths['cartpole']
  names = ['x/a.gin', os.fspath(tmp_path / 'x' / 'b.gin')]
  assert first == [*names, *second]
  assert os.path.basename(second[0]) == 'cartpole.gin'
  assert all(os.path.isabs(path) for path in second)


# Three at a time for Ray, which has two CPUs for them.
_HERE = '2, processes=None'
_ON_RAY = '3, processes=run_processes.RayRuns("local", "", 1, 2)'


def _sweep_process(tmp_path, where=_HERE):
  """A sweep of two slow runs and a third one, in a process of its own."""
  code = (
      'import sys\nfrom train import run_processes\nfrom train import sweep\n'
      'jobs = sweep.make_jobs({"slow": []}, [0, 1, 2], "out")\n'
      'command = [sys.executable, "stand_in.py"]\n'
      f'runner = run_processes.Runner({where}, command=command)\n'
      'sys.exit(sweep.run_sweep(jobs, runner))\n'
  )
  process = subprocess.Popen(
      [sys.executable, '-c', code],
      cwd=tmp_path,
      env=dict(os.environ, PYTHONPATH=str(source_tree.ROOT)),
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      start_new_session=True,
      # A shell has its background jobs ignore Ctrl-C, and what they start.
      preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
  )
  deadline = time.monotonic() + 60
  while len(list(tmp_path.glob('out/slow/*/metrics.csv'))) < 2:
    assert time.monotonic() < deadline
    time.sleep(0.05)
  return process


@pytest.mark.parametrize(
    ('number', 'where'),
    [
        (signal.SIGINT, _HERE),
        (signal.SIGTERM, _HERE),
        pytest.param(signal.SIGINT, _ON_RAY, marks=_needs_ray),
    ],
)
def test_a_signal_stops_the_runs_and_the_same_command_goes_on(
    command, tmp_path, number, where
):
  process = _sweep_process(tmp_path, where)
  os.killpg(process.pid, number)  # As a terminal does.
  out, error = process.communicate(timeout=60)
  assert process.returncode == 128 + number
  assert f'{number.name}: runs are saving' in error
  assert f'Stopped by {number.name}, 1 runs have not begun.' in out
  assert re.findall(r'  slow seed (\d): (\w+)', out) == [
      ('0', 'stopped'), ('1', 'stopped')]
  assert len(list(tmp_path.glob('out/slow/*/saved'))) == 2
  assert not (tmp_path / 'out' / 'slow' / 'seed_2').exists()
  (tmp_path / 'fixed').touch()
  assert _run(_jobs(['slow'], [0, 1, 2]), 2, command) == 0


def test_runs_end_with_a_sweep_that_is_killed(command, tmp_path):
  process = _sweep_process(tmp_path)
  process.kill()
  process.communicate()
  (tmp_path / 'fixed').touch()
  for path in tmp_path.glob('out/slow/*/.lock'):
    begun = time.monotonic()
    with open(path, 'a', encoding='utf-8') as lock:
      fcntl.flock(lock, fcntl.LOCK_EX)
    assert time.monotonic() - begun < 45  # The runs would take a minute.
  assert _run(_jobs(['slow'], [0, 1]), 2, command) == 0
  assert not list(tmp_path.glob('out/slow/*/saved'))  # Nothing told them.
  assert [_starts(job) for job in _jobs(['slow'], [0, 1])] == [2, 2]


@pytest.mark.parametrize(
    ('find_parent', 'status'),
    [(os.getpid, 0), (os.getppid, -signal.SIGKILL)],
)
def test_a_run_whose_sweep_was_killed_while_it_began_ends(find_parent, status):
  # Of a parent that has ended the system tells nothing any more.
  run = subprocess.run(
      [sys.executable, '-c', ''],
      preexec_fn=run_processes._ends_with(find_parent()),
  )
  assert run.returncode == status


def test_a_run_that_is_not_ready_to_save_is_stopped_and_not_failed(
    command, tmp_path
):
  (tmp_path / 'unready').touch()  # As while TensorFlow is loading.
  process = _sweep_process(tmp_path)
  process.terminate()
  out, _ = process.communicate(timeout=60)
  assert re.findall(r'  slow seed (\d): (\w+)', out) == [
      ('0', 'stopped'), ('1', 'stopped')]
  assert 'failed' not in out


@pytest.mark.parametrize(
    ('argv', 'message'),
    [
        (('--gin_file=a', '--seeds=x'), "'x' is neither"),
        (('--gin_file=nope',), "no gin file 'nope'"),
        (
            ('--gin_file=cartpole', '--gin_bindings=train_eval.sead = 1'),
            "'sead'",
        ),
        (('--gin_file=cartpole', '--vary=train_eval.seat=1,2'), "'seat'"),
        # In --root_dir=~/x no shell does it.
        (('--gin_file=cartpole', '--root_dir=~/file'), "{home}/file'"),
    ],
)
def test_mistakes_end_with_one_sentence(
    tmp_path, monkeypatch, capsys, argv, message
):
  # The process that reads gin files would import TensorFlow.
  context = tiny_runs.context()
  monkeypatch.setattr(sweep.multiprocessing, 'get_context', lambda _: context)
  monkeypatch.chdir(tmp_path)
  monkeypatch.setenv('HOME', os.fspath(tmp_path))
  (tmp_path / 'file').touch()
  assert command_lines.call(sweep, *argv) == 2
  error = capsys.readouterr().err.strip()
  assert error.startswith('sweep: ')
  assert message.format(home=tmp_path) in error
  assert '\n' not in error
  assert os.listdir(tmp_path) == ['file']


@pytest.mark.parametrize(
    ('argv', 'message'),
    [
        ((), '--gin_file must have a value'),
        (('--gin_file=a', '--jobs=0'), '--jobs=0'),
    ],
)
def test_wrong_flags(argv, message):
  with pytest.raises(flags.Error, match=message):
    command_lines.call(sweep, *argv)


def test_a_real_sweep(tmp_path, monkeypatch):
  bindings = [
      'train_eval.num_env_steps = 100',
      'train_eval.warm_up_env_steps = 64',
      'train_eval.num_environments = 4',
      'OnPolicyTraining.rollout_length = 16',
      'train_eval.num_eval_episodes = 2',
      # `evaluate_test.py` and `pictures_test.py` have videos.
      'train_eval.record_video = False',
  ]
  result = binaries.start(
      tmp_path, 'train.sweep', '--gin_file=cartpole', '--seeds=3',
      '--root_dir=my runs',
      *(f'--gin_bindings={binding}' for binding in bindings),
  )
  assert result.returncode == 0, result.stdout + result.stderr
  assert '1 runs: 0 finished before, 1 to go' in result.stdout
  assert 'cartpole seed 3: finished\n' in result.stdout
  drawing = "rnd_agents.plotting 'my runs/cartpole' --out 'my runs/curves.png'"
  assert drawing in result.stdout
  # TensorFlow 2.21 writes these whatever TF_CPP_MIN_LOG_LEVEL says.
  by_tensorflow = re.compile(r'[IW]0000 |WARNING: All log messages before absl')
  said = result.stderr.splitlines()
  assert not [line for line in said if not by_tensorflow.match(line)]
  root_dir = tmp_path / 'my runs' / 'cartpole' / 'seed_3'
  said = (root_dir / 'sweep.log').read_text()
  assert "tensorboard --logdir='my runs/cartpole/seed_3'" in said
  assert 'Mean return of the last evaluation:' in said
  assert (root_dir / 'learning_curve.png').exists()
  operative = (root_dir / 'operative_config.gin').read_text()
  assert all(binding in operative for binding in bindings)
  # What the run left can demonstrate.
  episodes = binaries.demonstrate(
      root_dir / 'policies' / 'policy', tmp_path / 'demos.tfrecord'
  )
  for episode in episodes:  # CartPole pays 1 a step.
    assert episode.reward[:-1].sum() == len(episode.step_type) - 1 > 5
  monkeypatch.chdir(tmp_path)
  # Of what train_eval itself wrote; with other settings it is not finished.
  (job,) = sweep.make_jobs({'cartpole': []}, [3], 'my runs', bindings)
  assert job.is_finished()
  assert not job._replace(flags=job.flags[:-1]).is_finished()


@_needs_ray
def test_on_ray_what_is_lost_begins_again(
    command, tmp_path, capsys, monkeypatch
):
  monkeypatch.setattr(run_processes, '_MAX_RETRIES', 3)
  runs = run_processes.RayRuns('local', '', 1, 2)
  try:
    _lose_a_machine(runs, command)
    capsys.readouterr()
    jobs = _jobs(['good', 'bad', 'killed'], [0])
    assert sweep.run_sweep(
        jobs, run_processes.Runner(3, command, runs)
    ) == 1
    assert [_starts(job) for job in jobs] == [1, 1, 4]
    out = capsys.readouterr().out
    assert 'good seed 0: finished\n' in out
    assert '  exit status 1, out/bad/seed_0/sweep.log ends:\n' in out
    assert '  threads 1\n  own session True\n  no such\n  luck today\n' in out
    assert 'killed by SIGKILL, out/killed/seed_0/sweep.log ends:' in out

    marker, = tmp_path.glob('.sweep_*')
    marker.unlink()  # As on a machine that has not mounted the folder.
    assert sweep.run_sweep(
        _jobs(['a', 'b'], [0]), run_processes.Runner(1, command, runs)
    ) == 2
    out = capsys.readouterr().out
    assert re.search(
        rf'a seed 0: failed\n  The machine \S+ does not have {marker}: .*mount',
        out,
    )
    assert '1 runs have not begun.' in out
    assert not (tmp_path / 'out' / 'a').exists()
  finally:
    runs.close()


def _lose_a_machine(runs, command):
  """Asserts that a run begins again after its machine was lost."""
  jobs = _jobs(['fine', 'lost'], [0])
  lost = []

  def kill():
    """Kills the process of Ray's that waits for the run, not the run."""
    path = os.path.join(jobs[1].root_dir, 'starts')
    while not os.path.exists(path) or not os.path.getsize(path):
      time.sleep(0.05)
    with open(path, encoding='utf-8') as file:
      run = int(file.read().split()[0])
    with open(f'/proc/{run}/stat', encoding='utf-8') as file:
      parent = int(file.read().rpartition(')')[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    lost.append(run)

  threading.Thread(target=kill, daemon=True).start()
  assert sweep.run_sweep(
      jobs, run_processes.Runner(2, command, runs)
  ) == 0
  # The second start would have failed beside the first.
  assert lost and [_starts(job) for job in jobs] == [1, 2]
  assert all(job.is_finished() for job in jobs)


def test_no_cluster_at_the_address(tmp_path):
  with socket.socket() as free:
    free.bind(('127.0.0.1', 0))
    address = f'127.0.0.1:{free.getsockname()[1]}'
    with pytest.raises(errors.SetupError, match=f'--ray_address={address}'):
      run_processes.RayRuns(address, os.fspath(tmp_path), 1)
