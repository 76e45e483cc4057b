#!/usr/bin/env bash
# navix 4.0.0: in `Navix-GoToDoor-*` a look at the door is the success, and the action
# `done` means nothing.
#
# The task pays and ends as soon as the agent stands before the door of the mission and
# faces it, whatever it did to come there; an agent that begins so wins by whatever it
# does first. `done` at another place does not end the episode. So
#
# * random actions win 47 % of the episodes of 5x5 and 56 % of those of 8x8, where
#   MiniGrid, which navix implements anew, gives 5 % and 2 % and ends the others at
#   their first `done`;
# * an agent that can only turn and walk, which never wins in MiniGrid, wins 72 % and
#   83 % with random actions.
#
# One would guess what the texts of the environment, of its reward and of its event say,
# that success is to call `done` at the door, and what `Navix-GoToObject-*` does, whose
# event asks for the action. An exploration bonus, a learner and its success rate then
# have a task that is over at a glance, under the name of one that asks for a decision.
#
# Controls: the same worlds with a reward and an end that ask for the action, and
# MiniGrid 3.2.0.
#
# Source: navix/events.py (`on_door_done`, which does not read `action`; compare
# `on_target_done`), navix/environments/go_to_door.py; seen by this script, which fails
# if it changes.
set -euo pipefail

# pyenv may have the interpreter off PATH.
for python in "${PYTHON:-python3.12}" ~/.pyenv/versions/3.12*/bin/python; do
  "$python" --version >/dev/null 2>&1 && break
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'jax==0.10.2' 'jaxlib==0.10.2' 'flax==0.12.8' 'rlax==0.1.9' 'distrax==0.1.9' \
  'chex==0.1.92' 'minigrid==3.2.0' 'gymnasium==1.4.0' 'numpy==2.5.5' \
  'pillow==13.0.0' 'matplotlib==3.11.2' 'wandb==0.31.0'
# navix asks for Python 3.12 and, besides these, for linters and tools that it does
# not import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
  'navix==4.0.0'

JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import jax
import jax.numpy as jnp
import minigrid  # It registers the environments.
import navix
import numpy as np

DONE, NUM_ACTIONS, EPISODES = 6, 7, 400


def reward_of_done(before, action, after):
  reached = navix.rewards.on_door_done(before, action, after)
  return reached * (action == DONE)


def is_done(before, action, after):
  del before, after
  return jnp.asarray(action == DONE)


def play_navix(size, asks_for_done):
  """Returns a function of a number of actions to the wins and their actions."""
  rules = {'observation_fn': navix.observations.none}
  if asks_for_done:
    rules.update(reward_fn=reward_of_done, termination_fn=is_done)
  env = navix.make(f'Navix-GoToDoor-{size}x{size}-v0', **rules)

  def episode(key, num_actions):
    world, actions = jax.random.split(key)
    actions = jax.random.randint(actions, [env.max_steps], 0, num_actions)

    def step(carry, action):
      timestep, is_over = carry
      timestep = env.step(timestep, action)
      row = timestep.reward * ~is_over, action
      return (timestep, is_over | timestep.is_done()), row

    first = env.reset(world), jnp.asarray(False)
    _, (rewards, actions) = jax.lax.scan(step, first, actions)
    return rewards.sum() > 0, actions[jnp.argmax(rewards)]

  function = jax.jit(jax.vmap(episode, in_axes=(0, None)))
  keys = jax.random.split(jax.random.key(0), EPISODES)

  def run(num_actions):
    wins, actions = map(np.asarray, function(keys, num_actions))
    return wins.mean(), actions[wins]

  return run


def play_minigrid(size):
  env = gymnasium.make(f'MiniGrid-GoToDoor-{size}x{size}-v0')

  def run(num_actions):
    rng = np.random.default_rng(0)
    last = []
    for episode in range(EPISODES):
      env.reset(seed=episode)
      is_over = False
      while not is_over:
        action = int(rng.integers(num_actions))
        _, reward, terminated, truncated, _ = env.step(action)
        is_over = terminated or truncated
      if reward > 0:
        last.append(action)
    return len(last) / EPISODES, np.array(last, int)

  return run


as_described = True
for size in (5, 8):
  for name, run in (
      ('navix', play_navix(size, asks_for_done=False)),
      ('navix, asked for `done`', play_navix(size, asks_for_done=True)),
      ('MiniGrid', play_minigrid(size)),
  ):
    wins, last = run(NUM_ACTIONS)
    walking, _ = run(3)
    by_done = np.mean(last == DONE)
    print(
        f'{size}x{size}, {name}: random actions win {wins:.1%}, {by_done:.0%} of'
        f' them by `done`; turns and steps alone win {walking:.1%}'
    )
    if name == 'navix':
      as_described &= wins > 0.3 and walking > 0.6 and by_done < 0.1
    else:
      as_described &= 0 < wins < 0.15 and walking == 0 and by_done == 1
sys.exit(not as_described)
PROGRAM
