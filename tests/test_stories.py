"""The packaged stories as the paper describes its own, and one-line errors for anybody's file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sozo.data.errors import UserError
from sozo.tasks.sat.stories import Rewrite, Story, load_stories, read_rewrites, write_rewrites


def test_113_stories_of_200_to_400_characters_in_one_line() -> None:
    stories = load_stories()
    assert len(stories) == 113
    for name in ("id", "title", "text"):
        assert len({getattr(story, name) for story in stories}) == 113, name
    for story in stories:
        assert 200 <= len(story.text) <= 400, story.id
        assert len(story.text.split()) == 1, story.id
        assert story.text.endswith("。"), story.id
        assert story.origin, story.id
        assert story.source, story.id
        assert all(part.isalnum() and part.isascii() and part == part.lower() for part in story.id.split("-")), story.id


def test_no_story_repeats_another() -> None:
    seen = Counter(gram for s in load_stories() for gram in {s.text[i : i + 14] for i in range(len(s.text) - 13)})
    assert [gram for gram, n in seen.items() if n > 1] == []


def write(path: Path, *lines: object) -> Path:
    path.write_text(
        "".join(f"{x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)}\n" for x in lines), "utf-8"
    )
    return path


def test_a_file_of_ones_own_needs_id_and_text_only(tmp_path: Path) -> None:
    file = write(
        tmp_path / "s.jsonl", {"id": 7, "text": "昔々", "more": []}, "", {"id": "b", "text": "今", "title": "題"}
    )
    assert load_stories(file) == (Story("7", "", "", "", "昔々"), Story("b", "題", "", "", "今"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "昔々"}', "id: is missing"),
        ('{"id": true, "text": "昔々"}', "id: is neither"),
        ('{"id": " ", "text": "昔々"}', "id: is neither"),
        ('{"id": "b"}', "text: is missing"),
        ('{"id": "b", "text": 5}', "text: is no string"),
        ('{"id": "b", "text": " \\n"}', "text: is blank"),
        ('{"id": "b", "text": "昔々", "title": 5}', "title: is no string"),
        ('{"id": "a", "text": "昔々"}', "the id 'a' comes twice"),
    ],
)
def test_a_bad_story_is_named_in_one_line(line: str, message: str, tmp_path: Path) -> None:
    file = write(tmp_path / "s.jsonl", {"id": "a", "text": "昔々"}, "", line)
    with pytest.raises(UserError, match=message) as error:
        load_stories(file)
    assert str(error.value).startswith(f"{file}, line 3: ")
    assert "\n" not in str(error.value)


def test_no_file_and_no_story(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        load_stories(tmp_path / "x.jsonl")
    with pytest.raises(UserError, match="not a file"):
        load_stories(tmp_path)
    with pytest.raises(UserError, match="holds no stories"):
        load_stories(write(tmp_path / "s.jsonl", ""))


# Rewrites

ROWS = (
    Rewrite("a-0", "a", "令和の\n話", "m", 3, 1.0, "stop", 0.25, None, 4, False, (), 0.0),
    Rewrite("a-1", "a", "", "m", reason="empty", length=0, one_line=True, extras=("note",), copied=None),
)


def test_rewrites_round_trip(tmp_path: Path) -> None:
    write_rewrites(tmp_path / "r.jsonl", ROWS)
    assert read_rewrites(tmp_path / "r.jsonl") == ROWS
    write_rewrites(tmp_path / "odd.jsonl", [Rewrite("a", "a", "犬\ud800\u2028\r\x00終")])
    assert read_rewrites(tmp_path / "odd.jsonl")[0].text == "犬\\ud800\u2028\r\x00終"


def test_others_rewrites_need_story_and_text_only(tmp_path: Path) -> None:
    file = write(tmp_path / "theirs.jsonl", *[{"story_id": s, "text": s, "model": "x"} for s in ("a", "b", "a")])
    rows = read_rewrites(file, {"a", "b"})
    assert [(row.id, row.story_id, row.source) for row in rows] == [
        ("a-0", "a", "theirs.jsonl"),
        ("b-0", "b", "theirs.jsonl"),
        ("a-1", "a", "theirs.jsonl"),
    ]
    assert read_rewrites(file, source="GPT-4o")[0].source == "GPT-4o"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "x"}, "story_id: is missing"),
        ({"story_id": "c", "text": "x"}, "there is no story 'c'"),
        ({"story_id": "a"}, "text: is missing"),
        ({"story_id": "a", "text": None}, "text: is missing"),
        ({"story_id": "a", "text": "x", "id": "1"}, "the id '1' comes twice"),
        ({"story_id": "a", "text": "x", "score": 2.5}, "score: Input should be less than or equal to 2"),
        ({"story_id": "a", "text": "x", "score": float("nan")}, "not JSON .NaN is no number of JSON"),
        ({"story_id": "a", "text": "x", "score": 10**400}, "score: Input should be a valid number"),
        ({"story_id": "a", "text": "x", "score": True}, "score: Input should be a valid number"),
        ({"story_id": "a", "text": "x", "reason": "because"}, "the reason 'because' is none"),
        ({"story_id": "a", "text": "x", "reason": "empty", "score": 1}, "stands beside a score"),
        ({"story_id": "a", "text": "x", "extras": "note"}, "extras: Input should be a valid list"),
        ({"story_id": "a", "text": "x", "one_line": 1}, "one_line: Input should be a valid boolean"),
        ({"story_id": "a", "text": "x", "seed": 1.5}, "seed: Input should be a valid integer"),
        ({"story_id": "a", "text": "x", "schema": 2}, "row of schema version 2; this sozo reads 1"),
    ],
)
def test_a_bad_rewrite_is_named_in_one_line(row: dict[str, object], message: str, tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", {"id": "1", "story_id": "a", "text": "昔々"}, row)
    with pytest.raises(UserError, match=message) as error:
        read_rewrites(file, {"a", "b"})
    assert str(error.value).startswith(f"{file}, line 2: ")
    assert "\n" not in str(error.value)


def test_no_rewrites(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no rewrites"):
        read_rewrites(write(tmp_path / "r.jsonl"))
