# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collects in worker processes, on this machine or on a Ray cluster.

`remote_collector` hands the calls of a collector over to workers,
`shard_worker` runs in one, and `ray_workers` keeps them with Ray (extra
`cluster`). Nothing is imported here, so that `train.sweep` can use
`ray_cluster` without loading TensorFlow.
"""
