# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""For other libraries: data sets, and environments that pay a bonus."""

from rnd_agents.interchange import curious_vector_env
from rnd_agents.interchange import minari_data

__all__ = [
    'curious_vector_env',
    'minari_data',
]
