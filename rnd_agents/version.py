# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The version of rnd_agents; setup.py and CHANGELOG.md follow this file."""

__version__ = '0.1.0'
