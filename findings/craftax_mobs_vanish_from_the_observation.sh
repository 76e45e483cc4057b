#!/usr/bin/env bash
# craftax 1.6.1: in the symbolic observations of Craftax-Classic a zombie (cow,
# skeleton, arrow) beside the player can be missing, as another one that is not in the
# view, or is not alive, is drawn over it as "nothing here".
#
# Each kind has a few slots. For each slot, one after the other, the observation is set
# to 1 or 0 at the slot's place, and 0 is also written for a mob that is outside of the
# view or that is not alive. A place above or to the left of the view has negative
# indices, which JAX takes from the other end. So a mob is not shown if one of a later
# slot
#
# * is alive and 7 rows further up, or 9 columns further to the left, or both (the size
#   of the view), which is outside of it; further down or to the right does nothing;
# * is not alive and its place, which goes on moving, is the same cell (or one as far
#   away as above).
#
# The same zombies in the other order are shown. It happens seldom (once in some hundred
# visible zombies, if three are within 13 cells at random), but what is missing is what
# takes the player's health. Mobs that are not there are never shown.
#
# One would guess: all mobs in the view are in the observation, and what is outside does
# not matter, as it is for the picture of the pixels environment.
#
# Source: craftax/craftax_classic/renderer.py (`render_craftax_symbolic`:
# `mob_map.at[...].set(on_screen)`; craftax/craftax/renderer.py has the same lines);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'jax==0.10.2' 'jaxlib==0.10.2' 'flax==0.12.8' 'numpy==2.4.6' 'chex==0.1.92' \
  'imageio==2.38.1' 'pillow==13.0.0' 'matplotlib==3.10.8'
# It also asks for pygame, for its window.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'craftax==1.6.1'

export JAX_PLATFORMS=cpu MPLCONFIGDIR="$folder"
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from craftax.craftax_classic import constants
from craftax.craftax_classic.envs import craftax_symbolic_env
from craftax.craftax_classic.renderer import render_craftax_symbolic
import jax
import jax.numpy as jnp
import numpy as np

ROWS, COLUMNS = map(int, constants.OBS_DIM)
BLOCKS, KINDS = len(constants.BlockType), 4
PLAYER = np.array([32, 32])
DRAWS, NEAR = 20_000, 13

# A meadow with the player alone: the shapes of a state are known without a world.
env = craftax_symbolic_env.CraftaxClassicSymbolicEnv()
_, shapes = jax.eval_shape(
    lambda key: env.reset_env(key, env.default_params), jax.random.PRNGKey(0)
)
meadow = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
meadow = meadow.replace(
    map=jnp.full_like(meadow.map, constants.BlockType.GRASS.value),
    player_position=jnp.array(PLAYER, meadow.player_position.dtype),
)


@jax.jit
@jax.vmap
def observe(places, alive):
  """Where the observation has zombies."""
  zombies = meadow.zombies.replace(position=places, mask=alive)
  observation = render_craftax_symbolic(meadow.replace(zombies=zombies))
  mobs = observation[:ROWS * COLUMNS * (BLOCKS + KINDS)]
  return mobs.reshape(ROWS, COLUMNS, BLOCKS + KINDS)[..., BLOCKS]


def shown(places, alive):
  places = jnp.array(places, meadow.zombies.position.dtype)
  return np.array(observe(places, jnp.array(alive, bool))).astype(int)


def expected(places, alive):
  """The same, one zombie after the other."""
  pictures = np.zeros((len(places), ROWS, COLUMNS), int)
  for picture, group, living in zip(pictures, places, alive):
    for place, lives in zip(group, living):
      row, column = place - PLAYER + [ROWS // 2, COLUMNS // 2]
      if lives and 0 <= row < ROWS and 0 <= column < COLUMNS:
        picture[row, column] = 1
  return pictures


def count(first, second, second_lives, third=(10, 10)):
  """How many of the zombies are shown, and how many should be."""
  places = np.array([[PLAYER + first, PLAYER + second, PLAYER + third]])
  alive = [[True, second_lives, False]]
  return int(shown(places, alive).sum()), int(expected(places, alive).sum())


assert meadow.zombies.mask.shape == (3,) and (ROWS, COLUMNS) == (7, 9)
as_described = True
beside = np.array([0, 1])
for text, other, lives, numbers in (
    ('far away', (10, 10), True, (1, 1)),
    ('7 rows further up', beside + [-7, 0], True, (0, 1)),
    ('9 columns further left', beside + [0, -9], True, (0, 1)),
    ('7 rows up and 9 columns left', beside + [-7, -9], True, (0, 1)),
    ('7 rows further down', beside + [7, 0], True, (1, 1)),
    ('9 columns further right', beside + [0, 9], True, (1, 1)),
    ('dead on the same cell', beside, False, (0, 1)),
):
  seen = count(beside, other, lives)
  print(f'a zombie beside the player, one in the next slot {text}: {seen[0]} of'
        f' {seen[1]} shown')
  as_described &= seen == numbers
# The other order: the far one first.
seen = count(beside + [-7, 0], beside, True)
print(f'the one 7 rows further up in the slot before: {seen[0]} of {seen[1]} shown')
as_described &= seen == (1, 1)

random = np.random.default_rng(0)
places = PLAYER + random.integers(-NEAR, NEAR + 1, (DRAWS, 3, 2))
alive = np.ones((DRAWS, 3), bool)
should, is_shown = expected(places, alive), shown(places, alive)
missing = (should > is_shown).sum()
print(f'three living zombies at random within {NEAR} cells: {missing} of {should.sum()}'
      ' in the view are not shown')
as_described &= not (is_shown > should).any()
as_described &= 0.001 < missing / should.sum() < 0.01
sys.exit(not as_described)
PROGRAM
