# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collects experience in this process: the protocol of a collector, shards."""

from rnd_agents.collecting import collector
from rnd_agents.collecting import local

__all__ = ['collector', 'local']
