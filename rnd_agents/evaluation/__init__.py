# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plays episodes with a policy: statistics, videos, visits, demonstrations."""
