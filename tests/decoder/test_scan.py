from __future__ import annotations

import os
import random
import shutil
import struct
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decoder.corpus import Source, source_at
from decoder.errors import DecoderError, SourceChanged, SourceNotFound, SourceUnreadable
from decoder.index import DISCARD, KEY, SourceIndex
from decoder.reader import FrameReader
from decoder.scan import scan
from tests.clips import concatenate, packets_of, read_barcode, remux, write_clip
from tests.oracle import full_frames, native_digest

QUIET = {"x265-params": "log-level=none"}

MADE: dict[str, dict[str, Any]] = {
    "h264.mp4": {"gop": 12, "b_frames": 3},
    "h264.h264": {"gop": 12, "b_frames": 2},
    "h264.avi": {"gop": 12, "b_frames": 2},
    "h264.ts": {"gop": 12, "b_frames": 2},
    "h264.flv": {"gop": 12, "b_frames": 2},
    "fragmented.mp4": {
        "gop": 10,
        "container_options": {"movflags": "frag_keyframe+empty_moov+default_base_moof"},
    },
    "nocues.mkv": {"gop": 10, "container_options": {"live": "1"}},
    "intra-refresh.mp4": {
        "options": {"x264-params": "intra-refresh=1:keyint=10:bframes=0"},
        "gop": 10,
    },
    "open-gop.mp4": {"options": {"x264-params": "open-gop=1:bframes=3:keyint=10"}, "gop": 10},
    "interlaced.mp4": {"options": {"x264-params": "tff=1:bframes=2"}, "gop": 12},
    "hevc.mp4": {"codec": "libx265", "options": QUIET, "gop": 10},
    "hevc.mkv": {
        "codec": "libx265",
        "options": {"x265-params": "log-level=none:open-gop=1:keyint=10:bframes=3"},
    },
    "hevc.hevc": {"codec": "libx265", "options": QUIET, "gop": 10},
    "av1.mp4": {
        "codec": "libsvtav1",
        "options": {"preset": "8", "svtav1-params": "enable-tf=0:enable-overlays=0:crf=10"},
        "gop": 10,
    },
    "vp8.webm": {"codec": "libvpx", "options": {"auto-alt-ref": "1", "lag-in-frames": "8"}},
    "vp9.webm": {"codec": "libvpx-vp9", "options": {"cpu-used": "8"}, "size": (65, 49)},
    "vp8.ivf": {"codec": "libvpx", "gop": 8},
    "mpeg1.mpg": {"codec": "mpeg1video", "b_frames": 2, "gop": 8},
    "mpeg2.mpg": {"codec": "mpeg2video", "b_frames": 2, "gop": 8},
    "mpeg2.ts": {"codec": "mpeg2video", "b_frames": 2, "gop": 8},
    "mpeg2.m2v": {"codec": "mpeg2video", "b_frames": 2, "gop": 8},
    "mpeg4.avi": {"codec": "mpeg4", "b_frames": 2, "gop": 8},
    "wmv2.wmv": {"codec": "wmv2", "gop": 8},
    "flv1.flv": {"codec": "flv", "gop": 8},
    "mjpeg.avi": {"codec": "mjpeg", "pix_fmt": "yuvj420p"},
    "mjpeg.mjpeg": {"codec": "mjpeg", "pix_fmt": "yuvj444p", "size": (67, 49)},
    "animation.gif": {"codec": "gif", "pix_fmt": "rgb8", "fps": 10},
    "raw.y4m": {"codec": "wrapped_avframe", "size": (67, 49)},
    "pal8.mov": {"codec": "png", "pix_fmt": "pal8"},
    "pal8.avi": {"codec": "rawvideo", "pix_fmt": "pal8"},
    "bottom-up.avi": {"codec": "rawvideo", "pix_fmt": "bgr24", "size": (67, 49)},
    "rgb555.avi": {"codec": "msvideo1", "pix_fmt": "rgb555le", "fps": 10},
    "yuyv.mov": {"codec": "rawvideo", "pix_fmt": "yuyv422"},
    "gray.mkv": {"codec": "ffv1", "pix_fmt": "gray", "gop": 5},
    "gray16.mkv": {"codec": "ffv1", "pix_fmt": "gray16le"},
    "argb.mov": {"codec": "qtrle", "pix_fmt": "argb", "gop": 6},
    "alpha.mov": {"codec": "prores_ks", "pix_fmt": "yuva444p10le", "options": {"profile": "4"}},
    "444.mp4": {"pix_fmt": "yuv444p", "size": (67, 49), "gop": 12},
    "ten.mp4": {"pix_fmt": "yuv420p10le", "gop": 12},
    "twelve.mp4": {"codec": "libx265", "pix_fmt": "yuv444p12le", "options": QUIET},
    "rate.mkv": {"fps": Fraction(30000, 1001), "gop": 1},
    "variable.mp4": {"pts": lambda n: n if n < 10 else 10 + 3 * (n - 10), "b_frames": 2},
    "doubled-pts.mkv": {"fps": 2400, "b_frames": 2, "gop": 12},
}
"""Kinds of clip made at test time: codecs, containers and native formats."""

FRAMES = 26

UNREADABLE = {
    "s10_moov_missing.mp4": "complete",
    "s11_empty.mp4": "complete",
    "s12_audio_only.mp4": "no video stream",
    "s13_coverart_only.m4a": "cover picture",
    "jcodec__seq_explicit_test.264": "not one of 8 packets",
    "membrane_h26x_plugin__reference-idr-sps-pps-non-idr.h264": "not one of 9 packets",
}

REAL = """
s01_base.mp4 s02_nob_poc2.mp4 s03_editlist_discard.mp4 s04_start5.mkv s04_start5.mp4 s05_vfr.mp4
s06_hevc_cra_rasl.mp4 s06b_starts_at_cra.mkv s07_h264_opengop.mp4 s08_intra_refresh.mp4
s09_first_not_key.mkv s10b_fast.mp4 s10c_mdat_truncated.mp4 s13b_video_cover.mp4 s14_two_video.mp4
s15_rot90.mp4 s16_sar.mp4 s17_hdr10.mp4 s17b_h264_hi10.mp4 s18_444.mp4 s19_fullrange.mp4
s20_bt709.mp4 s20b_bt601.mp4 s21_odd444.mp4 s21b_oddvp9.webm s22_reschange.h264 s22_reschange.ts
s23_mbaff.mp4 s23b_mpeg2_interlaced.ts s24_noindex.ts s24b_mpegps.mpg s25_ts_concat_dup_pts.ts
s27a_mpeg4_bframes.avi s27b_packed_bframes.avi s28_h264_bframes.avi s29_raw.h264 s30_mkv_nocues.mkv
s31_frag.mp4 s32_vp9_alpha.webm s33_prores4444.mov s34_dup_ms_pts.mkv s34b_dup_pts.mkv
s35_av1_grain.mp4 s36_vp8_altref.webm s36b_vp9_altref.webm s37_hev1.mp4 s37b_avc3.mp4
s38_spschange.h264 s38_spschange.ts s39_missing_ref.mp4 s40_corrupt.mkv s41_audio_longer.mp4
s43_ptswrap.ts s44_single.mp4 s46_multislice.mp4 s50_pyr_strict.mp4 s51_hevc_tlayers.mp4
s52_temporal_direct.mp4 s53_hevc_field.mp4 s54_hevc_radl.mp4 s56_ffv1.avi s57_longgop.mp4
ACCV-Lab__moving_shape_open_gop_h265.mp4 ExoPlayer__video_desks.3gp UXP__bipbop.mp4
UXP__bug516323.indexed.ogv UXP__dirac.ogg UXP__test.m1v decord__corrupted.mp4 decord__unordered.mov
jcodec__seq_mmco_test.264 media__iibbibb_editlist_videoonly.mp4 mmaction2__test.avi
media__sample-with-key-frame-index.flv mediabunny__annex-b.mp4 mp4ff__prog_8s_enc_dashinit.mp4
mp4ff__vp8.ivf shaka-player__s_00001.ts tika__testFLV.flv tika__testWMV.wmv
tika__testWMV_WMV2.wmv torchcodec__h264_10bits.mp4 torchcodec__nasa_13013_rotated.mp4
torchcodec__sine_stereo_mp2.mpg torchcodec__testsrc2_444_12bit_hevc.mp4
torchcodec__testsrc2_odd_height_and_width_vp9_10bit.mp4 tsduck-test__test-202.ts
""".split()

COUNTS = {
    "s01_base.mp4": (60, 60),
    "s03_editlist_discard.mp4": (45, 39),
    "s06b_starts_at_cra.mkv": (43, 40),
    "s09_first_not_key.mkv": (55, 45),
    "s14_two_video.mp4": (30, 30),
    "s25_ts_concat_dup_pts.ts": (120, 120),
    "s36_vp8_altref.webm": (64, 60),
}
"""(packets, frames), measured beforehand."""


def check_exact(path: Path) -> SourceIndex:
    """Frame list and pixels of ``path`` against a full decode: read in random order."""
    source = source_at(str(path))
    index = scan(source)
    shown = list(full_frames(path))
    assert index.frame_count == len(shown)
    rng = random.Random(path.name)
    order = list(range(len(shown)))
    rng.shuffle(order)
    order = [*order[:12], len(shown) - 1, 0, len(shown) - 1]
    with FrameReader(source, index=index) as reader:
        for n in order:
            pixels = reader.frame(n)
            array = pixels.array("rgb24")
            assert np.array_equal(array, shown[n].array()), f"frame {n}"
            assert array.shape[:2] == index.shape(n)
            assert index.frame(n).picture_type == "?IPBSipb"[shown[n].native.pict_type]
        for n, pixels in reader.frames(range(len(shown))):
            native = pixels.native
            assert native.format.name == index.geometry(n).pixel_format
            assert native_digest(native) == shown[n].digest, f"frame {n}"
    return index


def find(clips: Path, name: str) -> Path:
    """A clip of the corpus by its name."""
    return next(path for path in clips.rglob("*") if path.name == name)


@pytest.mark.parametrize("name", MADE)
def test_every_kind_of_clip(tmp_path: Path, name: str) -> None:
    path = write_clip(tmp_path / name, frames=FRAMES, version=3, **MADE[name])
    index = check_exact(path)
    assert index.frame_count == FRAMES
    assert index.facts.damage == ()
    with FrameReader(str(path), index=index) as reader:
        for n, pixels in reader.frames(range(FRAMES)):
            assert read_barcode(pixels.array("rgb24")) == (3, n)


@pytest.mark.parametrize("name", REAL)
def test_real_clips(clips: Path, name: str) -> None:
    index = check_exact(find(clips, name))
    if name in COUNTS:
        assert (len(index.packets), index.frame_count) == COUNTS[name]


@pytest.mark.parametrize(("name", "reason"), UNREADABLE.items())
def test_unreadable_clips_say_why(clips: Path, name: str, reason: str) -> None:
    with pytest.raises(SourceUnreadable, match=reason) as caught:
        scan(source_at(str(find(clips, name))))
    assert name in str(caught.value)


def test_timestamps_are_those_of_the_file(clips: Path) -> None:
    for name in ("s01_base.mp4", "s04_start5.mkv", "s05_vfr.mp4", "s43_ptswrap.ts"):
        path = find(clips, name)
        index = scan(source_at(str(path)))
        shown = list(full_frames(path))
        assert [index.frame(n).pts for n in range(len(shown))] == [f.native.pts for f in shown]
        assert [index.frame(n).time for n in range(len(shown))] == [f.time for f in shown]
    raw = scan(source_at(str(find(clips, "s29_raw.h264"))))
    assert {raw.frame(n).pts for n in range(60)} == {None}
    assert {raw.frame(n).time for n in range(60)} == {None}


def test_discarded_packets_are_recorded_and_never_shown(clips: Path) -> None:
    index = scan(source_at(str(find(clips, "s03_editlist_discard.mp4"))))
    discarded = np.flatnonzero(index.packets.flags & DISCARD)
    assert len(discarded) == 6
    assert not set(discarded.tolist()) & set(index.frames.packet.tolist())


def test_stream_choice(clips: Path) -> None:
    two = source_at(str(find(clips, "s14_two_video.mp4")))
    assert scan(two).facts.stream == 0
    assert scan(two, stream=1).shape(0) == (96, 128)
    for number in (2, -1, 99):
        with pytest.raises(SourceUnreadable, match=r"video streams here: 0, 1"):
            scan(two, stream=number)
    cover = source_at(str(find(clips, "s13b_video_cover.mp4")))
    assert scan(cover).facts.stream == 0
    assert scan(cover, stream=1).frame_count == 1
    with pytest.raises(SourceUnreadable, match="not a video stream"):
        scan(source_at(str(find(clips, "s41_audio_longer.mp4"))), stream=1)


def test_facts(clips: Path) -> None:
    facts = scan(source_at(str(find(clips, "s16_sar.mp4")))).facts
    assert facts.sample_aspect_ratio == (4, 3)
    assert (facts.codec, facts.rate) == ("h264", (30, 1))
    assert scan(source_at(str(find(clips, "s17_hdr10.mp4")))).bits(0) == 10
    sizes = scan(source_at(str(find(clips, "s22_reschange.ts"))))
    assert sizes.uniform_shape is None
    assert [sizes.shape(n) for n in (0, 59, 60, 89)] == [(96, 128)] * 2 + [(48, 64)] * 2
    damaged = scan(source_at(str(find(clips, "s40_corrupt.mkv")))).facts.damage
    assert "refused" in damaged[0]


def test_key_flags_are_recorded(source: Source, index: SourceIndex) -> None:
    keys = np.flatnonzero(index.packets.flags & KEY).tolist()
    assert keys == [n for n, p in enumerate(packets_of(Path(source.path))) if p.is_keyframe]
    assert len(keys) == 4


def test_colours_change_in_mid_file(tmp_path: Path) -> None:
    """A part that says nothing of its colours is shown in those of the part before it."""
    parts = []
    for number, said in enumerate(("colormatrix=smpte170m", "colormatrix=bt709", "")):
        part = write_clip(
            tmp_path / f"{number}.h264",
            frames=12,
            version=number,
            gop=6,
            b_frames=0,
            options={"x264-params": said} if said else {},
        )
        parts.append(part)
    path = concatenate(tmp_path / "all.h264", parts)
    as_avi = remux(path, tmp_path / "all.avi", edit=_number)
    for clip in (path, as_avi):
        index = check_exact(clip)
        shown = list(full_frames(clip))
        for n in (35, 30, 25, 13, 2, 29):
            with FrameReader(str(clip), index=index) as reader:
                assert np.array_equal(reader.frame(n).array("rgb24"), shown[n].array()), n


def _number(n: int, packet: Any) -> None:
    packet.pts = packet.dts = n
    packet.time_base = Fraction(1, 30)


def test_pictures_before_the_first_key_and_missing_references(tmp_path: Path, h264: Path) -> None:
    headless = remux(h264, tmp_path / "headless.mkv", keep=lambda n: n >= 4)
    assert check_exact(headless).frame_count < 56
    check_exact(remux(h264, tmp_path / "gap.mkv", keep=lambda n: n != 16))


def test_packets_without_data_are_passed_over(tmp_path: Path) -> None:
    """AVI writes an empty chunk for a frame that is to be repeated."""
    path = write_clip(tmp_path / "a.avi", frames=20, codec="mpeg4", b_frames=0, gop=5)
    gaps = remux(path, tmp_path / "gaps.avi", edit=lambda n, p: _spread(n, p))
    index = check_exact(gaps)
    assert index.frame_count == 20


def _spread(n: int, packet: Any) -> None:
    packet.pts = packet.dts = n * 3
    packet.time_base = Fraction(1, 30)


def test_timestamps_missing_doubled_and_disordered(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", frames=30, gop=10, b_frames=0)

    def same(n: int, packet: Any) -> None:
        packet.pts = packet.dts = 40 * (n // 3)
        packet.time_base = Fraction(1, 1000)

    def backwards(n: int, packet: Any) -> None:
        packet.pts = 10_000 - 40 * n
        packet.dts = 40 * n
        packet.time_base = Fraction(1, 1000)

    doubled = check_exact(remux(path, tmp_path / "doubled.mkv", edit=same))
    assert doubled.frame_count == 30
    assert len({doubled.pts(n) for n in range(30)}) == 10
    disordered = check_exact(remux(path, tmp_path / "disordered.mkv", edit=backwards))
    assert disordered.frame_count == 30
    with FrameReader(str(tmp_path / "disordered.mkv"), index=disordered) as reader:
        assert [read_barcode(a).frame for a in reader.read([29, 0, 10])] == [29, 0, 10]


PLAYLIST = "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:2.0,\nsecret.ts\n#EXT-X-ENDLIST\n"
SESSION = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 33\n"


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("list.mp4", "ffconcat version 1.0\nfile secret.mp4\n"),
        ("list.ts", PLAYLIST),
        ("list.m3u8", PLAYLIST),
        ("list.sdp", SESSION),
        ("list%d.jpg", "anything"),
    ],
)
def test_scripts_open_no_other_file(tmp_path: Path, name: str, script: str) -> None:
    write_clip(tmp_path / "secret.mp4", frames=3)
    write_clip(tmp_path / "secret.ts", frames=3)
    (tmp_path / name).write_text(script)
    with pytest.raises(SourceUnreadable, match="cannot be opened"):
        scan(source_at(str(tmp_path / name)))


def test_name_that_is_not_utf8(tmp_path: Path, h264: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9 \xff%d:.mp4")
    shutil.copyfile(h264, path)
    assert scan(source_at(str(path))).frame_count == 60
    path.write_bytes(b"no video")
    with pytest.raises(SourceUnreadable):
        scan(source_at(str(path)))


def test_metadata_that_is_not_utf8(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.avi", codec="mpeg4", frames=5)
    content = path.read_bytes()
    at = content.index(b"ISFT")
    (length,) = struct.unpack_from("<I", content, at + 4)
    path.write_bytes(content[: at + 8] + b"\xff" * (length - 1) + content[at + 7 + length :])
    assert scan(source_at(str(path))).frame_count == 5


def test_source_that_is_not_there_or_another(tmp_path: Path, h264: Path) -> None:
    path = shutil.copyfile(h264, tmp_path / "a.mp4")
    source = source_at(str(path))
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceChanged):
        scan(source)
    path.unlink()
    with pytest.raises(SourceNotFound):
        scan(source)
    with pytest.raises(SourceNotFound):
        source_at(str(path))
    with pytest.raises(SourceNotFound):
        source_at(str(tmp_path))


def test_file_that_was_changed_a_moment_ago_is_left_to_settle(tmp_path: Path, h264: Path) -> None:
    path = tmp_path / "a.mp4"
    shutil.copyfile(h264, path)
    now = time.time_ns() // 10**9 * 10**9
    os.utime(path, ns=(now, now))
    scan(source_at(str(path)))
    assert time.time_ns() - now >= 10**9


def test_file_that_grows_while_it_is_indexed(tmp_path: Path, clips: Path) -> None:
    """Every index that is made belongs to the version that was named."""
    path = tmp_path / "a.ts"
    shutil.copyfile(find(clips, "s24_noindex.ts"), path)
    more = path.read_bytes()
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            with path.open("ab") as file:
                file.write(more)
            time.sleep(0.01)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        outcomes = set()
        for _ in range(10):
            source = source_at(str(path))
            try:
                assert scan(source).frame_count >= 60 * (source.fingerprint.size // len(more)) - 10
                outcomes.add("whole")
            except DecoderError as error:
                outcomes.add(type(error).__name__)
    finally:
        done.set()
        thread.join()
    assert outcomes <= {"whole", "SourceChanged"}
