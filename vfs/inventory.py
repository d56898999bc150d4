"""All clips of a tree in the order of their paths, before anything is known of their frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vfs.catalog import walk
from vfs.naming import Named
from vfs.nodes import Branch, FolderNode, join
from vfs.reel import Place
from vfs.resolver import Resolver, place_of


@dataclass(frozen=True, slots=True)
class Listed:
    """A clip in a view.

    Attributes:
        branch: the view.
        place: where its frames are.
        named: the clip.
    """

    branch: Branch
    place: Place
    named: Named

    @property
    def path(self) -> str:
        """Of the directory with its frames; where several share one, that and the clip's name."""
        if self.place.directories:
            return self.place.files
        return join(self.place.folder, self.place.name)


def inventory(resolver: Resolver) -> list[Listed]:
    """The clips of all views. A folder that cannot be listed is left out, with all below it."""
    clips = (listed for branch in resolver.branches for listed in _in_branch(resolver, branch))
    return sorted(clips, key=lambda listed: listed.path.split("/"))


def _in_branch(resolver: Resolver, branch: Branch) -> Iterator[Listed]:
    layout = branch.view.layout
    for relpath, folder in walk(branch.clips):
        path = branch.path or "/"
        for name in (*layout.above, *filter(None, relpath.split("/")), *layout.between):
            path = join(path, name)
        node = FolderNode(path, branch, relpath, folder, len(layout.between))
        for named in resolver.naming(node).clips():
            yield Listed(branch, place_of(branch, path, named), named)
