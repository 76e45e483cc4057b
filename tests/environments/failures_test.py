# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What happens when an environment raises, hangs or dies."""

import gc
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from rnd_agents.environments import watchdog
from rnd_agents.environments import worker_processes
from tests import environments_for_tests

_ROOT = pathlib.Path(__file__).resolve().parents[2]
FAILING = 1  # Which of the environments.


class Fragile(environments_for_tests.Steps):
  """Fails at the third step after a reset with seed FAILING."""

  def __init__(self, how='raise'):
    super().__init__(length=None)
    self._how = how

  def _is_wrong(self):
    return self.seed == FAILING and self.num_steps == 3

  def reward(self):
    return np.zeros(1) if self._is_wrong() and self._how == 'reward' else 0.0

  def observation(self):
    if self._is_wrong() and self._how != 'reward':
      return self._fail()
    return np.zeros(1, np.float32)

  def _fail(self):
    if self._how == 'raise':
      raise KeyError('the door is not there')
    if self._how == 'unpicklable':
      error = RuntimeError('with a lock')
      error.lock = threading.Lock()
      raise error
    if self._how == 'exit':
      os._exit(7)
    if self._how == 'hang':
      time.sleep(600)
    return np.full(3 if self._how == 'shape' else 1, np.nan, np.float32)


def load(how, vectorization, **kwargs):
  env = loaders.load_environment(
      Fragile, 3, env_kwargs={'how': how}, vectorization=vectorization, **kwargs
  )
  env.reset_with_seeds(range(3))
  for _ in range(2):
    env.step(np.zeros(3, int))
  assert env.failure is None
  return env


def set_step_timeout(env):
  """Limits steps to 1.5 s; a busy machine takes longer to start a worker."""
  env.gymnasium_vector_env._timeout_s = 1.5


# Environment i plays the episode of seed i.
THIRD_STEP = f'step 3 of the episode with seed {FAILING}: '
NO_DOOR = 'step raised KeyError: .the door'
LOCKED = 'step raised RuntimeError: with a lock'
CASES = [
    ('sync', 'raise', NO_DOOR),
    ('sync', 'unpicklable', LOCKED),
    ('sync', 'shape', r'shape \(3,\) is not in its space Box'),
    ('sync', 'nan', "'observation' is nan"),
    ('sync', 'reward', r'reward must be one number, .* shape \[1\]'),
    ('async', 'raise', NO_DOOR),
    ('async', 'unpicklable', LOCKED),
    ('async', 'shape', r'shape \(3,\) is not in its space Box'),
    ('async', 'nan', "'observation' is nan"),
    ('async', 'exit', 'its worker process exited with 7'),
    ('async', 'hang', r'no answer from worker\(s\) \[1\] within 1.5 s'),
]


@pytest.mark.parametrize('vectorization, how, message', CASES)
def test_a_failure_names_the_environment(vectorization, how, message):
  env = load(how, vectorization)
  if how == 'hang':
    set_step_timeout(env)
  start_s = time.monotonic()
  with pytest.raises(failures.EnvironmentFailure, match=message) as caught:
    env.step(np.zeros(3, int))
  failure = caught.value
  assert str(failure).startswith(
      f'Fragile, environment {FAILING} of the batch, {THIRD_STEP}'
  )
  assert failure.environment_index == FAILING
  assert env.failure is failure
  if how in ('raise', 'unpicklable'):
    # The environment's own line is in the text.
    assert 'in _fail' in failure.traceback_text
    assert 'raise ' in str(failure) and __file__ in str(failure)
  env.close()
  assert time.monotonic() - start_s < 60.0  # It hangs for 600.
  for process in getattr(env.gymnasium_vector_env, 'processes', ()):
    assert not process.is_alive()


@pytest.mark.parametrize('how', ['raise', 'exit'])
def test_after_a_failure_workers_are_not_asked_again(how):
  env = load(how, 'async')
  with pytest.raises(failures.EnvironmentFailure):
    env.step(np.zeros(3, int))
  with pytest.raises(failures.EnvironmentFailure, match='a new environment'):
    env.reset()
  with pytest.raises(failures.EnvironmentFailure, match='a new environment'):
    env.get_state()
  env.close()


class HangsOutsideOfSteps(Fragile):
  """In the process of environment FAILING, if the seed says so."""

  def reset(self, *, seed=None, options=None):
    if seed == 100 + FAILING:
      time.sleep(600)
    return super().reset(seed=seed)

  @property
  def speed(self):
    if self.seed == FAILING:
      time.sleep(600)
    return 1


@pytest.mark.parametrize('hang', [
    lambda env: env.reset_with_seeds([100, 101, 102]),
    lambda env: env.gymnasium_vector_env.get_attr('speed'),
], ids=['reset', 'call'])
def test_a_worker_that_hangs_outside_of_steps(hang):
  env = loaders.load_environment(
      HangsOutsideOfSteps, 3, vectorization='async'
  )
  env.reset_with_seeds(range(3))
  set_step_timeout(env)
  start_s = time.monotonic()
  # On a thread, since the fault is to wait without a limit.
  caught = []

  def run():
    try:
      hang(env)
    except failures.EnvironmentFailure as failure:
      caught.append(failure)

  thread = threading.Thread(target=run, daemon=True)
  thread.start()
  thread.join(60.0)
  assert not thread.is_alive()
  assert caught[0].environment_index == FAILING
  assert 'no answer from worker(s) [1] within 1.5 s' in str(caught[0])
  env.close()
  assert time.monotonic() - start_s < 60.0


class DiesWhenMade(Fragile):
  """Can be made only in the process of the tests."""

  parent = os.getpid()

  def __init__(self):
    super().__init__()
    if os.getpid() != self.parent:
      os._exit(3)


class HangsWhenMade(Fragile):

  def __init__(self):
    super().__init__()
    if os.getpid() != DiesWhenMade.parent:
      time.sleep(600)


# A busy machine takes seconds to start a process that is to die.
@pytest.mark.parametrize('env, timeout_s, message', [
    (DiesWhenMade, 60, 'its worker process exited with 3'),
    (HangsWhenMade, 1, r'no answer from worker\(s\) \[0, 1\] within 1 s'),
])
def test_a_worker_that_does_not_come_up(env, timeout_s, message):
  before = set(multiprocessing.active_children())
  with pytest.raises(failures.EnvironmentFailure, match=message) as caught:
    loaders.load_environment(
        env, 2, vectorization='async', step_timeout_s=timeout_s
    )
  assert str(caught.value).startswith(env.__name__)
  assert set(multiprocessing.active_children()) <= before


def test_a_worker_that_cannot_be_started(monkeypatch):
  process = multiprocessing.get_context().Process
  start = process.start

  def start_but_the_second(self):
    if self.name.endswith('-1'):
      raise BlockingIOError(11, 'Resource temporarily unavailable')
    start(self)

  monkeypatch.setattr(process, 'start', start_but_the_second)
  before = set(multiprocessing.active_children())
  with pytest.raises(failures.EnvironmentFailure) as caught:
    loaders.load_environment('CartPole-v1', 3, vectorization='async')
  assert caught.value.environment_index == 1
  for part in (
      'could not be started',
      'Resource temporarily unavailable',
      'num_environments',
      "vectorization='sync'",
  ):
    assert part in str(caught.value)
  assert set(multiprocessing.active_children()) <= before


class NotMade(Fragile):
  """Raises in the constructor, in worker processes only or everywhere."""

  def __init__(self, error, everywhere=True):
    super().__init__()
    if everywhere or os.getpid() != DiesWhenMade.parent:
      raise error


@pytest.mark.parametrize('vectorization, error, everywhere', [
    ('sync', FileNotFoundError('no map'), True),
    ('sync', SystemExit('no map'), True),
    ('sync', StopIteration('no map'), True),
    ('async', FileNotFoundError('no map'), True),
    ('async', OSError('no map'), False),
    ('async', SystemExit('no map'), False),
])
def test_a_constructor_that_raises(vectorization, error, everywhere):
  with pytest.raises(failures.EnvironmentFailure) as caught:
    loaders.load_environment(
        NotMade,
        2,
        vectorization=vectorization,
        env_kwargs=dict(error=error, everywhere=everywhere),
    )
  assert str(caught.value).startswith(
      'NotMade, environment 0 of the batch: its constructor raised'
      f' {type(error).__name__}: no map'
  )
  # It begins with the user's line.
  _, place, line, *_ = caught.value.traceback_text.split('\n')
  assert __file__ in place and line == '    raise error'


def test_a_wrapper_that_raises():
  def wrap(env):
    raise KeyError('no key')

  with pytest.raises(
      failures.EnvironmentFailure, match=r'wrappers\[0\], wrap, raised KeyErr'
  ):
    loaders.load_environment('CartPole-v1', wrappers=[wrap])


class Returns(environments_for_tests.Steps):
  """Returns some other values from its steps."""

  def __init__(self, values, number=5):
    super().__init__()
    self._values = values
    self._number = number

  def step(self, action):
    step = dict(zip('orteI', super().step(action))) | self._values
    return tuple(step.values())[: self._number]


@pytest.mark.parametrize('arguments, message', [
    (dict(values=dict(t=None)), 'terminated must be True or False.* None'),
    (dict(values=dict(t=np.nan)), 'terminated must .* nan'),
    (dict(values=dict(e='no')), "truncated must .* 'no'"),
    (dict(values=dict(e=np.array([True, False]))), 'truncated must'),
    (dict(values=dict(t=2)), 'terminated must'),
    (dict(values=dict(r='1.5')), "reward must be one number.* '1.5'"),
    (dict(values=dict(r=None)), 'reward must be one number.* None'),
    (dict(values=dict(r=1j)), 'reward must be one number'),
    (dict(values=dict(I=None)), 'Returns.step returned an info of .*NoneType'),
    (dict(values=dict(I=[{}])), 'Returns.step .*list.*adapt_old_interface'),
    (dict(values={}, number=4), 'Returns.step .*4 values.*adapt_old_interface'),
])
def test_values_of_steps_that_mean_nothing(arguments, message):
  env = loaders.load_environment(Returns, 2, env_kwargs=arguments)
  env.reset()
  with pytest.raises(failures.EnvironmentFailure, match=message) as caught:
    env.step(np.zeros(2, int))
  assert caught.value.environment_index == 0
  assert caught.value.traceback_text is None  # One sentence.


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_values_of_steps_of_other_types(vectorization):
  env = loaders.load_environment(
      Returns,
      2,
      vectorization=vectorization,
      env_kwargs=dict(values=dict(r=np.int8(3), t=np.array([True]), e=0.0)),
  )
  env.reset()
  time_step = env.step(np.zeros(2, int))
  assert time_step.is_last().all() and not time_step.discount.any()
  assert time_step.reward.tolist() == [3, 3]
  env.close()


class Quits(Fragile):
  """Raises what only programs should raise."""

  def __init__(self, error, method):
    super().__init__()
    self._error = error
    self._method = method

  def begin(self):
    if self._method == 'reset':
      raise self._error

  def step(self, action):
    raise self._error


@pytest.mark.parametrize('error', [SystemExit(3), KeyboardInterrupt()])
@pytest.mark.parametrize('vectorization, method', [
    ('sync', 'step'), ('sync', 'reset'), ('async', 'step')
])
def test_an_exit_inside_of_an_environment_is_a_failure(
    monkeypatch, vectorization, method, error
):
  # As in a run, where Ctrl-C raises nothing.
  monkeypatch.setattr(signal, 'getsignal', lambda number: None)
  env = loaders.load_environment(
      Quits,
      2,
      vectorization=vectorization,
      env_kwargs=dict(error=error, method=method),
  )
  with pytest.raises(
      failures.EnvironmentFailure,
      match=f'{method} raised {type(error).__name__}',
  ):
    env.reset()
    env.step(np.zeros(2, int))
  env.close()


def test_the_users_interrupt_is_none_of_the_environment(monkeypatch):
  # A shell starts processes in the background with Ctrl-C ignored.
  handler = signal.default_int_handler
  monkeypatch.setattr(signal, 'getsignal', lambda number: handler)
  env = loaders.load_environment(
      Quits, env_kwargs=dict(error=KeyboardInterrupt(), method='step')
  )
  env.reset()
  with pytest.raises(KeyboardInterrupt):
    env.step(np.zeros(1, int))
  assert env.failure is None


def test_errors_of_the_caller_are_none_of_the_environment():
  env = load('raise', 'sync')
  with pytest.raises(ValueError, match='must have shape'):
    env.step(np.zeros(4, int))
  assert env.failure is None


def test_a_failure_passes_through_a_pipe():
  failure = failures.EnvironmentFailure('what', 2, 'name', 'trace')
  again = pickle.loads(pickle.dumps(failure))
  assert str(again) == str(failure) == (
      'name, environment 2 of the batch: what\n\nInside the environment:\ntrace'
  )


def test_observers_see_each_time_step_once():
  env = loaders.load_environment('CartPole-v1', 2, seed=0)
  seen = []
  env.add_step_observer(lambda *args: seen.append(args))
  steps = [env.reset()]
  infos = [env.get_info()]
  for _ in range(30):
    steps.append(env.step(np.array([0, 1])))
    infos.append(env.get_info())
  steps.append(env.reset())
  infos.append(env.get_info())
  assert len(seen) == 32
  for (time_step, info), step, expected in zip(seen, steps, infos, strict=True):
    assert time_step is step and info is expected


def test_signals_that_stop_a_run_leave_its_workers_alone():
  env = load('raise', 'async')
  for process in env.gymnasium_vector_env.processes:
    os.kill(process.pid, signal.SIGTERM)
    os.kill(process.pid, signal.SIGINT)
  time.sleep(0.2)
  env.reset_with_seeds(range(3))
  assert not env.step(np.zeros(3, int)).is_last().any()
  env.close()


class TakesItsTime(Fragile):

  def step(self, action):
    time.sleep(1.2)
    return super().step(action)


@pytest.mark.parametrize('num_empty, has_answered', [(3, True), (4, False)])
def test_a_timeout_is_counted_in_seconds_of_waiting(num_empty, has_answered):
  # A slice in which all were suspended counts once, however long it was.
  workers = worker_processes.WatchedAsyncVectorEnv([TakesItsTime], timeout_s=4)
  answers = iter(num_empty * [[]] + [['ready']])
  waited_ms = []

  def poll(timeout_ms):
    waited_ms.append(timeout_ms)
    return next(answers)

  workers._pollers = [types.SimpleNamespace(poll=poll)]
  assert workers._poll_pipe_envs() == has_answered
  assert sum(waited_ms) == 4000
  # In a process that was forked, where its copy is collected.
  workers._owner = 0
  workers.close_extras(terminate=True)
  workers._owner = os.getpid()
  assert all(process.is_alive() for process in workers.processes)
  workers.close()


class Collects(Fragile):
  """Collects garbage at each step, as Python does now and then."""

  def step(self, action):
    gc.collect()
    return super().step(action)


class Node:
  pass


def test_workers_leave_the_garbage_of_their_parent_alone():
  gc.collect()
  gc.disable()
  try:
    # A cycle, which waits for a collection. At its end TensorFlow waits for
    # threads of the iterator, of which a forked process has none.
    node = Node()
    node.itself = node
    node.iterator = iter(
        tf.data.Dataset.range(10**6)
        .map(lambda x: x + 1, num_parallel_calls=2)
        .prefetch(4)
    )
    next(node.iterator)
    del node
    env = loaders.load_environment(
        Collects, 2, vectorization='async', step_timeout_s=60
    )
    env.reset()
    assert not env.step(np.zeros(2, int)).is_last().any()
    env.close()
  finally:
    gc.enable()


def _is_running(pid):
  try:
    stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
  except FileNotFoundError:
    return False
  return stat.rpartition(')')[2].split()[0] != 'Z'  # Dead, and not fetched yet.


def test_workers_end_with_their_parent_even_inside_a_step(tmp_path):
  pids = tmp_path / 'pids'
  program = f'''
import os
import numpy as np
from tests.environments import failures_test
env = failures_test.load('hang', 'async')
with open({str(pids)!r} + '.new', 'w') as file:
  file.write(' '.join(str(p.pid) for p in env.gymnasium_vector_env.processes))
os.rename({str(pids)!r} + '.new', {str(pids)!r})
env.step(np.zeros(3, int))
'''
  parent = subprocess.Popen([sys.executable, '-c', program], cwd=_ROOT)
  deadline_s = time.monotonic() + 60
  while not pids.exists():
    assert time.monotonic() < deadline_s and parent.poll() is None
    time.sleep(0.05)
  time.sleep(0.5)  # Until it waits for the worker that hangs.
  parent.kill()
  parent.wait()
  workers = [int(pid) for pid in pids.read_text().split()]
  assert len(workers) == 3
  while any(map(_is_running, workers)):
    assert time.monotonic() < deadline_s
    time.sleep(0.1)


# What ends a process whose environment hangs.
class Hangs(Fragile):
  """Waits in one of its methods until it is told to stop."""

  def __init__(self, where, hangs, until):
    super().__init__()
    self.render_mode = 'rgb_array'
    self._where = where
    self._hangs = hangs
    self._until = until
    self._wait('its constructor')

  def _wait(self, where):
    if where == self._where:
      self._hangs.set()
      assert self._until.wait(30.0)

  def begin(self):
    self._wait('reset')

  def step(self, action):
    self._wait('step')
    return super().step(action)

  def render(self):
    self._wait('render')
    return np.zeros([2, 2, 3], np.uint8)

  def close(self):
    self._wait('close')


@pytest.mark.parametrize(
    'where', ['its constructor', 'reset', 'step', 'render', 'close']
)
def test_a_hang_ends_the_process_with_its_traceback(
    caplog, monkeypatch, where
):
  hangs, ended = threading.Event(), threading.Event()
  codes, messages = [], []
  # On a busy machine the calls before it may take longer than the limit.
  clock = types.SimpleNamespace(
      monotonic=lambda: time.monotonic() if hangs.is_set() else 0.0
  )
  monkeypatch.setattr(watchdog, 'time', clock)

  def end(code):
    codes.append(code)
    ended.set()

  with watchdog.Watchdog(0.1, lambda *text: messages.append(text), end):
    env = loaders.load_environment(
        Hangs, env_kwargs=dict(where=where, hangs=hangs, until=ended)
    )
    env.reset()
    env.step(np.zeros(1, int))
    env.render()
    env.close()
  assert codes == [1]
  ((message, doing),) = messages
  assert doing == where and where in message
  for words in ('Hangs', '0.1 s', 'train_eval.environment_timeout_s'):
    assert words in message
  assert 'in _wait' in caplog.text


def _looked(monkeypatch, limit_s, life):
  """Lets a watchdog look where a generator yields seconds that have passed.

  Returns the exit codes with which it ends the process.
  """
  now_s, codes = [0.0], []
  monkeypatch.setattr(
      watchdog, 'time', types.SimpleNamespace(monotonic=lambda: now_s[0])
  )

  def is_done(interval_s):
    del interval_s
    passed_s = next(life, None)
    now_s[0] += passed_s or 0.0
    return passed_s is None

  watching = watchdog.Watchdog(limit_s, lambda *_: None, codes.append)
  watching._done = types.SimpleNamespace(wait=is_done)
  watching._watch(limit_s)
  return codes


@pytest.mark.parametrize('step_time_s, codes', [(0.9, []), (1.1, [1])])
def test_only_calls_beyond_the_limit_end_the_process(
    monkeypatch, step_time_s, codes
):
  def steps():
    for _ in range(8):
      with watchdog.Inside('Molasses-v0', 'step'):
        for _ in range(5):
          yield step_time_s / 5

  life = steps()
  assert _looked(monkeypatch, 1.0, life) == codes
  life.close()
  assert not watchdog._activities


@pytest.mark.parametrize('rest_s, codes', [(0.5, []), (1.0, [1])])
def test_time_in_which_the_process_was_suspended_does_not_count(
    monkeypatch, rest_s, codes
):
  # As after Ctrl-Z and fg, or a laptop's sleep: clocks go on, nothing else.
  # Of its hour no more than two intervals of half a second count.
  def step():
    with watchdog.Inside('Molasses-v0', 'step'):
      yield 0.5
      yield 3_600.0
      yield rest_s

  assert _looked(monkeypatch, 2.0, step()) == codes


def test_none_watches_nothing():
  before = threading.active_count()
  with watchdog.Watchdog(None, lambda *_: None):
    assert threading.active_count() == before
