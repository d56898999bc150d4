"""H.265 clips of every structure that x265 makes, and what can be made of them by rewriting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from decoder.bitstream import nal
from tests.encoding import Recipe

BASE = "keyint=24:min-keyint=4:scenecut=0"
OPEN = "min-keyint=1:open-gop=1:scenecut=0"

_ALWAYS = "log-level=0:frame-threads=1:crf=20"
_ONE_THREAD = "pools=none"
_WAVEFRONT = "pools=1:wpp=1"  # x265 wants a pool for them

# nal_unit_type
RADL_N = 6
RASL_N, RASL_R = 8, 9
BLA_W_LP = 16
BLA_W_RADL = 17
CRA_NUT = 21
PARAMETER_SETS = (32, 33, 34)
AUD_NUT = 35
EOS_NUT = 36
EOB_NUT = 37
PREFIX_SEI_NUT = 39


def hevc(
    name: str, parameters: str = BASE, pixel_format: str = "yuv420p", **more: object
) -> Recipe:
    """A recipe for x265 with these parameters of its own."""
    threads = "" if "pools=" in parameters else f":{_ONE_THREAD}"
    options = f"preset=fast x265-params={_ALWAYS}{threads}:{parameters}"
    return replace(Recipe(name, "libx265", options, pixel_format), **more)  # type: ignore[arg-type]


def recipes() -> list[Recipe]:
    """One for every structure; the containers are dealt out in turn where none is said."""
    made = [
        hevc("default", "keyint=250", frames=72),
        *_bidirectional(),
        *_random_access(),
        *_coding(),
        *_formats(),
        hevc("variable_rate", variable_rate=True),
        hevc("long", "keyint=-1:bframes=4:ref=4", frames=150, size=(96, 80)),
        hevc("long_short_lsb", "keyint=-1:bframes=3:log2-max-poc-lsb=4", frames=150, size=(96, 80)),
    ]
    turn = ("mp4", "mkv", "ts", "hevc", "mov")
    dealt = [
        replace(recipe, container=turn[n % len(turn)])
        if recipe.container == "mkv" and not recipe.variable_rate
        else recipe
        for n, recipe in enumerate(made)
    ]
    return [*dealt, *_rewritten(), *_joined()]


def recipe_named(name: str) -> Recipe:
    """The recipe of that name."""
    return next(recipe for recipe in recipes() if recipe.name == name)


def _bidirectional() -> list[Recipe]:
    return [
        *[
            hevc(
                f"b_{count}_{pyramid}",
                f"keyint=48:scenecut=0:b-adapt=0:bframes={count}:b-pyramid={pyramid}:rc-lookahead=30",
            )
            for count in (0, 1, 2, 3, 7, 16)
            for pyramid in (0, 1)
        ],
        *[hevc(f"refs_{n}", f"{BASE}:ref={n}:bframes=3:b-adapt=0") for n in (1, 3, 6, 8)],
        hevc("refs_10", f"{BASE}:ref=10:bframes=0:rc-lookahead=10"),
        *[hevc(f"weights_{n}", f"{BASE}:weightp={n & 1}:weightb={n >> 1}") for n in range(3)],
        hevc("weights", f"{BASE}:weightp=1:weightb=1:ref=4:bframes=3"),
        *[
            hevc(f"layers_{n}", f"{BASE}:temporal-layers={n}:b-adapt=0", container="hevc")
            for n in (2, 4, 5)
        ],
        hevc("layers", "keyint=32:temporal-layers=3:bframes=7:b-adapt=0", container="hevc"),
        hevc("no_temporal_mvp", f"{BASE}:no-temporal-mvp=1:bframes=3"),
    ]


def _random_access() -> list[Recipe]:
    opened = f"{OPEN}:b-adapt=0"
    closed = "keyint=12:min-keyint=1:open-gop=0:scenecut=0:b-adapt=0"
    return [
        *[
            hevc(f"open_{n}", f"{opened}:keyint={2 * n + 2}:bframes={n}:rc-lookahead=30", frames=60)
            for n in (0, 2, 3, 4, 7, 16)
        ],
        hevc("open_refs", f"{opened}:keyint=15:bframes=4:ref=6:b-pyramid=1"),
        hevc("open_lsb", f"{opened}:keyint=10:bframes=4:log2-max-poc-lsb=4"),
        hevc("open_repeat", f"{opened}:keyint=12:bframes=3:repeat-headers=1", container="ts"),
        *[hevc(f"closed_{n}", f"{closed}:bframes={n}") for n in (0, 4)],
        hevc("closed", "keyint=16:open-gop=0:bframes=4"),
        hevc("radl", f"{closed}:keyint=16:radl=3:bframes=4"),
        hevc("radl_1", f"{closed}:bframes=4:radl=1"),
        *[
            hevc(f"intra_refresh{end}", f"keyint=12:scenecut=0:intra-refresh=1:bframes={n}")
            for n, end in ((2, ""), (0, "_p"))
        ],
        hevc("intra_only", "keyint=1"),
        hevc("scenecut", "keyint=60:min-keyint=5:scenecut=80:bframes=4", frames=60),
        hevc("scenecut_hist", "keyint=60:min-keyint=5:hist-scenecut=1:bframes=4", frames=60),
        hevc("short_gop", "keyint=5:min-keyint=1"),
        *[
            hevc(f"lsb_4_b_{n}", f"keyint=-1:log2-max-poc-lsb=4:bframes={n}:b-adapt=0", frames=72)
            for n in (0, 2, 5)
        ],
        hevc("lsb_4", "keyint=100:scenecut=0:bframes=3:log2-max-poc-lsb=4", frames=120),
        hevc("lsb_5_open", f"{OPEN}:keyint=20:bframes=7:log2-max-poc-lsb=5", frames=120),
    ]


def _coding() -> list[Recipe]:
    return [
        hevc("wpp", f"{BASE}:{_WAVEFRONT}"),
        *[
            hevc(f"slices_{n}", f"{BASE}:{_WAVEFRONT}:slices={n}:ctu=16:max-tu-size=16")
            for n in (2, 4)
        ],
        hevc("ctu_16", f"{BASE}:ctu=16:max-tu-size=16:rect=1:amp=1"),
        hevc("repeat", f"{BASE}:repeat-headers=1:aud=1:hash=1:info=1", container="hevc"),
        hevc(
            "hrd",
            f"{BASE}:hrd=1:vbv-maxrate=400:vbv-bufsize=400:aud=1:idr-recovery-sei=1"
            ":repeat-headers=1",
        ),
        hevc("rps_in_sps", f"{BASE}:multi-pass-opt-rps=1:repeat-headers=1:bframes=4"),
        hevc("lists_in_pps", f"{BASE}:opt-ref-list-length-pps=1:opt-qp-pps=1:repeat-headers=1"),
        hevc("scaling", f"{BASE}:scaling-list=default"),
        hevc("constrained", f"{BASE}:constrained-intra=1"),
        hevc("no_filters", f"{BASE}:no-deblock=1:no-sao=1"),
        hevc("tskip", f"{BASE}:tskip=1:cu-lossless=1:signhide=0"),
        hevc("temporal_filter", f"{BASE}:mcstf=1"),
        hevc("zerolatency", f"{BASE}:bframes=0:rc-lookahead=0:b-adapt=0"),
        hevc(
            "vui",
            f"{BASE}:overscan=show:videoformat=pal:range=full:colorprim=bt709:transfer=bt709"
            ":colormatrix=bt709:chromaloc=2:sar=5",
        ),
        *[hevc(f"field_{order}", f"{BASE}:interlace={order}") for order in ("tff", "bff")],
        hevc("field_open", f"{OPEN}:keyint=10:interlace=tff:bframes=4:b-adapt=0"),
        hevc("cropped", BASE, size=(166, 122)),
    ]


def _formats() -> list[Recipe]:
    names = (
        "yuv420p10le yuv420p12le yuv422p yuv422p10le yuv422p12le yuv444p yuv444p10le yuv444p12le "
        "gray gray10le gbrp"
    ).split()
    return [
        *[hevc(f"format_{name}", f"{BASE}:bframes=4", name, size=(128, 96)) for name in names],
        *[
            hevc(f"open_{name}", f"{OPEN}:keyint=12:bframes=4", name)
            for name in ("yuv420p10le", "yuv422p10le", "yuv444p")
        ],
        hevc("lossless", f"{BASE}:lossless=1", size=(96, 80)),
        hevc("lossless_10", f"{BASE}:lossless=1", "yuv420p10le", size=(96, 80)),
    ]


def _raw(name: str, parameters: str, rewrite: Callable[[bytes], bytes] | None = None) -> Recipe:
    return hevc(name, parameters, container="hevc", rewrite=rewrite)


def _rewritten() -> list[Recipe]:
    opened = f"{OPEN}:keyint=10:b-adapt=0:bframes=4"
    repeated = f"{opened}:repeat-headers=1"
    return [
        _raw("bla", repeated, bla),
        _raw("bla_every_other", opened, bla_every_other),
        _raw("bla_radl", opened, bla_with_radl),
        _raw("eos_before_cra", opened, eos_before_cra),
        _raw("eob_before_cra", f"{opened}:aud=1", eob_before_cra),
        _raw("eos_everywhere", "keyint=8:min-keyint=1:open-gop=0:scenecut=0", eos_before_irap),
        _raw("eos_at_the_end", opened, lambda content: content + _unit(EOS_NUT)),
        _raw("starts_at_a_cra", repeated, lambda content: from_irap(content, 1)),
        _raw("without_repeated_sets", f"{BASE}:repeat-headers=1", without_repeated_sets),
        _raw("without_rasl", opened, without_rasl),
    ]


def _joined() -> list[Recipe]:
    """Raw streams one after the other, with parameter sets of the same ids that differ."""
    opened = f"{OPEN}:keyint=10:b-adapt=0"
    first = replace(_raw("first", f"{opened}:bframes=4"), frames=30)
    other = replace(_raw("other", f"{opened}:keyint=12:bframes=2:ref=2:no-sao=1:ctu=32"), frames=30)
    small = replace(_raw("small", f"{OPEN}:keyint=8:bframes=3"), size=(128, 96), frames=24)
    deep = replace(small, pixel_format="yuv420p10le", size=(176, 144))
    crossed = replace(other, rewrite=lambda content: from_irap(content, 1))
    return [
        replace(first, name="sets_change", then=(other,)),
        replace(first, name="sets_change_often", then=(other, first, other)),
        replace(first, name="sets_change_once", then=(other,), rewrite=without_repeated_sets),
        replace(first, name="size_changes", then=(small, first)),
        replace(first, name="size_changes_once", then=(small,), rewrite=without_repeated_sets),
        replace(first, name="depth_changes", then=(deep,)),
        replace(first, name="joined_at_a_cra", then=(crossed,), conservative=True),
        replace(first, name="joined_behind_eos", then=(crossed,), rewrite=eos_before_sets),
    ]


# -- rewriting


def bla(content: bytes) -> bytes:
    """Every CRA picture but the first becomes a BLA picture: its RASL pictures are not shown."""
    return _with_cra(content, lambda n: BLA_W_LP)


def bla_every_other(content: bytes) -> bytes:
    """Every other CRA picture becomes a BLA picture."""
    return _with_cra(content, lambda n: BLA_W_LP if n % 2 else CRA_NUT)


def bla_with_radl(content: bytes) -> bytes:
    """As `bla`, without RASL pictures: `BLA_W_RADL`."""
    return _with_cra(without_rasl(content), lambda n: BLA_W_RADL)


def eos_before_cra(content: bytes) -> bytes:
    """An end of sequence before every CRA picture but the first: RASL pictures are not shown."""
    return _before(content, (CRA_NUT,), _unit(EOS_NUT))


def eob_before_cra(content: bytes) -> bytes:
    """An end of bitstream too."""
    return _before(content, (CRA_NUT,), _unit(EOS_NUT) + _unit(EOB_NUT))


def eos_before_irap(content: bytes) -> bytes:
    """An end of sequence before every picture of random access but the first."""
    return _before(content, range(16, 24), _unit(EOS_NUT))


def eos_before_sets(content: bytes) -> bytes:
    """An end of sequence before every VPS but the first."""
    units = nal.split(content, nal.ANNEX_B)
    done: list[bytes] = []
    for unit in units:
        if done and kind_of(unit) == PARAMETER_SETS[0]:
            done.append(_bare(EOS_NUT))
        done.append(unit)
    return nal.join(done, nal.ANNEX_B)


def without_rasl(content: bytes) -> bytes:
    """Without RASL pictures."""
    units = nal.split(content, nal.ANNEX_B)
    kept = [unit for unit in units if kind_of(unit) not in (RASL_N, RASL_R)]
    return nal.join(kept, nal.ANNEX_B)


def without_repeated_sets(content: bytes) -> bytes:
    """Parameter sets come only where they change."""
    in_force: dict[int, bytes] = {}
    units = []
    for unit in nal.split(content, nal.ANNEX_B):
        kind = kind_of(unit)
        if kind in PARAMETER_SETS:
            if in_force.get(kind) == unit:
                continue
            in_force[kind] = unit
            for other in PARAMETER_SETS[PARAMETER_SETS.index(kind) + 1 :]:
                in_force.pop(other, None)
        units.append(unit)
    return nal.join(units, nal.ANNEX_B)


def from_irap(content: bytes, number: int) -> bytes:
    """The parameter sets that come first, then the stream from its ``number``-th IRAP on."""
    groups = access_units(nal.split(content, nal.ANNEX_B))
    sets = [unit for unit in groups[0] if kind_of(unit) in PARAMETER_SETS]
    places = [n for n, group in enumerate(groups) if any(16 <= kind_of(u) <= 23 for u in group)]
    rest = [unit for group in groups[places[number] :] for unit in group]
    if any(kind_of(unit) in PARAMETER_SETS for unit in groups[places[number]]):
        sets = []
    return nal.join([*sets, *rest], nal.ANNEX_B)


def access_units(units: Sequence[bytes]) -> list[list[bytes]]:
    """NAL units by access unit (H.265 7.4.2.4.4)."""
    groups: list[list[bytes]] = []
    started = True
    for unit in units:
        kind = kind_of(unit)
        slices = kind < 32
        first = slices and bool(unit[2] & 128)  # first_slice_segment_in_pic_flag
        opens = kind in (*PARAMETER_SETS, AUD_NUT, PREFIX_SEI_NUT)
        if started and (first or opens):
            groups.append([])
            started = False
        groups[-1].append(unit)
        started |= slices
    return groups


def kind_of(unit: bytes) -> int:
    """nal_unit_type."""
    return unit[0] >> 1 & 63


def with_kind(unit: bytes, kind: int) -> bytes:
    """The unit with another nal_unit_type."""
    return bytes((unit[0] & 0x81 | kind << 1,)) + unit[1:]


def _with_cra(content: bytes, kind: Callable[[int], int]) -> bytes:
    """CRA pictures but the first under other types, by their numbers."""
    seen = -1
    units = []
    for unit in nal.split(content, nal.ANNEX_B):
        if kind_of(unit) == CRA_NUT:
            seen += bool(unit[2] & 128)
            units.append(with_kind(unit, kind(seen) if seen else CRA_NUT))
        else:
            units.append(unit)
    return nal.join(units, nal.ANNEX_B)


def _before(content: bytes, kinds: Iterable[int], inserted: bytes) -> bytes:
    """Something before each access unit but the first that has a unit of these types."""
    wanted = set(kinds)
    groups = access_units(nal.split(content, nal.ANNEX_B))
    done = b""
    for number, group in enumerate(groups):
        if number and any(kind_of(unit) in wanted for unit in group):
            done += inserted
        done += nal.join(group, nal.ANNEX_B)
    return done


def _bare(kind: int) -> bytes:
    return bytes((kind << 1, 1))


def _unit(kind: int) -> bytes:
    return nal.join([_bare(kind)], nal.ANNEX_B)
