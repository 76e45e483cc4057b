# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collects experience: the protocol of a collector, here and in workers.

`local.py` collects in this process. `remote_collector.py` hands its calls over
to workers, `shard_worker.py` is what runs in one, and `ray_workers.py` keeps
them with Ray (extra `cluster`). `serving.py` collects from simulators that call
the agent, by a `BatchedPolicy`.
"""

from rnd_agents.collecting import batched_policy
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.collecting import serving
from rnd_agents.collecting import shards

__all__ = ['batched_policy', 'collector', 'local', 'serving', 'shards']
