# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The render modes of the tasks that draw pictures."""

from rnd_agents import errors


def check_pictures(render_mode: str | None) -> None:
  """Raises InvalidValue unless a mode is None or 'rgb_array'."""
  if render_mode not in (None, 'rgb_array'):
    raise errors.InvalidValue(
        f"render_mode must be None or 'rgb_array', not {render_mode!r}."
    )
