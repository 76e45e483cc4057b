# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The settings of a run, and which of them a resumed run may change."""

import re

import gin

# A run goes on from where it was, so what its past depends on stays: the
# environments, the shape of a rollout, the networks. The rest may change.
_STAYS = re.compile(
    r"""train/(?!(.*\.)?load_\w+\.(vectorization|step_timeout_s)$).*
    | (.*\.)?(
        train_eval\.(num_environments|rollout_length|warm_up_env_steps|
                     agent_class|rnd_observation_fn)
      | train_eval_r2d3\.(num_environments|warm_up_env_steps|unroll_length|
                     burn_in_length|window_\w+|weight_decay|demonstrations|
                     num_pretraining_steps|explores_with_rnd|rnd_observation_fn)
      | PrioritizedReplay\.\w+
      | create_\w*networks\.(?!compute_dtype)\w+
      | load_\w+\.(?!vectorization|step_timeout_s)\w+
      | (LSTMCore|GRUCore)\.\w+
      | (DelayedReward|PreviousActionReward|RoomsVisited|AgentPosition|
         SomeActions|SomeEntries)\.\w+
      | (Recall|TMaze|CueLock)\.\w+
      | (episode_seeds\.)?(stream|fixed|cycle)\.\w+
      | RNDPPOAgent\.(normalize_(observations|rewards)|recurrent_state_init)
    )$""",
    re.VERBOSE,
)
# What a finished run may be started again with: it decides when a run ends, or
# how it is carried out and watched, and no number that it learns.
_NOT_OF_LEARNING = re.compile(
    r"""\S+\.(num_env_steps|stop_at_success_rate|record_video|num_checkpoints|
             checkpoint_interval_iterations|environment_timeout_s|
             vectorization|step_timeout_s)\ was\ """,
    re.VERBOSE,
)
_OWN = re.compile(
    r'(train/|eval/)?'
    r'(train_eval(_r2d3)?|create_\w*networks|RNDPPOAgent|R2D3Agent|load_\w+|'
    r'LSTMCore|GRUCore|PrioritizedReplay|\w+_epsilon)\.'
    r'|[A-Z][A-Z0-9_]*$'
)
_BINDING = re.compile(r'^(\S+) = (.*)$')
_TEXT_OR_MACRO = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|%([\w/]+)"""
)


def operative(**more):
  """The settings in force, as text.

  Args:
    **more: Settings that do not come from gin.

  Returns:
    A dict from gin's name of a parameter, its scope before it, to its value as
    gin writes it.
  """
  text = gin.operative_config_str(max_line_length=1_000_000)
  found = {f'--{name}': repr(value) for name, value in more.items()}
  for line in text.splitlines():
    match = _BINDING.match(line)
    if match:
      found[match.group(1)] = match.group(2)
  return found


def own(settings):
  """Those of `operative` that are of this package: what a run is about."""
  return {name: settings[name] for name in settings if _OWN.match(name)}


def _without_macros(settings):
  """The settings with values in place of macros, which have no lines then."""

  def values_in(text):
    return _TEXT_OR_MACRO.sub(value_of, text)

  def value_of(match):
    value = settings.get(match.group(1))
    return match.group(0) if value is None else values_in(value)

  return {
      name: values_in(value)
      for name, value in settings.items()
      if '.' in name or name.startswith('--')
  }


def changes(old, new):
  """What differs between two runs' settings.

  A parameter that only one of them knows is none: it came or went with a
  version of the software. A macro is what it stands for where it is used.

  Args:
    old: What `operative` returned when the run began.
    new: What it returns now.

  Returns:
    A tuple of two lists of sentences: changes that cannot be resumed from, and
    those that can.
  """
  fatal, harmless = [], []
  old, new = _without_macros(old), _without_macros(new)
  for name in sorted(old.keys() & new.keys()):
    if old[name] == new[name]:
      continue
    stays = name == '--seed' or _STAYS.match(name)
    (fatal if stays else harmless).append(
        f'{name} was {old[name]} and is now {new[name]}'
    )
  return fatal, harmless


def of_learning(sentences):
  """Those of the sentences of `changes` that a finished run cannot follow."""
  return [text for text in sentences if not _NOT_OF_LEARNING.match(text)]
