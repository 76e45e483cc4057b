# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from benchmarks import atari_layers
from rnd_agents.training import gin_files


@pytest.fixture(autouse=True)
def _paper():
  gin_files.parse(
      ['montezuma_revenge_cpu.gin'], ['RNDPPOAgent.predictor_proportion = 0.25']
  )


def test_layers_have_the_parameters_of_the_authors_networks():
  assert {
      name: sum(layer.num_parameters for layer in layers)
      for name, layers in atari_layers.networks().items()
  } == {'policy': 1_223_156, 'predictor': 2_203_296, 'target': 1_677_984}


def test_arithmetic_is_that_of_each_output():
  first, second, _, dense = atari_layers.networks()['target']
  # Each of 20 x 20 x 32 outputs takes 8 x 8 x 1 multiplications and additions.
  assert first.flop == 2 * 20 * 20 * 32 * 64
  assert second.flop == 2 * 9 * 9 * 64 * 4 * 4 * 32
  assert dense.flop == 2 * 7 * 7 * 64 * 512


def test_an_update_uses_forwards_once_more_than_it_learns():
  trunk = atari_layers.networks()['policy'][0]
  encoder = atari_layers.networks()['target']
  uses = atari_layers.uses()
  assert uses[trunk, atari_layers.FORWARD] == 5  # Values, and 4 epochs.
  assert uses[trunk, atari_layers.KERNEL_GRADIENT] == 4
  assert (trunk, atari_layers.INPUT_GRADIENT) not in uses  # Of pixels.
  # Target and predictor for the bonus, and a quarter of each of 4 epochs.
  assert uses[encoder[2], atari_layers.FORWARD] == 3
  assert uses[encoder[2], atari_layers.INPUT_GRADIENT] == 1
