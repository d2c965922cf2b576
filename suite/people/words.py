"""One's own ten words: their score, how many random lists are below it, and what each word has to do with it."""

import csv
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sozo.data.errors import UserError
from sozo.data.foreign import LONGEST_WORD, MOST_OF_A_LIST, brief
from sozo.data.schema import Reason
from sozo.data.sheet import KINDS, decoded
from sozo.eval.terminal import print_lines
from sozo.scoring.distance import distance_to_others, paired_distance
from sozo.scoring.embeddings import Encoder
from sozo.scoring.parse import JAPANESE, NUM_WORDS
from sozo.suite.people.lists import TEXTS, people_words, seven_of_ten
from sozo.tasks import Dat
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.words import COUNTED, REASONS

RANDOM_LISTS = Path(__file__).with_name("random_lists.csv")
_TABLE = "a table of many lists: sozo people FILE"
_STDIN = "-"


@dataclass(frozen=True, slots=True)
class OwnList:
    """Ten words at most, scored."""

    first_seven: float | None  # score by people's rule
    all_ten: float | None
    valid: Sequence[tuple[str, float]]  # words with their mean distance to the others
    nearest: tuple[str, str, float] | None  # the two that are least apart
    refused: Sequence[tuple[str, Reason]]


def words(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD",
            help="Ten words, or a text file; without, standard input.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="The rule for models: all ten words are nouns of the paper's checker.",
        ),
    ] = False,
    language: Annotated[
        str | None,
        typer.Option(help="ja or en (default: ja if a letter is Japanese)."),
    ] = None,
) -> None:
    """The score of your own ten words: sozo words 犬 法律 台風 ...

    Numbers, commas and line breaks between them do not matter. Nothing is kept, and nothing leaves this machine.
    """
    text = read_words(words or [])
    language = language or language_of(text)
    task = Dat(DatSettings(language=language))
    task = task if strict else task.for_people()
    found = people_words(text, language)
    scorer = task.scorer
    scored = score_words(found[:NUM_WORDS], scorer)
    print_lines(lines(scored, scorer, strict=strict))
    if len(found) > NUM_WORDS:
        print_lines([f"{len(found)} words: the first ten count; {_TABLE}"])
    if (scored.all_ten if strict else scored.first_seven) is None:
        needed = "--strict needs ten" if strict else "a score needs seven"
        valid, of = len(scored.valid), min(len(found), NUM_WORDS)
        raise UserError(f"{valid} of {of} words are valid; {needed}")


def score_words(words: Sequence[str], scorer: DatScorer) -> OwnList:
    """Ten words at most by people's rule, and all ten if each is valid."""
    (score,), numbers, bad = seven_of_ten([words], scorer)
    judged = list(zip(words, bad[0].tolist(), strict=False))
    valid = [word for word, code in judged if not code]
    rows = scorer.words.rows[numbers[bad == 0]]
    distances, nearest = [np.nan] * len(valid), None
    if len(valid) > 1:
        unit = scorer.vectors.matrix
        distances = distance_to_others(unit, rows[None])[0].tolist()
        left, right = np.triu_indices(len(valid), 1)
        apart = paired_distance(unit, rows[left], rows[right])
        k = int(apart.argmin())
        nearest = valid[left[k]], valid[right[k]], float(apart[k])
    ten = len(valid) == NUM_WORDS
    return OwnList(
        None if np.isnan(score) else float(score),
        float(scorer.distances(numbers)[0]) if ten else None,
        list(zip(valid, distances, strict=True)),
        nearest,
        [(word, REASONS[-1 - code]) for word, code in judged if code],
    )


def lines(scored: OwnList, scorer: DatScorer, *, strict: bool) -> Iterator[str]:
    """What is printed of a list."""
    encoder = scorer.vectors.encoder
    names = {"checker": scorer.checker.name, "encoder": encoder.name}
    scores = {
        COUNTED: None if strict else scored.first_seven,
        NUM_WORDS: scored.all_ten,
    }
    for n, score in scores.items():
        if score is not None:
            below = below_it(score, encoder, n)
            among = "" if below is None else f"; {below:.0f}% of random lists are below"
            yield f"{score:.3f}  {TEXTS['counted'][n]}{among}"
    if scored.first_seven is not None:
        yield TEXTS["no_norms"].format(**names)
    if scored.nearest:
        yield "Mean distance to the others:"
        yield from (f"{distance:.3f}  {word}" for word, distance in scored.valid)
        one, other, distance = scored.nearest
        yield f"Nearest pair: {one}, {other} ({distance:.3f})"
    for word, reason in scored.refused:
        why = TEXTS["refused"][str(reason)].format(**names)
        yield f"Refused: {brief(word, LONGEST_WORD)}: {why}"
    if strict and Reason.NOT_NOUN in dict(scored.refused).values():
        yield TEXTS["strict"].format(**names)


def column(encoder: Encoder, n: int) -> str:
    """What a column of the quantiles of random lists is called, by the encoder and the number of words."""
    return f"{encoder.name} {encoder.revision}, {n} words"


def below_it(score: float, encoder: Encoder, n: int) -> float | None:
    """The percent of random lists of n words that are below a score; None of an encoder without quantiles."""
    with RANDOM_LISTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    name = column(encoder, n)
    if name not in rows[0]:
        return None
    quantiles = [float(row[name]) for row in rows]
    return float(np.interp(score, quantiles, [float(row["percent"]) for row in rows]))


def language_of(text: str) -> str:
    """Japanese if any of its letters is, else English."""
    return "ja" if re.search(f"[{JAPANESE}]", text) else "en"


def read_words(words: Sequence[str]) -> str:
    """The text that holds the words: what stands on the command line, in a file, or comes by standard input."""
    if not words and sys.stdin.isatty():
        raise UserError("give ten words, such as: sozo words 犬 法律 台風 ...")
    name, *more = words or [_STDIN]
    if more or not (name == _STDIN or _is_file(name)):
        # A space within an argument is no end of a word.
        between = "\n" if any(len(word.split()) > 1 for word in words) else " "
        text = between.join(words)
        _check_length("the command line", text.encode("utf-8", "replace"))
        return text
    if name == _STDIN:
        name = "standard input"
        content = sys.stdin.buffer.read(MOST_OF_A_LIST + 1)
    elif name.lower().endswith(KINDS):
        raise UserError(f"{name}: is {_TABLE}")
    else:
        with Path(name).open("rb") as file:
            content = file.read(MOST_OF_A_LIST + 1)
    _check_length(name, content)
    text, _ = decoded(Path(name), content, "save it as UTF-8")
    return text


def _is_file(name: str) -> bool:
    with suppress(OSError):  # words may be longer than a name
        if Path(name).is_file():
            return True
    if name.lower().endswith((".txt", *KINDS)):
        raise UserError(f"{name}: no such file; give ten words, or a file of them")
    return False


def _check_length(name: str, content: bytes) -> None:
    if len(content) > MOST_OF_A_LIST:
        raise UserError(f"{name}: is too long for ten words; {_TABLE}")
