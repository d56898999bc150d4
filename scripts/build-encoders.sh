#!/usr/bin/env bash
# Builds x264 and x265 for anchors up to 64 frames apart: libraries as they are distributed take 16 B
# pictures in a row at most. Debian's sources are fetched with an apt configuration of their own, so
# that nothing of the system changes and root is not needed. The programs end up in
# $XDG_DATA_HOME/framefs/encoders, where `framefs transcode` looks for them.
#
# Needs Debian or a system with its apt, a C and C++ compiler, make and cmake. An assembler that is
# missing is unpacked beside the sources.
set -euo pipefail

most=64 # B pictures in a row
target=${XDG_DATA_HOME:-$HOME/.local/share}/framefs/encoders
work=$(mktemp -d "${TMPDIR:-/tmp}/framefs-encoders.XXXXXX")
trap 'rm -rf "$work"' EXIT
log=$work/log
quietly() { "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }; }

say() { printf 'encoders: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

for program in apt-get cc c++ make cmake; do
    command -v "$program" >/dev/null || die "$program is missing; on Debian: sudo apt-get install build-essential cmake"
done

# shellcheck disable=SC1091
. /etc/os-release
mirror=${FRAMEFS_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$work"/{lists/partial,cache/archives/partial,state,src}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
printf 'deb [signed-by=%s] %s %s main\ndeb-src [signed-by=%s] %s %s main\n' \
    "$keys" "$mirror" "${VERSION_CODENAME:-bookworm}" \
    "$keys" "$mirror" "${VERSION_CODENAME:-bookworm}" >"$work/sources.list"
touch "$work/state/status"
own=(
    -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache"
    -o "Dir::State::status=$work/state/status" -o APT::Sandbox::User=root
)

say "fetching the sources"
apt-get "${own[@]}" -qq update
cd "$work/src"
apt-get "${own[@]}" -qq source --download-only x264 x265
if ! command -v nasm >/dev/null; then
    apt-get "${own[@]}" -qq download nasm
    mkdir nasm && dpkg-deb -x nasm_*.deb nasm
    PATH=$PATH:$PWD/nasm/usr/bin
fi
for name in x264 x265; do
    mkdir "$name" && tar -xf "${name}"_*.orig.tar.* -C "$name" --strip-components=1
done

# Raises the number that a macro stands for, in whichever header defines it, or fails.
raise() { # folder, macro, number
    local file
    file=$(grep -rlE "#define +$2 " "$1" --include='*.h' --include='*.c' --include='*.cpp') ||
        die "$2 is not where it was in $1"
    sed -i -E "s/(#define +$2 +).*/\\1$3/" "$file"
}

# What they say at their end has six or seven characters for each number of B pictures in a row, up to
# the most: too many for the buffer that the line is put together in.
widen() { # file, name of the buffer
    grep -q "char $2\[200\];" "$1" || die "the buffer of 200 characters is not where it was in $1"
    sed -i "s/char $2\[200\];/char $2[1024];/" "$1"
}

say "building x264"
raise x264 X264_BFRAME_MAX $most
# Pointers into one allocation: two tables of (B pictures + 2) squared, and some more.
raise x264 PREALLOC_BUF_SIZE 16384
widen x264/encoder/encoder.c buf
(
    cd x264
    quietly ./configure --disable-opencl --disable-avs --disable-swscale --disable-lavf --disable-ffms \
        --disable-gpac --disable-lsmash --bit-depth=all --chroma-format=all
    quietly make -j"${JOBS:-2}" x264
)

say "building x265"
raise x265 X265_BFRAME_MAX $most
widen x265/source/encoder/encoder.cpp buffer
for bits in 8 10; do
    high=OFF
    [ $bits = 8 ] || high=ON
    quietly cmake -S x265/source -B "build$bits" -DCMAKE_BUILD_TYPE=Release -DENABLE_SHARED=OFF \
        -DHIGH_BIT_DEPTH=$high -DENABLE_LIBNUMA=OFF -DCMAKE_POLICY_VERSION_MINIMUM=3.5
    quietly make -C "build$bits" -j"${JOBS:-2}" cli
done

mkdir -p "$target"
install -m 755 x264/x264 "$target/x264"
install -m 755 build8/x265 "$target/x265"
install -m 755 build10/x265 "$target/x265-10bit"
say "$("$target/x264" --version | head -1) and $("$target/x265" --version 2>&1 | grep -o 'version [^ ]*' | head -1) are in $target"
