# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Serves a policy to simulators that call it, and trains on their reports."""

from rnd_agents.serving import batched_policy
from rnd_agents.serving import policy_server
from rnd_agents.serving import replay_trainer

__all__ = ['batched_policy', 'policy_server', 'replay_trainer']
