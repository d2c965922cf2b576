"""One word a thing: what was called otherwise before is called so nowhere in the product, its pages and its recipes."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What a retired word was called -> the word. Where others speak (a server, another tool, a person's sheet, a published
# table) their words stay: by file below.
RETIRED = {
    r"\bunique[ _-]words?\b|\bequal_words\b": "different words",
    r"\bnum[_-]responses\b|\bresponses[_-]per[_-]item\b|\b[Rr]esponses?\b": "answer",
    r"\bnum[_-]valid\b|valid_rate|\b(?:in)?valid (?:lists?|answers?|rows?|share|rate)\b": "usable",
    r"\bmake_dat_validity\b": "make_dat_usable",
    r"mean_score\b|[Mm]ean DAT score": "score",
    r"\bdealt (?:anew|at random) among": "shuffled among",
    r"\b(?:jcq|sat|pbig|TASK)/whole\b|\banswers_whole\b": "complete",
    r"Why answers failed": "Why answers have no score",
}
# HTTP's responses, and names that other tools and people give.
THEIRS = {
    r"\b[Rr]esponses?\b": re.compile(
        r"httpx|http\.|starlette|JSONResponse|raw_headers|_fetch|_unpacked|_client\.|[Rr]esponse\.(?:status|headers|next|aclose|aiter)|"
        r"send_response|your\|response|"
        r"new Response|[\"'`]responses?[\"'`]|</?response>|getresponse|\w: Any\) -> bytes|return response|"
        r"subject_id|Open-Ended Response|`response\.body|id. Response ID"
    )
}
FILES = re.compile(
    r"(?:data|scoring|tasks|suite|rewards|models|training|eval|studies|recipes|docs)/.*\.(?:py|md|yaml|html|js)$|README.*\.md$|CONTRIBUTING\.md$"
)
NOT_OURS = re.compile(
    r"data/(?:prompts|rubrics|published)/|people\.yaml$|docs/iframe|answer_columns"
)


def lines():
    """(file, line number, line) of all that is ours."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if not FILES.match(name) or NOT_OURS.search(name) or not path.is_file():
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            yield f"{name}:{number}", line


def found(word, text):
    """Whether a line has the word where it is ours."""
    if not re.search(word, text):
        return False
    theirs = next((rule for part, rule in THEIRS.items() if part in word), None)
    return not (theirs and theirs.search(text))


@pytest.mark.studies  # looks at the whole repository
@pytest.mark.parametrize("word", RETIRED)
def test_a_retired_word_is_nowhere(word):
    everywhere = list(lines())
    if not everywhere:
        pytest.skip("not a git checkout")
    assert [place for place, text in everywhere if found(word, text)] == [], (
        f"the word is: {RETIRED[word]}"
    )


def test_a_retired_word_is_seen():
    assert found(next(iter(RETIRED)), "4,718 unique words")
    assert not found(list(RETIRED)[1], "response.status_code of a server")
