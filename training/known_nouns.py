"""The nouns that a model's tokenizer spells with the fewest tokens.

Training on DAT teaches which nouns to write and how a list looks, and hardly how a noun is spelled: a small model that
is shown lists of nouns that it does not know makes up words.
"""

from collections import Counter
from typing import Any

from sozo.data.english import dictionary
from sozo.data.errors import UserError
from sozo.scoring.languages import read_nouns
from sozo.scoring.nouns import make_noun_checker
from sozo.scoring.parse import NUM_WORDS, script_reason
from sozo.training.word_targets import spellings_of

# Of each language the noun checker that needs no program.
_CHECKERS = {"ja": "jumandic", "en": "lemminflect"}


def checked_nouns(language: str) -> list[str]:
    """The nouns of a language's dictionary that pass DAT's rules."""
    words = read_nouns(None, language)
    words = [word for word in words if script_reason(word, language) is None]
    verdicts = make_noun_checker(_CHECKERS[language]).check(words)
    return [word for word, one in zip(words, verdicts, strict=True) if one.is_noun]


def frequent_nouns(tokenizer: Any, language: str, most: int) -> list[str]:
    """At most so many of a language's nouns, sorted: those that a list spells with the fewest tokens.

    Of as many tokens come first those whose rarest one has the lowest number, since a tokenizer learned its frequent
    words first. Of English nouns only those that are no other part of speech: what leaks from them to their neighbours
    is mostly a noun, too. Nouns with unknown characters, and such as are spelled alike, are left out. A UserError where
    fewer than a list's ten are left.
    """
    nouns = checked_nouns(language)
    if language == "en":
        others = set().union(*(dictionary()[pos] for pos in ("verb", "adj", "adv")))
        nouns = [noun for noun in nouns if noun not in others]
    spellings = list(spellings_of(tokenizer, nouns))
    times = Counter(spellings)
    ranked = sorted(
        (len(tokens), max(tokens), noun)
        for noun, tokens in zip(nouns, spellings, strict=True)
        if tokens and times[tokens] == 1 and tokenizer.unk_token_id not in tokens
    )
    if len(ranked) < NUM_WORDS:
        raise UserError(
            f"the model's tokenizer can spell {len(ranked)} of {len(nouns):,} nouns of {language}, and a list has"
            f" {NUM_WORDS}; give a model of this language"
        )
    return sorted(noun for *_, noun in ranked[:most])
