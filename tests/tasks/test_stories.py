"""The packaged stories as the paper describes its own, and one-line errors for anybody's file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sozo.data.errors import UserError
from sozo.tasks.sat.stories import Story, load_stories


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
        assert all(
            part.isalnum() and part.isascii() and part == part.lower()
            for part in story.id.split("-")
        ), story.id


def test_no_story_repeats_another() -> None:
    seen = Counter(
        gram
        for s in load_stories()
        for gram in {s.text[i : i + 14] for i in range(len(s.text) - 13)}
    )
    assert [gram for gram, n in seen.items() if n > 1] == []


def write(path: Path, *lines: object) -> Path:
    path.write_text(
        "".join(
            f"{x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)}\n"
            for x in lines
        ),
        "utf-8",
    )
    return path


def test_a_file_of_ones_own_needs_id_and_text_only(tmp_path: Path) -> None:
    file = write(
        tmp_path / "s.jsonl",
        {"id": 7, "text": "昔々", "more": []},
        "",
        {"id": "b", "text": "今", "title": "題"},
    )
    assert load_stories(file) == (
        Story("7", "", "", "", "昔々"),
        Story("b", "題", "", "", "今"),
    )


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
def test_a_bad_story_is_named_in_one_line(
    line: str, message: str, tmp_path: Path
) -> None:
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
