# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sequences for networks with memory, whatever learns from them."""

from rnd_agents.replay import sequences

__all__ = ['sequences']
