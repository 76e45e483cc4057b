# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collecting in other processes and on other machines.

`shard_worker.py` is what runs there, `remote_collector.py` is the collector that
hands its calls over, `ray_workers.py` carries them with Ray (extra `cluster`).
"""
