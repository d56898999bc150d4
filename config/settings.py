"""Every setting: its name, type, range and default.

``config/default.yaml`` lists the same for people; a test keeps the two equal. The description of a
setting completes the sentence "expected ..." when somebody gets it wrong.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from config.values import ByteSize, CacheSize, CropText, RangeText, Rate, Umask

Flag = Annotated[bool, Meta(description="true or false")]
_Id = Annotated[int, Meta(ge=0, le=2**32 - 2)]


def _video_extensions() -> tuple[str, ...]:
    # Imported late: it brings the whole of FFmpeg along, which `umount` and `doctor` never need.
    from decoder.corpus import VIDEO_EXTENSIONS

    return tuple(VIDEO_EXTENSIONS)


class CorpusSettings(Struct, frozen=True):
    """Which files are sources."""

    extensions: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^\.?[A-Za-z0-9_]+$")], ...],
        Meta(min_length=1, description="a list of file name extensions such as [mp4, mkv]"),
    ] = field(default_factory=_video_extensions)
    follow_symlinks: Flag = False


class DecoderSettings(Struct, frozen=True):
    """How videos are decoded."""

    stream: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="the number of a stream, from 0, or null for the first video stream"),
    ] = None
    rotate: Flag = True
    readers: Annotated[int, Meta(ge=2, le=256, description="a whole number from 2 to 256")] = 16
    deadline: Annotated[float, Meta(gt=0, description="a number of seconds, more than 0")] = 60.0
    verify: Annotated[
        Literal["never", "sample", "always"], Meta(description="never, sample or always")
    ] = "never"


Format = Literal["png", "npy", "jpg", "bmp", "ppm", "webp"]

_Template = Annotated[str, Meta(pattern=r"^[^\0]*$")]
_OR_LAYOUT = "or null for the layout's"


class FramesSettings(Struct, frozen=True):
    """Which files there are of frames, and what is in them. None: as the layout has it."""

    layout: Annotated[str, Meta(description="the name of a layout; framefs layouts lists them")] = (
        "default"
    )
    directory: Annotated[
        _Template | None,
        Meta(description=f'a template such as "{{parent}}/{{stem}}", {_OR_LAYOUT}'),
    ] = None
    file: Annotated[
        _Template | None,
        Meta(description=f'a template such as "img_{{number:05d}}", {_OR_LAYOUT}'),
    ] = None
    start: Annotated[
        Annotated[int, Meta(ge=0, le=10**9)] | None,
        Meta(description=f"the number of the first frame, {_OR_LAYOUT}"),
    ] = None
    digits: Annotated[
        Annotated[int, Meta(ge=1, le=18)] | None,
        Meta(description=f"a whole number from 1 to 18, {_OR_LAYOUT}"),
    ] = None
    widen: Annotated[
        Literal["source", "number", "never"] | None,
        Meta(description=f"source, number or never, {_OR_LAYOUT}"),
    ] = None
    format: Annotated[
        Format | None, Meta(description=f"png, npy, jpg, bmp, ppm or webp, {_OR_LAYOUT}")
    ] = None
    alias: Flag = False
    extension: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9]+$")] | None,
        Meta(description="letters and digits such as jpeg, or null for the format's own"),
    ] = None
    unlisted: Annotated[
        tuple[Format, ...] | None,
        Meta(description=f"a list of formats such as [npy], [] for none, {_OR_LAYOUT}"),
    ] = None
    quality: Annotated[int, Meta(ge=1, le=100, description="a whole number from 1 to 100")] = 95
    subsampling: Annotated[
        Literal["4:2:0", "4:2:2", "4:4:4"],
        Meta(description='"4:2:0", "4:2:2" or "4:4:4", in quotes'),
    ] = "4:2:0"
    order: Annotated[Literal["hwc", "chw"], Meta(description="hwc or chw")] = "hwc"
    depth: Annotated[Literal[8, 16], Meta(description="8 or 16")] = 8
    color: Annotated[Literal["rgb", "gray", "native"], Meta(description="rgb, gray or native")] = (
        "rgb"
    )
    resize: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | None,
        Meta(description="pixels of the short side, or null for the size of the video"),
    ] = None
    filter: Annotated[
        Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"],
        Meta(description="nearest, box, bilinear, hamming, bicubic or lanczos"),
    ] = "bilinear"
    crop: Annotated[
        CropText | None,
        Meta(description="a size such as 224x224 or 224x224+16+0 (at x, y), or null for all"),
    ] = None
    range: Annotated[
        RangeText | None,
        Meta(description='"first:end" such as "10:200", "10:" or ":200", or null for all frames'),
    ] = None
    stride: Annotated[int, Meta(ge=1, description="a whole number from 1 on")] = 1
    fps: Annotated[
        Rate | None,
        Meta(description='frames a second such as 2 or "30000/1001", or null for all frames'),
    ] = None


class CacheSettings(Struct, frozen=True):
    """Memory for decoded frames."""

    size: Annotated[
        CacheSize, Meta(description="auto, a size such as 2GiB or a number of bytes")
    ] = field(default_factory=CacheSize.automatic)


class IndexSettings(Struct, frozen=True):
    """Where the indexes of the sources are kept."""

    path: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description='a file name, ":memory:", or null for the user\'s cache directory'),
    ] = None


class MountSettings(Struct, frozen=True):
    """What the mount looks like to the system."""

    uid: Annotated[_Id | None, Meta(description="a user id, or null for the mounting user")] = None
    gid: Annotated[_Id | None, Meta(description="a group id, or null for the mounting user's")] = (
        None
    )
    umask: Annotated[
        Umask | None,
        Meta(description='an octal mask in quotes such as "027", or null for nothing masked'),
    ] = None
    allow_other: Flag = False
    threads: Annotated[int, Meta(ge=2, le=1000, description="a whole number from 2 to 1000")] = 512
    read_ahead: Annotated[
        ByteSize, Meta(description="a size such as 1MiB or a number of bytes")
    ] = ByteSize(2**22)


class LoggingSettings(Struct, frozen=True):
    """What is reported, and where to."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="debug, info, warning or error"),
    ] = "info"
    target: Annotated[
        str,
        Meta(
            pattern=r"^(auto|stderr|syslog|/.+)$",
            description="auto, stderr, syslog or the absolute path of a file",
        ),
    ] = "auto"


class Settings(Struct, frozen=True):
    """One complete configuration; a file that describes a mount names the two places, too."""

    source: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="the folder of videos, or null to name it on the command line"),
    ] = None
    mountpoint: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="the folder to mount at, or null to name it on the command line"),
    ] = None
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    decoder: DecoderSettings = DecoderSettings()
    frames: FramesSettings = FramesSettings()
    views: Annotated[
        dict[str, dict[str, Any]],
        Meta(description="names, each with settings as in frames, or {} for one view at the root"),
    ] = field(default_factory=dict)
    cache: CacheSettings = field(default_factory=CacheSettings)
    index: IndexSettings = IndexSettings()
    mount: MountSettings = MountSettings()
    logging: LoggingSettings = LoggingSettings()
