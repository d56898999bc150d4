from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import config
from config import ConfigError, Settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cahce: {size: 1GiB}", "cahce: unknown setting; did you mean cache?"),
        ("cache: {sise: 1GiB}", "cache.sise: unknown setting; did you mean cache.size?"),
        ("3: 4", "3: unknown setting; there are source, mountpoint, corpus,"),
        ("cache: 4", "cache: expected settings, one 'name: value' a line, got 4"),
        ("[cache]", "expected settings, one 'name: value' a line, got ['cache']"),
        ("cache: {size: lots}", "cache.size: expected auto, a size such as 2GiB or a number of"),
        ("cache: {size: -1}", "cache.size: expected auto, a size"),
        ("cache: {size: true}", "cache.size: expected auto, a size"),
        ("corpus: {extensions: []}", "corpus.extensions: expected a list of file name extensions"),
        ("corpus: {extensions: mp4}", "corpus.extensions: expected a list of file name extensions"),
        ("corpus: {extensions: [264]}", "corpus.extensions: expected a list"),
        ("corpus: {extensions: [a/b]}", "corpus.extensions: expected a list"),
        ("corpus: {follow_symlinks: 1}", "corpus.follow_symlinks: expected true or false, got 1"),
        ("decoder: {stream: -1}", "decoder.stream: expected the number of a stream, from 0"),
        ("decoder: {rotate: 'yes'}", "decoder.rotate: expected true or false, got 'yes'"),
        ("decoder: {readers: 0}", "decoder.readers: expected a whole number from 2 to 256, got 0"),
        (
            "decoder: {readers: 257}",
            "decoder.readers: expected a whole number from 2 to 256, got 257",
        ),
        ("decoder: {readers: 2.0}", "decoder.readers: expected a whole number from 2 to 256"),
        ("decoder: {readers: null}", "decoder.readers: expected a whole number from 2 to 256"),
        ("frames: {depth: 12}", "frames.depth: expected 8 or 16, got 12"),
        ("frames: {depth: '8'}", "frames.depth: expected 8 or 16, got '8'"),
        ("frames: {color: bgr}", "frames.color: expected rgb, gray or native, got 'bgr'"),
        ("frames: {start: -1}", "frames.start: expected the number of the first frame, or null"),
        ("frames: {digits: 19}", "frames.digits: expected a whole number from 1 to 18, or null"),
        ("frames: {format: gif}", "frames.format: expected png, npy, jpg, bmp, ppm or webp, or"),
        ("frames: {extension: .jpg}", "frames.extension: expected letters and digits such as jpe"),
        ("frames: {unlisted: npy}", "frames.unlisted: expected a list of formats such as [npy]"),
        ("frames: {quality: 0}", "frames.quality: expected a whole number from 1 to 100, got 0"),
        ("frames: {subsampling: 4:2:0}", 'frames.subsampling: expected "4:2:0", "4:2:2" or "4:4'),
        ("frames: {resize: 0}", "frames.resize: expected pixels of the short side, or null"),
        ("frames: {crop: 224}", "frames.crop: expected a size such as 224x224 or 224x224+16+0"),
        ("frames: {crop: 0x3}", "frames.crop: expected a size such as 224x224"),
        ("frames: {range: 10:20}", 'frames.range: expected "first:end" such as "10:200", "10:"'),
        ("frames: {range: '20:10'}", 'frames.range: expected "first:end" such as "10:200"'),
        ("frames: {stride: 0}", "frames.stride: expected a whole number from 1 on, got 0"),
        ("frames: {fps: 0}", 'frames.fps: expected frames a second such as 2 or "30000/1001"'),
        ("frames: {fps: often}", "frames.fps: expected frames a second such as 2"),
        ("views: [a]", "views: expected settings, one 'name: value' a line, got ['a']"),
        ("views: {a/b: {}}", "views: expected names of directories such as small, got 'a/b'"),
        ("views: {.a: {}}", "views: expected names of directories such as small, got '.a'"),
        ("views: {'': {}}", "views: expected names of directories such as small, got ''"),
        ("views: {3: {}}", "views: expected names of directories such as small, got 3"),
        ("views: {a: 3}", "views.a: expected settings, one 'name: value' a line, got 3"),
        ("views: {a: {resise: 3}}", "views.a.resise: unknown setting; did you mean views.a.resi"),
        ("views: {a: {depth: 12}}", "views.a.depth: expected 8 or 16, got 12"),
        ("index: {path: ''}", "index.path: expected a file name"),
        ("index: {path: 3}", "index.path: expected a file name"),
        ("mount: {uid: -1}", "mount.uid: expected a user id"),
        ("mount: {gid: staff}", "mount.gid: expected a group id"),
        ("mount: {umask: 022}", "mount.umask: expected an octal mask in quotes"),
        ("mount: {umask: '089'}", "mount.umask: expected an octal mask in quotes"),
        ("mount: {umask: '1000'}", "mount.umask: expected an octal mask in quotes"),
        ("mount: {allow_other: 'true'}", "mount.allow_other: expected true or false, got 'true'"),
        ("mount: {threads: 1}", "mount.threads: expected a whole number from 2 to 1000, got 1"),
        ("mount: {read_ahead: 1 elephant}", "mount.read_ahead: expected a size such as 1MiB"),
        ("logging: {level: loud}", "logging.level: expected debug, info, warning or error"),
        ("logging: {target: a.log}", "logging.target: expected auto, stderr, syslog or the abs"),
        ("source: 3", "source: expected the folder of videos"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.from_mapping(yaml.safe_load(text))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cache: {size: 1GiB\n", "is not valid YAML: "),
        ("cache:\n  size: 1GiB\n  size: 2GiB\n", "is not valid YAML: size is set twice (line 3)"),
        ("!!python/object/apply:os.system [ls]", "is not valid YAML: "),
        ("cache: {size: lots}", "cache.size: expected auto"),
    ],
)
def test_a_faulty_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "robots.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load(str(file))
    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_one_that_is_no_text_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read \(No such file"):
        config.load(str(tmp_path / "none.yaml"))
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yaml: is not"):
        config.load(str(tmp_path / "binary.yaml"))


@pytest.mark.parametrize("text", ["", "cache:\n", "{}", "# nothing\n"])
def test_what_a_file_leaves_out_has_its_default(text: str, tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text(text)
    assert config.load(str(file)) == Settings()


def test_a_file_sets_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "robots.yaml"
    file.write_text(
        """
        source: videos
        mountpoint: /mnt/robots
        corpus: {extensions: [mp4, MKV], follow_symlinks: true}
        decoder: {stream: 1, rotate: false, readers: 2}
        frames: {depth: 16, color: gray, fps: 29.97, crop: 224x200+1+2, range: "10:"}
        views: {all: {}, small: {resize: 112, unlisted: []}}
        cache: {size: 1.5GiB}
        index: {path: indexes.sqlite}
        mount: {uid: 1000, gid: 100, umask: "027", allow_other: true, threads: 8, read_ahead: 4096}
        logging: {level: debug, target: /var/log/framefs.log}
        """
    )
    loaded = config.load(str(file))
    assert loaded.source == str(tmp_path / "videos")
    assert loaded.mountpoint == "/mnt/robots"
    assert loaded.corpus.extensions == ("mp4", "MKV")
    assert loaded.decoder.stream == 1
    assert (loaded.frames.depth, loaded.frames.color) == (16, "gray")
    assert loaded.frames.fps == Fraction(2997, 100)
    assert loaded.frames.crop == (224, 200, 1, 2)
    assert loaded.frames.range == (10, None)
    assert loaded.views == {"all": {}, "small": {"resize": 112, "unlisted": ()}}
    assert loaded.cache.size == 3 * 2**29
    assert loaded.index.path == str(tmp_path / "indexes.sqlite")
    assert loaded.mount.umask == 0o027
    assert loaded.mount.read_ahead == 4096
    assert loaded.logging.target == "/var/log/framefs.log"


def test_options_override_one_setting_each() -> None:
    settings = Settings()
    for path, text in [
        ("cache.size", "1GiB"),
        ("frames.depth", "16"),
        ("frames.range", ":20"),
        ("frames.subsampling", "4:4:4"),
        ("frames.fps", "30000/1001"),
        ("frames.unlisted", "npy:png"),
        ("mount.umask", "027"),
        ("mount.allow_other", "true"),
        ("corpus.extensions", "mp4:mkv"),
        ("decoder.stream", "2"),
    ]:
        settings = config.override(settings, path, text)
    assert settings.cache.size == 2**30
    assert settings.frames.depth == 16
    assert settings.frames.range == (0, 20)
    assert settings.frames.subsampling == "4:4:4"
    assert settings.frames.fps == Fraction(30000, 1001)
    assert settings.frames.unlisted == ("npy", "png")
    assert config.override(settings, "frames.unlisted", "").frames.unlisted == ()
    assert settings.mount.umask == 0o27
    assert settings.mount.allow_other is True
    assert settings.corpus.extensions == ("mp4", "mkv")
    assert settings.decoder.stream == 2
    assert config.override(settings, "decoder.stream", "null").decoder.stream is None
    assert settings.logging == Settings().logging


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("cache.size", "lots", "cache.size: expected auto, a size such as 2GiB"),
        ("cache.sise", "1", "cache.sise: unknown setting; did you mean cache.size?"),
        ("cache", "1", "cache: unknown setting; settings look like cache.size"),
        ("views", "{}", "views: unknown setting; settings look like cache.size"),
        ("views.a", "1", "views.a: unknown setting; settings look like cache.size"),
        ("source", "/x", "source: unknown setting; settings look like cache.size"),
        ("cash.size", "1", "cash: unknown setting; did you mean cache?"),
        ("decoder.readers", "many", "decoder.readers: expected a whole number from 2 to 256"),
        ("decoder.readers", "null", "decoder.readers: expected a whole number from 2 to 256"),
    ],
)
def test_wrong_options_are_named_with_their_path(path: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.override(Settings(), path, text)
    assert str(caught.value).startswith(message)


_PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
_NAMES = st.sampled_from([*Settings.__struct_fields__, "size", "path", "depth"]) | _PLAIN


@hypothesis_settings(deadline=None)
@given(
    st.recursive(_PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner))
)
def test_any_document_is_settings_or_a_config_error(document: object) -> None:
    message = ""
    try:
        assert isinstance(config.from_mapping(document), Settings)
    except ConfigError as error:
        message = str(error)
    assert "\n" not in message


def test_a_list_that_may_be_null() -> None:
    settings = config.override(config.Settings(), "frames.unlisted", "npy:bmp")
    assert settings.frames.unlisted == ("npy", "bmp")
    assert config.override(settings, "frames.unlisted", "null").frames.unlisted is None
