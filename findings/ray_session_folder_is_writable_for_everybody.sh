#!/usr/bin/env bash
# Library:   ray 2.60.0 (PyPI), Linux, Python 3.10 to 3.13
#
# Behaviour: ray.init(address='local') makes its temporary folder and that of the
#            session, with the sockets and logs of the cluster in it, writable for
#            every user of the machine (mode 0777, without the sticky bit),
#            whatever the umask is.
#
# Guess:     An engineer expects files by which processes of one user talk to
#            each other to be made with mode 0700, or at least by the umask, as
#            Python's tempfile and ssh-agent make theirs: who can write to the
#            folder can put another socket in the place of one in it.
#
# Source:    ray/_common/utils.py, try_make_directory_shared(): `os.chmod(
#            directory_path, 0o0777)`, also for a _temp_dir that exists already
#            with mode 0700. A _temp_dir inside such a folder keeps others out.
#
# Seen:      Linux, Python 3.11, ray 2.60.0, umask 077, a _temp_dir made with
#            mode 0700 before:
#   _temp_dir        0777
#   session          0777
#   session/sockets  0777
#   session/logs     0777
#   As described above.
#
# Installs ray into a temporary folder of mode 0700, starts it once for a few
# seconds, and stops it. Exits with 0 if the behaviour is as described, else 1.
set -euo pipefail
umask 077

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet 'ray==2.60.0'

RAY_FOLDER="$folder/ray" RAY_USAGE_STATS_ENABLED=0 \
  "$folder/venv/bin/python" << 'PROGRAM'
import os
import stat
import sys

import ray

folder = os.environ['RAY_FOLDER']
os.mkdir(folder, 0o700)
ray.init(
    address='local',
    num_cpus=1,
    include_dashboard=False,
    logging_level='ERROR',
    log_to_driver=False,
    _temp_dir=folder,
)
session = os.path.realpath(os.path.join(folder, 'session_latest'))
modes = {
    name: stat.S_IMODE(os.stat(path).st_mode)
    for name, path in {
        '_temp_dir': folder,
        'session': session,
        'session/sockets': os.path.join(session, 'sockets'),
        'session/logs': os.path.join(session, 'logs'),
    }.items()
}
ray.shutdown()
for name, mode in modes.items():
  print(f'{name:16} {mode:04o}')
if any(mode != 0o777 for mode in modes.values()):
  print('The behaviour has changed.')
  sys.exit(1)
print('As described above.')
PROGRAM
