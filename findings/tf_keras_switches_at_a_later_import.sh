#!/usr/bin/env bash
# Library: TensorFlow 2.21.0 with tf-keras 2.21.0, Python 3.11.
#
# Behaviour: if TF_USE_LEGACY_KERAS=1 is set after `import tensorflow` and before
# the first use of `tf.keras`, then `tf.keras` is Keras 2 (tf_keras). As soon as
# anything imports the module, as in `from tensorflow.keras import layers`, the
# same name `tf.keras` is Keras 3, and Keras 3's classes differ from those that
# the program has already built.
#
# One would guess: the variable is read once, and whatever was chosen then stays
# what `tf.keras` and `tensorflow.keras` are.
#
# Source: seen by this script. tensorflow/__init__.py reads the variable when it
# is imported, for the path on which the module is found, and again at the first
# use of the lazily loaded attribute; importing a module sets the attribute of
# its parent. TF-Agents 0.19.0 imports the module in networks/q_rnn_network.py.
# It fails if `tf.keras` stays what it was.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'tensorflow==2.21.0' 'tf-keras==2.21.0' 'setuptools<81'

"$folder/venv/bin/python" - 2>/dev/null <<'PROGRAM'
import os

import tensorflow as tf

os.environ['TF_USE_LEGACY_KERAS'] = '1'
before = tf.keras.layers.Dense
from tensorflow.keras import layers

after = tf.keras.layers.Dense
print('tf.keras before `from tensorflow.keras import layers`:', before.__module__)
print('tf.keras after it:                                    ', after.__module__)
print('what was imported:                                    ', layers.Dense.__module__)
changes = before.__module__.startswith('tf_keras') and (
    after.__module__.startswith('keras.')
)
raise SystemExit(0 if changes else 1)
PROGRAM
