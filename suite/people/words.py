"""One's own ten words: their score, how many random lists are below it, and what each word has to do with it."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sozo.data.errors import UserError
from sozo.data.foreign import LONGEST_WORD, MOST_OF_A_LIST, brief
from sozo.data.sheet import decoded
from sozo.eval.terminal import print_lines
from sozo.scoring.distance import distance_to_others, paired_distance
from sozo.scoring.embeddings import Encoder
from sozo.scoring.parse import NUM_WORDS
from sozo.suite.people.lists import TEXTS, people_words
from sozo.suite.people.messages import LANG, language_of, told_in
from sozo.suite.people.scores import seven_of_ten
from sozo.tasks import Dat
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.words import COUNTED, REASONS

# Of random lists the scores that 0%, 1%, ..., 100% are below; benchmarks/random_lists.py made them.
RANDOM_LISTS = Path(__file__).with_name("random_lists.json")
_TABLE = "a table of many lists: sozo people FILE"


def words(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD",
            help="Ten words; without, standard input.",
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(help="ja or en (default: ja if a letter is Japanese)."),
    ] = None,
    lang: Annotated[str | None, typer.Option(help=LANG)] = None,
) -> None:
    """The score of your own ten words, such as 犬 法律 台風.

    Numbers, commas and line breaks between them do not matter. Nothing is kept, and nothing leaves this machine.
    """
    with told_in(lang, " ".join(words or [])):
        text = read_words(words or [])
    with told_in(lang, text) as said:
        language = language or language_of(text)
        scorer = Dat(DatSettings(language=language)).for_people().scorer
        own = people_words(text, language)
        print_lines(map(said, described(own, scorer)))


def described(words: Sequence[str], scorer: DatScorer) -> Iterator[str]:
    """What is said of a list, line by line; a UserError behind the last line if it has no score."""
    (score,), numbers, bad = seven_of_ten([words[:NUM_WORDS]], scorer)
    judged = list(zip(words, bad[0].tolist(), strict=False))
    valid = [word for word, code in judged if not code]
    scores = {}
    if len(valid) >= COUNTED:
        scores[COUNTED] = score
    if len(valid) == NUM_WORDS:
        (scores[NUM_WORDS],) = scorer.distances(numbers)
    encoder = scorer.vectors.encoder
    names = {"checker": scorer.checker.name, "encoder": encoder.name}
    for n, score in scores.items():
        yield f"{score:.3f}  {TEXTS['counted'][n]}{among_random(score, encoder, n)}"
    if scores:
        yield TEXTS["no_norms"].format(**names)
    if len(valid) > 1:
        unit, rows = scorer.vectors.matrix, scorer.words.rows[numbers[bad == 0]]
        yield "Mean distance to the others:"
        (distances,) = distance_to_others(unit, rows[None])
        forms = getattr(encoder, "forms", lambda word: (word,))
        for word, distance in zip(valid, distances, strict=True):
            found = "+".join(forms(word))
            otherwise = "" if found == word else f" (looked up by {found})"
            yield f"{distance:.3f}  {word}{otherwise}"
        left, right = np.triu_indices(len(valid), 1)
        apart = paired_distance(unit, rows[left], rows[right])
        k = apart.argmin()
        yield f"Nearest pair: {valid[left[k]]}, {valid[right[k]]} ({apart[k]:.3f})"
    for word, code in judged:
        if code:
            why = TEXTS["refused"][REASONS[-1 - code]].format(**names)
            yield f"Refused: {brief(word, LONGEST_WORD)}: {why}"
    if len(words) > NUM_WORDS:
        yield f"{len(words)} words: the first ten count; {_TABLE}"
    if not scores:
        counts = f"{len(valid)} of {len(judged)} words are valid"
        raise UserError(f"{counts}; a score needs seven")


def column(encoder: Encoder, n: int) -> str:
    """What random lists are called in the file of their quantiles, by the encoder and the number of words."""
    return f"{encoder.name} {encoder.revision}, {n} words"


def among_random(score: float, encoder: Encoder, n: int) -> str:
    """How many random lists of n words are below a score; nothing of an encoder whose quantiles are not known."""
    quantiles = json.loads(RANDOM_LISTS.read_text("utf-8")).get(column(encoder, n))
    if quantiles is None:
        return ""
    below = np.interp(score, quantiles, range(len(quantiles)))
    return f"; {below:.0f}% of random lists are below"


def read_words(words: Sequence[str]) -> str:
    """The text that holds the words: what stands on the command line, or comes by standard input."""
    if not words and sys.stdin.isatty():
        raise UserError("give ten words, such as: sozo words 犬 法律 台風 ...")
    if words:
        # A space within an argument is no end of a word.
        between = "\n" if any(len(word.split()) > 1 for word in words) else " "
        return between.join(words).encode("utf-8", "replace").decode()
    content = sys.stdin.buffer.read(MOST_OF_A_LIST + 1)
    if len(content) > MOST_OF_A_LIST:
        raise UserError(f"standard input: is too long for ten words; {_TABLE}")
    return decoded(Path("standard input"), content, "save it as UTF-8")[0]
