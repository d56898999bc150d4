#!/usr/bin/env bash
# Brings what `make test-loaders` needs besides what `make test` does: .venv-loaders with framefs, its
# tests and the loaders. Does nothing when all of it is there for this pyproject.toml. A loader that
# cannot be had is left out; its tests are skipped.
#
# Several loaders want other releases of their libraries than their neighbours do. They are installed
# without what they ask for, and what they really import is listed here.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'loaders: %s\n' "$*" >&2; }

venv=.venv-loaders
stamp=$venv/setup-stamp
wanted=$(cat pyproject.toml scripts/setup-loaders.sh | sha256sum)
if [ -x $venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

# `make setup` has found a Python that is new enough.
say "making $venv"
.venv/bin/python -m venv --clear $venv
get() { $venv/bin/python -m pip install -qq --disable-pip-version-check "$@"; }
try() { # name, arguments of pip: goes on without it
    local name=$1
    shift
    get "$@" || say "going on without $name"
}

get --upgrade pip setuptools wheel
# Each needs the release of the other that is of its own time.
try torchvision torch==2.14.1 torchvision==0.29.1
get --editable '.[test]'
try torchcodec --no-deps torchcodec==0.17.0
try datasets 'datasets>=4'
try sam2 hydra-core iopath
SAM2_BUILD_CUDA=0 try sam2 --no-build-isolation --no-deps sam2==1.1.0
try pytorchvideo fvcore iopath
try pytorchvideo --no-build-isolation --no-deps pytorchvideo==0.1.5 parameterized
try mmaction2 mmengine==0.10.7 mmcv-lite==2.1.0 einops scipy
try mmaction2 --no-deps mmaction2==1.2.0
try ultralytics --no-deps ultralytics ultralytics-thop
try ultralytics psutil requests matplotlib polars
try lerobot --no-deps lerobot==0.4.4 accelerate
try lerobot jsonlines draccus==0.10.0 deepdiff einops termcolor packaging safetensors
# The last release that writes version 2.1 of LeRobot's format, with the datasets of its time.
try 'lerobot 0.3' --no-deps --target $venv/lerobot21 lerobot==0.3.3 datasets==3.6.0
try DALI nvidia-dali-cuda130
printf '%s\n' "$wanted" >"$stamp"
