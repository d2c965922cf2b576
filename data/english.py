"""English nouns with their lemmas, of the PyPI package lemminflect (SPECIALIST Lexicon), and those of random lists."""

import csv
import gzip
import re
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from sozo.data.errors import require

# Words that others hang on; the dictionary knows most of them as nouns too (the ins and outs).
_FUNCTION = """
a am an and are as at be but by can do down for from go has have he her him his how i if in is it its may me more most
must my no none nor not nothing now of off on once one or other others our out over own she should so some still such
than that the their them then there they this those though to too two under until up us very was we well were what when
where while who why will with would yes you your
"""
FUNCTION = frozenset(_FUNCTION.split())


@cache
def dictionary() -> dict[str, dict[str, list[str]]]:
    """Part of speech (noun, verb, adj, adv, aux) -> word, in any form -> its lemmas."""
    require("lemminflect", "the dictionary of English nouns")
    path = Path(
        str(
            distribution("lemminflect").locate_file(
                "lemminflect/resources/lemma_lu.csv.gz"
            )
        )
    )
    words: dict[str, dict[str, list[str]]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for word, pos, lemmas in csv.reader(file):
            words.setdefault(pos, {})[word] = lemmas.split("/")
    return words


@cache
def noun_lemmas() -> dict[str, str]:
    """Every noun in lower case, singular or plural, with its lemma; a plural of several nouns has the first.

    Names begin with a capital in the dictionary and are left out; so are function words.

    >>> lemmas = noun_lemmas()
    >>> lemmas["mice"], lemmas["scissors"], "london" in lemmas, "the" in lemmas
    ('mouse', 'scissors', False, False)
    """
    nouns = {
        word: own
        for word, own in dictionary()["noun"].items()
        if word.islower() and word not in FUNCTION
    }
    return {word: word if word in own else own[0] for word, own in nouns.items()}


@cache
def newer_noun_lemmas() -> dict[str, str]:
    """Nouns in lower case, singular or plural, with their lemmas, of SCOWL's dictionary (PyPI package spylls, 2020).

    It says of a word which endings it takes: 's (M) makes a noun of it, and -s (S) the plural.

    >>> [newer_noun_lemmas().get(word) for word in ("selfies", "app", "beautiful")]
    ['selfie', 'app', None]
    """
    require("spylls", "the dictionary of newer English nouns")
    path = Path(
        str(distribution("spylls").locate_file("spylls/hunspell/data/en/en_US.dic"))
    )
    lemmas = {}
    for word, _, endings in (
        line.partition("/") for line in path.read_text("utf-8").split()
    ):
        if word.islower() and "M" in endings and word not in FUNCTION:
            stem = re.sub("(?<![aeiou])y$", "ie", word)
            lemmas[word] = lemmas[
                stem + ("es" if word[-1] in "sxzh" else "s") * ("S" in endings)
            ] = word
    return lemmas


@cache
def english_nouns() -> tuple[str, ...]:
    """The singular nouns of three letters or more, without hyphens, sorted: those of random lists.

    >>> len(english_nouns()), "umbrella" in english_nouns(), "umbrellas" in english_nouns()
    (18163, True, False)
    """
    alone = (
        word
        for word, lemma in noun_lemmas().items()
        if word == lemma and word.isascii() and word.isalpha()
    )
    return tuple(sorted(word for word in alone if len(word) > 2))
