"""The packaged stories as the paper describes its own, and one-line errors for anybody's file."""

import json
from collections import Counter

import pytest

from sentences import refused
from sozo.tasks.sat.stories import Story, load_stories


def test_113_stories_of_200_to_400_characters_in_one_line():
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


def test_no_story_repeats_another():
    seen = Counter(
        gram
        for s in load_stories()
        for gram in {s.text[i : i + 14] for i in range(len(s.text) - 13)}
    )
    assert [gram for gram, n in seen.items() if n > 1] == []


def write(path, *lines):
    path.write_text(
        "".join(
            f"{x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)}\n"
            for x in lines
        ),
        "utf-8",
    )
    return path


def test_a_file_of_ones_own_needs_id_and_text_only(tmp_path):
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
    ("said", "line"),
    {
        "stories: no id": '{"text": "昔々"}',
        "stories: a wrong id": '{"id": true, "text": "昔々"}',
        "stories: no text": '{"id": "b"}',
        "stories: a text that is a number": '{"id": "b", "text": 5}',
        "stories: a blank text": '{"id": "b", "text": " \\n"}',
        "stories: a wrong title": '{"id": "b", "text": "昔々", "title": 5}',
        "stories: an id comes twice": '{"id": "a", "text": "昔々"}',
    }.items(),
)
def test_a_bad_story_is_named(said, line, tmp_path):
    file = write(tmp_path / "s.jsonl", {"id": "a", "text": "昔々"}, "", line)
    with refused(said):
        load_stories(file)


def test_no_file_and_no_story(tmp_path):
    with refused("stories: no such file"):
        load_stories(tmp_path / "x.jsonl")
    with refused("stories: a folder"):
        load_stories(tmp_path)
    with refused("stories: none in a file"):
        load_stories(write(tmp_path / "s.jsonl", ""))
