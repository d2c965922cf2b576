"""English nouns with their lemmas, of the PyPI package lemminflect (SPECIALIST Lexicon), and those of random lists."""

import csv
import gzip
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


@cache
def noun_lemmas() -> dict[str, str]:
    """Every noun in lower case, singular or plural, with its lemma; a plural of several nouns has the first.

    Names begin with a capital in the dictionary and are left out; so are function words.

    >>> lemmas = noun_lemmas()
    >>> lemmas["mice"], lemmas["scissors"], "london" in lemmas, "the" in lemmas
    ('mouse', 'scissors', False, False)
    """
    require("lemminflect", "English nouns")
    function = frozenset(_FUNCTION.split())
    path = Path(str(distribution("lemminflect").locate_file("lemminflect/resources/lemma_lu.csv.gz")))
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [(word, own.split("/")) for word, pos, own in csv.reader(file) if pos == "noun" and word.islower()]
    return {word: word if word in own else own[0] for word, own in rows if word not in function}


@cache
def english_nouns() -> tuple[str, ...]:
    """The singular nouns of three letters or more, without hyphens, sorted: those of random lists.

    >>> len(english_nouns()), "umbrella" in english_nouns(), "umbrellas" in english_nouns()
    (18125, True, False)
    """
    lemmas = noun_lemmas()
    alone = (word for word, lemma in lemmas.items() if word == lemma and word.isascii() and word.isalpha())
    return tuple(sorted(word for word in alone if len(word) > 2))
