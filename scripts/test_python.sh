#!/usr/bin/env bash
# Builds the Python package and runs its tests, among them every example of its documentation.
#
# The build is of the development profile of the workspace and goes into the workspace's target directory, so that of a
# tree whose Rust tests ran most is there already. A given PYTHON (3.10 or later) is tested; default: python3.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=.cache/python
requirements=python/tests/requirements.txt
if ! cmp -s "$requirements" "$environment/requirements.txt"; then
    echo "installing what the tests of the Python package need into $environment"
    "${PYTHON:-python3}" -m venv --clear "$environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$environment/requirements.txt"
fi
# shellcheck disable=SC1091
. "$environment/bin/activate"
export CARGO_TARGET_DIR="$PWD/target"
maturin develop --quiet --locked --skip-install --manifest-path python/Cargo.toml --config Cargo.toml
cd python
exec python -m pytest --quiet -p no:cacheprovider
