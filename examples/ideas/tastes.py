"""Two experts who are rules, as judges: one likes ideas for the home, the other ideas for work. Nobody rated anything.

They are asked as any judge is (`pbig-v1`, `pbig-all-v1`) and read the idea from the prompt;
`sozo.rewards.make_idea_reward` and the task `pbig` do not know that they are rules.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from ideas.grammar import SLOTS
from sozo.data.rubrics import load_rubric
from sozo.rewards.ideas import IdeaReward
from sozo.scoring.judges.endpoint import LocalJudge

CRITERIA = load_rubric("pbig").criteria
# Of each slot the words that an expert likes: ten of forty, and no word is liked by both.
LIKES = {
    name: tuple(frozenset(words[10 * k : 10 * k + 10]) for words in SLOTS) for k, name in enumerate(("home", "work"))
}
_FIELDS = ("Product idea", "Description", "Implementation", "Differentiation")


def rate(taste: str, words: Sequence[str]) -> dict[str, int]:
    """What the expert with this taste gives the idea of these four words (product, user, method, need).

    >>> rate("home", ["枕", "親", "折り紙", "遊べる"])["innovativeness"], rate("work", ["枕"] * 4)["innovativeness"]
    (5, 1)
    """
    product, user, method, need = (word in liked for word, liked in zip(words, LIKES[taste], strict=True))
    mine, other = ("b2c", "b2b") if taste == "home" else ("b2b", "b2c")
    return {
        "specificity": 4,
        "technical_validity": 3,
        "innovativeness": 1 + 2 * product + 2 * method,
        "competitive_advantage": 1 + 2 * method + need,
        f"need_validity_{mine}": 1 + user + need,
        f"market_size_{mine}": 1 + user + product,
        f"need_validity_{other}": 1,
        f"market_size_{other}": 1,
    }


def reply(taste: str, prompt: str) -> str:
    """The judge's reply to a prompt by one criterion or by all."""
    asked = prompt.rpartition("# Input\n")[2]
    found = [re.search(rf"^{name}: (.*)$", asked, re.MULTILINE) for name in _FIELDS]
    scores = rate(taste, [match[1] if match else "" for match in found])
    if one := next((c for c in CRITERIA if f"# Instruction\nCriterion: {c.title}\n" in prompt), None):
        return json.dumps({"score": scores[one.name], "reason": f"{taste}: by the rule", "confidence": 100})
    return json.dumps({criterion.name: scores[criterion.name] for criterion in CRITERIA})


def judge(taste: str) -> LocalJudge:
    """The expert with this taste as a judge."""
    if taste not in LIKES:
        raise ValueError(f"there is no taste {taste}; there are {', '.join(LIKES)}")
    return LocalJudge(f"taste-{taste}", lambda prompts: [reply(taste, prompt) for prompt in prompts], batch_size=64)


def make_taste_reward(taste: str, **options: Any) -> IdeaReward:
    """`sozo.rewards.make_idea_reward` by this expert."""
    return IdeaReward(judge=judge(taste), **options)
