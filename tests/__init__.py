# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the package.

This file makes the folder a regular package: opensimplex, which Crafter needs,
installs one of the same name, that would hide a folder without it.
"""
