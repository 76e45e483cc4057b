#!/usr/bin/env bash
# syne-tune 0.16.0: a search under `MedianStoppingRule` is random, and if it maximizes, its
# best trials are stopped.
#
# The rule wraps another scheduler: "suggest decisions are left to the wrapped scheduler",
# and "the mode of the wrapped scheduler is used".
#
# * Of the calls of a tuner, the rule hands on `suggest` and the results of trials that go
#   on, and not `on_trial_complete`, `on_trial_add`, `on_trial_error` and `on_trial_remove`.
#   Regularized evolution, KDE (TPE), BOTorch, BORE and CQR learn from completed trials
#   alone. The population of a `RegularizedEvolution` is empty after 300 trials, of which a
#   fifth were completed. Its configurations are those of random search of the same seeds:
#   the last 100 have a mean loss of 0.52, where 0.54 is that of uniform draws. Without the
#   rule it is 0.21.
# * The mode is the rule's own `do_minimize`, which is True by default, whatever the wrapped
#   scheduler has. Around a scheduler that maximizes, 3 % of the best 30 of 100 trials are
#   trained to the end and 70 % of the worst 30; the best one is stopped at its first result.
#   Told the mode once more, the rule completes 70 % and 3 %, and the best one.
#
# One would guess: what the docstring says, and that a searcher sees the trials that the
# rule lets through. The tuner's log lists suggestions and stopped trials as usual; a random
# search finds something too, and the metadata name the mode "min".
#
# Controls: the wrapped schedulers by themselves; a rule that hands on the completed
# trials; a rule that is told the mode.
#
# Source: syne_tune/optimizer/schedulers/median_stopping_rule.py, and syne_tune/tuner.py for
# the order of the calls; seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what these modules import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==2.4.6' 'pandas==2.3.3' 'dill==0.4.1' 'sortedcontainers==2.4.0' \
  'typing_extensions==4.16.0' 'tqdm==4.70.1' 'psutil==7.2.2'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'syne-tune==0.16.0'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import datetime
import sys

import numpy as np
from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import uniform
from syne_tune.optimizer.scheduler import SchedulerDecision
from syne_tune.optimizer.schedulers.median_stopping_rule import MedianStoppingRule
from syne_tune.optimizer.schedulers.searchers.regularized_evolution import RegularizedEvolution
from syne_tune.optimizer.schedulers.single_objective_scheduler import SingleObjectiveScheduler

EPOCHS, TRIALS = 5, 300
SPACE = {f'x{i}': uniform(0, 1) for i in range(3)}
as_described = True


class RuleThatTells(MedianStoppingRule):

  def on_trial_complete(self, trial, result):
    self.scheduler.on_trial_complete(trial, result)


def tune(scheduler, metric_of, trials):
  """The calls of `Tuner`, one trial after the other. Returns configurations, epochs."""
  configs, epochs = [], []
  for number in range(trials):
    suggestion = scheduler.suggest()
    trial = Trial(number, suggestion.config, datetime.datetime.now())
    scheduler.on_trial_add(trial)
    for epoch in range(1, EPOCHS + 1):
      result = {'metric': metric_of(trial.config, epoch), 'epoch': epoch}
      decision = scheduler.on_trial_result(trial, result)
      if decision == SchedulerDecision.STOP and epoch < EPOCHS:
        scheduler.on_trial_remove(trial)
        break
    else:
      scheduler.on_trial_complete(trial, result)
    configs.append(trial.config)
    epochs.append(epoch)
  return configs, np.array(epochs)


def loss(config, epoch):
  return sum((config[key] - 0.2) ** 2 for key in SPACE) + 0.1 / epoch


found = {}
for name in ('random search', 'REA', 'REA under the rule', 'REA under a rule that tells'):
  late, sizes = [], []
  for seed in range(5):
    np.random.seed(seed)  # The samplers of configurations use it too.
    searcher = 'random_search' if name == 'random search' else RegularizedEvolution(
        SPACE, population_size=20, sample_size=10, random_seed=seed
    )
    scheduler = SingleObjectiveScheduler(
        SPACE, metric='metric', searcher=searcher, random_seed=seed,
        searcher_kwargs={'random_seed': seed},
    )
    if 'rule' in name:
      rule = RuleThatTells if 'tells' in name else MedianStoppingRule
      scheduler = rule(scheduler, time_attr='epoch', metric='metric', random_seed=seed)
    configs, epochs = tune(scheduler, loss, TRIALS)
    late.append(np.mean([loss(config, EPOCHS) for config in configs[-100:]]))
    sizes.append(len(getattr(searcher, 'population', [])))
  found[name] = np.mean(late)
  print(f'{name}: mean loss of the last 100 of {TRIALS} trials {np.mean(late):.3f},'
        f' population {sizes}, {np.mean(epochs == EPOCHS):.0%} of the trials completed')
  if name == 'REA under the rule':
    as_described &= max(sizes) == 0
  elif name != 'random search':
    as_described &= min(sizes) == 20
# The mean loss of a uniform draw: an integral.
uniform_loss = 3 * (0.8**3 + 0.2**3) / 3 + 0.1 / EPOCHS
print(f'a uniform draw: mean loss {uniform_loss:.3f}')
as_described &= found['REA under the rule'] == found['random search']
as_described &= abs(found['random search'] - uniform_loss) < 0.06
as_described &= found['REA'] < uniform_loss / 2
as_described &= found['REA under a rule that tells'] < uniform_loss / 2


def accuracy(config, epoch):
  return config['x0'] * (1 - 0.5 / epoch)


for keywords in {}, {'do_minimize': False}:
  np.random.seed(0)
  wrapped = SingleObjectiveScheduler(
      SPACE, metric='metric', do_minimize=False, searcher='random_search',
      searcher_kwargs={'random_seed': 0}, random_seed=0,
  )
  rule = MedianStoppingRule(wrapped, time_attr='epoch', metric='metric', **keywords)
  configs, epochs = tune(rule, accuracy, 100)
  quality = np.array([config['x0'] for config in configs])
  order = np.argsort(quality)
  completed = epochs == EPOCHS
  print(f'a scheduler that maximizes under the rule with {keywords}: mode of the wrapped one'
        f' {wrapped.metric_mode()}, of the rule {rule.metric_mode()}; completed'
        f' {completed[order[-30:]].mean():.0%} of the best 30 of 100 trials and'
        f' {completed[order[:30]].mean():.0%} of the worst 30; the best one ended after epoch'
        f' {epochs[order[-1]]}')
  best, worst = completed[order[-30:]].mean(), completed[order[:30]].mean()
  if keywords:
    as_described &= bool(best > 0.4 and worst < 0.1 and completed[order[-1]])
  else:
    as_described &= bool(best < 0.1 and worst > 0.5 and not completed[order[-1]])
sys.exit(not as_described)
PROGRAM
