#!/usr/bin/env bash
# openskill 6.2.0: with a margin, an outsider's win is worth less the larger it is. A
# crushing win over a stronger side is worth next to nothing in the default model.
#
# With `margin` and `scores`, a factor f = log(1 + difference / margin) is applied, for
# differences above the margin, to the ratings from which the expected result is computed:
# the gap d becomes d (3 - 2 f) in PlackettLuce and d / f in the others (read, not run).
# It is the gap that is scaled, not the surprise.
#
# * An outsider 10 points behind (both sigma 4, margin 10) gains 1.51 for 1:0, 1.43 for
#   20:0, 0.20 for 100:0 and 0.001 for 1000:0. In the four other models it loses 19 to
#   33 % of the gain with 100:0, and 27 to 43 % with 1000:0.
# * Between equals the score means nothing at all (the gap is 0).
# * Just above the margin f is log(2), less than 1: the favourite gains less for 11:0
#   than for 9:0, and the outsider more. It changes sides at 1.72 margins.
# * An agent of 20 that has become better and beats ten settled players of 30 by 100:0
#   each is rated 21.9 afterwards, and 20.0 if it was by 1000:0; 32.3 if it was by 1:0.
#
# One would guess: "the margin of victory needed for a win to be considered impressive"
# makes such wins count more, for everyone. That the sign was wrong for favourites was
# reported and repaired before this version (issue 181 and pull request 191 of
# openskill.py; read, not run). The repair does it for them alone. In a league of agents
# those that have become much better are held down.
#
# Controls: no margin, where all differences count the same; the favourite, who gains
# more for more from 1.72 margins on; and the formula of Weng and Lin in a loop of our
# own, with the gap as it is and as above.
#
# Source: openskill/models/weng_lin/plackett_luce.py (`_sum_q` and `_compute`:
# `margin_adjustment`), and the like in the four other models; seen by this script, which
# fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'openskill==6.2.0'

"$folder/venv/bin/python" - <<'PROGRAM'
import math
import sys

from openskill import models

MARGIN, SIGMA = 10.0, 4.0
DIFFERENCES = [1, 9, 11, 17, 18, 20, 40, 100, 1000]
BEGIN = math.expm1(1) * MARGIN  # Where the factor is 1.


def gain(kind, winner, loser, difference, margin):
  """What the winner gains."""
  model = kind(margin=margin)
  [[after], [other]] = model.rate(
      [[model.rating(mu=winner, sigma=SIGMA)], [model.rating(mu=loser, sigma=SIGMA)]],
      scores=[difference, 0],
  )
  assert math.isclose(after.mu - winner, loser - other.mu, abs_tol=1e-9)
  return after.mu - winner


def by_hand(winner, loser, factor):
  """Weng and Lin's update for two players, with a gap that is scaled."""
  model = models.PlackettLuce()
  variance = SIGMA**2 + model.tau**2
  c = math.sqrt(2 * (variance + model.beta**2))
  gap = (winner - loser) * (3 - 2 * factor)
  return variance / c / (1 + math.exp(gap / c))


as_described = True
for kind in (
    models.PlackettLuce, models.BradleyTerryFull, models.BradleyTerryPart,
    models.ThurstoneMostellerFull, models.ThurstoneMostellerPart,
):
  for name, winner, loser in (
      ('outsider', 20, 30), ('equal', 25, 25), ('favourite', 30, 20)
  ):
    seen = {each: gain(kind, winner, loser, each, MARGIN) for each in DIFFERENCES}
    plain = {each: gain(kind, winner, loser, each, 0.0) for each in DIFFERENCES}
    print(f'{kind.__name__}, {name} wins by'
          f' {", ".join(f"{k}: +{v:.3f}" for k, v in seen.items())}; no margin'
          f' +{plain[1]:.3f}')
    # Below the margin, and without one, it is the plain update.
    as_described &= len({round(each, 9) for each in plain.values()}) == 1
    as_described &= all(math.isclose(seen[each], plain[1]) for each in (1, 9))
    if kind is models.PlackettLuce:
      for each in DIFFERENCES:
        factor = math.log1p(each / MARGIN) if each > MARGIN else 1.0
        as_described &= math.isclose(seen[each], by_hand(winner, loser, factor))
        as_described &= math.isclose(plain[each], by_hand(winner, loser, 1.0))
    above = [seen[each] for each in DIFFERENCES if each > MARGIN]
    grows = all(a < b for a, b in zip(above, above[1:]))
    falls = all(a > b for a, b in zip(above, above[1:]))
    if name == 'equal':
      as_described &= all(math.isclose(each, plain[1]) for each in above)
      continue
    sign = 1 if name == 'favourite' else -1
    as_described &= grows if name == 'favourite' else falls
    for each in DIFFERENCES[2:]:
      # Less than a narrow win for the favourite just above the margin; then more.
      as_described &= sign * (seen[each] - plain[1]) * (each - BEGIN) > 0
    if name == 'outsider':
      share = seen[1000] / seen[1], seen[100] / seen[1]
      as_described &= (
          share[0] < 0.01 and share[1] < 0.2 if kind is models.PlackettLuce
          else 0.5 < share[0] < 0.8 and 0.6 < share[1] < 0.85
      )

# An agent that has become better and wins all games against settled players.
final = {}
for difference in (1, 20, 100, 1000):
  model = models.PlackettLuce(margin=MARGIN)
  agent = model.rating(mu=20, sigma=SIGMA)
  for game in range(10):
    settled = model.rating(mu=30, sigma=1)
    [[agent], _] = model.rate([[agent], [settled]], scores=[difference, 0])
  final[difference] = agent.mu
  print(f'an agent of 20 that beats ten settled players of 30 by {difference}:0 is rated'
        f' {agent.mu:.1f}')
as_described &= final[1] > final[20] > 30 and 23 > final[100] > final[1000]
as_described &= final[1000] < 20.1
sys.exit(not as_described)
PROGRAM
