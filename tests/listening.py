# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the TCP sockets on which processes listen, from /proc."""

import glob
import ipaddress
import os
import struct


def of_run(root_dir):
  """Returns {process title: addresses} of this process and those of a run.

  Of a run are all descendants of this process, and processes that inherited the
  path of the run's token, also where another process has adopted them.
  """
  owners = _owners_of_sockets(_processes_of(root_dir))
  found = {}
  for table in ('tcp', 'tcp6'):
    for row in _read(f'/proc/net/{table}').splitlines()[1:]:
      _, local, _, state, *_ = fields = row.split()
      if state == '0A' and fields[9] in owners:  # TCP_LISTEN, the inode.
        found.setdefault(owners[fields[9]], []).append(_address(local))
  return found


def _processes_of(root_dir):
  parents, found = {}, {os.getpid()}
  for folder in glob.glob('/proc/[0-9]*'):
    pid = int(os.path.basename(folder))
    stat = _read(f'{folder}/stat')
    if stat:
      parents[pid] = int(stat.rpartition(')')[2].split()[1])
    if os.fspath(root_dir) in _read(f'{folder}/environ'):
      found.add(pid)
  while True:
    children = {pid for pid, parent in parents.items() if parent in found}
    if children <= found:
      return found
    found |= children


def _owners_of_sockets(pids):
  """Returns {inode of a socket: number and title of a process}."""
  owners = {}
  for pid in pids:
    title = f'{pid} {_read(f"/proc/{pid}/cmdline")[:300]}'.replace('\0', ' ')
    for descriptor in glob.glob(f'/proc/{pid}/fd/*'):
      try:
        target = os.readlink(descriptor)
      except OSError:
        continue  # It was closed meanwhile.
      if target.startswith('socket:'):
        owners[target[len('socket:[') : -1]] = title
  return owners


def _address(text):
  """Returns an address that /proc/net has as little-endian words."""
  digits = text.partition(':')[0]
  words = struct.unpack(f'>{len(digits) // 8}I', bytes.fromhex(digits))
  found = ipaddress.ip_address(struct.pack(f'<{len(words)}I', *words))
  return getattr(found, 'ipv4_mapped', None) or found


def _read(path):
  try:
    with open(path, encoding='utf-8', errors='replace') as file:
      return file.read()
  except OSError:  # It has ended, or belongs to somebody else.
    return ''
