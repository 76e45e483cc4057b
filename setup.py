# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Installs rnd_agents: `pip install .`, or `pip install '.[dev,box2d]'`."""

import os
import sys

# Kept free of newer syntax, so that an older Python gets the sentence below
# and not a SyntaxError. pip asks for metadata first (egg_info, dist_info) and
# then says by itself, in one line, that PYTHON_REQUIRES is not met.
PYTHON_REQUIRES = '>=3.10,<3.15'
_SERVES = (3, 10) <= sys.version_info[:2] < (3, 15)
if not _SERVES and not {'egg_info', 'dist_info'} & set(sys.argv):
  sys.exit(
      'rnd_agents needs Python 3.10, 3.11, 3.12 or 3.13 (3.14 is experimental);'
      ' this is Python %d.%d.'
      % sys.version_info[:2]
  )

import setuptools  # noqa: E402 (absent from a bare Python 3.12)

_ROOT = os.path.dirname(os.path.abspath(__file__))


def _version():
  namespace = {}
  with open(os.path.join(_ROOT, 'rnd_agents', 'version.py')) as source:
    exec(source.read(), namespace)  # Importing it would import TensorFlow.
  return namespace['__version__']


def _readme():
  path = os.path.join(_ROOT, 'README.md')
  if not os.path.exists(path):
    return ''
  with open(path, encoding='utf-8') as source:
    return source.read()


# For Python 3.10. tf-agents 0.19.0 names no TensorFlow; 2.15 is the one that it
# was built for. It also brings pygame 2.1.3, which renders gymnasium's classic
# control, so that gymnasium's extra of that name (another pygame) is not asked
# for.
_WITH_TENSORFLOW_2_15 = [
    'gymnasium>=1.1,<1.4',  # 1.4 refuses the typing-extensions of tf-agents.
    'numpy>=1.23.5,<2',
    'tensorflow>=2.15,<2.16',
    'tf-agents==0.19.0',
]
# For later Pythons. On 3.11 TensorFlow 2.14 to 2.16 keep memory of every eager
# tensor (docs/reliability.md), 2.16 on 3.12, too. Beside NumPy 2 the versions
# that tf-agents asks for cannot be had: `pip install --no-deps
# tf-agents==0.19.0` is a step of its own, and what it imports is here.
_WITH_NEWER_TENSORFLOW = [
    'cloudpickle>=1.3',
    'dm-tree>=0.1.8',
    'gym==0.23.0',
    'gymnasium>=1.1,<1.5',
    'numpy>=1.26,<2.6',
    'pygame-ce>=2.5',
    'six>=1.16',
    'tensorboard>=2.17',  # TensorFlow 2.21 no longer brings it.
    'tensorflow-probability>=0.24,<0.26',
]
_OLDER, _NEWER = "python_version < '3.11'", "python_version >= '3.11'"
_RELEASED = _NEWER + " and python_version < '3.14'"
_EXPERIMENTAL = "python_version >= '3.14'"


def _where(marker, requirements):
  return ['%s; %s' % (requirement, marker) for requirement in requirements]


INSTALL_REQUIRES = [
    'absl-py>=1.0',
    'gin-config>=0.5.0',
    'matplotlib>=3.7',
    # TensorBoard before 2.21 imports pkg_resources, TF-Agents distutils.
    'setuptools<81',
    'tqdm>=4.60',
]
INSTALL_REQUIRES += _where(_OLDER, _WITH_TENSORFLOW_2_15)
INSTALL_REQUIRES += _where(_NEWER, _WITH_NEWER_TENSORFLOW)
INSTALL_REQUIRES += _where(
    _RELEASED, ['tensorflow>=2.17,<2.22', 'tf-keras>=2.17,<2.22']
)
# The first with builds for 3.14. The newest tf-keras, 2.21, excludes it, and
# works with it: a step of its own, like tf-agents.
INSTALL_REQUIRES += _where(_EXPERIMENTAL, ['tensorflow>=2.22.0rc0,<2.23'])

EXTRAS_REQUIRE = {
    # opencv 4.12 asks for NumPy 2, 5 for a newer one than TF-Agents can use.
    'atari': ['ale-py>=0.12.1']
    + _where(_OLDER, ['opencv-python-headless<4.12'])
    + _where(_NEWER, ['opencv-python-headless<5']),
    'box2d': ['box2d==2.3.10'],
    'cluster': ['ray>=2.55'],
    # With numba, which it does not ask for, a world takes a tenth of the time.
    'crafter': ['crafter>=1.8.3', 'numba>=0.60'],
    'docs': ['mkdocstrings[python]>=1.0', 'zensical>=0.0.73'],
    # The newest for 3.11; for 3.10 there is none that TF-Agents can be beside.
    'envpool': _where(_NEWER, ['envpool>=1.2.5']),
    # It needs NumPy 2, and imports Pillow, which it does not ask for.
    'minari': _where(_NEWER, ['minari[hdf5]>=0.5.4', 'pillow>=9']),
    'minigrid': ['minigrid>=3.0'],
    # They ask for newer typing-extensions than tf-agents admits on 3.10.
    'mlflow': _where(_NEWER, ['mlflow>=3.4']),
    # Gymnasium's renderer of MuJoCo imports imageio, whether it films or not.
    'mujoco': ['imageio>=2.14', 'mujoco>=3.1'],
    # On 3.10 tf-agents brings another pygame than that of the particle games.
    'pettingzoo': ['pettingzoo>=1.24'] + _where(_NEWER, ['mpe2>=1.1']),
    'report': ['plotly>=5.18'],
    'reverb': _where(_OLDER, ['dm-reverb~=0.14.0']),  # Needs TensorFlow 2.15.
    'share': _where(_NEWER, ['huggingface_hub>=1']),
    'tune': _where(_NEWER, ['optuna>=4']),
    'video': ['imageio-ffmpeg>=0.4.9'],
    # It asks for pygame-ce, which on 3.10 would lie over tf-agents' pygame.
    'vizdoom': _where(_NEWER, ['vizdoom>=1.3']),
    'wandb': _where(_NEWER, ['wandb>=0.22']),
    # A newer mypy excludes the typing-extensions that tf-agents requires.
    'dev': ['mypy==1.10.1', 'pytest>=7.4', 'pytest-xdist>=3.3', 'ruff>=0.8'],
}

setuptools.setup(
    name='rnd_agents',
    version=_version(),
    description=(
        'Exploration by Random Network Distillation for TF-Agents, with PPO.'
    ),
    long_description=_readme(),
    long_description_content_type='text/markdown',
    author='The rnd_agents Authors',
    license='Apache-2.0',
    python_requires=PYTHON_REQUIRES,
    install_requires=INSTALL_REQUIRES,
    extras_require=EXTRAS_REQUIRE,
    # gin_configs/ lies at the top for people to find and is installed inside
    # rnd_agents, where a program finds it from any directory.
    packages=setuptools.find_packages(
        include=['rnd_agents', 'rnd_agents.*', 'train', 'train.*']
    ) + ['rnd_agents.gin_configs'],
    package_dir={'rnd_agents.gin_configs': 'gin_configs'},
    package_data={
        'rnd_agents': ['py.typed'],
        'rnd_agents.gin_configs': ['*.gin', '**/*.gin'],
    },
    entry_points={
        'console_scripts': [
            'rnd-check = rnd_agents.environments.check:run',
            'rnd-collect-demos = train.collect_demos:run',
            'rnd-evaluate = train.evaluate:run',
            'rnd-explore = train.explore:run',
            'rnd-plot = rnd_agents.plotting.__main__:run',
            'rnd-report = rnd_agents.plotting.report:run',
            'rnd-settings = train.settings:run',
            'rnd-share = train.share:run',
            'rnd-sweep = train.sweep:run',
            'rnd-train = train.train_eval:run',
            'rnd-tune = train.tune:run',
        ]
    },
    zip_safe=False,
    classifiers=[
        'Intended Audience :: Science/Research',
        'License :: OSI Approved :: Apache Software License',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Programming Language :: Python :: 3.13',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
    ],
)
