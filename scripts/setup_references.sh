#!/usr/bin/env bash
# Installs the references that the tests compare with, and what builds and tests the Python package, into .cache/
# (git-ignored); does nothing when they are there.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache
requirements=(conformance/oracle/requirements.txt python/tests/requirements.txt)
stamp=.cache/oracle/requirements.txt
if ! cat "${requirements[@]}" | cmp -s - "$stamp"; then
    echo "installing the Python references into .cache/oracle"
    python3 -m venv --clear .cache/oracle
    .cache/oracle/bin/python -m pip install --quiet --disable-pip-version-check "${requirements[@]/#/-r}"
    cat "${requirements[@]}" >"$stamp"
fi
