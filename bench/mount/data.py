"""What the loader can read frames from, by name, and how each is made ready."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.mount import filesystems
from bench.mount.corpora import Corpus

Opener = Literal["image", "patient", "array", "library"]


@dataclass(frozen=True, slots=True)
class Data:
    """One way to have the frames.

    Attributes:
        kind: of the corpus, what is stored: "native", "ddra", "jpg" or "png".
        opener: how the loader reads a frame; see `bench.mount.loader`.
        server: the filesystem in between; None where the loader reads what is stored.
        extension: of the files that it reads.
        about: in words.
    """

    name: str
    kind: str
    opener: Opener
    server: Literal["framefs", "memory", "ffmpegfs"] | None
    extension: str
    about: str


BASE = "jpg"
"""What the others are compared with."""

DATA: dict[str, Data] = {
    data.name: data
    for data in (
        Data("jpg", "jpg", "image", None, "jpg", "a folder of JPEG files, quality 95"),
        Data("png", "png", "image", None, "png", "a folder of PNG files, compressed"),
        Data("native-png", "native", "image", "framefs", "png", "framefs, the videos as they are"),
        Data("native-npy", "native", "array", "framefs", "npy", "the same, as arrays"),
        Data("ddra-png", "ddra", "image", "framefs", "png", "framefs, re-encoded (DDRA)"),
        Data("ddra-npy", "ddra", "array", "framefs", "npy", "the same, as arrays"),
        Data("native-library", "native", "library", None, "mp4", "FrameReader in the loader"),
        Data("ddra-library", "ddra", "library", None, "mp4", "the same, re-encoded (DDRA)"),
        Data("copy", "native", "image", None, "png", "the files of native-png, copied to disk"),
        Data("memory", "native", "image", "memory", "png", "such files from memory, over FUSE"),
        Data("ffmpegfs", "native", "patient", "ffmpegfs", "png", "ffmpegfs, the same videos"),
    )
}

IMAGES_IN_MEMORY = 16
"""Different files that are served from memory."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Frames that can be read now.

    Attributes:
        root: of the files.
        process: that serves them, None where no filesystem of the benchmark does.
    """

    data: Data
    root: Path
    process: int | None

    def file(self, clip: str, frame: int) -> str:
        """What the loader opens for a frame."""
        if self.data.opener == "library":
            return str(next(self.root.glob(f"{clip}.*")))
        if self.data.server == "ffmpegfs":
            (folder,) = self.root.glob(f"{clip}.*")
            return str(folder / f"{frame + 1:06d}.png")
        return str(self.root / clip / f"{frame:06d}.{self.data.extension}")


@contextlib.contextmanager
def opened(
    data: Data, corpus: Corpus, scratch: Path, *, rate: int | None, options: Sequence[str]
) -> Iterator[Opened]:
    """Makes frames ready to be read from, all that is stored being in the page cache or, with a
    ``rate`` (bytes a second), none of it.

    Raises:
        FilesystemFailed: what is in between cannot be mounted.
    """
    stored = corpus.folder / ("copy" if data.name == "copy" else data.kind)
    with contextlib.ExitStack() as stack:
        if rate is None:
            corpus.warm(stored.name)
        else:
            # Always the same place: indexes are kept by path.
            place = scratch / f"limited-{stored.name}"
            stack.enter_context(filesystems.limited(stored, place, scratch, rate))
            stored = place
        mountpoint = scratch / f"mount-{data.name}"
        process = None
        match data.server:
            case "framefs":
                process = stack.enter_context(
                    filesystems.framefs(stored, mountpoint, corpus.folder, options)
                )
            case "memory":
                images = sorted((corpus.folder / "copy").rglob("*.png"))[:IMAGES_IN_MEMORY]
                process = stack.enter_context(filesystems.memory(images, mountpoint, scratch))
            case "ffmpegfs":
                process = stack.enter_context(filesystems.ffmpegfs(stored, mountpoint, scratch))
        yield Opened(data, stored if process is None else mountpoint, process)


def copy_files(
    corpus: Corpus, frames: dict[str, set[int]], scratch: Path, options: Sequence[str]
) -> None:
    """Copies the PNG files of some frames of each clip from a mount to the folder "copy"."""
    target = corpus.folder / "copy"
    missing = [
        (clip, n)
        for clip, numbers in frames.items()
        for n in sorted(numbers)
        if not (target / clip / f"{n:06d}.png").exists()
    ]
    if not missing:
        return
    with opened(DATA["native-png"], corpus, scratch, rate=None, options=options) as mount:
        for clip, n in missing:
            file = target / clip / f"{n:06d}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary = file.with_suffix(".part")
            shutil.copyfile(mount.file(clip, n), temporary)
            temporary.replace(file)
