"""What people's lists are worth, by people's rule and by the strict one, and their place among norms."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sozo.data.foreign import LONGEST_WORD
from sozo.data.schema import Reason
from sozo.scoring.parse import NUM_WORDS
from sozo.tasks.dat.scorer import DatScorer, first_seven
from sozo.tasks.dat.words import BITS, CODE, COUNTED, REASONS

if TYPE_CHECKING:
    import pandas as pd


def seven_of_ten(
    words: Sequence[Sequence[str]], scorer: DatScorer
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores by people's rule of lists of ten words at most (NaN without one), shape (lists,).

    And of each word its number, and 0 or the code of the reason why it does not count, both of shape (lists, 10).
    """
    # In one batch; below it is remembered
    scorer.words.look_up([word for own in words for word in own])
    # What was not written is no word
    numbers = np.full((len(words), NUM_WORDS), CODE[Reason.FORMAT], np.int32)
    for row, own in zip(numbers, words, strict=True):
        row[: len(own)] = scorer.words.look_up(list(own))
    bad = scorer.words.bad_words(numbers)
    chosen, codes = first_seven(numbers, bad)
    enough = codes == 0
    scores = np.full(len(words), np.nan)
    scores[enough] = scorer.distances(chosen[enough])
    return scores, numbers, bad


def score_written(lists: "pd.DataFrame", scorer: DatScorer) -> "pd.DataFrame":
    """What lists are worth, row by row: scores (NaN without one), reasons, the words that count, and the others.

    Scores are 0 to 2; where the scorer goes by Olson's protocol, times 100. The reason is `too_few_words` (fewer than
    seven were found) or `fewer_than_7_valid`. `attrs["refused"]` says which five words were refused most often.
    """
    words = [own[:NUM_WORDS] for own in lists["words"]]
    scores, numbers, bad = seven_of_ten(words, scorer)
    results = lists[["participant", "trial"]].assign(score=scores, reason="")
    enough = ~np.isnan(scores)
    short = np.array([len(own) < COUNTED for own in words])
    results.loc[~enough, "reason"] = np.where(
        short, "too_few_words", "fewer_than_7_valid"
    )[~enough]
    judged = [
        list(zip(own, codes.tolist(), strict=False))
        for own, codes in zip(words, bad, strict=True)
    ]
    comma = ", " if scorer.rules.language == "en" else "、"
    results["words"] = [
        comma.join([word for word, code in own if not code][:COUNTED]) for own in judged
    ]
    if "respelled" in scorer.words.kinds:
        flags = [
            scorer.words.flags[own[wrong == 0]]
            for own, wrong in zip(numbers, bad, strict=True)
        ]
        results["respelled"] = [
            np.count_nonzero(own & BITS["respelled"]) for own in flags
        ]
    results["refused"] = [
        comma.join(
            f"{word[:LONGEST_WORD]} ({REASONS[-1 - code]})"
            for word, code in own
            if code
        )
        for own in judged
    ]
    wrong = Counter(
        (word, code)
        for own in judged
        for word, code in own
        if code not in (0, CODE[Reason.REPEATED_WORD])
    )
    results.attrs["refused"] = [
        ("refused", {"word": word[:LONGEST_WORD], "why": REASONS[-1 - code], "n": n})
        for (word, code), n in wrong.most_common(5)
    ]
    codes = Counter(code for own in judged for _, code in own)
    results.attrs["repeated"] = codes[CODE[Reason.REPEATED_WORD]]
    results.attrs["no_vector"] = (
        codes[CODE[Reason.NO_VECTOR]] + codes[CODE[Reason.AMBIGUOUS]]
    )
    results.attrs["nouns"] = codes[0] + results.attrs["no_vector"]
    return results
