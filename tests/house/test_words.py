"""One word a thing: what was called otherwise before is called so nowhere in the product, its pages and its recipes."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
        r"subject_id|Open-Ended Response|`response\.(?:body|candidates)|id. Response ID"
    )
}
FILES = re.compile(
    r"(?:data|scoring|tasks|suite|rewards|models|training|eval|studies|recipes|docs)/.*\.(?:py|md|yaml|html|js)$|README.*\.md$|CONTRIBUTING\.md$"
)
NOT_OURS = re.compile(
    r"data/(?:prompts|rubrics|published)/|people\.yaml$|docs/iframe|answer_columns"
)


def listed():
    """The names of all files of a git checkout."""
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return [name for name in files.stdout.splitlines() if (ROOT / name).is_file()]


def lines():
    """(file, line number, line) of all that is ours."""
    for name in listed():
        if not FILES.match(name) or NOT_OURS.search(name):
            continue
        text = (ROOT / name).read_text("utf-8")
        for number, line in enumerate(text.splitlines(), 1):
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


# A word of code -> the annotation of what alone is called so, in the whole package; none: nothing is. These mean much,
# so that each came to mean something else in every room.
ONE_MEANING = {
    "of": r"int( \| None)?",  # the N of "n of N"
    "shown": r"Place",  # where a column is shown
    "part": r"Path|TablePart",  # a part of an answer table
    "known": r"(Iterable|Sequence)\[str\]",  # the names that there are
    "settled": r"Self",  # settings in which nothing is open
    "own": None,
}
ROOMS = re.compile(
    r"(?:data|scoring|tasks|rewards|models|eval|suite|studies|training|recipes)/.*\.py$"
)


def named(tree):
    """(name, annotation, line) of each function, class, parameter and attribute; locals may be called anything."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node.returns, node.lineno
            case ast.ClassDef():
                yield node.name, None, node.lineno
                for field in node.body:
                    if isinstance(field, ast.AnnAssign):
                        yield ast.unparse(field.target), field.annotation, field.lineno
            case ast.arg():
                yield node.arg, node.annotation, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, None, node.lineno


def misnamed(source):
    """(name, line) of what is called by a word that means something else."""
    for name, annotation, line in named(ast.parse(source)):
        word = name.lstrip("_")
        if word in ONE_MEANING:
            meant = ONE_MEANING[word]
            said = ast.unparse(annotation) if annotation else ""
            if not (meant and re.fullmatch(meant, said)):
                yield name, line


@pytest.mark.studies  # looks at the whole repository
def test_a_word_of_code_means_one_thing():
    files = [name for name in listed() if ROOMS.match(name)]
    if not files:
        pytest.skip("not a git checkout")
    assert [
        f"{file}:{line}: {name}"
        for file in files
        for name, line in misnamed((ROOT / file).read_text("utf-8"))
    ] == []


def test_a_word_that_means_another_thing_is_seen():
    source = """
class Table:
    of: int | None = None
    shown: str = ""
    def __init__(self, own, known: Sequence[str]):
        of, own = own, 1
        self._settled = Event()
    def part(self) -> Any: ...
"""
    assert sorted(misnamed(source)) == [
        ("_settled", 7),
        ("own", 5),
        ("part", 8),
        ("shown", 4),
    ]
