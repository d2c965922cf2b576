"""SIPeN's English items rebuilt from the user's own copy of PersonaBank (Lukin et al., 2016), which has no licence.

Of its stories sozo holds no text: `suite/sipen/personabank.jsonl` names each story's file with its SHA-256, and of each
expression that could stand for the paper's (the words of its scales, whole numbers in digits) the place, the word, and
`keep` or why not. It was annotated by sozo, by the paper's words alone, and not by its authors. What is kept stands in
a noun phrase of a sentence that is no question and no order, and is no idiom; a distance ("two weeks ago", "6 months
old") is no noun phrase here, nor is an adverb, a superlative or a predicate.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.jsonl import read_objects, write_records
from sozo.data.settings import setting
from sozo.suite.sipen.items import ENGLISH, Scale, SipenItem, hypotheses

KEEP = "keep"
ADDRESS = "https://github.com/slukin/nlds-PersonaBank"
_END = re.compile(r"[.!?]+[\"'”’)]*(?=\s|\Z)")


@dataclass(frozen=True)
class BuildSettings:
    """Where the stories are, and where the items go."""

    personabank: str | None = setting(
        None, f"A clone of {ADDRESS}, or its folder `original`."
    )
    output: str | None = setting(None, "The items, a JSONL file for --sipen-items.")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An expression of a scale in a story."""

    start: int  # its first character
    word: str
    verdict: str  # KEEP, idiom, not_noun_phrase, question, imperative, name_or_date, no_sentence or other


@dataclass(frozen=True, slots=True)
class PersonaStory:
    """What is known of a story without its text."""

    name: str  # of its file
    sha256: str
    candidates: tuple[Candidate, ...]


def annotated_stories() -> tuple[PersonaStory, ...]:
    """The annotation, story by story.

    >>> len(annotated_stories())
    108
    """
    with as_file(files(__package__).joinpath("personabank.jsonl")) as packaged:
        rows = [row for _, row in read_objects(packaged)]
    return tuple(
        PersonaStory(
            r["story"], r["sha256"], tuple(Candidate(*c) for c in r["candidates"])
        )
        for r in rows
    )


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends: it ends at . ! or ?, with closing quotes, before white space.

    >>> text = 'He said "Go!" It was 6.30 a.m. then...  We went'
    >>> [text[start:end] for start, end in sentences(text)]
    ['He said "Go!"', 'It was 6.30 a.m.', 'then...', 'We went']
    """
    start = 0
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        start += len(text[start:end]) - len(text[start:end].lstrip())
        if start < end:
            yield start, end
        start = end


def build_items(folder: Path, stories: Sequence[PersonaStory]) -> tuple[SipenItem, ...]:
    """The items of what is kept, in order; a story that is not word for word one of `stories` is refused."""
    folder = folder / "original" if (folder / "original").is_dir() else folder
    items: list[SipenItem] = []
    for story in stories:
        path = folder / story.name
        if not path.is_file():
            raise UserError(
                f"{path}: no such file; give a clone of {ADDRESS} as --personabank"
            )
        raw = path.read_bytes()
        if hashlib.sha256(raw).hexdigest() != story.sha256:
            raise UserError(
                f"{path}: is not the annotated story (its SHA-256 differs); take it from {ADDRESS}"
            )
        text = raw.decode("utf-8")
        places = list(sentences(text))
        for candidate in (
            candidate for candidate in story.candidates if candidate.verdict == KEEP
        ):
            premise, start, scale = _premise(text, places, story, candidate)
            items += hypotheses(premise, scale, start)
    return tuple(items)


def _premise(
    text: str,
    places: Sequence[tuple[int, int]],
    story: PersonaStory,
    candidate: Candidate,
) -> tuple[SipenItem, int, Scale]:
    """The premise as an item of no direction, where in it the expression stands, and the expression's scale."""
    number = next(k for k, (_, end) in enumerate(places) if candidate.start < end)
    start, end = places[number]
    scale = scale_of(candidate.word)
    context = " ".join(text[first:last] for first, last in places[:number])
    name = f"{story.name.partition('_')[0]}-{candidate.start}"
    premise = SipenItem(
        id=name,
        premise_id=name,
        premise=text[start:end],
        hypothesis=text[start:end],
        direction="",
        context=context,
        category=scale.category,
        scale=scale.name,
        expression=candidate.word,
        story=story.name,
    )
    return premise, candidate.start - start, scale


def scale_of(word: str) -> Scale:
    """The English scale of an expression.

    >>> scale_of("Some").name, scale_of("12").name
    ('all-most-many-some-few', 'n-2-1')
    """
    return next(
        s
        for s in ENGLISH
        if word.lower() in s.expressions or (not s.expressions and word.isdecimal())
    )


def sipen_items(settings: BuildSettings) -> list[str]:
    """SIPeN's English items, from your own copy of PersonaBank.

    Annotated by sozo, not by the authors.
    """
    if not settings.personabank or not settings.output:
        raise UserError(
            f"give --personabank, a clone of {ADDRESS}, and --output, the file to write"
        )
    output = Path(settings.output)
    if output.exists():
        raise UserError(f"{output}: exists; name another file")
    items = build_items(Path(settings.personabank), annotated_stories())
    write_records(output, items)
    premises = len({item.premise_id for item in items})
    annotated = "annotated by sozo, not by the paper's authors"
    return [
        f"{len(items):,} hypotheses about {premises:,} premises, {annotated}: suite/README.md",
        settings.output,
    ]
