#!/usr/bin/env bash
# Library:   ray 2.60.0 (PyPI), Linux, Python 3.10 to 3.13
#
# Behaviour: ray.init(address='local', include_dashboard=False,
#            _node_ip_address='127.0.0.1') replaces 127.0.0.1 by the address of
#            the machine, without a warning. All gRPC servers of the cluster
#            (gcs_server, raylet, every worker, the driver itself) then listen
#            on all interfaces, the runtime environment agent on the machine's
#            address. With RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 in the
#            environment before Ray is imported they listen on 127.0.0.1 alone,
#            on Linux too.
#
# Guess:     An engineer who starts a cluster of this machine alone and passes
#            127.0.0.1 as "the IP address of this node" takes it to be reachable
#            from this machine only, and takes a variable that is named after
#            Windows and macOS to do nothing on Linux.
#
# Source:    ray/_private/worker.py, init(): `_node_ip_address =
#            services.resolve_ip_for_localhost(_node_ip_address)`, which calls
#            services.get_node_ip_address(), which returns 127.0.0.1 only if
#            ray_constants.ENABLE_RAY_CLUSTER is false. The processes listen on
#            loopback alone only if their node's address is 127.0.0.1.
#            _node_ip_address is documented in init()'s docstring as "the IP
#            address of this node".
#
# Seen:      Linux, Python 3.11, ray 2.60.0:
#   ## _node_ip_address='127.0.0.1'
#   address of the node: 192.0.2.2
#   driver               listens on ::
#   gcs_server           listens on ::
#   raylet               listens on ::
#   ray::RuntimeEnvAgent listens on 192.0.2.2
#   worker               listens on ::
#   processes that listen on other addresses than 127.0.0.1: 5
#   ## ... and RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0
#   address of the node: 127.0.0.1
#   driver               listens on ::ffff:127.0.0.1
#   gcs_server           listens on ::ffff:127.0.0.1
#   raylet               listens on ::ffff:127.0.0.1
#   ray::RuntimeEnvAgent listens on 127.0.0.1
#   worker               listens on ::ffff:127.0.0.1
#   processes that listen on other addresses than 127.0.0.1: 0
#   As described above.
#
# Installs ray into a temporary folder, starts it twice for a few seconds, and
# stops it. Exits with 0 if the behaviour is as described, with 1 if it has
# changed, with 2 where the machine has no other address than 127.0.0.1.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet 'ray==2.60.0' 'psutil==7.0.0'

cat > "$folder/listen.py" << 'PROGRAM'
import os

import psutil
import ray

ray.init(
    address='local',
    num_cpus=1,
    include_dashboard=False,
    logging_level='ERROR',
    log_to_driver=False,
    _node_ip_address='127.0.0.1',
    _temp_dir=os.environ['RAY_FOLDER'],
)


@ray.remote
class Worker:

  def answer(self):
    return os.getpid()


worker = Worker.remote()
pids = {os.getpid(): 'driver', ray.get(worker.answer.remote()): 'worker'}
print('address of the node:', ray.nodes()[0]['NodeManagerAddress'])
outside = 0
this = psutil.Process()
for process in [this, *this.children(recursive=True)]:
  try:
    name = pids.get(process.pid, process.name())
    found = sorted({
        socket.laddr.ip
        for socket in process.net_connections('tcp')
        if socket.status == psutil.CONN_LISTEN
    })
  except psutil.Error:
    continue
  if found:
    print(f'{name:20} listens on', *found)
  outside += any('127.0.0.1' not in address for address in found)
print('processes that listen on other addresses than 127.0.0.1:', outside)
ray.shutdown()
with open(os.environ['RESULT'], 'w') as file:
  file.write(str(outside))
PROGRAM

export RAY_FOLDER="$folder/ray" RAY_USAGE_STATS_ENABLED=0

echo "## _node_ip_address='127.0.0.1'"
RESULT="$folder/plain" "$folder/venv/bin/python" "$folder/listen.py"
echo "## ... and RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0"
RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 RESULT="$folder/variable" \
  "$folder/venv/bin/python" "$folder/listen.py"

addresses=$("$folder/venv/bin/python" -c "
import psutil
print(sum(a.family.name == 'AF_INET' and not a.address.startswith('127.')
          for found in psutil.net_if_addrs().values() for a in found))")
if [ "$addresses" -eq 0 ]; then
  echo 'This machine has only 127.0.0.1: nothing to see here.'
  exit 2
fi
if [ "$(cat "$folder/plain")" -gt 0 ] && [ "$(cat "$folder/variable")" -eq 0 ]
then
  echo 'As described above.'
else
  echo 'The behaviour has changed.'
  exit 1
fi
