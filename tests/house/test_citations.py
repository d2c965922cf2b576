"""Every section and table that code and pages cite, held against the words that it rests on (data/citations.yaml).

The papers' texts are not in the repository. With SOZO_PAPERS, a folder of them as ACL.txt, NLP.txt, SIPeN.txt and
PBIG.txt, the words are looked up there too.
"""

import os
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.studies  # of the whole repository

ROOT = Path(__file__).parents[2]
CITED = yaml.safe_load((ROOT / "tests" / "files" / "citations.yaml").read_text("utf-8"))
ROOMS = (
    *("data", "scoring", "tasks", "rewards", "models", "training", "eval", "suite"),
    *("studies", "recipes", "docs", "benchmarks", "examples"),
)
# Whole files about the papers' tables, number by number, which tests recompute (test_published.py, published_check).
ABOUT_TABLES = ("data/published/README.md",)
# Of people's results, which have a Table 1 of their own.
OWN_TABLES = ("suite/people/people.yaml", "suite/people/result.py")
_CITATION = re.compile(
    r"\b(section|table|appendix)s?(?: |,\s)((?:[0-9A-C](?:[0-9]|\.(?=[0-9]))*)(?:(?:, | and | to |, and )[0-9][0-9.]*(?<!\.))*)\b",
    re.IGNORECASE,
)
_TABLE_OF_PAPER = re.compile(r"\((?:[^()|]*; )?(4\.1|5\.\d(?:\.\d)?)(?:; [^()|]*)?\)")
_NUMBER = re.compile(r"[0-9][0-9.]*(?<!\.)|\b[ABC]\b")


def citations():
    """(file, what it cites), such as ("tasks/dat/task.py", "section 3.2")."""
    files = [ROOT / "README.md", ROOT / "README_ja.md", ROOT / "CONTRIBUTING.md"]
    for room in ROOMS:
        for ending in ("py", "md", "yaml"):
            files += sorted((ROOT / room).rglob(f"*.{ending}"))
    found = set()
    for file in files:
        name = str(file.relative_to(ROOT))
        text = file.read_text("utf-8")
        if name in (*ABOUT_TABLES, *OWN_TABLES):
            continue
        for kind, numbers in _CITATION.findall(text):
            found |= {(name, f"{kind.lower()} {n}") for n in _NUMBER.findall(numbers)}
        if name == "docs/reproduce.md":  # its table gives sections by numbers alone
            found |= {(name, f"section {n}") for n in _TABLE_OF_PAPER.findall(text)}
    return found


def resting(paper=None):
    """(pattern of files, what is cited, the words), of one paper or of all."""
    for name, places in CITED.items():
        for place, by_words in places.items():
            for words, files in by_words.items():
                if paper in (None, name):
                    yield from ((file, place, words) for file in files.split())


def test_every_citation_has_the_words_that_it_rests_on():
    found = citations()
    assert len(found) > 100
    bare = {
        (file, place)
        for file, place in found
        if not any(
            place == cited and fnmatch(file, pattern) for pattern, cited, _ in resting()
        )
    }
    assert not bare, f"write the papers' words to {sorted(bare)} into citations.yaml"


@pytest.mark.skipif("SOZO_PAPERS" not in os.environ, reason="no papers' texts here")
@pytest.mark.parametrize("paper", ["ACL", "NLP", "SIPeN", "PBIG"])
def test_the_words_stand_in_the_papers(paper):
    text = Path(os.environ["SOZO_PAPERS"], f"{paper}.txt").read_text("utf-8")
    text = " ".join(text.split())
    missing = {words for _, _, words in resting(paper) if words not in text}
    assert not missing
