"""Clips of the encoders of FFmpeg besides those for H.264, H.265 and AV1."""

from __future__ import annotations

import struct
from dataclasses import replace

from tests.encoding import Recipe

_STEADY = "b=600k sc_threshold=1000000000"
"""No I pictures but those that the length of a GOP asks for."""


def recipes() -> list[Recipe]:
    """One for every structure that the encoders make."""
    return [*_mpeg12(), *_mpeg4(), *_vp8(), *_vp9(), *_older(), *_intra()]


def recipe_named(name: str) -> Recipe:
    """The recipe of that name."""
    return next(recipe for recipe in recipes() if recipe.name == name)


def _mpeg12() -> list[Recipe]:
    interlaced = f"{_STEADY} flags=+ildct+ilme"
    closed = f"{_STEADY} flags=+cgop"
    containers = ("m2v", "ts", "mkv", "mpg", "avi")
    made = [
        *[Recipe(f"mpeg2_b_{n}", "mpeg2video", f"g=12 bf={n} {_STEADY}") for n in range(4)],
        *[Recipe(f"mpeg2_closed_{n}", "mpeg2video", f"g=10 bf={n} {closed}") for n in (0, 2)],
        Recipe("mpeg2_interlaced", "mpeg2video", f"g=12 bf=2 {interlaced} alternate_scan=1"),
        Recipe("mpeg2_interlaced_p", "mpeg2video", f"g=15 bf=0 {interlaced} top=1"),
        Recipe("mpeg2_422", "mpeg2video", f"g=6 bf=2 profile=0 {_STEADY}", "yuv422p"),
        Recipe("mpeg2_adaptive", "mpeg2video", "g=30 bf=3 b_strategy=1 qmin=1 dc=10"),
        Recipe("mpeg2_intra", "mpeg2video", "g=1"),
        Recipe("mpeg2_cuts", "mpeg2video", "g=50 bf=2 sc_threshold=-100", frames=90),
        Recipe(
            "mpeg2_slices", "mpeg2video", f"g=9 bf=2 slices=4 {_STEADY} non_linear_quant=1 qmax=28"
        ),
    ]
    dealt = [replace(r, container=containers[n % len(containers)]) for n, r in enumerate(made)]
    first = Recipe(
        "mpeg2_size_changes", "mpeg2video", f"g=9 bf=2 {_STEADY}", frames=24, container="m2v"
    )
    return [
        *dealt,
        replace(first, then=(replace(first, size=(128, 96)), first)),
        *[
            Recipe(f"mpeg1_b_{n}", "mpeg1video", f"g=12 bf={n} {_STEADY}", container=container)
            for n, container in enumerate(("m1v", "mpg", "mkv"))
        ],
        Recipe("mpeg1_closed", "mpeg1video", f"g=9 bf=2 {closed}", container="m1v"),
    ]


def _mpeg4() -> list[Recipe]:
    return [
        Recipe("mpeg4_p", "mpeg4", "g=12", container="mp4"),
        *[Recipe(f"mpeg4_b_{n}", "mpeg4", f"g=12 bf={n} {_STEADY}") for n in (1, 2, 4)],
        Recipe("mpeg4_closed", "mpeg4", f"g=9 bf=2 flags=+cgop {_STEADY}"),
        Recipe("mpeg4_qpel", "mpeg4", f"g=15 bf=2 flags=+qpel {_STEADY}", container="mp4"),
        Recipe("mpeg4_4mv", "mpeg4", "g=20 bf=0 flags=+mv4+aic", container="avi"),
        Recipe("mpeg4_interlaced", "mpeg4", f"g=12 bf=2 flags=+ildct+ilme {_STEADY}"),
        Recipe("mpeg4_partitions", "mpeg4", "g=12 data_partitioning=1 ps=200"),
        Recipe("mpeg4_raw", "mpeg4", f"g=12 bf=2 {_STEADY}", container="m4v"),
        Recipe(
            "mpeg4_packed",
            "mpeg4",
            f"g=12 bf=1 {_STEADY}",
            container="avi",
            rewrite=packed,
            conservative=True,
        ),
        Recipe("mpeg4_long", "mpeg4", f"g=250 bf=2 {_STEADY}", frames=90, container="mov"),
    ]


def _vp8() -> list[Recipe]:
    quick = "deadline=realtime cpu-used=4 crf=12 b=300k"
    return [
        Recipe("vp8_default", "libvpx", f"g=20 {quick}", container="webm"),
        Recipe("vp8_alt_ref", "libvpx", f"g=30 auto-alt-ref=1 lag-in-frames=16 {quick}"),
        Recipe("vp8_good", "libvpx", "g=24 deadline=good cpu-used=2 auto-alt-ref=1 "
               "lag-in-frames=10 b=200k", container="webm"),
        Recipe("vp8_resilient", "libvpx", f"g=24 error-resilient=default {quick}"),
        Recipe("vp8_partitions", "libvpx", f"g=24 error-resilient=partitions slices=4 {quick}"),
        Recipe("vp8_layers", "libvpx", f"g=48 error-resilient=default {quick} "
               "ts-parameters=ts_number_layers=3:ts_target_bitrate=60,120,300:"
               "ts_rate_decimator=4,2,1:ts_periodicity=4:ts_layer_id=0,2,1,2:ts_layering_mode=3",
               container="ivf"),
        Recipe("vp8_long", "libvpx", f"g=999 {quick}", frames=90, container="ivf"),
    ]  # fmt: skip


def _vp9() -> list[Recipe]:
    quick = "deadline=realtime cpu-used=6 crf=25 b=0"
    layers = (
        "ts-parameters=ts_number_layers=3:ts_target_bitrate=60,120,300:ts_rate_decimator=4,2,1:"
        "ts_periodicity=4:ts_layer_id=0,2,1,2:ts_layering_mode=3"
    )
    return [
        Recipe("vp9_default", "libvpx-vp9", f"g=20 {quick}", container="webm"),
        Recipe("vp9_alt_ref", "libvpx-vp9", "g=30 auto-alt-ref=1 lag-in-frames=20 deadline=good "
               "cpu-used=4 crf=25 b=0", frames=72),
        Recipe("vp9_alt_ref_6", "libvpx-vp9", "g=60 auto-alt-ref=6 lag-in-frames=25 deadline=good "
               "cpu-used=5 crf=30 b=0", frames=72, container="webm"),
        Recipe("vp9_resilient", "libvpx-vp9", f"g=24 error-resilient=default {quick}"),
        Recipe("vp9_parallel", "libvpx-vp9", f"g=24 frame-parallel=1 tile-columns=1 {quick}",
               size=(512, 96), container="mp4"),
        Recipe("vp9_layers", "libvpx-vp9", f"g=48 error-resilient=default {quick} b=300k crf=0 "
               f"{layers}", container="ivf"),
        Recipe("vp9_lossless", "libvpx-vp9", "g=12 lossless=1 deadline=realtime cpu-used=8",
               size=(96, 80), frames=30),
        Recipe("vp9_444", "libvpx-vp9", f"g=24 {quick}", "yuv444p", container="webm"),
        Recipe("vp9_440", "libvpx-vp9", f"g=24 {quick}", "yuv440p"),
        Recipe("vp9_screen", "libvpx-vp9", f"g=48 tune-content=screen {quick}", container="ivf"),
    ]  # fmt: skip


def _older() -> list[Recipe]:
    cif, small = (176, 144), (128, 96)
    return [
        Recipe("h261", "h261", "g=12", container="avi", size=cif),
        Recipe("h263", "h263", "g=12", container="avi", size=cif),
        Recipe("h263_plus", "h263p", "g=12 umv=1 aiv=1 flags=+aic", container="avi", size=cif),
        Recipe("flv1", "flv", "g=12", container="flv"),
        Recipe("msmpeg4v2", "msmpeg4v2", "g=12", container="avi"),
        Recipe("msmpeg4v3", "msmpeg4", "g=12", container="avi"),
        Recipe("wmv1", "wmv1", "g=12", container="wmv"),
        Recipe("wmv2", "wmv2", "g=12", container="wmv"),
        Recipe("rv10", "rv10", "g=12", container="rm"),
        Recipe("rv20", "rv20", "g=12", container="rm"),
        Recipe("svq1", "svq1", "g=12", "yuv410p", container="mov"),
        Recipe("snow", "snow", "g=12 strict=-2 pred=dwt97", container="avi"),
        Recipe("cinepak", "cinepak", "", "rgb24", container="avi", size=small, frames=20),
        Recipe("msvideo1", "msvideo1", "g=12", "rgb555le", container="avi", size=small),
        Recipe("rpza", "rpza", "g=12", "rgb555le", container="mov", size=small, conservative=True),
        Recipe("smc", "smc", "g=12", "pal8", container="mov", size=small, conservative=True),
        Recipe("msrle", "msrle", "g=12", "pal8", container="avi", size=small, conservative=True),
        Recipe("qtrle", "qtrle", "g=12", "rgb24", container="mov", size=small),
        Recipe("flashsv", "flashsv", "g=12", "bgr24", container="flv", size=small),
        Recipe("flashsv2", "flashsv2", "g=12", "bgr24", container="flv", size=small),
        Recipe("zmbv", "zmbv", "g=12", "bgr0", container="avi", size=small),
        Recipe("ffv1_g12", "ffv1", "g=12 level=3 coder=1 context=1"),
        Recipe("apng", "apng", "g=12", "rgb24", container="apng", size=small, frames=20),
        Recipe("gif", "gif", "", "rgb8", container="gif", size=small, frames=30),
    ]


def _intra() -> list[Recipe]:
    small = (128, 96)
    return [
        Recipe("mjpeg", "mjpeg", "", "yuvj420p", container="avi"),
        Recipe("mjpeg_422", "mjpeg", "", "yuvj422p", container="mov"),
        Recipe("ffv1_g1", "ffv1", "g=1 level=3 slices=4", frames=30),
        Recipe("prores", "prores_ks", "profile=1", "yuv422p10le", container="mov", frames=24),
        Recipe("dnxhd", "dnxhd", "profile=dnxhr_sq", "yuv422p", container="mov", frames=20,
               size=(256, 120)),
        Recipe("dv", "dvvideo", "", container="avi", size=(720, 576), frames=10),
        Recipe("cineform", "cfhd", "", "yuv422p10le", container="mov", frames=20),
        Recipe("jpeg2000", "jpeg2000", "", container="mov", size=small, frames=15),
        Recipe("jpegls", "jpegls", "", "rgb24", container="avi", size=small, frames=15),
        Recipe("huffyuv", "huffyuv", "", "yuv422p", container="avi", frames=20),
        Recipe("ffvhuff", "ffvhuff", "context=1", container="avi", frames=20),
        Recipe("utvideo", "utvideo", "", container="avi", frames=20),
        Recipe("magicyuv", "magicyuv", "", "yuv444p", container="avi", frames=20),
        Recipe("png", "png", "", "rgb24", container="mov", size=small, frames=15),
        Recipe("asv1", "asv1", "", container="avi"),
        Recipe("asv2", "asv2", "", container="avi"),
        Recipe("rawvideo", "rawvideo", "", container="avi", size=small, frames=15),
        Recipe("v210", "v210", "", "yuv422p10le", container="mov", size=small, frames=15),
        Recipe("speedhq", "speedhq", "", "yuv422p", container="avi", frames=20),
    ]  # fmt: skip


# -- rewriting

_VOP = b"\0\0\1\xb6"
_B_VOP = 2
_PACKED = b"\0\0\1\xb2DivX503b1393p"


def packed(content: bytes) -> bytes:
    """An AVI file of MPEG-4 whose B-VOPs lie in the packet before, as DivX 5 packed them.

    The place of each is taken by a VOP that is not coded. The index at the end of the file is left
    out.
    """
    chunks, movi = _chunks(content)
    done: list[bytes] = []
    for data in chunks:
        place = data.find(_VOP)
        if done and data[place + 4] >> 6 == _B_VOP:
            done[-1] += data
            done.append(_VOP + b"\x50\x00\x00\x7f")
        else:
            done.append(data)
    place = done[0].find(_VOP)
    done[0] = done[0][:place] + _PACKED + done[0][place:]
    body = b"movi"
    for data in done:
        body += b"00dc" + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    head = content[:movi] + b"LIST" + struct.pack("<I", len(body)) + body
    return head[:4] + struct.pack("<I", len(head) - 8) + head[8:]


def _chunks(content: bytes) -> tuple[list[bytes], int]:
    """The video packets of an AVI file, and where its list of them begins."""
    movi = content.index(b"movi") - 8
    (length,) = struct.unpack_from("<I", content, movi + 4)
    place, end = movi + 12, movi + 8 + length
    found = []
    while place + 8 <= end:
        (size,) = struct.unpack_from("<I", content, place + 4)
        if content[place : place + 4] == b"00dc":
            found.append(content[place + 8 : place + 8 + size])
        place += 8 + size + size % 2
    return found, movi
