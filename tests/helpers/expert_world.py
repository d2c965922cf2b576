"""World W: nine experts, each with a taste and a strictness, and a judge who finds both out from examples."""

import json
import re
from itertools import product

import numpy as np

from sozo.scoring.judges.endpoint import LocalJudge
from sozo.studies.experts.histories import Plan
from sozo.studies.experts.rated import Rated
from sozo.studies.rubric import RatingRubric
from sozo.suite.rubrics import Criterion
from sozo.suite.rubrics.criterion import criterion_rubric

CRITERION = Criterion("worth", (1, 5), title="Worth")
RUBRIC = RatingRubric(name="world", criteria=(CRITERION,))
EXPERTS = tuple(product(range(3), (-1, 0, 1)))  # (feature, offset)
_IDEA = re.compile(r"heat (\d), noise (\d), price (\d)(?:\nScore: (\d))?")


def clip(score):
    return int(min(5, max(1, score)))


def world(seed, noise=0.0, experts=EXPERTS, ideas=40, each=30):
    """270 ratings of 40 ideas, each of a patent of its own."""
    rng = np.random.default_rng(seed)
    features = rng.integers(1, 6, (ideas, 3))
    ratings = []
    for number, (feature, offset) in enumerate(experts):
        for item in sorted(rng.choice(ideas, each, replace=False).tolist()):
            score = clip(features[item, feature] + offset)
            if rng.random() < noise:
                score = clip(score + rng.choice([-1, 1]))
            heat, loud, price = features[item]
            text = f"heat {heat}, noise {loud}, price {price}"
            ratings.append(
                Rated(f"r{number}", f"i{item}", f"p{item}", "d", "worth", score, text)
            )
    return ratings


def reply(prompt):
    """What the judge says: the first expert of least error on the examples, else the first feature as it is."""
    *examples, target = [
        tuple(int(x) for x in match if x) for match in _IDEA.findall(prompt)
    ]
    if not examples:
        feature, offset, confidence = 0, 0, 50
    else:
        errors = [sum(abs(clip(e[f] + b) - e[3]) for e in examples) for f, b in EXPERTS]
        feature, offset = EXPERTS[errors.index(min(errors))]
        explained = sum(clip(e[feature] + offset) == e[3] for e in examples)
        confidence = int(50 + 50 * explained / len(examples))
    return json.dumps(
        {
            "score": clip(target[feature] + offset),
            "reason": f"feature {feature}",
            "confidence": confidence,
        }
    )


def world_judge(seed=0, replies=reply, max_tokens=None):
    judge = LocalJudge(
        "w",
        lambda prompts: [replies(p) for p in prompts],
        parameters={"seed": seed},
        batch_size=64,
    )
    judge.max_tokens = max_tokens
    return judge


def predicted(ratings, condition):
    """What the judge says of every rating, without the machinery of asking."""
    rubric = criterion_rubric(CRITERION)
    asked = zip(
        ratings, Plan(ratings, RUBRIC, [condition]).asks(ratings, 0), strict=True
    )
    return {
        r.id: json.loads(reply(rubric.prompt(a.question, a.answer)))["score"]
        for r, a in asked
    }
