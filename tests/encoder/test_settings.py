from __future__ import annotations

from typing import Any

import pytest

from encoder.errors import SettingsError
from encoder.settings import PROFILES, Settings


@pytest.mark.parametrize("profile", PROFILES)
def test_settings_of_a_profile_come_back_from_json(profile: str) -> None:
    settings = Settings.of_profile(profile, match_psnr=40.0, keep_tracks=True)
    assert Settings.of_json(settings.to_json()) == settings
    assert "\n" not in settings.to_json()


def test_overrides_replace_what_the_profile_says_and_nothing_else() -> None:
    plain, changed = Settings.of_profile("fast"), Settings.of_profile("fast", interval=8)
    assert changed == plain.replaced(interval=8)
    assert changed.replaced(interval=plain.interval) == plain


@pytest.mark.parametrize(
    ("profile", "overrides", "word"),
    [
        ("faster", {}, "profile"),
        ("fast", {"codec": "av1"}, "structure"),
        ("small", {"structure": "ddra"}, "structure"),
        ("fast", {"bound": 5}, "bound"),
        ("fast", {"bound": 2}, "bound"),
        ("small", {"bound": 1}, "bound"),
        ("fast", {"interval": 1}, "interval"),
        ("fast", {"interval": 65}, "interval"),
        ("compact", {"interval": 65}, "interval"),
        ("fast", {"segment": 8}, "segment"),
        ("small", {"anchors": "adaptive"}, "anchors"),
        ("compact", {"fastdecode": True}, "fastdecode"),
        ("fast", {"preset": "8"}, "preset"),
        ("small", {"preset": "medium"}, "preset"),
        ("fast", {"crf": 52.0}, "crf"),
        ("fast", {"crf": -1.0}, "crf"),
        ("fast", {"match_psnr": 40.0, "target_size": 1000}, "match_psnr and target_size"),
        ("fast", {"match_psnr": 400.0}, "match_psnr"),
        ("fast", {"match_ssim": 1.5}, "match_ssim"),
        ("fast", {"target_size": 0}, "target_size"),
        ("fast", {"threads": 0}, "threads"),
        ("fast", {"speed": 1}, "speed"),
        ("fast", {"interval": "many"}, "interval"),
    ],
)
def test_what_contradicts_itself_is_refused_by_name(
    profile: str, overrides: dict[str, Any], word: str
) -> None:
    with pytest.raises(SettingsError, match=word):
        Settings.of_profile(profile, **overrides)


def test_what_is_no_json_of_settings_is_refused() -> None:
    with pytest.raises(SettingsError):
        Settings.of_json("{}")
    with pytest.raises(SettingsError):
        Settings.of_json(b"\xff")
