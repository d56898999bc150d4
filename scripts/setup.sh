#!/usr/bin/env bash
# Brings what `make run` and `make test` need: Python's venv module, libfuse3 and its helper (by apt
# where root, else it says what to type), and .venv with everything in pyproject.toml. Does nothing
# when all of it is there and pyproject.toml is the one it was made for.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }

updated=""
install() { # packages...: installs them, or fails after naming the command
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "please run: sudo apt-get update && sudo apt-get install -y $*"
        return 1
    fi
    say "installing $*"
    if [ -z "$updated" ]; then
        apt-get -o DPkg::Lock::Timeout=120 update -qq >&2
        updated=yes
    fi
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y -qq \
        --no-install-recommends "$@" >&2
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11; do
        if new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

has_fuse() {
    command -v fusermount3 >/dev/null &&
        PATH="$PATH:/sbin:/usr/sbin" ldconfig -p | grep -q 'libfuse3\.so'
}

has_libfuse2() { PATH="$PATH:/sbin:/usr/sbin" ldconfig -p | grep -q 'libfuse\.so\.2'; }

# Tests skip what needs a mount, and mounting says what is missing, where this does not work out.
has_fuse || install fuse3 || say "going on without FUSE: nothing can be mounted"
if [ "${1:-}" = --tests ]; then
    has_libfuse2 || install libfuse2 || install libfuse2t64 || say "going on without libfuse2"
    command -v rsync >/dev/null || install rsync || say "going on without rsync"
    command -v ffmpeg >/dev/null || install ffmpeg || say "going on without the ffmpeg tool"
fi

stamp=.venv/setup-stamp
wanted=$(cat pyproject.toml scripts/setup.sh | sha256sum)
if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

python=$(find_python) || {
    install python3.11 python3.11-venv || exit 1
    python=$(find_python) || { say "no Python 3.11 or newer is to be had here"; exit 1; }
}
if ! has_venv "$python"; then
    version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    install "$version-venv" || exit 1
fi

say "making .venv with $("$python" --version)"
"$python" -m venv --clear .venv
.venv/bin/python -m pip install -qq --disable-pip-version-check --upgrade pip
.venv/bin/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'
printf '%s\n' "$wanted" >"$stamp"
