"""What can be set about agreement, and about judges that stand for experts."""

from dataclasses import dataclass

from sozo.data.settings import Checked, setting


@dataclass(frozen=True)
class ExpertSettings(Checked):
    """How often a judge is asked, of which ratings, and how the votes are counted."""

    judge_seeds: int = setting(
        3, "Votes of the judge on every rating, each with a seed of its own.", least=1
    )
    judge_temperature: float = setting(
        0.7, "Of the judge; it is asked with top_p 0.8 too.", least=0
    )
    min_confidence: int = setting(
        80,
        "Votes below this do not count; another value asks nobody again.",
        affects_result=False,
    )
    max_ratings: int | None = setting(
        None, "Predict so many ratings only, alike of each expert and criterion."
    )
    level: str = setting(
        "ordinal",
        "Of measurement: nominal, ordinal, interval or ratio.",
        affects_result=False,
    )
    least: int = setting(
        10, "Answers that alpha of people needs, or of an expert.", affects_result=False
    )
    reasons_embedding_model: str | None = setting(
        None,
        "Encoder of the judge's reasons, such as ja-ginza: are they alike where experts agree?",
        affects_result=False,
    )
