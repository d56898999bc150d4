"""The rules for the page cache against a model of the kernel's."""

from __future__ import annotations

import threading
import time

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from decoder.corpus import Fingerprint, Source
from vfs.pages import Opening, PageCache

PATH = "/a/000000.png"


def version(number: int) -> Source:
    return Source("/videos/a.mp4", Fingerprint(number, 0))


class Handle:
    def __init__(self, source: Source, opening: Opening) -> None:
        self.source = source
        self.opening = opening
        self.applied = False


class KernelModel(RuleBasedStateMachine):
    """One file; replies to opens reach the kernel in any order, later than they were decided."""

    handles: Bundle[Handle] = Bundle("handles")

    def __init__(self) -> None:
        super().__init__()
        self.cache = PageCache(patience=0)
        self.present = version(0)
        self.page: Source | None = None

    @rule(number=st.integers(0, 2))
    def replace(self, number: int) -> None:
        self.present = version(number)

    @rule(target=handles)
    def open(self) -> Handle:
        return Handle(self.present, self.cache.open(PATH, self.present))

    def apply(self, handle: Handle) -> None:
        if not handle.applied:
            handle.applied = True
            if not handle.opening.keep:
                self.page = None

    @rule(handle=handles)
    def reply_arrives(self, handle: Handle) -> None:
        self.apply(handle)

    @rule(handle=handles)
    def read(self, handle: Handle) -> None:
        self.apply(handle)
        if handle.opening.direct:
            return
        if self.page is None:
            self.cache.read(PATH, handle.source)
            self.page = handle.source
        assert self.page == handle.source, "somebody reads another version's pages"

    @rule(handle=consumes(handles))
    def close(self, handle: Handle) -> None:
        self.apply(handle)
        if not handle.opening.direct:
            self.cache.close(PATH, handle.source)

    @rule()
    def kernel_drops_pages(self) -> None:
        self.page = None

    @rule()
    def record_is_pushed_out(self) -> None:
        pages = self.cache._pages.get(PATH)
        if pages is not None and not pages.readers:
            del self.cache._pages[PATH]

    @invariant()
    def the_record_is_bounded(self) -> None:
        assert len(self.cache._pages) <= 1


TestKernelModel = KernelModel.TestCase
TestKernelModel.settings = settings(max_examples=400, stateful_step_count=30, deadline=None)


def test_pages_are_kept_from_the_second_reading_on() -> None:
    cache = PageCache()
    assert cache.open(PATH, version(1)) == Opening(keep=False, direct=False)
    cache.read(PATH, version(1))
    cache.close(PATH, version(1))
    assert cache.open(PATH, version(1)) == Opening(keep=True, direct=False)


def test_an_older_reader_makes_a_newer_one_read_past_the_pages() -> None:
    cache = PageCache(patience=0)
    cache.open(PATH, version(1))
    assert cache.open(PATH, version(2)) == Opening(keep=True, direct=True)
    cache.close(PATH, version(1))
    # What the direct reader saw says nothing about the pages.
    assert cache.open(PATH, version(2)) == Opening(keep=False, direct=False)


def test_a_release_on_its_way_is_waited_for() -> None:
    cache = PageCache(patience=5)
    cache.open(PATH, version(1))
    threading.Timer(0.05, cache.close, (PATH, version(1))).start()
    start = time.monotonic()
    assert not cache.open(PATH, version(2)).direct
    assert time.monotonic() - start < 4


def test_a_forgotten_path_loses_its_pages() -> None:
    cache = PageCache()
    cache.open(PATH, version(1))
    cache.close(PATH, version(1))
    for number in range(1 << 16):
        cache.open(f"/a/{number}", version(1))
        cache.close(f"/a/{number}", version(1))
    assert cache.open(PATH, version(2)) == Opening(keep=False, direct=False)
    assert len(cache._pages) <= 1 << 16
