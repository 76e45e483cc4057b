# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What an environment must keep to: each rule, why, and the mend.

A fault makes training wrong or impossible; a warning is one in some uses; a
note is nothing wrong by itself, and good to know.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence

FAULT, WARNING, NOTE = 'fault', 'warning', 'note'
LEVELS = (FAULT, WARNING, NOTE)


class Rule(NamedTuple):
  """One rule.

  Attributes:
    level: FAULT, WARNING or NOTE.
    demand: what the environment should do.
    why: what goes wrong in training where it does not.
    mend: what to do about it.
  """

  level: str
  demand: str
  why: str
  mend: str


RULES: Dict[str, Rule] = {
    # ---------------------------------------------------------- construction
    'constructor': Rule(
        FAULT,
        'the callable makes an environment, as often as it is called',
        'Training, evaluation and each place of a batch make their own.',
        'See the message; arguments go in by functools.partial(MyEnv, size=8).',
    ),
    'environment-type': Rule(
        FAULT,
        'the callable returns a gymnasium.Env',
        'Nothing else has the reset, step and spaces that the adapter calls.',
        'Return an instance of a subclass of gymnasium.Env; one of the old Gym '
        'goes through single_environment.from_old_gym.',
    ),
    'fresh-instance': Rule(
        FAULT,
        'the callable returns a new environment at each call',
        'Several places of a batch, or training and evaluation, would step '
        'one and the same environment and break each other\'s episodes.',
        'Build the environment inside the callable: lambda: MyEnv(), not '
        'lambda: env.',
    ),
    'equal-spaces': Rule(
        FAULT,
        'all instances have equal spaces',
        'A batch has one spec, and so has the network that reads it.',
        'Fix in the constructor what the spaces depend on (sizes, bounds, '
        'vocabularies), and pad what varies.',
    ),
    'observation-space': Rule(
        FAULT,
        'observation_space can be a TF-Agents spec',
        'Networks and replay buffers are built from the spec.',
        'Use Box, Discrete, MultiDiscrete, MultiBinary, or Dict and Tuple of '
        'these, made in the constructor; encode the rest as an array in a '
        'gymnasium.ObservationWrapper.',
    ),
    'action-space': Rule(
        FAULT,
        'action_space can be a TF-Agents spec',
        'The policy\'s output layer is built from the spec.',
        'As for observation-space.',
    ),
    'action-bounds': Rule(
        WARNING,
        'continuous actions are bounded',
        'Policies scale their output to the bounds and actions are clipped to '
        'them; without bounds a network can only guess the scale.',
        'Give the Box finite bounds, best -1 and 1, and scale inside step; '
        'gymnasium.wrappers.RescaleAction does it for bounded ones.',
    ),
    # ------------------------------------------------------------------- API
    'reset-arguments': Rule(
        FAULT,
        'reset takes seed and options',
        'Vector environments pass both at every reset, None where there is '
        'nothing to say; without a seed no run can be repeated.',
        'Write def reset(self, *, seed=None, options=None) and call '
        'super().reset(seed=seed) first.',
    ),
    'reset-returns': Rule(
        FAULT,
        'reset returns (observation, info)',
        'The observation alone, as of Gym before 0.26, is taken for the pair.',
        'End reset with: return observation, {}.',
    ),
    'step-returns': Rule(
        FAULT,
        'step returns (observation, reward, terminated, truncated, info)',
        'This is the API of Gym before 0.26; its one `done` cannot tell a '
        'death (no value follows) from a time limit (the value goes on).',
        'Return terminated (the task is over) and truncated (time is up) in '
        'place of done.',
    ),
    'raises': Rule(
        FAULT,
        'no call raises for any action of action_space',
        'The agent will try every action in every state, and one exception '
        'ends the run.',
        'Handle the action (a forbidden move is best ignored), or shrink the '
        'space.',
    ),
    'action-unchanged': Rule(
        FAULT,
        'step leaves the action that it is given as it was',
        'That array is also what the replay buffer stores: the agent would '
        'learn from actions that it never chose.',
        'Work on a copy: action = np.array(action).',
    ),
    'close': Rule(
        FAULT,
        'close can be called twice',
        'Loaders, drivers and the interpreter\'s exit each close; an exception '
        'there hides the error that ended the run.',
        'Forget what was released, and do nothing when it is gone.',
    ),
    # ---------------------------------------------------------- observations
    'byte-range': Rule(
        NOTE,
        'images of bytes in [0, 255] use that range',
        'Networks divide them by 255: categories and 0/1 planes nearly vanish.',
        'Declare the real maximum in the Box: 1 for planes of 0 and 1.',
    ),
    'observation-structure': Rule(
        FAULT,
        'an observation is nested as its space is, of arrays',
        'Batching goes by the space: parts that it does not name are lost, '
        'those that are missing raise.',
        'Return a dict with exactly the space\'s keys, a tuple of its length, '
        'a NumPy array for a Box, an integer for a Discrete.',
    ),
    'observation-dtype': Rule(
        FAULT,
        'an observation has the dtype of its space',
        'The batch is made with the space\'s dtype: values are cast without a '
        'word, and fractions or large numbers change.',
        'Return np.asarray(observation, self.observation_space.dtype), or '
        'declare the dtype that you return.',
    ),
    'observation-shape': Rule(
        FAULT,
        'an observation has the shape of its space',
        'The batch cannot be made, or NumPy spreads one number over the array.',
        'Declare the shape that you return; pad what varies in size.',
    ),
    'observation-bounds': Rule(
        FAULT,
        'an observation is within the bounds of its space',
        'One-hot encodings, image scaling and the spec go by the bounds; what '
        'is outside becomes another state or an error.',
        'Widen the bounds (np.inf is allowed) or clip the observation.',
    ),
    'observation-finite': Rule(
        FAULT,
        'an observation holds no NaN and no infinity, as float32 either',
        'One NaN in one batch turns every weight of the network into NaN.',
        'Find the division by zero or the diverging simulation, or clip.',
    ),
    'observation-copy': Rule(
        FAULT,
        'an observation stays as it was when it was returned',
        'Who keeps it (a frame stack, a replay buffer, a list of '
        'demonstrations) finds the newest state in its place: s and s\' '
        'become equal, and nothing says so. VectorPyEnvironment copies, and '
        'what stands inside of it does not.',
        'Return self._state.copy(), never the array that step works on.',
    ),
    'observation-shared': Rule(
        WARNING,
        'observations share no memory with each other',
        'Who writes into one, to scale it in place, changes the others too.',
        'Return a copy.',
    ),
    # --------------------------------------------------- rewards, ends, info
    'reward-type': Rule(
        FAULT,
        'a reward is a Python or NumPy number',
        'An array of one makes the batch of rewards [B, 1], which spreads '
        'against values [B] into [B, B]; a bool is mostly a value returned at '
        'the wrong place.',
        'Return float(reward).',
    ),
    'reward-finite': Rule(
        FAULT,
        'a reward is finite, as float32 either',
        'Returns, advantages and then the weights become NaN.',
        'Bound the reward at its source.',
    ),
    'end-type': Rule(
        FAULT,
        'terminated and truncated are bool (or np.bool_)',
        'An array or a None is neither true nor false for all who test it: '
        'episodes run on, or end at once.',
        'Return bool(terminated), bool(truncated).',
    ),
    'info-type': Rule(
        FAULT,
        'info is a dict',
        'Vector environments merge the infos key by key.',
        'Return {} when there is nothing to tell.',
    ),
    'return-in-info': Rule(
        FAULT,
        'info["episode"], where given, holds the episode\'s return and length',
        'It is what the learning curve shows.',
        'Leave it to gymnasium.wrappers.RecordEpisodeStatistics.',
    ),
    # ------------------------------------------------------------------ ends
    'episode-end': Rule(
        WARNING,
        'episodes end',
        'The agent sees one start only, no return is ever reported, and '
        'evaluation never finishes.',
        'Give a time limit: load_environment(..., max_episode_steps=N).',
    ),
    'time-limit': Rule(
        NOTE,
        'a time limit is reported as truncated',
        'A limit reported as a death teaches that the value of that state is '
        '0, whatever came next.',
        'If this length is a limit, take it out of the environment and give '
        'max_episode_steps=N; if the task does end there, all is well.',
    ),
    # ----------------------------------------------------------------- seeds
    'seed-repeats': Rule(
        FAULT,
        'reset(seed=s) and equal actions give equal episodes',
        'No run can be repeated, no fault searched for, and evaluation on '
        'fixed seeds compares nothing.',
        'Call super().reset(seed=seed) in reset, and draw from self.np_random '
        'only; pass a seed on to the simulator within.',
    ),
    'reset-clears': Rule(
        FAULT,
        'reset leaves nothing of the episode before',
        'Episodes depend on those before them, which the agent cannot see: '
        'the task is no longer Markov.',
        'Set what step changes in reset, not in the constructor.',
    ),
    'stream-varies': Rule(
        FAULT,
        'reset() without a seed goes on to another episode',
        'Loops that seed the first reset only would play one episode for ever.',
        'Seed only when seed is not None, which super().reset(seed=seed) does.',
    ),
    'stream-repeats': Rule(
        FAULT,
        'the episodes that follow a seeded one repeat too',
        'Loops that seed the first reset only could never be repeated.',
        'Make no new generator when seed is None: self.np_random goes on.',
    ),
    'seeds-equal': Rule(
        NOTE,
        'different seeds give different episodes',
        'Evaluating on several seeds then measures one episode several times.',
        'Nothing, if there is no randomness; else draw from self.np_random.',
    ),
    'rounding': Rule(
        WARNING,
        'episodes that repeat are equal to the last bit',
        'An episode that is played again from its seed (to resume a run, to '
        'film the best one) may come out otherwise in the end.',
        'Make the simulator anew in reset: what it keeps (contacts, warm '
        'starts) reaches into the next episode. Or live with it.',
    ),
    'global-random': Rule(
        FAULT,
        'no use of the global np.random or random',
        'All code in the process shares it: environments disturb each other.',
        'Draw from self.np_random, which reset(seed=...) seeds.',
    ),
    'shared-state': Rule(
        FAULT,
        'two instances do not share state',
        'Environments of a batch would play into each other\'s episodes.',
        'Keep state in self: no mutable class attributes or module variables.',
    ),
    # ---------------------------------------------------------------- adapter
    'adapter': Rule(
        FAULT,
        'VectorPyEnvironment gives the time steps that were played',
        'This is what the agent is trained on: FIRST with reward 0, discount '
        '0 at a termination only, then LAST, then FIRST.',
        'Mend what the message names; a key of info must have one type and '
        'one shape for all steps and instances. If nothing is wrong with the '
        'environment, please report it.',
    ),
    'picklable': Rule(
        NOTE,
        'the callable can be sent to another process',
        'Spawned processes cannot be given it; those of \'async\' are forked.',
        'Let the constructor open files, locks and windows, not the callable.',
    ),
    'render': Rule(
        WARNING,
        'render gives uint8 [height, width, 3] where rgb_array is declared',
        'No video can be recorded.',
        'Return such an array from render() when render_mode is '
        '\'rgb_array\', or take it out of metadata["render_modes"].',
    ),
    'gymnasium': Rule(
        WARNING,
        'gymnasium.utils.env_checker.check_env passes',
        'Wrappers and tools written for Gymnasium rely on it.',
        'See the message, which is Gymnasium\'s.',
    ),
}


class Finding(NamedTuple):
  """A rule that an environment breaks.

  Attributes:
    rule: a key of RULES.
    what: what was seen, and where.
    accepted: whether the user said that this rule may be broken.
  """

  rule: str
  what: str
  accepted: bool = False

  @property
  def level(self) -> str:
    """FAULT, WARNING or NOTE; a NOTE where it is accepted."""
    return NOTE if self.accepted else RULES[self.rule].level

  @property
  def why(self) -> str:
    """What it does to training."""
    return RULES[self.rule].why

  @property
  def mend(self) -> str:
    """What to do about it."""
    return RULES[self.rule].mend

  def __str__(self) -> str:
    accepted = ' (accepted)' if self.accepted else ''
    return (
        f'{self.level}{accepted} [{self.rule}] {self.what}\n'
        f'  why:  {self.why}\n  mend: {self.mend}'
    )


class Findings:
  """Collects findings, one for each rule and subject, and counts repeats."""

  def __init__(self, accept: Sequence[str] = ()):
    """Creates Findings.

    Args:
      accept: rules whose findings are notes.
    """
    self._accept = frozenset(accept)
    self._found = {}  # (rule, subject) -> [what, count], in order of finding.

  def add(self, rule: str, what: str, subject: str = '') -> None:
    """Notes that `rule` is broken.

    Args:
      rule: a key of RULES.
      what: what was seen; of several, the first is kept.
      subject: what it was seen of, where one rule can be broken in several.
    """
    if rule not in RULES:
      raise KeyError(rule)
    self._found.setdefault((rule, subject), [what, 0])[1] += 1

  def has(self, rule: str) -> bool:
    """Returns whether `rule` is broken."""
    return any(rule == found for found, _ in self._found)

  def list(self, level: Optional[str] = None) -> List[Finding]:
    """Returns the findings, faults first.

    Args:
      level: only findings of rules of this level, be they accepted or not.
    """
    findings = [
        Finding(
            rule,
            what if count == 1 else f'{what} ({count} times in all.)',
            rule in self._accept,
        )
        for (rule, _), (what, count) in self._found.items()
        if level in (None, RULES[rule].level)
    ]
    return sorted(findings, key=lambda found: LEVELS.index(found.level))
