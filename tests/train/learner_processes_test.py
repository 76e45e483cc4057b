# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Processes that learn together: started, restarted, stopped."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from train import learner_processes

# A learner that notes its start, waits for the others', and then does as told
# for its turn.
_LEARNER = '''
import json, os, signal, sys, time
task = json.loads(os.environ['TF_CONFIG'])
index = task['task']['index']
folder, turns = sys.argv[1], json.loads(sys.argv[2])
def num_starts(index):
  path = os.path.join(folder, str(index))
  return len(open(path).readlines()) if os.path.exists(path) else 0
start = num_starts(index)
turn = turns[index][start]
if turn == 'saves':
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
with open(os.path.join(folder, str(index)), 'a') as file:
  file.write(json.dumps(task['cluster']['worker']) + '\\n')
while min(map(num_starts, range(len(turns)))) <= start:
  time.sleep(0.01)
if turn == 'killed':
  os.kill(os.getpid(), signal.SIGKILL)
if turn in ('hangs', 'saves'):
  time.sleep(600)
sys.exit(turn)
'''


def _run(folder, *turns):
  """(exit status, addresses that each learner saw at each of its starts)."""
  command = [sys.executable, '-c', _LEARNER, os.fspath(folder)]
  status = learner_processes.run(len(turns), [*command, json.dumps(turns)])
  return status, [
      [json.loads(line) for line in (folder / str(i)).read_text().splitlines()]
      for i in range(len(turns))
  ]


@pytest.mark.parametrize(
    ('turns', 'status', 'num_starts'),
    [
        ([[0], [0], [0]], 0, 1),
        # The others cannot go on without the one that was killed.
        ([[75, 0], ['killed', 0]], 0, 2),
        ([['killed', 75, 0], [75, 'killed', 0]], 0, 3),
        # One that fails by itself would fail again.
        ([[75], [1]], 1, 1),
        ([[2], [75]], 2, 1),
    ],
)
def test_all_start_again_after_one_was_lost(
    tmp_path, turns, status, num_starts
):
  ended, starts = _run(tmp_path, *turns)
  assert ended == status
  assert [len(addresses) for addresses in starts] == [num_starts] * len(turns)
  # All are told the same, and nobody shares a port.
  assert all(addresses == starts[0] for addresses in starts)
  for addresses in starts[0]:
    assert len(set(addresses)) == len(turns)


def test_one_that_hangs_is_killed_and_all_start_again(tmp_path, monkeypatch):
  monkeypatch.setattr(learner_processes, '_GRACE_S', 1.0)
  ended, starts = _run(tmp_path, [75, 0], ['hangs', 0])
  assert ended == 0
  assert len(starts[1]) == 2


def test_a_signal_lets_learner_0_save_and_nothing_starts_again(
    tmp_path, monkeypatch
):
  monkeypatch.setattr(learner_processes, '_GRACE_S', 1.0)
  wait, waits = learner_processes._Learners._wait, threading.Event()
  monkeypatch.setattr(
      learner_processes._Learners, '_wait', lambda x: waits.set() or wait(x)
  )

  def interrupt():
    waits.wait()
    while len(os.listdir(tmp_path)) < 2:
      time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)

  threading.Thread(target=interrupt).start()
  began = time.monotonic()
  ended, starts = _run(tmp_path, ['saves'], ['hangs'])
  assert ended == 1
  assert [len(addresses) for addresses in starts] == [1, 1]
  assert time.monotonic() - began < 300  # Learner 1 would sleep for 600 s.


def test_a_signal_while_they_start_is_not_lost(monkeypatch):
  monkeypatch.setattr(learner_processes, '_GRACE_S', 0.0)
  started, popen = [], subprocess.Popen

  def starting(*args, **kwargs):
    started.append(popen(*args, **kwargs))
    if len(started) == 1:
      os.kill(os.getpid(), signal.SIGTERM)
    return started[-1]

  monkeypatch.setattr(subprocess, 'Popen', starting)
  assert learner_processes.run(2, ['sleep', '100']) == 1
  assert [each.returncode for each in started] == [
      -signal.SIGTERM, -signal.SIGKILL
  ]
