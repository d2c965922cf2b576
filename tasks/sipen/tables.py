"""The paper's Tables 4 to 6 and what they need beside them: which answers were given, controls, constant answers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sozo.scoring.statistics.proportions import Share, grouped_share, holm, mcnemar
from sozo.tasks.sipen.items import (
    ANSWERS,
    CATEGORIES,
    CONTROL,
    DIRECTIONS,
    ENTAILMENT,
    IMPLICATURE,
    NO,
    STRONGER,
    WEAKER,
    SipenItem,
)

OTHER = "other"  # an answer that is none of the options
LABELS = {"implicature": IMPLICATURE, "entailment": ENTAILMENT}
_CONSTANT = 0.95  # from this share of all answers on, one answer is called constant
_LEAST_PREMISES = 5  # of an expression with a row of its own in Tables 5 and 6
Place = tuple[str, int]  # a direction and the number of steps


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered."""

    item: SipenItem
    answer: str | None  # one of `ANSWERS`; None if it is none of the options: wrong by every label, and counted


@dataclass(frozen=True, slots=True)
class Contrast:
    """A row of Table 5 or 6: the implicature accuracy (the share of No) in two places, on the premises with both."""

    expression: str  # in the premise, or a category
    direction: str  # of both places; empty where it is what differs
    first: Share
    second: Share
    only_first: int  # premises with No in the first place alone
    only_second: int
    p: float  # McNemar's exact test
    p_holm: float  # corrected for the table's rows


def right(reply: Reply, labels: Mapping[str, str]) -> bool | None:
    """Whether an answer is that of its direction; None of a direction without a label."""
    label = labels.get(reply.item.direction)
    return None if label is None else reply.answer == label


def share(replies: Iterable[Reply], holds: Callable[[Reply], bool | None]) -> Share:
    """Of the replies of which something holds or not, the share of which it does; premises are what is independent."""
    by_premise: dict[str, list[bool]] = {}
    for reply in replies:
        if (said := holds(reply)) is not None:
            by_premise.setdefault(reply.item.premise_id, []).append(said)
    return grouped_share([(sum(said), len(said)) for said in by_premise.values()])


def accuracy(replies: Sequence[Reply]) -> dict[str, dict[str, Share]]:
    """Table 4: category -> accuracy by implicature, by entailment, and the share that is right by neither."""
    table = {}
    for category in categories(replies):
        own = [r for r in replies if r.item.category == category and r.item.direction in IMPLICATURE]
        by_label = {name: share(own, partial(right, labels=labels)) for name, labels in LABELS.items()}
        neither = share(own, lambda r: not any(right(r, labels) for labels in LABELS.values()))
        table[category] = {**by_label, "neither": neither}
    return table


def categories(replies: Iterable[Reply]) -> list[str]:
    """Those that hypotheses have, the paper's first."""
    own = dict.fromkeys(reply.item.category for reply in replies if reply.item.direction in IMPLICATURE)
    return sorted(own, key=lambda name: CATEGORIES.index(name) if name in CATEGORIES else len(CATEGORIES))


def control_accuracy(replies: Sequence[Reply]) -> dict[str, Share]:
    """Direction -> accuracy on controls; those that there are."""
    asked = [name for name in CONTROL if any(reply.item.direction == name for reply in replies)]
    return {name: share(replies, partial(right, labels={name: CONTROL[name]})) for name in asked}


def given_answers(replies: Iterable[Reply]) -> dict[str, dict[str, int]]:
    """Direction -> answer -> how often it was given."""
    count = Counter((reply.item.direction, reply.answer or OTHER) for reply in replies)
    asked = [name for name in DIRECTIONS if any(direction == name for direction, _ in count)]
    return {name: {answer: count[name, answer] for answer in (*ANSWERS, OTHER)} for name in asked}


def constant_answer(replies: Sequence[Reply]) -> str | None:
    """The answer that is nearly every one, `OTHER` too; None if there is none."""
    ((answer, n),) = Counter(reply.answer or OTHER for reply in replies).most_common(1) or [("", 0)]
    return answer if n and n >= _CONSTANT * len(replies) else None


def constant_scores(items: Sequence[SipenItem]) -> dict[str, dict[str, float | None]]:
    """What always giving one answer scores: answer -> accuracy on hypotheses by either label, and on controls."""
    scores: dict[str, dict[str, float | None]] = {}
    for answer in ANSWERS:
        replies = [Reply(item, answer) for item in items]
        by_label = {name: share(replies, partial(right, labels=labels)) for name, labels in LABELS.items()}
        controls = share(replies, partial(right, labels=CONTROL))
        scores[answer] = {name: cell.value for name, cell in (by_label | {"controls": controls}).items()}
    return scores


def step_table(replies: Sequence[Reply]) -> list[Contrast]:
    """Table 5: one step against two in the same direction."""
    return _table(replies, [(direction, (direction, 1), (direction, 2)) for direction in (STRONGER, WEAKER)])


def direction_table(replies: Sequence[Reply]) -> list[Contrast]:
    """Table 6: stronger against weaker, one step away."""
    return _table(replies, [("", (STRONGER, 1), (WEAKER, 1))])


def _table(replies: Sequence[Reply], places: Sequence[tuple[str, Place, Place]]) -> list[Contrast]:
    """Categories first, then their expressions; with McNemar's p corrected over the rows."""
    rows = [row for direction, first, second in places for row in _contrasts(replies, direction, first, second)]
    corrected = holm([row.p for row in rows])
    return [replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True) if p is not None]


def _contrasts(replies: Sequence[Reply], direction: str, first: Place, second: Place) -> Iterator[Contrast]:
    said: dict[str, dict[str, dict[Place, bool]]] = {}  # row -> premise -> place -> whether the answer is No
    for category in categories(replies):
        said[category] = {}
    for reply in replies:
        item, place = reply.item, (reply.item.direction, reply.item.steps)
        for row in (item.category, item.expression.lower()):
            if place in (first, second) and row:  # of several answers to one item the first counts
                said.setdefault(row, {}).setdefault(item.premise_id, {}).setdefault(place, reply.answer == NO)
    for row, premises in said.items():
        pairs = [(by_place[first], by_place[second]) for by_place in premises.values() if len(by_place) == 2]
        if len(pairs) >= _LEAST_PREMISES:
            sides = [grouped_share([(int(pair[k]), 1) for pair in pairs]) for k in (0, 1)]
            alone = [sum(pair == which for pair in pairs) for which in ((True, False), (False, True))]
            yield Contrast(row, direction, sides[0], sides[1], alone[0], alone[1], p := mcnemar(alone[0], alone[1]), p)
