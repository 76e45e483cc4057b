# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks of actor-critics, Q-learning and RND, and their layers."""

from rnd_agents import _compat
from rnd_agents.networks import actor_critic_network
from rnd_agents.networks import encoders
from rnd_agents.networks import factory
from rnd_agents.networks import keras_layers
from rnd_agents.networks import parameters
from rnd_agents.networks import precision
from rnd_agents.networks import q_network
from rnd_agents.networks import recurrent_cores
from rnd_agents.networks import rnd_network
from rnd_agents.networks.actor_critic_network import ActorCriticNetwork
from rnd_agents.networks.factory import create_networks
from rnd_agents.networks.factory import create_rnd_networks
from rnd_agents.networks.factory import Networks
from rnd_agents.networks.keras_layers import ResNet
from rnd_agents.networks.q_network import create_q_networks
from rnd_agents.networks.q_network import QNetworks
from rnd_agents.networks.q_network import RecurrentQNetwork
from rnd_agents.networks.recurrent_cores import GRUCore
from rnd_agents.networks.recurrent_cores import LayerNormLSTMCore
from rnd_agents.networks.recurrent_cores import LSTMCore
from rnd_agents.networks.rnd_network import RNDNetwork

__all__ = [
    'ActorCriticNetwork',
    'GRUCore',
    'LSTMCore',
    'LayerNormLSTMCore',
    'Networks',
    'QNetworks',
    'RNDNetwork',
    'RecurrentQNetwork',
    'ResNet',
    'actor_critic_network',
    'create_networks',
    'create_q_networks',
    'create_rnd_networks',
    'encoders',
    'factory',
    'keras_layers',
    'parameters',
    'precision',
    'q_network',
    'recurrent_cores',
    'rnd_network',
]

_compat.mend_tf_agents()
