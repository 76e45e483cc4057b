# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two things timed in turns in one process, and what the machine did besides.

In turns, because a slow minute then hits both: the ratio of each round keeps
its meaning on a machine that others use too, which the times alone do not.
"""

from collections.abc import Callable
import multiprocessing
import os
import platform
import statistics
import subprocess
import time
from typing import NamedTuple

import rnd_agents  # noqa: F401 (it chooses the Keras of TF-Agents)

# isort: split
import tensorflow as tf
import tf_agents


class Span(NamedTuple):
  """Smallest, middle and largest of some numbers."""

  low: float
  median: float
  high: float

  def __str__(self):
    return f'{self.median:.2f} ({self.low:.2f} to {self.high:.2f})'


def span(values):
  return Span(min(values), statistics.median(values), max(values))


def cpu_s():
  """CPU seconds of this process and its children so far."""
  times = os.times()  # Coarse, and all that is known of children that ended.
  total_s = time.process_time() + times.children_user + times.children_system
  for child in multiprocessing.active_children():
    try:
      with open(f'/proc/{child.pid}/stat', encoding='utf-8') as file:
        fields = file.read().rpartition(')')[2].split()
    except OSError:
      continue  # Not Linux.
    total_s += sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK')
  return total_s


def in_turns(
    contenders: dict[str, Callable[[], None]],
    num_rounds: int,
    num_warm_up_rounds: int = 3,
):
  """Times each contender once a round; who comes first alternates.

  Args:
    contenders: What to time, by name. Each returns when its work is done.
    num_rounds: Rounds that count.
    num_warm_up_rounds: Rounds before them, for tracing and caches.

  Returns:
    A dict: by name, a list of (wall seconds, CPU seconds).
  """
  times = {name: [] for name in contenders}
  for i in range(num_warm_up_rounds + num_rounds):
    names = list(contenders) if i % 2 == 0 else list(contenders)[::-1]
    for name in names:
      start_cpu_s = cpu_s()
      start_s = time.perf_counter()
      contenders[name]()
      wall_s = time.perf_counter() - start_s
      if i >= num_warm_up_rounds:
        times[name].append((wall_s, cpu_s() - start_cpu_s))
  return times


def ratios(times, name, reference, cpu=False):
  """The `Span` of `name` over `reference`, round by round."""
  pairs = zip(times[name], times[reference], strict=True)
  return span([a[cpu] / b[cpu] for a, b in pairs])


def median_s(times, name):
  """Median wall seconds of a contender."""
  return statistics.median(wall_s for wall_s, _ in times[name])


class ForeignLoad:
  """How many cores others kept busy, on average, since it was made."""

  def __init__(self):
    self._start_s, self._start_busy_s = time.monotonic(), self._busy_s()

  def _busy_s(self) -> float | None:
    """CPU seconds of the machine without this process and its children."""
    try:
      with open('/proc/stat', encoding='ascii') as file:
        fields = [int(field) for field in file.readline().split()[1:]]
    except OSError:
      return None  # Not Linux.
    # user, nice, system, idle, iowait, irq, softirq, steal
    busy = sum(fields[:3]) + sum(fields[5:8])
    return busy / os.sysconf('SC_CLK_TCK') - cpu_s()

  def __str__(self):
    if self._start_busy_s is None:
      return 'unknown'
    seconds = time.monotonic() - self._start_s
    return f'{(self._busy_s() - self._start_busy_s) / seconds:.2f} cores'


class LineProcess:
  """A process that answers lines with lines.

  Attributes:
    greeting: Its first line, which it says when it is ready.
  """

  def __init__(self, command):
    self._process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    self.greeting = self._answer()

  def _answer(self):
    line = self._process.stdout.readline()
    if not line:
      raise RuntimeError('The process ended: its error is above.')
    return line.strip()

  def ask(self, line):
    """Sends a line; waits for the answer and returns it."""
    self._process.stdin.write(f'{line}\n')
    self._process.stdin.flush()
    return self._answer()

  def close(self):
    """Ends it; from then on its CPU seconds are no foreign load."""
    self._process.stdin.close()
    self._process.wait()


def machine():
  """One line on what this runs on."""
  model = platform.processor() or platform.machine()
  try:
    with open('/proc/cpuinfo', encoding='utf-8') as file:
      names = [line for line in file if line.startswith('model name')]
    model = names[0].partition(':')[2].strip() if names else model
  except OSError:
    pass
  gpus = len(tf.config.list_physical_devices('GPU'))
  return (
      f'{os.cpu_count()} cores of {model}, {gpus} GPUs, Python'
      f' {platform.python_version()}, TensorFlow {tf.__version__}, TF-Agents'
      f' {tf_agents.__version__}'
  )
