# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Playing episodes with a trained policy, and looking at them."""

from rnd_agents.evaluation import demonstrating
from rnd_agents.evaluation import evaluator
from rnd_agents.evaluation import saved_policy
from rnd_agents.evaluation import video
from rnd_agents.evaluation import visits

__all__ = ['demonstrating', 'evaluator', 'saved_policy', 'video', 'visits']
