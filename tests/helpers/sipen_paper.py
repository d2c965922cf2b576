"""Items of the paper's shape, and answers by the counts of its tables: what stands in for data that are not public."""

import random

from sozo.data.published import load
from sozo.suite.sipen.items import (
    ENGLISH,
    ENTAILMENT,
    MAYBE,
    NO,
    SCALES,
    YES,
    SipenItem,
    hypotheses,
)

# Premises by expression, one of the allocations that fit the paper's counts: 387 premises, 1,076 hypotheses.
QUANTIFIERS = {"all": 78, "most": 1, "many": 11, "some": 79, "few": 3}
WORDS = {"three": 9, "four": 2, "five": 1, "six": 3, "seven": 2, "two": 21, "one": 46}
ADJECTIVES = {
    "warm": ("hot-warm", 14),
    "good": ("excellent-good", 18),
    "cool": ("cold-cool", 7),
}
DENOMINATORS = {"quantifier": 446, "numeral": 591, "adjective": 39}


def paper_items():
    """Premises such as `We saw some things.`"""
    counts = [
        ("all-most-many-some-few", expression, n)
        for expression, n in QUANTIFIERS.items()
    ]
    counts += [("ten-two-one", expression, n) for expression, n in WORDS.items()] + [
        ("n-2-1", "12", 92)
    ]
    counts += [(scale, expression, n) for expression, (scale, n) in ADJECTIVES.items()]
    items = []
    for scale, expression, n in counts:
        for k in range(n):
            name, known = (
                f"{expression}-{k}",
                {"category": SCALES[scale].category, "scale": scale},
            )
            sentence = f"We saw {expression} things on day {k}."
            base = SipenItem(
                name,
                name,
                sentence,
                sentence,
                "stronger",
                expression=expression,
                context="Hello.",
                **known,
            )
            items += hypotheses(base, SCALES[scale], sentence.index(expression))
    return items


def counts_of(model):
    """Of a model: category -> right by implicature and by entailment; (expression, direction, steps) -> No."""
    (row,) = [row for row in load("sipen_accuracy") if row["model"] == model]
    totals = {
        category: tuple(
            round(row[f"{category}_{label}"] * n / 100)
            for label in ("implicature", "entailment")
        )
        for category, n in DENOMINATORS.items()
    }
    premises = {**QUANTIFIERS, **WORDS}
    places = {}
    for line in (line for line in load("sipen_direction") if line["model"] == model):
        for direction in ("stronger", "weaker"):
            key = line["expression"], direction, 1
            places[key] = round(line[direction] * premises[line["expression"]] / 100)
    for line in (line for line in load("sipen_steps") if line["model"] == model):
        for steps, name in ((1, "one_step"), (2, "two_steps")):
            key = line["expression"], line["direction"], steps
            places.setdefault(
                key, round(line[name] * premises[line["expression"]] / 100)
            )
    return totals, places


def paper_answers(model, items):
    """Item id -> an answer, so that the counts of the paper's tables come out."""
    (totals, places), chance, answers = counts_of(model), random.Random(model), {}
    for category, (implicature, entailment) in totals.items():
        own = [item for item in items if item.category == category]
        chance.shuffle(own)
        printed = [
            item
            for item in own
            if (item.expression, item.direction, item.steps) in places
        ]
        no = []
        for place, n in places.items():
            no += [
                item
                for item in printed
                if (item.expression, item.direction, item.steps) == place
            ][:n]
        elsewhere = {item.id for item in own} - {item.id for item in printed}
        no += [item for item in own if item.id in elsewhere][: implicature - len(no)]
        said = {item.id for item in no}
        others = [item for item in own if item.id not in said]
        assert len(no) == implicature
        assert len(others) >= entailment
        answers |= {item.id: NO for item in no}
        for k, item in enumerate(others):
            label = ENTAILMENT[item.direction]
            answers[item.id] = (
                label if k < entailment else (YES if label == MAYBE else MAYBE)
            )
    return answers


assert {scale.name for scale in ENGLISH} == {
    row["scale"] for row in load("sipen_scales")
}
