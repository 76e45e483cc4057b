#!/usr/bin/env bash
# Library: mujoco 4.0.0 beside 3.11.0, gymnasium 1.4.0, Python 3.11.
#
# Behaviour: `pip install --upgrade mujoco==4.0.0` over 3.11.0 ends well, and
# mujoco cannot be imported afterwards. MuJoCo 4 is three packages with files in
# one folder: pip installs mujoco-core first and then removes the old mujoco, the
# files that they share with it. The error names the repair, `pip install
# --force-reinstall --no-deps mujoco mujoco-core mujoco-studio`; that takes the
# newest of each, here core 4.0.1 beside mujoco 4.0.0, and the import fails for
# different versions. With the three versions pinned alike it works. Gymnasium
# tells the user of an environment that MuJoCo is not installed.
#
# One would guess: an upgrade that pip reports as done can be imported, and the
# command of the error message repairs it.
#
# Source: seen by this script. It fails if the upgrade works, or Gymnasium names
# the cause. The repair is printed and not required: it depends on the newest
# versions of the day.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
pip() { "$folder/venv/bin/pip" "$@" --quiet --disable-pip-version-check; }
run() { "$folder/venv/bin/python" -W ignore -c "$1" 2>&1 | tail -n 3; }
import_it='import mujoco; print("imported", mujoco.__version__)'
make_it='import gymnasium; gymnasium.make("HalfCheetah-v5")'

pip install 'mujoco==3.11.0' 'gymnasium==1.4.0'
before=$(run "$import_it")
pip install --upgrade 'mujoco==4.0.0'
after=$(run "$import_it" || true)
said=$(run "$make_it" || true)
pip install --force-reinstall --no-deps mujoco mujoco-core mujoco-studio
repaired=$(run "$import_it" || true)
pip install --force-reinstall --no-deps \
  'mujoco==4.0.0' 'mujoco-core==4.0.0' 'mujoco-studio==4.0.0'
pinned=$(run "$import_it")

printf '%s\n\n' "before: $before" "upgraded: $after" "Gymnasium: $said" \
  "repaired as the error says: $repaired" "versions pinned alike: $pinned"
[[ $before == 'imported 3.11.0' && $pinned == 'imported 4.0.0' ]]
[[ $after == *mujoco-core* && $said == *'MuJoCo is not installed'* ]]
