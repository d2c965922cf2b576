"""From a judge's verdicts, one for each seed, to a prediction."""

from collections.abc import Sequence
from dataclasses import dataclass

from sozo.scoring.judges.criterion import Verdict

NO_VOTES, UNPARSEABLE, LOW_CONFIDENCE, TIE = "no_votes", "unparseable", "low_confidence", "tie"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A score, or the reason why there is none."""

    score: int | None
    reason: str | None
    kept: int  # votes that counted


def predict(votes: Sequence[Verdict | None], min_confidence: int) -> Prediction:
    """The median of the votes that are sure enough; of three it is the majority wherever there is one.

    `votes` has None where a reply could not be read, and nothing where none came. An even number whose two
    middle votes differ is a tie.

    >>> sure = [Verdict(score, "", 90) for score in (2, 4, 4)]
    >>> predict(sure, 80), predict([sure[0], sure[1], Verdict(4, "", 70)], 80).reason
    (Prediction(score=4, reason=None, kept=3), 'tie')
    """
    if not votes:
        return Prediction(None, NO_VOTES, 0)
    readable = [vote for vote in votes if vote is not None]
    kept = sorted(vote.score for vote in readable if vote.confidence >= min_confidence)
    if not kept:
        return Prediction(None, LOW_CONFIDENCE if readable else UNPARSEABLE, 0)
    low, high = kept[(len(kept) - 1) // 2], kept[len(kept) // 2]
    return Prediction(low, None, len(kept)) if low == high else Prediction(None, TIE, len(kept))
