"""Story Alteration Task (paper, section 3.3 and appendix C): rewrites of stories, scored, judged and compared."""

from rewards.tasks.sat.score import SatScorer
from rewards.tasks.sat.summary import SatSummary, story_scores, summarise

__all__ = ["SatScorer", "SatSummary", "story_scores", "summarise"]
