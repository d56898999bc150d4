"""The sources that a command is to go through: one file, or all below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from decoder.corpus import Corpus, Source, source_at
from decoder.errors import DecoderError


@dataclass(slots=True)
class Found:
    """Sources, largest first, and what could not be looked at, in words."""

    sources: list[Source] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def find(path: str, *, extensions: Iterable[str], follow_symlinks: bool) -> Found:
    """The sources below the folder at ``path`` as a mount shows them, or the one file there.

    Largest first: what takes longest must not begin last.

    Raises:
        SourceNotFound: there is nothing at ``path``.
    """
    found = Found()
    if not os.path.isdir(path):
        found.sources.append(source_at(os.path.realpath(path)))
        return found
    corpus = Corpus(path, extensions=extensions, follow_symlinks=follow_symlinks)
    pending = [""]
    while pending:
        relpath = pending.pop()
        try:
            folder = corpus.folder(relpath)
        except DecoderError as error:
            found.refused.append(str(error))
            continue
        pending += [os.path.join(relpath, name) for name in folder.folders]
        for name in folder.videos:
            try:
                found.sources.append(corpus.source(os.path.join(relpath, name)))
            except DecoderError as error:
                found.refused.append(str(error))
    found.sources.sort(key=lambda source: (-source.fingerprint.size, source.path))
    return found
