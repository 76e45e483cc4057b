# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learners on this machine: starts them, and all again after one was lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

from train import run_processes

# Exit status of a learner that cannot go on without another one.
LOST = os.EX_TEMPFAIL

_MAX_RESTARTS = 20
# From the end of one learner to the kill of those that go on.
_GRACE_S = 60.0
_POLL_INTERVAL_S = 0.2


def run(num_learners, command):
  """Runs a command in processes that learn together.

  Args:
    num_learners: How many.
    command: The command, which finds in TF_CONFIG which process it is.

  Returns:
    An exit status: that of learner 0, or of one that failed.
  """
  learners = _Learners(command)
  handlers = {
      number: signal.signal(number, learners.stop)
      for number in (signal.SIGINT, signal.SIGTERM)
  }
  try:
    return learners.run(num_learners)
  finally:
    learners.kill()
    for number, handler in handlers.items():
      signal.signal(number, handler)


class _Learners:
  """The processes of a run."""

  def __init__(self, command):
    self._command = command
    self._processes = []
    self._num_signals = 0

  def run(self, num_learners):
    """Runs them until the run ends or fails; returns the exit status."""
    for _ in range(1 + _MAX_RESTARTS):
      self._processes = self._start(num_learners)
      if self._num_signals:  # One came meanwhile.
        self._processes[0].terminate()
      statuses = self._wait()
      # Of the others one was killed, or its machine lost.
      failed = [each for each in statuses if each > 0 and each != LOST]
      if statuses[0] == 0 or failed or self._num_signals:
        return failed[0] if failed else int(statuses[0] != 0)
      print(
          'A learner was lost (exit statuses'
          f' {", ".join(map(str, statuses))}): all start again.',
          file=sys.stderr,
          flush=True,
      )
    return 1

  def _start(self, num_learners):
    sockets = [
        socket.create_server(('127.0.0.1', 0)) for _ in range(num_learners)
    ]
    cluster = dict(
        worker=[f'127.0.0.1:{each.getsockname()[1]}' for each in sockets]
    )
    for each in sockets:
      each.close()
    threads = max(1, len(os.sched_getaffinity(0)) // num_learners)
    return [
        subprocess.Popen(
            self._command,
            env={
                **dict.fromkeys(run_processes.THREADS, str(threads)),
                **os.environ,
                'TF_CONFIG': json.dumps(
                    dict(
                        cluster=cluster, task=dict(type='worker', index=index)
                    )
                ),
            },
            stdin=subprocess.DEVNULL,
            # Out of reach of the terminal's Ctrl-C, which is passed on once.
            start_new_session=True,
            preexec_fn=run_processes.end_with_parent,
        )
        for index in range(num_learners)
    ]

  def _wait(self):
    """Waits until all have ended; returns their exit statuses."""
    deadline = float('inf')
    while None in (statuses := [each.poll() for each in self._processes]):
      if any(status is not None for status in statuses):
        deadline = min(deadline, time.monotonic() + _GRACE_S)
      if time.monotonic() > deadline:
        self.kill()
      time.sleep(_POLL_INTERVAL_S)
    return statuses

  def stop(self, number, frame):
    """Lets learner 0 save and end the others; called again, kills all."""
    del number, frame
    self._num_signals += 1
    if self._num_signals > 1:
      self.kill()
    for each in self._processes[:1]:
      each.terminate()

  def kill(self):
    """Ends those that go on at once."""
    for each in self._processes:
      each.kill()
