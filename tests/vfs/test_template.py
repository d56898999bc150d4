from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfs.errors import WrongLayout
from vfs.template import Field, Template, pattern, touching


def test_a_template_is_text_and_fields() -> None:
    template = Template.parse("img_{number:05d}_{stem}")
    assert template.pieces == ("img_", Field("number", 5), "_", Field("stem"))
    assert template.names == {"number", "stem"}
    assert template.rendered({"number": 7, "stem": "a"}) == "img_00007_a"
    assert template.filled({"stem": "a"}).pieces == ("img_", Field("number", 5), "_a")
    assert Template.parse("{{{number:5}}}").rendered({"number": 7}) == "{00007}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{number", "braces do not match"),
        ("number}", "braces do not match"),
        ("{}", "{} is no field"),
        ("{0}", "{0} is no field"),
        ("{number.real}", "{number.real} is no field"),
        ("{number[0]}", "{number[0]} is no field"),
        ("{number!r}", "{number!r} is not possible; write {number}"),
        ("{number:x}", "{number:x} is not possible; write {number:06d} for six digits"),
        ("{number:>8}", "{number:>8} is not possible"),
        ("{number:099d}", "{number:099d} is not possible"),
        ("{number:00d}", "{number:00d} is not possible"),
        ("{stem:05d}", "{stem} is text and has no digits"),
    ],
)
def test_what_is_no_template_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(WrongLayout) as caught:
        Template.parse(text)
    assert str(caught.value).startswith(f"{text}: {message}")


@given(st.text(max_size=20))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    try:
        template = Template.parse(text)
    except WrongLayout:
        return
    assert template.rendered(dict.fromkeys(template.names, 1)) is not None


@given(
    st.sampled_from(
        ["{stem}_{number}", "{number:03d}-{stem}", "x{stem}.0.{number}y", "{stem}a{index}"]
    ),
    st.text(alphabet="a01_.-x\n", min_size=1, max_size=8),
    st.integers(0, 10**9),
)
def test_a_name_says_which_clip_and_which_frame_it_is_of(text: str, stem: str, number: int) -> None:
    """Where clips share a directory, whatever they are called."""
    template = Template.parse(text)
    assert touching(template) is None
    name = template.rendered({"stem": stem, "number": number, "index": number})
    match = pattern(template.pieces, ("png",)).fullmatch(f"{name}.png")
    assert match is not None
    groups = dict(zip((field.name for field in template.fields), match.groups(), strict=False))
    assert groups.pop("stem") == stem
    assert [int(value) for value in groups.values()] == [number]
