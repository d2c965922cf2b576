"""A hundred thousand nasty texts through the real scorer: each gets a score or a reason."""

import random
from collections import Counter

import numpy as np
import pytest

from fakes import list_text
from sozo.data.schema import Reason
from sozo.tasks.dat.scorer import DatScorer

SCRAPS = [
    *["", " ", "\n", "\r\n", "\t", "\u3000", "\u2028", "\x00", "\x1b[31m", "\u200b", "\u200f", "\ufeff", "\ud800"],
    *["<think>", "</think>", "1. ", "10. ", "１. ", "```", "**", "# ", "EOS", "@ ", "\\", '"', "'", "{}", "%s"],
    *["😀", "👨\u200d👩\u200d👧", "🇯🇵", "。", "、", "！", "①", "〇", "々", "ー", "ゝ", "ﾞ", "が\u3099", "葛\U000e0100"],
    *["dog", "Ｔシャツ", "123", "사과", "苹果", "电脑", "𠮟", "𪚲", "\U0002fffe"],
    *["走る", "とても", "お茶", "東京", "が"],
]


def nasty_text(rng, nouns):
    """Mostly a list of ten nouns with some mutations; sometimes only noise."""
    if rng.random() < 0.1:
        return "".join(rng.choices(SCRAPS, k=rng.randrange(30)))
    words = rng.sample(nouns, 10)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
        position = rng.randrange(10)
        words[position] = rng.choice(
            [
                rng.choice(SCRAPS),
                words[position] + rng.choice(SCRAPS),
                rng.choice(words),
                rng.choice(nouns) + rng.choice(nouns),
                chr(rng.randrange(0x110000)),
                words[position] * rng.randrange(1, 60),
            ]
        )
    text = list_text(words)
    if rng.random() < 0.3:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(SCRAPS) + text[at + rng.randrange(3) :]
    if rng.random() < 0.1:
        text = rng.choice(["<think>", "<think></think>", "はい。\n", "\n "]) + text
    return text


@pytest.mark.slow
def test_every_text_gets_a_score_or_a_reason(jumandic_checker, ginza, nouns):
    rng = random.Random(0)
    scorer = DatScorer(jumandic_checker, ginza)
    seen = Counter()
    for _ in range(10):
        texts = [nasty_text(rng, nouns) for _ in range(12_000)]
        scores = scorer.score(texts)
        valid = scores.codes == 0
        np.testing.assert_array_equal(np.isfinite(scores.scores), valid)
        assert (scores.scores[valid] >= 0).all()
        assert (scores.scores[valid] <= 2).all()
        for text, result, key in zip(texts, scores, scores.keys, strict=True):
            assert (result.score is None) == (result.reason is not None) == (key is None), text
            assert (result.words is None) == (result.reason is Reason.FORMAT), text
        seen.update(result.reason for result in scores)
    assert sum(seen.values()) == 120_000
    # The generator reaches every rule, and every rule lets some text pass.
    assert min(seen[reason] for reason in (None, *Reason)) > 100
