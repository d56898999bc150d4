#!/usr/bin/env bash
# Brings what `make bench` needs: FFmpeg's shared libraries for TorchCodec (by apt where root, else
# it says what to type), and .venv-bench with framefs and the peers. Does nothing when all of it is
# there and pyproject.toml is the one it was made for. A peer that cannot be had is left out by the
# benchmark, which says why.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'bench: %s\n' "$*" >&2; }

has_ffmpeg() { PATH="$PATH:/sbin:/usr/sbin" ldconfig -p | grep -q 'libavdevice\.so'; }

if ! has_ffmpeg; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing ffmpeg, for TorchCodec"
        apt-get -o DPkg::Lock::Timeout=120 update -qq >&2
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y -qq \
            --no-install-recommends ffmpeg >&2
    else
        say "for TorchCodec, please run: sudo apt-get update && sudo apt-get install -y ffmpeg"
    fi
fi

stamp=.venv-bench/setup-stamp
wanted=$(cat pyproject.toml bench/setup.sh | sha256sum)
if [ -x .venv-bench/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

# `make setup` has found a Python that is new enough.
say "making .venv-bench"
.venv/bin/python -m venv --clear .venv-bench
pip() { .venv-bench/bin/python -m pip "$@" -qq --disable-pip-version-check; }
pip install --upgrade pip
# By itself and first: pip then takes a build that lies on this machine, where one does.
pip install torch==2.13.0 || say "no torch 2.13.0 to be had: going on without TorchCodec"
if .venv-bench/bin/python -c 'import torch' 2>/dev/null; then
    pip install --editable '.[bench]'
else
    pip install --editable . opencv-python-headless
    pip install decord==0.6.0 || say "no decord 0.6.0 for this Python and machine"
fi
printf '%s\n' "$wanted" >"$stamp"
