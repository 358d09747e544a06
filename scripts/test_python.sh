#!/usr/bin/env bash
# Builds the Python package and runs its tests, among them every example of its documentation.
#
#   scripts/test_python.sh                      with the Python and the references of scripts/setup_references.sh
#   PYTHON=python3.13 scripts/test_python.sh    with another Python, 3.10 or later, and the references it can install
#
# The build has the workspace's development profile and target directory, so that of a tree whose Rust tests ran most is
# there already. One build serves every Python.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${PYTHON:-}" ]; then
    scripts/setup_references.sh
    environment=.cache/oracle
else
    environment=.cache/python-$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if ! cmp -s python/tests/requirements.txt "$environment/requirements.txt"; then
        echo "installing what the tests of the Python package need into $environment"
        "$PYTHON" -m venv --clear "$environment"
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
            -r python/tests/requirements.txt jinja2 numpy "transformers==5.23.0; python_version >= '3.11'"
        cp python/tests/requirements.txt "$environment/requirements.txt"
    fi
fi
export VIRTUAL_ENV="$PWD/$environment" PATH="$PWD/$environment/bin:$PATH" CARGO_TARGET_DIR="$PWD/target"
maturin develop --quiet --locked --skip-install --manifest-path python/Cargo.toml --config Cargo.toml
cd python
exec python -m pytest -p no:cacheprovider "$@"
