# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a cluster over a network that fails; needs Linux, root and `ip`.

    sudo .venv/bin/python -m benchmarks.network_faults [--only=cut,killed]

Three network namespaces are the machines: one of the learner, two of workers.
Their cables end in a switch in this process, which delays, slows and drops
frames. Each case begins with a new cluster, started as docs/cluster.md says,
and trains until the end; the fault begins after some iterations. It prints
whether metrics.csv has the same bytes as that of one process, the longest time
without a new row, and what the learner said.
"""

import argparse
import collections
import contextlib
import fcntl
import heapq
import os
import pathlib
import secrets
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

_PREFIX = 'rnd_net'
_PORT = 6379
_NUM_MACHINES = 3
_MAX_QUEUE_S = 1.0  # Of a cable; what comes later is dropped.
_FAULT_AFTER_ROWS = 5
_CUT_S = 30.0
_HEALTH_CHECK = dict(
    RAY_health_check_period_ms='2000',
    RAY_health_check_timeout_ms='3000',
    RAY_health_check_failure_threshold='4',
)
_TRAIN = (
    sys.executable,
    '-m',
    'train.train_eval',
    '--gin_file=deep_sea.gin',
    '--gin_bindings=train_eval.num_shards = 4',
    '--gin_bindings=train_eval.record_video = False',
    '--gin_bindings=OnPolicyTraining.rollout_length = 32',
)


def _address(machine):
  return f'10.77.0.{machine}'


def _ip(*arguments):
  subprocess.run(['ip', *map(str, arguments)], check=True)


class Switch(threading.Thread):
  """Carries Ethernet frames between the machines.

  `is_cut`: machines that nothing reaches or leaves. `delay_s` and
  `bytes_per_s` are of each cable, towards the machine.
  """

  def __init__(self):
    """Makes the machines, numbered from 1; `start` connects them."""
    super().__init__(daemon=True)
    self.is_cut = set()
    self.delay_s = 0.0
    self.bytes_per_s = float('inf')
    self._is_free_at = collections.defaultdict(float)
    self._frames = []  # Heap of (when, number, machine, bytes).
    self._cables = {}
    for machine in range(1, _NUM_MACHINES + 1):
      namespace, device = f'{_PREFIX}{machine}', f'{_PREFIX}_{machine}'
      cable = os.open('/dev/net/tun', os.O_RDWR)
      # TUNSETIFF, with IFF_TAP and IFF_NO_PI.
      fcntl.ioctl(
          cable, 0x400454CA, struct.pack('16sH', device.encode(), 0x1002)
      )
      self._cables[cable] = machine
      _ip('netns', 'add', namespace)
      _ip('link', 'set', device, 'address', f'02:00:00:00:00:0{machine}')
      _ip('link', 'set', device, 'netns', namespace)
      for command in (
          f'addr add {_address(machine)}/24 dev {device}',
          f'link set {device} up',
          'link set lo up',
      ):
        _ip('-n', namespace, *command.split())

  def run(self):
    number = 0
    while True:
      wait_s = 1.0
      if self._frames:
        wait_s = max(0.0, self._frames[0][0] - time.monotonic())
      for cable in select.select(list(self._cables), [], [], wait_s)[0]:
        number += 1
        try:
          frame = os.read(cable, 2**16)
        except OSError:
          return  # The machines are gone.
        self._receive(number, self._cables[cable], frame)
      while self._frames and self._frames[0][0] <= time.monotonic():
        _, _, machine, frame = heapq.heappop(self._frames)
        for cable, other in self._cables.items():
          if other == machine:
            with contextlib.suppress(OSError):  # Its link is down.
              os.write(cable, frame)

  def _receive(self, number, source, frame):
    """Queues a frame towards the machines that it is for."""
    now = time.monotonic()
    for machine in self._cables.values():
      is_for_all = frame[0] & 1
      if machine == source or not (is_for_all or frame[5] == machine):
        continue
      begins = max(now, self._is_free_at[machine])
      if begins - now > _MAX_QUEUE_S or {machine, source} & self.is_cut:
        continue
      self._is_free_at[machine] = begins + len(frame) / self.bytes_per_s
      heapq.heappush(
          self._frames,
          (self._is_free_at[machine] + self.delay_s, number, machine, frame),
      )


def _on(machine, *command, **options):
  """Starts a process on a machine."""
  return subprocess.Popen(
      ['ip', 'netns', 'exec', f'{_PREFIX}{machine}', *command],
      start_new_session=True,
      **options,
  )


def _kill(machine):
  """Ends all processes of a machine."""
  pids = subprocess.run(
      ['ip', 'netns', 'pids', f'{_PREFIX}{machine}'],
      capture_output=True,
      check=False,
      text=True,
  ).stdout
  for pid in map(int, pids.split()):
    with contextlib.suppress(ProcessLookupError):
      os.kill(pid, signal.SIGKILL)


def _start_cluster(log):
  """Starts Ray as docs/cluster.md says: the learner's machine, then others."""
  ray = os.path.join(os.path.dirname(sys.executable), 'ray')
  for machine in range(1, _NUM_MACHINES + 1):
    where = ['--head', f'--port={_PORT}', '--num-cpus=0',
             '--include-dashboard=false']
    if machine > 1:
      where = [f'--address={_address(1)}:{_PORT}', '--num-cpus=2']
    status = _on(
        machine,
        ray,
        'start',
        f'--node-ip-address={_address(machine)}',
        '--disable-usage-stats',
        *where,
        stdout=log,
        stderr=log,
    ).wait()
    if status:
      sys.exit(f'Machine {machine} could not start Ray: see {log.name}')


def num_rows(root_dir):
  """Lines of metrics.csv so far; 0 without one."""
  path = pathlib.Path(root_dir, 'metrics.csv')
  return path.read_bytes().count(b'\n') if path.exists() else 0


def _train(root_dir, flags, fault, limit_s):
  """Trains; returns the exit status and the longest time without a row."""
  with open(f'{root_dir}.log', 'wb') as log:
    learner = _on(
        1, *_TRAIN, f'--root_dir={root_dir}', *flags, stdout=log, stderr=log
    )
    began = time.monotonic()
    seen, last, longest_s = 0, None, 0.0
    while learner.poll() is None and time.monotonic() - began < limit_s:
      time.sleep(0.1)
      found, now = num_rows(root_dir), time.monotonic()
      if last is not None:
        longest_s = max(longest_s, now - last)
      if found > seen:
        seen, last = found, now
      if fault is not None and seen > _FAULT_AFTER_ROWS:
        fault()
        fault = None
  return learner.poll(), longest_s


def _cases(switch):
  """Name, and what is done once the run has begun."""

  def cut():
    switch.is_cut.add(3)
    threading.Timer(_CUT_S, switch.is_cut.clear).start()

  def link_down():
    device = f'{_PREFIX}_3'
    _ip('-n', f'{_PREFIX}3', 'link', 'set', device, 'down')
    threading.Timer(
        _CUT_S, _ip, ('-n', f'{_PREFIX}3', 'link', 'set', device, 'up')
    ).start()

  def slow():
    switch.delay_s, switch.bytes_per_s = 0.1, 10e6 / 8

  return {
      'undisturbed': lambda: None,
      'link down for 30 s': link_down,
      'packets vanish for 30 s': cut,
      'packets vanish for good': lambda: switch.is_cut.add(3),
      'killed': lambda: _kill(3),
      '100 ms and 10 Mbit/s': slow,
  }


def main():
  """Prints a table."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument('--only', help='Parts of names of cases.')
  parser.add_argument('--env_steps', type=int, default=40_000)
  parser.add_argument(
      '--slow_detection', action='store_true', help="Ray's own health check."
  )
  parser.add_argument('--limit_s', type=float, default=400.0)
  arguments = parser.parse_args()
  folder = tempfile.mkdtemp()
  print(f'Logs: {folder}', flush=True)
  os.environ.update(
      RAY_AUTH_MODE='token', RAY_AUTH_TOKEN_PATH=f'{folder}/token'
  )
  if not arguments.slow_detection:
    os.environ.update(_HEALTH_CHECK)
  pathlib.Path(folder, 'token').write_text(secrets.token_hex(32))
  os.chmod(f'{folder}/token', 0o600)
  flags = [f'--gin_bindings=train_eval.num_env_steps = {arguments.env_steps}']
  switch = Switch()
  switch.start()
  try:
    status, _ = _train(f'{folder}/alone', flags, None, arguments.limit_s)
    expected = pathlib.Path(folder, 'alone', 'metrics.csv').read_bytes()
    print(f'One process: status {status}, {expected.count(10)} rows.')
    flags += ['--workers=2', f'--ray_address={_address(1)}:{_PORT}']
    for number, (name, fault) in enumerate(_cases(switch).items()):
      wanted = (arguments.only or '').split(',')
      if not any(each in name for each in wanted):
        continue
      root_dir = f'{folder}/{number}'
      with open(f'{root_dir}.ray.log', 'wb') as log:
        _start_cluster(log)
      began = time.monotonic()
      status, longest_s = _train(root_dir, flags, fault, arguments.limit_s)
      taken_s = time.monotonic() - began
      is_equal = (
          pathlib.Path(root_dir, 'metrics.csv').read_bytes() == expected
      )
      print(
          f'\n{name}: status {status}, {taken_s:.0f} s, bytes'
          f' {"equal" if is_equal else "DIFFERENT"}, longest pause'
          f' {longest_s:.1f} s',
          flush=True,
      )
      lines = pathlib.Path(f'{root_dir}.log').read_text().splitlines()
      for line in lines:
        if 'orker' in line:
          print(f'  {line}')
      switch.is_cut.clear()
      switch.delay_s, switch.bytes_per_s = 0.0, float('inf')
      for machine in range(1, _NUM_MACHINES + 1):
        _kill(machine)
  finally:
    for machine in range(1, _NUM_MACHINES + 1):
      _kill(machine)
      _ip('netns', 'del', f'{_PREFIX}{machine}')


if __name__ == '__main__':
  main()
