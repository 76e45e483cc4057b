# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starts Ray on this machine or joins a cluster, always with a token."""

import atexit
import contextlib
import functools
import ipaddress
import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
from typing import Any

from rnd_agents import errors

_TOKEN_FILE = 'ray_token'
_PROBE_TIMEOUT_S = 5.0
# What TensorFlow computes depends on these, in every process of a run.
_ENVIRONMENT_VARIABLES = (
    'TF_ENABLE_ONEDNN_OPTS',
    'TF_NUM_INTRAOP_THREADS',
    'TF_NUM_INTEROP_THREADS',
    'OMP_NUM_THREADS',
    'TF_CPP_MIN_LOG_LEVEL',
    'TF_USE_LEGACY_KERAS',
    'ONEDNN_MAX_CPU_ISA',
)


def connect(root_dir: str, num_cpus: int, address: str | None) -> None:
  """Starts Ray on this machine, or joins a cluster.

  Args:
    root_dir: Folder for the token of a cluster of this machine.
    num_cpus: Number of CPUs of a cluster of this machine.
    address: 'HOST:PORT' of a cluster that exists; None for this machine.

  Raises:
    SetupError: If there is no such cluster, or one without a token.
  """
  options: dict[str, Any] = {}
  if address is not None:
    _probe(address)
    _require_token()
    # Ray retries once a second, 20 times by default, also with a wrong token.
    os.environ.setdefault('RAY_NUM_REDIS_GET_RETRIES', '5')
  else:
    _make_token(root_dir)
    # By default every other process of the machine has priority.
    os.environ.setdefault('RAY_worker_niceness', '0')
    # Nobody starts its head again if that has ended; Ray waits for 60 s, the
    # learner and Ray's agents alike.
    os.environ.setdefault('RAY_gcs_rpc_server_reconnect_timeout_s', '20')
    options.update(
        num_cpus=num_cpus,
        include_dashboard=False,
        _node_ip_address='127.0.0.1',
        _temp_dir=_private_folder(),
    )
    # Else Ray replaces 127.0.0.1 by the machine's address, also on Linux, and
    # listens on all interfaces.
    os.environ['RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER'] = '0'
  try:  # Here, because it reads the variables set above.
    import ray  # pylint: disable=g-import-not-at-top
  except ImportError as error:
    raise errors.MissingPackage(
        '--workers and --ray_address need Ray: pip install'
        ' "rnd_agents[cluster]".'
    ) from error
  if address is None:
    _require_loopback(ray.util.get_node_ip_address())
  try:
    ray.init(
        address=address or 'local',
        log_to_driver=False,
        logging_level=logging.ERROR,
        **options,
    )
  except Exception as error:  # pylint: disable=broad-exception-caught
    remedy = ''
    if address:
      remedy = (
          ' If the lines above say InvalidAuthToken, RAY_AUTH_TOKEN_PATH names'
          " another token than the cluster's."
      )
    raise errors.SetupError(
        f'Ray on {address or "this machine"} cannot be used:'
        f' {first_line(error)}.{remedy}'
    ) from error


def _require_loopback(address: str) -> None:
  """Refuses to start a cluster that other machines could reach."""
  if not ipaddress.ip_address(address).is_loopback:
    raise errors.SetupError(
        'Ray was imported before the run and would listen on all interfaces:'
        ' import it after the run has started, or set'
        ' RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0.'
    )


def environment() -> dict[str, str]:
  """Returns the environment variables that all processes of a run share."""
  return {
      name: os.environ[name]
      for name in _ENVIRONMENT_VARIABLES
      if name in os.environ
  }


def _probe(address: str) -> None:
  """Refuses an address where nothing answers; Ray itself tries for minutes."""
  host, _, port = address.rpartition(':')
  if not host or not port.isdigit():
    raise errors.SetupError(
        '--ray_address must be HOST:PORT, such as 10.0.0.1:6379, got'
        f' {address}.'
    )
  try:
    with socket.create_connection((host, int(port)), _PROBE_TIMEOUT_S):
      pass
  except (OSError, UnicodeError) as error:  # The latter of a..b, for example.
    raise errors.SetupError(
        f'Nothing answers at --ray_address={address} ({error}). On that'
        ' machine: ray start --head --port=PORT.'
    ) from error


def _require_token() -> None:
  """Refuses to join a cluster that does not ask for a token."""
  os.environ.setdefault('RAY_AUTH_MODE', 'token')
  if os.environ['RAY_AUTH_MODE'] != 'token':
    raise errors.SetupError(
        'RAY_AUTH_MODE must be token, on every machine of the cluster: anybody'
        ' who reaches a Ray cluster without tokens can run any program there.'
    )
  if not any(
      name in os.environ for name in ('RAY_AUTH_TOKEN', 'RAY_AUTH_TOKEN_PATH')
  ):
    raise errors.SetupError(
        'The cluster of --ray_address asks for a token: set RAY_AUTH_TOKEN_PATH'
        ' to the file with the token that its machines were started with.'
    )


def _make_token(root_dir: str) -> None:
  """Writes a token that only this user can read, for a cluster of this run."""
  if 'ray' in sys.modules and os.environ.get('RAY_AUTH_MODE') != 'token':
    raise errors.SetupError(
        'Ray was imported before RAY_AUTH_MODE was set, which it reads once:'
        ' import Ray after the run has started, or set RAY_AUTH_MODE=token.'
    )
  path = os.path.join(os.path.abspath(root_dir), _TOKEN_FILE)
  with contextlib.suppress(FileNotFoundError):
    os.remove(path)
  with os.fdopen(
      os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w'
  ) as file:
    file.write(_token())
  os.environ['RAY_AUTH_MODE'] = 'token'
  os.environ['RAY_AUTH_TOKEN_PATH'] = path
  os.environ.pop('RAY_AUTH_TOKEN', None)


def _private_folder() -> str:
  """Returns a folder for Ray's sockets and logs, removed at exit.

  Ray lets every user of the machine write to its folder, so it lies in another
  one that keeps them out.
  """
  folder = tempfile.mkdtemp(prefix='ray_', dir=os.environ.get('RAY_TMPDIR'))
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  return os.path.join(folder, 'ray')


@functools.cache
def _token() -> str:
  """Returns a token, always the same one: Ray remembers the first."""
  return secrets.token_hex(32)


def first_line(error: BaseException) -> str:
  """Returns the first line of one of Ray's long messages."""
  lines = [line.strip() for line in str(error).splitlines() if line.strip()]
  return lines[0].rstrip('.') if lines else type(error).__name__
