"""What is compared: ways to keep the frames of a clip, and who reads them."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.settings import Settings

BASE = "lerobot"
"""Its PSNR is the one that all others are brought to, its bytes and its time are 1."""

JPEG = "jpeg"

INTERVALS = (4, 8, 16)

MOVING = "eye_in_hand"
"""Part of the names of clips whose camera moves."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way.

    Attributes:
        name: in tables.
        peer: who reads it, one of `bench.peers`.
        settings: of framefs's encoder; None of what it does not make.
        label: in words.
    """

    name: str
    peer: str
    settings: Settings | None
    label: str


def _fixed(profile: str, codec: str, interval: int) -> Way:
    settings = Settings.of_profile(profile, interval=interval, anchors="fixed")
    return Way(f"{codec}-{interval}", "framefs", settings, f"DDRA {codec.upper()}, T = {interval}")


_ALL = (
    Way(BASE, "torchcodec", None, "LeRobot (SVT-AV1, g = 2), TorchCodec"),
    Way(JPEG, "pillow", None, "JPEG files, Pillow"),
    Way("fast", "framefs", Settings.of_profile("fast"), "fast"),
    *(_fixed("fast", "h264", interval) for interval in (*INTERVALS, 32)),
    Way("fast-32", "framefs", Settings.of_profile("fast", interval=32), "fast, T at most 32"),
    Way("compact", "framefs", Settings.of_profile("compact"), "compact"),
    *(_fixed("compact", "h265", interval) for interval in (*INTERVALS, 32)),
    Way("small", "framefs", Settings.of_profile("small"), "small"),
)

WAYS = {way.name: way for way in _ALL}

STOCK = tuple(name for name in WAYS if not name.endswith("-32"))
"""Those for which FFmpeg's libraries are enough; see scripts/build-encoders.sh for the others."""

ADAPTIVE = {
    "fast": tuple(f"h264-{interval}" for interval in INTERVALS),
    "fast-32": tuple(f"h264-{interval}" for interval in (*INTERVALS, 32)),
    "compact": tuple(f"h265-{interval}" for interval in INTERVALS),
}
"""Ways whose anchors follow the content, and the same with fixed ones."""


def kind_of(clip: str) -> str:
    """Whether the camera of a clip is "still" or "moving", by its name."""
    return "moving" if MOVING in clip else "still"
