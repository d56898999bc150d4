"""Whether what the loader read is the frame that it asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from PIL import Image

from bench.check import Reference
from bench.mount.corpora import Corpus
from bench.mount.data import IMAGES_IN_MEMORY, Opened

Accept = Callable[[str, int, str], bool]
"""Whether an image with this digest is frame n of a clip."""

_LEAST = 40.0
"""dB from which an image may be the right frame, where others convert colours."""


def accepting(opened: Opened, corpus: Corpus, frames: Mapping[str, Sequence[int]]) -> Accept:
    """What is right for this data: the bytes of a full decode, by number.

    Of ffmpegfs, which converts colours in its own way, an image that is most like the right frame
    among its neighbours.
    """
    truth = corpus.truth[opened.data.kind]
    match opened.data.server:
        case "memory":
            files = sorted((corpus.folder / "copy").rglob("*.png"))[:IMAGES_IN_MEMORY]
            digests = [truth[file.parent.name][int(file.stem)] for file in files]
            return lambda clip, n, found: digests[n % len(digests)] == found
        case "ffmpegfs":
            return _alike(opened, corpus, frames)
        case _:
            return lambda clip, n, found: truth[clip][n] == found


def _alike(opened: Opened, corpus: Corpus, frames: Mapping[str, Sequence[int]]) -> Accept:
    references: dict[str, Reference] = {}
    judged: dict[tuple[str, int, str], bool] = {}

    def accept(clip: str, n: int, found: str) -> bool:
        key = clip, n, found
        if key not in judged:
            if clip not in references:
                (video,) = (corpus.folder / opened.data.kind).glob(f"{clip}.*")
                references[clip] = Reference(str(video), frames[clip], least=_LEAST)
            if references[clip].is_exact(n, found):
                judged[key] = True
            else:
                with Image.open(opened.file(clip, n)) as image:
                    seen = np.asarray(image.convert("RGB"))
                judged[key] = references[clip].judge(n, seen).right
        return judged[key]

    return accept
