"""Every setting: its name, type, range and default.

``config/default.yaml`` lists the same for people; a test keeps the two equal. The description of a
setting completes the sentence "expected ..." when somebody gets it wrong.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from config.values import ByteSize, CacheSize, Umask

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
    readers: Annotated[int, Meta(ge=1, le=64, description="a whole number from 1 to 64")] = 8
    verify: Annotated[
        Literal["never", "sample", "always"], Meta(description="never, sample or always")
    ] = "never"


class FramesSettings(Struct, frozen=True):
    """What a frame file holds."""

    depth: Annotated[Literal[8, 16], Meta(description="8 or 16")] = 8
    color: Annotated[Literal["rgb", "gray"], Meta(description="rgb or gray")] = "rgb"


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
    ] = ByteSize(2**20)


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
    cache: CacheSettings = field(default_factory=CacheSettings)
    index: IndexSettings = IndexSettings()
    mount: MountSettings = MountSettings()
    logging: LoggingSettings = LoggingSettings()
