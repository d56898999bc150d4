"""Everything that decides an encoding but the source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec

from encoder.errors import SettingsError

Profile = Literal["fast", "compact", "small"]
Structure = Literal["ddra", "hierarchical"]
Codec = Literal["h264", "h265", "av1"]
Anchors = Literal["fixed", "adaptive"]

PROFILES: tuple[Profile, ...] = ("fast", "compact", "small")

LIKE_WITHIN = 0.18
"""dB within which the quality of `Settings.like` is met."""

LONGEST_INTERVAL = 64

_CRF = {"h264": 51.0, "h265": 51.0, "av1": 63.0}
"""Highest crf of each encoder."""

_X26X_PRESETS = tuple(
    "ultrafast superfast veryfast faster fast medium slow slower veryslow placebo".split()
)
_PRESETS = {
    "h264": _X26X_PRESETS,
    "h265": _X26X_PRESETS,
    "av1": tuple(str(n) for n in range(-1, 14)),
}

_DDRA_BOUNDS = (3, 4)
_LEAST_HIERARCHICAL_BOUND = 2

_OF_PROFILE: Mapping[str, Mapping[str, Any]] = {
    "fast": {
        "structure": "ddra", "codec": "h264", "bound": 3, "interval": 16, "crf": 20.0,
        "preset": "slow", "fastdecode": True, "anchors": "adaptive",
    },
    "compact": {
        "structure": "ddra", "codec": "h265", "bound": 3, "interval": 16, "crf": 22.0,
        "preset": "medium", "fastdecode": False, "anchors": "adaptive",
    },
    "small": {
        "structure": "hierarchical", "codec": "av1", "bound": 16, "interval": 32, "crf": 38.0,
        "preset": "5", "fastdecode": True,
    },
}  # fmt: skip


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a source is encoded. The same settings and source give the same file.

    At most one of ``match_psnr``, ``match_ssim``, ``like`` and ``target_size`` is set; ``crf`` is
    what is used where none is, and where the search for one begins otherwise.

    Attributes:
        profile: where the other settings came from; decides nothing.
        structure: "ddra" or "hierarchical".
        codec: "h264" or "h265" for DDRA, "av1" for a hierarchy.
        bound: pictures in the closure of any frame at most.
        interval: frames from one anchor to the next; at most so many where ``anchors`` is
            "adaptive" and in a hierarchy.
        anchors: "fixed", or "adaptive": where the content asks for them.
        segment: frames of a part that refers to no other at least (DDRA only): readers that know
            nothing of the structure start at its first frame.
        crf: constant rate factor, in the encoder's own scale.
        preset: of the encoder, in its words.
        fastdecode: what is slow to decode is left out (H.264: CABAC, deblocking and weighted
            prediction; AV1: the constrained directional enhancement filter; not in H.265).
        match_psnr: RGB PSNR, pooled over all frames, that is to be reached, in dB.
        match_ssim: mean SSIM that is to be reached, from 0 to 1.
        like: path of another encoding of the source whose RGB PSNR is to be met within
            `LIKE_WITHIN` dB.
        target_size: bytes of the new file at most.
        keep_tracks: audio and data tracks are copied.
        retime: frames of a source whose timestamps run backwards follow each other at its rate;
            such a source is refused otherwise.
        threads: of the encoder; more of them encode otherwise.
    """

    profile: Profile
    structure: Structure
    codec: Codec
    bound: int
    interval: int
    crf: float
    preset: str
    fastdecode: bool
    segment: int = 250
    anchors: Anchors = "fixed"
    match_psnr: float | None = None
    match_ssim: float | None = None
    like: str | None = None
    target_size: int | None = None
    keep_tracks: bool = False
    retime: bool = False
    threads: int = 1

    def __post_init__(self) -> None:
        self._check_structure()
        self._check_quality()
        if not 1 <= self.threads <= 64:
            raise SettingsError(f"threads: {self.threads} is not from 1 to 64")

    @classmethod
    def of_profile(cls, profile: str, **overrides: Any) -> Settings:
        """The settings of ``profile`` ("fast", "compact", "small") with some of them replaced.

        Anchors stay even where an override leaves them no choice, unless it asks for another.

        Raises:
            SettingsError: they contradict each other, or there is no such profile or setting.
        """
        if profile not in _OF_PROFILE:
            raise SettingsError(f"profile: {profile!r} is none of {', '.join(PROFILES)}")
        unknown = sorted(set(overrides) - set(cls.__struct_fields__))
        if unknown:
            raise SettingsError(f"there is no setting {unknown[0]!r}")
        data = {"profile": profile, **_OF_PROFILE[profile]}
        if "structure" in overrides:
            data["anchors"] = "fixed"
        return cls.of_data({**data, **overrides})

    @classmethod
    def of_data(cls, data: object) -> Settings:
        """The settings in plain types, as from JSON. Raises SettingsError."""
        try:
            return msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise SettingsError(f"settings: {error}") from error

    @classmethod
    def of_json(cls, text: str | bytes) -> Settings:
        """The settings that `to_json` wrote. Raises SettingsError."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise SettingsError(f"settings: {error}") from error

    def to_json(self) -> str:
        """One line of JSON, the same for the same settings."""
        return msgspec.json.encode(self, order="sorted").decode()

    def replaced(self, **changes: Any) -> Settings:
        """These settings with some of them replaced. Raises SettingsError."""
        data = cast(dict[str, Any], msgspec.to_builtins(self))
        return Settings.of_data({**data, **changes})

    @property
    def searches(self) -> bool:
        """Whether the crf is searched for."""
        return any(value is not None for value in self._wishes().values())

    def _wishes(self) -> dict[str, float | str | None]:
        return {
            "match_psnr": self.match_psnr,
            "match_ssim": self.match_ssim,
            "like": self.like,
            "target_size": self.target_size,
        }

    def _check_structure(self) -> None:
        if (self.structure == "hierarchical") != (self.codec == "av1"):
            raise SettingsError(
                f"structure: {self.structure!r} cannot be had with codec {self.codec!r}; "
                "DDRA is H.264 or H.265, a hierarchy AV1"
            )
        if self.structure == "ddra" and self.bound not in _DDRA_BOUNDS:
            raise SettingsError(f"bound: {self.bound} is neither 3 nor 4, which DDRA keeps")
        if self.bound < _LEAST_HIERARCHICAL_BOUND:
            raise SettingsError(f"bound: {self.bound} is less than {_LEAST_HIERARCHICAL_BOUND}")
        if not 2 <= self.interval <= LONGEST_INTERVAL:
            raise SettingsError(
                f"interval: {self.interval} is not from 2 to {LONGEST_INTERVAL} frames"
            )
        if self.segment < self.interval:
            raise SettingsError(
                f"segment: {self.segment} frames do not hold an interval of {self.interval}"
            )
        if self.anchors == "adaptive" and self.structure != "ddra":
            raise SettingsError("anchors: only those of DDRA can follow the content")
        if self.fastdecode and self.codec == "h265":
            raise SettingsError("fastdecode: h265 has no such setting, only h264 and av1")
        if self.preset not in _PRESETS[self.codec]:
            presets = ", ".join(_PRESETS[self.codec])
            raise SettingsError(
                f"preset: {self.preset!r} is none of those of {self.codec}: {presets}"
            )
        if not 0 <= self.crf <= _CRF[self.codec]:
            raise SettingsError(f"crf: {self.crf:g} is not from 0 to {_CRF[self.codec]:g}")

    def _check_quality(self) -> None:
        wishes = [name for name, value in self._wishes().items() if value is not None]
        if len(wishes) > 1:
            raise SettingsError(f"{' and '.join(wishes)}: only one of them can be met")
        if self.match_psnr is not None and not 10 <= self.match_psnr <= 80:
            raise SettingsError(f"match_psnr: {self.match_psnr:g} dB is not from 10 to 80")
        if self.match_ssim is not None and not 0 < self.match_ssim < 1:
            raise SettingsError(f"match_ssim: {self.match_ssim:g} is not between 0 and 1")
        if self.target_size is not None and self.target_size < 1:
            raise SettingsError(f"target_size: {self.target_size} bytes hold no video")


def highest_crf(codec: Codec) -> float:
    """The crf at which an encoder of ``codec`` makes its smallest files."""
    return _CRF[codec]
