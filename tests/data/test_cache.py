"""What is made once and kept: read again while it is whole and of the same sources, else made anew."""

import pytest

from sentences import refused
from sozo.data.cache import kept, make_cache


@pytest.fixture
def make():
    """Makes a value, and counts how often."""

    def value():
        value.times += 1
        return {"犬": value.times}

    value.times = 0
    return value


def test_a_value_is_made_once_for_the_same_sources(make, tmp_path, monkeypatch):
    monkeypatch.setenv("SOZO_CACHE", str(tmp_path / "cache"))
    assert kept("rows", b"one", make) == kept("rows", b"one", make) == {"犬": 1}
    assert kept("rows", b"other", make) == {"犬": 2}
    assert kept("rows", b"one", make) == {"犬": 1}


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe\n{}"])
def test_a_damaged_file_is_made_anew(damage, make, tmp_path, monkeypatch):
    monkeypatch.setenv("SOZO_CACHE", str(tmp_path))
    kept("rows", b"one", make)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    assert kept("rows", b"one", make) == {"犬": 2}
    file.write_bytes(file.read_bytes().replace(b"2", b"3"))
    assert kept("rows", b"one", make) == {"犬": 3}
    assert kept("rows", b"one", make) == {"犬": 3}


def test_where_nothing_can_be_kept_it_is_made_each_time(make, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SOZO_CACHE", str(tmp_path / "file"))
    assert kept("rows", b"one", make) == {"犬": 1}
    assert kept("rows", b"one", make) == {"犬": 2}


@pytest.mark.parametrize("name", ["home", "other"])
def test_where_nothing_can_be_written_the_way_out_is_said(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SOZO_CACHE", str(tmp_path / "home"))
    (tmp_path / name).write_text("no folder")
    with refused(f"cache: {name}"):
        make_cache(tmp_path / name / "vectors")
