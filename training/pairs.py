"""Rules by which DPO's pairs are made: which answers to one prompt are chosen, and which are rejected."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.training.ranking import Ranked, Selected

MATCHED = "matched"
# A sorted table of one prompt's answers, the pairs it gives, the generator: rows of both, in order, shape (pairs,).
Rule = Callable[[Any, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Pairs:
    """As many chosen as rejected answers; pair i is the i-th of both, which answer the same prompt."""

    chosen: Selected
    rejected: Selected


def best_and_worst(table: Any, pairs: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The best against the worst, paired at random: the paper's rule."""
    return np.arange(pairs), len(table) - 1 - random.permutation(pairs)


def rare_and_common(table: Any, pairs: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The rarest of the better half against the commonest of the worse half: DivPO's rule (Lanchantin et al., 2025)."""
    rarity = rarities(table["text"].to_pylist())
    better, worse = len(table) // 2, (len(table) + 1) // 2
    rare = np.argsort(-rarity[:better], kind="stable")[:pairs]
    common = worse + np.argsort(rarity[worse:], kind="stable")[:pairs]
    return np.sort(rare), random.permutation(common)


def matched(ranked: Ranked, pairs: int, random: np.random.Generator) -> Pairs:
    """The best against the very words of the best, each in its place, put together badly.

    No word is then learned to be good: each stands equally often on both sides. What is left is how they are combined.
    """
    if len(ranked.tables) > 1:
        raise UserError(f"{ranked.where} answers several prompts; pairs {MATCHED} needs answers to one")
    chosen = ranked.take([np.arange(share) for share in ranked.shares(pairs, "num_pairs")])
    texts, scores = ranked.runs[0].dealt(chosen.texts, random)
    return Pairs(chosen, replace(chosen, ids=[f"dealt-{k}" for k in range(pairs)], texts=texts, scores=scores))


def rarities(texts: list[str]) -> np.ndarray:
    """Mean of -log frequency over a text's different words, as white space parts them: nats, shape (texts,).

    >>> rarities(["1. 犬 2. 猫", "1. 犬 2. 象"]).round(2).tolist()
    [1.56, 1.56]
    """
    words = [set(text.split()) for text in texts]
    counts = Counter(word for one in words for word in one)
    logs = {word: np.log(count) for word, count in counts.items()}
    total = np.log(counts.total())
    return np.array([total - np.mean([logs[word] for word in one]) if one else 0.0 for one in words])


RULES: dict[str, Rule] = {"paper": best_and_worst, "valid": best_and_worst, "divpo": rare_and_common}
