# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Playing episodes with a trained policy."""

from rnd_agents.evaluation import evaluator

__all__ = ['evaluator']
