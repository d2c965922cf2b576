"""SIPeN's English items: built of stories and an annotation that holds none of their text."""

import hashlib
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from command_line import sozo
from sentences import refused
from sozo.suite.sipen.items import read_items
from sozo.suite.sipen.personabank import (
    KEEP,
    Candidate,
    PersonaStory,
    annotated_stories,
    build_items,
    scale_of,
    sentences,
)

ROOT = Path(__file__).parents[2]
MINI = {  # six stories written for this test, with what is kept of them
    "b1_birds.txt": ("It was spring. Many birds came! They ate.", [("Many", KEEP)]),
    "b2_soup.txt": (
        'She said "Wait." I had warm soup, a few rolls and 1 egg.',
        [("warm", KEEP), ("few", "idiom"), ("1", KEEP)],
    ),
    "b3_ten.txt": ("We saw ten ducks and 2 geese.", [("ten", KEEP), ("2", KEEP)]),
    "b4_all.txt": (
        "All of it fell. Not at all nice.",
        [("All", KEEP), ("all", "idiom")],
    ),
    "b5_none.txt": ("Nothing here.", []),
    "b6_few.txt": ("Is it cold? Few came.", [("cold", "question"), ("Few", KEEP)]),
}
EXPECTED = {
    "b1-15": [
        "Most birds came!",
        "All birds came!",
        "Some birds came!",
        "Few birds came!",
    ],
    "b2-23": ["I had hot soup, a few rolls and 1 egg."],
    "b2-50": [
        "I had warm soup, a few rolls and 2 egg.",
        "I had warm soup, a few rolls and 3 egg.",
    ],
    "b3-7": ["We saw nine ducks and 2 geese.", "We saw eight ducks and 2 geese."],
    "b3-21": [
        "We saw ten ducks and 3 geese.",
        "We saw ten ducks and 4 geese.",
        "We saw ten ducks and 1 geese.",
    ],
    "b4-0": ["Most of it fell.", "Many of it fell."],
    "b6-12": ["Some came.", "Many came."],
}


def mini_corpus(folder):
    stories = []
    for name, (text, marks) in MINI.items():
        (folder / name).write_text(text, "utf-8")
        places, at = [], 0
        for word, verdict in marks:
            at = text.index(word, at)
            places.append(Candidate(at, word, verdict))
        stories.append(
            PersonaStory(name, hashlib.sha256(text.encode()).hexdigest(), tuple(places))
        )
    return stories


def test_a_mini_corpus_gives_its_exact_items(tmp_path):
    items = build_items(tmp_path, mini_corpus(tmp_path))
    built = {}
    for item in items:
        built.setdefault(item.premise_id, []).append(item.hypothesis)
    assert built == EXPECTED
    contexts = {item.premise_id: item.context for item in items}
    assert contexts["b2-23"] == 'She said "Wait."'
    assert contexts["b1-15"] == "It was spring."
    assert contexts["b4-0"] == ""


def test_another_text_is_refused_by_name(tmp_path):
    stories = mini_corpus(tmp_path)
    (tmp_path / "b3_ten.txt").write_text("We saw ten ducks.", "utf-8")
    with refused("sipen: another story"):
        build_items(tmp_path, stories)
    (tmp_path / "b3_ten.txt").unlink()
    with refused("sipen: a story that is missing"):
        build_items(tmp_path, stories)


def test_the_annotation_is_whole_and_says_why():
    stories = annotated_stories()
    candidates = [candidate for story in stories for candidate in story.candidates]
    verdicts = Counter(candidate.verdict for candidate in candidates)
    assert (len(stories), len(candidates), verdicts[KEEP]) == (108, 710, 394)
    why_not = {
        "idiom",
        "not_noun_phrase",
        "question",
        "imperative",
        "name_or_date",
        "no_sentence",
        "other",
    }
    assert set(verdicts) == {KEEP, *why_not}
    assert all(scale_of(candidate.word) for candidate in candidates)
    assert all(
        " " not in candidate.word for candidate in candidates
    )  # single words: no text of a story
    assert all(re.fullmatch(r"[0-9a-f]{64}", story.sha256) for story in stories)


@pytest.fixture
def personabank():
    """The user's own copy: it is not, and must not be, in this repository."""
    if not (folder := os.environ.get("SOZO_PERSONABANK")):
        pytest.skip("SOZO_PERSONABANK names no clone of PersonaBank")
    return Path(folder)


def test_personabank_gives_the_printed_hypotheses_and_nearly_its_counts(
    personabank, tmp_path
):
    words = ("sipen-items", "--personabank", personabank, "--output", "items.jsonl")
    done = sozo(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    items = read_items(tmp_path / "items.jsonl")
    of_place = {
        (i.premise, i.expression, i.direction, i.steps): i.hypothesis for i in items
    }
    (premise,) = {item.premise for item in items if " many birds" in item.premise}
    printed = {  # the paper's Table 2, of which only what changes stands here
        ("stronger", 1): "most",
        ("stronger", 2): "all",
        ("weaker", 1): "some",
        ("weaker", 2): "few",
    }
    for place, other in printed.items():
        changed = premise.replace(" many birds", f" {other} birds")
        assert of_place[premise, "many", *place] == changed
    premises = Counter(
        {item.premise_id: item.expression.lower() for item in items}.values()
    )
    assert 0.95 * 387 <= premises.total() <= 1.05 * 387
    assert all(
        0.9 * n <= premises[word] <= 1.1 * n
        for word, n in {"all": 78, "some": 79, "one": 46}.items()
    )
    assert (
        premises["two"] == 25
    )  # the paper's 21 is not within 10%: suite/README.md says so


def test_sentences_keep_their_quotes_and_abbreviated_numbers():
    text = "At 6.30 we left!! 'Go.' she said... \"Now?\" Yes"
    assert [text[start:end] for start, end in sentences(text)] == [
        *("At 6.30 we left!!", "'Go.'", "she said...", '"Now?"', "Yes")
    ]
