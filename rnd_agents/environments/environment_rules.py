# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules of the environment checker, and the report of what breaks them.

docs/environments.md says what each rule demands, and why.
"""

from typing import Dict, List, NamedTuple, Sequence

# A fault makes training wrong or impossible, a warning does so in some uses, a
# note may be nothing wrong.
LEVELS = FAULT, WARNING, NOTE = 'fault', 'warning', 'note'


class Rule(NamedTuple):
  """The level of a rule, and what to do where it is broken."""

  level: str
  fix: str


RULES: Dict[str, Rule] = {
    'adapter': Rule(
        FAULT,
        'Agents are trained on what VectorPyEnvironment makes of it: see'
        ' the message. One of the old Gym goes through'
        ' single_environment.from_old_gym.',
    ),
    'gymnasium': Rule(
        FAULT,
        "Return what the space says, as Gymnasium's message asks.",
    ),
    'gymnasium-check-env': Rule(
        WARNING,
        "See the message, which is Gymnasium's; its wrappers and video"
        " recorders rely on it.",
    ),
    'raises': Rule(
        FAULT,
        'Let reset take seed and options, and step every action of the'
        ' space.',
    ),
    'close': Rule(
        FAULT,
        'Let close forget what it released, and do nothing the second time.',
    ),
    'picklable': Rule(
        NOTE,
        'Let the constructor open files, locks and windows, not the'
        ' callable.',
    ),
    'action-unchanged': Rule(
        FAULT,
        'Work on a copy: action = np.array(action).',
    ),
    'observation-copy': Rule(
        FAULT,
        'Return self._state.copy(): frame stacks and lists of'
        ' demonstrations keep what they are given.',
    ),
    'observation-shared': Rule(
        WARNING,
        'Return a copy.',
    ),
    'return-in-info': Rule(
        FAULT,
        'Leave it to gymnasium.wrappers.RecordEpisodeStatistics.',
    ),
    'episode-end': Rule(
        WARNING,
        'Give a time limit: load_environment(..., max_episode_steps=N).',
    ),
    'time-limit': Rule(
        NOTE,
        'If it is a limit, report truncated or give max_episode_steps=N; if'
        ' the task ends there, all is well.',
    ),
    'seed-repeats': Rule(
        FAULT,
        'Call super().reset(seed=seed) in reset, draw from self.np_random,'
        ' and seed the simulator within.',
    ),
    'stream-repeats': Rule(
        FAULT,
        'Make no new generator when seed is None: self.np_random goes on.',
    ),
    'stream-varies': Rule(
        FAULT,
        'Seed only when seed is not None, which super().reset(seed=seed)'
        ' does.',
    ),
    'reset-clears': Rule(
        FAULT,
        'Set what step changes in reset, not in the constructor.',
    ),
    'seeds-equal': Rule(
        NOTE,
        'Nothing, if there is no randomness; else draw from self.np_random.',
    ),
    'rounding': Rule(
        WARNING,
        'Make the simulator anew in reset, or accept that an episode played'
        ' again (to resume, to record it) may end differently.',
    ),
    'global-random': Rule(
        FAULT,
        'Draw from self.np_random, which reset(seed=...) seeds.',
    ),
    'shared-state': Rule(
        FAULT,
        'Keep state in self: no mutable class attributes or module'
        ' variables.',
    ),
}


class Finding(NamedTuple):
  """A rule that an environment breaks.

  Attributes:
    rule: a key of RULES.
    what: what was seen, and where.
    level: of the rule; NOTE where the user accepts it.
    accepted: whether the user does.
  """

  rule: str
  what: str
  level: str
  accepted: bool

  def __str__(self) -> str:
    accepted = ' (accepted)' if self.accepted else ''
    return (
        f'{self.level}{accepted} [{self.rule}] {self.what}\n'
        f'  fix: {RULES[self.rule].fix}'
    )


class Findings:
  """Collects the first finding of each rule and subject."""

  def __init__(self, accept: Sequence[str] = ()):
    """Creates Findings; those of the rules in `accept` are notes."""
    self._accept = frozenset(accept)
    self._found = {}  # (rule, subject) -> what, in order of finding.

  def add(self, rule: str, what: str, subject: str = '') -> None:
    """Adds that `rule` is broken, unless it is known of this subject."""
    if rule == 'observation-shared' and self.has('observation-copy'):
      return  # No more than a part of it.
    self._found.setdefault((rule, subject), what)

  def has(self, *rules: str) -> bool:
    """Returns whether one of the rules is broken."""
    return any(rule in rules for rule, _ in self._found)

  def has_faults(self) -> bool:
    """Returns whether a rule of level FAULT is broken, accepted or not."""
    return any(RULES[rule].level == FAULT for rule, _ in self._found)

  def list(self) -> List[Finding]:
    """Returns the findings, faults first."""
    findings = []
    for (rule, _), what in self._found.items():
      accepted = rule in self._accept
      level = NOTE if accepted else RULES[rule].level
      findings.append(Finding(rule, what, level, accepted))
    return sorted(findings, key=lambda found: LEVELS.index(found.level))


class Episode(NamedTuple):
  """The sum of rewards, the number of steps and the end of an episode."""

  return_: float
  length: int
  terminated: bool


class Report(NamedTuple):
  """What a check saw.

  Attributes:
    findings: the rules that are broken, faults first.
    episodes: those that ended.
    spaces: the two spaces, in words.
    left_out: what was not checked, and why.
  """

  findings: List[Finding]
  episodes: List[Episode]
  spaces: str
  left_out: List[str]

  @property
  def faults(self) -> List[Finding]:
    """The findings that make training wrong or impossible."""
    fault = FAULT
    return [found for found in self.findings if found.level == fault]

  def summary(self) -> str:
    """Returns in one line what was checked."""
    levels = [found.level for found in self.findings]
    counts = ', '.join(
        f'{levels.count(level)} {level}{"s" * (levels.count(level) != 1)}'
        for level in LEVELS
    )
    if not self.episodes:
      return f'{counts}; no episode ended; {self.spaces}'
    returns, lengths, terminated = zip(*self.episodes)
    return (
        f'{counts}; {len(lengths)} episode{"s" * (len(lengths) != 1)} of '
        f'{min(lengths)} to {max(lengths)} steps, {sum(terminated)} terminated '
        f'and {len(lengths) - sum(terminated)} truncated, returns '
        f'{min(returns):.4g} to {max(returns):.4g}; {self.spaces}'
    )

  def __str__(self) -> str:
    lines = [str(found) for found in self.findings]
    lines += [f'not checked: {what}' for what in self.left_out]
    return '\n'.join(lines + [self.summary()])
