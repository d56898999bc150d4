#!/usr/bin/env bash
# Brings what `make test-cluster` needs besides what `make test` does: .venv-cluster with framefs, its
# tests and Ray. Does nothing when all of it is there for this pyproject.toml.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv-cluster
stamp=$venv/setup-stamp
wanted=$(cat pyproject.toml scripts/setup-cluster.sh | sha256sum)
if [ -x $venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

# `make setup` has found a Python that is new enough.
printf 'cluster: making %s\n' "$venv" >&2
.venv/bin/python -m venv --clear $venv
$venv/bin/python -m pip install -qq --disable-pip-version-check --upgrade pip
$venv/bin/python -m pip install -qq --disable-pip-version-check --editable '.[test,cluster]'
printf '%s\n' "$wanted" >"$stamp"
