"""The noun checker `lemminflect`: English nouns by the dictionary of the PyPI package lemminflect."""

from collections.abc import Sequence

from sozo.data.english import newer_noun_lemmas, noun_lemmas
from sozo.scoring.nouns.rules import NounVerdict


class LemminflectChecker:
    """A word counts if the dictionary has it as a noun, perhaps among others: singular or plural, in any case.

    Names and function words do not count (`noun_lemmas`). The representative is the lemma, so that with
    `repeated_words: representative` cat and cats are one word. Called lemminflect-speakers it takes newer nouns too.

    >>> [verdict.is_noun for verdict in LemminflectChecker().check(["Umbrella", "mice", "london", "recieve", "the"])]
    [True, True, False, False, False]
    """

    def __init__(self, name: str = "lemminflect") -> None:
        self.name = name
        self._lemmas = (
            noun_lemmas()
            if name == "lemminflect"
            else newer_noun_lemmas() | noun_lemmas()
        )

    def check(self, words: Sequence[str]) -> list[NounVerdict]:
        """A verdict per word, in order."""
        lemmas = (self._lemmas.get(word.lower(), "") for word in words)
        return [NounVerdict(bool(lemma), representative=lemma) for lemma in lemmas]
