"""What can be set about a DAT score: the same fields are flags, YAML and the keyword arguments of the reward."""

from dataclasses import dataclass, replace
from typing import Self

from data.settings import setting
from rewards.embeddings import DEFAULT_ENCODER
from rewards.nouns import NounRules, make_noun_checker


@dataclass(frozen=True)
class DatRules:
    """The protocol. The defaults are the paper's.

    With `olson` (Olson et al., 2021, English) words are in Latin letters, case folded; the first 7 valid ones of the 10
    count, times 100; a response with fewer is invalid for the reason of its first bad word.
    """

    reasoning: bool = setting(True, "Cut off a leading <think>...</think>.")
    repeated_by_representative: bool = setting(False, "Count りんご and 林檎 as one word, by 代表表記.")
    olson: bool = setting(False, "Olson et al. (2021), English: first 7 valid words, times 100.")


@dataclass(frozen=True)
class DatSettings(NounRules, DatRules):
    """Checker, encoder and rules: all that a DAT score depends on."""

    noun_checker: str = setting("auto", "auto, jumanpp or jumandic; auto takes jumanpp where the command is found.")
    embedding_model: str = setting(
        DEFAULT_ENCODER, "A sentence-transformers hub id or folder, openai:NAME, or ja-ginza (packaged)."
    )
    embedding_revision: str | None = setting(None, "Hub revision of the embedding model.")
    embedding_cache: str | None = setting(None, "Folder of a disk cache of word vectors.", decides=False)

    def settled(self) -> Self:
        """With `auto` decided. Cheap, and it catches an unknown or missing checker before a long file is read."""
        return replace(self, noun_checker=make_noun_checker(self.noun_checker, self).name)
