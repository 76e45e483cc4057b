#!/usr/bin/env bash
# opensimplex 0.4.5.1, which Crafter needs: once it is installed, a project's own
# folder `tests` cannot be imported any more.
#
# Its wheel puts a package `tests`, with an `__init__.py`, beside `opensimplex`. A
# folder of tests without that file is a namespace package, and Python takes a regular
# package anywhere on its path before a namespace package, even one in the current
# folder, which is first on the path. So `import tests.helpers` of a project fails,
# with a message about `tests`, in each program and process that is not pytest itself
# (which imports by file). All versions from 0.4.3 on have it.
#
# One would guess: a package of noise functions brings one name, and the current folder
# comes first.
#
# Source: the wheel's list of files; seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
mkdir -p "$folder/project/tests"
echo 'ANSWER = 42' > "$folder/project/tests/helpers.py"
cd "$folder/project"
ask() {
  "$folder/venv/bin/python" -c 'import tests.helpers; print("found")' 2>&1 |
    tail -n 1 || true
}

before=$(ask)
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'opensimplex==0.4.5.1' 'numpy==2.3.5'
after=$(ask)
touch tests/__init__.py
with_file=$(ask)
echo "before: $before"
echo "with opensimplex: $after"
echo "with opensimplex and tests/__init__.py: $with_file"
[ "$before" = found ] && [ "$with_file" = found ]
[ "$after" = "ModuleNotFoundError: No module named 'tests.helpers'" ]
